/* The statement that DuckDB would make a table by. */
SELECT sql
FROM duckdb_tables()
WHERE database_name = CURRENT_DATABASE() AND schema_name = $schema AND table_name = $name
