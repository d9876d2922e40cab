/* The classes of a table by its quasi-identifiers and by some of them: risks/estimators/tuples.py and subsets.py. The
   table is read once, into tuples: its combinations of values, with the person if people are counted. Rows without a
   name (NULL) do not identify a person to count; a class of only such rows has one person, since it is not known that
   there are two. */

/* tuples: The combinations of values, and the number of rows of each. */
SELECT
  $written,
  COUNT(*) AS n
FROM source
GROUP BY
  $written
;

/* sizes: For each class size, the number of classes. */
WITH classes AS (
  SELECT
    $values,
    $members AS members
  FROM tuples
  GROUP BY
    $values
)
SELECT
  members,
  COUNT(*) AS classes
FROM classes
GROUP BY
  members
ORDER BY
  members
;

/* people: The number of distinct people, of those alone in some class, and of those in some class of fewer than $k. A
   record is the rows of one person in one class. */
WITH records AS (
  SELECT
    $values,
    person,
    COUNT(person) OVER (PARTITION BY $values) AS named
  FROM tuples
)
SELECT
  COUNT(DISTINCT person) + COUNT(*) FILTER (WHERE named = 0) AS all_people,
  COUNT(DISTINCT person) FILTER (WHERE named <= 1) + COUNT(*) FILTER (WHERE named = 0) AS alone,
  COUNT(DISTINCT person) FILTER (WHERE named < $k) + COUNT(*) FILTER (WHERE named = 0 AND $k > 1) AS above_threshold
FROM records
;

/* population: The classes of a population. */
SELECT
  $written,
  $members AS members
FROM source
GROUP BY
  $written
;

/* in_population: For each size of a class of the population, the number of table members in such classes, and the
   number of classes of the table that are missing there, or have fewer members there. */
WITH in_table AS (
  SELECT
    $values,
    $members AS members
  FROM tuples
  GROUP BY
    $values
)
SELECT
  in_population.members,
  CAST(SUM(in_table.members) AS BIGINT) AS table_members,
  COUNT(*) FILTER (WHERE in_population.members IS NULL OR in_population.members < in_table.members) AS too_few
FROM in_table
LEFT JOIN in_population
  ON $same_class
GROUP BY
  in_population.members
;

/* people_in_population: The number of distinct people of the table, and of those with a class of fewer than $k in the
   population. */
WITH in_table AS (
  SELECT
    $values,
    person,
    COUNT(person) OVER (PARTITION BY $values) AS named
  FROM tuples
)
SELECT
  COUNT(DISTINCT in_table.person) + COUNT(*) FILTER (WHERE in_table.named = 0) AS people,
  COUNT(DISTINCT in_table.person) FILTER (WHERE in_population.members < $k)
  + COUNT(*) FILTER (WHERE in_table.named = 0 AND in_population.members < $k) AS above
FROM in_table
LEFT JOIN in_population
  ON $same_class
;

/* codes: The combinations of quasi-identifiers with small numbers in the place of values, which group faster than texts.
   $codes are the numbers; NULL has one like any other value. There is a step and a join for each column. */
WITH own_values AS (
  SELECT
    $value AS original,
    CAST(ROW_NUMBER() OVER () AS INTEGER) AS code
  FROM tuples
  GROUP BY
    $value
)
SELECT
  $codes,
  tuples.n AS n
FROM tuples
LEFT JOIN own_values
  ON $is_value
;

/* subsets: The classes by subsets of the quasi-identifiers: how many, the smallest, unique rows, all rows, and the rows
   in classes of fewer than $k rows. There is a GROUP BY for each subset, which has a number; $values are its columns.
   */
WITH classes AS (
  SELECT
    $subset AS subset,
    CAST(SUM(n) AS BIGINT) AS members
  FROM coded
  GROUP BY
    $values
)
SELECT
  subset,
  COUNT(*) AS classes,
  MIN(members) AS smallest_class,
  COUNT(*) FILTER (WHERE members = 1) AS uniques,
  SUM(members) AS all_members,
  COUNT(*) FILTER (WHERE members < $k) AS too_small,
  SUM(members) FILTER (WHERE members < $k) AS in_too_small
FROM classes
GROUP BY
  subset
;

/* subsets_of_people: The same if members are people. each_person has each person of a class once. A person who is alone
   in several classes counts once; all_members are the classes without named rows. */
WITH classes AS (
  SELECT
    $subset AS subset,
    GREATEST(COUNT(person), 1) AS members,
    MAX(person) AS only_person
  FROM each_person
  GROUP BY
    $values
)
SELECT
  subset,
  COUNT(*) AS classes,
  MIN(members) AS smallest_class,
  COUNT(DISTINCT only_person) FILTER (WHERE members = 1) + COUNT(*) FILTER (WHERE only_person IS NULL) AS uniques,
  COUNT(*) FILTER (WHERE only_person IS NULL) AS all_members,
  COUNT(*) FILTER (WHERE members < $k) AS too_small,
  SUM(members) FILTER (WHERE members < $k) AS in_too_small
FROM classes
GROUP BY
  subset
;

/* people_by_codes: The people in the combinations, and combinations without named rows. */
WITH counted AS (
  SELECT
    COUNT(person) AS named
  FROM coded
  GROUP BY
    $values
)
SELECT
  (SELECT COUNT(DISTINCT person) FROM coded) AS named,
  (SELECT COUNT(*) FROM counted WHERE named = 0) AS nameless
;

/* uniques: The classes by all quasi-identifiers with one member; the others are unique by no subset. $is_alone is true
   if a class has one member; $person is that person if people are counted. */
SELECT
  CAST(ROW_NUMBER() OVER () AS INTEGER) AS number,
  $values,
  $person AS person
FROM coded
GROUP BY
  $values
HAVING
  $is_alone
;

/* minimal_uniques: Those of them that are unique by a subset, but by no subset $inside it; each adds $score (SUDA2). */
SELECT
  $subset AS subset,
  uniques.number,
  $score AS score
FROM uniques
INNER JOIN (
  SELECT
    $values
  FROM coded
  GROUP BY
    $values
  HAVING
    $is_alone
) AS alone
  USING ($values)
WHERE
  NOT EXISTS(
    SELECT 1 AS found FROM minimal WHERE minimal.number = uniques.number AND minimal.subset IN ($inside)
  )
;

/* minimal_by_subset: For each subset, the number of rows for which it is a minimal sample unique. */
SELECT
  subset,
  COUNT(*) AS uniques
FROM minimal
GROUP BY
  subset
;

/* scores: The number of rows with a score, or of distinct people; the highest score, and the sum of all. */
WITH scored AS (
  SELECT
    number,
    SUM(score) AS score
  FROM minimal
  GROUP BY
    number
)
SELECT
  COUNT(DISTINCT uniques.person) + COUNT(*) FILTER (WHERE uniques.person IS NULL) AS scored,
  MAX(scored.score) AS highest,
  CAST(SUM(scored.score) AS DOUBLE) AS total
FROM scored
INNER JOIN uniques
  ON uniques.number = scored.number
;

/* unfit_weights: The rows without a weight, those whose weight is not a number of at least 1, and, if people are
   counted, those without a person, and the people with several weights. */
WITH weighed AS (
  SELECT
    $person AS person,
    $written AS written,
    $weight AS weight
  FROM source
), people AS (
  SELECT
    person
  FROM weighed
  GROUP BY
    person
  HAVING
    NOT person IS NULL AND COUNT(DISTINCT weight) > 1
)
SELECT
  COUNT(*) FILTER (WHERE written IS NULL) AS missing,
  COUNT(*) FILTER (WHERE NOT written IS NULL AND NOT COALESCE(weight >= 1 AND weight < 1e300, FALSE)) AS wrong,
  COUNT(*) FILTER (WHERE person IS NULL) AS nameless,
  (SELECT COUNT(*) FROM people) AS with_several
FROM weighed
;

/* weights: For each number of rows of a class and sum of their weights, the number of classes. */
WITH classes AS (
  SELECT
    $written,
    COUNT(*) AS members,
    SUM($weight) AS weight
  FROM source
  GROUP BY
    $written
)
SELECT
  members,
  weight,
  COUNT(*) AS classes
FROM classes
GROUP BY
  members,
  weight
;

/* weights_of_people: The same if members are people, each with one weight; the table is the one with the weights. */
WITH weighed AS (
  SELECT
    $person AS person,
    MAX($weight) AS weight
  FROM source
  GROUP BY
    $person
), classes AS (
  SELECT
    $values,
    COUNT(*) AS members,
    SUM(weighed.weight) AS weight
  FROM tuples
  INNER JOIN weighed
    ON weighed.person = CAST(tuples.person AS TEXT)
  GROUP BY
    $values
)
SELECT
  members,
  weight,
  COUNT(*) AS classes
FROM classes
GROUP BY
  members,
  weight
;
