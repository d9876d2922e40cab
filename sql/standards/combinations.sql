/* Count the combinations of values of some columns. If each row is a cell of a table of counts, there are as many as
   rows. */
SELECT
  COUNT(*)
FROM (
  SELECT DISTINCT
    $others
  FROM source
) AS combinations
