/* The predicates that single out: rows of the release in drawn order, each with one set of columns, drawn from those in
   which no other row is like it. */
WITH one_each AS (
  SELECT
    record,
    subset,
    ROW_NUMBER() OVER (
      PARTITION BY record
      ORDER BY MD5($seed || ' subset ' || CAST(record AS TEXT) || ' ' || CAST(subset AS TEXT)), subset
    ) AS of_record
  FROM alone
), ranked AS (
  SELECT
    record,
    subset,
    ROW_NUMBER() OVER (ORDER BY MD5($seed || ' predicate ' || CAST(record AS TEXT)), record) AS rank
  FROM one_each
  WHERE
    of_record = 1
)
SELECT
  record,
  subset
FROM ranked
WHERE
  rank <= $at_most
