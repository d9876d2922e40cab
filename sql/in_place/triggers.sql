/* The triggers of all tables of the database. */
SELECT schema_name, trigger_name, table_name, sql
FROM duckdb_triggers()
WHERE database_name = CURRENT_DATABASE() AND NOT temporary
ORDER BY schema_name, trigger_name
