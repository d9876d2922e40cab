/* The indexes of a table that somebody made. */
SELECT index_name, is_unique, sql, comment
FROM duckdb_indexes()
WHERE database_name = CURRENT_DATABASE() AND schema_name = $schema AND table_name = $name AND NOT is_primary
ORDER BY index_name
