"""Rules that build hierarchies: one class each, which parses, writes, checks and applies a rule.

The levels of each rule nest, so that a label has one parent: widths divide each other, rounding continues from the
level before, a shorter prefix is a prefix of a longer one. A value without a label of its own (NULL, NaN, infinity)
maps to the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

from sqlglot import exp

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.expressions import DATES, NUMBERS, ROOT, distinct_values_query, exact_number, level_name
from kanon_sql.hierarchy.ready import READY
from kanon_sql.sql import build as sql
from kanon_sql.sql.build import data_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine

LabelForm = Literal["dashes", "brackets"]
"""Format of ranges of whole numbers: ``20-24`` or ``[20, 25)``."""
MOST_DIGITS = 18
"""Before the point and after it: DECIMAL(38) holds such numbers and sums of two of them."""


@dataclass(frozen=True)
class ColumnExtremes:
    """The requested extremes and other facts of a column."""

    minimum: Decimal | None = None  # of numbers
    maximum: Decimal | None = None
    whole: bool = False  # whether all numbers are whole, whatever their type
    shortest: int = 0  # characters of a value as text
    longest: int = 0
    most_bytes: int = 0  # of the longest value: equal to its characters if all are ASCII


class BuiltRule:
    """A rule that computes the labels of any value."""

    families: ClassVar[frozenset[str]] = frozenset()
    """Families of the column types that it is for; empty: any."""
    needs: ClassVar[Literal["extremes", "longest"] | None] = None
    """The facts that it needs about a column."""
    lengths: tuple[int, ...] = ()
    """Numbers of characters of its labels; if given, the longest value need not be known."""

    @property
    def height(self) -> int | None:
        """Levels above the values; None if they depend on the values."""
        return 1

    def bind(
        self, engine: Engine, source: exp.Table, column: Column, facts: ColumnExtremes
    ) -> tuple[BuiltRule, str, tuple[str, ...]]:
        """Return the rule with bounds from the data filled in, the name of the hierarchy, and notes."""
        del engine, source, column, facts
        return self, str(self), ()

    def settled(self, column: Column, facts: ColumnExtremes) -> BuiltRule | None:
        """Return the rule that gives a value the same labels whatever the other values are; None if there is none."""
        del column, facts
        return self

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        """Return the label of a value at each level but the root."""
        del column, facts
        return []

    def query(self, column: Column, source: exp.Table, facts: ColumnExtremes) -> exp.Query:
        """Return the query that makes the lookup relation from the distinct values of a column."""
        self.require_fit(column)
        return self.steps(column, distinct_values_query(column, source), facts)

    def steps(self, column: Column, values: exp.Query, facts: ColumnExtremes) -> exp.Query:
        return self.labelled(values, self.labels(column, facts))

    @staticmethod
    def labelled(
        values: exp.Query,
        labels: list[exp.Expr],
        *,
        exact: tuple[exp.Expr, exp.Expr | None] | None = None,
        bounds: Mapping[str, list[exp.Expr]] | None = None,
    ) -> exp.Query:
        """Return the query of values with their labels and the root above them.

        ``exact`` is the exact number of a value, and a second one that undoes rounding over a bound; ``bounds`` are the
        bounds of intervals around it.
        """
        number, floored = exact or (None, None)
        needed = {"numbers": number, "floored": floored, "lower_bounds": bounds, "intervals": bounds}
        steps = [step for step, made in needed.items() if made is not None]
        of_numbers = "numbers" if floored is None else "floored"
        levels = enumerate([*labels, sql.literal(ROOT)], start=1)
        named = [sql.named(label, level_name(level)) for level, label in levels]
        return sql.query(
            "hierarchy/levels",
            values={"number": number, "floored": floored, **(bounds or {}), "labels": named},
            relations={"floored": sql.relation(of_numbers), "intervals": sql.relation(["present", *steps][-1])},
            steps={"present": [("present", values)], **{step: [] for step in needed if step not in steps}},
        )

    def require_fit(self, column: Column) -> None:
        """Raise if a rule is for another type of column: every value would map to the root, or the query fail."""
        if self.families and column.family not in self.families:
            wanted = {NUMBERS: "numbers", DATES: "dates"}.get(self.families, "texts")
            raise HierarchyError(
                f"The hierarchy of column {column.name!r} ({self}) needs {wanted}, but the column is {column.type}: "
                f"{_instead(column, wanted)}."
            )


def _instead(column: Column, wanted: str) -> str:
    if column.family in DATES:
        return "use a date rule, such as date:month,year"
    if wanted == "texts":
        return "use mask, or intervals of numbers"
    if wanted == "dates":
        return f"cast the column to DATE, or use {'intervals or mask' if column.family in NUMBERS else 'mask or flat'}"
    cast_it = "cast the column to a number type, such as INTEGER, or " if column.family == "text" else ""
    return f"{cast_it}use mask or flat"


@dataclass(frozen=True)
class ListedRule:
    """A hierarchy file, which lists values instead of computing their labels."""

    path: Path

    @property
    def is_ready_made(self) -> bool:
        return self.path.parent == data_directory("hierarchies")

    def __str__(self) -> str:
        here, path = Path.cwd(), self.path
        return self._called(path.relative_to(here) if path.is_relative_to(here) else path)

    def absolute(self) -> str:
        return self._called(self.path.absolute())

    def _called(self, path: Path) -> str:
        return f"{READY}{self.path.stem}" if self.is_ready_made else self.with_path(str(path))

    def with_path(self, path: str) -> str:
        return path


@dataclass(frozen=True)
class FlatRule(BuiltRule):
    def __str__(self) -> str:
        return "flat"

    @classmethod
    def parse(cls, parts: list[str]) -> FlatRule:
        require(not parts, "flat takes no settings")
        return cls()


# Facts about columns


def column_facts(
    engine: Engine, source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]
) -> dict[str, ColumnExtremes]:
    """Return by name the facts that rules of columns need (None: to choose a rule), in one statement."""
    needed = [(column.name, fact) for column, rule in columns for fact in _needed_facts(column, rule)]
    answers: tuple[Any, ...] = ()
    if (query := facts_query(source, columns)) is not None:
        answers = engine.row(query, "extremes of the columns that get a hierarchy built")
    known: dict[str, dict[str, Any]] = {column.name: {} for column, _ in columns}
    for (name, fact), answer in zip(needed, answers, strict=True):
        if answer is not None:
            known[name][fact] = Decimal(str(answer)) if fact in {"minimum", "maximum"} else answer
    return {name: ColumnExtremes(**facts) for name, facts in known.items()}


def facts_query(source: exp.Table, columns: Sequence[tuple[Column, BuiltRule | None]]) -> exp.Select | None:
    """Return the query behind ``column_facts``; None if no facts are needed."""
    needed = [expression for column, rule in columns for expression in _needed_facts(column, rule).values()]
    return exp.select(*needed).from_(sql.aliased(source, "source")) if needed else None


def _needed_facts(column: Column, rule: BuiltRule | None) -> dict[str, exp.Expr]:
    """Return only the aggregates that a rule needs, by fact: converting values to text is slow."""
    value = sql.column(column.name, "source")
    text = sql.cast(value, "VARCHAR")
    length = exp.Length(this=text)
    needs = rule.needs if rule is not None else "extremes" if column.family in NUMBERS else column.family
    if needs == "longest" and not (rule is not None and rule.lengths):
        return {"longest": exp.Max(this=length)}
    if needs == "text":
        return {
            "shortest": exp.Min(this=length.copy()),
            "longest": exp.Max(this=length),
            "most_bytes": exp.Max(this=exp.func("STRLEN", text.copy())),
        }
    if needs == "extremes" and column.family in NUMBERS:
        number = exact_number(value, column)
        found: dict[str, exp.Expr] = {"minimum": exp.Min(this=number), "maximum": exp.Max(this=number.copy())}
        is_whole = number.eq(exp.Floor(this=number.copy()))
        return found if rule is not None else found | {"whole": exp.LogicalAnd(this=is_whole)}
    return {}


# Reading and writing rules


class RuleError(Exception):
    """A rule has a syntax error; ``parse_rule`` adds the place."""


def require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise RuleError(otherwise)


def rises(numbers: Sequence[int], *, above: int) -> bool:
    """Return True if the numbers increase and the first is above a bound."""
    return all(low < high for low, high in zip([above, *numbers], numbers, strict=False))


def comma_separated(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def whole_numbers(parts: list[str]) -> tuple[int, ...]:
    """Return the numbers of the first part, if there is one."""
    return tuple(int(number) for number in comma_separated(parts[0])) if parts else ()


def joined(numbers: Sequence[object]) -> str:
    return ",".join(map(str, numbers))


def read_settings(kind: str, parts: list[str], readers: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    """Return the settings ``name=value`` in the parts of a rule."""
    *names, last = [f"{name}=" for name in readers]
    settings: dict[str, Any] = {}
    for part in parts:
        name, _, value = part.partition("=")
        require(name in readers, f"the settings of {kind} are {', '.join(names)} and {last}")
        require(name not in settings, f"{name}= is given twice")
        settings[name] = readers[name](value)
    return settings


def suffix_of(**settings: object) -> str:
    """Return the settings that are not None as the suffix of a rule."""
    return "".join(f":{name}={value}" for name, value in settings.items() if value is not None)


def decimal_text(number: Decimal) -> str:
    """Return a number in plain notation with exactly its digits."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def label_form(text: str) -> LabelForm:
    require(text in get_args(LabelForm), "labels are dashes (20-24) or brackets ([20, 25))")
    return cast("LabelForm", text)


def is_dashed(form: LabelForm | None, column: Column, *, can_be: bool) -> bool:
    """Return True if ranges are written with dashes: the default for whole bounds that are not negative."""
    if form == "dashes" and not can_be:
        raise HierarchyError(
            f"The labels of column {column.name!r} cannot be written with dashes (labels=dashes): it has negative "
            "numbers or bounds, or none that are whole. Use labels=brackets."
        )
    return can_be and form != "brackets"
