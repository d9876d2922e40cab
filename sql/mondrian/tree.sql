/* Every part with its path from the whole table, as one letter for each cut: parts in this order are neighbours. A part
   that two others were cut into has the path of the first one. */
WITH RECURSIVE tree AS (
  SELECT
    1 AS part,
    '' AS path
  UNION ALL
  SELECT
    sides.side AS part,
    tree.path || sides.letter AS path
  FROM tree
  JOIN (
    SELECT
      MIN(part) AS part,
      inside AS side,
      'a' AS letter
    FROM kanon_cuts_made
    GROUP BY
      inside
    UNION ALL
    SELECT
      MIN(part) AS part,
      outside AS side,
      'b' AS letter
    FROM kanon_cuts_made
    GROUP BY
      outside
  ) AS sides
    ON sides.part = tree.part
)
SELECT
  part,
  path
FROM tree
