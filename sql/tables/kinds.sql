/* The kinds of events of a table, from number $first on: combinations of its labels with the kind of the event that
   they go through. */
SELECT
  $labels,
  through,
  $first + ROW_NUMBER() OVER (ORDER BY $labels, through) AS event
FROM (
  SELECT DISTINCT
    $labels,
    through
  FROM rows_of_events
) AS kinds
