"""[prepare] on tables in PostgreSQL and Spark: the same values as plain Python says, and as DuckDB reads them."""

from __future__ import annotations

import datetime as dt
import random
import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from engines import PLACES, Place
from needs import needs
from rows import released_records
from sqlglot import exp
from test_preparing import grouped
from test_sql import require_approved

import kanon_sql as kanon
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.engine.sources.preparing import rules_of, with_prepared
from kanon_sql.errors import UsageError
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from conftest import Ended

ROWS = 60
DRAWN = random.Random("texts")  # noqa: S311 - no secret
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?", re.ASCII)


def filled(values: Sequence[Any]) -> list[Any]:
    """Return values, and NULLs up to the number of rows."""
    assert len(values) <= ROWS
    return [*values, *[None] * (ROWS - len(values))]


def drawn(alphabet: str, most: int) -> list[str]:
    return ["".join(DRAWN.choices(alphabet, k=DRAWN.randint(0, most))) for _ in range(ROWS - 1)]


def amounts() -> list[tuple[str, float | None]]:
    """Return texts of amounts with a decimal comma, each with its number."""
    found: list[tuple[str, float | None]] = []
    for place in range(30):
        whole, cents = DRAWN.choice([DRAWN.randint(0, 10**9), DRAWN.randint(0, 999)]), DRAWN.randint(0, 99)
        sign, thousands = DRAWN.choice(["", "-", "+"]), DRAWN.choice(["", ".", " ", "\u00a0", "'", "\u2019"])
        form = ["{}", "{} €", "€{}", "CHF {}", "{}元", " {} ", "￥{}", "{} zł", "SFr. {}", "{} kr."][place % 10]
        text = form.format(f"{sign}{grouped(whole, thousands)},{cents:02d}")
        found.append((text, float(f"{'-' if sign == '-' else ''}{whole}.{cents:02d}")))
    wrong = [
        "12a",
        "1,23,4",
        "1.23",
        "12.3456",
        "+-5",
        "1 23",
        "€",
        ".",
        "nan",
        "inf",
        "1e5",
        "0x10",
        "1,5\n\u0085",
        "\uff11,5",
    ]
    alike = [
        ("5,", 5.0),
        ("\u2003 7,0\u3000", 7.0),
        ("0," + "0" * 400 + "1", 0.0),
        ("-0,0", 0.0),
        ("1" * 15, float("1" * 15)),
    ]
    return [*found, *((text, None) for text in (*wrong, "1" * 16, " ", "")), *alike]


AMOUNTS = amounts()
WHOLE = [
    "7",
    " 7 ",
    "-3",
    "1.5",
    "2.0",
    "x",
    "",
    "007",
    "9" * 19,
    "9223372036854775807",
    "-9223372036854775808",
    "5.",
    "+4",
]
WHOLE += [
    "9223372036854775808",
    "0" * 60 + "8",
    "1e3",
    "0.00",
    "-0",
    "128",
    "-129",
    "12345678.905",
    "12345678.90",
    "1_0",
    ".5",
]
WHOLE += ["1" * 40, "9999999.99", "10000000.00", "-9999999.99", "7\n", "7\u00a0", "3.14", "3.10", "0.25"]


def as_number(text: str, decimals: int, least: Decimal, most: Decimal) -> Decimal | None:
    """Return the number that a text is, if it has no more decimals and is in a range."""
    stripped = text.strip()
    if NUMBER.fullmatch(stripped) is None:
        return None
    number = Decimal(stripped)
    return number if (Fraction(number) * 10**decimals).denominator == 1 and least <= number <= most else None


def days() -> list[tuple[str, Any]]:
    """Return texts of days, each with its date."""
    found: list[tuple[str, Any]] = []
    for _ in range(20):
        day = dt.date(1900, 1, 1) + dt.timedelta(days=DRAWN.randint(0, 60_000))
        form = DRAWN.choice(["{0.day}.{0.month}.{0.year}", "{0:%d.%m.%Y}", " {0.day}.{0:%m}.{0.year}  "])
        found.append((form.format(day), day))
    wrong = [
        "31.02.1990",
        "29.02.1900",
        "4.3.90",
        "1990-03-04",
        "4.3.1990 x",
        "0.1.1990",
        "1.0.1990",
        "1.13.1990",
        "31.04.2000",
    ]
    wrong += [
        "4. 3.1990",
        "004.3.1990",
        "4.3.0990",
        "4.3.19901",
        "4,3,1990",
        "",
        "infinity",
        "\uff14.3.1990",
        "4.3.1990\n.",
        "-4.3.1990",
    ]
    more = [
        ("29.02.2000", dt.date(2000, 2, 29)),
        ("29.2.2024", dt.date(2024, 2, 29)),
        ("31.12.9999", dt.date(9999, 12, 31)),
    ]
    return [*found, *((text, None) for text in wrong), *more]


DAYS = days()
MOMENTS = {
    "4.3.1990 7:05:00": dt.datetime(1990, 3, 4, 7, 5),
    "04.03.1990 23:59:59": dt.datetime(1990, 3, 4, 23, 59, 59),
    "4.3.1990  \t7:5:9 ": dt.datetime(1990, 3, 4, 7, 5, 9),
    **dict.fromkeys(
        ["4.3.1990 24:00:00", "4.3.1990 7:60:00", "4.3.1990 7:5:60", "4.3.1990 7:5", "31.2.1990 7:5:9", "x"]
    ),
}
TOGETHER = {"19900304": dt.date(1990, 3, 4), "1990111": dt.date(1990, 11, 1), "199011": None, "1990a304": None}
CHINESE = {"1990年3月4日": dt.date(1990, 3, 4), "2024年02月29日": dt.date(2024, 2, 29), "2023年02月29日": None}
SIGNS = {
    "[1990] (3)|04+": dt.date(1990, 3, 4),
    "[1990]\t \n(03)|4+": dt.date(1990, 3, 4),
    "[1990](3)|4+": None,
    "1990 3": None,
}
SHORTS = {32767.0: 32767, -32768.0: -32768, 32767.9: None, -32768.4: None, 40000.0: None}
CODES = ["-9", "NA", "na", "a, b", " NA", "", "9"]
TRIMMED = drawn("aÄß \t\u00a0\u3000\u2003\nBZé.$", 6)
DOUBLES = [
    0.0,
    -3.0,
    1.5,
    1e300,
    2.0**63,
    -(2.0**63),
    9007199254740993.0,
    0.1,
    1e16,
    1e-5,
    float("inf"),
    float("nan"),
    127.0,
]
BIGINTS = [0, 1, -1, 127, 128, -128, -129, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**62]
PRICES = [Decimal("1.00"), Decimal("1.50"), Decimal("-7.00"), Decimal("9999999.00"), Decimal("0.10")]

BIG = (Decimal(-(2**63)), Decimal(2**63 - 1))
COLUMNS: dict[str, tuple[str, list[Any], list[str], list[Any]]] = {
    # By name: the type, the values, the rules, and what these make.
    "trimmed": ("VARCHAR", TRIMMED, ["trim"], [text.strip() for text in TRIMMED]),
    "codes": ("VARCHAR", CODES, ['null:-9, NA,"a, b"'], [None if x in {"-9", "NA", "a, b"} else x for x in CODES]),
    "numbers": ("DOUBLE", [-9.0, 1.5, -9.5], ["null:-9,NA"], [None, 1.5, -9.5]),
    "wholes": ("BIGINT", [-9, 0, 2], ["null:-9,1.5"], [None, 0, 2]),
    "comma": ("VARCHAR", [x for x, _ in AMOUNTS], ["decimal:, or null"], [x for _, x in AMOUNTS]),
    "in order": ("VARCHAR", [" K. A. ", " 1.234,5 €"], ["trim", "null:K. A.", "decimal:,"], [None, 1234.5]),
    "as_big": ("VARCHAR", WHOLE, ["cast:BIGINT or null"], [as_number(x, 0, *BIG) for x in WHOLE]),
    "as_tiny": (
        "VARCHAR",
        WHOLE,
        ["cast:SMALLINT or null"],
        [as_number(x, 0, Decimal(-32768), Decimal(32767)) for x in WHOLE],
    ),
    "as_price": (
        "VARCHAR",
        WHOLE,
        ["cast:DECIMAL(9,2) or null"],
        [as_number(x, 2, Decimal("-9999999.99"), Decimal("9999999.99")) for x in WHOLE],
    ),
    "as_share": (
        "VARCHAR",
        WHOLE,
        ["cast:DECIMAL(2,2) or null"],
        [as_number(x, 2, Decimal("-0.99"), Decimal("0.99")) for x in WHOLE],
    ),
    "day": ("VARCHAR", [x for x, _ in DAYS], ["date:%d.%m.%Y or null"], [x for _, x in DAYS]),
    "moment": ("VARCHAR", [*MOMENTS], ["date:%d.%m.%Y %H:%M:%S or null"], [*MOMENTS.values()]),
    "together": ("VARCHAR", [*TOGETHER], ["date:%Y%m%d or null"], [*TOGETHER.values()]),
    "chinese": ("VARCHAR", [*CHINESE], ["date:%Y年%m月%d日 or null"], [*CHINESE.values()]),
    "signs": ("VARCHAR", [*SIGNS], ["date:[%Y] (%m)|%d+ or null"], [*SIGNS.values()]),
    "short": ("DOUBLE", [*SHORTS], ["cast:SMALLINT or null"], [*SHORTS.values()]),
    "bit": ("BOOLEAN", [True, False], ["cast:SMALLINT"], [1, 0]),
    "whole": (
        "DOUBLE",
        DOUBLES,
        ["cast:BIGINT or null"],
        [int(x) if -(2.0**63) <= x < 2.0**63 and x % 1 == 0 else None for x in DOUBLES],
    ),
    "text": ("DOUBLE", [0.1, 1e16, 1e-5, -3.0], ["cast:VARCHAR"], ["0.1", "1e+16", "1e-05", "-3.0"]),
    "small": ("BIGINT", BIGINTS, ["cast:SMALLINT or null"], [x if abs(x) < 2**15 else None for x in BIGINTS]),
    "floating": (
        "BIGINT",
        BIGINTS,
        ["cast:DOUBLE or null"],
        [float(x) if int(float(x)) == x else None for x in BIGINTS],
    ),
    "truth": ("BIGINT", BIGINTS, ["cast:BOOLEAN or null"], [bool(x) if x in {0, 1} else None for x in BIGINTS]),
    "number": ("BOOLEAN", [True, False], ["cast:INTEGER"], [1, 0]),
    "price": ("DECIMAL(9,2)", PRICES, ["cast:INTEGER or null"], [int(x) if x == int(x) else None for x in PRICES]),
    "free": ("DECIMAL(9,2)", PRICES, ["null:-7"], [None if x == -7 else x for x in PRICES]),
    "written": ("DATE", [dt.date(2024, 3, 1)], ["cast:VARCHAR"], ["2024-03-01"]),
}
RULES = {name: rules for name, (_, _, rules, _) in COLUMNS.items()}


def load(place: Place) -> None:
    rows = zip(*(filled(values) for _, values, _, _ in COLUMNS.values()), strict=True)
    types = {"place": "INTEGER", **{name: kind for name, (kind, *_) in COLUMNS.items()}}
    place.load("t", types, [(number, *row) for number, row in enumerate(rows)])


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An engine with a table of all columns."""
    needs({"postgres": "psycopg", "spark": "pyspark"}.get(request.param, "duckdb"))
    with PLACES[request.param](request, tmp_path) as found:
        load(found)
        yield found


REFUSED = [
    ({"codes": "lower"}, "which letters are capitals"),
    ({"written": "null:2024-03-01"}, "compared there with texts and numbers alone"),
    ({"day": "date:%d.%m.%y"}, "it has those with %d, %m, %Y"),
    ({"day": "date:%d.%m.%Y %d"}, "it has those with %d, %m, %Y"),
    ({"day": "date:%Y-%m"}, "it has those with %d, %m, %Y"),
    ({"codes": "cast:DOUBLE"}, "decimal:. makes a DOUBLE"),
    ({"day": "cast:DATE"}, "date:%Y-%m-%d a date"),
    ({"codes": "cast:BOOLEAN"}, "VARCHAR is not cast to BOOLEAN there"),
    ({"whole": "cast:DECIMAL(18,2)"}, "DOUBLE is not cast to DECIMAL(18, 2) there"),
    ({"small": "cast:DECIMAL(38,30)"}, "BIGINT is not cast to DECIMAL(38, 30) there"),
    ({"written": "cast:TIMESTAMP"}, "DATE is not cast to TIMESTAMP there"),
    ({"new": "upper(codes)"}, "A new column (new) by an expression of DuckDB's SQL is not for a table in"),
    ({"comma": "decimal:,"}, "cannot be read by 'decimal:,'"),
]


def require_refused(place: Place) -> None:
    """Require that what warehouses cannot compute alike is refused."""
    engine = {"postgres": "PostgreSQL", "spark": "Spark"}[place.name]
    for rules, said in REFUSED:
        source = open_source(place.source, "t")
        with pytest.raises(UsageError) as caught:
            with_prepared(source, rules_of(rules))
        source.engine.close()
        assert said in str(caught.value)
        assert engine in str(caught.value) or "comma" in rules


@pytest.mark.thorough
def test_each_rule_reads_what_its_definition_says(place: Place, request: pytest.FixtureRequest) -> None:
    """And its SQL is approved: pytest --approve, and read the diff. What cannot be computed there is refused."""
    before = place.tables()
    if place.name != "duckdb":
        require_refused(place)
    source = with_prepared(open_source(place.source, "t"), rules_of(RULES))
    try:
        rows = sorted(source.engine.rows(exp.select("*").from_(source.relation.copy()), "all"))
        assert source.preparation is not None
        text = script([source.preparation.statement], place.name) + "\n"
    finally:
        source.engine.close()
    assert len(rows) == ROWS
    for number, (name, (_, values, rules, expected)) in enumerate(COLUMNS.items(), start=1):
        found = [row[number] for row in rows]
        for value, one, other in zip(filled(values), found, filled(expected), strict=True):
            assert one == other, (name, rules, value, one, other)
    assert place.tables() == before
    if place.name == "duckdb":  # of the others the values above are enough
        require_approved(text, "prepare.duckdb.sql", request)


POLICY = """
[prepare]
comma = "decimal:, or null"
day = "date:%d.%m.%Y or null"
codes = ["trim", "null:-9"]

[columns]
quasi_identifiers = ["comma", "day"]
insensitive = ["codes", "small"]
rest = "drop"

[hierarchies]
comma = "intervals:1000000000"
day = "date:year"

[publish]
small = "bins:0,100"

[privacy]
k = 2

[search]
max_suppressed = 1.0

[release]
seed = 1
"""


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_one_job_is_the_same_everywhere(
    place: Place, request: pytest.FixtureRequest, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    """By the command line: to a table and to a file; a second release, measured and checked; nothing is left behind."""
    (in_tmp / "kanon.toml").write_text(POLICY, encoding="utf-8")
    (in_tmp / "reference").mkdir()
    with PLACES["duckdb"](request, in_tmp / "reference") as reference:
        load(reference)
        ended = kanon("anonymize", reference.typed, "t", "--policy", "kanon.toml", "--out", "a.csv")
    assert ended.code == 0, ended.err
    job = ("anonymize", place.typed, "t", "--policy", "kanon.toml")
    ended = kanon(*job, "--out", "b.csv")
    assert ended.code == 0, ended.err
    assert sorted((in_tmp / "a.csv").read_text().splitlines()) == sorted((in_tmp / "b.csv").read_text().splitlines())
    before = place.tables()
    ended = kanon(*job, "--into", "released", "--ignore-ledger")
    assert ended.code == 0, ended.err
    assert {name for name in place.tables() - before if not name.startswith("kanon.")} == {"released"}
    named = ("released", "--policy", "kanon.toml", "--original", place.typed, "--original-table", "t")
    assert kanon("measure", place.typed, *named).code == 0
    assert kanon("check", place.typed, "released", "--policy", "kanon.toml").code == 0
    refused = kanon(*job, "--sql", "--dialect", "postgres")
    assert refused.code == 2
    assert "A script of prepared columns or publish rules is not for" in refused.err


@pytest.mark.thorough
def test_a_connection_of_its_owner_gets_back_what_it_had(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A table that is called as the view is not read in its place, and no view is left."""
    psycopg = needs("psycopg")
    with PLACES["postgres"](request, tmp_path) as found, psycopg.connect(found.source, autocommit=True) as connection:
        found.load("t", {"g": "INTEGER", "x": "VARCHAR"}, [(1, f" {place} ") for place in range(6)])
        for name in ("kanon_prepared", "kanon_ruled"):
            found.load(name, {"g": "INTEGER", "x": "VARCHAR"}, [(7, "wrong")])
        settings: dict[str, Any] = {"quasi_identifiers": ["g"], "insensitive": ["x"], "k": 2}
        for _ in range(2):
            with kanon.anonymize(
                connection, "t", **settings, prepare={"x": ["trim", "cast:INTEGER"]}, publish={"x": "top:3"}
            ) as release:
                for _ in range(2):
                    assert {row["x"] for row in released_records(release)} == {"0", "1", "2", "3+"}
        left = connection.execute("SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()").fetchone()
        assert left == (0,)
