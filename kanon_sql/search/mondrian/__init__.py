"""Mondrian: cut a table into parts."""
