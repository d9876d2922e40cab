/* The values of a column, present, each with the levels that a file gives to its first characters. */
WITH present AS (
  SELECT value
  FROM lookup
), coded AS (
  SELECT
    value,
    $code AS code
  FROM present
)
SELECT
  coded.value,
  $labels
FROM coded
JOIN prefixes
  ON prefixes.prefix = LEFT(coded.code, $length)
WHERE
  $matches
UNION ALL
SELECT
  value,
  $labels_of_null
FROM present
WHERE value IS NULL
