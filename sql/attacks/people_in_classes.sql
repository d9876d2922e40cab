/* How many people the rows of each class are of: at least and at most. possible counts the rows that can be in it. */
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
