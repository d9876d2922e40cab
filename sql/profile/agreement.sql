/*
Whether rows with one value of some columns are of one person: how often two of them agree in a trait, and how often two
rows with different values do. A row counts by the share of the others with its value that agree with it, so that one
frequent value does not decide for all.
*/
WITH pairs AS (
  SELECT found.name, found.trait, CAST(COUNT(*) AS DOUBLE) AS n
  FROM (SELECT $name AS name, $trait AS trait FROM source) AS found
  WHERE NOT found.name IS NULL AND NOT found.trait IS NULL
  GROUP BY found.name, found.trait
), names AS (
  SELECT SUM(pairs.n) AS n, SUM(pairs.n * (pairs.n - 1)) AS alike
  FROM pairs
  GROUP BY pairs.name
), traits AS (
  SELECT SUM(pairs.n) AS n
  FROM pairs
  GROUP BY pairs.trait
), of_names AS (
  SELECT
    SUM(names.n) AS n,
    SUM(names.n * (names.n - 1)) AS namesakes,
    SUM(names.alike) AS alike,
    SUM(CASE WHEN names.n > 1 THEN names.n ELSE 0 END) AS repeated,
    SUM(CASE WHEN names.n > 1 THEN names.alike / (names.n - 1) ELSE 0 END) AS agreeing
  FROM names
), of_traits AS (
  SELECT SUM(traits.n * (traits.n - 1)) AS alike
  FROM traits
)
SELECT
  COALESCE(of_names.repeated, 0) AS repeated_rows,
  COALESCE(of_names.agreeing, 0) AS agreeing_rows,
  COALESCE(of_names.n * (of_names.n - 1) - of_names.namesakes, 0) AS pairs_of_others,
  COALESCE(of_traits.alike - of_names.alike, 0) AS pairs_of_others_alike
FROM of_names
CROSS JOIN of_traits
