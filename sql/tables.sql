/* Tables and views that a person may name as a source (not those of kanon's own schema), with the catalog and schema they live in. */
SELECT database_name, schema_name, table_name, schema_name = current_schema() AND database_name = current_database() AS is_near
FROM duckdb_tables()
WHERE NOT internal AND schema_name <> 'kanon'
UNION ALL
SELECT database_name, schema_name, view_name, schema_name = current_schema() AND database_name = current_database() AS is_near
FROM duckdb_views()
WHERE NOT internal AND schema_name <> 'kanon'
ORDER BY ALL
