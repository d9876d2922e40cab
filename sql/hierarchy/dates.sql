/* The label of a date, by the unit that it is truncated to. */
SELECT
  STRFTIME(value, '%Y-%m-%d') AS day,
  CAST(EXTRACT(isoyear FROM value) AS TEXT) || '-W' || LPAD(CAST(EXTRACT(week FROM value) AS TEXT), 2, '0') AS week,
  STRFTIME(value, '%Y-%m') AS month,
  STRFTIME(value, '%Y') || '-Q' || CAST(EXTRACT(quarter FROM value) AS TEXT) AS quarter,
  STRFTIME(value, '%Y') AS year,
  CAST(CAST(FLOOR(EXTRACT(year FROM value) / 10.0) * 10 AS INT) AS TEXT) || 's' AS decade
FROM dated
