"""Functions of a database that have the names of built-in ones: they are never called for these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

import kanon_sql as library
from kanon_sql.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

SHADOWS = [
    "CREATE MACRO hash(a) AS 1",
    "CREATE MACRO HASH(a) AS 1",
    "CREATE MACRO count(a) AS 100",
    "CREATE MACRO count_star() AS 100",
    "CREATE MACRO sum(a) AS 100",
    'CREATE MACRO "+"(a, b) AS 100',
    'CREATE MACRO "||"(a, b) AS a',
    "CREATE MACRO duckdb_functions() AS TABLE SELECT 'none' AS function_name, true AS internal",
    "CREATE MACRO lower(a) AS 'x'",
    "CREATE MACRO list_contains(a, b) AS false",
    "CREATE MACRO contains(a, b) AS false",
    "CREATE MACRO current_schemas(a) AS []",
    "CREATE MACRO range(a) AS TABLE SELECT 1 AS range",
]
ASKED = ["--qi", "age", "--rest", "keep", "-k", 2, "--max-suppressed", 1]


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE ward AS SELECT i AS number, i // 4 AS age FROM range(40) AS r(i)")
        connection.execute("CREATE MACRO years(a) AS a + 1; CREATE MACRO old() AS TABLE SELECT 1 AS one")
        connection.execute("CREATE SCHEMA tools; CREATE MACRO tools.hash(a) AS 1; CREATE MACRO tools.count(a) AS 1")
    return path


@pytest.mark.parametrize("shadow", SHADOWS)
def test_a_macro_that_hides_a_function_is_refused(
    ward: Path, tmp_path: Path, kanon: Callable[..., Ended], shadow: str
) -> None:
    """Fails on 0.1.0: with ``hash`` all rows are published in the order of the source; others end as a bug."""
    with duckdb.connect(str(ward)) as connection:
        connection.execute(shadow)
    before = ward.read_bytes()
    ended = kanon("anonymize", ward, "ward", *ASKED, "--out", tmp_path / "out.csv")
    assert ended.code == 3
    name = shadow.split("MACRO ", 1)[1].split("(", 1)[0].strip('"')
    assert f"same name: {name}." in " ".join(ended.err.split())
    assert "bug" not in ended.err
    assert not (tmp_path / "out.csv").exists()
    assert ward.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        ("profile", "{ward}", "ward"),
        ("check", "{ward}", "ward", "--qi", "age", "-k", 2),
        ("measure", "{ward}", "ward", "--qi", "age"),
        ("attack", "{ward}", "ward", "--original", "ward", "--qi", "age"),
        ("lattice", "{ward}", "ward", "--qi", "age", "-k", 2),
        ("anonymize", "{ward}", "ward", *ASKED, "--in-place", "--no-backup"),
        ("anonymize", "{ward}", "ward", *ASKED, "--into", "released"),
        ("clean", "{ward}"),
        ("dp", "count", "{ward}", "ward", "--epsilon", 1),
    ],
)
def test_every_command_refuses(ward: Path, kanon: Callable[..., Ended], command: tuple[object, ...]) -> None:
    """Fails on 0.1.0: most of them run, with figures that the macro made up."""
    with duckdb.connect(str(ward)) as connection:
        connection.execute("CREATE MACRO count_star() AS 100; CREATE MACRO sum(a) AS 100")
    ended = kanon(*(ward if each == "{ward}" else each for each in command))
    assert (ended.code, "count_star, sum" in " ".join(ended.err.split())) == (3, True), ended.err


@pytest.mark.parametrize("kind", ["MACRO", "TEMP MACRO"])
def test_a_connection_is_refused_too(kind: str) -> None:
    """Fails on 0.1.0."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE ward AS SELECT i // 4 AS age FROM range(40) AS r(i)")
        connection.execute(f"CREATE {kind} hash(a) AS 1")
        with pytest.raises(SourceError, match="hash"):
            library.check(connection, "ward", quasi_identifiers=["age"])
        connection.execute(f"DROP {kind.removeprefix('TEMP ')} hash")
        assert library.check(connection, "ward", quasi_identifiers=["age"]).classes == 10


def test_the_schema_of_a_connection_counts() -> None:
    """A macro is refused where the connection looks functions up, and only there."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE ward AS SELECT i // 4 AS age FROM range(40) AS r(i)")
        connection.execute("CREATE SCHEMA tools; CREATE MACRO tools.hash(a) AS 1")
        assert library.check(connection, "ward", quasi_identifiers=["age"]).classes == 10
        connection.execute("SET search_path = 'main,tools'")
        with pytest.raises(SourceError, match="hash"):
            library.check(connection, "ward", quasi_identifiers=["age"])


@pytest.mark.thorough
def test_other_macros_stay(ward: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    """Macros of other names, and in other schemas, are no trouble, and are carried along in place."""
    assert kanon("anonymize", ward, "ward", *ASKED, "--out", tmp_path / "out.csv").code == 0
    assert kanon("anonymize", ward, "ward", *ASKED, "--in-place", "--no-backup", "--ignore-ledger").code == 0
    with duckdb.connect(str(ward), read_only=True) as connection:
        assert connection.execute("SELECT years(1), tools.hash(5), one FROM old()").fetchall() == [(2, 1, 1)]
