/* The secret that DuckDB would take for an address: one that its owner made, here or for good (CREATE PERSISTENT SECRET). */
SELECT name FROM which_secret($address, $kind)
