"""Sources that DuckDB reaches by an extension: what is said where it is not there, and the way of rows where it is.

No extension can be downloaded here. So the one function that attaches a database is replaced by one that attaches a
DuckDB file under the same name, and files on another machine are read as ``file://``.
"""

from __future__ import annotations

import os
import re
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
from kanon_sql.engine.sources.open_source import open_beside, open_source
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
    ("given", "connection", "shown", "password"),
    [
        ("mysql://ada@db:33/shop", 'host="db" port="33" user="ada" database="shop"', "mysql://ada@db:33/shop", ""),
        (
            f"mysql://ada:{ENCODED}@db/shop?ssl_mode=required",
            'host="db" user="ada" database="shop" ssl_mode="***"',
            "mysql://ada@db/shop?ssl_mode=***",
            PASSWORD,
        ),
        ("mysql:///shop?socket=/run/x", 'database="shop" socket="***"', "mysql:///shop?socket=***", ""),
        (
            f"duckdb+postgresql://o'hara:{ENCODED}@db/a%5Cb?sslmode=require",
            r"host='db' user='o\'hara' dbname='a\\b' sslmode='***'",
            "duckdb+postgresql://o'hara@db/a%5Cb?sslmode=***",
            PASSWORD,
        ),
        (
            f"duckdb+postgres://db/s?password={ENCODED}",
            "host='db' dbname='s' password='***'",
            "duckdb+postgres://db/s?password=***",
            "",
        ),
    ],
)  # fmt: skip
def test_the_address_of_a_server(given: str, connection: str, shown: str, password: str) -> None:
    address = database_at(given)
    assert (address.connection(secret=False), address.shown, address.password) == (connection, shown, password)
    assert PASSWORD not in repr(address)
    assert ENCODED not in repr(address)


def test_the_statements_that_attach_a_server_and_keep_its_password() -> None:
    address = database_at(f"mysql://ada:{ENCODED}@db/shop?socket=/run/my%20sql")
    shown = render(remote.attach_statement(address, "shop"), "duckdb")
    assert shown == """ATTACH 'host="db" user="ada" database="shop" socket="***"' AS shop (TYPE mysql, READ_ONLY)"""
    run = render(remote.attach_statement(address, "shop", secret=True), "duckdb")
    assert run == shown.replace("READ_ONLY", "READ_ONLY, SECRET kanon_password").replace("***", "/run/my sql")
    for text in (shown, run):
        duckdb.extract_statements(text)


def test_the_password_of_a_server_is_a_secret_while_it_is_attached(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(_: DuckDBEngine, statement: exp.Expr) -> None:
        ran.append(render(statement, "duckdb"))
        if "ATTACH 'host" in ran[-1]:
            raise duckdb.IOException(f"with {PASSWORD} and /run/my sql")

    monkeypatch.setattr(remote, "is_installed", lambda *_: True)
    monkeypatch.setattr(DuckDBEngine, "run_unlogged", run)
    with pytest.raises(kanon.SourceError) as caught:
        open_source(f"mysql://ada:{ENCODED}@db/shop?socket=/run/my%20sql", "patients")
    assert str(caught.value) == "mysql://ada@db/shop?socket=*** cannot be opened. with *** and ***"
    create = f"CREATE TEMPORARY SECRET kanon_password (TYPE mysql, PASSWORD '{PASSWORD}')"
    assert ran == [
        "LOAD mysql_scanner",
        create,
        ran[2],
        "DETACH mysql",
        "DROP TEMPORARY SECRET kanon_password",
    ]
    for text in ran:
        duckdb.extract_statements(text)


@pytest.mark.parametrize(
    "given",
    [
        f"mysql://ada:{PASSWORD}#x@db/shop",
        f"mysql://ada:{PASSWORD}/x@db/shop",
        "mysql://ada:12/h7!s3cret@db",
        f"mysql://ada:{PASSWORD}?x@db/shop",
        f"mysql://ada:{PASSWORD}@[db/shop",
        f"mysql://ada@db/shop?{PASSWORD}=1",
        f"https://ada:{PASSWORD}@host/rows.csv",
    ],
)
def test_an_address_that_cannot_be_one_is_refused_without_its_password(kanon: Callable[..., Ended], given: str) -> None:
    ended = kanon("profile", given)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "s3cret" not in ended.err


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


def test_what_gives_access_is_not_shown() -> None:
    address = objects_at("https://host/a.csv.gz?part=7&X-Amz-Signature=abc&sig=d%2Fe&sv=2024-11-04")
    assert address.shown == "https://host/a.csv.gz?part=***&X-Amz-Signature=***&sig=***&sv=***"
    assert address.path.name == "a.csv.gz"
    assert objects_at("https://host/a.csv?download=1").shown == "https://host/a.csv?download=***"
    assert objects_at("s3://bucket/part-?/year=2024/x.csv").shown == "s3://bucket/part-?/year=2024/x.csv"
    assert "abc" not in repr(address)


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
        (f"mysql://ada:{ENCODED}@db/shop", "mysql_scanner"),
        (f"duckdb+postgresql://ada:{ENCODED}@db/shop", "postgres_scanner"),
        *((f"{scheme}://bucket/year=*/part-*.parquet", "httpfs") for scheme in ("s3", "gs", "gcs", "r2", "hf")),
        (f"https://host/rows.csv?sig={ENCODED}", "httpfs"),
        ("http://host/rows.json", "httpfs"),
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
        asked.append(render(statement, "duckdb"))
        raise duckdb.IOException("Failed to download extension\nmore")

    monkeypatch.setattr(DuckDBEngine, "run_unlogged", refuse)
    for allowed, statements in (("", []), ("0", []), ("yes", ["INSTALL httpfs"])):
        monkeypatch.setenv(remote.ALLOWS_INSTALLING, allowed)
        with pytest.raises(kanon.SourceError) as caught:
            open_source("https://host/rows.csv")
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


@pytest.fixture
def served(in_tmp: Path, clinic: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Whatever is attached is the clinic; return what was asked to be attached."""
    behind = in_tmp / "behind"
    behind.mkdir()
    clinic = clinic.rename(behind / "clinic.duckdb")
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE released AS SELECT '*' AS age, '*' AS zip, disease FROM patients")
        connection.execute(
            "CREATE SCHEMA pg_catalog_2; CREATE SCHEMA public; CREATE TABLE public.visits AS SELECT 1 AS v"
        )
    asked: list[str] = []

    shown = remote.attach_statement

    def attach(address: DatabaseAddress, name: str, *, secret: bool = False) -> exp.Attach:
        if not secret:
            return shown(address, name)
        asked.append(address.given)
        alias = exp.Alias(this=sql.literal(str(clinic)), alias=sql.identifier(name))
        return exp.Attach(this=alias, expressions=[exp.AttachOption(this=exp.var("READ_ONLY"))])

    monkeypatch.setattr(remote, "attach_statement", attach)
    monkeypatch.setattr(remote, "create_secret", lambda *_: exp.select("1"))  # of a type that DuckDB does not know
    monkeypatch.setattr(remote, "load_extension", lambda *_: exp.Command(this="LOAD", expression=exp.var("x")))
    return lambda: asked


SERVER = f"mysql://ada:{ENCODED}@db/main"


@pytest.mark.thorough
@pytest.mark.usefixtures("served")
def test_tables_are_listed_and_chosen(kanon: Callable[..., Ended]) -> None:
    ended = kanon("profile", SERVER)
    assert (ended.code, ended.out) == (2, "")
    assert "mysql://ada@db/main has 2 tables and views: name the one to use. There: patients, released." in ended.err
    assert "has no table or view 'nobody'. There: patients, released." in kanon("profile", SERVER, "nobody").err
    profile = kanon("profile", SERVER, "PATIENTS", "--format", "json")
    assert profile.code == 0
    assert profile.json["rows"] == 60
    # In another schema than the one that is looked at first.
    with open_source(SERVER, "public.visits").engine as engine:
        assert engine.connection.execute(
            "SELECT database_name FROM duckdb_databases() WHERE NOT internal"
        ).fetchall() == [("memory",)]


@pytest.mark.thorough
@pytest.mark.usefixtures("served")
def test_a_table_of_a_server_is_anonymized_to_a_file(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    ended = kanon("anonymize", SERVER, "patients", *QI, "--out", "out.csv", "--report", "report.html", "-v")
    assert ended.code == 0, ended.err
    assert files_in(in_tmp) == {"behind", "out.csv", "report.html"}
    report = (in_tmp / "report.html").read_text(encoding="utf-8")
    assert "kanon anonymize mysql://ada@db/main patients" in report
    for text in (ended.out, ended.err, report):
        assert PASSWORD not in text
        assert ENCODED not in text
    with kanon_release("behind/clinic.duckdb") as own:
        own.to_file("own.csv")
    assert (in_tmp / "own.csv").read_text() == (in_tmp / "out.csv").read_text()


def kanon_release(source: str) -> kanon.Release:
    return kanon.anonymize(
        source,
        "patients",
        quasi_identifiers=["age", "zip"],
        sensitive=["disease"],
        rest="drop",
        models=[kanon.KAnonymity(2)],
        max_suppressed=1,
        seed=1,
    )


@pytest.mark.thorough
@pytest.mark.usefixtures("served")
def test_the_script_begins_with_what_attaches_the_database(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    for which in ("--sql", "--sql=all"):
        ended = kanon("anonymize", SERVER, "patients", *QI, "--out", "out.csv", which)
        assert ended.code == 0, ended.err
        script = ended.out.rpartition("-- The script of the release")[2] or ended.out
        load, attach, copy, *rest = (" ".join(text.split()) for text in re.sub("--.*", "", script).split(";"))
        assert load == "LOAD x"
        assert attach == """ATTACH 'host="db" user="ada" database="main"' AS mysql ( TYPE mysql, READ_ONLY)"""
        assert copy == "CREATE TEMPORARY TABLE kanon_source AS SELECT * FROM mysql.main.patients"
        assert PASSWORD not in ended.out
        assert ENCODED not in ended.out
    # What comes after it runs in plain DuckDB, and makes the rows that kanon makes.
    with duckdb.connect() as connection:
        connection.execute("ATTACH 'behind/clinic.duckdb' AS mysql (READ_ONLY)")
        connection.execute(";".join((copy, *rest)))
    assert kanon("anonymize", SERVER, "patients", *QI, "--out", "again.csv").code == 0
    made, again = ((in_tmp / name).read_text().splitlines() for name in ("out.csv", "again.csv"))
    assert sorted(made) == sorted(again)


@pytest.mark.thorough
@pytest.mark.usefixtures("served")
def test_what_is_only_read_is_not_written(kanon: Callable[..., Ended], lite: Path) -> None:
    before = lite.read_bytes()
    for source, shown in ((SERVER, "mysql://ada@db/main"), (lite, str(lite))):
        for target in (("--into", "released_2"), ("--into", "v", "--as", "view"), ("--in-place", "--no-backup")):
            ended = kanon("anonymize", source, "patients", *QI, *target)
            assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
            assert f"{shown} is only read" in ended.err
            assert "--out FILE" in ended.err
        assert kanon("hierarchy", "build", source, "patients", "age=intervals:5").code == 2
    ended = kanon("anonymize", lite, "patients", *QI, "--out", lite, "--replace")
    assert (ended.code, lite.read_bytes()) == (2, before)
    lite.rename("lite.db")
    ended = kanon("anonymize", "lite.db", "patients", *QI, "--out", "lite.db", "--replace")
    assert ended.code == 2
    assert "is what is to be anonymized" in ended.err
    assert Path("lite.db").read_bytes() == before


@pytest.mark.thorough
def test_other_tables_of_the_database(served: Callable[[], list[str]], kanon: Callable[..., Ended]) -> None:
    measured = kanon("measure", SERVER, "released", "--original", "patients", "--qi", "age,zip", "--format", "json")
    assert measured.code == 0, measured.err
    assert (measured.json["rows_in"], measured.json["rows_out"], measured.json["original"]) == (60, 60, "patients")
    assert set(served()) == {SERVER}
    own = open_source("behind/clinic.duckdb", "patients")
    with own.engine:
        assert len(open_beside(own, SERVER, "public.visits").columns) == 1


@pytest.mark.thorough
def test_the_table_is_that_of_one_moment(served: Callable[[], list[str]], in_tmp: Path) -> None:
    with kanon_release(SERVER) as release:
        with duckdb.connect("behind/clinic.duckdb") as connection:  # which nobody holds any more
            connection.execute("DELETE FROM patients WHERE id % 2 = 0")
        release.to_file("out.parquet")
        assert release.rows_in == 60
    assert served() == [SERVER]
    assert duckdb.read_parquet(str(in_tmp / "out.parquet")).shape[0] == release.rows_out > 30


@pytest.mark.usefixtures("served")
def test_a_connection_of_ones_own_is_left_as_it_was() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1 AS age")
        opened = open_source(connection, "mine")
        assert open_beside(opened, SERVER, "patients").engine is opened.engine
        opened.engine.close()
        names = connection.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
        assert names == [("memory",)]
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("mine",)]
        connection.begin()
        with pytest.raises(kanon.UsageError, match="transaction open"):
            open_beside(open_source(connection, "mine"), SERVER, "patients")
        connection.rollback()


@pytest.mark.thorough
@pytest.mark.usefixtures("served")
def test_tab_asks_no_other_machine(kanon: Callable[..., Ended]) -> None:
    class Context:
        args: tuple[str, ...] = ()
        params: dict[str, Any] = {"source": SERVER, "table": "patients"}  # noqa: RUF012 - it stands for typer's

    assert _columns(Context()) == []  # type: ignore[arg-type]  # as above
    assert kanon("profile", SERVER, "patients").code == 0


# Objects: as files of this machine


@pytest.fixture
def store(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose files are read as if they were elsewhere, by file:// addresses."""
    monkeypatch.setitem(addresses._OBJECTS, "file", ("httpfs", "", ""))  # noqa: SLF001 - a store that is at hand
    monkeypatch.setattr(
        remote, "load_extension", lambda _, name, __: exp.Command(this="LOAD", expression=sql.identifier(name))
    )
    directory = in_tmp / "store"
    for year, rows in (("2023", "(1, 'a', 5), (2, 'b', 5)"), ("2024", "(3, 'a', 6), (4, 'b', 6)")):
        (directory / f"year={year}").mkdir(parents=True)
        duckdb.sql(f'FROM (VALUES {rows}) AS t(id, city, "{year[-1]}x")').write_parquet(
            str(directory / f"year={year}" / "part-0.parquet")
        )
    (directory / "rows.csv").write_text("\n".join(["zip,n", *["11,1"] * 30_000, "01067,2"]), encoding="utf-8")
    (directory / "rows.jsonl").write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    return directory


@pytest.mark.parametrize(
    ("path", "rows", "columns"),
    [
        ("year=*/part-*.parquet", 4, ["id", "city", "3x", "4x", "year"]),
        ("**/*.parquet", 4, ["id", "city", "3x", "4x", "year"]),
        ("", 4, ["id", "city", "3x", "4x", "year"]),
        ("year=2024/part-0.parquet", 2, ["id", "city", "4x", "year"]),
        ("rows.jsonl", 2, ["a"]),
        ("rows.csv", 30_001, ["zip", "n"]),
    ],
)
def test_objects_are_read(store: Path, path: str, rows: int, columns: list[str]) -> None:
    source = open_source(f"file://{store}/{path}")
    with source.engine as engine:
        assert [column.name for column in source.columns] == columns
        assert engine.row(sql.select_count(source.relation), "count") == (rows,)
        assert engine.is_shared == ("parquet" in path or path == "")
        if path == "rows.csv":
            assert source.columns[0].family == "text"  # a zero leads in the last row


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
    for missing, says in (("none.parquet", "cannot be read"), ("x.duckdb", "is a database"), ("x.md", "neither")):
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


@pytest.mark.thorough
def test_an_address_that_gives_access_is_in_no_log_and_in_no_script(
    store: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The file has the signature in its name, since file:// knows no settings.
    real = (store / "rows.jsonl").rename(store / "rows.jsonl?sig=s3cret")
    monkeypatch.setattr(addresses, "_ONE_BY_ONE", {"file"})
    for command in (
        ("profile", f"file://{real}", "-v"),
        ("anonymize", f"file://{real}", "--qi", "a", "-k", "1", "--out", "out.csv", "-v"),
        ("anonymize", f"file://{real}", "--qi", "a", "-k", "1", "--out", "out.csv", "--sql=all"),
        ("anonymize", f"file://{real}", "--qi", "b", "--out", "out.csv"),
        ("profile", f"file://{real}".replace("rows", "none")),
    ):
        ended = kanon(*command)
        assert "s3cret" not in ended.out + ended.err
        assert ended.code == (0 if "none" not in command[1] and "b" not in command else ended.code), ended.err
    assert "sig=***" in kanon(*command[:1], f"file://{real}", "--sql").out + ended.err


def test_credentials_are_asked_for_where_no_secret_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 and Azure: by their own programs' chain, when the extension that knows it is there."""
    ran: list[str] = []
    there = {"aws", "httpfs"}
    monkeypatch.setattr(remote, "is_installed", lambda _, name: name in there)
    monkeypatch.setattr(remote, "load_extension", lambda *_: None)
    monkeypatch.setattr(DuckDBEngine, "run_unlogged", lambda _, statement: ran.append(render(statement, "duckdb")))
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "it's")
    for address in (
        "s3://b/x.parquet",
        "gs://b/x.parquet",
        "az://b/x.parquet",
        "https://h/x.parquet",
        "hf://x.parquet",
    ):
        with DuckDBEngine.in_memory() as engine:
            remote._access(engine, objects_at(address))  # noqa: SLF001 - what it runs needs the extension
    chain = "CREATE TEMPORARY SECRET kanon_access (TYPE {}, PROVIDER credential_chain{})"
    assert ran == [chain.format("s3", ""), chain.format("huggingface", "")]
    there.add("azure")
    with DuckDBEngine.in_memory() as engine:
        shown = remote._access(engine, objects_at("az://b/x.parquet"))  # noqa: SLF001 - as above
    assert ran[2] == chain.format("azure", ", ACCOUNT_NAME 'it''s'") == render(shown[1], "duckdb")
    for text in ran:
        duckdb.extract_statements(text)


def test_no_environment_is_changed(lite: Path, kanon: Callable[..., Ended]) -> None:
    before = dict(os.environ)
    kanon("profile", lite)
    kanon("profile", SERVER)
    assert {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"} == {
        key: value for key, value in before.items() if key != "PYTEST_CURRENT_TEST"
    }
