/* Schemas of the current database. */
SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()
