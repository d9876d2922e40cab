/* The same rows with numbers for values. */
SELECT
  valued.* REPLACE (codes.code AS value)
FROM valued
INNER JOIN codes
  ON codes.value = valued.value
