"""Rules that build hierarchies: what a rule says, the query that it becomes, and how it is written wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from kanon_sql.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from kanon_sql.engine.base import Column

LabelForm = Literal["dashes", "brackets"]
"""How a range of whole numbers is written: ``20-24`` or ``[20, 25)``."""
MOST_DIGITS = 18
"""Before the point and after it: what DECIMAL(38) holds, and sums of two of them."""


class RuleError(Exception):
    """A rule is written wrong; ``parse_rule`` says where."""


def require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise RuleError(otherwise)


def rises(numbers: Sequence[int], *, above: int) -> bool:
    """Tell whether each number is greater than the one before, and the first greater than a bound."""
    return all(low < high for low, high in zip([above, *numbers], numbers, strict=False))


def comma_separated(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def decimal_text(number: Decimal) -> str:
    """Return a number as a person writes it: all of its digits, and no more."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def label_form(text: str) -> LabelForm:
    require(text in get_args(LabelForm), "labels are dashes (20-24) or brackets ([20, 25))")
    return cast("LabelForm", text)


def is_dashed(form: LabelForm | None, column: Column, *, can_be: bool) -> bool:
    """Tell whether ranges are written with dashes: as a rule says, else where they can be.

    Raises:
        HierarchyError: a rule says so, and they cannot be: a bound is negative, or no whole number.
    """
    if form == "dashes" and not can_be:
        raise HierarchyError(
            f"The labels of column {column.name!r} cannot be written with dashes (labels=dashes): it has negative "
            "numbers or bounds, or none that are whole. Use labels=brackets."
        )
    return can_be and form != "brackets"


def seen_from_here(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


@dataclass(frozen=True)
class ColumnExtremes:
    """Extremes of a column, as far as they were requested.

    Attributes:
        minimum, maximum: of numbers; None for other types or where there is no number.
        shortest, longest: lengths in characters of values as text; 0 where there is no value.
        most_bytes: length in bytes of the one that has most: as many as characters if all are of ASCII.
    """

    minimum: Decimal | None = None
    maximum: Decimal | None = None
    shortest: int = 0
    longest: int = 0
    most_bytes: int = 0
