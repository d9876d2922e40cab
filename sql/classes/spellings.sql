/* The number of distinct values of a sensitive column, and the number if spellings of one value are counted once. */
SELECT
  COUNT(*) AS "values",
  COUNT(DISTINCT $spelled) + COUNT(*) - COUNT(original) AS spellings
FROM shares
