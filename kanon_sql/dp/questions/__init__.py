"""The questions that can be asked: one per file."""
