/* The values of a column that a hierarchy has no row for, the most frequent first. */
SELECT
  $value,
  COUNT(*) AS rows_missing
FROM source
WHERE NOT EXISTS(
  SELECT 1 FROM lookup WHERE lookup.value IS NOT DISTINCT FROM $value
)
GROUP BY $value
ORDER BY rows_missing DESC
