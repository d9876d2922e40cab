/* The classes that tuples can be in, after one more round: a class with a row for everyone who fits it has them all, and
   one that is filled by those who fit no other class has no room for others. $spare of those who fit some class were
   left out, whoever they are. */
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
