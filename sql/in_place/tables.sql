/* All tables of the database, each with the columns that are stored and the tables that its foreign keys refer to. */
SELECT
  tables.schema_name,
  tables.table_name,
  tables.comment,
  (
    SELECT LIST(columns.column_name ORDER BY columns.column_index)
    FROM duckdb_columns() AS columns
    WHERE columns.database_name = tables.database_name
      AND columns.schema_name = tables.schema_name
      AND columns.table_name = tables.table_name
      AND NOT columns.is_generated
  ) AS stored,
  (
    SELECT LIST(keys.referenced_table)
    FROM duckdb_constraints() AS keys
    WHERE keys.database_name = tables.database_name
      AND keys.schema_name = tables.schema_name
      AND keys.table_name = tables.table_name
      AND keys.constraint_type = 'FOREIGN KEY'
  ) AS referenced
FROM duckdb_tables() AS tables
WHERE tables.database_name = CURRENT_DATABASE() AND NOT tables.internal AND NOT tables.temporary
ORDER BY tables.schema_name, tables.table_name
