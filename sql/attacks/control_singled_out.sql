/* Singling out: of each side, how many predicates exactly one person satisfies. People beyond a number are left out. */
WITH who AS (
  SELECT
    tuples.tuple,
    sides.is_control,
    MIN(sides.person) AS lowest,
    MAX(sides.person) AS highest
  FROM sides
  INNER JOIN targets
    ON targets.is_control = sides.is_control AND targets.person = sides.person AND targets.rank <= $at_most
  INNER JOIN tuples
    ON $same_places
  GROUP BY
    tuples.tuple,
    sides.is_control
), matched AS (
  SELECT
    who.is_control,
    pairs.class,
    MIN(who.lowest) = MAX(who.highest) AS is_one
  FROM pairs
  INNER JOIN who
    ON who.tuple = pairs.tuple
  GROUP BY
    who.is_control,
    pairs.class
)
SELECT
  matched.is_control,
  CAST(COALESCE(SUM(classes.n) FILTER (WHERE matched.is_one), 0) AS BIGINT)
FROM matched
INNER JOIN classes
  ON classes.class = matched.class
GROUP BY
  matched.is_control
