"""The questions about numbers and about counts of rows."""
