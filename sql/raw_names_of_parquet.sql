/* The names of columns in a Parquet file as they stand there. */
SELECT name FROM parquet_schema($path) WHERE num_children IS NULL
