/* The keys and foreign keys of the tables of a database. A foreign key of DuckDB refers to a table of its own schema. */
SELECT
  schema_name,
  table_name,
  constraint_type,
  constraint_column_names,
  CASE WHEN constraint_type = 'FOREIGN KEY' THEN schema_name END AS referred_schema,
  CASE WHEN constraint_type = 'FOREIGN KEY' THEN referenced_table END AS referred_table,
  referenced_column_names
FROM duckdb_constraints()
WHERE database_name = CURRENT_DATABASE()
  AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
ORDER BY schema_name, table_name, constraint_index
