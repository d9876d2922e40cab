/* Names that no other database can have: of those that are attached, and of schemas, which USE would take for them. */
SELECT database_name FROM duckdb_databases()
UNION
SELECT schema_name FROM duckdb_schemas()
