/* DuckDB's metadata of a database: release/in_place/facts.py reads it before and after anonymizing a table in place. */

/* columns: The columns of a table in order, with all properties that an identical table must have. */
SELECT column_name, data_type, column_default, is_nullable, comment, is_generated
FROM duckdb_columns()
WHERE database_name = CURRENT_DATABASE() AND schema_name = $schema AND table_name = $name
ORDER BY column_index
;

/* indexes: The user-defined indexes of a table. */
SELECT index_name, is_unique, sql, comment
FROM duckdb_indexes()
WHERE database_name = CURRENT_DATABASE() AND schema_name = $schema AND table_name = $name AND NOT is_primary
ORDER BY index_name
;

/* macros: The macros of the database, with their definitions. */
SELECT DISTINCT function_name, macro_definition
FROM duckdb_functions()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND macro_definition IS NOT NULL
ORDER BY function_name
;

/* constraints: The constraints of a table, and the foreign keys of other tables that refer to it. */
SELECT
  schema_name,
  table_name,
  constraint_type,
  constraint_column_names,
  expression,
  referenced_table,
  referenced_column_names
FROM duckdb_constraints()
WHERE database_name = CURRENT_DATABASE()
  AND constraint_type <> 'NOT NULL'
  AND schema_name = $schema
  AND (table_name = $name OR LOWER(referenced_table) = LOWER($name))
ORDER BY schema_name, table_name, constraint_index
;

/* definition: DuckDB's CREATE statement of a table. */
SELECT sql
FROM duckdb_tables()
WHERE database_name = CURRENT_DATABASE() AND schema_name = $schema AND table_name = $name
;

/* triggers: The triggers of all tables of the database. */
SELECT schema_name, trigger_name, table_name, sql
FROM duckdb_triggers()
WHERE database_name = CURRENT_DATABASE() AND NOT temporary
ORDER BY schema_name, trigger_name
;

/* tables: All tables of the database, each with its stored columns and the tables that its foreign keys refer to. */
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
;

/* enum_columns: The tables and views with a column of an ENUM type. */
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
;

/* expressions: Expressions in the definitions of tables, as DuckDB writes them: defaults, generated columns, and
   conditions. */
SELECT schema_name, table_name, column_default AS expression
FROM duckdb_columns()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND column_default IS NOT NULL
UNION ALL
SELECT schema_name, table_name, expression
FROM duckdb_constraints()
WHERE database_name = CURRENT_DATABASE() AND expression IS NOT NULL
;

/* types: The user-defined ENUM types: each is a list of raw values. */
SELECT schema_name, type_name, labels
FROM duckdb_types()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND labels IS NOT NULL
ORDER BY schema_name, type_name
;

/* views: All views of the database, with their definitions, their comments, and those of their columns. */
SELECT
  views.schema_name,
  views.view_name,
  views.sql,
  views.comment,
  (
    SELECT LIST({'name': columns.column_name, 'comment': columns.comment} ORDER BY columns.column_index)
    FROM duckdb_columns() AS columns
    WHERE columns.database_name = views.database_name
      AND columns.schema_name = views.schema_name
      AND columns.table_name = views.view_name
      AND columns.comment IS NOT NULL
  ) AS comments
FROM duckdb_views() AS views
WHERE views.database_name = CURRENT_DATABASE() AND NOT views.internal AND NOT views.temporary
ORDER BY views.schema_name, views.view_name
;
