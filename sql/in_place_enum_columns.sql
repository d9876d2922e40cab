/* The tables that have a column whose type is such a list of values. */
SELECT DISTINCT schema_name, table_name, data_type
FROM duckdb_columns()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND data_type LIKE '%ENUM(%'
