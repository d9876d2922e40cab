/* A number for each person, from 0. */
SELECT
  kanon_person,
  ROW_NUMBER() OVER () - 1 AS number
FROM rows_of_people
