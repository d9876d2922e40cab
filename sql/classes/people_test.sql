/* The test of a node if members of a class are people, and the only requirement is $k of them. Distinguishing
   people takes long, and few classes need it: the numbers of people who have several tuples are put into 62 bits. A
   class has at most as many of these bits as people.
   counted  bounds for each class without distinguishing people: at least (fewest) and at most (most) so many
   unclear  classes that these bounds do not decide: their people are distinguished
   failing  classes of fewer than $k people */
WITH counted AS (
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
    $classes,
    SUM(kanon_frequency.n) AS n,
    SUM(persons) + COUNT(DISTINCT entity) AS people
  FROM kanon_frequency
  JOIN counted
    ON $is_of_class
  WHERE
    fewest < $k AND most >= $k
  GROUP BY
    $classes
), failing AS (
  SELECT
    $keys,
    n
  FROM counted
  WHERE
    most < $k
  UNION ALL
  SELECT
    $keys,
    n
  FROM unclear
  WHERE
    people < $k
)
SELECT
  (
    SELECT
      COUNT(*)
    FROM counted
  ) AS classes,
  COALESCE(SUM(n), 0) AS suppressed
FROM failing
