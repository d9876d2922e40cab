/* How many people share what is published of them and of one event, in how many rows. */
SELECT
  $place AS place,
  COUNT(DISTINCT $person) AS people,
  COUNT(*) AS n
FROM own
JOIN referred
  ON $refers
GROUP BY
  $kinds
