/* The values of a sensitive column with a number for each: texts take three times as long to count. */
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
