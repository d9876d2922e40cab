/* Leave the events out that are too rare. */
DELETE FROM events
WHERE
  EXISTS(
    SELECT
      1
    FROM too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  )
