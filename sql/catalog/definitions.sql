/* The texts that made a table or view: generated columns, and what a view reads; none for a system view. */
SELECT sql
FROM (
  SELECT sql, table_name AS name, schema_name FROM duckdb_tables()
  UNION ALL
  SELECT sql, view_name, schema_name FROM duckdb_views() WHERE NOT internal
) AS made
WHERE LOWER(made.name) = LOWER($name)
  AND LOWER(made.schema_name) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
