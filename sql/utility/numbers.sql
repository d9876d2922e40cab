/* The places of a column, and the value of each as a number, if it has one. */
SELECT
  place,
  number
FROM bins
ORDER BY
  place
