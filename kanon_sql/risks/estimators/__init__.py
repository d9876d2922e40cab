"""Estimates of what a table reveals to strangers about the people in it."""
