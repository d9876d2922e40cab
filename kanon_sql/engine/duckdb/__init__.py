"""DuckDB: the connection, its worker thread, limits and error messages."""
