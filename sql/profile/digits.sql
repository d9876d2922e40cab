/* Values to check the digits of: if there are many, those with the smallest hash. */
SELECT text
FROM (
  SELECT DISTINCT $value AS "text"
  FROM source
  WHERE NOT $value IS NULL
) AS present
ORDER BY MD5("text")
LIMIT $most
