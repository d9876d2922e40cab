/* The names of members in a JSON file as they stand there. */
SELECT DISTINCT UNNEST(json_keys(json)) AS name FROM read_json_objects($path)
