/* The classes behind what is found in one release; who is in no class is in class 0. */
SELECT DISTINCT
  found.found,
  COALESCE(pairs.class + 1, 0) AS class
FROM found
LEFT JOIN pairs
  ON pairs.tuple = found.tuple
