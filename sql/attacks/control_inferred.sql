/* Inference of one column: of each side, how many people it was guessed of, for how many the most frequent label of
   their candidate rows was right, and for how many the most frequent one of the release was. Of labels that are
   equally frequent among candidates one is drawn; without candidates the most frequent one of the release is guessed. */
WITH by_class AS (
  SELECT
    members.class,
    $secret AS label,
    COUNT(*) AS n
  FROM members
  INNER JOIN coded
    ON coded.record = members.record
  GROUP BY
    members.class,
    $secret
), among_candidates AS (
  SELECT
    pairs.tuple,
    by_class.label,
    SUM(by_class.n) AS n
  FROM pairs
  INNER JOIN by_class
    ON by_class.class = pairs.class
  GROUP BY
    pairs.tuple,
    by_class.label
), ranked AS (
  SELECT
    tuple,
    label,
    ROW_NUMBER() OVER (
      PARTITION BY tuple
      ORDER BY n DESC, MD5($seed || ' ' || CAST(tuple AS TEXT) || ' ' || CAST(label AS TEXT)), label
    ) AS rank
  FROM among_candidates
), covered AS (
  SELECT DISTINCT
    label,
    place
  FROM covers
), guessed AS (
  SELECT
    targets.is_control,
    $place AS place,
    COALESCE(ranked.label, $most) AS label
  FROM targets
  INNER JOIN sides
    ON sides.record = targets.record
  LEFT JOIN ranked
    ON ranked.tuple = targets.record AND ranked.rank = 1
  WHERE
    targets.rank <= $at_most
)
SELECT
  guessed.is_control,
  COUNT(*),
  COUNT(own.label),
  COUNT(most.label)
FROM guessed
LEFT JOIN covered AS own
  ON own.label = guessed.label AND own.place = guessed.place
LEFT JOIN covered AS most
  ON most.label = $most AND most.place = guessed.place
GROUP BY
  guessed.is_control
