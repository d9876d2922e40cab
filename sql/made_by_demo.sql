/* The sample table, if a database has one that kanon demo made. */
SELECT table_name FROM duckdb_tables() WHERE comment = $mark
