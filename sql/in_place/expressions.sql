/* Expressions in the definitions of tables, as DuckDB writes them: defaults, what computes columns, and conditions. */
SELECT schema_name, table_name, column_default AS expression
FROM duckdb_columns()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND column_default IS NOT NULL
UNION ALL
SELECT schema_name, table_name, expression
FROM duckdb_constraints()
WHERE database_name = CURRENT_DATABASE() AND expression IS NOT NULL
