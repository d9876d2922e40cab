"""Verification of published rows, independent of how they were made."""
