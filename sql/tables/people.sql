/* The people who are released, each with the number of her class: those with the same labels, $k at least. */
SELECT
  kanon_person,
  class
FROM (
  SELECT
    kanon_person,
    DENSE_RANK() OVER (ORDER BY $labels) AS class,
    COUNT(*) OVER (PARTITION BY $labels) AS members
  FROM rows_of_people
) AS people
WHERE
  members >= $k
