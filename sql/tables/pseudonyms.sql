/* A pseudonym: half of a hash, as a UUID of version 8, which is meant for such use. The digits of its version and
   variant are 8 whatever the hash: all of their bits are set, and 7 is subtracted from each. */
SELECT
  CAST((
    CAST(CAST(UNHEX(LEFT(digits, 32)) AS UUID) AS UHUGEINT) | 1133385249711283953991680
  ) - 528913116531932511862784 AS UUID) AS pseudonym
FROM hashed
