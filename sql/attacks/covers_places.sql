/* The places that labels cover, by their spans. */
SELECT
  covered.label,
  ranks.place
FROM (
  SELECT
    label,
    UNNEST(RANGE(low, high + 1)) AS rank
  FROM spans
) AS covered
INNER JOIN ranks
  ON ranks.rank = covered.rank
