/* Scalar functions of DuckDB's own, and whether each returns the same for the same arguments, whenever and wherever. */
SELECT
  LOWER(function_name) AS name,
  BOOL_AND(
    function_name = 'nullif'
    OR (
      stability = 'CONSISTENT'
      AND function_name NOT IN ('version', 'timezone')
    )
  )
  AND NOT BOOL_AND(COALESCE(return_type, '') LIKE '%TIME ZONE%') AS is_stable
FROM duckdb_functions()
WHERE internal
  AND (function_type = 'scalar' OR function_name = 'nullif')
GROUP BY LOWER(function_name)
