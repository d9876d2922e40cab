/* Leave out the rows of people who are not released. */
DELETE FROM rows_of_events
WHERE
  class IS NULL
