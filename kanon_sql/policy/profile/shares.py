"""Shares as people read them."""

from __future__ import annotations

_LEAST, _MOST = 0.001, 0.99  # nothing else is called nothing, and all else less than all
_IN_WHOLES = 0.1  # from where on shares are whole per cents


def percent(share: float) -> str:
    """Return a share in percent, which is 0 or 100 only where it is nothing or all."""
    if share in {0, 1}:
        return f"{share:.0%}"
    if not _LEAST <= share <= 1 - _LEAST:
        return "less than 0.1%" if share < _LEAST else "more than 99.9%"
    return f"{share:.0%}" if _IN_WHOLES <= share <= _MOST else f"{share:.1%}"
