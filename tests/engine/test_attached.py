"""Sources that DuckDB reaches by an extension: what is said where it is not there, and the way of rows where it is.

No extension can be downloaded here. So the one function that attaches a database is replaced by one that attaches a
DuckDB file under the same name, and files on another machine are read as ``file://``.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import files_in
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.cli.options.shared import _columns
from kanon_sql.engine.duckdb.connection import translated
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.keys import without_passwords
from kanon_sql.engine.sources import addresses, remote
from kanon_sql.engine.sources.addresses import DatabaseAddress, ObjectAddress, place_of
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

PASSWORD = "h7!s3cret"  # noqa: S105 - of nobody
ENCODED = "h7%21s3cret"
QI = ("--qi", "age,zip", "--sensitive", "disease", "--rest", "drop", "-k", "2", "--max-suppressed", "1", "--seed", "1")


def database_at(source: str) -> DatabaseAddress:
    address = place_of(source)
    assert isinstance(address, DatabaseAddress)
    return address


def objects_at(source: str) -> ObjectAddress:
    address = place_of(source)
    assert isinstance(address, ObjectAddress)
    return address


@pytest.fixture
def lite(in_tmp: Path) -> Path:
    """An SQLite file, as Python makes it, with a suffix that says nothing."""
    path = in_tmp / "clinic.data"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE patients (age INTEGER, zip TEXT, disease TEXT)")
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?)", [(31, "12345", "flu"), (33, "12346", "cough")])
    connection.close()
    return path


# What an address says


@pytest.mark.parametrize(
    "given",
    [
        f"mysql://ada:{PASSWORD}#x@db/shop",
        f"mysql://ada:{ENCODED}@db/shop",
        f"duckdb+postgresql://ada:{PASSWORD}@db/shop",
        f"https://ada:{PASSWORD}@host/rows.csv",
        f"https://host/rows.csv?X-Amz-Signature={PASSWORD}",
        f"s3://key:{PASSWORD}@bucket/rows.csv",
        f"s3://bucket/rows.csv?s3_secret_access_key={PASSWORD}",
    ],
)
def test_an_address_of_a_server_or_with_a_secret_is_refused(kanon: Callable[..., Ended], given: str) -> None:
    ended = kanon("profile", given)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "s3cret" not in ended.err
    assert "ATTACH" in ended.err if "db/shop" in given else "CREATE PERSISTENT SECRET" in ended.err


def test_what_else_an_address_may_be(in_tmp: Path, lite: Path) -> None:
    assert database_at("sqlite:clinic.data").file == Path("clinic.data")
    assert database_at("sqlite:///clinic.data").file == Path("clinic.data")
    assert objects_at("s3://bucket/year=*/part-*.parquet").path.name == "part-*.parquet"
    assert objects_at("abfss://files@account.dfs.core.windows.net/a.csv").extension == "azure"
    assert objects_at("hf://datasets/a/b@~parquet/x.parquet").extension == "httpfs"
    for path in ("rows.csv", in_tmp, lite):
        assert place_of(path) == Path(path)
    for other in ("postgresql://host/db", "spark://host", 7):
        assert place_of(other) is None


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://me@/db?host=/run&password=a&b;c#d", "postgresql://me@/db?host=***&password=***"),
        ("postgresql://me:a?b=c@host/db", "postgresql://***"),
        ("mysql://host:33/db?password=a@b", "mysql://***"),
        ("postgresql://me:a/b@c#d@host/db?x=1", "postgresql://me@host/db?x=***"),
        ("s3://key:pass@bucket/part-?.csv", "s3://key@bucket/part-?.csv"),
        ("spark:local[2]?spark.my.password=x", "spark:local[2]?spark.my.password=***"),
        ("sc://host/;use_ssl=true;token=x", "sc://host/;use_ssl=***;token=***"),
        ("data/key=5/part-?.csv", "data/key=5/part-?.csv"),
        ("sqlite:a?b=c.db", "sqlite:a?b=c.db"),
    ],
)
def test_passwords_and_settings_are_not_shown(given: str, shown: str) -> None:
    assert addresses.shown_source(given) == shown


@pytest.mark.parametrize(
    "text",
    [
        f'with parameters "host=db user=ada password={PASSWORD} port=1": Access denied',
        f"connection to 'host=db password=''{PASSWORD}'' x'",
        f'PASSWORD = "a \\" {PASSWORD}"',
        f"password='a \\' {PASSWORD}' host=db",
        f"mysql://ada:{PASSWORD}@db/shop",
        f"HTTP GET error on 'https://host/x.parquet?X-Amz-Signature={PASSWORD}' (HTTP 403)",
    ],
)
def test_what_duckdb_says_is_repeated_without_passwords(text: str) -> None:
    assert PASSWORD not in without_passwords(text)

    def fail() -> None:
        raise duckdb.IOException(text)

    with pytest.raises(kanon.SourceError) as caught:
        translated(fail, "a step")
    assert PASSWORD not in str(caught.value)
    assert "***" in str(caught.value)


# Without the extension


@pytest.mark.parametrize(
    ("source", "extension"),
    [
        *((f"{scheme}://bucket/year=*/part-*.parquet", "httpfs") for scheme in ("s3", "gs", "gcs", "r2", "hf")),
        ("https://host/rows.parquet", "httpfs"),
        ("http://host/rows.parquet", "httpfs"),
        ("az://files/rows.parquet", "azure"),
        ("abfss://files/rows.parquet", "azure"),
    ],
)
def test_an_extension_that_is_not_there(lite: Path, kanon: Callable[..., Ended], source: str, extension: str) -> None:
    for arguments in (("profile", source), ("anonymize", source, *QI, "--out", "out.csv", "-v")):
        ended = kanon(*arguments)
        assert (ended.code, ended.out, ended.err.count("\n")) == (3, "", 1)
        assert f"needs DuckDB's extension {extension}, which is not installed here" in ended.err
        assert f"INSTALL {extension}" in ended.err
        assert "KANON_INSTALL_EXTENSIONS=1" in ended.err
        assert "s3cret" not in ended.err
    assert files_in(lite.parent) == {"clinic.data"}


def test_nothing_is_downloaded_unless_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(_: DuckDBEngine, statement: exp.Expr) -> None:
        if isinstance(statement, exp.Set):  # of the time zone
            return
        asked.append(render(statement, "duckdb"))
        raise duckdb.IOException("Failed to download extension\nmore")

    monkeypatch.setattr(DuckDBEngine, "run_unlogged", refuse)
    for allowed, statements in (("", []), ("0", []), ("yes", ["INSTALL httpfs"])):
        monkeypatch.setenv(remote.ALLOWS_INSTALLING, allowed)
        with pytest.raises(kanon.SourceError) as caught:
            open_source("https://host/rows.parquet")
        assert [text for text in asked if "INSTALL" in text] == statements
    assert str(caught.value).endswith("which cannot be loaded. Failed to download extension")
    with DuckDBEngine.in_memory() as engine:
        found = engine.connection.execute("SELECT current_setting('autoinstall_known_extensions')").fetchall()
    assert found == [(False,)]


def test_a_statement_that_needs_an_extension() -> None:
    for loading in ("true", "false"):  # DuckDB has another text for each
        settings = {"autoinstall_known_extensions": "false", "autoload_known_extensions": loading}
        with (
            duckdb.connect(config=settings) as connection,
            pytest.raises(kanon.SourceError, match=r"needs DuckDB's extension httpfs.*INSTALL httpfs"),
        ):
            translated(lambda own=connection: own.execute("FROM read_parquet('s3://b/x.parquet')"), "a step")


def test_what_only_takes_a_duckdb_file_says_so(kanon: Callable[..., Ended], lite: Path) -> None:
    source = f"mysql://ada:{PASSWORD}@db/shop"
    for command in (
        ("ledger", source),
        ("clean", source),
        ("hierarchy", "list", source),
        ("hierarchy", "show", source),
    ):
        ended = kanon(*command)
        assert ended.code in {2, 3}
        assert "s3cret" not in ended.err + ended.out
    for command in (("ledger", lite), ("clean", lite), ("hierarchy", "list", lite)):
        assert kanon(*command).code == 2


# With it, or something in its place


@pytest.mark.thorough
def test_what_is_only_read_is_not_written(kanon: Callable[..., Ended], lite: Path) -> None:
    before = lite.read_bytes()
    for target in (("--into", "released_2"), ("--into", "v", "--as", "view"), ("--in-place", "--no-backup")):
        ended = kanon("anonymize", lite, "patients", *QI, *target)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
        assert f"{lite} is only read" in ended.err
        assert "--out FILE" in ended.err
    assert kanon("hierarchy", "build", lite, "patients", "age=intervals:5").code == 2
    ended = kanon("anonymize", lite, "patients", *QI, "--out", lite, "--replace")
    assert (ended.code, lite.read_bytes()) == (2, before)
    lite.rename("lite.db")
    ended = kanon("anonymize", "lite.db", "patients", *QI, "--out", "lite.db", "--replace")
    assert ended.code == 2
    assert "lite.db is the source: write the release to another file" in ended.err
    assert Path("lite.db").read_bytes() == before


def test_tab_asks_no_other_machine() -> None:
    class Context:
        args: tuple[str, ...] = ()
        params: dict[str, Any] = {"source": "s3://bucket/x.parquet", "table": None}  # noqa: RUF012 - it stands for typer's

    assert _columns(Context()) == []  # type: ignore[arg-type]  # as above


# Objects: as files of this machine


@pytest.fixture
def store(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose files are read as if they were elsewhere, by file:// addresses."""
    monkeypatch.setitem(addresses._OBJECTS, "file", "httpfs")  # noqa: SLF001 - a store that is at hand
    monkeypatch.setattr(
        remote, "load_extension", lambda _, name, __: exp.Command(this="LOAD", expression=sql.identifier(name))
    )
    directory = in_tmp / "store"
    for year, rows in (("2023", "(1, 'a', 5), (2, 'b', 5)"), ("2024", "(3, 'a', 6), (4, 'b', 6)")):
        (directory / f"year={year}").mkdir(parents=True)
        duckdb.sql(f'FROM (VALUES {rows}) AS t(id, city, "{year[-1]}x")').write_parquet(
            str(directory / f"year={year}" / "part-0.parquet")
        )
    return directory


@pytest.mark.parametrize(
    ("path", "rows", "columns"),
    [
        ("year=*/part-*.parquet", 4, ["id", "city", "3x", "4x", "year"]),
        ("**/*.parquet", 4, ["id", "city", "3x", "4x", "year"]),
        ("", 4, ["id", "city", "3x", "4x", "year"]),
        ("year=2024/part-0.parquet", 2, ["id", "city", "4x", "year"]),
    ],
)
def test_objects_are_read(store: Path, path: str, rows: int, columns: list[str]) -> None:
    source = open_source(f"file://{store}/{path}")
    with source.engine as engine:
        assert [column.name for column in source.columns] == columns
        assert engine.row(sql.select_count(source.relation), "count") == (rows,)
        assert engine.is_shared


@pytest.mark.thorough
def test_objects_are_anonymized(store: Path, kanon: Callable[..., Ended], in_tmp: Path) -> None:
    source = f"file://{store}/year=*/*.parquet"
    asked = ("--qi", "city", "--rest", "drop", "-k", "2", "--seed", "1")
    assert kanon("anonymize", source, *asked, "--out", "out.csv").code == 0
    assert sorted((in_tmp / "out.csv").read_text().split()) == ["a", "a", "b", "b", "city"]
    ended = kanon("anonymize", source, *asked, "--out", "out.csv", "--sql")
    assert ended.out.index("LOAD httpfs;") < ended.out.index("union_by_name")
    assert kanon("anonymize", source, *asked, "--into", "t").code == 2
    assert kanon("anonymize", source, "t", *asked, "--out", "o.csv").code == 2
    for missing, says in (
        ("none.parquet", "cannot be read"),
        ("x.duckdb", "is a database"),
        ("x.md", "neither"),
        ("a.csv", "fetch the file"),
    ):
        ended = kanon("anonymize", f"file://{store}/{missing}", *asked, "--out", "o.csv")
        assert ended.code in {2, 3}
        assert says in ended.err


def test_objects_that_change_meanwhile_are_seen(store: Path) -> None:
    k2 = [kanon.KAnonymity(2)]
    with kanon.anonymize(
        f"file://{store}/year=*/*.parquet", quasi_identifiers=["city"], rest="drop", models=k2
    ) as release:
        duckdb.sql("SELECT 1 AS id, 'a' AS city").write_parquet(str(store / "year=2024" / "part-1.parquet"))
        with pytest.raises(kanon.VerificationError, match=r"was changed|has 5 rows and had 4"):
            release.to_file("out.csv")
    assert not Path("out.csv").exists()


def test_no_environment_is_changed(lite: Path, kanon: Callable[..., Ended]) -> None:
    before = dict(os.environ)
    kanon("profile", lite)
    kanon("profile", "s3://bucket/x.parquet")
    assert {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"} == {
        key: value for key, value in before.items() if key != "PYTEST_CURRENT_TEST"
    }
