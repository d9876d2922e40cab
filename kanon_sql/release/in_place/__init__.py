"""Anonymizing a table in place: a new file with the release and everything else, which takes the old one's name."""
