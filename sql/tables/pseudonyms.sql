/* Each value of a key with its pseudonym: 120 bits of a keyed hash, as a UUID of version 8, which is for such use. */
SELECT
  value,
  CAST(LEFT(digits, 12) || '8' || SUBSTRING(digits, 13, 3) || '8' || SUBSTRING(digits, 16, 15) AS UUID) AS pseudonym
FROM (
  SELECT
    value,
    $keyed_hash AS digits
  FROM values_of_key
) AS hashed
