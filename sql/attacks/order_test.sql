/* How far the order of a release follows that of its original: sums over groups of items of the same size. Products of
   the deviations of score and place; their variance by chance; squared deviations of scores and of places; the largest
   sum of products that there could be. */
WITH scores AS (
  SELECT
    size,
    place,
    AVG(position) AS score
  FROM possible
  GROUP BY
    item,
    size,
    place
), groups AS (
  SELECT
    COUNT(*) - 1 AS freedom,
    COVAR_SAMP(score, place) AS products,
    VAR_SAMP(score) AS of_scores,
    VAR_SAMP(place) AS of_places
  FROM scores
  GROUP BY
    size
  HAVING
    COUNT(*) > 1
)
SELECT
  COALESCE(SUM(freedom * products), 0),
  COALESCE(SUM(freedom * of_scores * of_places), 0),
  COALESCE(SUM(freedom * of_scores), 0),
  COALESCE(SUM(freedom * of_places), 0),
  COALESCE(SUM(freedom * SQRT(of_scores * of_places)), 0)
FROM groups
