/* Names that a new temporary table must not take: those of every table and view in sight. */
SELECT table_name FROM duckdb_tables()
UNION
SELECT view_name FROM duckdb_views()
