"""Opens whatever can be anonymized: database files, data files, frames, addresses."""
