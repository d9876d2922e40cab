"""Searches, one algorithm per file."""
