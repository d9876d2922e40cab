/* What the rows of each class of a release show in the columns by which they can be joined with rows of another one. */
SELECT DISTINCT
  class + 1 AS class,
  $link AS link,
  $value AS value
FROM released
