"""What is asked for: roles of columns, requirements, destination, kanon.toml."""
