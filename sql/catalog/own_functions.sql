/* Macros that a bare name of a function finds before the built-in function of that name. */
SELECT own.function_name
FROM system.main.duckdb_functions() AS own
WHERE NOT own.internal
  AND system.main.list_contains(system.main.current_schemas(TRUE), own.schema_name)
  AND (
    own.database_name IN (system.main.current_database(), 'temp')
    OR system.main.contains(system.main.current_setting('search_path'), own.database_name)
  )
