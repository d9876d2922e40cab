/* How far the ranks of neighbours' scores differ, squared, within groups: by the number of items of a group. Of few items
   nothing is said. */
WITH ranked AS (
  SELECT
    $of_group,
    item,
    place,
    ROW_NUMBER() OVER (PARTITION BY $of_group ORDER BY score, item) AS rank
  FROM scores
), steps AS (
  SELECT
    $of_group,
    rank - LAG(rank) OVER (PARTITION BY $of_group ORDER BY place, item) AS step
  FROM ranked
), grouped AS (
  SELECT
    COUNT(*) AS n,
    SUM(CAST(step AS DOUBLE) * step) AS squares
  FROM steps
  GROUP BY
    $of_group
)
SELECT
  n,
  COUNT(*) AS number,
  SUM(squares) AS squares
FROM grouped
WHERE
  n >= $many
GROUP BY
  n
