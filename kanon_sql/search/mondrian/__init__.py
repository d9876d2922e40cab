"""Mondrian: cuts the table into parts."""
