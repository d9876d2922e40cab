/* The attacks that a control group judges: risks/attacks/controlled.py counts successes against people in the original
   and against people outside it. */

/* other_people: The rows of the original that belong to nobody in the control group, in their order. */
SELECT
  $columns
FROM (
  SELECT
    original.*,
    ROW_NUMBER() OVER () AS kanon_position
  FROM original
) AS original
ANTI JOIN control
  ON $same_person
ORDER BY
  original.kanon_position
;

/* scope: The rows of the original minus those of the control group, one for one: of equal rows, as many remain as the
   original has more of. They keep their order. */
WITH held_out AS (
  SELECT
    $keys,
    COUNT(*) AS kanon_held_out
  FROM control
  GROUP BY
    $keys
), numbered AS (
  SELECT
    $columns,
    ROW_NUMBER() OVER () AS kanon_position
  FROM original
), copies AS (
  SELECT
    $columns,
    kanon_position,
    ROW_NUMBER() OVER (PARTITION BY $keys ORDER BY kanon_position) AS kanon_copy
  FROM numbered
)
SELECT
  $copied
FROM copies
LEFT JOIN held_out
  ON $same
WHERE
  copies.kanon_copy > COALESCE(held_out.kanon_held_out, 0)
ORDER BY
  copies.kanon_position
;

/* both_sides: The rows of the original and of the control group with the columns that are needed. */
SELECT
  $columns,
  FALSE AS kanon_is_control
FROM original
UNION ALL
SELECT
  $columns,
  TRUE AS kanon_is_control
FROM control
;

/* texts: The distinct values of a column of the release, numbered in their order: random choices by these numbers must
   not depend on the number of threads. Each is a label that covers itself. */
WITH distinct_texts AS (
  SELECT DISTINCT
    $value AS "text"
  FROM released
)
SELECT
  ROW_NUMBER() OVER (ORDER BY "text") AS label,
  ROW_NUMBER() OVER (ORDER BY "text") AS place,
  "text"
FROM distinct_texts
;

/* sides: Rows of both sides with the places of their values; there is a join for each column. A row without a person
   counts as a separate person. */
SELECT
  source.rowid AS record,
  source.kanon_is_control AS is_control,
  COALESCE('=' || CAST($person AS TEXT), CAST(source.rowid AS TEXT)) AS person,
  $places
FROM source
INNER JOIN lookup
  ON $is_value
LEFT JOIN texts
  ON $is_text
;

/* coded: The rows of the release, numbered in their order, with the numbers of their labels; there is a join for each
   column that is not a quasi-identifier. */
SELECT
  ROW_NUMBER() OVER (ORDER BY released.position) AS record,
  $labels
FROM released
INNER JOIN classes
  ON classes.class = released.class
INNER JOIN texts
  ON $is_text
;

/* alike: How many rows of the control group the original has (equal rows as often), and the number of its rows. */
SELECT
  (
    SELECT
      COUNT(*)
    FROM control
  ) - (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        $keys
      FROM control
      EXCEPT ALL
      SELECT
        $keys
      FROM original
    ) AS missing
  ) AS alike,
  (
    SELECT
      COUNT(*)
    FROM control
  ) AS n
;

/* targets: Each person of the original and of the control group, with one of their rows, and their place in a random
   order. The row and the order are drawn independently: otherwise people with many rows would come first. */
WITH drawn AS (
  SELECT
    is_control,
    person,
    record,
    ROW_NUMBER() OVER (PARTITION BY is_control, person ORDER BY MD5($seed || ' row ' || CAST(record AS TEXT)), record) AS of_person
  FROM sides
)
SELECT
  is_control,
  person,
  record,
  ROW_NUMBER() OVER (PARTITION BY is_control ORDER BY MD5($seed || ' person ' || CAST(record AS TEXT)), record) AS rank
FROM drawn
WHERE
  of_person = 1
;

/* sizes: The number of people of the original and of the control group, and of rows of the release. */
SELECT
  (SELECT COUNT(*) FROM targets WHERE NOT is_control),
  (SELECT COUNT(*) FROM targets WHERE is_control),
  (SELECT COUNT(*) FROM coded)
;

/* targets_known: The values of the targets that an attacker knows. */
SELECT
  sides.record AS tuple,
  $places
FROM sides
INNER JOIN targets
  ON targets.record = sides.record AND targets.rank <= $at_most
;

/* grouped: The classes of the release by the labels of some columns. */
SELECT
  $labels,
  COUNT(*) AS n
FROM coded
GROUP BY
  $labels
;

/* members: The rows of the release in each class by the columns that an attacker knows, numbered from 1 within it. */
SELECT
  classes.class,
  coded.record,
  ROW_NUMBER() OVER (PARTITION BY classes.class ORDER BY coded.record) AS number
FROM coded
INNER JOIN classes
  ON $same_class
;

/* most: The most frequent label of a column of the release; ties are broken at random. */
SELECT
  $secret AS label
FROM coded
GROUP BY
  $secret
ORDER BY
  COUNT(*) DESC,
  MD5($seed || ' most ' || CAST($secret AS TEXT)),
  label
LIMIT 1
;

/* inferred: Inference of one column, for each side: the number of people it was guessed for, for how many the most
   frequent label of their candidate rows was right, and for how many the most frequent one of the release was. Ties
   among candidates are broken at random; without candidates, the guess is the most frequent label of the release. */
WITH by_class AS (
  SELECT
    members.class,
    $secret AS label,
    COUNT(*) AS n
  FROM members
  INNER JOIN coded
    ON coded.record = members.record
  GROUP BY
    members.class,
    $secret
), among_candidates AS (
  SELECT
    pairs.tuple,
    by_class.label,
    SUM(by_class.n) AS n
  FROM pairs
  INNER JOIN by_class
    ON by_class.class = pairs.class
  GROUP BY
    pairs.tuple,
    by_class.label
), ranked AS (
  SELECT
    tuple,
    label,
    ROW_NUMBER() OVER (
      PARTITION BY tuple
      ORDER BY n DESC, MD5($seed || ' ' || CAST(tuple AS TEXT) || ' ' || CAST(label AS TEXT)), label
    ) AS rank
  FROM among_candidates
), covered AS (
  SELECT DISTINCT
    label,
    place
  FROM covers
), guessed AS (
  SELECT
    targets.is_control,
    $place AS place,
    COALESCE(ranked.label, $most) AS label
  FROM targets
  INNER JOIN sides
    ON sides.record = targets.record
  LEFT JOIN ranked
    ON ranked.tuple = targets.record AND ranked.rank = 1
  WHERE
    targets.rank <= $at_most
)
SELECT
  guessed.is_control,
  COUNT(*),
  COUNT(own.label),
  COUNT(most.label)
FROM guessed
LEFT JOIN covered AS own
  ON own.label = guessed.label AND own.place = guessed.place
LEFT JOIN covered AS most
  ON most.label = $most AND most.place = guessed.place
GROUP BY
  guessed.is_control
;

/* picked: One row of the release for each person who has candidates, drawn uniformly from the candidate rows. */
WITH ranges AS (
  SELECT
    pairs.tuple,
    pairs.class,
    SUM(classes.n) OVER (
      PARTITION BY pairs.tuple ORDER BY pairs.class ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - classes.n AS before,
    classes.n,
    SUM(classes.n) OVER (PARTITION BY pairs.tuple) AS candidates
  FROM pairs
  INNER JOIN classes
    ON classes.class = pairs.class
), picked AS (
  SELECT
    tuple,
    class,
    before,
    n,
    1 + CAST(MD5_NUMBER_LOWER($seed || ' ' || CAST(tuple AS TEXT)) % candidates AS BIGINT) AS pick
  FROM ranges
)
SELECT
  picked.tuple,
  members.record
FROM picked
INNER JOIN members
  ON members.class = picked.class AND members.number = picked.pick - picked.before
WHERE
  picked.pick > picked.before AND picked.pick <= picked.before + picked.n
;

/* linked: Linkability, for each side: the number of people who were looked up, for how many both picks are the same row
   of the release, and for how many two random rows of the release are the same. */
SELECT
  targets.is_control,
  COUNT(*),
  COUNT(*) FILTER (WHERE first_picked.record = second_picked.record),
  COUNT(*) FILTER (
    WHERE
      MD5_NUMBER_LOWER($seed || ' first ' || CAST(targets.record AS TEXT)) % $rows
      = MD5_NUMBER_LOWER($seed || ' second ' || CAST(targets.record AS TEXT)) % $rows
  )
FROM targets
LEFT JOIN first_picked
  ON first_picked.tuple = targets.record
LEFT JOIN second_picked
  ON second_picked.tuple = targets.record
WHERE
  targets.rank <= $at_most
GROUP BY
  targets.is_control
;

/* found_in: How many rows of the release have a value that some row of the original has, in one column. */
SELECT
  COUNT(*)
FROM coded
SEMI JOIN sides
  ON $same AND NOT sides.is_control
;

/* alone: Rows of the release that differ from all other rows in a set of columns. */
SELECT
  record,
  $subset AS subset
FROM coded
QUALIFY
  COUNT(*) OVER (PARTITION BY $labels) = 1
;

/* predicates: The predicates that single out: rows of the release in random order, each with one set of columns, drawn
   from those in which no other row equals it. */
WITH one_each AS (
  SELECT
    record,
    subset,
    ROW_NUMBER() OVER (
      PARTITION BY record
      ORDER BY MD5($seed || ' subset ' || CAST(record AS TEXT) || ' ' || CAST(subset AS TEXT)), subset
    ) AS of_record
  FROM alone
), ranked AS (
  SELECT
    record,
    subset,
    ROW_NUMBER() OVER (ORDER BY MD5($seed || ' predicate ' || CAST(record AS TEXT)), record) AS rank
  FROM one_each
  WHERE
    of_record = 1
)
SELECT
  record,
  subset
FROM ranked
WHERE
  rank <= $at_most
;

/* predicated: The labels of predicates over a set of columns, and how many have the same labels: those of one row of
   the release, or each from a different row, with a join for each column. */
SELECT
  $labels,
  COUNT(*) AS n
FROM predicates
INNER JOIN coded
  ON $is_drawn
WHERE
  predicates.subset = $subset
GROUP BY
  $labels
;

/* tuples: The values of people in a set of columns. */
SELECT
  ROW_NUMBER() OVER () AS tuple,
  $places
FROM sides
GROUP BY
  $places
;

/* singled_out: Singling out, for each side: how many predicates exactly one person satisfies. People beyond a number
   are left out. */
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
;
