/* The tables and views of a database: no temporary ones, and none of kanon's own. */
SELECT
  schema_name,
  name,
  kind
FROM (
  SELECT 'TABLE' AS kind, database_name, schema_name, table_name AS name FROM duckdb_tables() WHERE NOT internal
  UNION ALL
  SELECT 'VIEW' AS kind, database_name, schema_name, view_name AS name FROM duckdb_views() WHERE NOT internal
) AS relations
WHERE database_name = CURRENT_DATABASE()
  AND schema_name <> 'kanon'
ORDER BY schema_name, name
