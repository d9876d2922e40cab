/* The values that one release leaves to those who find the same in it, and how often each of them is there. */
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
