/* Leave out the rows of kinds that are too rare in a class. */
DELETE FROM rows_of_events
WHERE
  EXISTS(
    SELECT
      1
    FROM too_rare
    WHERE
      too_rare.class = rows_of_events.class AND $is_kind
  )
