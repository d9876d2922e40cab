/* The same as subsets.sql where members are people: a class has each person once, and one person if its rows name
   none. The DISTINCT is left out where no person has several combinations. Who is alone in several classes is one
   person; all_members are the classes whose rows name none. */
WITH classes AS (
  SELECT
    0 AS subset,
    GREATEST(COUNT(person), 1) AS members,
    MAX(person) AS only_person
  FROM (
    SELECT DISTINCT
      $values,
      person
    FROM coded
  ) AS each_person
  GROUP BY
    $values
)
SELECT
  subset,
  COUNT(*) AS classes,
  MIN(members) AS smallest_class,
  COUNT(DISTINCT only_person) FILTER (WHERE members = 1) + COUNT(*) FILTER (WHERE only_person IS NULL) AS uniques,
  COUNT(*) FILTER (WHERE only_person IS NULL) AS all_members,
  COUNT(*) FILTER (WHERE members < $k) AS too_small,
  SUM(members) FILTER (WHERE members < $k) AS in_too_small
FROM classes
GROUP BY
  subset
