/* The values of a sensitive column with a number for each: they are counted in each round, and texts take longer. */
SELECT
  value,
  ROW_NUMBER() OVER (ORDER BY value) AS code
FROM (
  SELECT
    value
  FROM own_values
  UNION
  SELECT
    value
  FROM first_values
  UNION
  SELECT
    value
  FROM second_values
) AS every_value
