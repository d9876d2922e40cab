/* Two releases of one table, read together: risks/attacks/joint.py runs these in this order, for the ledger and for
   kanon attack. */

/* found: The class that each tuple finds in one release: 0 if it is in no class, the number of its class (from 1), or a
   number below 0 that stands for several possible classes. */
WITH chosen AS (
  SELECT
    tuple,
    COUNT(*) AS choices,
    MIN(class) AS class
  FROM pairs
  GROUP BY
    tuple
), listed AS (
  SELECT
    pairs.tuple,
    STRING_AGG(CAST(pairs.class AS TEXT), ',' ORDER BY pairs.class) AS classes
  FROM pairs
  INNER JOIN chosen
    ON chosen.tuple = pairs.tuple
  WHERE
    chosen.choices > 1
  GROUP BY
    pairs.tuple
), several AS (
  SELECT
    tuple,
    -DENSE_RANK() OVER (ORDER BY classes) AS found
  FROM listed
)
SELECT
  tuples.tuple,
  tuples.n,
  CASE
    WHEN chosen.choices = 1
    THEN chosen.class + 1
    ELSE COALESCE(several.found, 0)
  END AS found
FROM tuples
LEFT JOIN chosen
  ON chosen.tuple = tuples.tuple
LEFT JOIN several
  ON several.tuple = tuples.tuple
;

/* choices: The classes behind each number of found; tuples in no class are in class 0. */
SELECT DISTINCT
  found.found,
  COALESCE(pairs.class + 1, 0) AS class
FROM found
LEFT JOIN pairs
  ON pairs.tuple = found.tuple
;

/* shape: A hash of the classes of one release without their numbers: the tuples that find each, and its rows. */
WITH covers AS (
  SELECT
    pairs.class,
    COUNT(*) AS covered,
    BIT_XOR(HASH(pairs.tuple)) AS which
  FROM pairs
  GROUP BY
    pairs.class
), counted AS (
  SELECT
    classes.n,
    covers.covered,
    covers.which,
    COUNT(*) AS classes
  FROM classes
  LEFT JOIN covers
    ON covers.class = classes.class
  GROUP BY
    classes.n,
    covers.covered,
    covers.which
)
SELECT
  COUNT(*),
  BIT_XOR(HASH(n, covered, which, classes))
FROM counted
;

/* possible: The values that one release leaves for tuples that find the same in it, and the frequency of each. */
SELECT
  choices.found,
  class_values.value,
  CAST(SUM(class_values.n) AS BIGINT) AS n
FROM choices
INNER JOIN class_values
  ON class_values.class = choices.class
GROUP BY
  choices.found,
  class_values.value
;

/* links: The values of the rows of each class of a release in the columns by which they can be joined with rows of
   another one. */
SELECT DISTINCT
  class + 1 AS class,
  $link AS link,
  $value AS value
FROM released
;

/* alike: The classes of each tuple in two releases, if it finds a class in one of them. */
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
;

/* groups: Groups of rows that are alike in two releases. */
SELECT
  first,
  second,
  CAST(SUM(n) AS BIGINT) AS n,
  CAST(SUM(n) AS BIGINT) AS size
FROM alike
GROUP BY
  first,
  second
;

/* groups_of_people: Groups of rows that are alike in two releases, and how many people they are about. A row that names
   nobody counts for nobody: a group that only has such rows hides none of them. */
SELECT
  alike.first,
  alike.second,
  COUNT(*) AS n,
  COUNT(DISTINCT $person) AS size
FROM alike
INNER JOIN people
  ON people.tuple = alike.tuple
INNER JOIN original
  ON original.rowid = people.position
GROUP BY
  alike.first,
  alike.second
;

/* sizes_same: How many others are alike if both releases have the same classes: the rows of the smallest possible
   class. */
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
;

/* small: The sizes of groups: their number, the smallest, those of one, and those of fewer than k, with their rows. */
SELECT
  COUNT(*),
  MIN(sizes.size),
  CAST(COALESCE(SUM(groups.n) FILTER (WHERE sizes.size = 1), 0) AS BIGINT),
  COUNT(*) FILTER (WHERE sizes.size < $k),
  CAST(COALESCE(SUM(groups.n) FILTER (WHERE sizes.size < $k), 0) AS BIGINT),
  CAST(COALESCE(SUM(groups.n), 0) AS BIGINT)
FROM groups
INNER JOIN sizes
  ON sizes.first = groups.first AND sizes.second = groups.second
;

/* small_people: How many people have a row in a group of one person, and in a group of fewer than k. */
SELECT
  COUNT(DISTINCT CASE WHEN sizes.size = 1 THEN $person END),
  COUNT(DISTINCT $person)
FROM sizes
INNER JOIN alike
  ON alike.first = sizes.first AND alike.second = sizes.second
INNER JOIN people
  ON people.tuple = alike.tuple
INNER JOIN original
  ON original.rowid = people.position
WHERE
  sizes.size < $k
;

/* own_values: The values of a sensitive column in groups of rows that are alike in two releases. */
SELECT
  alike.first,
  alike.second,
  $value AS value,
  COUNT(*) AS n
FROM alike
INNER JOIN people
  ON people.tuple = alike.tuple
INNER JOIN original
  ON original.rowid = people.position
GROUP BY
  1,
  2,
  3
;

/* different: The number of distinct values of each group. */
SELECT
  first,
  second,
  COUNT(*) AS size
FROM own_values
GROUP BY
  first,
  second
;

/* known: Rows whose value is certain from two releases, those for which it is right, those for which neither release
   alone makes it certain, and those in groups of k or more with fewer values than the classes of each release. */
WITH possible AS (
  SELECT
    first,
    second,
    MIN(value) AS value,
    COUNT(*) AS possible
  FROM bounds
  WHERE
    high > 0
  GROUP BY
    first,
    second
), first_alone AS (
  SELECT
    found,
    COUNT(*) AS different
  FROM first_possible
  GROUP BY
    found
), second_alone AS (
  SELECT
    found,
    COUNT(*) AS different
  FROM second_possible
  GROUP BY
    found
), found_together AS (
  SELECT
    different.size AS different,
    COALESCE(sizes.size, $k) >= $k AS is_large,
    COALESCE(possible.possible, 0) = 1 AS is_certain,
    COALESCE(first_alone.different, $least) AS in_first,
    COALESCE(second_alone.different, $least) AS in_second,
    counted.n,
    COALESCE(right_values.n, 0) AS right_rows
  FROM different
  INNER JOIN (
    SELECT
      first,
      second,
      SUM(n) AS n
    FROM own_values
    GROUP BY
      first,
      second
  ) AS counted
    ON counted.first = different.first AND counted.second = different.second
  LEFT JOIN sizes
    ON sizes.first = different.first AND sizes.second = different.second
  LEFT JOIN possible
    ON possible.first = different.first AND possible.second = different.second
  LEFT JOIN own_values AS right_values
    ON right_values.first = possible.first
    AND right_values.second = possible.second
    AND right_values.value = possible.value
  LEFT JOIN first_alone
    ON first_alone.found = different.first
  LEFT JOIN second_alone
    ON second_alone.found = different.second
)
SELECT
  CAST(COALESCE(SUM(n) FILTER (WHERE is_certain), 0) AS BIGINT),
  CAST(COALESCE(SUM(right_rows) FILTER (WHERE is_certain), 0) AS BIGINT),
  CAST(COALESCE(SUM(n) FILTER (WHERE is_certain AND in_first > 1 AND in_second > 1), 0) AS BIGINT),
  CAST(COALESCE(SUM(n) FILTER (WHERE is_large AND different < $least AND in_first >= $least AND in_second >= $least), 0) AS BIGINT)
FROM found_together
;

/* linked: How many rows have one value left, or fewer than $least, in a column that only one release has, when its rows
   are joined with those of the other release; only rows whose class alone leaves more. */
WITH both_classes AS (
  SELECT
    first,
    second,
    SUM(n) AS n
  FROM alike
  WHERE
    first <> 0 AND second <> 0
  GROUP BY
    first,
    second
), of_class AS (
  SELECT
    class,
    COUNT(DISTINCT value) AS different
  FROM valued
  GROUP BY
    class
), joined AS (
  SELECT DISTINCT
    valued.class AS own_class,
    linked.class AS other_class,
    valued.value
  FROM valued
  JOIN linked
    ON linked.link = valued.link
), left_over AS (
  SELECT
    both_classes.first,
    both_classes.second,
    MIN(both_classes.n) AS n,
    COUNT(DISTINCT joined.value) AS different,
    MIN(of_class.different) AS different_alone
  FROM both_classes
  JOIN first_choices
    ON first_choices.found = both_classes.first
  JOIN second_choices
    ON second_choices.found = both_classes.second
  JOIN joined
    ON joined.own_class = $own_class AND joined.other_class = $other_class
  JOIN of_class
    ON of_class.class = joined.own_class
  GROUP BY
    both_classes.first,
    both_classes.second
)
SELECT
  COALESCE(SUM(n) FILTER (WHERE different = 1 AND different_alone > 1), 0) AS certain,
  COALESCE(SUM(n) FILTER (WHERE different > 1 AND different < $least AND different_alone >= $least), 0) AS few
FROM left_over
;

/* codes: The values of a sensitive column with a number for each: they are counted in each round, and counting texts is
   slower. */
SELECT
  value,
  ROW_NUMBER() OVER (ORDER BY value) AS code
FROM (
  SELECT
    value
  FROM own_values
  UNION
  SELECT
    value
  FROM first_values
  UNION
  SELECT
    value
  FROM second_values
) AS every_value
;

/* coded: The same rows with numbers for values. */
SELECT
  valued.* REPLACE (codes.code AS value)
FROM valued
INNER JOIN codes
  ON codes.value = valued.value
;

/* bounds: How many rows of each group have each value: at least and at most, before anything is subtracted. The values
   that the first release leaves are materialized, because there are few groups compared with all pairs of found classes
   that have a value in common. */
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
;

/* bounds_next: The same after one more subtraction: rows that the other groups of a class have at least are not left
   for this one, and rows that they cannot have are in this one. Each row of a class belongs to someone in a group that
   can be in it. */
WITH own AS (
  SELECT
    first,
    second,
    SUM(low) AS low,
    SUM(high) AS high
  FROM bounds
  GROUP BY
    first,
    second
), first_totals AS (
  SELECT
    choices.class,
    bounds.value,
    SUM(CASE WHEN bounds.first > 0 THEN bounds.low ELSE 0 END) AS low,
    SUM(bounds.high) AS high
  FROM bounds
  INNER JOIN first_choices AS choices
    ON choices.found = bounds.first
  GROUP BY
    choices.class,
    bounds.value
), first_rest AS (
  SELECT
    choices.found,
    class_values.value,
    SUM(class_values.n - totals.low) AS high,
    SUM(class_values.n - totals.high) AS low
  FROM first_choices AS choices
  INNER JOIN first_values AS class_values
    ON class_values.class = choices.class
  INNER JOIN first_totals AS totals
    ON totals.class = choices.class AND totals.value = class_values.value
  GROUP BY
    choices.found,
    class_values.value
), second_totals AS (
  SELECT
    choices.class,
    bounds.value,
    SUM(CASE WHEN bounds.second > 0 THEN bounds.low ELSE 0 END) AS low,
    SUM(bounds.high) AS high
  FROM bounds
  INNER JOIN second_choices AS choices
    ON choices.found = bounds.second
  GROUP BY
    choices.class,
    bounds.value
), second_rest AS (
  SELECT
    choices.found,
    class_values.value,
    SUM(class_values.n - totals.low) AS high,
    SUM(class_values.n - totals.high) AS low
  FROM second_choices AS choices
  INNER JOIN second_values AS class_values
    ON class_values.class = choices.class
  INNER JOIN second_totals AS totals
    ON totals.class = choices.class AND totals.value = class_values.value
  GROUP BY
    choices.found,
    class_values.value
)
SELECT
  bounds.first,
  bounds.second,
  bounds.n,
  bounds.value,
  CAST(GREATEST(
    bounds.low,
    bounds.n - (own.high - bounds.high),
    CASE WHEN bounds.first > 0 THEN COALESCE(one.low, 0) + bounds.high ELSE 0 END,
    CASE WHEN bounds.second > 0 THEN COALESCE(other.low, 0) + bounds.high ELSE 0 END
  ) AS BIGINT) AS low,
  CAST(LEAST(
    bounds.high,
    bounds.n - (own.low - bounds.low),
    CASE WHEN bounds.first = 0 THEN bounds.high ELSE COALESCE(one.high, 0) + bounds.low END,
    CASE WHEN bounds.second = 0 THEN bounds.high ELSE COALESCE(other.high, 0) + bounds.low END
  ) AS BIGINT) AS high
FROM bounds
INNER JOIN own
  ON own.first = bounds.first AND own.second = bounds.second
LEFT JOIN first_rest AS one
  ON one.found = bounds.first AND one.value = bounds.value
LEFT JOIN second_rest AS other
  ON other.found = bounds.second AND other.value = bounds.value
WHERE
  bounds.high > 0
;

/* sizes: How many others are certainly alike: those of the group, and if it can be in several classes, those of the
   smallest pair of them. Rows that are apart may be counted twice if one person has several rows: then the larger
   number holds. */
WITH first_counts AS (
  SELECT
    found,
    COUNT(*) AS choices
  FROM first_choices
  GROUP BY
    found
), second_counts AS (
  SELECT
    found,
    COUNT(*) AS choices
  FROM second_choices
  GROUP BY
    found
), least AS (
  SELECT
    unsure.first,
    unsure.second,
    COUNT(*) AS choices,
    MIN(sure.size) AS size
  FROM groups AS unsure
  INNER JOIN first_choices
    ON first_choices.found = unsure.first
  INNER JOIN sure
    ON sure.first = first_choices.class
  INNER JOIN second_choices
    ON second_choices.found = unsure.second AND second_choices.class = sure.second
  WHERE
    unsure.first < 0 OR unsure.second < 0
  GROUP BY
    unsure.first,
    unsure.second
)
SELECT
  groups.first,
  groups.second,
  CASE
    WHEN groups.first >= 0 AND groups.second >= 0
    THEN groups.size
    WHEN least.choices IS NULL OR least.choices < first_counts.choices * second_counts.choices
    THEN groups.size
    WHEN $apart
    THEN groups.size + least.size
    ELSE GREATEST(groups.size, least.size)
  END AS size
FROM groups
INNER JOIN first_counts
  ON first_counts.found = groups.first
INNER JOIN second_counts
  ON second_counts.found = groups.second
LEFT JOIN least
  ON least.first = groups.first AND least.second = groups.second
;
