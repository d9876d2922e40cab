CREATE TEMPORARY VIEW kanon_ruled AS
SELECT
  source.place,
  source.g,
  CAST(CAST(source.i0 AS INT128) - (
    CAST(source.i0 AS INT128) % CAST(7 AS INT128)
  ) + CASE
    WHEN ABS(
      (
        CAST(source.i0 AS INT128) % CAST(7 AS INT128) + CAST(source.i0 AS INT128) % CAST(7 AS INT128)
      )
    ) >= CAST(7 AS INT128)
    THEN CASE
      WHEN CAST(source.i0 AS INT128) < 0
      THEN -CAST(7 AS INT128)
      ELSE CAST(7 AS INT128)
    END
    ELSE CAST(0 AS INT128)
  END AS INT) AS i0,
  CAST(CAST(source.i1 AS INT128) - (
    CAST(source.i1 AS INT128) % CAST(50 AS INT128)
  ) + CASE
    WHEN ABS(
      (
        CAST(source.i1 AS INT128) % CAST(50 AS INT128) + CAST(source.i1 AS INT128) % CAST(50 AS INT128)
      )
    ) >= CAST(50 AS INT128)
    THEN CASE
      WHEN CAST(source.i1 AS INT128) < 0
      THEN -CAST(50 AS INT128)
      ELSE CAST(50 AS INT128)
    END
    ELSE CAST(0 AS INT128)
  END AS INT) AS i1,
  CASE
    WHEN source.i2 >= 90
    THEN '90+'
    WHEN source.i2 <= -25
    THEN '<=-25'
    ELSE CAST(source.i2 AS TEXT)
  END AS i2,
  CASE
    WHEN source.i3 < -25
    THEN '<-25'
    WHEN source.i3 < 1
    THEN '[-25,0.5)'
    WHEN source.i3 < 90
    THEN '[0.5,90)'
    WHEN source.i3 >= 90
    THEN '>=90'
  END AS i3,
  rule_5.mean AS i4,
  CAST(CAST(source.d0 AS DECIMAL(12, 2)) - (
    CAST(source.d0 AS DECIMAL(12, 2)) % CAST(0.1 AS DECIMAL(12, 2))
  ) + CASE
    WHEN ABS(
      (
        CAST(source.d0 AS DECIMAL(12, 2)) % CAST(0.1 AS DECIMAL(12, 2)) + CAST(source.d0 AS DECIMAL(12, 2)) % CAST(0.1 AS DECIMAL(12, 2))
      )
    ) >= CAST(0.1 AS DECIMAL(12, 2))
    THEN CASE
      WHEN CAST(source.d0 AS DECIMAL(12, 2)) < 0
      THEN -CAST(0.1 AS DECIMAL(12, 2))
      ELSE CAST(0.1 AS DECIMAL(12, 2))
    END
    ELSE CAST(0 AS DECIMAL(12, 2))
  END AS DECIMAL(9, 2)) AS d0,
  CAST(CAST(source.d1 AS DECIMAL(12, 2)) - (
    CAST(source.d1 AS DECIMAL(12, 2)) % CAST(50 AS DECIMAL(12, 2))
  ) + CASE
    WHEN ABS(
      (
        CAST(source.d1 AS DECIMAL(12, 2)) % CAST(50 AS DECIMAL(12, 2)) + CAST(source.d1 AS DECIMAL(12, 2)) % CAST(50 AS DECIMAL(12, 2))
      )
    ) >= CAST(50 AS DECIMAL(12, 2))
    THEN CASE
      WHEN CAST(source.d1 AS DECIMAL(12, 2)) < 0
      THEN -CAST(50 AS DECIMAL(12, 2))
      ELSE CAST(50 AS DECIMAL(12, 2))
    END
    ELSE CAST(0 AS DECIMAL(12, 2))
  END AS DECIMAL(9, 2)) AS d1,
  CASE WHEN source.d2 >= 90.5 THEN '90.5+' ELSE CAST(source.d2 AS TEXT) END AS d2,
  CASE
    WHEN source.d3 < 0
    THEN '<0'
    WHEN source.d3 < 18
    THEN '[0,18)'
    WHEN source.d3 < 65
    THEN '[18,65)'
    WHEN source.d3 >= 65
    THEN '>=65'
  END AS d3,
  rule_10.mean AS d4,
  CAST(CASE
    WHEN ABS(
      CAST(CASE
        WHEN source.f0 = 0
        THEN 0
        WHEN source.f0 = CAST('NaN' AS DOUBLE)
        THEN CAST('NaN' AS DOUBLE)
        ELSE source.f0
      END AS DOUBLE)
    ) < 1e+290
    THEN (
      ROUND(
        CAST(CASE
          WHEN source.f0 = 0
          THEN 0
          WHEN source.f0 = CAST('NaN' AS DOUBLE)
          THEN CAST('NaN' AS DOUBLE)
          ELSE source.f0
        END AS DOUBLE) / 0.1e0
      ) * 1.0e0 / 10.0e0
    ) + 0.0e0
    ELSE CAST(CASE
      WHEN source.f0 = 0
      THEN 0
      WHEN source.f0 = CAST('NaN' AS DOUBLE)
      THEN CAST('NaN' AS DOUBLE)
      ELSE source.f0
    END AS DOUBLE)
  END AS DOUBLE) AS f0,
  CAST(CASE
    WHEN ABS(
      CAST(CASE
        WHEN source.f1 = 0
        THEN 0
        WHEN source.f1 = CAST('NaN' AS DOUBLE)
        THEN CAST('NaN' AS DOUBLE)
        ELSE source.f1
      END AS DOUBLE)
    ) < 1e+290
    THEN (
      ROUND(
        CAST(CASE
          WHEN source.f1 = 0
          THEN 0
          WHEN source.f1 = CAST('NaN' AS DOUBLE)
          THEN CAST('NaN' AS DOUBLE)
          ELSE source.f1
        END AS DOUBLE) / 50.0e0
      ) * 50.0e0
    ) + 0.0e0
    ELSE CAST(CASE
      WHEN source.f1 = 0
      THEN 0
      WHEN source.f1 = CAST('NaN' AS DOUBLE)
      THEN CAST('NaN' AS DOUBLE)
      ELSE source.f1
    END AS DOUBLE)
  END AS DOUBLE) AS f1,
  CASE
    WHEN CASE
      WHEN source.f2 = 0
      THEN 0
      WHEN source.f2 = CAST('NaN' AS DOUBLE)
      THEN CAST('NaN' AS DOUBLE)
      ELSE source.f2
    END <= 18.0e0
    THEN '<=18'
    ELSE CAST(CASE
      WHEN source.f2 = 0
      THEN 0
      WHEN source.f2 = CAST('NaN' AS DOUBLE)
      THEN CAST('NaN' AS DOUBLE)
      ELSE source.f2
    END AS TEXT)
  END AS f2,
  CASE
    WHEN CASE
      WHEN source.f3 = 0
      THEN 0
      WHEN source.f3 = CAST('NaN' AS DOUBLE)
      THEN CAST('NaN' AS DOUBLE)
      ELSE source.f3
    END < -25.5
    THEN '<-25.5'
    WHEN CASE
      WHEN source.f3 = 0
      THEN 0
      WHEN source.f3 = CAST('NaN' AS DOUBLE)
      THEN CAST('NaN' AS DOUBLE)
      ELSE source.f3
    END < 90.0e0
    THEN '[-25.5,90)'
    WHEN CASE
      WHEN source.f3 = 0
      THEN 0
      WHEN source.f3 = CAST('NaN' AS DOUBLE)
      THEN CAST('NaN' AS DOUBLE)
      ELSE source.f3
    END >= 90.0e0
    THEN '>=90'
  END AS f3,
  rule_15.mean AS f4,
  CAST(CAST(source.b0 AS INT128) - (
    CAST(source.b0 AS INT128) % CAST(10 AS INT128)
  ) + CASE
    WHEN ABS(
      (
        CAST(source.b0 AS INT128) % CAST(10 AS INT128) + CAST(source.b0 AS INT128) % CAST(10 AS INT128)
      )
    ) >= CAST(10 AS INT128)
    THEN CASE
      WHEN CAST(source.b0 AS INT128) < 0
      THEN -CAST(10 AS INT128)
      ELSE CAST(10 AS INT128)
    END
    ELSE CAST(0 AS INT128)
  END AS BIGINT) AS b0,
  CASE
    WHEN source.b1 >= 999999999999999
    THEN '999999999999999+'
    ELSE CAST(source.b1 AS TEXT)
  END AS b1,
  CASE
    WHEN source.b2 < 0
    THEN '<0'
    WHEN source.b2 < 999999999999999
    THEN '[0,999999999999999)'
    WHEN source.b2 >= 999999999999999
    THEN '>=999999999999999'
  END AS b2
FROM t AS source
LEFT JOIN kanon_microaggregated AS rule_5
  ON source.i4 IS NOT DISTINCT FROM rule_5.value
LEFT JOIN kanon_microaggregated_2 AS rule_10
  ON source.d4 IS NOT DISTINCT FROM rule_10.value
LEFT JOIN kanon_microaggregated_3 AS rule_15
  ON CASE
    WHEN source.f4 = 0
    THEN 0
    WHEN source.f4 = CAST('NaN' AS DOUBLE)
    THEN CAST('NaN' AS DOUBLE)
    ELSE source.f4
  END IS NOT DISTINCT FROM rule_15.value;
