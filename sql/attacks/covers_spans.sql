/* What each label covers as spans of places with rows, from one rank to another: spans of a label that meet are one.
   found_spans are from place to place, whether these have rows or not. */
WITH counted AS (
  SELECT
    place,
    COUNT(*) FILTER (WHERE n > 0) OVER (ORDER BY place) AS up_to,
    COUNT(*) FILTER (WHERE n > 0) OVER (ORDER BY place) + CASE WHEN n > 0 THEN 0 ELSE 1 END AS from_here
  FROM places
), ranked AS (
  SELECT
    found_spans.label,
    one.from_here AS low,
    other.up_to AS high
  FROM found_spans
  INNER JOIN counted AS one
    ON one.place = found_spans.low
  INNER JOIN counted AS other
    ON other.place = found_spans.high
  WHERE
    one.from_here <= other.up_to
), begun AS (
  SELECT
    label,
    low,
    high,
    CASE
      WHEN low <= 1 + MAX(high) OVER (PARTITION BY label ORDER BY low, high ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
      THEN 0
      ELSE 1
    END AS begins
  FROM ranked
), numbered AS (
  SELECT
    label,
    low,
    high,
    SUM(begins) OVER (PARTITION BY label ORDER BY low, high ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS span
  FROM begun
)
SELECT
  label,
  MIN(low) AS low,
  MAX(high) AS high
FROM numbered
GROUP BY
  label,
  span
