/* How much of a column ready-made hierarchies have: how many values, rows, and labels at the first level. everything:
   of all its values; exact: of each hierarchy with the values themselves; looks: of one whose values look alike; begins:
   of one that looks up the first characters. */
WITH present AS (
  SELECT
    CAST($value AS TEXT) AS value,
    COUNT(*) AS n
  FROM source
  WHERE NOT $value IS NULL
  GROUP BY $value
), coded AS (
  SELECT
    value,
    n,
    $code AS code
  FROM present
), everything AS (
  SELECT
    '' AS hierarchy,
    COUNT(*) AS n_values,
    CAST(SUM(coded.n) AS BIGINT) AS n_rows,
    CAST(NULL AS BIGINT) AS n_labels
  FROM coded
), exact AS (
  SELECT
    known.hierarchy,
    COUNT(*) AS n_values,
    CAST(SUM(coded.n) AS BIGINT) AS n_rows,
    COUNT(DISTINCT known.label) AS n_labels
  FROM coded
  JOIN known ON known.value = coded.value
  WHERE known.hierarchy IN ($hierarchies)
  GROUP BY known.hierarchy
), looks AS (
  SELECT
    $hierarchy AS hierarchy,
    COUNT(*) AS n_values,
    CAST(SUM(coded.n) AS BIGINT) AS n_rows,
    CAST(NULL AS BIGINT) AS n_labels
  FROM coded
  WHERE $looks
), begins AS (
  SELECT
    $hierarchy AS hierarchy,
    COUNT(*) AS n_values,
    CAST(SUM(coded.n) AS BIGINT) AS n_rows,
    $n_labels AS n_labels
  FROM coded
  WHERE $looks AND EXISTS(
    SELECT 1 FROM known WHERE known.hierarchy = $hierarchy AND known.value = LEFT(coded.code, $length)
  )
)
SELECT * FROM everything, exact, looks, begins
