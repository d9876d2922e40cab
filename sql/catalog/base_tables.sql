/* The tables of a database that hold rows: no views, no temporary tables, and none of kanon's own. */
SELECT
  schema_name,
  table_name
FROM duckdb_tables()
WHERE NOT internal
  AND database_name = CURRENT_DATABASE()
  AND schema_name <> 'kanon'
ORDER BY schema_name, table_name
