/* Microaggregation of several columns together: each tuple of their values with the means of its group. The groups were
   found by MDAV (see kanon_sql/release/microaggregation.py); the list has the number of the group of each of the
   different tuples. Their order is by a hash of the tuple and of all others: who reads the list and does not know the
   table cannot tell which place a tuple has. Means are those of microaggregated.sql. A tuple of a group that the table,
   as it is now, leaves with too few rows is not here, and gets no means. */
WITH found AS (
  SELECT $values, $text AS text, CAST(COUNT(*) AS DOUBLE) AS n
  FROM source
  WHERE $known
  GROUP BY ALL
), everything AS (
  SELECT MD5(STRING_AGG(text, ',' ORDER BY text)) AS hash
  FROM found
), places AS (
  SELECT found.*, ROW_NUMBER() OVER (ORDER BY MD5(everything.hash || found.text)) AS place
  FROM found
  CROSS JOIN everything
), listed AS (
  SELECT STRING_SPLIT($groups, ',') AS numbers
), numbers AS (
  SELECT UNNEST(numbers) AS number, UNNEST(RANGE(1, LEN(numbers) + 1)) AS place
  FROM listed
), numbered AS (
  SELECT places.*, numbers.number
  FROM places
  JOIN numbers
    ON numbers.place = places.place
), means AS (
  SELECT number, $means
  FROM numbered
  GROUP BY number
  HAVING SUM(n) >= $size
)
SELECT numbered.* EXCLUDE (text, n, place, number), means.* EXCLUDE (number)
FROM numbered
JOIN means
  ON means.number = numbered.number
