"""Open anything that can be anonymized: database files, data files, data frames, addresses."""
