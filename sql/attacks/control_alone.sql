/* Rows of the release that no other row is like in a set of columns. */
SELECT
  record,
  $subset AS subset
FROM coded
QUALIFY
  COUNT(*) OVER (PARTITION BY $labels) = 1
