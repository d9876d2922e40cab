"""SQL as expressions: files in sql/ are loaded and bound, statements are built and rendered for each dialect."""
