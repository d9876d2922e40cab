/* The values of a column in their order, like the places of a quasi-identifier: the rows with each, and the rows up
   to each. $number orders values that have a distance; it is NULL for others. */
WITH counted AS (
  SELECT
    $value AS value,
    MIN($number) AS number,
    COUNT(*) AS n
  FROM source
  GROUP BY
    $value
)
SELECT
  value,
  number,
  n,
  ROW_NUMBER() OVER (ORDER BY number NULLS FIRST, value) AS place,
  SUM(n) OVER (ORDER BY number NULLS FIRST, value ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to
FROM counted
