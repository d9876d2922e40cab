"""Anonymize a table in place: a new file with the release and everything else replaces the old file."""
