/* The spread of the rows of each label over the values that it covers: the share of each. $weight is 1 for values
   that are equally likely, and n for values as frequent as in the original. */
SELECT
  covers.label,
  covers.place,
  bins.bin,
  CAST($weight AS DOUBLE) / SUM($weight) OVER (PARTITION BY covers.label) AS share
FROM covers
JOIN bins
  ON bins.place = covers.place
