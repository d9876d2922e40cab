"""Average class size, C_avg (LeFevre 2006): how much larger classes are than they had to be."""

from __future__ import annotations


def average_class_size(rows: int, classes: int, k: int) -> float | None:
    """Return the mean size of the published classes in units of k: 1 is the best; None without classes.

    Args:
        rows: published rows.
        classes: published classes.
        k: the smallest class that was asked for.
    """
    return rows / classes / k if classes else None


def average_rows(rows: int, classes: int) -> float | None:
    """Return the mean size of the published classes in rows (AECS in ARX); None without classes."""
    return rows / classes if classes else None
