/* What a hierarchy lacks of a column: rows and distinct values, and near misses, which would be found without
   surrounding spaces, or as numbers. */
SELECT
  CAST(COALESCE(SUM(present.n), 0) AS BIGINT) AS rows_missing,
  COUNT(*) AS values_missing,
  COUNT(*) FILTER (WHERE EXISTS(
    SELECT 1 FROM lookup WHERE TRIM(CAST(present.value AS TEXT)) = TRIM(CAST(lookup.value AS TEXT))
  )) AS found_without_spaces,
  COUNT(*) FILTER (WHERE EXISTS(
    SELECT 1
    FROM lookup
    WHERE TRY_CAST(CAST(present.value AS TEXT) AS DOUBLE) = TRY_CAST(CAST(lookup.value AS TEXT) AS DOUBLE)
  )) AS found_as_numbers
FROM (
  SELECT
    $value AS value,
    COUNT(*) AS n
  FROM source
  GROUP BY $value
) AS present
WHERE NOT EXISTS(
  SELECT 1 FROM lookup WHERE lookup.value IS NOT DISTINCT FROM present.value
)
