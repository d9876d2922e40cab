/* How many rows of a release name a person as the original does. */
SELECT
  COUNT(*) FILTER (WHERE CAST($published AS VARCHAR) IN (
    SELECT
      CAST($person AS VARCHAR)
    FROM original
  ))
FROM release
