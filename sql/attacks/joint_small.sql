/* How small groups get: how many there are, the smallest, those of one, and those of fewer than k, with their rows. */
SELECT
  COUNT(*),
  MIN(sizes.size),
  CAST(COALESCE(SUM(groups.n) FILTER (WHERE sizes.size = 1), 0) AS BIGINT),
  COUNT(*) FILTER (WHERE sizes.size < $k),
  CAST(COALESCE(SUM(groups.n) FILTER (WHERE sizes.size < $k), 0) AS BIGINT),
  CAST(COALESCE(SUM(groups.n), 0) AS BIGINT)
FROM groups
INNER JOIN sizes
  ON sizes.first = groups.first AND sizes.second = groups.second
