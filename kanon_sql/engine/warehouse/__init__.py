"""Databases that are not DuckDB, and the DuckDB beside them in which is searched."""
