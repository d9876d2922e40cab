/* For each person, how many people share the rarest combination of the person's events; a join adds an event. */
SELECT
  person,
  MIN(people) AS fewest
FROM (
  SELECT
    events.person,
    COUNT(*) OVER (PARTITION BY events.class, $events) AS people
  FROM events
  JOIN another
    ON $is_another
) AS combinations
GROUP BY
  person
