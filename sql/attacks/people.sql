/* Attacks on classes whose members are people: risks/attacks/released.py counts, linkage.py and guesses.py judge. */

/* of_tuples: How many rows each person has with each tuple of quasi-identifiers. */
WITH each_row AS (
  SELECT
    people.tuple AS tuple,
    $person AS person
  FROM people
  INNER JOIN original
    ON original.rowid = people.position
)
SELECT
  tuple,
  person,
  COUNT(*) AS n
FROM each_row
GROUP BY
  tuple,
  person
;

/* members: The people who can have rows in each class and how many rows each; up_to counts rows from the first person
   to this one. Rows that name nobody come first, then people in descending order of rows: so the first n rows belong to
   the fewest people possible. */
WITH members AS (
  SELECT
    pairs.class AS class,
    persons.person AS person,
    SUM(persons.n) AS n
  FROM pairs
  INNER JOIN persons
    ON persons.tuple = pairs.tuple
  GROUP BY
    pairs.class,
    persons.person
)
SELECT
  class,
  person,
  CAST(n AS BIGINT) AS n,
  CAST(SUM(n) OVER (
    PARTITION BY class ORDER BY person IS NULL DESC, n DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  ) AS BIGINT) AS up_to
FROM members
;

/* in_classes: How many people the rows of each class belong to: at least and at most. possible counts the rows that can
   be in it. */
SELECT
  classes.class AS class,
  classes.n AS n,
  COALESCE(MAX(members.up_to), 0) AS possible,
  COUNT(members.person) FILTER (WHERE members.up_to - members.n < classes.n) AS at_least,
  LEAST(COUNT(members.person), classes.n) AS at_most
FROM classes
LEFT JOIN members
  ON members.class = classes.class
GROUP BY
  classes.class,
  classes.n
;

/* found: How many people have the rows that each tuple can be. If it is settled who is in which class, people are
   counted over all classes of a tuple, unless the largest class alone shows that they are many. Otherwise they are at
   least as many as in one of these classes, and at most as many as in all of them; exactly as many if every person has
   one row. If some of the classes may still be ruled out, they are at least as many as in the class with the fewest. */
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
;

/* by_number: People who have more rows of a class than it has without its most frequent value: some of their rows have
   that value. Classes with a single value reveal it for every row, and are not counted. */
WITH counted AS (
  SELECT
    class,
    $value AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    class,
    $value
), modal AS (
  SELECT
    class,
    MAX(n) AS most,
    SUM(n) AS n
  FROM counted
  GROUP BY
    class
)
SELECT
  COUNT(DISTINCT members.person) AS people
FROM members
JOIN modal
  ON modal.class = members.class
WHERE
  members.n + modal.most > modal.n AND modal.most < modal.n
;

/* more_people: Does the column of people of a release have more people than its original, in all or in one class? */
SELECT
  (SELECT COUNT(DISTINCT person) FROM members) > (SELECT COUNT(DISTINCT person) FROM persons)
  OR EXISTS(
    SELECT
      1
    FROM by_release
    JOIN by_original
      ON by_original.class = by_release.class
    WHERE
      by_release.at_most > by_original.at_most
  ) AS more_people
;
