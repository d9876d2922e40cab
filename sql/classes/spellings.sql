/* How many different values a sensitive column has, and how many there are when spellings of one are counted once. */
SELECT
  COUNT(*) AS "values",
  COUNT(DISTINCT $spelled) + COUNT(*) - COUNT(original) AS spellings
FROM shares
