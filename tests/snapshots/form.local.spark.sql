-- 1. Hierarchies: each value with its label at every level
CREATE OR REPLACE TEMPORARY VIEW kanon_hierarchy_age AS
WITH present AS (
  SELECT
    source.age AS value
  FROM patients AS source
  UNION
  SELECT
    CAST(NULL AS BIGINT) AS value
), numbers AS (
  SELECT
    value,
    CAST(value AS DECIMAL(18, 0)) AS number
  FROM present
), lower_bounds AS (
  SELECT
    value,
    number,
    CAST(number - (
      number % 10 + 10
    ) % 10 AS DECIMAL(18, 0)) AS lower_1,
    CAST(number - (
      number % 20 + 20
    ) % 20 AS DECIMAL(18, 0)) AS lower_2
  FROM numbers
), intervals AS (
  SELECT
    *,
    CAST(lower_1 + 10 AS DECIMAL(18, 0)) AS upper_1,
    CAST(lower_2 + 20 AS DECIMAL(18, 0)) AS upper_2
  FROM lower_bounds
)
SELECT
  value,
  CASE
    WHEN number IS NULL
    THEN '*'
    WHEN number >= 90
    THEN '>=90'
    ELSE CAST(CAST(lower_1 AS DECIMAL(38, 0)) AS STRING) || '-' || CAST(CAST(LEAST(upper_1, 90) - 1 AS DECIMAL(38, 0)) AS STRING)
  END AS level_1,
  CASE
    WHEN number IS NULL
    THEN '*'
    WHEN number >= 90
    THEN '>=90'
    ELSE CAST(CAST(lower_2 AS DECIMAL(38, 0)) AS STRING) || '-' || CAST(CAST(LEAST(upper_2, 90) - 1 AS DECIMAL(38, 0)) AS STRING)
  END AS level_2
FROM intervals;

CACHE TABLE kanon_hierarchy_age;

CREATE OR REPLACE TEMPORARY VIEW kanon_hierarchy_zip AS
WITH present AS (
  SELECT
    source.zip AS value
  FROM patients AS source
  UNION
  SELECT
    CAST(NULL AS STRING) AS value
)
SELECT
  value,
  COALESCE(RPAD(LEFT(value, 2), 5, '*'), '*') AS level_2
FROM present;

CACHE TABLE kanon_hierarchy_zip;

-- 2. Step by step: the combinations of values whose class is large enough
CREATE OR REPLACE TEMPORARY VIEW kanon_combinations AS
WITH combined AS (
  SELECT
    source.age,
    source.sex,
    source.zip,
    COUNT(*) AS n,
    source.disease AS disease
  FROM patients AS source
  GROUP BY
    source.age,
    source.sex,
    source.zip,
    source.disease
)
SELECT
  combined.age,
  combined.sex,
  combined.zip,
  kanon_hierarchy_age.level_1 AS age_level_1,
  kanon_hierarchy_age.level_2 AS age_level_2,
  kanon_hierarchy_zip.level_2 AS zip_level_2,
  combined.n,
  combined.disease,
  CAST(NULL AS INT) AS step
FROM combined
JOIN kanon_hierarchy_age
  ON combined.age IS NOT DISTINCT FROM kanon_hierarchy_age.value
JOIN kanon_hierarchy_zip
  ON combined.zip IS NOT DISTINCT FROM kanon_hierarchy_zip.value;

CACHE TABLE kanon_combinations;

DROP TABLE IF EXISTS kanon_combinations_1;

CREATE TABLE kanon_combinations_1 AS
SELECT
  kanon_combinations.age,
  kanon_combinations.sex,
  kanon_combinations.zip,
  kanon_combinations.age_level_1,
  kanon_combinations.age_level_2,
  kanon_combinations.zip_level_2,
  kanon_combinations.n,
  kanon_combinations.disease,
  CASE
    WHEN kanon_combinations.step IS NULL AND large.found = 1
    THEN 1
    ELSE kanon_combinations.step
  END AS step
FROM kanon_combinations
LEFT JOIN (
  WITH shares_1 AS (
    SELECT
      disease AS value,
      CAST(SUM(n) AS DOUBLE) / SUM(SUM(n)) OVER () AS share,
      COUNT(*) OVER () AS `values`
    FROM kanon_combinations
    GROUP BY
      disease
  ), counted AS (
    SELECT
      age_level_2,
      sex,
      zip,
      disease AS value,
      CAST(SUM(n) AS BIGINT) AS n
    FROM kanon_combinations
    WHERE
      step IS NULL
    GROUP BY
      age_level_2,
      sex,
      zip,
      disease
  )
  SELECT
    age_level_2,
    sex,
    zip,
    1 AS found
  FROM (
    SELECT
      age_level_2,
      sex,
      zip,
      CAST(SUM(n) AS BIGINT) AS n,
      SUM(n) AS measure_0,
      COUNT(*) AS measure_1
    FROM counted
    GROUP BY
      age_level_2,
      sex,
      zip
  ) AS classes
  WHERE
    measure_0 >= 5 AND measure_1 >= 2
) AS large
  ON large.age_level_2 IS NOT DISTINCT FROM kanon_combinations.age_level_2
  AND large.sex IS NOT DISTINCT FROM kanon_combinations.sex
  AND large.zip IS NOT DISTINCT FROM kanon_combinations.zip;

CREATE OR REPLACE TEMPORARY VIEW kanon_combinations AS
SELECT
  *
FROM kanon_combinations_1;

DROP TABLE IF EXISTS kanon_combinations_2;

CREATE TABLE kanon_combinations_2 AS
SELECT
  kanon_combinations.age,
  kanon_combinations.sex,
  kanon_combinations.zip,
  kanon_combinations.age_level_1,
  kanon_combinations.age_level_2,
  kanon_combinations.zip_level_2,
  kanon_combinations.n,
  kanon_combinations.disease,
  CASE
    WHEN kanon_combinations.step IS NULL AND large.found = 1
    THEN 2
    ELSE kanon_combinations.step
  END AS step
FROM kanon_combinations
LEFT JOIN (
  WITH shares_1 AS (
    SELECT
      disease AS value,
      CAST(SUM(n) AS DOUBLE) / SUM(SUM(n)) OVER () AS share,
      COUNT(*) OVER () AS `values`
    FROM kanon_combinations
    GROUP BY
      disease
  ), counted AS (
    SELECT
      age_level_1,
      sex,
      zip_level_2,
      disease AS value,
      CAST(SUM(n) AS BIGINT) AS n
    FROM kanon_combinations
    WHERE
      step IS NULL
    GROUP BY
      age_level_1,
      sex,
      zip_level_2,
      disease
  )
  SELECT
    age_level_1,
    sex,
    zip_level_2,
    1 AS found
  FROM (
    SELECT
      age_level_1,
      sex,
      zip_level_2,
      CAST(SUM(n) AS BIGINT) AS n,
      SUM(n) AS measure_0,
      COUNT(*) AS measure_1
    FROM counted
    GROUP BY
      age_level_1,
      sex,
      zip_level_2
  ) AS classes
  WHERE
    measure_0 >= 5 AND measure_1 >= 2
) AS large
  ON large.age_level_1 IS NOT DISTINCT FROM kanon_combinations.age_level_1
  AND large.sex IS NOT DISTINCT FROM kanon_combinations.sex
  AND large.zip_level_2 IS NOT DISTINCT FROM kanon_combinations.zip_level_2;

CREATE OR REPLACE TEMPORARY VIEW kanon_combinations AS
SELECT
  *
FROM kanon_combinations_2;

DROP TABLE IF EXISTS kanon_combinations_1;

DROP TABLE IF EXISTS kanon_combinations_3;

CREATE TABLE kanon_combinations_3 AS
SELECT
  kanon_combinations.age,
  kanon_combinations.sex,
  kanon_combinations.zip,
  kanon_combinations.age_level_1,
  kanon_combinations.age_level_2,
  kanon_combinations.zip_level_2,
  kanon_combinations.n,
  kanon_combinations.disease,
  CASE
    WHEN kanon_combinations.step IS NULL AND large.found = 1
    THEN 3
    ELSE kanon_combinations.step
  END AS step
FROM kanon_combinations
LEFT JOIN (
  WITH shares_1 AS (
    SELECT
      disease AS value,
      CAST(SUM(n) AS DOUBLE) / SUM(SUM(n)) OVER () AS share,
      COUNT(*) OVER () AS `values`
    FROM kanon_combinations
    GROUP BY
      disease
  ), counted AS (
    SELECT
      sex,
      zip,
      disease AS value,
      CAST(SUM(n) AS BIGINT) AS n
    FROM kanon_combinations
    WHERE
      step IS NULL
    GROUP BY
      sex,
      zip,
      disease
  )
  SELECT
    sex,
    zip,
    1 AS found
  FROM (
    SELECT
      sex,
      zip,
      CAST(SUM(n) AS BIGINT) AS n,
      SUM(n) AS measure_0,
      COUNT(*) AS measure_1
    FROM counted
    GROUP BY
      sex,
      zip
  ) AS classes
  WHERE
    measure_0 >= 5 AND measure_1 >= 2
) AS large
  ON large.sex IS NOT DISTINCT FROM kanon_combinations.sex
  AND large.zip IS NOT DISTINCT FROM kanon_combinations.zip;

CREATE OR REPLACE TEMPORARY VIEW kanon_combinations AS
SELECT
  *
FROM kanon_combinations_3;

DROP TABLE IF EXISTS kanon_combinations_2;

DROP TABLE IF EXISTS kanon_combinations_4;

CREATE TABLE kanon_combinations_4 AS
SELECT
  kanon_combinations.age,
  kanon_combinations.sex,
  kanon_combinations.zip,
  kanon_combinations.age_level_1,
  kanon_combinations.age_level_2,
  kanon_combinations.zip_level_2,
  kanon_combinations.n,
  kanon_combinations.disease,
  CASE
    WHEN kanon_combinations.step IS NULL AND large.found = 1
    THEN 4
    ELSE kanon_combinations.step
  END AS step
FROM kanon_combinations
LEFT JOIN (
  WITH shares_1 AS (
    SELECT
      disease AS value,
      CAST(SUM(n) AS DOUBLE) / SUM(SUM(n)) OVER () AS share,
      COUNT(*) OVER () AS `values`
    FROM kanon_combinations
    GROUP BY
      disease
  ), counted AS (
    SELECT
      age_level_2,
      sex,
      zip_level_2,
      disease AS value,
      CAST(SUM(n) AS BIGINT) AS n
    FROM kanon_combinations
    WHERE
      step IS NULL
    GROUP BY
      age_level_2,
      sex,
      zip_level_2,
      disease
  )
  SELECT
    age_level_2,
    sex,
    zip_level_2,
    1 AS found
  FROM (
    SELECT
      age_level_2,
      sex,
      zip_level_2,
      CAST(SUM(n) AS BIGINT) AS n,
      SUM(n) AS measure_0,
      COUNT(*) AS measure_1
    FROM counted
    GROUP BY
      age_level_2,
      sex,
      zip_level_2
  ) AS classes
  WHERE
    measure_0 >= 5 AND measure_1 >= 2
) AS large
  ON large.age_level_2 IS NOT DISTINCT FROM kanon_combinations.age_level_2
  AND large.sex IS NOT DISTINCT FROM kanon_combinations.sex
  AND large.zip_level_2 IS NOT DISTINCT FROM kanon_combinations.zip_level_2;

CREATE OR REPLACE TEMPORARY VIEW kanon_combinations AS
SELECT
  *
FROM kanon_combinations_4;

DROP TABLE IF EXISTS kanon_combinations_3;

-- 3. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE released AS
WITH generalized AS (
  SELECT
    CASE
      WHEN kanon_combinations.step IN (2)
      THEN kanon_combinations.age_level_1
      WHEN kanon_combinations.step IN (1, 4)
      THEN kanon_combinations.age_level_2
      ELSE '*'
    END AS age,
    source.sex AS sex,
    CASE
      WHEN kanon_combinations.step IN (1, 3)
      THEN CAST(source.zip AS STRING)
      ELSE kanon_combinations.zip_level_2
    END AS zip,
    source.disease
  FROM patients AS source
  JOIN kanon_combinations
    ON source.age IS NOT DISTINCT FROM kanon_combinations.age
    AND source.sex IS NOT DISTINCT FROM kanon_combinations.sex
    AND source.zip IS NOT DISTINCT FROM kanon_combinations.zip
    AND source.disease IS NOT DISTINCT FROM kanon_combinations.disease
  WHERE
    NOT kanon_combinations.step IS NULL
)
SELECT
  generalized.age,
  generalized.sex,
  generalized.zip,
  generalized.disease
FROM generalized
ORDER BY
  XXHASH64(generalized.age, generalized.sex, generalized.zip, generalized.disease, 1);

-- 4. Check the release on its own rows
WITH shares_1 AS (
  SELECT
    disease AS value,
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS `values`
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
        kanon_hierarchy_age.level_1 AS label
      FROM kanon_hierarchy_age
      UNION ALL
      SELECT
        kanon_hierarchy_age.level_2 AS label
      FROM kanon_hierarchy_age
      UNION ALL
      SELECT
        '*' AS label
    ) AS known
    WHERE
      known.label IS NOT DISTINCT FROM published.label
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
        CAST(kanon_hierarchy_zip.value AS STRING) AS label
      FROM kanon_hierarchy_zip
      UNION ALL
      SELECT
        kanon_hierarchy_zip.level_2 AS label
      FROM kanon_hierarchy_zip
    ) AS known
    WHERE
      known.label IS NOT DISTINCT FROM published.label
  );

-- 5. Remove the tables that were made on the way
DROP VIEW IF EXISTS kanon_combinations;

DROP TABLE IF EXISTS kanon_combinations_4;
