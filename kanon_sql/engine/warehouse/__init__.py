"""Databases other than DuckDB, and the DuckDB workbench beside them that runs the search."""
