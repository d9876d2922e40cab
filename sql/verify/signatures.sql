/* How many pseudonyms of a column share their signature: in which classes their rows are, and how many in each. */
WITH tied AS (
  SELECT
    $pseudonym AS pseudonym,
    $labels,
    COUNT(*) AS n,
    $ends
  FROM release
  WHERE
    NOT $pseudonym IS NULL
  GROUP BY
    $pseudonym,
    $labels
), numbered AS (
  SELECT
    *,
    DENSE_RANK() OVER (ORDER BY $places) AS class
  FROM tied
), signatures AS (
  SELECT
    pseudonym,
    STRING_AGG(CAST(class AS TEXT) || ':' || CAST(n AS TEXT), ',' ORDER BY class) AS signature,
    $one_value,
    SUM(n) AS tied_rows
  FROM numbered
  GROUP BY
    pseudonym
), shared AS (
  SELECT
    COUNT(*) AS pseudonyms,
    COUNT(*) FILTER (WHERE tied_rows > 1) AS several
  FROM signatures
  GROUP BY
    signature,
    $flags
)
SELECT
  CAST(COALESCE(SUM(pseudonyms), 0) AS BIGINT) AS pseudonyms,
  CAST(COALESCE(SUM(several), 0) AS BIGINT) AS on_several_rows,
  COUNT(*) AS signatures,
  MIN(pseudonyms) AS fewest_alike,
  CAST(COALESCE(SUM(pseudonyms) FILTER (WHERE pseudonyms < $k), 0) AS BIGINT) AS among_too_few
FROM shared
