/* By what a change of objects in a store is seen: names, sizes and times, without a look into them. */
SELECT filename, size, CAST(last_modified AS VARCHAR) FROM read_blob($address) ORDER BY filename
