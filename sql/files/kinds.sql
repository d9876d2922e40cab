/* What the texts of columns may be. Each kind is one way to write a value, so that no value is changed by reading it: no
   leading zero, no plus, no exponent, no year of two digits. */
WITH texts AS (
  SELECT name, value, COUNT(*) AS n
  FROM (SELECT * FROM sample) UNPIVOT(value FOR name IN (COLUMNS(*)))
  GROUP BY name, value
), kinds AS (
  SELECT
    name,
    value,
    n,
    LOWER(TRIM(value)) IN (
      '?', '-', '--', '.', '*', 'na', 'n/a', '#n/a', 'nan', 'null', 'none', 'nil', 'missing', 'unknown', 'unk', 'k.a.'
    ) AS code,
    CAST(TRY_CAST(value AS BIGINT) AS VARCHAR) = value
    OR REGEXP_FULL_MATCH(value, ' *(0|-?[1-9][0-9]{0,18}) *')
    AND NOT TRY_CAST(value AS BIGINT) IS NULL AS "integer",
    REGEXP_FULL_MATCH(value, ' *-?((0|[1-9][0-9]*)([.][0-9]+)?|[.][0-9]+) *')
    AND (STRLEN(value) <= 15 OR CAST(TRY_CAST(value AS DOUBLE) AS VARCHAR) = TRIM(value)) AS "point",
    REGEXP_FULL_MATCH(value, ' *-?((0|[1-9][0-9]*)(,[0-9]+)?|,[0-9]+) *')
    AND (STRLEN(value) <= 15 OR CAST(TRY_CAST(REPLACE(value, ',', '.') AS DOUBLE) AS VARCHAR) = TRIM(REPLACE(value, ',', '.'))) AS "comma",
    CAST(TRY_CAST(value AS DATE) AS VARCHAR) = value AND STRLEN(value) = 10
    OR CAST(TRY_CAST(value AS DATE) AS VARCHAR) = TRIM(value) AND STRLEN(TRIM(value)) = 10 AS "date",
    REGEXP_FULL_MATCH(value, ' *[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)? *')
    AND NOT TRY_CAST(value AS TIMESTAMP) IS NULL AS "timestamp",
    REGEXP_FULL_MATCH(
      value, ' *[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?(Z|[+-][01][0-9](:?[0-9]{2})?) *'
    )
    AND NOT TRY_CAST(value AS TIMESTAMP WITH TIME ZONE) IS NULL AS "zoned",
    REGEXP_FULL_MATCH(value, ' *([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)? *')
    AND NOT TRY_CAST(value AS TIME) IS NULL AS "time",
    REGEXP_MATCHES(value, '[0-9]') AND TRY_STRPTIME(value, $dateformat) >= CAST('1000-01-01' AS TIMESTAMP) AS "dateformat",
    REGEXP_MATCHES(value, '[0-9]') AND TRY_STRPTIME(value, $timestampformat) >= CAST('1000-01-01' AS TIMESTAMP) AS "timestampformat",
    NOT REGEXP_FULL_MATCH(value, ' *-?[1-9][0-9]{0,2}[.,][0-9]{3} *') AND REGEXP_MATCHES(value, '[.,]') AS clear
  FROM texts
)
SELECT
  name,
  SUM(IF(code, 0, n)) AS "values",
  SUM(IF(code, n, 0)) AS codes,
  MIN(IF(code, TRIM(value), NULL)) AS code,
  SUM(IF(value = name, n, 0)) AS names,
  SUM(IF(clear, n, 0)) AS clear,
  SUM(IF(NOT code AND REGEXP_MATCHES(value, '[0-9]'), n, 0)) AS with_digits,
  {
    'timestampformat': SUM(IF("timestampformat" AND NOT code, n, 0)),
    'dateformat': SUM(IF("dateformat" AND NOT code, n, 0)),
    'integer': SUM(IF("integer" AND NOT code, n, 0)),
    'point': SUM(IF("point" AND NOT code, n, 0)),
    'comma': SUM(IF("comma" AND NOT code, n, 0)),
    'date': SUM(IF("date" AND NOT code, n, 0)),
    'timestamp': SUM(IF("timestamp" AND NOT code, n, 0)),
    'zoned': SUM(IF("zoned" AND NOT code, n, 0)),
    'time': SUM(IF("time" AND NOT code, n, 0))
  } AS of_kind
FROM kinds
WHERE TRIM(value) <> ''
GROUP BY name
