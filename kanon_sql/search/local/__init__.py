"""Algorithms that find several nodes, each for the remaining rows."""
