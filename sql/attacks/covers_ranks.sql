/* The places that have rows, numbered in their order. */
SELECT
  place,
  ROW_NUMBER() OVER (ORDER BY place) AS rank
FROM places
WHERE
  n > 0
