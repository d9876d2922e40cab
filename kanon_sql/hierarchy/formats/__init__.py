"""Hierarchy files of other tools: one file per format, each recognised by what it holds."""
