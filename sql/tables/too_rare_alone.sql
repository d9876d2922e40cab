/* The kinds of events that fewer than $k people of a class have. */
SELECT
  class,
  event
FROM rows_of_events
WHERE
  NOT class IS NULL
GROUP BY
  class,
  event
HAVING
  COUNT(DISTINCT number) < $k
