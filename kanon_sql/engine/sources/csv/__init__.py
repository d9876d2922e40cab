"""CSV files: their layout, quotes and empty texts."""
