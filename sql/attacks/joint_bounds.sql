/* How many rows of each group have each value: at least and at most, before anything is subtracted. What the first release
   leaves is materialized, for groups are few beside all pairs of things found that have a value in common. */
WITH in_first AS MATERIALIZED (
  SELECT
    groups.first,
    groups.second,
    groups.n,
    one.value,
    LEAST(groups.n, one.n) AS high
  FROM groups
  INNER JOIN first_possible AS one
    ON one.found = groups.first
)
SELECT
  in_first.first,
  in_first.second,
  in_first.n,
  in_first.value,
  0 AS low,
  LEAST(in_first.high, other.n) AS high
FROM in_first
INNER JOIN second_possible AS other
  ON other.found = in_first.second AND other.value = in_first.value
UNION ALL
SELECT
  first,
  second,
  n,
  value,
  0 AS low,
  high
FROM in_first
WHERE
  second = 0
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
