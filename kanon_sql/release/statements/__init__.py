"""The SQL of a release, one file for each kind of recoding."""
