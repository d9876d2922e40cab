"""Verifies published rows by themselves."""
