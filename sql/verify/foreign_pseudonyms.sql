/* How many values of a column of a release are not pseudonyms. */
SELECT
  COUNT(*) FILTER (
    WHERE NOT published.pseudonym IS NULL
      AND NOT EXISTS(SELECT 1 FROM pseudonyms AS known WHERE known.pseudonym = published.pseudonym)
  ) AS foreign_values
FROM (
  SELECT DISTINCT
    $column AS pseudonym
  FROM release
) AS published
