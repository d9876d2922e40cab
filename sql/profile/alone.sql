/* The people who are alone in at least one class; a row without a name belongs to nobody. In a class of one person, the
   smallest name is that of the person. */
SELECT COUNT(DISTINCT one_person) FILTER (WHERE members = 1) AS n
FROM (
  SELECT
    MIN(person) AS one_person,
    $people
  FROM coded
  GROUP BY $keys
) AS classes
