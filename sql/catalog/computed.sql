/* The columns of a relation that are computed: all of a view, and generated ones. A data frame that was registered is no
   such view. Temporary relations hide others. */
SELECT columns.column_name
FROM information_schema.columns AS columns
LEFT JOIN duckdb_views() AS views
  ON views.database_name = columns.table_catalog
  AND views.schema_name = columns.table_schema
  AND views.view_name = columns.table_name
  AND NOT views.internal
  AND NOT REGEXP_MATCHES(views.sql, '(pandas|arrow)_scan\(\)')
WHERE LOWER(columns.table_name) = LOWER($name)
  AND (
    columns.table_catalog = 'temp'
    OR (
      LOWER(columns.table_catalog) = LOWER(COALESCE($catalog, CURRENT_DATABASE()))
      AND LOWER(columns.table_schema) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
    )
  )
  AND (columns.is_generated = 'ALWAYS' OR NOT views.view_name IS NULL)
