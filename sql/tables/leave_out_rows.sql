/* Leave out the rows of kinds that a person may not keep. */
DELETE FROM rows_of_events
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM events
    WHERE
      events.number = rows_of_events.number AND events.event = rows_of_events.event
  )
