/* The kinds of events of a table, from number $first on: combinations of labels, those of the events that it goes
   through among them. */
SELECT
  $labels,
  $first + ROW_NUMBER() OVER (ORDER BY $labels) AS event
FROM (
  SELECT DISTINCT
    $labels
  FROM rows_of_events
) AS kinds
