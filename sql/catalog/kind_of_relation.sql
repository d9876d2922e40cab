/* Whether a name is that of a table or a view; without a schema, in the current one. Names are compared as SQL does. */
SELECT kind
FROM (
  SELECT 'TABLE' AS kind, database_name, schema_name, table_name AS name FROM duckdb_tables()
  UNION ALL
  SELECT 'VIEW' AS kind, database_name, schema_name, view_name AS name FROM duckdb_views()
) AS relations
WHERE database_name = current_database()
  AND LOWER(name) = LOWER($name)
  AND LOWER(schema_name) = LOWER(COALESCE($schema, current_schema()))
