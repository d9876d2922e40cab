/* The classes that tuples must be in once certain rows are placed: risks/attacks/settled.py repeats the round until
   nothing changes. */

/* room: How many rows of the original fit some class, how many rows the release has, and how many of its classes have
   more rows than fit them. */
WITH fits AS (
  SELECT
    classes.class,
    classes.n,
    COALESCE(SUM(tuples.n), 0) AS possible
  FROM classes
  LEFT JOIN pairs
    ON pairs.class = classes.class
  LEFT JOIN tuples
    ON tuples.tuple = pairs.tuple
  GROUP BY
    classes.class,
    classes.n
), own AS (
  SELECT DISTINCT
    tuple
  FROM pairs
)
SELECT
  (
    SELECT
      CAST(COALESCE(SUM(tuples.n), 0) AS BIGINT)
    FROM own
    INNER JOIN tuples
      ON tuples.tuple = own.tuple
  ),
  CAST(COALESCE(SUM(n), 0) AS BIGINT),
  COUNT(*) FILTER (WHERE possible < n)
FROM fits
;

/* pairs: The classes that tuples can be in, after one more round: a class with a row for each row that fits it has them
   all, and one that is filled by rows that fit no other class has no room for others. $spare of the rows that fit some
   class were left out, whichever they are. */
WITH sized AS (
  SELECT
    pairs.tuple,
    pairs.class,
    tuples.n,
    COUNT(*) OVER (PARTITION BY pairs.tuple) AS choices
  FROM pairs
  INNER JOIN tuples
    ON tuples.tuple = pairs.tuple
), filled AS (
  SELECT
    sized.class,
    SUM(sized.n) = MIN(classes.n) AS has_all,
    SUM(CASE WHEN sized.choices = 1 THEN sized.n ELSE 0 END) - $spare >= MIN(classes.n) AS is_full
  FROM sized
  INNER JOIN classes
    ON classes.class = sized.class
  GROUP BY
    sized.class
), judged AS (
  SELECT
    sized.tuple,
    sized.class,
    sized.choices,
    filled.is_full,
    MIN(CASE WHEN filled.has_all THEN sized.class END) OVER (PARTITION BY sized.tuple) AS own
  FROM sized
  INNER JOIN filled
    ON filled.class = sized.class
)
SELECT
  tuple,
  class
FROM judged
WHERE
  choices = 1 OR class = own OR (own IS NULL AND NOT is_full)
;

/* sets: The classes that each tuple can be in, as a text, and a number that is equal for equal classes. */
WITH listed AS (
  SELECT
    tuple,
    STRING_AGG(CAST(class AS TEXT), ',' ORDER BY class) AS classes
  FROM pairs
  GROUP BY
    tuple
)
SELECT
  listed.tuple,
  tuples.n,
  listed.classes,
  DENSE_RANK() OVER (ORDER BY listed.classes) AS number
FROM listed
INNER JOIN tuples
  ON tuples.tuple = listed.tuple
;

/* chosen: The classes that tuples can be in, from those that are possible for all tuples with the same classes. */
SELECT
  sets.tuple,
  chosen.class
FROM sets
INNER JOIN chosen
  ON chosen.number = sets.number
;
