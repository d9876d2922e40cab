/* Every person with a pseudonym, and the number of their class: people with the same labels, if they are at least $k.
   Others have none; they are not released. $columns are the published columns of a person. No step has a name here,
   because it could hide a table. */
SELECT
  rows_of_people.kanon_person,
  $pseudonym AS pseudonym,
  classes.class,
  $columns
FROM rows_of_people
LEFT JOIN (
  SELECT
    $labels,
    ROW_NUMBER() OVER () AS class
  FROM rows_of_people
  GROUP BY
    $labels
  HAVING
    COUNT(*) >= $k
) AS classes
  ON $is_class
