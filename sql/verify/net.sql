/* The rows that two columns link to different rows, and the pseudonyms that are in both. */
SELECT
  COUNT(*) FILTER (
    WHERE both_there AND rows_of_one > 1 AND rows_of_other > 1
      AND (rows_of_both <> rows_of_one OR rows_of_both <> rows_of_other)
  ) AS rows_tied_twice,
  (
    SELECT
      COUNT(*)
    FROM (
      SELECT $one AS pseudonym FROM release WHERE NOT $one IS NULL
      INTERSECT
      SELECT $other AS pseudonym FROM release WHERE NOT $other IS NULL
    ) AS in_both
  ) AS pseudonyms_in_both
FROM (
  SELECT
    COUNT(*) OVER (PARTITION BY $one) AS rows_of_one,
    COUNT(*) OVER (PARTITION BY $other) AS rows_of_other,
    COUNT(*) OVER (PARTITION BY $one, $other) AS rows_of_both,
    NOT $one IS NULL AND NOT $other IS NULL AS both_there
  FROM release
) AS counted
