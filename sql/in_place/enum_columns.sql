/* The tables and views that have a column whose type is a list of values. */
SELECT DISTINCT
  columns.schema_name,
  columns.table_name,
  columns.data_type,
  tables.table_name IS NOT NULL AS is_table
FROM duckdb_columns() AS columns
LEFT JOIN duckdb_tables() AS tables
  ON tables.database_name = columns.database_name
  AND tables.schema_name = columns.schema_name
  AND tables.table_name = columns.table_name
WHERE columns.database_name = CURRENT_DATABASE() AND NOT columns.internal AND columns.data_type LIKE '%ENUM(%'
