"""What is required: roles of columns, requirements, destination, kanon.toml."""
