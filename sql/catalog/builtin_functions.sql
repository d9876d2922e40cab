/* The names of all built-in functions and operators, whatever macros the database has. */
SELECT function_name FROM system.main.duckdb_functions() WHERE internal
