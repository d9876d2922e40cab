/* How many views a name can mean: in the schema and the database that are given, else where DuckDB looks first. */
SELECT COUNT(*)
FROM duckdb_views()
WHERE LOWER(view_name) = LOWER($name)
  AND CASE
    WHEN $schema IS NULL THEN schema_name = current_schema() OR database_name = 'temp'
    ELSE LOWER(schema_name) = LOWER($schema)
  END
  AND CASE
    WHEN $catalog IS NULL THEN database_name IN (current_database(), 'temp')
    ELSE LOWER(database_name) = LOWER($catalog)
  END
