-- 1. Hierarchies: each value with its label at every level
CREATE TEMPORARY TABLE `kanon_hierarchy_age` AS
SELECT
  CAST(`value` AS INT64) AS `value`,
  `level_1`,
  `level_2`,
  `level_3`
FROM UNNEST([
  STRUCT('20' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('21' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('22' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('23' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('24' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('25' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('26' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('27' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('28' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('29' AS `value`, '20-29' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('30' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('31' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('32' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('33' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('34' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('35' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('36' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('37' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('38' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('39' AS `value`, '30-39' AS `level_1`, '20-39' AS `level_2`, '*' AS `level_3`),
  STRUCT('40' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('41' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('42' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('43' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('44' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('45' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('46' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('47' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('48' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('49' AS `value`, '40-49' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('50' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('51' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('52' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('53' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('54' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('55' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('56' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('57' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('58' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('59' AS `value`, '50-59' AS `level_1`, '40-59' AS `level_2`, '*' AS `level_3`),
  STRUCT('60' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('61' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('62' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('63' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('64' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('65' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('66' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('67' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('68' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('69' AS `value`, '60-69' AS `level_1`, '60-79' AS `level_2`, '*' AS `level_3`),
  STRUCT('95' AS `value`, '>=90' AS `level_1`, '>=90' AS `level_2`, '*' AS `level_3`),
  STRUCT('96' AS `value`, '>=90' AS `level_1`, '>=90' AS `level_2`, '*' AS `level_3`),
  STRUCT('97' AS `value`, '>=90' AS `level_1`, '>=90' AS `level_2`, '*' AS `level_3`),
  STRUCT(NULL AS `value`, '*' AS `level_1`, '*' AS `level_2`, '*' AS `level_3`)
]) AS `lines`;

-- 2. Step by step: the combinations of values whose class is large enough
CREATE TEMPORARY TABLE `kanon_combinations` AS
WITH `combined` AS (
  SELECT
    `source`.`age`,
    `source`.`sex`,
    `source`.`zip`,
    COUNT(*) AS `n`,
    `source`.`disease` AS `disease`
  FROM `patients` AS `source`
  GROUP BY
    `source`.`age`,
    `source`.`sex`,
    `source`.`zip`,
    `source`.`disease`
)
SELECT
  `combined`.`age`,
  `combined`.`sex`,
  `combined`.`zip`,
  `combined`.`n`,
  `combined`.`disease`,
  CAST(NULL AS INT64) AS `step`
FROM `combined`;

CREATE OR REPLACE TEMPORARY TABLE `kanon_combinations` AS
SELECT
  `kanon_combinations`.`age`,
  `kanon_combinations`.`sex`,
  `kanon_combinations`.`zip`,
  `kanon_combinations`.`n`,
  `kanon_combinations`.`disease`,
  CASE
    WHEN `kanon_combinations`.`step` IS NULL AND `large`.`found` = 1
    THEN 1
    ELSE `kanon_combinations`.`step`
  END AS `step`
FROM `kanon_combinations`
LEFT JOIN (
  WITH `shares_1` AS (
    SELECT
      `disease` AS `value`,
      CAST(SUM(`n`) AS FLOAT64) / SUM(SUM(`n`)) OVER () AS `share`,
      COUNT(*) OVER () AS `values`
    FROM `kanon_combinations`
    GROUP BY
      `disease`
  ), `counted` AS (
    SELECT
      `sex`,
      `zip`,
      `disease` AS `value`,
      CAST(SUM(`n`) AS INT64) AS `n`
    FROM `kanon_combinations`
    WHERE
      `step` IS NULL
    GROUP BY
      `sex`,
      `zip`,
      `disease`
  )
  SELECT
    `sex`,
    `zip`,
    1 AS `found`
  FROM (
    SELECT
      `sex`,
      `zip`,
      CAST(SUM(`n`) AS INT64) AS `n`,
      SUM(`n`) AS `measure_0`,
      COUNT(*) AS `measure_1`
    FROM `counted`
    GROUP BY
      `sex`,
      `zip`
  ) AS `classes`
  WHERE
    `measure_0` >= 8 AND `measure_1` >= 2
) AS `large`
  ON COALESCE(`large`.`sex`, '') = COALESCE(`kanon_combinations`.`sex`, '')
  AND `large`.`sex` IS NOT DISTINCT FROM `kanon_combinations`.`sex`
  AND COALESCE(`large`.`zip`, '') = COALESCE(`kanon_combinations`.`zip`, '')
  AND `large`.`zip` IS NOT DISTINCT FROM `kanon_combinations`.`zip`;

-- 3. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE `released` AS
WITH `generalized` AS (
  SELECT
    '*' AS `age`,
    `source`.`sex` AS `sex`,
    `source`.`zip` AS `zip`,
    `source`.`disease`
  FROM `patients` AS `source`
  JOIN `kanon_combinations`
    ON COALESCE(`source`.`age`, 0) = COALESCE(`kanon_combinations`.`age`, 0)
    AND `source`.`age` IS NOT DISTINCT FROM `kanon_combinations`.`age`
    AND COALESCE(`source`.`sex`, '') = COALESCE(`kanon_combinations`.`sex`, '')
    AND `source`.`sex` IS NOT DISTINCT FROM `kanon_combinations`.`sex`
    AND COALESCE(`source`.`zip`, '') = COALESCE(`kanon_combinations`.`zip`, '')
    AND `source`.`zip` IS NOT DISTINCT FROM `kanon_combinations`.`zip`
    AND TO_JSON_STRING(`source`.`disease`) = TO_JSON_STRING(`kanon_combinations`.`disease`)
  WHERE
    NOT `kanon_combinations`.`step` IS NULL
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

-- 4. Check the release on its own rows
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
  COUNT(CASE WHEN `measure_0` < 8 OR `measure_1` < 2 THEN 1 END) AS `classes_failing`,
  SUM(CASE WHEN `measure_0` < 8 OR `measure_1` < 2 THEN `n` END) AS `rows_failing`,
  MIN(`measure_0`) AS `worst_0`,
  COUNT(CASE WHEN `measure_0` < 8 THEN 1 END) AS `failing_0`,
  SUM(CASE WHEN `measure_0` < 8 THEN `n` END) AS `rows_failing_0`,
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
    FROM `kanon_hierarchy_age`
    WHERE
      COALESCE(`kanon_hierarchy_age`.`level_3`, '') = COALESCE(`published`.`label`, '')
      AND `kanon_hierarchy_age`.`level_3` IS NOT DISTINCT FROM `published`.`label`
  );
