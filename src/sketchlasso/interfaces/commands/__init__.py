"""The commands, one module per group; each returns a report."""
