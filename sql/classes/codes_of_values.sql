/* Codes of the values of a sensitive column, in their order: the search groups by small numbers. */
SELECT
  $value AS original,
  CAST(ROW_NUMBER() OVER (ORDER BY $value NULLS FIRST) AS INTEGER) AS value,
  CAST(SUM(n) AS DOUBLE) / SUM(SUM(n)) OVER () AS share,
  COUNT(*) OVER () AS "values"
FROM staged
GROUP BY
  $value
