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
  COUNT(*) AS n
FROM kanon_reported_2 AS released
GROUP BY
  released.age;

-- rows left out by label of ...
/* The rows that were left out by their label in a column, whether the release has the label, and how
   many people these rows are about. */
WITH each_row AS (
  SELECT
    left_out.age AS label,
    left_out.kanon_people AS person,
    EXISTS(
      SELECT
        1
      FROM kanon_reported_2 AS released
      WHERE
        released.age IS NOT DISTINCT FROM left_out.age
    ) AS is_published
  FROM kanon_left_out AS left_out
)
SELECT
  label,
  is_published,
  COUNT(*) AS n,
  COUNT(DISTINCT person) AS people
FROM each_row
GROUP BY
  label,
  is_published;

-- is the published table the one that the policy makes?
SELECT
  (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        *
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
      ) AS made
      EXCEPT ALL
      SELECT
        *
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
      ) AS given
    ) AS missing
  ) AS missing,
  (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        *
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
      ) AS given
      EXCEPT ALL
      SELECT
        *
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
      ) AS made
    ) AS more
  ) AS more;
