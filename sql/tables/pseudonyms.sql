/* A pseudonym: 120 bits of a hash, as a UUID of version 8, which is for such use. */
SELECT
  CAST(CONCAT(
    LEFT(digits, 12),
    '8',
    SUBSTRING(digits, 13, 3),
    '8',
    SUBSTRING(digits, 16, 15)
  ) AS UUID) AS pseudonym
FROM hashed
