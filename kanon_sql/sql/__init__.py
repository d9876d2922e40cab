"""SQL as expressions: load and bind the files in sql/, build statements, and render them for each dialect."""
