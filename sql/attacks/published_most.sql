/* How many rows of the release have its most frequent value of a column, and how many rows it has. */
WITH counted AS (
  SELECT
    $shared AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    $shared
)
SELECT
  CAST(COALESCE(MAX(n), 0) AS BIGINT),
  CAST(COALESCE(SUM(n), 0) AS BIGINT)
FROM counted
