/* Is a lookup relation a tree? The counts that say so: values with several rows, labels at the top; and at each
   level labels with several parents, rows that read like the root below another label, the most children of a label. */
WITH repeated AS (
  SELECT COUNT(*) AS n
  FROM (SELECT value FROM levels GROUP BY value HAVING COUNT(*) > 1) AS groups
), roots AS (
  SELECT COUNT(DISTINCT $label) AS n FROM levels
), several_parents AS (
  SELECT COUNT(*) AS n
  FROM (SELECT $label FROM levels GROUP BY $label HAVING COUNT(DISTINCT $parent) > 1) AS groups
), early_roots AS (
  SELECT COUNT(*) AS n
  FROM lookup
  CROSS JOIN (SELECT MIN($root) AS root FROM levels) AS top
  WHERE $own_label = top.root AND $own_parent <> top.root
), children AS (
  SELECT MAX(children) AS n
  FROM (SELECT $children AS children FROM levels GROUP BY $parent) AS families
)
SELECT * FROM repeated, roots, several_parents, early_roots, children
