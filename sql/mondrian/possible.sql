/* For each part, whether one of its sides could fail a model, and whether each of its people could then have at least
   $wanted values: by the leads with which their own side fails, or by what the failing of another side leaves to
   theirs. */
WITH left_over AS (
  SELECT
    part,
    side,
    lead,
    COUNT(*) FILTER(WHERE there > n) AS others
  FROM kanon_fills
  GROUP BY
    part,
    side,
    lead
), sides AS (
  SELECT
    judged.part,
    judged.side,
    COUNT(*) FILTER(WHERE judged.fails) AS own,
    COALESCE(MAX(left_over.others) FILTER(WHERE judged.fails), 0) AS others
  FROM kanon_judged AS judged
  JOIN left_over
    ON left_over.part = judged.part
    AND left_over.side = judged.side
    AND left_over.lead = judged.lead
  GROUP BY
    judged.part,
    judged.side
), people AS (
  SELECT
    sides.part,
    sides.own,
    GREATEST(sides.own, COALESCE(MAX(other.others), 0)) AS possible
  FROM sides
  LEFT JOIN sides AS other
    ON other.part = sides.part
    AND other.side <> sides.side
  GROUP BY
    sides.part,
    sides.side,
    sides.own
)
SELECT
  part,
  MAX(own) > 0 AS can_fail,
  MIN(possible) >= $wanted AS open
FROM people
GROUP BY
  part
