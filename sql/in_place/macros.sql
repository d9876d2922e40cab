/* The macros of the database, with what they are defined as. */
SELECT DISTINCT function_name, macro_definition
FROM duckdb_functions()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND macro_definition IS NOT NULL
ORDER BY function_name
