"""Algorithms that find one level for each column."""
