"""Rules for columns that are kept, on each engine: they are what their definitions say, and their SQL is approved."""

from __future__ import annotations

import datetime as dt
import math
import random
import re
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from engines import PLACES, Place
from rows import released_records, released_rows
from test_sql import require_approved

import kanon_sql as kanon
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.release import published_rules
from kanon_sql.release.microaggregation import group_starts
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

KINDS = {"INTEGER": "i", "DECIMAL(9,2)": "d", "DOUBLE": "f", "BIGINT": "b"}
RULES: dict[str, list[tuple[str, ...]]] = {
    "INTEGER": [("round:7",), ("round:50",), ("top:90", "bottom:-25"), ("bins:-25,0.5,90",), ("microaggregate:5",)],
    "DECIMAL(9,2)": [("round:0.1",), ("round:50",), ("top:90.5",), ("bins:0,18,65",), ("microaggregate:3",)],
    "DOUBLE": [("round:0.1",), ("round:50",), ("bottom:18",), ("bins:-25.5,90",), ("microaggregate:4",)],
    "BIGINT": [("round:10",), ("top:999999999999999",), ("bins:0,999999999999999",)],
}
EXTREMES: dict[str, list[Any]] = {
    "INTEGER": [2_147_483_600, -2_147_483_600, 0],
    "DECIMAL(9,2)": [Decimal("9999940.40"), Decimal("-9999940.40"), Decimal("0.05"), Decimal("-0.05")],
    "DOUBLE": [0.05, -0.25, 0.49999999999999994, -25.0, 2.5e15, -1e150, -0.0, 25.0, 75.0],
    "BIGINT": [2**62 + 1, -(2**62), 2**63 - 8, 5, -5],
}


def values(kind: str) -> list[Any]:
    """Return 40 numbers: random ones, with NULLs, ties and extremes."""
    drawn = random.Random(kind)  # noqa: S311 - no secret

    def number() -> Any:
        whole = drawn.choice([drawn.randint(-300, 300), drawn.randint(-3, 3) * 50, 0, 90, 18, -25, 25])
        if kind in {"INTEGER", "BIGINT"}:
            return whole
        return Decimal(whole) + Decimal(drawn.randint(-99, 99)) / 100 if kind.startswith("DEC") else whole / 8

    ties = [number() for _ in range(3)]
    random_ones = [drawn.choice([None, number(), drawn.choice(ties)]) for _ in range(40 - len(EXTREMES[kind]))]
    return [*EXTREMES[kind], *random_ones]


COLUMNS = {
    f"{letter}{place}": (kind, rules) for kind, letter in KINDS.items() for place, rules in enumerate(RULES[kind])
}


def written(value: Any) -> str:
    """Return a number as DuckDB writes it."""
    return f"{value:.2f}" if isinstance(value, Decimal) else str(value if isinstance(value, int) else value + 0.0)


def by_rule(rules: Sequence[str], value: Any, column: Sequence[Any]) -> Any:  # noqa: PLR0911 - one for each rule
    """Return what a rule makes of a value, by its definition."""
    if value is None:
        return None
    kind, _, rest = rules[0].partition(":")
    number = Decimal(value)
    if kind == "round":
        base = Decimal(rest)
        if isinstance(value, float) and abs(value) > 1e20:
            return value
        return type(value)((number / base).quantize(Decimal(1), ROUND_HALF_UP) * base)
    if kind == "bins":
        bounds = rest.split(",")
        below = [text for text in bounds if Decimal(text) <= number]
        above = [text for text in bounds if Decimal(text) > number]
        return f"<{bounds[0]}" if not below else f">={bounds[-1]}" if not above else f"[{below[-1]},{above[0]})"
    if kind == "microaggregate":
        known = sorted((one for one in column if one is not None), key=Decimal)
        counted = [(one, known.count(one)) for one in dict.fromkeys(known)]
        starts = [*group_starts(counted, int(rest)), len(counted)]
        groups = [counted[a:b] for a, b in pairwise(starts)]
        (group,) = [group for group in groups if any(one == value for one, _ in group)]
        return float(sum(Decimal(one) * n for one, n in group) / sum(n for _, n in group))
    for rule in rules:
        kind, _, rest = rule.partition(":")
        if kind == "top" and number >= Decimal(rest):
            return f"{rest}+"
        if kind == "bottom" and number <= Decimal(rest):
            return f"<={rest}"
    return written(value)


PUBLISH = {column: list(rules) for column, (_, rules) in COLUMNS.items()}
ROLES: dict[str, Any] = {"quasi_identifiers": ["g"], "rest": "keep", "seed": 1}


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An engine with a table of all columns."""
    with PLACES[request.param](request, tmp_path) as found:
        table = [values(kind) for kind, _ in COLUMNS.values()]
        rows = [(place, 1, *row) for place, row in enumerate(zip(*table, strict=True))]
        found.load(
            "t", {"place": "INTEGER", "g": "INTEGER"} | {name: kind for name, (kind, _) in COLUMNS.items()}, rows
        )
        yield found


def require_as_defined(rows: Sequence[Sequence[Any]]) -> None:
    """Raise unless rows of ``place``, ``g`` and all columns are what their rules make."""
    assert len(rows) == 40
    for number, (name, (kind, rules)) in enumerate(COLUMNS.items(), start=2):
        column = values(kind)
        for row in rows:
            found, expected = row[number], by_rule(rules, column[row[0]], column)
            close = isinstance(expected, float) and found is not None and math.isclose(found, expected, rel_tol=1e-15)
            assert found == expected or close, (name, rules, column[row[0]], found, expected)
            assert not isinstance(found, float) or found != 0 or math.copysign(1, found) == 1, "zero has one form"


REFUSED = [
    ({"when": "shift-dates:5"}, "shift-dates:5 of column 'when'.*key of pseudonyms would be in statements"),
    ({"note": "hash"}, "hash of column 'note'.*key of pseudonyms would be in statements"),
    ({"note": "redact"}, "redact of column 'note'.*regular expressions"),
    ({"n": "round:10"}, "rounds 1 values of column 'n' to numbers that its type"),
    ({"n": "microaggregate:9"}, "has values in 6 rows, and microaggregate:9"),
    ({"long": "round:1"}, "sums of numbers such as those of column 'long', DECIMAL.38,9., lose decimals"),
]


def require_refused(place: Place) -> None:
    """Require that what warehouses cannot do is refused; on Spark, what it alone cannot: the rest is above them."""
    types = {
        "who": "VARCHAR",
        "g": "INTEGER",
        "when": "DATE",
        "note": "VARCHAR",
        "n": "SMALLINT",
        "long": "DECIMAL(38,9)",
    }
    place.load("other", types, [(f"p{i}", 1, dt.date(2024, 1, 1), "a", 32767 if i == 0 else 5, 1) for i in range(6)])
    for rule, said in REFUSED[:-1] if place.name == "postgres" else REFUSED[-1:]:
        with pytest.raises(UsageError) as caught:
            kanon.anonymize(place.source, "other", publish=rule, entity="who", k=2, **ROLES)
        assert re.search(said, str(caught.value)), str(caught.value)


@pytest.mark.thorough
def test_each_rule_is_its_definition(place: Place, request: pytest.FixtureRequest) -> None:
    """In a frame and in a table; each release makes its view anew, and leaves nothing behind.

    The statements for DuckDB are approved. To approve a change: pytest --approve, and read the diff.
    """
    before = place.tables()
    with kanon.anonymize(place.source, "t", publish=PUBLISH, insensitive=["place"], k=2, **ROLES) as release:
        require_as_defined(released_rows(release))
        release.to_table("released", ignore_ledger=True)
        assert "MICROAGGREGATED" in release.statements_run().upper()
        if place.name != "duckdb":
            with pytest.raises(UsageError, match="A script of prepared columns or publish rules is not for"):
                release.sql()
        rules = release.publication.rules
        assert rules is not None
        text = script([rules.statements()[-1]], place.name) + "\n"
    require_as_defined(place.rows("released"))
    assert {name for name in place.tables() - before if not name.startswith("kanon.")} == {"released"}
    if place.name != "duckdb":
        require_refused(place)
    else:
        require_approved(text, "rules.duckdb.sql", request)


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["duckdb", "postgres"], indirect=True)
def test_one_value_and_none(place: Place) -> None:
    types = {
        "place": "INTEGER",
        "g": "INTEGER",
        **{f"v{i}": "DOUBLE" for i in (1, 2)},
        "n1": "INTEGER",
        "n2": "INTEGER",
    }
    place.load("few", types, [(i, 1, 7.5, 7.5, None, None) for i in range(6)])
    rules = {"v1": "round:5", "n1": "top:3", "v2": "microaggregate:6", "n2": "bins:5"}
    with kanon.anonymize(place.source, "few", publish=rules, insensitive=["place"], k=2, **ROLES) as release:
        made = {tuple(row[name] for name in rules) for row in released_records(release)}
        assert made == {(10.0, None, 7.5, None)}


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["duckdb", "postgres"], indirect=True)
def test_what_a_rule_does_not_make_is_seen(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the check of a release that was made wrongly, and by that of a table."""
    before = place.tables()
    publish = {"i0": ["round:7"], "f3": ["bins:-25.5,90"]}
    roles = ROLES | {
        "insensitive": ["place", *(column for column in COLUMNS if column not in publish)]
    }  # they are copies
    with kanon.anonymize(place.source, "t", publish=publish, k=2, **roles) as release:
        monkeypatch.setattr(published_rules, "_expression", lambda ruled, _: sql.column(ruled.column.name, "source"))
        with pytest.raises(VerificationError, match="values of column 'i0' are none that round:7 makes"):
            release.to_table("released", ignore_ledger=True)
    assert place.tables() == before
    policy = kanon.Policy(columns=release.policy.columns, models=release.policy.models, publish=publish)
    found = kanon.check(place.source, "t", policy=policy)
    assert set(found.not_by_rule) == {"i0", "f3"}
