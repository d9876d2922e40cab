/* The same after one more subtraction: what the other groups of a class have at least is not left for this one, and what
   they cannot have is in this one. Each row of a class is that of someone in a group that can be in it. */
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
