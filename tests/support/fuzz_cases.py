"""Random tables with hostile names, of every type that DuckDB has, and random policies for them.

A table is described by the SQL that makes it, so that a case that fails can be read and run by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from strategies import HOSTILE_NAMES

from kanon_sql.policy.algorithms import ALGORITHMS

if TYPE_CHECKING:
    import duckdb

CANARY = "canary"
"""A table that stands beside the one that is anonymized, and that injected SQL would drop."""

NAMES = [
    *HOSTILE_NAMES,
    '"; DROP TABLE canary; --',
    "'; DROP TABLE canary; --",
    ");DELETE FROM canary;--",
    '"',
    "''",
    "\\",
    "\u202eright to left",
    "very long " * 40,
    # What our own statements call things.
    *("share", "values", "mask_0", "node", "class_n", "place", "step", "entity", "box", "position", "cut", "boxes"),
    *("walk", "arrived", "lookup", "shares_1", "weighed_1", "measured_1", "feature", "total", "scale", "p", "rank"),
    *("sensitive_0", "original", "label_1", "low_1", "high_1", "present", "number", "lower_1", "kanon_frequency"),
    *("kanon_hierarchy_a", "kanon_source", "kanon_release", "kanon_entity", "n_2", "file", "everybody", "found"),
    # What the command line could take for something else.
    *("-x", "--qi", "--", " padded ", "x=flat", "a,b,c", '"quoted"', "'quoted'", "@file", "~", "[bold]red[/bold]"),
    # What shells, formats and regular expressions would.
    *("{}", "{0}", "%d", "%", "?", ":name", "$name", "*", "a|b", "a/b", "a.b.c", "main", "memory", "temp", "é", "É"),
    *("group", "order", "from", "user", "all", "hash", "count", "null", "true", "table", "column", "desc", "end"),
]

TYPES: dict[str, list[str]] = {
    "BOOLEAN": ["true", "false"],
    "TINYINT": ["-128", "127", "0", "5", "6"],
    "SMALLINT": ["-32768", "32767", "0", "1234"],
    "INTEGER": ["-2147483648", "2147483647", "0", "31337421", "31337422", "31337430"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807", "0", "71", "72", "90"],
    "HUGEINT": [
        "'-170141183460469231731687303715884105728'",
        "'170141183460469231731687303715884105727'",
        "0",
        "12",
    ],
    "UTINYINT": ["0", "255", "7"],
    "USMALLINT": ["0", "65535", "777"],
    "UINTEGER": ["0", "4294967295", "7654321"],
    "UBIGINT": ["0", "18446744073709551615", "7654321"],
    "UHUGEINT": ["0", "'340282366920938463463374607431768211455'", "7654321"],
    "BIGNUM": ["'0'", "'123456789012345678901234567890123456789012345678901'", "'-71'"],
    "DECIMAL(4,1)": ["-999.9", "999.9", "0.0", "12.5", "12.6"],
    "DECIMAL(18,3)": ["'-999999999999999.999'", "'999999999999999.999'", "0", "4711.815"],
    "DECIMAL(38,0)": ["'99999999999999999999999999999999999999'", "'-99999999999999999999999999999999999999'", "0"],
    "DECIMAL(38,37)": ["'9.9999999999999999999999999999999999999'", "'-1.5'", "0"],
    "DECIMAL(38,38)": ["'0.99999999999999999999999999999999999999'", "0"],
    "FLOAT": ["'nan'", "'inf'", "'-inf'", "'-0.0'", "0", "0.7", "'3.4028235e38'", "'1e-45'", "4711.815"],
    "DOUBLE": ["'nan'", "'inf'", "'-inf'", "'-0.0'", "0", "0.1", "'1.7976931348623157e308'", "'5e-324'", "4711.815"],
    "VARCHAR": [
        "''",
        "' '",
        "'NULL'",
        "'*'",
        "chr(0)",
        "'secret' || chr(0) || 'marker'",
        "'''; DROP TABLE canary; --'",
        "'\"; DROP TABLE canary; --'",
        "'secret, marker'",
        "'secret' || chr(10) || 'marker'",
        "'secret' || chr(13) || 'marker'",
        "'日本secret'",
        "'🙂secret'",
        r"'\N'",
        r"'secret\marker'",
        "'[1, 2]'",
        "repeat('secret', 100)",
        "'{secret}'",
    ],
    "VARCHAR COLLATE NOCASE": ["'secret a'", "'SECRET A'", "'secret b'"],
    "BLOB": [r"'\xAA\x00secret'::BLOB", "''::BLOB", "'secret blob'::BLOB", "'\"'::BLOB"],
    "BIT": ["'0'", "'1'", "'01'", "'0101010101'"],
    "UUID": ["'4f4f4f4f-1111-4111-8111-aaaaaaaaaaaa'", "'00000000-0000-0000-0000-000000000000'"],
    "DATE": [
        "'infinity'",
        "'-infinity'",
        "'5881580-07-10'",
        "'290309-12-22 (BC)'",
        "'2024-02-29'",
        "'2024-03-01'",
        "'1987-06-05'",
        "'0001-01-01'",
    ],
    "TIME": ["'00:00:00'", "'24:00:00'", "'12:34:56.789012'"],
    "TIME_NS": ["'00:00:00'", "'12:34:56.789012345'"],
    "TIMETZ": ["'12:00:00+00'", "'13:00:00+01'", "'00:00:00+15:59:59'", "'00:00:00-15:59:59'"],
    "TIMESTAMP": [
        "'infinity'",
        "'-infinity'",
        "'2024-02-29 12:34:56.789012'",
        "'1987-06-05 04:03:02'",
        "'0044-03-15 (BC) 10:00:00'",
    ],
    "TIMESTAMP_S": ["'infinity'", "'2024-02-29 12:34:56'", "'1987-06-05 04:03:02'"],
    "TIMESTAMP_MS": ["'infinity'", "'2024-02-29 12:34:56.789'", "'1987-06-05 04:03:02'"],
    "TIMESTAMP_NS": ["'infinity'", "'2024-02-29 12:34:56.789012345'", "'1987-06-05 04:03:02'"],
    "TIMESTAMPTZ": ["'infinity'", "'2024-02-29 12:34:56+00'", "'1987-06-05 04:03:02+09'"],
    "TIMESTAMPTZ_NS": ["'2024-02-29 12:34:56.789012345+00'", "'1987-06-05 04:03:02+09'"],
    "INTERVAL": ["INTERVAL 1 MONTH", "INTERVAL 30 DAY", "INTERVAL '-7 years 4711 seconds'"],
    "ENUM('secret a', 'secret b', '''; DROP TABLE canary; --', '')": ["'secret a'", "'secret b'", "''"],
    "INTEGER[]": ["[]", "[31337421]", "[31337421, NULL]", "[NULL]"],
    "VARCHAR[][]": ["[]", "[['secret', NULL], []]", "[[''';']]"],
    "DOUBLE[2]": ["[0.0, -0.0::DOUBLE]", "[4711.815, 'nan'::DOUBLE]"],
    'STRUCT("a""b; DROP" INTEGER, "select" ENUM(\'secret\', \'b\'))': [
        "{'a\"b; DROP': 31337421, 'select': 'secret'}",
        "{'a\"b; DROP': NULL, 'select': NULL}",
    ],
    "TUPLE(ENUM('secret', 'b'))": ["row('secret')"],
    "MAP(ENUM('secret', 'b'), INTEGER)": ["MAP {'secret': 1}", "MAP {}"],
    "TUPLE(INTEGER, VARCHAR)": ["row(31337421, 'secret')", "row(NULL, '')"],
    "MAP(VARCHAR, DOUBLE)": ["MAP {}", "MAP {'secret marker': 4711.815}", "MAP {'': NULL, ''';': -0.0}"],
    'UNION(number INTEGER, "text; " VARCHAR)': [
        "union_value(number := 31337421)",
        "union_value(\"text; \" := 'secret')",
    ],
    "JSON": ["'{\"secret\": [4711815]}'", "'{\"secret\":[4711815]}'", "'null'", "'\"\"'", "'{}'", "'[NaN]'"],
    "VARIANT": ["31337421::VARIANT", "'secret'::VARIANT", "['31337421', 'secret']::VARIANT", "{'secret': 1}::VARIANT"],
    "GEOMETRY": ["'POINT (31337421 2)'", "'POINT EMPTY'", "'LINESTRING (0 0, 4711815 1)'"],
    "GEOMETRY('OGC:CRS84')": ["'POINT (31337421 2)'"],
    '"NULL"': ["NULL"],
}
"""Every type that a column can have, as it is declared, each with expressions of values."""

NESTED = ("[", "STRUCT", "TUPLE", "MAP", "UNION", "INTERVAL", "VARIANT", "GEOMETRY", "TIMESTAMPTZ_NS", '"NULL"')
"""What stands in the types that are no quasi-identifiers: their equal values can be written in several ways."""

_ANY = ["flat", "mask", "mask:left", "mask:right:1,3"]
_NUMBERS = ["intervals:5,10", "intervals:0.5:bottom=0:top=10", "intervals:1000:origin=-3", "round:1,2"]
_DATES = ["date:year,decade", "date:day,week", "date:month,quarter,year"]
_WRONG = ["nonsense:1", "missing.csv", "intervals:5", "date:year"]
_MODELS = {
    "l": ["1", "2", "3"],
    "entropy_l": ["1.5", "2"],
    "recursive": ["3,2", "1.1,1"],
    "alpha": ["0.5", "0.9"],
    "t": ["0", "0.2", "0.6", "1"],
    "beta": ["1", "3"],
    "enhanced_beta": ["1", "3"],
    "delta": ["1", "3"],
}
_MEASURES = ["loss"] * 6 + ["gcp", "precision", "nonuniform_entropy", "discernibility", "average_class_size"]
_DESTINATIONS = ["table", "table", "view", "csv", "parquet", "json", "jsonl"]
_LIBRARIES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}
_FRAMES = [name for name, library in _LIBRARIES.items() if find_spec(library) is not None]
"""Data frames that a release may become: those of libraries that are installed."""


@dataclass(frozen=True)
class FuzzColumn:
    """A column: its name, its type as declared, and its values as expressions."""

    name: str
    type: str
    values: tuple[str, ...]

    @property
    def is_nested(self) -> bool:
        """Whether its type is one of those that are no quasi-identifiers."""
        return any(word in self.type for word in NESTED)


@dataclass(frozen=True)
class FuzzCase:
    """A table and what is asked of it.

    Attributes:
        schema: of the table; None is ``main``.
        table: its name.
        columns: its columns.
        roles: for each column "id", "qi", "sensitive", "keep" or None.
        rest: what happens to columns without a role.
        entity: the column of people.
        k: the smallest class.
        models: other models: name, column (None where it is left out) and thresholds as they are typed.
        distance: of t-closeness.
        rules: for columns, their rules.
        settings: of the search.
        destination: what the release becomes.
        target: its name.
        through: "path", "connection" or "command line".
    """

    schema: str | None
    table: str
    columns: tuple[FuzzColumn, ...]
    roles: tuple[str | None, ...]
    rest: str | None
    entity: str | None
    k: int
    models: tuple[tuple[str, str | None, str], ...]
    distance: str | None
    rules: dict[str, str]
    settings: dict[str, Any]
    destination: str
    target: str
    through: str

    def named(self, role: str) -> list[str]:
        """Return the names of the columns of a role."""
        return [column.name for column, own in zip(self.columns, self.roles, strict=True) if own == role]

    def published(self) -> list[str]:
        """Return the names of the columns that are to be published, in their order."""
        kept = {"qi", "sensitive", "keep", *([None] if self.rest == "keep" else [])}
        named = zip(self.columns, self.roles, strict=True)
        return [column.name for column, role in named if role in kept and column.name != self.entity]

    @property
    def reference(self) -> str:
        """The table as a person names it."""
        return self.table if self.schema is None else f"{self.schema}.{self.table}"

    def make(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the table, and a canary beside it."""
        connection.execute("CREATE TABLE canary AS SELECT 'alive' AS state")
        place = quoted(self.table)
        if self.schema is not None:
            connection.execute(f"CREATE SCHEMA {quoted(self.schema)}")
            place = f"{quoted(self.schema)}.{place}"
        declared = ", ".join(f"{quoted(column.name)} {column.type}" for column in self.columns)
        connection.execute(f"CREATE TABLE {place} ({declared})")
        rows = list(zip(*(column.values for column in self.columns), strict=True))
        if rows:
            values = ", ".join(f"({', '.join(row)})" for row in rows)
            connection.execute(f"INSERT INTO {place} VALUES {values}")  # noqa: S608 - expressions of this file


def _rules(kind: str) -> list[str]:
    """Return the rules of which one is drawn for a column of a type; a few do not fit."""
    word = kind.split("(", maxsplit=1)[0]
    if word.endswith(("INT", "INTEGER", "FLOAT", "DOUBLE", "DECIMAL")):
        return [*_ANY, *_NUMBERS * 3, *_WRONG]
    if word == "DATE" or (word.startswith("TIMESTAMP") and word != "TIMESTAMPTZ_NS"):
        return [*_ANY, *_DATES * 3, *_WRONG]
    return [*_ANY * 4, *_WRONG]


def quoted(name: str) -> str:
    """Return a name in quotes."""
    return '"{}"'.format(name.replace('"', '""'))


@st.composite
def _names(draw: st.DrawFn, count: int) -> list[str]:
    """Draw different names."""
    some = st.sampled_from(NAMES)
    random = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
    name = some if draw(st.integers(0, 4)) else random
    return draw(st.lists(name, min_size=count, max_size=count, unique_by=_as_duckdb))


def _as_duckdb(name: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


@st.composite
def _columns(draw: st.DrawFn, names: list[str], rows: int) -> tuple[FuzzColumn, ...]:
    plain = [kind for kind in TYPES if not any(word in kind for word in NESTED)]
    columns = []
    for name in names:
        kind = draw(st.sampled_from(plain if draw(st.integers(0, 2)) else list(TYPES)))
        pool = draw(st.lists(st.sampled_from([*TYPES[kind], "NULL"]), min_size=1, max_size=draw(st.integers(1, 5))))
        values = draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
        columns.append(FuzzColumn(name, kind, tuple(values)))
    return tuple(columns)


@st.composite
def fuzz_cases(draw: st.DrawFn) -> FuzzCase:
    """Draw a case; most of them can be released."""
    rows = draw(st.sampled_from([0, 1, 3, *[9, 14, 20, 27, 33, 40] * 3]))
    width = draw(st.integers(1, 8))
    table, target, schema, *names = draw(_names(width + 3))
    columns = draw(_columns(names, rows))
    roles: list[str | None] = []
    for column in columns:
        unlikely = column.is_nested and draw(st.integers(0, 3))
        unlikely = unlikely or ("NOCASE" in column.type and draw(st.integers(0, 3)))
        likely = ["keep", "sensitive"] if unlikely else ["qi", "qi", "qi", "keep", "sensitive", "id", None]
        roles.append(draw(st.sampled_from(likely)))
    if "qi" not in roles and draw(st.integers(0, 9)):
        roles[draw(st.integers(0, width - 1))] = "qi"
    through = draw(st.sampled_from(["path", "connection", "command line"]))
    rest = draw(st.sampled_from(["keep", "keep", "drop", "drop", "drop", "drop", None]))
    if through == "command line" and "keep" in roles:  # there, what is kept is the rest
        roles, rest = [None if role == "keep" else role for role in roles], "keep"
    others = [name for name, role in zip(names, roles, strict=True) if role in {"id", None}]
    entity = draw(st.sampled_from(others)) if others and not draw(st.integers(0, 5)) else None
    sensitive = [name for name, role in zip(names, roles, strict=True) if role == "sensitive"]
    models = []
    if sensitive and draw(st.booleans()):
        for name in draw(st.lists(st.sampled_from(list(_MODELS)), min_size=1, max_size=2, unique=True)):
            about = draw(st.sampled_from([*sensitive, None] if len(sensitive) == 1 else sensitive))
            models.append((name, about, draw(st.sampled_from(_MODELS[name]))))
    distances = ["equal", "ordered", "hierarchical", None, None, None]
    distance = draw(st.sampled_from(distances)) if any(model[0] == "t" for model in models) else None
    quasi = [name for name, role in zip(names, roles, strict=True) if role == "qi"]
    kinds = {column.name: column.type for column in columns}
    rules = {name: draw(st.sampled_from(_rules(kinds[name]))) for name in quasi if not draw(st.integers(0, 2))}
    if distance == "hierarchical":
        rules |= dict.fromkeys(sensitive, "flat")
    destination = draw(st.sampled_from(_DESTINATIONS if through == "command line" else _DESTINATIONS + _FRAMES))
    return FuzzCase(
        schema=schema if schema not in {"main", "memory", "temp"} and not draw(st.integers(0, 3)) else None,
        table=table,
        columns=columns,
        roles=tuple(roles),
        rest=rest if None in roles else None,
        entity=entity,
        k=draw(st.sampled_from([*[1, 2, 2, 3, 3, 5] * 3, 50])),
        models=tuple(models),
        distance=distance,
        rules=rules,
        settings={
            "algorithm": draw(st.sampled_from([*ALGORITHMS])),
            "choice": draw(st.sampled_from(["greedy", "greedy", "greedy", "all-or-none"])),
            "measure": draw(st.sampled_from(_MEASURES)),
            "max_suppressed": draw(st.sampled_from([0, 0.02, 0.3, 0.5, 1, 1, "2 rows", "k rows"])),
            "seed": 7,
        },
        destination=destination,
        target=target if draw(st.integers(0, 11)) else draw(st.sampled_from([CANARY, table, "kanon_x", "plain"])),
        through=through,
    )
