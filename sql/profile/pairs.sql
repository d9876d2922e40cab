/* The distinct pairs of values of two columns. */
SELECT
  $place AS place,
  COUNT(*) AS n
FROM (
  SELECT DISTINCT $values
  FROM source
) AS pairs
