/* How many rows of each group have each value: at least and at most, before anything is subtracted. */
SELECT
  groups.first,
  groups.second,
  groups.n,
  one.value,
  0 AS low,
  LEAST(groups.n, one.n, other.n) AS high
FROM groups
INNER JOIN first_possible AS one
  ON one.found = groups.first
INNER JOIN second_possible AS other
  ON other.found = groups.second AND other.value = one.value
UNION ALL
SELECT
  groups.first,
  groups.second,
  groups.n,
  one.value,
  0 AS low,
  LEAST(groups.n, one.n) AS high
FROM groups
INNER JOIN first_possible AS one
  ON one.found = groups.first
WHERE
  groups.second = 0
UNION ALL
SELECT
  groups.first,
  groups.second,
  groups.n,
  other.value,
  0 AS low,
  LEAST(groups.n, other.n) AS high
FROM groups
INNER JOIN second_possible AS other
  ON other.found = groups.second
WHERE
  groups.first = 0
