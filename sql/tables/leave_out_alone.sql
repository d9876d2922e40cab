/* Leave the rows out of people who are not released, and those of kinds that are too rare in a class. */
DELETE FROM rows_of_events
WHERE
  class IS NULL
  OR EXISTS(
    SELECT
      1
    FROM too_rare
    WHERE
      too_rare.class = rows_of_events.class AND too_rare.event = rows_of_events.event
  )
