-- 1. Hierarchies: each value with its label at every level
CREATE TEMPORARY TABLE kanon_hierarchy_age AS
WITH present AS (
  SELECT
    source.age AS value
  FROM patients AS source
  UNION
  SELECT
    CAST(NULL AS INT) AS value
), numbers AS (
  SELECT
    value,
    TRY_CAST(value AS DECIMAL(18, 0)) AS number
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
    ) % 20 AS DECIMAL(18, 0)) AS lower_2,
    CAST(number - (
      number % 40 + 40
    ) % 40 AS DECIMAL(18, 0)) AS lower_3
  FROM numbers
), intervals AS (
  SELECT
    *,
    CAST(lower_1 + 10 AS DECIMAL(18, 0)) AS upper_1,
    CAST(lower_2 + 20 AS DECIMAL(18, 0)) AS upper_2,
    CAST(lower_3 + 40 AS DECIMAL(18, 0)) AS upper_3
  FROM lower_bounds
)
SELECT
  value,
  CASE
    WHEN number IS NULL
    THEN '*'
    ELSE CAST(lower_1 AS TEXT) || '-' || CAST(upper_1 - 1 AS TEXT)
  END AS level_1
FROM intervals;

-- 2. A new database with the release and all else; verified, its file takes the name of the old one
ATTACH 'DIRECTORY/hospital.new.duckdb' AS kanon_new;

BEGIN;

COPY FROM DATABASE hospital TO kanon_new (SCHEMA);

DROP TABLE IF EXISTS kanon_new.main.patients;

CREATE TABLE kanon_new.main.patients (
  id INTEGER NOT NULL DEFAULT (
    nextval('numbers')
  ),
  age VARCHAR NOT NULL,
  zip VARCHAR DEFAULT (
    '00000'
  ),
  disease VARCHAR DEFAULT (
    'none'
  ),
  ward INTEGER,
  "cost ""in"" now" DECIMAL(9,2),
  stay STRUCT("days" INTEGER, notes VARCHAR[]),
  PRIMARY KEY (id),
  FOREIGN KEY (ward) REFERENCES main.wards (
    ward
  ),
  CHECK (("cost ""in"" now" >= 0))
);

COMMIT;

INSERT INTO kanon_new."Other One"."sel ect" (
  i,
  "a""b"
)
SELECT
  i,
  "a""b"
FROM hospital."Other One"."sel ect";

INSERT INTO kanon_new.main.wards (
  ward,
  label
)
SELECT
  ward,
  label
FROM hospital.main.wards;

INSERT INTO kanon_new.main.patients (
  id,
  age,
  zip,
  disease,
  ward,
  "cost ""in"" now",
  stay
)
WITH generalized AS NOT MATERIALIZED (
  SELECT
    source.id,
    kanon_hierarchy_age.level_1 AS age,
    source.zip,
    source.disease,
    source.ward,
    source."cost ""in"" now",
    source.stay
  FROM patients AS source
  JOIN kanon_hierarchy_age
    ON source.age IS NOT DISTINCT FROM kanon_hierarchy_age.value
), too_small AS (
  SELECT
    age,
    zip
  FROM generalized
  GROUP BY
    age,
    zip
  HAVING
    COUNT(*) < 5
)
SELECT
  generalized.id,
  generalized.age,
  generalized.zip,
  generalized.disease,
  generalized.ward,
  generalized."cost ""in"" now",
  generalized.stay
FROM generalized
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM too_small
    WHERE
      too_small.age IS NOT DISTINCT FROM generalized.age
      AND too_small.zip IS NOT DISTINCT FROM generalized.zip
  )
ORDER BY
  HASH(
    generalized.id,
    generalized.age,
    generalized.zip,
    generalized.disease,
    generalized.ward,
    generalized."cost ""in"" now",
    generalized.stay,
    1
  );

CREATE INDEX by_age ON kanon_new.main.patients(age);

CREATE INDEX by_disease ON kanon_new.main.patients(disease);

COMMENT ON TABLE kanon_new.main.patients IS 'who was here';

COMMENT ON COLUMN kanon_new.main.patients.age IS 'in years';

USE kanon_new;

CREATE OR REPLACE VIEW ages AS SELECT age FROM patients;

CREATE OR REPLACE VIEW diseases AS SELECT disease, count_star() AS n FROM patients GROUP BY disease;

CREATE OR REPLACE VIEW "Other One".elsewhere AS SELECT * FROM main.diseases;

USE hospital;

-- 3. Check the release on its own rows
WITH classes AS (
  SELECT
    COUNT(*) AS n,
    COUNT(*) AS measure_0
  FROM kanon_new.main.patients
  GROUP BY
    age,
    zip
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER(WHERE
    measure_0 < 5) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 5) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 5) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 5) AS rows_failing_0
FROM classes;

SELECT
  'age' AS column_name,
  COUNT(*) FILTER(WHERE
    NOT EXISTS(
      SELECT
        1
      FROM kanon_hierarchy_age
      WHERE
        kanon_hierarchy_age.level_1 IS NOT DISTINCT FROM published.label
    )) AS foreign_labels
FROM (
  SELECT DISTINCT
    age AS label
  FROM kanon_new.main.patients
) AS published;
