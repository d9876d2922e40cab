/* The rows of the release in each class by the columns that an attacker knows, numbered from 1 within it. */
SELECT
  classes.class,
  coded.record,
  ROW_NUMBER() OVER (PARTITION BY classes.class ORDER BY coded.record) AS number
FROM coded
INNER JOIN classes
  ON $same_class
