/* How many labels a value has at most: one more from where a span begins, one less after its end. */
SELECT
  MAX(labels)
FROM (
  SELECT
    SUM(SUM(step)) OVER (ORDER BY rank) AS labels
  FROM (
    SELECT
      low AS rank,
      1 AS step
    FROM spans
    UNION ALL
    SELECT
      high + 1,
      -1
    FROM spans
  ) AS steps
  GROUP BY
    rank
) AS counted
