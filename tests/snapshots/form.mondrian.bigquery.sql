-- 1. Where the table is cut, and what is published of each box
CREATE TEMPORARY TABLE `kanon_order_sex` AS
SELECT
  CAST(`lines`.`value` AS STRING) AS `value`,
  CAST(`lines`.`place` AS INT64) AS `place`
FROM UNNEST([STRUCT('F' AS `value`, '1' AS `place`), STRUCT('M' AS `value`, '2' AS `place`)]) AS `lines`;

CREATE TEMPORARY TABLE `kanon_order_zip` AS
SELECT
  CAST(`lines`.`value` AS STRING) AS `value`,
  CAST(`lines`.`place` AS INT64) AS `place`
FROM UNNEST([
  STRUCT('77777' AS `value`, '1' AS `place`),
  STRUCT('10030' AS `value`, '2' AS `place`),
  STRUCT('10041' AS `value`, '3' AS `place`),
  STRUCT('10052' AS `value`, '4' AS `place`),
  STRUCT('10000' AS `value`, '5' AS `place`),
  STRUCT('10011' AS `value`, '6' AS `place`),
  STRUCT('10022' AS `value`, '7' AS `place`)
]) AS `lines`;

CREATE TEMPORARY TABLE `kanon_cuts` AS
SELECT
  CAST(`lines`.`box` AS INT64) AS `box`,
  CAST(`lines`.`column_name` AS STRING) AS `column_name`,
  CAST(`lines`.`age` AS INT64) AS `age`,
  CAST(`lines`.`sex_from` AS INT64) AS `sex_from`,
  CAST(`lines`.`sex_to` AS INT64) AS `sex_to`,
  CAST(`lines`.`zip_from` AS INT64) AS `zip_from`,
  CAST(`lines`.`zip_to` AS INT64) AS `zip_to`,
  CAST(`lines`.`inside` AS INT64) AS `inside`,
  CAST(`lines`.`outside` AS INT64) AS `outside`
FROM UNNEST([
  STRUCT(
    '1' AS `box`,
    'age' AS `column_name`,
    '45' AS `age`,
    NULL AS `sex_from`,
    NULL AS `sex_to`,
    NULL AS `zip_from`,
    NULL AS `zip_to`,
    '2' AS `inside`,
    '3' AS `outside`
  ),
  STRUCT(
    '2' AS `box`,
    'sex' AS `column_name`,
    NULL AS `age`,
    '0' AS `sex_from`,
    '1' AS `sex_to`,
    NULL AS `zip_from`,
    NULL AS `zip_to`,
    '4' AS `inside`,
    '5' AS `outside`
  ),
  STRUCT(
    '3' AS `box`,
    'sex' AS `column_name`,
    NULL AS `age`,
    '0' AS `sex_from`,
    '1' AS `sex_to`,
    NULL AS `zip_from`,
    NULL AS `zip_to`,
    '6' AS `inside`,
    '7' AS `outside`
  ),
  STRUCT(
    '4' AS `box`,
    'zip' AS `column_name`,
    NULL AS `age`,
    NULL AS `sex_from`,
    NULL AS `sex_to`,
    '0' AS `zip_from`,
    '5' AS `zip_to`,
    '10' AS `inside`,
    '11' AS `outside`
  ),
  STRUCT(
    '5' AS `box`,
    'zip' AS `column_name`,
    NULL AS `age`,
    NULL AS `sex_from`,
    NULL AS `sex_to`,
    '0' AS `zip_from`,
    '4' AS `zip_to`,
    '8' AS `inside`,
    '12' AS `outside`
  ),
  STRUCT(
    '6' AS `box`,
    'age' AS `column_name`,
    '58' AS `age`,
    NULL AS `sex_from`,
    NULL AS `sex_to`,
    NULL AS `zip_from`,
    NULL AS `zip_to`,
    '14' AS `inside`,
    '15' AS `outside`
  ),
  STRUCT(
    '7' AS `box`,
    'zip' AS `column_name`,
    NULL AS `age`,
    NULL AS `sex_from`,
    NULL AS `sex_to`,
    '0' AS `zip_from`,
    '4' AS `zip_to`,
    '9' AS `inside`,
    '13' AS `outside`
  ),
  STRUCT(
    '8' AS `box`,
    'age' AS `column_name`,
    '33' AS `age`,
    NULL AS `sex_from`,
    NULL AS `sex_to`,
    NULL AS `zip_from`,
    NULL AS `zip_to`,
    '16' AS `inside`,
    '17' AS `outside`
  ),
  STRUCT(
    '9' AS `box`,
    'age' AS `column_name`,
    '57' AS `age`,
    NULL AS `sex_from`,
    NULL AS `sex_to`,
    NULL AS `zip_from`,
    NULL AS `zip_to`,
    '18' AS `inside`,
    '19' AS `outside`
  )
]) AS `lines`;

CREATE TEMPORARY TABLE `kanon_boxes` AS
SELECT
  CAST(`lines`.`box` AS INT64) AS `box`,
  CAST(`lines`.`age_from` AS INT64) AS `age_from`,
  CAST(`lines`.`age_to` AS INT64) AS `age_to`,
  CAST(`lines`.`sex_from` AS INT64) AS `sex_from`,
  CAST(`lines`.`sex_to` AS INT64) AS `sex_to`,
  CAST(`lines`.`zip_from` AS INT64) AS `zip_from`,
  CAST(`lines`.`zip_to` AS INT64) AS `zip_to`,
  CAST(`lines`.`age` AS STRING) AS `age`,
  CAST(`lines`.`zip` AS STRING) AS `zip`
FROM UNNEST([
  STRUCT(
    '10' AS `box`,
    '20' AS `age_from`,
    '42' AS `age_to`,
    '1' AS `sex_from`,
    '1' AS `sex_to`,
    '3' AS `zip_from`,
    '5' AS `zip_to`,
    '[20-42]' AS `age`,
    '10***' AS `zip`
  ),
  STRUCT(
    '11' AS `box`,
    '20' AS `age_from`,
    '44' AS `age_to`,
    '1' AS `sex_from`,
    '1' AS `sex_to`,
    '7' AS `zip_from`,
    '7' AS `zip_to`,
    '[20-44]' AS `age`,
    '10022' AS `zip`
  ),
  STRUCT(
    '12' AS `box`,
    '21' AS `age_from`,
    '45' AS `age_to`,
    '2' AS `sex_from`,
    '2' AS `sex_to`,
    '6' AS `zip_from`,
    '6' AS `zip_to`,
    '[21-45]' AS `age`,
    '10011' AS `zip`
  ),
  STRUCT(
    '13' AS `box`,
    '53' AS `age_from`,
    '69' AS `age_to`,
    '2' AS `sex_from`,
    '2' AS `sex_to`,
    '6' AS `zip_from`,
    '6' AS `zip_to`,
    '[53-69]' AS `age`,
    '10011' AS `zip`
  ),
  STRUCT(
    '14' AS `box`,
    '46' AS `age_from`,
    '58' AS `age_to`,
    '1' AS `sex_from`,
    '1' AS `sex_to`,
    '3' AS `zip_from`,
    '7' AS `zip_to`,
    '[46-58]' AS `age`,
    '10***' AS `zip`
  ),
  STRUCT(
    '15' AS `box`,
    '60' AS `age_from`,
    '96' AS `age_to`,
    '1' AS `sex_from`,
    '1' AS `sex_to`,
    '1' AS `zip_from`,
    '7' AS `zip_to`,
    '[60-96]' AS `age`,
    '*' AS `zip`
  ),
  STRUCT(
    '16' AS `box`,
    '23' AS `age_from`,
    '33' AS `age_to`,
    '2' AS `sex_from`,
    '2' AS `sex_to`,
    '2' AS `zip_from`,
    '4' AS `zip_to`,
    '[23-33]' AS `age`,
    '10***' AS `zip`
  ),
  STRUCT(
    '17' AS `box`,
    '35' AS `age_from`,
    '43' AS `age_to`,
    '2' AS `sex_from`,
    '2' AS `sex_to`,
    '2' AS `zip_from`,
    '4' AS `zip_to`,
    '[35-43]' AS `age`,
    '10***' AS `zip`
  ),
  STRUCT(
    '18' AS `box`,
    '47' AS `age_from`,
    '57' AS `age_to`,
    '2' AS `sex_from`,
    '2' AS `sex_to`,
    '2' AS `zip_from`,
    '4' AS `zip_to`,
    '[47-57]' AS `age`,
    '10***' AS `zip`
  ),
  STRUCT(
    '19' AS `box`,
    '59' AS `age_from`,
    '97' AS `age_to`,
    '2' AS `sex_from`,
    '2' AS `sex_to`,
    '1' AS `zip_from`,
    '4' AS `zip_to`,
    '[59-97]' AS `age`,
    '*' AS `zip`
  )
]) AS `lines`;

-- 2. The release: write each row as its box says, mix the rows. Boxes are those of the table as it was when they were made: rows that came or went since are not counted
CREATE TABLE `released` AS
WITH RECURSIVE `walk` AS (
  SELECT DISTINCT
    `source`.`age`,
    `order_2`.`place` AS `sex_place`,
    `order_3`.`place` AS `zip_place`,
    1 AS `box`
  FROM `patients` AS `source`
  JOIN `kanon_order_sex` AS `order_2`
    ON COALESCE(`source`.`sex`, '') = COALESCE(`order_2`.`value`, '')
    AND `source`.`sex` IS NOT DISTINCT FROM `order_2`.`value`
  JOIN `kanon_order_zip` AS `order_3`
    ON COALESCE(`source`.`zip`, '') = COALESCE(`order_3`.`value`, '')
    AND `source`.`zip` IS NOT DISTINCT FROM `order_3`.`value`
  UNION ALL
  SELECT
    `walk`.`age`,
    `walk`.`sex_place`,
    `walk`.`zip_place`,
    CASE
      WHEN CASE `cut`.`column_name`
        WHEN 'age'
        THEN `walk`.`age` IS NULL OR `walk`.`age` <= `cut`.`age`
        WHEN 'sex'
        THEN `walk`.`sex_place` BETWEEN `cut`.`sex_from` AND `cut`.`sex_to`
        WHEN 'zip'
        THEN `walk`.`zip_place` BETWEEN `cut`.`zip_from` AND `cut`.`zip_to`
      END
      THEN `cut`.`inside`
      ELSE `cut`.`outside`
    END AS `box`
  FROM `walk`
  JOIN `kanon_cuts` AS `cut`
    ON `cut`.`box` = `walk`.`box`
), `arrived` AS (
  SELECT
    `walk`.`age`,
    `walk`.`sex_place`,
    `walk`.`zip_place`,
    `boxes`.`age` AS `age_label`,
    `boxes`.`zip` AS `zip_label`
  FROM `walk`
  JOIN `kanon_boxes` AS `boxes`
    ON `boxes`.`box` = `walk`.`box`
    AND CASE
      WHEN `walk`.`age` BETWEEN `boxes`.`age_from` AND `boxes`.`age_to`
      AND `walk`.`sex_place` BETWEEN `boxes`.`sex_from` AND `boxes`.`sex_to`
      AND `walk`.`zip_place` BETWEEN `boxes`.`zip_from` AND `boxes`.`zip_to`
      THEN 1
      ELSE 0
    END > 0
  WHERE
    `walk`.`box` > 9
), `generalized` AS (
  SELECT
    `arrived`.`age_label` AS `age`,
    `source`.`sex`,
    `arrived`.`zip_label` AS `zip`,
    `source`.`disease`
  FROM `patients` AS `source`
  JOIN `kanon_order_sex` AS `order_2`
    ON COALESCE(`source`.`sex`, '') = COALESCE(`order_2`.`value`, '')
    AND `source`.`sex` IS NOT DISTINCT FROM `order_2`.`value`
  JOIN `kanon_order_zip` AS `order_3`
    ON COALESCE(`source`.`zip`, '') = COALESCE(`order_3`.`value`, '')
    AND `source`.`zip` IS NOT DISTINCT FROM `order_3`.`value`
  JOIN `arrived`
    ON TO_JSON_STRING(`source`.`age`) = TO_JSON_STRING(`arrived`.`age`)
    AND `order_2`.`place` = `arrived`.`sex_place`
    AND `order_3`.`place` = `arrived`.`zip_place`
)
SELECT
  `generalized`.`age`,
  `generalized`.`sex`,
  `generalized`.`zip`,
  `generalized`.`disease`
FROM `generalized`
ORDER BY
  FARM_FINGERPRINT(
    TO_JSON_STRING(
      STRUCT(
        `generalized`.`age`,
        `generalized`.`sex`,
        `generalized`.`zip`,
        `generalized`.`disease`,
        1
      )
    )
  );

-- 3. Check the release on its own rows
WITH `shares_1` AS (
  SELECT
    `disease` AS `value`,
    CAST(COUNT(*) AS FLOAT64) / SUM(COUNT(*)) OVER () AS `share`,
    COUNT(*) OVER () AS `values`
  FROM `patients`
  GROUP BY
    `disease`
), `counted` AS (
  SELECT
    `age` AS `age`,
    `sex` AS `sex`,
    `zip` AS `zip`,
    `disease` AS `value`,
    COUNT(*) AS `n`
  FROM `released`
  GROUP BY
    `age`,
    `sex`,
    `zip`,
    `disease`
), `classes` AS (
  SELECT
    `age`,
    `sex`,
    `zip`,
    CAST(SUM(`n`) AS INT64) AS `n`,
    SUM(`n`) AS `measure_0`,
    COUNT(*) AS `measure_1`
  FROM `counted`
  GROUP BY
    `age`,
    `sex`,
    `zip`
)
SELECT
  COUNT(*) AS `classes`,
  SUM(`n`) AS `rows_in_classes`,
  MIN(`n`) AS `smallest_class`,
  COUNT(CASE WHEN `measure_0` < 5 OR `measure_1` < 2 THEN 1 END) AS `classes_failing`,
  SUM(CASE WHEN `measure_0` < 5 OR `measure_1` < 2 THEN `n` END) AS `rows_failing`,
  MIN(`measure_0`) AS `worst_0`,
  COUNT(CASE WHEN `measure_0` < 5 THEN 1 END) AS `failing_0`,
  SUM(CASE WHEN `measure_0` < 5 THEN `n` END) AS `rows_failing_0`,
  MIN(`measure_1`) AS `worst_1`,
  COUNT(CASE WHEN `measure_1` < 2 THEN 1 END) AS `failing_1`,
  SUM(CASE WHEN `measure_1` < 2 THEN `n` END) AS `rows_failing_1`
FROM `classes`;

SELECT
  'age' AS `column_name`,
  COUNT(*) AS `foreign_labels`
FROM (
  SELECT DISTINCT
    `age` AS `label`
  FROM `released`
) AS `published`
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        `age` AS `label`
      FROM `kanon_boxes`
    ) AS `known`
    WHERE
      COALESCE(`known`.`label`, '') = COALESCE(`published`.`label`, '')
      AND `known`.`label` IS NOT DISTINCT FROM `published`.`label`
  )
UNION ALL
SELECT
  'zip' AS `column_name`,
  COUNT(*) AS `foreign_labels`
FROM (
  SELECT DISTINCT
    `zip` AS `label`
  FROM `released`
) AS `published`
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        `zip` AS `label`
      FROM `kanon_boxes`
    ) AS `known`
    WHERE
      COALESCE(`known`.`label`, '') = COALESCE(`published`.`label`, '')
      AND `known`.`label` IS NOT DISTINCT FROM `published`.`label`
  );
