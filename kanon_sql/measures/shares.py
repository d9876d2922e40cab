"""Shares of rows, as a person writes them."""

from __future__ import annotations


def read_share(given: str | float) -> float:
    """Return a share that is written as a number (0.05) or in percent (5%).

    Raises:
        ValueError: it is written in another way.
    """
    text = str(given).strip()
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError(f"a share is written as 0.05 or as 5%, not {text!r}") from None
