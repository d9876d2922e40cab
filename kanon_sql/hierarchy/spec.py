"""How a hierarchy is specified: a file, levels from Python, or a rule that builds one from the data.

age.csv                              a file, in any of the formats of docs/hierarchies.md
ready:us_state                       a hierarchy that comes with kanon-sql
prefix:3:codes.csv                   a file that is looked up by the first 3 characters of a value: E11.9 -> E11 -> ...
prefix:3,2:provinces.csv             ... by the first 2, with the first 3 as a level below
prefix:3:hide:areas.csv              ... and the 3 characters themselves are no level
intervals:5,10,20                    numeric intervals of these widths, aligned to multiples of the width
intervals:5,10:bottom=18:top=90      ... with everything below 18 and from 90 on in one label each
intervals:5,10:origin=18             ... aligned so that one interval begins at 18
intervals:5,10:labels=brackets       ... written [20, 25), not 20-24 (dashes); without it, as the values require
mask   mask:left   mask:right:1,3,5  characters replaced by *, one more at each level or as many as listed
mask:right:1,3,5:length=7            ... of texts of up to 7 characters, whatever the longest value is
cut:2,3   cut:2,3,letters            the last characters left out, then all after the first letters: SW1A1, SW1A, SW
date:month,quarter,year,decade       dates truncated to these units; also day and week
round:1,2,3                          numbers rounded to tens, hundreds, thousands
truncate:1,2                         numbers cut to tens, hundreds, towards zero: 42, 4, 25 become 40, 0, 20
steps   steps:from=100               numbers in steps of 1, 2 and 5, then of powers of ten, then of a hundred; they
                                     take labels=dashes or labels=brackets, as intervals do
quantiles:16,8,4                     numbers in so many groups of about equal counts: the data say the bounds
prefixes   prefixes:3,1              texts by their first characters: as many as listed, or as the data ask for
flat                                 the value itself, or *

The same as a table of kanon.toml, which ``rule_text`` writes as such a text:

age = { intervals = [5, 10, 20], top = 90 }     # also bottom, origin, labels
zip = { mask = "right", counts = [1, 2, 4] }    # also length
postcode = { cut = [2, 3], letters = true }
birth = { date = ["month", "year"] }
income = { round = [2, 3] }                     # or truncate = [2, 3]
cost = { steps = true, from = 100 }             # also labels
height = { quantiles = [16, 8, 4] }
code = { prefixes = [3, 1] }                    # or true: as the data require
sex = { flat = true }
country = { ready = "country" }
job = { file = "jobs.csv" }
area = { file = "areas.csv", prefix = 3 }       # or [3, 2]; hide = true: the prefix itself is no level
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.formats import read_hierarchy, read_lines
from kanon_sql.hierarchy.formats.levels import lines_of
from kanon_sql.hierarchy.ready import READY, ready_made
from kanon_sql.hierarchy.rules import (
    MOST_DIGITS,
    LabelForm,
    RuleError,
    comma_separated,
    decimal_text,
    label_form,
    require,
    rises,
    seen_from_here,
)
from kanon_sql.hierarchy.rules.bounds import BoundsRule, QuantileRule, StepRule, parse_quantiles, parse_steps
from kanon_sql.hierarchy.rules.texts import CutRule, PrefixesRule, PrefixRule, parse_cut, parse_prefix, parse_prefixes
from kanon_sql.sql.build import data_directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from kanon_sql.hierarchy.formats.rows import HierarchyRows, Line


RULES = (
    "intervals:5,10  mask  cut:2,3  date:month,year  round:1,2  truncate:1,2  steps  quantiles:16,8,4  prefixes  flat  "
    "ready:NAME  prefix:3:FILE"
)
"""The rules that exist, one example of each, for messages."""

_LIKE_A_RULE = re.compile(r"[A-Za-z_]+(:.*)?", re.DOTALL)

DateUnit = Literal["day", "week", "month", "quarter", "year", "decade"]
DATE_UNITS: tuple[DateUnit, ...] = get_args(DateUnit)


@dataclass(frozen=True)
class FileRule:
    path: Path

    def __str__(self) -> str:
        if self.path.parent == data_directory("hierarchies"):
            return f"{READY}{self.path.stem}"
        return self.with_path(seen_from_here(self.path))

    def absolute(self) -> str:
        return self.with_path(str(self.path.absolute()))

    def with_path(self, path: str) -> str:
        return path

    def read(self, column: str) -> HierarchyRows:
        return read_hierarchy(self.path, column)


@dataclass(frozen=True)
class LevelsRule:
    """Levels of a mapping or a data frame: its lines, as a file would have them."""

    lines: tuple[Line, ...] = field(repr=False)

    def __str__(self) -> str:
        return "levels from Python"

    def read(self, column: str) -> HierarchyRows:
        return read_lines(self.lines, f"The hierarchy of column {column!r} ({self})")


@dataclass(frozen=True)
class IntervalRule:
    """Numeric intervals, wider at each level.

    Attributes:
        widths: width of the intervals of each level; each a multiple of the one before.
        bottom: values below it share one label at all levels but the root.
        top: values from it on share one label at all levels but the root.
        origin: a bound that intervals of all widths have in common.
        form: how intervals are written; None where the values say which.
    """

    widths: tuple[Decimal, ...]
    bottom: Decimal | None = None
    top: Decimal | None = None
    origin: Decimal = Decimal(0)
    form: LabelForm | None = None

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

    def __str__(self) -> str:
        settings = [("bottom", self.bottom), ("top", self.top), ("origin", self.origin or None)]
        said = "".join(f":{name}={decimal_text(value)}" for name, value in settings if value is not None)
        form = "" if self.form is None else f":labels={self.form}"
        return f"intervals:{','.join(decimal_text(width) for width in self.widths)}{said}{form}"


@dataclass(frozen=True)
class MaskRule:
    """Characters replaced by ``*``, from one side.

    Attributes:
        side: where masking begins.
        counts: how many characters are masked at each level; empty: one more at each level.
        length: characters of all labels, and of the longest value at most; None where the longest value says it.
    """

    side: Literal["right", "left"] = "right"
    counts: tuple[int, ...] = ()
    length: int | None = None

    def __post_init__(self) -> None:
        require(rises(self.counts, above=0), "the numbers of masked characters must rise, as in mask:right:1,2,4")
        require(self.length is None or self.length > 0, "the length of labels must be greater than 0")

    def __str__(self) -> str:
        counts = [",".join(map(str, self.counts))] if self.counts else []
        length = [] if self.length is None else [f"length={self.length}"]
        return ":".join(["mask", self.side, *counts, *length])


@dataclass(frozen=True)
class DateRule:
    """Dates truncated to larger and larger units."""

    units: tuple[DateUnit, ...]

    def __post_init__(self) -> None:
        order = [DATE_UNITS.index(unit) for unit in self.units]
        require(rises(order, above=-1), f"date units must go from small to large: {', '.join(DATE_UNITS)}")
        require(
            "week" not in self.units or self.units[-1] == "week",
            "a week can lie in two months, quarters and years, so that week must be the last unit before the root: "
            "leave week out, or the units after it",
        )

    def __str__(self) -> str:
        return f"date:{','.join(self.units)}"


@dataclass(frozen=True)
class RoundRule:
    """Numbers rounded to powers of ten, each level from the one before (so that the levels nest); or cut to them.

    Attributes:
        kind: whether numbers are rounded, or truncated towards zero.
    """

    digits: tuple[int, ...]
    kind: Literal["round", "truncate"] = "round"

    def __post_init__(self) -> None:
        require(bool(self.digits) and rises(self.digits, above=-19), f"digits must rise, as in {self.kind}:1,2,3")
        require(self.digits[-1] < 28, "digits must be less than 28")  # noqa: PLR2004 - what DECIMAL(38,10) can hold

    def __str__(self) -> str:
        return f"{self.kind}:{','.join(map(str, self.digits))}"


@dataclass(frozen=True)
class FlatRule:
    def __str__(self) -> str:
        return "flat"


BuiltRule = (
    IntervalRule
    | MaskRule
    | CutRule
    | DateRule
    | RoundRule
    | FlatRule
    | StepRule
    | QuantileRule
    | BoundsRule
    | PrefixesRule
)
FromFile = FileRule | PrefixRule | LevelsRule
"""Rules that list values, instead of computing the labels of any."""
Rule = FromFile | BuiltRule
Given = str | LevelsRule
"""A hierarchy as a policy holds it: the text of a rule, the name of a file, or levels from Python."""
Hierarchies = Mapping[str, Any] | str | os.PathLike[str]
"""Hierarchies of public calls: by column a rule, a file, a mapping or a data frame; or a directory of files."""


def as_given(hierarchy: Any) -> Given:  # noqa: ANN401 - what a public call takes
    """Return a rule or a file as text, and a mapping or a data frame as its levels."""
    if isinstance(hierarchy, LevelsRule):
        return hierarchy
    return str(hierarchy) if isinstance(hierarchy, str | os.PathLike) else LevelsRule(lines_of(hierarchy))


def all_given(hierarchies: Mapping[str, Any]) -> dict[str, Given]:
    return {column: as_given(hierarchy) for column, hierarchy in hierarchies.items()}


def by_column_or_directory(hierarchies: Hierarchies | None) -> tuple[dict[str, Given], Path | None]:
    """Return the hierarchies that a public call names by column, and the directory that it names instead."""
    if hierarchies is None or isinstance(hierarchies, Mapping):
        return all_given(hierarchies or {}), None
    return {}, Path(hierarchies)


def require_in_files(hierarchies: Mapping[str, Given], where: str) -> None:
    """Raise if a hierarchy is in memory alone, so that a file could not name it."""
    if lost := [column for column, given in hierarchies.items() if isinstance(given, LevelsRule)]:
        raise UsageError(
            f"The hierarchy of column {lost[0]!r} is levels from Python, which {where} cannot name. Write it to a file "
            "with export_hierarchy(source, column=..., hierarchy=..., out=...), and give that file."
        )


def parse_rule(text: Given, relative_to: Path | None = None) -> Rule:
    if isinstance(text, LevelsRule):
        return text
    kind, *parts = text.split(":")
    try:
        if kind in _PARSERS:
            return _PARSERS[kind](parts)
        if kind == "prefix":
            return parse_prefix(parts, relative_to or Path())
    except (InvalidOperation, ValueError):
        raise UsageError(f"Hierarchy {text!r}: a number is expected where something else stands.") from None
    except RuleError as error:
        raise UsageError(f"Hierarchy {text!r}: {error}.") from None
    if "\0" in text:
        raise UsageError(f"Hierarchy {text!r} has a NUL, which no file name has.")
    rule = FileRule((relative_to or Path()) / text)
    if _LIKE_A_RULE.fullmatch(text) and not rule.path.exists():
        raise UsageError(f"Hierarchy {text!r} is neither a rule nor a file that exists. Rules are: {RULES}.")
    return rule


def _ready(parts: list[str]) -> Rule:
    require(len(parts) == 1, "ready needs a name, as in ready:us_state")
    (name,) = parts
    ready = ready_made(name)
    if ready.path is None:
        return parse_rule(ready.rule or "")
    if ready.prefix:
        return PrefixRule(ready.path, ready.prefix, ready.hide, ready.values, name)
    return FileRule(ready.path)


def _flat(parts: list[str]) -> FlatRule:
    require(not parts, "flat takes no settings")
    return FlatRule()


def _date(parts: list[str]) -> DateRule:
    units = comma_separated(parts[0]) if parts else ["month", "quarter", "year", "decade"]
    require(set(units) <= set(DATE_UNITS), f"date units are {', '.join(DATE_UNITS)}")
    require(len(parts) <= 1, "after the units nothing may follow")
    return DateRule(tuple(unit for unit in DATE_UNITS if unit in units))


def _intervals(parts: list[str]) -> IntervalRule:
    widths = tuple(_decimal(width) for width in comma_separated(parts[0])) if parts else ()
    settings: dict[str, Any] = {}
    for part in parts[1:]:
        name, _, value = part.partition("=")
        require(name in _BOUNDS, "settings of intervals are bottom=, top=, origin= and labels=")
        require(name not in settings, f"{name}= is given twice")
        settings[name] = label_form(value) if name == "labels" else _decimal(value)
    settings["form"] = settings.pop("labels", None)
    return IntervalRule(widths, **settings)


def _round(parts: list[str], kind: Literal["round", "truncate"] = "round") -> RoundRule:
    require(len(parts) == 1, f"{kind} needs digits, as in {kind}:1,2,3")
    return RoundRule(tuple(int(digit) for digit in comma_separated(parts[0])), kind)


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


def _mask(parts: list[str]) -> MaskRule:
    side: Literal["right", "left"] = "left" if parts and parts[0] == "left" else "right"
    counts = parts[1:] if parts and parts[0] in {"left", "right"} else parts
    length = counts.pop().removeprefix("length=") if counts and counts[-1].startswith("length=") else None
    written = (
        (length is None or re.fullmatch(r"[0-9]{1,4}", length) is not None)
        and len(counts) <= 1
        and all(re.fullmatch(r"[0-9]+", count) for part in counts for count in comma_separated(part))
    )
    require(
        written,
        "mask is written mask, mask:left or mask:right, and may say how many characters to mask at each level, and how "
        "long the longest value can be, as in mask:right:1,2,4:length=5",
    )
    masked = tuple(int(count) for count in comma_separated(counts[0])) if counts else ()
    return MaskRule(side, masked, None if length is None else int(length))


_PARSERS: dict[str, Callable[[list[str]], Rule]] = {
    "intervals": _intervals,
    "mask": _mask,
    "cut": parse_cut,
    "date": _date,
    "flat": _flat,
    "ready": _ready,
    "round": _round,
    "truncate": lambda parts: _round(parts, "truncate"),
    "steps": parse_steps,
    "quantiles": parse_quantiles,
    "prefixes": parse_prefixes,
}


# A rule as a table of kanon.toml

_Table = dict[str, Any]


def rule_text(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    """Return the text of the rule that a setting of kanon.toml stands for: a text as it is, or a table.

    ``where`` is what messages call the setting.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a text, or a table such as {{ intervals = [5, 10] }}.")
    kinds = [kind for kind in _TABLES if kind in value]
    if len(kinds) != 1:
        said = " and ".join(kinds) or "nothing of it"
        raise UsageError(f"{where} must say one of {', '.join(_TABLES)}; it says {said}.")
    (kind,) = kinds
    settings, write = _TABLES[kind]
    if unknown := [name for name in value if name not in {kind, *settings}]:
        known = f" Besides {kind} there may be {', '.join(settings)}." if settings else ""
        raise UsageError(f"{where} has no setting {', '.join(unknown)}.{known}")
    text = write(value, where)
    if kind != "file":  # a file need not exist yet
        try:
            parse_rule(text)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    return text


def _write_intervals(table: _Table, where: str) -> str:
    settings = [f":{name}={_setting(table, name, where)}" for name in _BOUNDS if name in table]
    return f"intervals:{_numbers(table, 'intervals', where)}{''.join(settings)}"


def _setting(table: _Table, name: str, where: str) -> str:
    setting = f"{where}.{name}"
    return _text(table[name], setting) if name == "labels" else _number(table[name], setting)


def _write_mask(table: _Table, where: str) -> str:
    if table["mask"] not in {"right", "left"}:
        raise UsageError(f'{where}.mask must be "right" or "left".')
    counts = f":{_numbers(table, 'counts', where)}" if "counts" in table else ""
    length = f":length={_number(table['length'], f'{where}.length')}" if "length" in table else ""
    return f"mask:{table['mask']}{counts}{length}"


def _write_date(table: _Table, where: str) -> str:
    units = table["date"] if isinstance(table["date"], list) else [table["date"]]
    return f"date:{','.join(_text(unit, f'{where}.date') for unit in units)}"


def _write_steps(table: _Table, where: str) -> str:
    _is_true(table, "steps", where)
    settings = [f":{name}={_setting(table, name, where)}" for name in ("from", "labels") if name in table]
    return f"steps{''.join(settings)}"


def _write_prefixes(table: _Table, where: str) -> str:
    return "prefixes" if table["prefixes"] is True else f"prefixes:{_numbers(table, 'prefixes', where)}"


def _write_flat(table: _Table, where: str) -> str:
    _is_true(table, "flat", where)
    return "flat"


def _write_file(table: _Table, where: str) -> str:
    path = _text(table["file"], f"{where}.file")
    path = path if "/" in path or "\\" in path else f"./{path}"  # a file may be called like a rule
    hide = _is_true(table, "hide", where)
    if "prefix" in table:
        return f"prefix:{_numbers(table, 'prefix', where)}{':hide' if hide else ''}:{path}"
    if hide:
        raise UsageError(f"{where}.hide is for prefixes: add prefix, or leave it out.")
    return path


_BOUNDS = ("bottom", "top", "origin", "labels")
_TABLES: dict[str, tuple[tuple[str, ...], Callable[[_Table, str], str]]] = {
    "intervals": (_BOUNDS, _write_intervals),
    "mask": (("counts", "length"), _write_mask),
    "cut": (
        ("letters",),
        lambda table, where: (
            f"cut:{_numbers(table, 'cut', where)}{',letters' if _is_true(table, 'letters', where) else ''}"
        ),
    ),
    "date": ((), _write_date),
    "round": ((), lambda table, where: f"round:{_numbers(table, 'round', where)}"),
    "truncate": ((), lambda table, where: f"truncate:{_numbers(table, 'truncate', where)}"),
    "steps": (("from", "labels"), _write_steps),
    "quantiles": ((), lambda table, where: f"quantiles:{_numbers(table, 'quantiles', where)}"),
    "prefixes": ((), _write_prefixes),
    "flat": ((), _write_flat),
    "ready": ((), lambda table, where: f"ready:{_text(table['ready'], f'{where}.ready')}"),
    "file": (("prefix", "hide"), _write_file),
}
"""For each kind of hierarchy, the settings that it may have, and how it is written as the text of a rule."""


def _numbers(table: _Table, name: str, where: str) -> str:
    value = table[name]
    listed = value if isinstance(value, list) else [value]
    return ",".join(_number(number, f"{where}.{name}") for number in listed)


def _number(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{where} must be a number, or where there are levels a list of numbers.")
    return str(value)  # the shortest text that means this number: 0.1 is 0.1


def _text(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where} must be a text.")
    return value


def _is_true(table: _Table, name: str, where: str) -> bool:
    """Tell whether a setting is there; it can only be true."""
    if name in table and table[name] is not True:
        raise UsageError(f"{where}.{name} must be true; leave it out otherwise.")
    return name in table
