/* The pseudonyms of a column whose signature fewer than k share. */
WITH signatures AS (
  SELECT
    1 AS pseudonym,
    1 AS signature
), counted AS (
  SELECT
    pseudonym,
    COUNT(*) OVER (PARTITION BY signature, $flags) AS alike
  FROM signatures
)
SELECT
  pseudonym
FROM counted
WHERE
  alike < $k
