-- 1. Where the table is cut, and what is published of each box
CREATE TEMPORARY TABLE kanon_order_sex AS
SELECT
  CAST(lines.value AS TEXT) AS value,
  CAST(lines.place AS INT) AS place
FROM (VALUES
  ('F', '1'),
  ('M', '2')) AS lines(value, place);

CREATE TEMPORARY TABLE kanon_order_zip AS
SELECT
  CAST(lines.value AS TEXT) AS value,
  CAST(lines.place AS INT) AS place
FROM (VALUES
  ('77777', '1'),
  ('10030', '2'),
  ('10041', '3'),
  ('10052', '4'),
  ('10000', '5'),
  ('10011', '6'),
  ('10022', '7')) AS lines(value, place);

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
  ('3', 'sex', NULL, '0', '1', NULL, NULL, '6', '7'),
  ('4', 'zip', NULL, NULL, NULL, '0', '5', '10', '11'),
  ('5', 'zip', NULL, NULL, NULL, '0', '4', '8', '12'),
  ('6', 'age', '58', NULL, NULL, NULL, NULL, '14', '15'),
  ('7', 'zip', NULL, NULL, NULL, '0', '4', '9', '13'),
  ('8', 'age', '33', NULL, NULL, NULL, NULL, '16', '17'),
  ('9', 'age', '57', NULL, NULL, NULL, NULL, '18', '19')) AS lines(box, column_name, age, sex_from, sex_to, zip_from, zip_to, inside, outside);

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
  ('10', '20', '42', '1', '1', '3', '5', '[20-42]', '10***'),
  ('11', '20', '44', '1', '1', '7', '7', '[20-44]', '10022'),
  ('12', '21', '45', '2', '2', '6', '6', '[21-45]', '10011'),
  ('13', '53', '69', '2', '2', '6', '6', '[53-69]', '10011'),
  ('14', '46', '58', '1', '1', '3', '7', '[46-58]', '10***'),
  ('15', '60', '96', '1', '1', '1', '7', '[60-96]', '*'),
  ('16', '23', '33', '2', '2', '2', '4', '[23-33]', '10***'),
  ('17', '35', '43', '2', '2', '2', '4', '[35-43]', '10***'),
  ('18', '47', '57', '2', '2', '2', '4', '[47-57]', '10***'),
  ('19', '59', '97', '2', '2', '1', '4', '[59-97]', '*')) AS lines(box, age_from, age_to, sex_from, sex_to, zip_from, zip_to, age, zip);

-- 2. The release: write each row as its box says, mix the rows. Boxes are those of the table as it was when they were made: rows that came or went since are not counted
CREATE TABLE released AS
WITH RECURSIVE walk AS (
  SELECT DISTINCT
    source.age,
    order_2.place AS sex_place,
    order_3.place AS zip_place,
    1 AS box
  FROM patients AS source
  JOIN kanon_order_sex AS order_2
    ON COALESCE(source.sex, '') = COALESCE(order_2.value, '')
    AND (
      source.sex IS NULL
    ) = (
      order_2.value IS NULL
    )
  JOIN kanon_order_zip AS order_3
    ON COALESCE(source.zip, '') = COALESCE(order_3.value, '')
    AND (
      source.zip IS NULL
    ) = (
      order_3.value IS NULL
    )
  UNION ALL
  SELECT
    walk.age,
    walk.sex_place,
    walk.zip_place,
    CASE
      WHEN CASE cut.column_name
        WHEN 'age'
        THEN walk.age IS NULL OR walk.age <= cut.age
        WHEN 'sex'
        THEN walk.sex_place BETWEEN cut.sex_from AND cut.sex_to
        WHEN 'zip'
        THEN walk.zip_place BETWEEN cut.zip_from AND cut.zip_to
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
    walk.zip_place,
    boxes.age AS age_label,
    boxes.zip AS zip_label
  FROM walk
  JOIN kanon_boxes AS boxes
    ON boxes.box = walk.box
    AND CASE
      WHEN walk.age BETWEEN boxes.age_from AND boxes.age_to
      AND walk.sex_place BETWEEN boxes.sex_from AND boxes.sex_to
      AND walk.zip_place BETWEEN boxes.zip_from AND boxes.zip_to
      THEN 1
      ELSE 0
    END > 0
  WHERE
    walk.box > 9
), generalized AS (
  SELECT
    arrived.age_label AS age,
    source.sex,
    arrived.zip_label AS zip,
    source.disease
  FROM patients AS source
  JOIN kanon_order_sex AS order_2
    ON COALESCE(source.sex, '') = COALESCE(order_2.value, '')
    AND (
      source.sex IS NULL
    ) = (
      order_2.value IS NULL
    )
  JOIN kanon_order_zip AS order_3
    ON COALESCE(source.zip, '') = COALESCE(order_3.value, '')
    AND (
      source.zip IS NULL
    ) = (
      order_3.value IS NULL
    )
  JOIN arrived
    ON ARRAY[source.age] = ARRAY[arrived.age]
    AND order_2.place = arrived.sex_place
    AND order_3.place = arrived.zip_place
)
SELECT
  generalized.age,
  generalized.sex,
  generalized.zip,
  generalized.disease
FROM generalized
ORDER BY
  HASH_RECORD_EXTENDED(ROW(generalized.age, generalized.sex, generalized.zip, generalized.disease), 1);

-- 3. Check the release on its own rows
WITH shares_1 AS (
  SELECT
    disease AS value,
    CAST(COUNT(*) AS DOUBLE PRECISION) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS "values"
  FROM patients
  GROUP BY
    disease
), counted AS (
  SELECT
    age AS age,
    sex AS sex,
    zip AS zip,
    disease AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    age,
    sex,
    zip,
    disease
), classes AS (
  SELECT
    age,
    sex,
    zip,
    CAST(SUM(n) AS BIGINT) AS n,
    SUM(n) AS measure_0,
    COUNT(*) AS measure_1
  FROM counted
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
    measure_0 < 5 OR measure_1 < 2) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 5 OR measure_1 < 2) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 5) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 5) AS rows_failing_0,
  MIN(measure_1) AS worst_1,
  COUNT(*) FILTER(WHERE
    measure_1 < 2) AS failing_1,
  SUM(n) FILTER(WHERE
    measure_1 < 2) AS rows_failing_1
FROM classes;

SELECT
  'age' AS column_name,
  COUNT(*) AS foreign_labels
FROM (
  SELECT DISTINCT
    age AS label
  FROM released
) AS published
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        age AS label
      FROM kanon_boxes
    ) AS known
    WHERE
      COALESCE(known.label, '') = COALESCE(published.label, '')
      AND (
        known.label IS NULL
      ) = (
        published.label IS NULL
      )
  )
UNION ALL
SELECT
  'zip' AS column_name,
  COUNT(*) AS foreign_labels
FROM (
  SELECT DISTINCT
    zip AS label
  FROM released
) AS published
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        zip AS label
      FROM kanon_boxes
    ) AS known
    WHERE
      COALESCE(known.label, '') = COALESCE(published.label, '')
      AND (
        known.label IS NULL
      ) = (
        published.label IS NULL
      )
  );
