/* The classes of a table by some of its columns: risks/estimators/subsets.py. */

/* codes: The combinations of quasi-identifiers with small numbers in the place of values, which group faster than texts.
   $codes are the numbers; NULL has one like any other value. There is a step and a join for each column. */
WITH own_values AS (
  SELECT
    $value AS original,
    CAST(ROW_NUMBER() OVER () AS INTEGER) AS code
  FROM tuples
  GROUP BY
    $value
)
SELECT
  $codes,
  tuples.n AS n
FROM tuples
LEFT JOIN own_values
  ON $is_value
;

/* subsets: The classes by subsets of the quasi-identifiers: how many, the smallest, rows that are alone, all rows, and what is
   in classes of fewer than $k rows. There is a GROUP BY for each subset, which has a number; $values are its columns. */
WITH classes AS (
  SELECT
    0 AS subset,
    CAST(SUM(n) AS BIGINT) AS members
  FROM coded
  GROUP BY
    $values
)
SELECT
  subset,
  COUNT(*) AS classes,
  MIN(members) AS smallest_class,
  COUNT(*) FILTER (WHERE members = 1) AS uniques,
  SUM(members) AS all_members,
  COUNT(*) FILTER (WHERE members < $k) AS too_small,
  SUM(members) FILTER (WHERE members < $k) AS in_too_small
FROM classes
GROUP BY
  subset
;

/* subsets_of_people: The same as subsets.sql where members are people: a class has each person once, and one person if its rows name
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
;
