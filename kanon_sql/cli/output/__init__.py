"""What is printed: tables, colours, progress, errors."""
