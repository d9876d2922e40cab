-- the rows that were left out
CREATE TEMPORARY TABLE kanon_left_out AS
WITH generalized AS (
  SELECT
    '*' AS age,
    source.sex,
    source.zip,
    source.id AS kanon_entity
  FROM patients AS source
)
SELECT
  generalized.age,
  generalized.sex,
  generalized.zip,
  generalized.kanon_entity AS kanon_people
FROM generalized
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM kanon_reported_2 AS released
    WHERE
      released.age IS NOT DISTINCT FROM generalized.age
      AND released.sex IS NOT DISTINCT FROM generalized.sex
      AND released.zip IS NOT DISTINCT FROM generalized.zip
  );

-- rows by label of ...
SELECT
  released.age AS label,
  COUNT(*)
FROM kanon_reported_2 AS released
GROUP BY
  released.age;

-- rows left out by label of ...
SELECT
  label,
  is_published,
  COUNT(*),
  COUNT(DISTINCT kanon_people)
FROM (
  SELECT
    left_out.age AS label,
    EXISTS(
      SELECT
        1
      FROM kanon_reported_2 AS released
      WHERE
        released.age IS NOT DISTINCT FROM left_out.age
    ) AS is_published,
    left_out.kanon_people
  FROM kanon_left_out AS left_out
) AS each_row
GROUP BY
  label,
  is_published;

-- is what was published what the policy makes?
SELECT
  (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        ENCODE(age),
        ENCODE(sex),
        ENCODE(zip),
        ENCODE(disease)
      FROM (
        SELECT
          CAST(age AS TEXT) AS age,
          CAST(sex AS TEXT) AS sex,
          CAST(zip AS TEXT) AS zip,
          CAST(disease AS TEXT) AS disease
        FROM kanon_reported
      ) AS written
      EXCEPT ALL
      SELECT
        ENCODE(age),
        ENCODE(sex),
        ENCODE(zip),
        ENCODE(disease)
      FROM (
        SELECT
          CAST(age AS TEXT) AS age,
          CAST(sex AS TEXT) AS sex,
          CAST(zip AS TEXT) AS zip,
          CAST(disease AS TEXT) AS disease
        FROM kanon_reported
      ) AS written
    ) AS "only"
  ) AS missing,
  (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        ENCODE(age),
        ENCODE(sex),
        ENCODE(zip),
        ENCODE(disease)
      FROM (
        SELECT
          CAST(age AS TEXT) AS age,
          CAST(sex AS TEXT) AS sex,
          CAST(zip AS TEXT) AS zip,
          CAST(disease AS TEXT) AS disease
        FROM kanon_reported
      ) AS written
      EXCEPT ALL
      SELECT
        ENCODE(age),
        ENCODE(sex),
        ENCODE(zip),
        ENCODE(disease)
      FROM (
        SELECT
          CAST(age AS TEXT) AS age,
          CAST(sex AS TEXT) AS sex,
          CAST(zip AS TEXT) AS zip,
          CAST(disease AS TEXT) AS disease
        FROM kanon_reported
      ) AS written
    ) AS "only"
  ) AS more;
