"""Generalization hierarchies: from files and rules to lookup relations with prefix codes."""
