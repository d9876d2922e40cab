/* The names of columns in a Parquet file, the first of several, as they stand there. */
SELECT name
FROM parquet_schema($path)
WHERE num_children IS NULL AND file_name = (SELECT MIN(file_name) FROM parquet_schema($path))
