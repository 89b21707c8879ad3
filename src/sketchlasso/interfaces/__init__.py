"""Ways in for people: command line, plots, pages. They use public names only."""
