/* The classes of a full-domain recoding with their rows; if people are counted, once for each person in them. $numbers
   are those of the labels of each column, where NULL counts as a label, and of the person. */
WITH generalized AS (
  SELECT
    $generalized
  FROM source
), classes AS (
  SELECT
    $labels,
    COUNT(*) AS n
  FROM generalized
  GROUP BY
    $labels
)
SELECT
  $labels,
  $numbers,
  CAST(ROW_NUMBER() OVER () AS BIGINT) AS position,
  n
FROM classes
