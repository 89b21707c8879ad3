"""Measurements of the library and of its peers; ``python -m benchmarks --list`` names them."""
