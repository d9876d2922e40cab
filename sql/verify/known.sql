/* The classes of a release by some of its quasi-identifiers: their number, the smallest, and those of fewer than $k
   members. There is a GROUP BY for each subset, whose columns are $labels. If members are people, they are counted in
   the source, by the classes of the release. */
WITH classes AS (
  SELECT
    COUNT(*) AS members
  FROM release
  GROUP BY
    $labels
)
SELECT
  COUNT(*) AS classes,
  MIN(members) AS smallest_class,
  COUNT(*) FILTER (WHERE members < $k) AS classes_failing
FROM classes
