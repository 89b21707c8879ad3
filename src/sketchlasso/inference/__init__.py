"""What many regressions together say: errors of estimates, graphs, stability."""

__all__: list[str] = []
