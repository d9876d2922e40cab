/* Facts about each label of each column: rows, leaves, extremes. The leaves are all values of the hierarchy, and
   NULL if the table has it. $prefixes are the part of the codes that a level keeps: all codes of a label share it.
   The first two steps are repeated for each column. */
WITH lookups AS (
  SELECT
    $number AS number,
    $codes,
    value IS NULL AS of_null,
    $root_level AS root_level,
    $as_number AS as_number
  FROM lookup
), marginals AS (
  SELECT
    $number AS number,
    $codes_in_keys,
    SUM(n) AS n
  FROM kanon_frequency
  GROUP BY
    $grouped
), leaves AS (
  SELECT
    lookups.number,
    $codes_of_leaves,
    lookups.root_level,
    lookups.as_number,
    COALESCE(marginals.n, 0) AS n
  FROM lookups
  LEFT JOIN marginals
    ON $is_value
  WHERE
    NOT lookups.of_null OR marginals.n > 0
)
SELECT
  leaves.number,
  levels.level,
  $prefixes,
  CAST(SUM(leaves.n) AS BIGINT) AS n,
  COUNT(*) AS leaves,
  MIN(leaves.root_level) <= levels.level AS at_root,
  MIN(leaves.as_number) FILTER(WHERE levels.below_root OR leaves.n > 0) AS lower,
  MAX(leaves.as_number) FILTER(WHERE levels.below_root OR leaves.n > 0) AS upper
FROM leaves
JOIN levels
  ON levels.number = leaves.number
GROUP BY
  leaves.number,
  levels.level,
  $prefixes
