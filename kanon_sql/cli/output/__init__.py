"""Output: tables, colours, progress, errors."""
