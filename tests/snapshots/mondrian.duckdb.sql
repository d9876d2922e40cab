-- 1. Where the table is cut, and the published values of each box
CREATE TEMPORARY TABLE kanon_order_sex AS
SELECT
  CAST(lines.value AS TEXT) AS value,
  CAST(lines.place AS INT) AS place
FROM (VALUES
  ('F', '1'),
  ('M', '2')) AS lines(value, place);

CREATE TEMPORARY TABLE kanon_cuts AS
SELECT
  CAST(lines.box AS INT) AS box,
  CAST(lines.column_name AS TEXT) AS column_name,
  CAST(lines.age AS BIGINT) AS age,
  CAST(lines.sex_from AS INT) AS sex_from,
  CAST(lines.sex_to AS INT) AS sex_to,
  CAST(lines.zip_from AS INT) AS zip_from,
  CAST(lines.zip_to AS INT) AS zip_to,
  CAST(lines.inside AS INT) AS inside,
  CAST(lines.outside AS INT) AS outside
FROM (VALUES
  ('1', 'age', '45', NULL, NULL, NULL, NULL, '2', '3'),
  ('2', 'sex', NULL, '0', '1', NULL, NULL, '4', '5'),
  ('3', 'sex', NULL, '0', '1', NULL, NULL, '6', '7')) AS lines(box, column_name, age, sex_from, sex_to, zip_from, zip_to, inside, outside);

CREATE TEMPORARY TABLE kanon_boxes AS
SELECT
  CAST(lines.box AS INT) AS box,
  CAST(lines.age_from AS BIGINT) AS age_from,
  CAST(lines.age_to AS BIGINT) AS age_to,
  CAST(lines.sex_from AS INT) AS sex_from,
  CAST(lines.sex_to AS INT) AS sex_to,
  CAST(lines.zip_from AS INT) AS zip_from,
  CAST(lines.zip_to AS INT) AS zip_to,
  CAST(lines.age AS TEXT) AS age,
  CAST(lines.zip AS TEXT) AS zip
FROM (VALUES
  ('4', '20', '44', '1', '1', '3', '7', '[20-44]', '10***'),
  ('5', '21', '45', '2', '2', '2', '6', '[21-45]', '10***'),
  ('6', '46', '96', '1', '1', '1', '7', '[46-96]', '*'),
  ('7', '47', '97', '2', '2', '1', '6', '[47-97]', '*')) AS lines(box, age_from, age_to, sex_from, sex_to, zip_from, zip_to, age, zip);

-- 2. The release: write each row as its box says, mix the rows. Boxes are those of the table as it was when they were made: rows that came or went since are not counted
CREATE TABLE released AS
WITH RECURSIVE walk AS (
  SELECT DISTINCT
    source.age,
    order_2.place AS sex_place,
    1 AS box
  FROM patients AS source
  JOIN kanon_order_sex AS order_2
    ON source.sex IS NOT DISTINCT FROM order_2.value
  UNION ALL
  SELECT
    walk.age,
    walk.sex_place,
    CASE
      WHEN CASE cut.column_name
        WHEN 'age'
        THEN walk.age IS NULL OR walk.age <= cut.age
        WHEN 'sex'
        THEN walk.sex_place BETWEEN cut.sex_from AND cut.sex_to
      END
      THEN cut.inside
      ELSE cut.outside
    END AS box
  FROM walk
  JOIN kanon_cuts AS cut
    ON cut.box = walk.box
), arrived AS MATERIALIZED (
  SELECT
    walk.age,
    walk.sex_place,
    boxes.age AS age_label,
    boxes.zip AS zip_label
  FROM walk
  JOIN kanon_boxes AS boxes
    ON boxes.box = walk.box
    AND CASE
      WHEN walk.age BETWEEN boxes.age_from AND boxes.age_to
      AND walk.sex_place BETWEEN boxes.sex_from AND boxes.sex_to
      THEN 1
      ELSE 0
    END > 0
  WHERE
    walk.box > 3
), generalized AS (
  SELECT
    arrived.age_label AS age,
    source.sex,
    arrived.zip_label AS zip,
    source.disease
  FROM patients AS source
  JOIN kanon_order_sex AS order_2
    ON source.sex IS NOT DISTINCT FROM order_2.value
  JOIN arrived
    ON source.age IS NOT DISTINCT FROM arrived.age AND order_2.place = arrived.sex_place
)
SELECT
  generalized.age,
  generalized.sex,
  generalized.zip,
  generalized.disease
FROM generalized
ORDER BY
  HASH(generalized.age, generalized.sex, generalized.zip, generalized.disease, 1);

-- 3. Check the release on its own rows
WITH classes AS (
  SELECT
    COUNT(*) AS n,
    COUNT(*) AS measure_0
  FROM released
  GROUP BY
    age,
    sex,
    zip
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER(WHERE
    measure_0 < 10) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 10) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 10) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 10) AS rows_failing_0
FROM classes;

SELECT
  'age' AS column_name,
  COUNT(*) FILTER(WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          age AS label
        FROM kanon_boxes
      ) AS known
      WHERE
        known.label IS NOT DISTINCT FROM published.label
    )) AS foreign_labels
FROM (
  SELECT DISTINCT
    age AS label
  FROM released
) AS published
UNION ALL
SELECT
  'zip' AS column_name,
  COUNT(*) FILTER(WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          zip AS label
        FROM kanon_boxes
      ) AS known
      WHERE
        known.label IS NOT DISTINCT FROM published.label
    )) AS foreign_labels
FROM (
  SELECT DISTINCT
    zip AS label
  FROM released
) AS published;
