/* Leave out the events that go through one that was left out. */
DELETE FROM events
WHERE
  NOT through IS NULL
  AND NOT EXISTS(
    SELECT
      1
    FROM events AS whole
    WHERE
      whole.number = events.number AND whole.event = events.through
  )
