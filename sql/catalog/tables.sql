/*
Tables and views that a person may name as a source (not those of kanon's own schema), with the catalog and schema they
live in. Where two have the same name, DuckDB means the temporary one, then that of the current schema. The last column:
whether they are in the current database.
*/
SELECT
  database_name,
  schema_name,
  name,
  CASE
    WHEN database_name = 'temp' THEN 2
    WHEN schema_name = current_schema() AND database_name = current_database() THEN 1
    ELSE 0
  END AS nearness,
  kind,
  database_name = current_database() AS is_here
FROM (
  SELECT 'TABLE' AS kind, database_name, schema_name, table_name AS name FROM duckdb_tables() WHERE NOT internal
  UNION ALL
  SELECT 'VIEW' AS kind, database_name, schema_name, view_name AS name FROM duckdb_views() WHERE NOT internal
) AS relations
WHERE schema_name <> 'kanon'
ORDER BY database_name, schema_name, name
