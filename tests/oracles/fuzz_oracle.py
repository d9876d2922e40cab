"""What a release of a fuzzed table must be, in plain Python over the texts of its cells; shares nothing with it.

A table is a list of tuples with the text of each cell, or None. What the release says of itself (levels, rules) is
taken as a claim, and held against the rows.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import struct
from collections import Counter, defaultdict
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import plain_models

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz_cases import FuzzCase

Cell = str | None
Rows = list[tuple[Cell, ...]]

_ROOT = "*"
_INTERVAL = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)\)")
_DASHED = re.compile(r"(\d+)-(\d+)")
_DATE = re.compile(r"(\d+)-(\d\d)-(\d\d)")


def as_published(cell: Cell, kind: str, destination: str) -> Cell:
    """Return the text of a cell in the one form of all cells that are equal to it, in which it is published."""
    if kind == "JSON" and destination in {"json", "jsonl"} and cell is not None:  # without white space then
        return json.dumps(json.loads(cell), separators=(",", ":"))
    if kind in {"FLOAT", "DOUBLE"}:
        return {"-0.0": "0.0", "-nan": "nan"}.get(cell or "", cell)
    return cell


def require_release(case: FuzzCase, source: Rows, names: list[str], released: Rows, summary: dict[str, Any]) -> None:
    """Raise unless a release is one of the table, and is what was asked for.

    Args:
        case: the table and what was asked.
        source: its rows.
        names: the names of the columns of the release.
        released: its rows.
        summary: what the release says of itself.
    """
    kinds = {column.name: column.type for column in case.columns}
    all_names = list(kinds)
    source = [
        tuple(as_published(cell, kinds[name], case.destination) for name, cell in zip(all_names, row, strict=True))
        for row in source
    ]
    # 1. The columns, in their order, and none that was not to be published.
    assert names == case.published()
    quasi = [name for name in names if name in case.named("qi")]
    carried = [name for name in names if name not in quasi]
    # 2. The rows add up.
    assert summary["rows_in"] == len(source)
    assert summary["rows_out"] == len(released)
    assert summary["rows_suppressed"] == len(source) - len(released)
    assert len(source) - len(released) <= _allowed(case, len(source))
    assert not source or released
    # 3. The classes.
    classes: defaultdict[tuple[Cell, ...], list[tuple[Cell, ...]]] = defaultdict(list)
    for row in released:
        classes[_cells(names, row, quasi)].append(row)
    written = kinds if case.destination in {"json", "jsonl"} else {}
    own = _tests(source, all_names, quasi, summary, written)
    of_source = Counter(_cells(all_names, row, carried) for row in source)
    assert Counter(_cells(names, row, carried) for row in released) <= of_source
    for labels, rows in classes.items():
        assert len(rows) >= case.k
        covered = [
            row
            for row in source
            if all(test(label, row[all_names.index(n)]) for test, label, n in zip(own, labels, quasi, strict=True))
        ]
        found, expected = (
            Counter(_cells(there, row, carried) for row in some)
            for there, some in ((names, rows), (all_names, covered))
        )
        assert found == expected if summary["levels"] is not None else found <= expected
        if case.entity is not None:
            people = {row[all_names.index(case.entity)] for row in covered} - {None}
            assert len(people) >= case.k
        _require_models(case, summary, names, rows, all_names, source)
    assert min(map(len, classes.values()), default=0) == (summary["smallest_class"] or 0)
    assert len(classes) == summary["classes"]


def _cells(names: list[str], row: tuple[Cell, ...], wanted: list[str]) -> tuple[Cell, ...]:
    return tuple(row[names.index(name)] for name in wanted)


def _allowed(case: FuzzCase, rows: int) -> int:
    limit = case.settings["max_suppressed"]
    if isinstance(limit, str):
        return case.k if limit.startswith("k") else int(limit.split()[0])
    return int(Fraction(str(limit)) * rows)


_SLACK = 1e-8
_MEASURES: dict[str, Callable[[list[Cell], list[Cell], list[float]], bool]] = {
    "l": lambda own, whole, asked: plain_models.distinct(own, whole) >= asked[0],
    "entropy_l": lambda own, whole, asked: plain_models.entropy(own, whole) >= asked[0] - _SLACK,
    "alpha": lambda own, whole, asked: plain_models.alpha(own, whole) <= asked[0] + _SLACK,
}
_COMPARISONS: dict[str, Callable[[list[Cell], list[Cell], list[float]], bool]] = {
    "recursive": lambda own, _, asked: plain_models.recursive(own, int(asked[1])) < asked[0] + _SLACK,
    "beta": lambda own, whole, asked: plain_models.basic_beta(own, whole) <= asked[0] + _SLACK,
    "enhanced_beta": lambda own, whole, asked: plain_models.enhanced_beta(own, whole, asked[0]),
    "delta": lambda own, whole, asked: plain_models.delta_disclosure(own, whole) <= asked[0] + _SLACK,
    "t": lambda own, whole, asked: plain_models.equal_distance(own, whole) <= asked[0] + _SLACK,
}


def _require_models(
    case: FuzzCase, summary: dict[str, Any], names: list[str], rows: Rows, all_names: list[str], source: Rows
) -> None:
    """Raise unless a class satisfies the models of a sensitive column.

    Values that SQL calls equal and that are written differently count as one there, as two here: with fewer values no
    class has more of them, or a more even spread, so that only the other models are left out for such types. The
    ordered distance is looked at elsewhere; trees are flat, and the distance in them is the equal one.
    """
    for kind, column, typed in case.models:
        name = column if column is not None else case.named("sensitive")[0]
        own = [row[names.index(name)] for row in rows]
        whole = [row[all_names.index(name)] for row in source]
        declared = next(each for each in case.columns if each.name == name)
        ordered = kind == "t" and any("ordered" in model["model"] for model in summary["models"])
        comparable = not declared.is_nested and "NOCASE" not in declared.type and not ordered
        judged = _MEASURES.get(kind) or (_COMPARISONS[kind] if comparable else None)
        assert judged is None or judged(own, whole, [float(number) for number in typed.split(",")])


# Labels


def _tests(
    source: Rows, all_names: list[str], quasi: list[str], summary: dict[str, Any], numbers: dict[str, str]
) -> list[Callable[[Cell, Cell], bool]]:
    """Return for each quasi-identifier what tells whether a label may stand for a value."""
    tests = []
    for name in quasi:
        column = [row[all_names.index(name)] for row in source]
        longest = max((len(cell) for cell in column if cell is not None), default=0)
        rule, height = summary["hierarchies"][name]["origin"], summary["heights"][name]
        levels = range(height + 1) if summary["levels"] is None else [summary["levels"][name]]
        loose = summary["algorithm"].startswith("mondrian")
        tests.append(_test(rule, height, list(levels), longest, numbers.get(name, ""), loose=loose))
    return tests


def _test(
    rule: str, height: int, levels: list[int], longest: int, kind: str, *, loose: bool
) -> Callable[[Cell, Cell], bool]:
    def test(label: Cell, value: Cell) -> bool:
        if loose:  # how parts are labelled is tested where Mondrian is
            return label == value or label is None or len(label) > 0 or value == ""
        if 0 in levels and _same_number(kind, label, value):
            return True
        return any(_stands_for(rule, height, level, longest, label, value) for level in levels)

    return test


def _same_number(kind: str, label: Cell, value: Cell) -> bool:
    """Tell whether two texts are of one number of a type, as which JSON writes it."""
    if label is None or value is None or not kind.startswith(("DECIMAL", "FLOAT", "DOUBLE")):
        return False
    one, other = _number(label), _number(value)
    if one is None or other is None:
        return False
    return one == other or (kind == "FLOAT" and struct.pack("f", one) == struct.pack("f", other))


def _stands_for(rule: str, height: int, level: int, longest: int, label: Cell, value: Cell) -> bool:  # noqa: PLR0911 - a rule per return
    if level == 0:
        return label == value
    if level == height:
        return label == _ROOT
    if label is None:
        return False
    kind, _, rest = rule.partition(":")
    if value is None:
        return label == _ROOT
    if kind == "mask":
        side, _, counts = rest.partition(":")
        listed = [int(count) for count in counts.split(",")] if counts else list(range(1, longest))
        count = [number for number in listed if number < longest][level - 1]
        kept = longest - count
        if side == "left":
            return label == value[-kept:].rjust(longest, "*")[:longest]
        return label == value[:kept].ljust(longest, "*")
    if kind == "intervals":
        return _in_interval(rest, label, value)
    if kind == "round":
        number = _number(value)
        if number is None:
            return label == _ROOT
        digits = [int(each) for each in rest.split(",")]
        return (
            label != _ROOT and abs(Decimal(label) - number) <= sum(Decimal(10) ** each for each in digits[:level]) / 2
        )
    return _in_period(rest.split(",")[level - 1], label, value)


def _number(value: str) -> Decimal | None:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _in_interval(rest: str, label: str, value: str) -> bool:  # noqa: PLR0911 - a rule per return
    number = _number(value)
    settings = dict(part.split("=") for part in rest.split(":")[1:])
    if number is None or abs(number) >= Decimal(10) ** 28:
        return number is not None or label == _ROOT
    if label.startswith("<"):
        return label == f"<{settings['bottom']}" and number < Decimal(settings["bottom"])
    if label.startswith(">="):
        return label == f">={settings['top']}" and number >= Decimal(settings["top"])
    if "bottom" in settings and number < Decimal(settings["bottom"]):
        return False
    if "top" in settings and number >= Decimal(settings["top"]):
        return False
    if match := _INTERVAL.fullmatch(label):
        return Decimal(match[1]) <= number < Decimal(match[2])
    if match := _DASHED.fullmatch(label):
        return Decimal(match[1]) <= number <= Decimal(match[2])
    return False


def _in_period(unit: str, label: str, value: str) -> bool:
    if (match := _DATE.match(value)) is None:
        return label == _ROOT
    if label == _ROOT:
        return False
    text, month, day = match.groups()
    year = 1 - int(text) if "(BC)" in value else int(text)  # there is a year 0 in ISO 8601
    written = str(year) if year < 0 else text
    cycle = 2000 + year % 400  # after which the calendar repeats
    iso_year, week, _ = dt.date(cycle, int(month), int(day)).isocalendar()
    expected = {
        "day": f"{written}-{month}-{day}",
        "week": f"{iso_year - cycle + year}-W{week:02}",
        "month": f"{written}-{month}",
        "quarter": f"{written}-Q{(int(month) + 2) // 3}",
        "year": written,
        "decade": f"{year // 10 * 10}s",
    }
    return label == expected[unit]
