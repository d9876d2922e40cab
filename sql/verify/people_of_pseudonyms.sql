/* The people who have several pseudonyms, and the pseudonyms on rows of no person. */
SELECT
  COUNT(*) FILTER (WHERE NOT person IS NULL AND n > 1) AS people_with_several,
  CAST(COALESCE(SUM(n) FILTER (WHERE person IS NULL), 0) AS BIGINT) AS pseudonyms_of_nobody
FROM (
  SELECT
    person,
    COUNT(*) AS n
  FROM (
    SELECT DISTINCT
      $pseudonym AS pseudonym,
      $person AS person
    FROM source
    WHERE
      NOT $pseudonym IS NULL
  ) AS pairs
  GROUP BY
    person
) AS counted
