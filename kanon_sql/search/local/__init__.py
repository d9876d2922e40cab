"""Algorithms that find several nodes, each for the rows that are left."""
