/* Rows of a release that are alike in every column: how many they are, and their mean place. */
SELECT
  ROW_NUMBER() OVER () AS item,
  class,
  $shown,
  COUNT(*) AS size,
  AVG(position) AS place
FROM released
GROUP BY
  class,
  $shown
