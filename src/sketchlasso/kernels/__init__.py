"""Compiled loops (Numba), one instance at a time; tests hold their plain NumPy twins."""
