/* Scalar functions of DuckDB's own, and whether each returns the same for the same arguments, whenever it is called. */
SELECT LOWER(function_name) AS name, BOOL_AND(function_name = 'nullif' OR stability = 'CONSISTENT') AS is_stable
FROM duckdb_functions()
WHERE internal
  AND (function_type = 'scalar' OR function_name = 'nullif')
GROUP BY LOWER(function_name)
