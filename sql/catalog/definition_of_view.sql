/* What a view is defined as; no row if there is no such view. */
SELECT sql
FROM duckdb_views()
WHERE NOT internal
  AND LOWER(view_name) = LOWER($name)
  AND LOWER(schema_name) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
