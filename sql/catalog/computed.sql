/* The columns of a relation that are computed: all of a view, and generated ones. A data frame that was registered is no
   such view. Temporary relations hide others. */
SELECT column_name
FROM information_schema.columns
LEFT JOIN duckdb_views()
  ON (database_name, schema_name, view_name) = (table_catalog, table_schema, table_name)
  AND NOT internal
  AND NOT REGEXP_MATCHES(sql, '(pandas|arrow)_scan\(\)')
WHERE LOWER(table_name) = LOWER($name)
  AND (
    table_catalog = 'temp'
    OR LOWER(table_catalog) = LOWER(COALESCE($catalog, CURRENT_DATABASE()))
    AND LOWER(table_schema) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
  )
  AND (is_generated = 'ALWAYS' OR NOT view_name IS NULL)
