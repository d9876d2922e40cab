/* Groups of rows that are alike in two releases. */
SELECT
  first,
  second,
  CAST(SUM(n) AS BIGINT) AS n,
  CAST(SUM(n) AS BIGINT) AS size
FROM alike
GROUP BY
  first,
  second
