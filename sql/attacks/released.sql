/* The rows of a release beside its original: risks/attacks/released.py. Labels are joined column by column, to read the
   number of each, and then the class that has these numbers. */

/* released: The class of each row of the release, in order, and other columns. */
SELECT
  written.rowid AS position,
  classes.class,
  $published
FROM written
INNER JOIN labels
  ON $is_label
INNER JOIN classes
  ON $same
;

/* class_values: The values of a column in each class, classes from 1. */
WITH counted AS (
  SELECT
    $labels,
    $value AS value,
    COUNT(*) AS n
  FROM release
  GROUP BY
    $labels,
    $value
)
SELECT
  classes.class + 1 AS class,
  written.value,
  CAST(SUM(written.n) AS BIGINT) AS n
FROM counted AS written
INNER JOIN labels
  ON $is_label
INNER JOIN classes
  ON $same
GROUP BY
  classes.class,
  written.value
;

/* with_people: The rows of the release, each with any person of its class. */
WITH numbered AS (
  SELECT
    $written,
    classes.class AS kanon_class,
    ROW_NUMBER() OVER (PARTITION BY classes.class) AS kanon_number
  FROM release AS written
  INNER JOIN labels
    ON $is_label
  INNER JOIN classes
    ON $same
)
SELECT
  $kept,
  $person AS kanon_entity
FROM numbered
LEFT JOIN members
  ON members.class = numbered.kanon_class
  AND numbered.kanon_number > members.up_to - members.n
  AND numbered.kanon_number <= members.up_to
;
