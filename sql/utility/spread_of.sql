/* The values of each label of a column, and the share of its rows that each has. */
SELECT
  label,
  place,
  share
FROM spread
ORDER BY
  label,
  place
