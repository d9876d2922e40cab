/* The people of tables, each with the number of their published values. */
SELECT DISTINCT
  person,
  DENSE_RANK() OVER (ORDER BY class) AS class
FROM known_people
WHERE
  NOT person IS NULL
