/* Rows whose value is certain from two releases, those for which it is right, those for which neither release says it
   alone, and those in groups of k or more that have fewer different values than the classes of each release. */
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
