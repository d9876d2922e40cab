/* The test of a node: how many classes it has, and how many rows are in classes that fail a model. $masked are the
   keys, masked to the levels of the node: rows with the same masked keys are one class. A probe looks at
   $some_classes only. Where a model is about sensitive values, its steps take the place of this GROUP BY. $more are
   the rows that no node below publishes, and sums of sizes, where the search needs them. Few tuples are joined to the
   masks of several nodes, which are tested together: $node is the number of each. */
SELECT
  $node,
  COUNT(*) AS classes,
  COALESCE(SUM(n) FILTER (WHERE $fails), 0) AS suppressed,
  $more
FROM (
  SELECT
    $node,
    $masked,
    SUM(n) AS n,
    $measures
  FROM kanon_frequency
  JOIN nodes
    ON TRUE
  WHERE
    $some_classes
  GROUP BY
    $node,
    $masked
) AS classes
GROUP BY
  $node
