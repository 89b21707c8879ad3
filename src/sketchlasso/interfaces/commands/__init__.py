"""The commands, one module per group; each returns a report that the screen knows how to show."""
