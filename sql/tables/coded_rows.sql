/* How many rows each person has with each combination of codes. */
SELECT
  number,
  $codes,
  COUNT(*) AS n
FROM coded_rows
GROUP BY
  number,
  $codes
