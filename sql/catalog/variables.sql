/* The names of variables that are set on this connection. */
SELECT name FROM duckdb_variables()
