/* For each combination of events that fewer than $k people of a class have, its event that the fewest people of the
   class have: for each person who has the combination. A join adds an event. */
WITH counted AS (
  SELECT
    number,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM events
), combinations AS (
  SELECT
    counted.number,
    $rarest AS event,
    COUNT(*) OVER (PARTITION BY counted.class, $events) AS people
  FROM counted
  JOIN another
    ON $is_another
)
SELECT DISTINCT
  number,
  event
FROM combinations
WHERE
  people < $k
