"""Profiles of tables: statistics, patterns in values and a proposed role for each column."""
