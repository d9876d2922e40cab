/* How many rows each person has with each combination of codes: of the columns that rows of a table are known by, each
   joined to its hierarchy. */
SELECT
  numbered.number,
  $codes,
  COUNT(*) AS n
FROM rows_of_events
JOIN numbered
  ON numbered.kanon_person = rows_of_events.kanon_person
JOIN hierarchy
  ON $is_value
GROUP BY
  numbered.number,
  $codes
