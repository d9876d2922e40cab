"""Hierarchies that kanon.toml builds in one line: a table for each, which becomes the text of a rule.

age = { intervals = [5, 10, 20], top = 90 }     # also bottom, origin
zip = { mask = "right", counts = [1, 2, 4] }
postcode = { cut = [2, 3], letters = true }
birth = { date = ["month", "year"] }
income = { round = [2, 3] }
cost = { steps = true, from = 100 }
height = { quantiles = [16, 8, 4] }
code = { prefixes = [3, 1] }                    # or true: as the data ask for
sex = { flat = true }
country = { ready = "country" }
job = { file = "jobs.csv" }
area = { file = "areas.csv", prefix = 3 }       # or [3, 2]; hide = true: the prefix itself is no level
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.spec import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Table = dict[str, Any]

_SETTINGS: dict[str, tuple[str, ...]] = {
    "intervals": ("bottom", "top", "origin"),
    "mask": ("counts",),
    "cut": ("letters",),
    "date": (),
    "round": (),
    "steps": ("from",),
    "quantiles": (),
    "prefixes": (),
    "flat": (),
    "ready": (),
    "file": ("prefix", "hide"),
}
"""For each kind of hierarchy, what may be said besides."""


def rule_text(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    """Return the text of the rule that a setting stands for: a text as it is, or a table.

    Args:
        value: the setting.
        where: what messages call it.

    Raises:
        UsageError: it is neither, names no kind or two, or has a setting that its kind does not have.
    """
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise UsageError(f"{where} must be a text, or a table such as {{ intervals = [5, 10] }}.")
    kinds = [kind for kind in _SETTINGS if kind in value]
    if len(kinds) != 1:
        said = " and ".join(kinds) or "nothing of it"
        raise UsageError(f"{where} must say one of {', '.join(_SETTINGS)}; it says {said}.")
    (kind,) = kinds
    if unknown := [name for name in value if name not in {kind, *_SETTINGS[kind]}]:
        known = f" Besides {kind} there may be {', '.join(_SETTINGS[kind])}." if _SETTINGS[kind] else ""
        raise UsageError(f"{where} has no setting {', '.join(unknown)}.{known}")
    text = _WRITE[kind](value, where)
    if kind != "file":  # a file need not be there yet
        try:
            parse_rule(text)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
    return text


def _intervals(table: Table, where: str) -> str:
    settings = [
        f":{name}={_number(table[name], f'{where}.{name}')}" for name in _SETTINGS["intervals"] if name in table
    ]
    return f"intervals:{_numbers(table['intervals'], f'{where}.intervals')}{''.join(settings)}"


def _mask(table: Table, where: str) -> str:
    side = table["mask"]
    if side not in {"right", "left"}:
        raise UsageError(f'{where}.mask must be "right" or "left".')
    counts = f":{_numbers(table['counts'], f'{where}.counts')}" if "counts" in table else ""
    return f"mask:{side}{counts}"


def _cut(table: Table, where: str) -> str:
    if "letters" in table:
        _require_true(table["letters"], f"{where}.letters")
    return f"cut:{_numbers(table['cut'], f'{where}.cut')}{',letters' if 'letters' in table else ''}"


def _date(table: Table, where: str) -> str:
    units = table["date"] if isinstance(table["date"], list) else [table["date"]]
    return f"date:{','.join(_text(unit, f'{where}.date') for unit in units)}"


def _round(table: Table, where: str) -> str:
    return f"round:{_numbers(table['round'], f'{where}.round')}"


def _steps(table: Table, where: str) -> str:
    _require_true(table["steps"], f"{where}.steps")
    return f"steps:from={_number(table['from'], f'{where}.from')}" if "from" in table else "steps"


def _quantiles(table: Table, where: str) -> str:
    return f"quantiles:{_numbers(table['quantiles'], f'{where}.quantiles')}"


def _prefixes(table: Table, where: str) -> str:
    if table["prefixes"] is True:
        return "prefixes"
    return f"prefixes:{_numbers(table['prefixes'], f'{where}.prefixes')}"


def _flat(table: Table, where: str) -> str:
    _require_true(table["flat"], f"{where}.flat")
    return "flat"


def _ready(table: Table, where: str) -> str:
    return f"ready:{_text(table['ready'], f'{where}.ready')}"


def _file(table: Table, where: str) -> str:
    path = _text(table["file"], f"{where}.file")
    path = path if "/" in path or "\\" in path else f"./{path}"  # a file may be called like a rule
    if "hide" in table:
        _require_true(table["hide"], f"{where}.hide")
    if "prefix" in table:
        lengths = _numbers(table["prefix"], f"{where}.prefix")
        return f"prefix:{lengths}{':hide' if 'hide' in table else ''}:{path}"
    if "hide" in table:
        raise UsageError(f"{where}.hide is for prefixes: add prefix, or leave it out.")
    return path


_WRITE: Mapping[str, Callable[[Table, str], str]] = {
    "intervals": _intervals,
    "mask": _mask,
    "cut": _cut,
    "date": _date,
    "round": _round,
    "steps": _steps,
    "quantiles": _quantiles,
    "prefixes": _prefixes,
    "flat": _flat,
    "ready": _ready,
    "file": _file,
}


def _numbers(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    listed = value if isinstance(value, list) else [value]
    return ",".join(_number(number, where) for number in listed)


def _number(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{where} must be a number, or where there are levels a list of numbers.")
    return str(value)  # the shortest text that means this number: 0.1 is 0.1


def _text(value: Any, where: str) -> str:  # noqa: ANN401 - what a TOML file may hold
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where} must be a text.")
    return value


def _require_true(value: Any, where: str) -> None:  # noqa: ANN401 - what a TOML file may hold
    if value is not True:
        raise UsageError(f"{where} must be true; leave it out otherwise.")
