/* The most frequent label of a column of the release; of labels that are equally frequent one is drawn. */
SELECT
  $secret AS label
FROM coded
GROUP BY
  $secret
ORDER BY
  COUNT(*) DESC,
  MD5($seed || ' most ' || CAST($secret AS TEXT)),
  label
LIMIT 1
