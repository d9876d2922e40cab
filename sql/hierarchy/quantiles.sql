/* The bounds between groups of about equal counts, one row for each. With before the rows whose value is smaller, a
   value is in group floor(before * groups / rows). A bound may be any number above low and up to high: its group may be
   an eighth of a group larger or smaller. wanted is the smallest value of the group. Counts are whole numbers. */
WITH numbers AS (
  SELECT $number AS number
  FROM source
), counted AS (
  SELECT
    number,
    COUNT(*) AS n
  FROM numbers
  WHERE number IS NOT NULL
  GROUP BY number
), ranked AS (
  SELECT
    number,
    CAST(SUM(n) OVER (ORDER BY number) - n AS BIGINT) AS before,
    CAST(SUM(n) OVER () AS BIGINT) AS total
  FROM counted
)
SELECT
  bounds.bound,
  MAX(ranked.number) FILTER (WHERE ranked.before * 8 * $groups < (8 * bounds.bound - 1) * ranked.total) AS low,
  MAX(ranked.number) FILTER (WHERE ranked.before * 8 * $groups <= (8 * bounds.bound + 1) * ranked.total) AS high,
  MIN(ranked.number) FILTER (WHERE ranked.before * 8 * $groups >= 8 * bounds.bound * ranked.total) AS wanted
FROM borders AS bounds
CROSS JOIN ranked
GROUP BY bounds.bound
ORDER BY bounds.bound
