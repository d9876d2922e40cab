"""Engines: the only modules that import a database driver."""
