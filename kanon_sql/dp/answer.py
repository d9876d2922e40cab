"""An answer: what was found with noise, how far off it may be, what it cost and what that rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from kanon_sql.dp.account import Budget

CONFIDENCE = 0.95
"""How probable it is that the exact answer lies in the interval of one."""

Number = int | Decimal
Unit = Literal["rows", "people"]
_MOST_PLACES = 20


@dataclass(frozen=True)
class Figure:
    """One number of an answer.

    Attributes:
        value: with its noise; for a question about keys that asks for one of them, None.
        key: what it is of; None for all rows, and for those without a value.
        low: of the interval that has the exact number with a probability of 95 %; None where there is none.
        high: of the same interval.
        other: whether it is of the rows of all keys that were not told apart.
    """

    value: Number | None
    key: str | None = None
    low: Number | None = None
    high: Number | None = None
    other: bool = False

    def summary(self) -> dict[str, Any]:
        """Return it as plain values."""
        interval = [json_number(self.low), json_number(self.high)]
        return {"key": self.key, "other": self.other, "answer": json_number(self.value), "interval": interval}


@dataclass(frozen=True)
class Answer:
    """What a question about a table was answered.

    Attributes:
        question: in words.
        table: its name.
        unit: what is counted, in one word: "rows" or "people".
        counted: what is counted, and what is not, in words.
        figures: the numbers.
        keyed: whether the figures are of keys.
        mechanism: the noise, or the mechanism.
        scale: of the noise, in what the answer counts.
        expected_error: by how much a figure is off in the mean; None where that depends on the table.
        accuracy: how far off it may be, in words.
        epsilon: what it cost.
        delta: what it cost.
        assumes: what that rests on.
        budget: of the table, after it.
        text: the SQL that found the exact numbers.
    """

    question: str
    table: str
    unit: Unit
    counted: str
    figures: tuple[Figure, ...]
    keyed: bool
    mechanism: str
    scale: Number | float
    expected_error: Number | float | None
    accuracy: str
    epsilon: Decimal
    delta: Decimal
    assumes: tuple[str, ...]
    budget: Budget | None = None
    text: str = ""

    @property
    def is_count(self) -> bool:
        """Whether the answer is a number of rows or people."""
        return self.question == "count"

    @property
    def single(self) -> Figure | None:
        """The figure, where one was asked for: a number, or a key; None where there is one for each key."""
        return self.figures[0] if not self.keyed or (self.figures and self.figures[0].value is None) else None

    @property
    def value(self) -> Number | str | None:
        """The answer, where it is a single one: a number, or the key that was asked for."""
        if self.single is None:
            return None
        return self.single.key if self.single.value is None else self.single.value

    @property
    def values(self) -> dict[str | None, Number | None]:
        """The numbers by key; None is for the rows of no key."""
        return {figure.key: figure.value for figure in self.figures}

    def sql(self) -> str:
        """Return the SQL that found the exact numbers, to which the noise was added."""
        return self.text

    def paid(self, budget: Budget, text: str) -> Answer:
        """Return the answer with the budget that is left, and the SQL that found it."""
        return replace(self, budget=budget, text=text)

    def summary(self) -> dict[str, Any]:
        """Return it as plain values: what ``--format json`` prints."""
        each = [figure.summary() for figure in self.figures]
        single = self.single
        epsilon, delta = (None, None) if self.budget is None else self.budget.composed
        return {
            "question": self.question,
            "table": self.table,
            "unit": self.unit,
            "counted": self.counted,
            "answer": each if single is None else single.key if single.value is None else json_number(single.value),
            "interval": None if single is None or single.low is None else each[0]["interval"],
            "confidence": CONFIDENCE,
            "expected_error": None if self.expected_error is None else float(self.expected_error),
            "accuracy": self.accuracy,
            "mechanism": self.mechanism,
            "scale": float(self.scale),
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "assumes": list(self.assumes),
            "budget": None
            if self.budget is None or epsilon is None or delta is None
            else {
                "epsilon": float(self.budget.epsilon),
                "epsilon_spent": float(epsilon),
                "delta": float(self.budget.delta),
                "delta_spent": float(delta),
            },
        }


def json_number(value: Number | None) -> int | float | None:
    """Return a number as JSON has it: whole ones without a point."""
    if value is None or isinstance(value, int):
        return value
    return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)


def rounded_text(value: Number | float | None, error: Number | float | None = None) -> str:
    """Return a number for people: whole ones as they are, others to two digits of their error, or three of their own.

    Args:
        value: the number; nothing for None.
        error: how far it is off.
    """
    if value is None:
        return ""
    if isinstance(value, int) or (isinstance(value, Decimal) and value == value.to_integral_value()):
        return f"{int(value):,}"
    size, digits = (abs(float(value)), 2) if not error else (float(error), 1)
    places = digits - math.floor(math.log10(size)) if size else 0
    text = f"{value:,.{min(max(places, 0), _MOST_PLACES)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and not error else text
