/* The test of a node where members of a class are people, and nothing else is required than $k of them. To tell people
   apart takes long, and few classes need it: the numbers of people who have several tuples are put into 62 bits, of
   which a class has no more than people.
   classes  what is known without it: at least so many people (fewest), and at most (most)
   unclear  classes of which that does not decide: their people are told apart */
WITH classes AS (
  SELECT
    $masked,
    SUM(n) AS n,
    SUM(persons) + BIT_COUNT(BIT_OR(CAST(1 AS BIGINT) << (entity % 62))) AS fewest,
    SUM(persons) + COUNT(entity) AS most
  FROM kanon_frequency
  WHERE
    $some_classes
  GROUP BY
    $masked
), unclear AS (
  SELECT
    SUM(kanon_frequency.n) AS n,
    SUM(persons) + COUNT(DISTINCT entity) AS people
  FROM kanon_frequency
  JOIN classes
    ON $is_of_class
  WHERE
    fewest < $k AND most >= $k
  GROUP BY
    $classes
)
SELECT
  COUNT(*) AS classes,
  COALESCE(SUM(n) FILTER (WHERE most < $k), 0) + (
    SELECT
      COALESCE(SUM(n) FILTER (WHERE people < $k), 0)
    FROM unclear
  ) AS suppressed
FROM classes
