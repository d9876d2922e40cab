"""Rules that group numbers: intervals of equal width, and powers of ten.

Floating point never decides on which side of a bound a number is: it is made exact first, and rounding over a bound is
undone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from sqlglot import exp

from kanon_sql.hierarchy.expressions import (
    NUMBERS,
    ROOT,
    exact_number,
    exact_places,
    number_literal,
    number_text,
    root_if_null,
    value_as_written,
)
from kanon_sql.hierarchy.rules import (
    MOST_DIGITS,
    BuiltRule,
    LabelForm,
    comma_separated,
    decimal_text,
    is_dashed,
    joined,
    label_form,
    read_settings,
    require,
    rises,
    suffix_of,
    whole_numbers,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.rules import ColumnExtremes


@dataclass(frozen=True)
class IntervalRule(BuiltRule):
    """Numeric intervals, wider at each level."""

    widths: tuple[Decimal, ...]  # of the intervals of each level; each a multiple of the one before
    bottom: Decimal | None = None  # values below it share one label at all levels but the root
    top: Decimal | None = None  # values from it up share one label at all levels but the root
    origin: Decimal = Decimal(0)  # a bound shared by intervals of all widths
    form: LabelForm | None = None  # the format of intervals; None if it depends on the values
    families: ClassVar = NUMBERS
    needs: ClassVar = "extremes"

    def __post_init__(self) -> None:
        require(bool(self.widths), "intervals need at least one width, as in intervals:5,10,20")
        require(all(width > 0 for width in self.widths), "the width of an interval must be greater than 0")
        for narrow, wide in zip(self.widths, self.widths[1:], strict=False):
            require(
                wide > narrow and Fraction(wide) % Fraction(narrow) == 0,
                f"an interval of width {wide} cannot be put together from intervals of width {narrow}: "
                "each width must be a multiple of the one before",
            )
        if self.bottom is not None and self.top is not None:
            require(self.bottom < self.top, "bottom must lie below top")

    @classmethod
    def parse(cls, parts: list[str]) -> IntervalRule:
        widths = tuple(_decimal(width) for width in comma_separated(parts[0])) if parts else ()
        readers = {"bottom": _decimal, "top": _decimal, "origin": _decimal, "labels": label_form}
        settings = read_settings("intervals", parts[1:], readers)
        return cls(widths, form=settings.pop("labels", None), **settings)

    def __str__(self) -> str:
        bounds = {"bottom": self.bottom, "top": self.top, "origin": self.origin or None}
        shown = {name: None if bound is None else decimal_text(bound) for name, bound in bounds.items()}
        return (
            f"intervals:{joined([decimal_text(width) for width in self.widths])}{suffix_of(**shown, labels=self.form)}"
        )

    @property
    def height(self) -> int:
        return len(self.widths) + 1

    def settled(self, column: Column, facts: ColumnExtremes) -> IntervalRule:
        """Return the rule with its label format: brackets if a bound of whole numbers is negative."""
        if self.form is not None or not self._is_whole(column):
            return self
        return replace(self, form="dashes" if self._lowest_bound(facts) >= 0 else "brackets")

    def steps(self, column: Column, values: exp.Query, facts: ColumnExtremes) -> exp.Query:
        """Return the steps: the values, each as an exact number, the bounds of its intervals, their labels."""
        scale = self._scale
        digits = self._digits(facts, exact_places(column, scale))
        dashed = is_dashed(self.form, column, can_be=self._is_whole(column) and self._lowest_bound(facts) >= 0)
        data_type = f"DECIMAL({digits}, {scale})"
        lower: list[exp.Expr] = []
        upper: list[exp.Expr] = []
        labels: list[exp.Expr] = []
        for level, width in enumerate(self.widths, start=1):
            above = exp.Add(this=sql.column(f"lower_{level}"), expression=number_literal(width))
            lower.append(sql.named(sql.cast(self._lower_bound(width), data_type), f"lower_{level}"))
            upper.append(sql.named(sql.cast(above, data_type), f"upper_{level}"))
            labels.append(self._label(level, dashed=dashed, single=width == 1))
        exact = _exact(column, scale, digits)
        return self.labelled(values, labels, exact=exact, bounds={"lower": lower, "upper": upper})

    @property
    def _scale(self) -> int:
        bounds = [*self.widths, self.origin, self.bottom or Decimal(0), self.top or Decimal(0)]
        return max(0, *(-int(bound.normalize().as_tuple().exponent) for bound in bounds))

    def _is_whole(self, column: Column) -> bool:
        """Return True if the labels of values that are not negative can be written with dashes."""
        return column.family == "integer" and not self._scale

    def _lowest_bound(self, facts: ColumnExtremes) -> int:
        """Return the lowest bound in any label of whole numbers."""
        if facts.minimum is None:
            return 0
        minimum = int(facts.minimum)  # Python integers have any size; a Decimal has 28 digits
        lowest = minimum - (minimum - int(self.origin)) % int(self.widths[-1])
        return lowest if self.bottom is None else max(lowest, int(self.bottom))

    def _lower_bound(self, width: Decimal) -> exp.Expr:
        """Return the lower bound of a number's interval: the number less its remainder.

        % takes the sign of its left side in every dialect: so the width is added once, and the remainder taken again.
        """
        number = sql.column("number")
        origin = exp.Paren(this=exp.Sub(this=number, expression=number_literal(self.origin)))
        return _of_number("lower_bound", past=origin if self.origin else number, width=number_literal(width))

    def _label(self, level: int, *, dashed: bool, single: bool) -> exp.Expr:
        """Return ``20-24`` for whole numbers that cannot be negative (``20`` for a single one), else ``[20, 25)``."""
        number = sql.column("number")
        lower: exp.Expr = sql.column(f"lower_{level}")
        upper: exp.Expr = sql.column(f"upper_{level}")
        case = root_if_null(number)
        if self.bottom is not None:
            below = exp.LT(this=number.copy(), expression=number_literal(self.bottom))
            case = case.when(below, sql.literal(f"<{self.bottom:f}"))
            lower = sql.greatest([lower, number_literal(self.bottom)])
        if self.top is not None:
            above = exp.GTE(this=number.copy(), expression=number_literal(self.top))
            case = case.when(above, sql.literal(f">={self.top:f}"))
            upper = sql.least([upper, number_literal(self.top)])
        if not dashed:
            low, high = number_text(lower, self._scale), number_text(upper, self._scale)
            return case.else_(_of_number("brackets", low=low, high=high))
        if single:
            return case.else_(number_text(lower, 0))
        last = exp.Sub(this=upper, expression=sql.literal(1))
        return case.else_(_of_number("dashes", low=number_text(lower, 0), high=number_text(last, 0)))

    def _digits(self, facts: ColumnExtremes, places: int) -> int:
        """Return the digits that decimals need: 18 fit in a machine word, which is much faster than 38."""
        minimum, maximum = facts.minimum or Decimal(0), facts.maximum or Decimal(0)
        largest = max(abs(number) for number in (self.widths[-1], self.origin, minimum, maximum))
        in_a_word = 18
        return in_a_word if largest < Decimal(10) ** (in_a_word - 1 - places) / 4 else 38


def _decimal(text: str) -> Decimal:
    """Return a number that can be a bound of an interval."""
    number = Decimal(text)
    require(number.is_finite(), "the numbers of intervals must be finite")
    normal = number.normalize()
    require(
        normal.adjusted() < MOST_DIGITS and -int(normal.as_tuple().exponent) <= MOST_DIGITS,
        f"the numbers of intervals have at most {MOST_DIGITS} digits before the point and as many after it",
    )
    return number


@dataclass(frozen=True)
class RoundRule(BuiltRule):
    """Numbers rounded or truncated to powers of ten, each level from the one before (so that the levels nest)."""

    digits: tuple[int, ...]
    kind: Literal["round", "truncate"] = "round"
    families: ClassVar = NUMBERS

    def __post_init__(self) -> None:
        require(bool(self.digits) and rises(self.digits, above=-19), f"digits must rise, as in {self.kind}:1,2,3")
        require(self.digits[-1] < 28, "digits must be less than 28")  # noqa: PLR2004 - what DECIMAL(38,10) can hold

    @classmethod
    def parse(cls, parts: list[str], kind: Literal["round", "truncate"] = "round") -> RoundRule:
        require(len(parts) == 1, f"{kind} needs digits, as in {kind}:1,2,3")
        return cls(whole_numbers(parts), kind)

    def __str__(self) -> str:
        return f"{self.kind}:{joined(self.digits)}"

    @property
    def height(self) -> int:
        return len(self.digits) + 1

    def steps(self, column: Column, values: exp.Query, facts: ColumnExtremes) -> exp.Query:
        if self.kind == "round":
            return super().steps(column, values, facts)
        width = 37 if column.family == "float" else 38  # a difference has one more digit
        exact = _exact(column, max(0, -self.digits[0]), width, towards_zero=True)
        cut = [_of_number("cut", unit=number_literal(Decimal(1).scaleb(digits))) for digits in self.digits]
        labels = [_of_places(number, max(0, -digits)) for number, digits in zip(cut, self.digits, strict=True)]
        return self.labelled(values, labels, exact=exact)

    def labels(self, column: Column, facts: ColumnExtremes) -> list[exp.Expr]:
        del facts
        number: exp.Expr = exact_number(value_as_written(column), column, max(0, -self.digits[0]))
        labels: list[exp.Expr] = []
        for digits in self.digits:
            number = exp.Round(this=number.copy(), decimals=sql.literal(-digits))
            labels.append(_of_places(number.copy(), max(0, -digits)))
        return labels


def _of_places(number: exp.Expr, places: int) -> exp.Expr:
    text = number_text(sql.cast(number, f"DECIMAL(38, {places})"), places)
    return exp.Coalesce(this=text, expressions=[sql.literal(ROOT)])


def _of_number(name: str, **columns: exp.Expr) -> exp.Expr:
    return sql.selected("hierarchy/numbers", name, columns=columns)


def _exact(column: Column, scale: int, digits: int, *, towards_zero: bool = False) -> tuple[exp.Expr, exp.Expr | None]:
    """Return a value as an exact number, and for floating point a second one that undoes rounding up.

    Rounding may have crossed a bound. With ``towards_zero``, the second number undoes rounding down below zero.
    """
    number = exact_number(value_as_written(column), column, scale, digits)
    if column.family != "float":
        return number, None
    places = exact_places(column, scale)
    unit = Decimal(1).scaleb(-places)
    past = _of_number(
        "rounded_away" if towards_zero else "rounded_up",
        rounded=sql.cast(sql.column("number"), column.type),
        unit=number_literal(unit),
        minus_unit=number_literal(-unit),
    )
    return number, sql.cast(exp.Sub(this=sql.column("number"), expression=past), f"DECIMAL({digits}, {places})")
