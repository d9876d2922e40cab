/* A date, and a timestamp, from the numbers in a text that is written as it is to be; NULL where there is no such day or
   no such time. What is not written so is not looked at: its parts would be no numbers. */
SELECT
  CASE
    WHEN is_written
    THEN CASE
      WHEN CAST(y AS INTEGER) >= 1000
        AND CAST(m AS INTEGER) BETWEEN 1 AND 12
        AND CAST(d AS INTEGER) BETWEEN 1 AND CASE
          WHEN CAST(m AS INTEGER) IN (4, 6, 9, 11) THEN 30
          WHEN CAST(m AS INTEGER) <> 2 THEN 31
          WHEN CAST(y AS INTEGER) % CASE WHEN CAST(y AS INTEGER) % 100 = 0 THEN 400 ELSE 4 END = 0 THEN 29
          ELSE 28
        END
      THEN CAST(y || '-' || m || '-' || d AS DATE)
    END
  END AS "DATE",
  CASE
    WHEN NOT "DATE" IS NULL
    THEN CASE
      WHEN CAST(h AS INTEGER) <= 23
        AND CAST(mi AS INTEGER) <= 59
        AND CAST(s AS INTEGER) <= 59
      THEN CAST(y || '-' || m || '-' || d || ' ' || h || ':' || mi || ':' || s AS TIMESTAMP)
    END
  END AS "TIMESTAMP"
FROM texts
