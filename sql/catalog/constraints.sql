/* The keys and foreign keys of the tables of a database, a row for each of their columns. A foreign key of DuckDB refers
   to a table of its own schema. */
SELECT
  schema_name,
  table_name,
  constraint_index,
  constraint_type,
  UNNEST(constraint_column_names) AS column_name,
  CASE WHEN constraint_type = 'FOREIGN KEY' THEN schema_name END AS referred_schema,
  CASE WHEN constraint_type = 'FOREIGN KEY' THEN referenced_table END AS referred_table,
  UNNEST(referenced_column_names) AS referred_column,
  GENERATE_SUBSCRIPTS(constraint_column_names, 1) AS place
FROM duckdb_constraints()
WHERE database_name = CURRENT_DATABASE()
  AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
ORDER BY schema_name, table_name, constraint_index, place
