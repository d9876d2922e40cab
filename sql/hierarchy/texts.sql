/* The labels of a text that show a part of it; of nothing, the root. */
SELECT
  COALESCE(RPAD(LEFT(text, $kept), $length, '*'), '*') AS masked_right,
  COALESCE(LPAD(RIGHT(text, $kept), $length, '*'), '*') AS masked_left,
  COALESCE(NULLIF(text, ''), '*') AS cut,
  CASE WHEN text IS NULL THEN '*' ELSE '' || LEFT(text, $length) || '*' END AS prefix
FROM written
