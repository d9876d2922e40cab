/* What the labels of each level of each column cost by each measure: all of their rows together, and a cell at most; and
   how many labels have rows. */
SELECT
  number,
  level,
  COUNT(*) FILTER(WHERE n > 0) AS labels,
  $charged
FROM (
  SELECT
    number,
    level,
    n,
    $costs
  FROM labels
) AS cells
GROUP BY
  number,
  level
