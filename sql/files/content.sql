/* The files at an address, whole. */
SELECT filename, content FROM read_blob($address) ORDER BY filename
