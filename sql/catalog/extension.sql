/* Whether an extension of DuckDB is on this machine. */
SELECT installed FROM duckdb_extensions() WHERE extension_name = $name
