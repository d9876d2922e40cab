/* How many others are alike where both releases have the same classes: the rows of the smallest class that is possible. */
SELECT
  groups.first,
  groups.second,
  MIN(classes.n) AS size
FROM groups
INNER JOIN first_choices
  ON first_choices.found = groups.first
INNER JOIN classes
  ON classes.class + 1 = first_choices.class
GROUP BY
  groups.first,
  groups.second
