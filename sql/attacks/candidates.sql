/* The attacker's knowledge, and the classes of a release that people can be in: risks/attacks/candidates.py makes these
   tables one after the other. */

/* placed: The rows of the original with the places of their values; there is a join for each column. */
SELECT
  source.rowid AS position,
  $places
FROM source
INNER JOIN lookup
  ON $is_value
;

/* tuples: The distinct tuples of places, numbered, and how many rows have each. */
SELECT
  ROW_NUMBER() OVER () AS tuple,
  $places,
  COUNT(*) AS n
FROM placed
GROUP BY
  $places
;

/* people: The tuple of each row. */
SELECT
  placed.position,
  tuples.tuple
FROM placed
INNER JOIN tuples
  ON $same
;

/* numbered: The classes of a release with numbers for labels; there is a join for each column. */
SELECT
  written.n,
  $labels
FROM written
INNER JOIN labels
  ON $is_label
;

/* classes: The classes, numbered, with a bit in a word of 62 for each, in an order that puts similar ones together. */
WITH ordered AS (
  SELECT
    ROW_NUMBER() OVER (ORDER BY $order) - 1 AS class,
    $labels,
    n
  FROM numbered
)
SELECT
  *,
  class // 62 AS word,
  CAST(1 AS BIGINT) << (class % 62) AS bit
FROM ordered
;

/* in_blocks: The classes with the number of their block: those with the same labels in columns without overlaps. */
SELECT
  classes.*,
  DENSE_RANK() OVER (ORDER BY $labels) AS block
FROM classes
;

/* looked_up: The matches of tuples in columns where a value has one label, with a join for each of these columns. */
SELECT
  tuples.tuple,
  $wanted
FROM tuples
INNER JOIN covers
  ON $is_place
INNER JOIN relation
  ON $same
;

/* words: The words of classes that remain for each tuple by its block and the labels of one more column. */
SELECT
  looked_up.tuple,
  mask.word,
  mask.bits
FROM looked_up
INNER JOIN mask
  ON mask.place = looked_up.place AND mask.block = looked_up.block
;

/* narrowed: The words that remain after one more column. */
SELECT
  words.tuple,
  words.word,
  words.bits & mask.bits AS bits
FROM words
INNER JOIN tuples
  ON tuples.tuple = words.tuple
INNER JOIN mask
  ON mask.place = $place AND mask.word = words.word
WHERE
  (words.bits & mask.bits) <> 0
;

/* pairs: The classes of each tuple, from its words. */
SELECT
  words.tuple,
  classes.class
FROM words
INNER JOIN classes
  ON classes.word = words.word AND (words.bits & classes.bit) <> 0
;

/* found: The classes that each tuple finds: a single class by its own number, several by that of the tuple, below 0.
   The fewest rows are all of them if it can be in each class, else those of the smallest one. */
SELECT
  tuples.tuple,
  tuples.n,
  COUNT(pairs.class) AS classes,
  COALESCE(CAST(SUM(classes.n) AS BIGINT), 0) AS size,
  CASE WHEN $exact THEN COALESCE(CAST(SUM(classes.n) AS BIGINT), 0) ELSE COALESCE(MIN(classes.n), 0) END AS fewest,
  CASE WHEN COUNT(pairs.class) > 1 THEN -tuples.tuple ELSE MIN(pairs.class) END AS found
FROM tuples
LEFT JOIN pairs
  ON pairs.tuple = tuples.tuple
LEFT JOIN classes
  ON classes.class = pairs.class
GROUP BY
  tuples.tuple,
  tuples.n
;

/* sets: The classes that are found together. */
SELECT DISTINCT
  found.found,
  pairs.class
FROM found
INNER JOIN pairs
  ON pairs.tuple = found.tuple
;

/* fitting: How many of the original can be a row of the release: the number for the class that the fewest can be in,
   how many rows are in classes that fewer than k can be in, and the rows of the smallest class. */
WITH possible AS (
  SELECT
    classes.class,
    classes.n,
    $fitting AS fitting
  FROM classes
  LEFT JOIN pairs
    ON pairs.class = classes.class
  LEFT JOIN who
    ON who.tuple = pairs.tuple
  GROUP BY
    classes.class,
    classes.n
)
SELECT
  MIN(fitting) AS fewest,
  COALESCE(SUM(n) FILTER (WHERE fitting < $k), 0) AS few,
  MIN(n) AS smallest
FROM possible
;
