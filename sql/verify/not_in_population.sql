/* How many classes of a release are not in a population whose values are written like those of the release. */
SELECT
  COUNT(*)
FROM (
  SELECT
    $labels
  FROM release
  EXCEPT
  SELECT
    $labels
  FROM everybody
) AS absent
