WITH classes_of_rows AS (
  SELECT
    age AS age,
    sex AS sex,
    COUNT(*) AS n,
    COUNT(*) AS measure_0
  FROM ward
  GROUP BY
    age,
    sex
), population AS (
  SELECT
    in_population.age,
    in_population.sex,
    in_population.n AS measure_1
  FROM (
    SELECT
      age AS age,
      sex AS sex,
      COUNT(*) AS n
    FROM (
      SELECT
        *
      FROM everybody
    ) AS everybody
    GROUP BY
      age,
      sex
  ) AS in_population
), classes AS (
  SELECT
    classes_of_rows.age,
    classes_of_rows.sex,
    classes_of_rows.n,
    classes_of_rows.measure_0,
    CASE
      WHEN COALESCE(population.measure_1, 0) > 0
      THEN CAST(classes_of_rows.n AS DOUBLE) / COALESCE(population.measure_1, 0)
      ELSE CAST('Infinity' AS DOUBLE)
    END AS measure_1
  FROM classes_of_rows
  LEFT JOIN population
    ON classes_of_rows.age IS NOT DISTINCT FROM population.age
    AND classes_of_rows.sex IS NOT DISTINCT FROM population.sex
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER(WHERE
    measure_0 < 3
    OR NOT (
      measure_1 >= 0.009999999e0 AND measure_1 <= 0.900000001e0
    )) + (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        age AS age,
        sex AS sex
      FROM (
        SELECT
          *
        FROM everybody
      ) AS everybody
      EXCEPT
      SELECT
        age AS age,
        sex AS sex
      FROM ward
    ) AS absent
  ) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 3
    OR NOT (
      measure_1 >= 0.009999999e0 AND measure_1 <= 0.900000001e0
    )) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 3) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 3) AS rows_failing_0,
  CASE
    WHEN (
      SELECT
        COUNT(*)
      FROM (
        SELECT
          age AS age,
          sex AS sex
        FROM (
          SELECT
            *
          FROM everybody
        ) AS everybody
        EXCEPT
        SELECT
          age AS age,
          sex AS sex
        FROM ward
      ) AS absent
    ) > 0
    THEN 0.0
    ELSE MAX(measure_1)
  END AS worst_1,
  COUNT(*) FILTER(WHERE
    NOT (
      measure_1 >= 0.009999999e0 AND measure_1 <= 0.900000001e0
    )) + (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        age AS age,
        sex AS sex
      FROM (
        SELECT
          *
        FROM everybody
      ) AS everybody
      EXCEPT
      SELECT
        age AS age,
        sex AS sex
      FROM ward
    ) AS absent
  ) AS failing_1,
  SUM(n) FILTER(WHERE
    NOT (
      measure_1 >= 0.009999999e0 AND measure_1 <= 0.900000001e0
    )) AS rows_failing_1
FROM classes;
