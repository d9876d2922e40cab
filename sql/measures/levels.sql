/* The costs of the labels of each level of each column by each measure: the sum over all rows, and the maximum of a
   cell. Also how many labels have rows. */
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
