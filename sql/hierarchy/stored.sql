/* Hierarchies that were loaded into the schema kanon, with where they came from and their columns. */
SELECT
  tables.table_name,
  ANY_VALUE(tables.comment) AS origin,
  LIST(columns.column_name ORDER BY columns.column_index) AS columns
FROM duckdb_tables() AS tables
JOIN duckdb_columns() AS columns
  ON columns.database_name = tables.database_name
  AND columns.schema_name = tables.schema_name
  AND columns.table_name = tables.table_name
WHERE tables.schema_name = 'kanon'
  AND tables.database_name = current_database()
  AND STARTS_WITH(tables.table_name, 'hierarchy_')
GROUP BY tables.table_name
ORDER BY tables.table_name
