/* A lookup relation with its codes: leaves, the number of each value among those of its label; families, the number of
   each label of a level among its siblings, in the order of the smallest value under each; and these side by side. */
WITH leaves AS (
  SELECT
    value,
    $labels,
    CAST(ROW_NUMBER() OVER (PARTITION BY level_1 ORDER BY value NULLS FIRST) - 1 AS BIGINT) AS ordinal_0
  FROM lookup
), families AS (
  SELECT
    $label,
    CAST(ROW_NUMBER() OVER (PARTITION BY parent ORDER BY smallest NULLS FIRST) - 1 AS BIGINT) AS ordinal
  FROM (
    SELECT
      $label,
      MIN($parent) AS parent,
      MIN(value) AS smallest
    FROM lookup
    GROUP BY $label
  ) AS labels
)
SELECT
  levels.value,
  $qualified,
  $codes
FROM leaves AS levels
JOIN families ON $is_label
