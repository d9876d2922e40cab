/* The lookup relation of a hierarchy file, from its paths: the values of each, its labels, and its code, in whose first
   word the lowest bits are the number of the value in its path. */
SELECT
  $value AS value,
  $labels,
  code | (GENERATE_SUBSCRIPTS(members, 1) - 1) AS code,
  $further_words
FROM (
  SELECT $lists
) AS paths
