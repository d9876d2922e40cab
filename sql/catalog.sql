/* The catalog of DuckDB (the last two: of SQLite): engine/duckdb/engine.py and engine/sources/ look up names and
   settings. */

/* is_view: How many views a name can mean: in the given schema and database, or else in the first place that DuckDB
   searches. */
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
;

/* tables: Tables and views that can be named as a source (not those of kanon's own schema), with their catalog and
   schema. If several have the same name, DuckDB uses the temporary one, then that of the current schema. The last
   column: whether they are in the current database. */
SELECT
  database_name,
  schema_name,
  name,
  CASE
    WHEN database_name = 'temp' THEN 2
    WHEN schema_name = current_schema() AND database_name = current_database() THEN 1
    ELSE 0
  END AS nearness,
  kind,
  database_name = current_database() AS is_here
FROM (
  SELECT 'TABLE' AS kind, database_name, schema_name, table_name AS name FROM duckdb_tables() WHERE NOT internal
  UNION ALL
  SELECT 'VIEW' AS kind, database_name, schema_name, view_name AS name FROM duckdb_views() WHERE NOT internal
) AS relations
WHERE schema_name <> 'kanon'
ORDER BY database_name, schema_name, name
;

/* kind_of_relation: Whether a name is a table or a view; without a schema, in the current one. Names are compared as in
   SQL. */
SELECT kind
FROM (
  SELECT 'TABLE' AS kind, database_name, schema_name, table_name AS name FROM duckdb_tables()
  UNION ALL
  SELECT 'VIEW' AS kind, database_name, schema_name, view_name AS name FROM duckdb_views()
) AS relations
WHERE database_name = current_database()
  AND LOWER(name) = LOWER($name)
  AND LOWER(schema_name) = LOWER(COALESCE($schema, current_schema()))
;

/* own_functions: Macros that hide the built-in function of the same name. */
SELECT own.function_name
FROM system.main.duckdb_functions() AS own
WHERE NOT own.internal
  AND system.main.list_contains(system.main.current_schemas(TRUE), own.schema_name)
  AND (
    own.database_name IN (system.main.current_database(), 'temp')
    OR system.main.contains(system.main.current_setting('search_path'), own.database_name)
  )
;

/* builtin_functions: The names of all built-in functions and operators, whatever macros the database has. */
SELECT function_name FROM system.main.duckdb_functions() WHERE internal
;

/* time_zone: DuckDB's name of a time zone, the time zone of the session, and whether they are the same. Names of one
   zone have one abbreviation. No row: the time zone does not exist. */
WITH own AS (
  SELECT CURRENT_SETTING('TimeZone') AS name
)
SELECT
  zones.name,
  own.name AS of_session,
  zones.name = own.name OR EXISTS (
    SELECT 1
    FROM pg_timezone_names() AS others
    WHERE others.name = own.name AND others.abbrev = zones.abbrev
  ) AS is_same
FROM pg_timezone_names() AS zones
CROSS JOIN own
WHERE LOWER(zones.name) = LOWER($zone)
;

/* storage_of_database: The storage format of the database file: its version and block size. */
SELECT databases.tags['storage_version'], sizes.block_size
FROM duckdb_databases() AS databases
JOIN pragma_database_size() AS sizes ON sizes.database_name = databases.database_name
WHERE databases.database_name = CURRENT_DATABASE()
;

/* databases: Names that no other database can have: those of attached databases, and of schemas, which USE would choose
   instead. */
SELECT database_name FROM duckdb_databases()
UNION
SELECT schema_name FROM duckdb_schemas()
;

/* constraints: The keys and foreign keys of the tables of a database. A foreign key of DuckDB refers to a table of its
   own schema. */
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
;

/* transaction: Number of the current transaction; outside one, each statement is a transaction of its own. */
SELECT TXID_CURRENT()
;

/* definition_of_view: The definition of a view; no row if it does not exist. */
SELECT sql
FROM duckdb_views()
WHERE NOT internal
  AND LOWER(view_name) = LOWER($name)
  AND LOWER(schema_name) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
;

/* computed: The computed columns of a relation: all of a view, and generated ones. A registered data frame does not
   count as a view. Temporary relations hide others. */
SELECT column_name
FROM information_schema.columns
LEFT JOIN duckdb_views()
  ON (database_name, schema_name, view_name) = (table_catalog, table_schema, table_name)
  AND NOT internal
  AND NOT REGEXP_MATCHES(sql, '(pandas|arrow)_scan\(\)')
WHERE LOWER(table_name) = LOWER($name)
  AND (
    table_catalog = 'temp'
    OR LOWER(table_catalog) = LOWER(COALESCE($catalog, CURRENT_DATABASE()))
    AND LOWER(table_schema) = LOWER(COALESCE($schema, CURRENT_SCHEMA()))
  )
  AND (is_generated = 'ALWAYS' OR NOT view_name IS NULL)
;

/* relation_names: Names that a new temporary table must not take: those of every table and view in sight. */
SELECT table_name FROM duckdb_tables()
UNION
SELECT view_name FROM duckdb_views()
;

/* views_made: Temporary views, which need another DROP statement than tables. */
SELECT view_name FROM duckdb_views() WHERE database_name = 'temp'
;

/* setting: A setting of this connection, such as the collation of text, or the profiling of statements (NULL: none). */
SELECT CURRENT_SETTING($name)
;

/* collations: The CREATE statement of a table: the only place where DuckDB shows the collation of a column. */
SELECT sql FROM duckdb_tables() WHERE table_name = $name AND temporary
;

/* extension: Whether an extension of DuckDB is installed. */
SELECT installed FROM duckdb_extensions() WHERE extension_name = $name
;

/* tables_of_sqlite: The tables and views of an SQLite database. */
SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
;

/* columns_of_sqlite: The columns of a table of an SQLite database, with their declared types. */
SELECT name, type FROM PRAGMA_TABLE_INFO($table) ORDER BY cid
;

/* schemas: Schemas of the current database. */
SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()
;

/* size_of_database: The number of used bytes of a database file. */
SELECT block_size * used_blocks FROM pragma_database_size() WHERE database_name = CURRENT_DATABASE()
;
