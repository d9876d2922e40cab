"""Columns of a frequency set in which the members of classes are counted."""

from __future__ import annotations

N = "n"
"""Column of the frequency set: rows of the table with this tuple of codes."""
PERSONS = "persons"
"""Column of the frequency set: entities all of whose rows have this tuple."""
ENTITY = "entity"
"""Column of the frequency set: an entity whose rows have several tuples, as a number; else NULL."""
