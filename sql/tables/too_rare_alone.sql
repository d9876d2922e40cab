/* The kinds of events that fewer than $k people of a class have. Counting people is slow, and few kinds need it: the
   numbers of people are first put into 62 bits, and a kind has no more of these than people. */
SELECT
  rows_of_events.class,
  $own_kind
FROM rows_of_events
JOIN (
  SELECT
    class,
    $kind
  FROM rows_of_events
  WHERE
    NOT class IS NULL
  GROUP BY
    class,
    $kind
  HAVING
    BIT_COUNT(BIT_OR(CAST(1 AS BIGINT) << (number % 62))) < $k
) AS few
  ON few.class = rows_of_events.class AND $is_kind
GROUP BY
  rows_of_events.class,
  $own_kind
HAVING
  COUNT(DISTINCT rows_of_events.number) < $k
