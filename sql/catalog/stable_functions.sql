/* Scalar functions of DuckDB's own, and whether each returns the same for the same arguments, whenever and wherever. Those
   that take a time of a time zone do not; expressions are refused that have one. */
SELECT
  LOWER(function_name) AS name,
  BOOL_AND(
    function_name = 'nullif'
    OR (
      stability = 'CONSISTENT'
      AND function_name NOT IN ('version', 'timezone')
    )
  ) FILTER (
    WHERE NOT REGEXP_MATCHES(CAST(parameter_types AS VARCHAR), 'TIME ZONE|TIMESTAMPTZ')
  ) AS is_stable
FROM duckdb_functions()
WHERE internal
  AND (function_type = 'scalar' OR function_name = 'nullif')
GROUP BY LOWER(function_name)
