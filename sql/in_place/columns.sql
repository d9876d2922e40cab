/* The columns of a table in their order, with all that a table of the same form must have. */
SELECT column_name, data_type, column_default, is_nullable, comment, is_generated
FROM duckdb_columns()
WHERE database_name = CURRENT_DATABASE() AND schema_name = $schema AND table_name = $name
ORDER BY column_index
