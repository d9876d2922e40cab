"""Discernibility metric, DM (Bayardo & Agrawal 2005): each row pays for all that it cannot be told from."""

from __future__ import annotations


def discernibility(squares: int, suppressed: int, rows: int) -> int:
    """Return the sum over classes of size squared, plus the size of the table for every suppressed row.

    Args:
        squares: sum over the published classes of their size squared.
        suppressed: rows that are suppressed.
        rows: rows of the table.
    """
    return squares + suppressed * rows
