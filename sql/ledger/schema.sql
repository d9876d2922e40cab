/* Where everything of kanon's own is kept. */
CREATE SCHEMA IF NOT EXISTS kanon
