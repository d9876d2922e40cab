"""Publishes a release: to a table, a view, a file, a new database or a warehouse."""
