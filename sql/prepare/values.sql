/* What the rules of [prepare] make of a value. `argument` is that of the rule, `made` is the value in the type of a cast,
   and `back` that in the type from before. A CASE in a CASE is computed only where the outer one holds, so that no cast
   fails. */
SELECT
  REGEXP_REPLACE(value, $around, '', 'g') AS trim,
  NULLIF(REGEXP_REPLACE(value, $around, '', 'g'), '') AS stripped,
  LOWER(value) AS lower,
  /* The points of Fr. and kr. are no decimal signs. More than 300 characters change no DOUBLE. */
  CASE
    WHEN REGEXP_MATCHES(value, $number)
    THEN CAST(LEFT(
      REPLACE(REGEXP_REPLACE(REGEXP_REPLACE(value, '[A-Za-z][.]', '', 'g'), $others, '', 'g'), $argument, '.'), 300
    ) AS DOUBLE)
  END AS decimal,
  /* Infinity is no date, and 04.03.90 is not in the year 90. */
  CASE
    WHEN REGEXP_MATCHES(value, '[0-9]') AND TRY_STRPTIME(value, $argument) >= CAST('1000-01-01' AS DATE)
    THEN TRY_STRPTIME(value, $argument)
  END AS date,
  CASE
    WHEN NOT REGEXP_MATCHES(value, '[0-9]:[0-9.:]+\s*([+-]|[A-Za-z])')
    THEN CASE WHEN REGEXP_MATCHES(value, '[0-9]') AND made >= CAST('1000-01-01' AS DATE) THEN made END
  END AS day,
  CASE WHEN back = value THEN made END AS same,
  CASE WHEN REGEXP_MATCHES(value, $digits) THEN made END AS number,
  CASE WHEN value = 0 THEN FALSE WHEN value = 1 THEN TRUE END AS truth
FROM texts
