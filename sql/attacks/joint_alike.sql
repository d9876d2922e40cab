/* What each tuple finds in two releases, if it finds something in one of them. */
SELECT
  one.tuple,
  one.n,
  one.found AS first,
  other.found AS second
FROM first_found AS one
INNER JOIN second_found AS other
  ON other.tuple = one.tuple
WHERE
  one.found <> 0 OR other.found <> 0
