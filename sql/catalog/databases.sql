/* Names of all attached databases. */
SELECT database_name FROM duckdb_databases()
