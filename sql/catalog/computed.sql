/* The columns of a relation that are computed: all of a view, and generated ones. A data frame that was registered is no
   such view. Temporary relations hide others. */
SELECT columns.column_name
FROM duckdb_columns() AS columns
JOIN duckdb_views() AS views
  ON views.database_name = columns.database_name
  AND views.schema_name = columns.schema_name
  AND views.view_name = columns.table_name
WHERE NOT views.internal
  AND NOT REGEXP_MATCHES(views.sql, '(pandas|arrow)_scan\(\)')
  AND LOWER(views.view_name) = LOWER($name)
  AND (
    views.database_name = 'temp'
    OR (
      LOWER(views.database_name) = LOWER(COALESCE($catalog, CURRENT_DATABASE()))
      AND LOWER(views.schema_name) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
    )
  )
UNION
SELECT column_name
FROM information_schema.columns
WHERE is_generated = 'ALWAYS'
  AND LOWER(table_name) = LOWER($name)
  AND LOWER(table_catalog) = LOWER(COALESCE($catalog, CURRENT_DATABASE()))
  AND LOWER(table_schema) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
