/* How many combinations of values some columns have: as many as rows, if each row is a cell of a table of counts. */
SELECT
  COUNT(*)
FROM (
  SELECT DISTINCT
    $others
  FROM source
) AS combinations
