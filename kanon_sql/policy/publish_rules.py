"""``[publish]``: rules for kept columns, in addition to generalization. No privacy model relies on them.

    round:100            the nearest multiple of 100; halves are rounded away from zero
    top:90, bottom:18    90 and more become one text, ``90+``; 18 and less become ``<=18``
    bins:0,18,65         ``<0``, ``[0,18)``, ``[18,65)`` and ``>=65``
    microaggregate:5     the mean of a group of at least 5 rows with values close to each other
    shift-dates:365      moved by 1 to 365 days, forwards or backwards, the same for all dates of a person
    redact               e-mail addresses, phone numbers and the like inside a text become ``[e-mail]``, ``[phone]``
    hash                 the pseudonym of the value, as with ``--pseudonymize``

A column has one rule; only top and bottom combine. Top and bottom coding follow sdcMicro (``topBotCoding``) and the
manual of tau-ARGUS, but the replacement is a text and the threshold itself is coded too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

from kanon_sql.engine.base import resolve_columns
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.policy.roles import Roles

NUMBERS = frozenset({"integer", "decimal", "float"})
_FAMILIES = {
    **dict.fromkeys(("round", "top", "bottom", "bins", "microaggregate"), (NUMBERS, "numbers")),
    "shift-dates": (frozenset({"date", "timestamp"}), "dates"),
    "redact": (frozenset({"text"}), "texts"),
}
_NOT_SHIFTED = {
    "TIMESTAMP_NS": "whose nanoseconds would be lost",
    "TIMESTAMP WITH TIME ZONE": "whose days are not all of one length",
}
_EXAMPLES = {
    example.partition(":")[0]: example
    for example in (
        *("round:100", "top:90", "bottom:18", "bins:0,18,65", "microaggregate:5"),
        *("shift-dates:365", "redact", "hash"),
    )
}
KEYED = frozenset({"shift-dates", "hash"})
"""Rules that need the key of pseudonyms."""
PURPOSES = {
    "round": "hides exact values",
    "top": "hides how large the largest values are",
    "bottom": "hides how small the smallest values are",
    "bins": "hides exact values",
    "microaggregate": "hides exact values; groups are counted before rows are suppressed",
    "shift-dates": "hides dates until one of the person is known; the time between them stays",
    "redact": "hides what patterns find inside; names and addresses stay",
    "hash": "hides the value; rows of one value stay tied together",
}
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
_MOST_DAYS = 36_500


@dataclass(frozen=True)
class PublishRule:
    kind: str
    numbers: tuple[Decimal, ...] = ()

    @property
    def number(self) -> Decimal:
        return self.numbers[0]

    @property
    def text(self) -> str:
        """The rule as a policy writes it."""
        return ":".join([self.kind, *([",".join(map(as_written, self.numbers))] if self.numbers else [])])


@dataclass(frozen=True)
class RuledColumn:
    column: Column
    rules: tuple[PublishRule, ...]

    @property
    def kind(self) -> str:
        return self.rules[0].kind

    @property
    def decimals(self) -> int:
        """Decimal places of the numbers in the rules."""
        exponents = [int(number.normalize().as_tuple().exponent) for rule in self.rules for number in rule.numbers]
        return max(0, *(-exponent for exponent in exponents), 0)

    @property
    def is_keyed(self) -> bool:
        return self.kind in KEYED

    @property
    def text(self) -> str:
        return " and ".join(rule.text for rule in self.rules)


def as_written(number: Decimal) -> str:
    return f"{number:f}"


def parse_publish_rules(column: str, texts: Sequence[str]) -> tuple[PublishRule, ...]:
    """Parse the rules of a column. Raises an error for an invalid rule or a combination that is not allowed."""
    rules = tuple(_parsed(column, text) for text in texts)
    kinds = [rule.kind for rule in rules]
    if not rules:
        raise UsageError(f"[publish] has no rule for column {column!r}.")
    if len(rules) > 1 and sorted(kinds) != ["bottom", "top"]:
        raise UsageError(f"Column {column!r} has {' and '.join(kinds)}: only top and bottom go together, each once.")
    if len(rules) > 1:
        top, bottom = (next(rule.number for rule in rules if rule.kind == kind) for kind in ("top", "bottom"))
        if bottom >= top:
            raise UsageError(f"Column {column!r}: bottom:{bottom} must be below top:{top}.")
    return rules


def _parsed(column: str, text: str) -> PublishRule:
    kind, _, rest = text.strip().partition(":")
    example = _EXAMPLES.get(kind)
    if example is None:
        raise UsageError(
            f"There is no rule {kind!r} to publish column {column!r} by. There is: {', '.join(_EXAMPLES.values())}."
        )
    parts = [part.strip() for part in rest.split(",")] if ":" in text else []
    rule = PublishRule(kind, tuple(Decimal(part) for part in parts if _NUMBER.fullmatch(part)))
    if len(rule.numbers) != len(parts) or not _is_meant(rule):
        raise UsageError(f"{text!r}, for column {column!r}, is no rule: it is written as in {example}. {_WANTED[kind]}")
    return rule


def _is_meant(rule: PublishRule) -> bool:
    numbers = rule.numbers
    if rule.kind in {"redact", "hash"}:
        return not numbers
    if rule.kind == "bins":
        return bool(numbers) and all(one < other for one, other in pairwise(numbers))
    if len(numbers) != 1:
        return False
    whole = numbers[0] == numbers[0].to_integral_value() and "." not in as_written(numbers[0])
    return {
        "round": numbers[0] > 0,
        "microaggregate": whole and numbers[0] > 1,
        "shift-dates": whole and 0 < numbers[0] <= _MOST_DAYS,
    }.get(rule.kind, True)


_WANTED = {
    "round": "The base is a number above 0.",
    **dict.fromkeys(("top", "bottom"), "The threshold is a number."),
    "bins": "The bounds are numbers, each larger than the one before.",
    "microaggregate": "The size of groups is a whole number, 2 or more.",
    "shift-dates": f"The days are a whole number, 1 to {_MOST_DAYS}.",
    **dict.fromkeys(("redact", "hash"), "It has no settings."),
}


def ruled_columns(
    publish: Mapping[str, Sequence[str]], roles: Roles, columns: Sequence[Column], table: str
) -> tuple[RuledColumn, ...]:
    """Return the columns with rules, in table order. Raises an error if a rule does not suit its column."""
    found: dict[str, RuledColumn] = {}
    for name, texts in publish.items():
        (column,) = resolve_columns([name], columns, table)
        if column.name in found:
            raise UsageError(f"[publish] names column {column.name!r} twice.")
        found[column.name] = ruled = RuledColumn(column, parse_publish_rules(name, texts))
        _require_kept(ruled, roles)
        _require_type(ruled)
    shifted = [ruled for ruled in found.values() if ruled.kind == "shift-dates"]
    if shifted and roles.entity is None:
        raise UsageError(
            f"shift-dates, for column {shifted[0].column.name!r}, moves all dates of a person by the same days: say "
            "which column names the person (--entity)."
        )
    if len({ruled.rules for ruled in shifted}) > 1:
        raise UsageError(
            f"shift-dates has different numbers of days for {' and '.join(repr(one.column.name) for one in shifted)}: "
            "the dates of a person move by one number of days. Give the same."
        )
    return tuple(found[column.name] for column in columns if column.name in found)


def rules_that_help(column: Column) -> str | None:
    """Return the rules that could publish nearly unique values of a column; None if there are none."""
    if column.family in NUMBERS:
        return "round or microaggregate"
    return {"date": "shift-dates", "timestamp": "shift-dates", "text": "redact or hash"}.get(column.family)


def _require_kept(ruled: RuledColumn, roles: Roles) -> None:
    column = ruled.column
    if column in roles.insensitive:
        return
    start = f"Column {column.name!r} cannot be published by {ruled.text}: it is "
    if column in roles.quasi_identifiers:
        why = "a quasi-identifier, which forms the classes. Give it a hierarchy (--hierarchy) instead"
    elif column in roles.sensitive:
        why = "sensitive, and privacy models count its values as they are. Change them in a view, and anonymize that"
    elif column in roles.pseudonymized:
        why = "published as pseudonyms. Leave one of the two out"
    elif column in roles.identifying:
        why = "identifying, and never published. Leave the rule out, or give pseudonyms (--pseudonymize)"
    else:
        why = "dropped. Leave the rule out, or keep the column (--rest keep, or insensitive)"
    raise UsageError(f"{start}{why}.")


def _require_type(ruled: RuledColumn) -> None:
    column = ruled.column
    families, wanted = _FAMILIES.get(ruled.kind, (frozenset({column.family}), ""))
    kind = column.kind
    if column.family not in families or column.type == "UHUGEINT":
        raise UsageError(f"Column {column.name!r} is of type {kind}, and {ruled.kind} is for {wanted}.")
    if ruled.kind == "shift-dates" and column.type in _NOT_SHIFTED:
        raise UsageError(
            f"Column {column.name!r} is of type {kind}, {_NOT_SHIFTED[column.type]}: cast it to TIMESTAMP in a view."
        )
    if ruled.kind == "round" and column.family != "float" and ruled.decimals > column.decimals:
        raise UsageError(
            f"Column {column.name!r} is of type {kind}, which cannot hold the multiples of "
            f"{as_written(ruled.rules[0].number)}: give a base of {column.decimals} decimals or fewer."
        )
