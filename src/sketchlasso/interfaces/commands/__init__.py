"""The commands, one module a group; each returns a report that the screen knows how to show."""
