"""Policies: roles of columns, requirements, destination and kanon.toml."""
