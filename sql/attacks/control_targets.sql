/* Each person of the original and of the control group, with one of their rows, and their place in a drawn order.
   The row and the order are drawn apart from each other: else people with many rows would come first. */
WITH drawn AS (
  SELECT
    is_control,
    person,
    record,
    ROW_NUMBER() OVER (PARTITION BY is_control, person ORDER BY MD5($seed || ' row ' || CAST(record AS TEXT)), record) AS of_person
  FROM sides
)
SELECT
  is_control,
  person,
  record,
  ROW_NUMBER() OVER (PARTITION BY is_control ORDER BY MD5($seed || ' person ' || CAST(record AS TEXT)), record) AS rank
FROM drawn
WHERE
  of_person = 1
