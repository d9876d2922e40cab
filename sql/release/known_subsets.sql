/* Classes of a full-domain recoding that are left out because k rows share no m of their labels: all that are not in
   kept, a table of the remaining classes. These were found by repeatedly removing the rows that are in a class by m
   columns of fewer than k rows. */
WITH generalized AS (
  SELECT
    $generalized
  FROM source
), too_small AS (
  SELECT DISTINCT
    $labels
  FROM generalized
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM kept
      WHERE
        $same_class
    )
)
SELECT
  *
FROM too_small
