/* How many labels cover more on any level than on those that were read; and on how many levels some label, other than one
   that covers everything, does not cover all that it covers on those. */
WITH by_level AS (
  SELECT
    readings.label,
    readings.level,
    COUNT(covers.place) AS kept,
    COUNT(*) - COUNT(covers.place) AS added
  FROM readings
  LEFT JOIN covers
    ON covers.label = readings.label AND covers.place = readings.place
  GROUP BY
    readings.label,
    readings.level
), covered AS (
  SELECT
    label,
    COUNT(*) AS places
  FROM covers
  GROUP BY
    label
), everything AS (
  SELECT
    COUNT(DISTINCT place) AS places
  FROM readings
)
SELECT
  COUNT(DISTINCT by_level.label) FILTER (WHERE by_level.added > 0),
  COUNT(*) FILTER (WHERE by_level.kept < covered.places AND covered.places < everything.places)
FROM by_level
INNER JOIN covered
  ON covered.label = by_level.label
CROSS JOIN everything
