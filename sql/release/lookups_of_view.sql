/* Tables in schema kanon that store the hierarchies of a view. */
SELECT table_name
FROM duckdb_tables()
WHERE schema_name = 'kanon' AND database_name = CURRENT_DATABASE() AND STARTS_WITH(table_name, $prefix)
