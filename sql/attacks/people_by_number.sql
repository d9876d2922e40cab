/* People who have more rows of a class than it has without its most frequent value: some of theirs have that value. Classes
   of one value are told by anyone's rows, and not counted. */
WITH counted AS (
  SELECT
    class,
    $value AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    class,
    $value
), modal AS (
  SELECT
    class,
    MAX(n) AS most,
    SUM(n) AS n
  FROM counted
  GROUP BY
    class
)
SELECT
  COUNT(DISTINCT members.person) AS people
FROM members
JOIN modal
  ON modal.class = members.class
WHERE
  members.n + modal.most > modal.n AND modal.most < modal.n
