/* How many people the rows are of that each tuple can be. Where it is settled who is in which class, people are counted
   over all classes of a tuple: only where the largest class alone does not say that they are many. Else they are at least
   as many as in one of these classes, and at most as many as in all of them: as many, if every person has one row. Where
   some of the classes may still be ruled out, they are at least as many as in the class with the fewest. */
WITH one_by_one AS (
  SELECT
    sets.found AS found,
    MAX(in_classes.at_least) AS largest,
    MIN(in_classes.at_least) AS smallest,
    SUM(in_classes.at_most) AS added_up
  FROM sets
  INNER JOIN in_classes
    ON in_classes.class = sets.class
  GROUP BY
    sets.found
), fewest AS (
  SELECT
    MIN(added_up) AS added_up
  FROM one_by_one
), united AS (
  SELECT
    sets.found AS found,
    COUNT(DISTINCT members.person) AS people
  FROM one_by_one
  CROSS JOIN fewest
  INNER JOIN sets
    ON sets.found = one_by_one.found
  INNER JOIN members
    ON members.class = sets.class
  WHERE $settled AND (one_by_one.largest < $k OR one_by_one.largest <= fewest.added_up)
  GROUP BY
    sets.found
), bounds AS (
  SELECT
    one_by_one.found AS found,
    COALESCE(united.people, CASE
      WHEN NOT $exact
      THEN one_by_one.smallest
      WHEN $one_row_each
      THEN one_by_one.added_up
      ELSE one_by_one.largest
    END) AS at_least,
    COALESCE(united.people, one_by_one.added_up) AS at_most
  FROM one_by_one
  LEFT JOIN united
    ON united.found = one_by_one.found
)
SELECT
  MIN(bounds.at_least) AS fewest,
  MIN(bounds.at_most) AS fewest_at_most,
  CAST(COALESCE(SUM(persons.n) FILTER (WHERE bounds.at_most < $k), 0) AS BIGINT) AS rows_below_k,
  CAST(COALESCE(SUM(persons.n) FILTER (WHERE bounds.at_least < $k AND bounds.at_most >= $k), 0) AS BIGINT) AS rows_open,
  COUNT(DISTINCT persons.person) FILTER (WHERE bounds.at_most < $k) AS people_below_k,
  COUNT(DISTINCT persons.person) FILTER (WHERE bounds.at_least < $k AND bounds.at_most >= $k) AS people_open
FROM found
INNER JOIN bounds
  ON bounds.found = found.found
INNER JOIN persons
  ON persons.tuple = found.tuple
