/* The rows of a table of events with the kind of each instead of its labels. */
SELECT
  rows_of_events.number,
  rows_of_events.class,
  $columns
FROM rows_of_events
JOIN kinds
  ON $is_kind
