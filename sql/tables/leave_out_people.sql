/* Leave the rows out of people who are not released. */
DELETE FROM rows_of_events
WHERE
  class IS NULL
