/* Univariate microaggregation: each value with the mean of its group. The groups were found by dynamic programming (see
   kanon_sql/release/microaggregation.py); the list has the positions of their first values among the distinct values in
   ascending order. The mean is summed in that order, so that it is always the same. If the present table leaves a group
   with too few rows, the group gets no mean. */
WITH found AS (
  SELECT $value AS value, CAST(COUNT(*) AS DOUBLE) AS n
  FROM source
  WHERE NOT $value IS NULL
  GROUP BY $value
), places AS (
  SELECT value, n, ROW_NUMBER() OVER (ORDER BY value) AS place
  FROM found
), starts AS (
  SELECT CAST(UNNEST(STRING_SPLIT($groups, ',')) AS BIGINT) AS place
), numbered AS (
  SELECT places.value, places.n, places.place, COUNT(starts.place) OVER (ORDER BY places.place) AS number
  FROM places
  LEFT JOIN starts
    ON starts.place = places.place
), means AS (
  SELECT
    number,
    SUM(n) AS n,
    LEAST(
      GREATEST(
        LIST_SUM(LIST(CAST(value AS DOUBLE) * n ORDER BY place)) / SUM(n),
        CAST(MIN(value) AS DOUBLE)
      ),
      CAST(MAX(value) AS DOUBLE)
    ) AS mean
  FROM numbered
  GROUP BY number
)
SELECT
  numbered.value,
  CASE WHEN means.n >= $size THEN means.mean END AS mean
FROM numbered
JOIN means
  ON means.number = numbered.number
