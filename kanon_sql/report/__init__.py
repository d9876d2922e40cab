"""Pictures and reports of what was found. Nothing here is imported before it is asked for."""
