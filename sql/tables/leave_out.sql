/* Leave out the events that are too rare. */
DELETE FROM events
WHERE
  EXISTS(
    SELECT
      1
    FROM too_rare
    WHERE
      too_rare.number = events.number AND too_rare.event = events.event
  )
