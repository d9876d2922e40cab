/* The constraints of a table, and the foreign keys of other tables that refer to it. */
SELECT
  schema_name,
  table_name,
  constraint_type,
  constraint_column_names,
  expression,
  referenced_table,
  referenced_column_names
FROM duckdb_constraints()
WHERE database_name = CURRENT_DATABASE()
  AND constraint_type <> 'NOT NULL'
  AND schema_name = $schema
  AND (table_name = $name OR LOWER(referenced_table) = LOWER($name))
ORDER BY schema_name, table_name, constraint_index
