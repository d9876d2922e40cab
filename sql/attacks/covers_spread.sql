/* How many pairs of a tuple and a class the labels of a column let through. */
WITH here AS (
  SELECT
    $place AS place,
    COUNT(*) AS n
  FROM looked_up
  GROUP BY
    1
), counted AS (
  SELECT
    ranks.rank,
    COALESCE(here.n, 0) AS n,
    SUM(COALESCE(here.n, 0)) OVER (ORDER BY ranks.rank) AS up_to
  FROM ranks
  LEFT JOIN here
    ON here.place = ranks.place
), there AS (
  SELECT
    $label AS label,
    COUNT(*) AS n
  FROM worded
  GROUP BY
    1
)
SELECT
  CAST(COALESCE(SUM(there.n * (other.up_to - one.up_to + one.n)), 0) AS HUGEINT)
FROM spans
INNER JOIN there
  ON there.label = spans.label
INNER JOIN counted AS one
  ON one.rank = spans.low
INNER JOIN counted AS other
  ON other.rank = spans.high
