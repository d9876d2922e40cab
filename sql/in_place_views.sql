/* All views of the database, with what they are defined as. */
SELECT schema_name, view_name, sql
FROM duckdb_views()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND NOT temporary
ORDER BY schema_name, view_name
