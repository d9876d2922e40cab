/* The fewest people of a release who share the published values of a person and of any $m of their events; and how many
   combinations fewer than $k people share. people and events are read from the released tables, joined by keys. */
WITH combinations AS (
  SELECT
    COUNT(DISTINCT events.person) AS people
  FROM events
  JOIN another
    ON $is_another
  GROUP BY
    $classes,
    $events
)
SELECT
  COUNT(*) AS combinations,
  MIN(people) AS fewest,
  COUNT(*) FILTER (WHERE people < $k) AS too_rare
FROM combinations
