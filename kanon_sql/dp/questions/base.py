"""The common base of questions (protected person, price, rows), and answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sqlglot import exp

from kanon_sql.dp.account import Charge, delta_of, epsilon_of
from kanon_sql.dp.condition import SOURCE, condition
from kanon_sql.dp.contributions import QueriedRows, Unit
from kanon_sql.dp.mechanisms import law_of
from kanon_sql.engine.base import resolve_columns
from kanon_sql.engine.equality import collated
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.dp.account import Budget
    from kanon_sql.dp.mechanisms import Law, Noise
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source


CONFIDENCE = 0.95
"""Probability that the exact answer lies in its interval."""

Number = int | Decimal
_MOST_PLACES = 20


@dataclass(frozen=True)
class Figure:
    """One number of an answer.

    Attributes:
        value: with its noise; None if the answer to the question is a key.
        key: the key it is about; None for all rows, and for rows without a value.
        low, high: the interval that contains the exact number with a probability of 95 %, if there is one.
        other: whether it is about the rows of all keys that are not counted separately.
    """

    value: Number | None
    key: str | None = None
    low: Number | None = None
    high: Number | None = None
    other: bool = False

    def summary(self) -> dict[str, Any]:
        """Return the figure as plain values."""
        interval = [json_number(self.low), json_number(self.high)]
        return {"key": self.key, "other": self.other, "answer": json_number(self.value), "interval": interval}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a question about a table.

    Attributes:
        question: in words, as ``counted`` (what is counted, and what is not) and ``accuracy``.
        keyed: whether there is a figure for each key.
        mechanism: the noise, or the mechanism.
        scale: of the noise, in the unit of the answer.
        expected_error: the mean absolute error of a figure; None if it depends on the table.
        epsilon, delta: the cost, which relies on what it ``assumes``.
        budget: of the table, after the answer.
        text: the SQL that computed the exact numbers.
    """

    question: str
    table: str
    unit: Unit
    counted: str
    figures: tuple[Figure, ...]
    keyed: bool = False
    mechanism: str
    scale: Number | float
    expected_error: Number | float | None = None
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
        """The figure of a single answer (a number or a key); None if there is one for each key."""
        return self.figures[0] if not self.keyed or (self.figures and self.figures[0].value is None) else None

    @property
    def value(self) -> Number | str | None:
        """The number or key, if the answer is a single one."""
        if self.single is None:
            return None
        return self.single.key if self.single.value is None else self.single.value

    @property
    def values(self) -> dict[str | None, Number | None]:
        """The numbers by key; None stands for the rows without a key."""
        return {figure.key: figure.value for figure in self.figures}

    def sql(self) -> str:
        """Return the SQL that computed the exact numbers, before noise."""
        return self.text

    def summary(self) -> dict[str, Any]:
        """Return the answer as plain values, as ``--format json`` prints it."""
        each = [figure.summary() for figure in self.figures]
        single = self.single
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
            if self.budget is None
            else {name: self.budget.summary()[name] for name in ("epsilon", "epsilon_spent", "delta", "delta_spent")},
        }


def json_number(value: Number | None) -> int | float | None:
    """Return a number for JSON: whole numbers without a point."""
    if value is None or isinstance(value, int):
        return value
    return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)


def rounded_text(value: Number | float | None, error: Number | float | None = None) -> str:
    """Format a number: whole numbers unchanged, others to two digits of their error, or to three digits."""
    if value is None:
        return ""
    if isinstance(value, int) or (isinstance(value, Decimal) and value == value.to_integral_value()):
        return f"{int(value):,}"
    size, digits = (abs(float(value)), 2) if not error else (float(error), 1)
    places = digits - math.floor(math.log10(size)) if size else 0
    text = f"{value:,.{min(max(places, 0), _MOST_PLACES)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and not error else text


Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Question(ABC):
    """A question about the rows of a table.

    Attributes:
        epsilon: the cost of the answer: e^epsilon bounds how much likelier any answer becomes by one person.
        delta: the probability that this bound may fail; for Gaussian noise, and for keys that are not given.
        entity: the column of the person; without it, each row is a person.
        max_rows: the number of rows of a person that count.
        where: a condition on single rows, in SQL.
        group: a column and a value: the question is about these rows, and costs nothing for others.
    """

    epsilon: Decimal | float | str
    delta: Decimal | float | str = 0
    noise: Noise = "laplace"
    entity: str | None = None
    max_rows: int = 1
    where: str | None = None
    group: tuple[str, str] | None = None

    asks: ClassVar[str]
    needs_delta: ClassVar[bool] = False
    has_noise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", epsilon_of(self.epsilon))
        object.__setattr__(self, "delta", delta_of(self.delta))
        if self.noise not in {"laplace", "gaussian"}:
            raise UsageError(f"There is no noise {self.noise!r}. There is: laplace, gaussian.")
        if self.noise == "gaussian" and not self.has_noise:
            raise UsageError(f"{self.words} is answered by the exponential mechanism: leave --noise gaussian out.")
        if self.noise == "gaussian" and not self.delta:
            raise UsageError("Gaussian noise needs a delta, such as --delta 1e-6.")
        if self.delta and self.noise != "gaussian" and not self.needs_delta:
            raise UsageError(f"Delta is for Gaussian noise, and for keys that nobody gave: {self.words} needs none.")
        if not isinstance(self.max_rows, int) or self.max_rows < 1:
            raise UsageError(
                f"The rows of a person that count (--max-rows) are a whole number from 1 on, not {self.max_rows}."
            )

    @property
    def price(self) -> tuple[Decimal, Decimal]:
        """Epsilon and delta as exact numbers."""
        return Decimal(self.epsilon), Decimal(self.delta)

    @property
    def key(self) -> str | None:
        """The column whose values are keys without being changed, if any."""
        return None

    @property
    def words(self) -> str:
        """A short description of the question."""
        return self.asks.format(self)

    @abstractmethod
    def query(self, queried: QueriedRows) -> exp.Query:
        """Return the query of the exact numbers."""

    @abstractmethod
    def answer(self, rows: Sequence[Row], queried: QueriedRows) -> Answer:
        """Return the answer from the exact numbers; epsilon and delta have been spent."""

    @abstractmethod
    def counted(self, queried: QueriedRows) -> str:
        """Describe what the answer counts and what it does not, independently of the data."""

    @abstractmethod
    def sensitivity(self, queried: QueriedRows) -> int:
        """Return the most by which the exact numbers can change together when one person is added or removed."""

    def prepare(self, queried: QueriedRows) -> None:
        """Raise if the question is wrong, before anything is spent; runs the mechanism on no data."""
        self.law(queried)

    def law(self, queried: QueriedRows) -> Law:
        """Return the noise of an answer."""
        return law_of(self.noise, self.sensitivity(queried), *self.price)

    def answered(
        self,
        queried: QueriedRows,
        figures: tuple[Figure, ...],
        accuracy: str,
        *,
        mechanism: str,
        scale: Number | float,
        expected_error: Number | float | None = None,
        keyed: bool = False,
    ) -> Answer:
        """Return an answer with its price and assumptions."""
        return Answer(
            question=self.words,
            table=queried.name,
            unit=queried.unit,
            counted=self.counted(queried),
            figures=figures,
            keyed=keyed,
            mechanism=mechanism,
            scale=scale,
            expected_error=expected_error,
            accuracy=accuracy,
            epsilon=self.price[0],
            delta=self.price[1],
            assumes=self.assumes(queried),
        )

    @staticmethod
    def counted_rows(queried: QueriedRows, rows: str, once: str) -> str:
        if queried.person is None:
            return rows
        person = queried.person.name
        if queried.most_rows == 1:
            return (
                f"people: each {person} counts {once}, however many rows it has; rows without {person} are one person"
            )
        return (
            f"{rows}, at most {queried.most_rows} per {person}: further rows are not counted; rows without {person} "
            "are one person"
        )

    def charge(self, queried: QueriedRows) -> Charge:
        """Return the cost of the answer.

        If a person can have rows in several groups, all groups pay for an answer about one.
        """
        about = self.words if queried.group is None else f"{self.words} where {queried.group[0]} is a given value"
        person = None if queried.person is None else queried.person.name
        return Charge(about, *self.price, queried.group if person is None else None, person)

    def protecting(self, entity: str | None) -> Self:
        """Return the question with the entity of a budget, unless it has its own."""
        return self if entity is None or self.entity is not None else replace(self, entity=entity)

    def assumes(self, queried: QueriedRows) -> tuple[str, ...]:
        """Return the assumptions of the guarantee."""
        if queried.person is None:
            return ("Neighbouring tables differ in one row: each person has one. If not, name the person (--entity).",)
        rows = "1 counts" if queried.most_rows == 1 else f"{queried.most_rows} count"
        shared = () if queried.group is None else ("A person may be in several groups: all pay for the answer.",)
        person = f"all rows of one {queried.person.name}, of which at most {rows}"
        return (f"Neighbouring tables differ in one person: {person}.", *shared)


def whole(value: Any) -> int:  # noqa: ANN401 - whatever an engine makes of a whole number
    return 0 if value is None else int(value)


_GROUPS = {"text", "integer", "boolean"}


def queried_rows(source: Source, question: Question) -> QueriedRows:
    """Return the rows that a question is about."""
    columns, name = source.columns, source.name
    conditions: list[exp.Expr] = []
    if question.where is not None:
        conditions.append(exp.paren(condition(question.where, columns, name)))
    group = None
    if question.group is not None:
        named, value = question.group
        (column,) = resolve_columns([named], columns, name)
        if column.family not in _GROUPS:
            raise UsageError(f"Column {column.name} cannot make groups: texts, whole numbers and truth values can.")
        group = (column.name, value)
        conditions.append(_is_in_group(column, value))
    if question.key is not None:
        _require_no_collation(source, question.key)
    person = None
    if question.entity is None and question.max_rows > 1:
        raise UsageError("--max-rows is how many rows of a person count: say with --entity who that is.")
    if question.entity is not None:
        (person,) = resolve_columns([question.entity], columns, name)
    return QueriedRows(source.relation, name, columns, person, question.max_rows, tuple(conditions), group)


def _require_no_collation(source: Source, name: str) -> None:
    """Raise if texts with different spelling are equal: the first of them would name the key of all.

    Removing one person could then remove that name, and give all rows of the key another one.
    """
    columns = [column for column in resolve_columns([name], source.columns, source.name) if column.family == "text"]
    if collated(source.engine, source.relation, columns):
        raise UsageError(
            f"Column {name} has a collation: texts that are written differently count as one key, whose name would "
            "tell who is there. Remove it (ALTER TABLE ... ALTER ... TYPE VARCHAR), or SET default_collation = ''."
        )


def _is_in_group(column: Column, value: str) -> exp.Expr:
    """Return the condition of a group. Texts are compared byte by byte, so that no row is in the groups of two texts.

    A column may have a collation that makes two texts equal. Their digests are never equal.
    """
    own = exp.MD5(this=sql.cast(sql.column(column.name, SOURCE), "VARCHAR"))
    return exp.EQ(this=own, expression=exp.MD5(this=sql.literal(value)))
