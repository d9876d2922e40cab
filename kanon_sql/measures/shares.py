"""Shares of rows and other figures, as people write and read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_share(given: str | float) -> float:
    """Return a share that is written as a number (0.05) or in percent (5%); else raise ValueError."""
    text = str(given).strip()
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise ValueError(f"a share is written as 0.05 or as 5%, not {text!r}") from None


MUCH_LOST = 0.3
"""The loss above which other settings are tried."""
WORTH_SAYING = 0.05
"""The least difference of two losses that is worth a choice."""
_LEAST, _MOST = 0.001, 0.99  # nearer to 0 or 1 than the first: only a bound is shown; above the second: a decimal
_IN_WHOLES = 0.1  # whole percents from here


def others_lose(losses: Sequence[float], place: int, weights: Sequence[int]) -> float:
    """Return the mean loss of all columns but one, by their weights.

    >>> others_lose([0.5, 1.0, 0.25], 1, [1, 1, 4])
    0.3
    """
    others = [
        (loss, weight) for number, (loss, weight) in enumerate(zip(losses, weights, strict=True)) if number != place
    ]
    whole = sum(weight for _, weight in others)
    return sum(loss * weight for loss, weight in others) / whole if whole else 0.0


def at_most(share: float) -> str:
    """Return a share in percent, rounded up: a lower number would promise more."""
    return f"{math.ceil(share * 1000) / 1000:.1%}"


def in_percent(share: float) -> str:
    """Return a share in percent: 0 or 100 only for nothing or all."""
    if share in {0, 1}:
        return f"{share:.0%}"
    if not _LEAST <= share <= 1 - _LEAST:
        return "less than 0.1%" if share < _LEAST else "more than 99.9%"
    return f"{share:.0%}" if _IN_WHOLES <= share <= _MOST else f"{share:.1%}"


def threshold_text(value: float) -> str:
    """Return a threshold or a measure of a privacy model: integers unchanged, others with four digits."""
    if math.isinf(value):
        return "no bound"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.4g}"


def finite(value: Any) -> Any:  # noqa: ANN401 - any plain value
    """Return plain values with "Infinity" for infinite numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return str(value).replace("inf", "Infinity") if isinstance(value, float) and math.isinf(value) else value
