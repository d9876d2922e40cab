/* Inferences about a sensitive column from the candidates of a person: risks/attacks/guesses.py. */

/* known: How well the most frequent value of the candidates (with ties, the first one) predicts the true one. Rows of
   the original by the number of values of their candidates, whether one has the share that counts as known, whether it
   is the true one; and by the fewest values of one class, and whether one of its values may have that share: if not
   $exact, the other classes may be ruled out. */
WITH in_class AS (
  SELECT
    class,
    $shared AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    class,
    $shared
), of_classes AS (
  SELECT
    class,
    COUNT(*) AS different,
    MAX(n) * $denominator >= SUM(n) * $numerator AS confident
  FROM in_class
  GROUP BY
    class
), still_open AS (
  SELECT
    sets.found,
    MIN(of_classes.different) AS fewest,
    BOOL_OR(of_classes.confident) AS could_be
  FROM sets
  INNER JOIN of_classes
    ON of_classes.class = sets.class
  WHERE NOT $exact
  GROUP BY
    sets.found
), among_candidates AS (
  SELECT
    sets.found,
    in_class.value,
    SUM(in_class.n) AS n
  FROM sets
  INNER JOIN in_class
    ON in_class.class = sets.class
  GROUP BY
    sets.found,
    in_class.value
), ranked AS (
  SELECT
    found,
    value,
    COUNT(*) OVER (PARTITION BY found) AS different,
    n * $denominator >= SUM(n) OVER (PARTITION BY found) * $numerator AS confident,
    ROW_NUMBER() OVER (PARTITION BY found ORDER BY n DESC, value) AS rank
  FROM among_candidates
), truths AS (
  SELECT
    found.found,
    $own AS value,
    COUNT(*) AS n
  FROM original
  INNER JOIN people
    ON people.position = original.rowid
  INNER JOIN found
    ON found.tuple = people.tuple
  GROUP BY
    found.found,
    $own
)
SELECT
  ranked.different,
  COALESCE(still_open.fewest, ranked.different) AS fewest,
  ranked.confident,
  COALESCE(still_open.could_be, ranked.confident) AS could_be,
  ranked.value = truths.value AS is_right,
  CAST(SUM(truths.n) AS BIGINT) AS n
FROM truths
INNER JOIN ranked
  ON ranked.found = truths.found AND ranked.rank = 1
LEFT JOIN still_open
  ON still_open.found = ranked.found
GROUP BY
  1,
  2,
  3,
  4,
  5
;

/* published_most: How many rows of the release have its most frequent value of a column, and how many rows it has. */
WITH counted AS (
  SELECT
    $shared AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    $shared
)
SELECT
  CAST(COALESCE(MAX(n), 0) AS BIGINT),
  CAST(COALESCE(SUM(n), 0) AS BIGINT)
FROM counted
;
