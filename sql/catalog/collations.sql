/* The statement that would make a table anew: the one place where DuckDB tells the collation of a column. */
SELECT sql FROM duckdb_tables() WHERE table_name = $name AND temporary
