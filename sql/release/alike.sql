/* The rows of a release with many equal rows: each distinct row once for every eight times that it occurs, with its
   multiplicity, in the order of the release. Few rows are sorted, and several threads can write from it. released
   stands for the rows of the release in any order. */
WITH counted AS (
  SELECT
    $columns,
    COUNT(*) AS n
  FROM released
  GROUP BY
    $columns
), ordered AS (
  SELECT
    $columns,
    n
  FROM counted
  ORDER BY
    $order
), parts AS (
  SELECT
    $columns,
    n,
    UNNEST(RANGE(CAST(0 AS BIGINT), n, 8)) AS first
  FROM ordered
)
SELECT
  $columns,
  LEAST(n - first, 8) AS n
FROM parts
