/* How many people share what is published of them and of one event. */
SELECT
  COUNT(DISTINCT $person) AS people
FROM own
JOIN referred
  ON $refers
GROUP BY
  $kinds
