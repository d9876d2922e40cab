"""Rules that build hierarchies: one kind per file, with what it says and the query that it becomes."""
