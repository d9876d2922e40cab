"""Quality measures, one per file."""
