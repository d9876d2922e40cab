"""``kanon demo``: deterministic, skewed, with NULLs; and what it tells a person to type works."""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import files_in, tables_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

pytestmark = pytest.mark.usefixtures("in_tmp")


@pytest.mark.thorough
def test_it_shows_what_happened_and_what_to_type_next(kanon: Callable[..., Ended]) -> None:
    ended = kanon("demo", "--rows", 3000)
    assert ended.code == 0
    for words in (
        "kanon_demo.duckdb has a table of hospital admissions. Nobody in it exists.",
        "Some rows of admissions_k5",
        "3,000 in",
        "k = 5 holds in the output",
        "proven optimal",
        "The release is the table admissions_k5 in kanon_demo.duckdb",
    ):
        assert words in ended.out, words
    commands = re.findall(r"^  (kanon (?:.*\\\n)*.*)$", ended.out, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        assert typed(kanon, command).code == 0, command
    assert Path("admissions_k20.parquet").exists()
    # Run again it makes its own file anew.
    assert kanon("demo", "--rows", 10, "-k", 2).code == 0


def typed(kanon: Callable[..., Ended], command: str) -> Ended:
    """Return how a command ends that the demo tells a person to type."""
    _, *arguments = shlex.split(command.replace("\\\n", " "))
    return kanon(*arguments)


@pytest.mark.thorough
def test_what_it_tells_to_type_is_about_the_release_that_it_made(kanon: Callable[..., Ended]) -> None:
    ended = kanon("demo", "--rows", 3000, "-k", 10, "--out", "it's a demo.duckdb")
    assert ended.code == 0
    assert "The release is the table admissions_k10 in it's a demo.duckdb" in ended.out
    check, show, stricter, _ = re.findall(r"^  (kanon (?:.*\\\n)*.*)$", ended.out, re.MULTILINE)
    assert typed(kanon, check).code == 0
    assert "k = 10 holds" in typed(kanon, check).out
    assert typed(kanon, stricter).code == 0
    script = typed(kanon, show).out
    with duckdb.connect("it's a demo.duckdb") as connection:
        again = connection.execute(script).fetchall()
        assert connection.table("admissions_k10").fetchall() == again


@pytest.mark.thorough
def test_a_file_of_its_own_is_lost_only_to_a_new_one(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    assert kanon("demo", "--rows", 300, "-q").code == 0
    made, files = tables_of(Path("kanon_demo.duckdb")), files_in(in_tmp)
    for arguments, code in ((("--rows", 100_000_001), 2), (("--rows", 4), 4), (("--rows", 300, "-k", 400), 4)):
        assert kanon("demo", *arguments).code == code
        assert files_in(in_tmp) == files
        assert tables_of(Path("kanon_demo.duckdb")) == made
    assert kanon("demo", "--rows", 300, "-q").code == 0
    assert tables_of(Path("kanon_demo.duckdb")) == made


@pytest.mark.thorough
@pytest.mark.parametrize("mine", ["CREATE TABLE mine AS SELECT 1 AS a", "CREATE VIEW mine AS FROM admissions"])
def test_tables_of_the_person_are_not_lost_unless_she_says_so(kanon: Callable[..., Ended], mine: str) -> None:
    assert kanon("demo", "--rows", 300, "-q").code == 0
    with duckdb.connect("kanon_demo.duckdb") as connection:
        connection.execute(mine)
    ended = kanon("demo", "--rows", 300)
    assert ended.code == 2
    assert "tables that kanon demo did not make, and would lose them: mine." in ended.err
    with duckdb.connect("kanon_demo.duckdb", read_only=True) as connection:
        assert connection.table("mine").fetchall()
    assert kanon("demo", "--rows", 300, "--replace", "-q").code == 0
    assert "main.mine" not in tables_of(Path("kanon_demo.duckdb"))


def test_what_it_did_not_make_it_never_replaces(kanon: Callable[..., Ended], clinic: Path) -> None:
    before = tables_of(clinic)
    Path("notes.txt").write_text("mine", encoding="utf-8")
    Path("folder").mkdir()
    for path in (clinic, "notes.txt", "folder"):
        ended = kanon("demo", "--rows", 300, "--replace", "--out", path)
        assert ended.code == 2
        assert "was not made by kanon demo" in ended.err
    assert tables_of(clinic) == before
    assert Path("notes.txt").read_text(encoding="utf-8") == "mine"
    nowhere = kanon("demo", "--rows", 300, "--out", "nowhere/demo.duckdb")
    assert nowhere.code == 3
    assert "The directory nowhere does not exist." in nowhere.err


@pytest.mark.thorough
@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_no_stump(kanon: Callable[..., Ended], in_tmp: Path, there: bool) -> None:
    resource = pytest.importorskip("resource")
    if there:
        assert kanon("demo", "--rows", 300, "-q").code == 0
    before = tables_of(Path("kanon_demo.duckdb")) if there else None
    ended = subprocess.run(
        [sys.executable, "-m", "kanon_sql", "demo"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr
    assert files_in(in_tmp) == ({"kanon_demo.duckdb"} if there else set())
    if there:
        assert tables_of(Path("kanon_demo.duckdb")) == before


@pytest.mark.thorough
@pytest.mark.parametrize("which", ["--sql", "--sql=all"])
@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_no_other_dialect_gets_what_only_duckdb_understands(
    kanon: Callable[..., Ended], dialect: str, which: str
) -> None:
    ended = kanon("demo", "--rows", 300, which, "--dialect", dialect)
    assert ended.code == 0
    assert "MD5_NUMBER" not in ended.out
    assert ended.out.startswith("-- The table admissions is DuckDB's")
    assert kanon("demo", "--rows", 300, which).out.upper().count("CREATE TABLE ADMISSIONS AS") == 1


@pytest.mark.thorough
def test_the_table_is_the_same_wherever_it_is_made(kanon: Callable[..., Ended]) -> None:
    """The first row follows from MD5 alone: worked out here without the package."""
    assert kanon("demo", "--rows", 2000, "--out", "one.duckdb", "-q").code == 0
    assert kanon("demo", "--rows", 1000, "--out", "two.duckdb", "-q").code == 0
    with duckdb.connect("one.duckdb", read_only=True) as one, duckdb.connect("two.duckdb", read_only=True) as two:
        assert one.table("admissions").limit(1000).fetchall() == two.table("admissions").fetchall()
        draw = int.from_bytes(hashlib.md5(b"stay 0").digest(), "little") >> 108  # noqa: S324 - no secret
        days = int(731 * draw / 1048576)
        (first,) = one.table("admissions").limit(1).fetchall()
        assert (first[5] - date(2023, 1, 1)).days == days


@pytest.mark.thorough
def test_it_is_skewed_and_has_nulls(kanon: Callable[..., Ended]) -> None:
    assert kanon("demo", "-q", "--format", "json").json["rows_in"] == 50_000
    with duckdb.connect("kanon_demo.duckdb", read_only=True) as connection:
        table = connection.table("admissions")
        assert table.columns == [
            "patient_id", "name", "birth_date", "sex", "zip", "admission_date", "department", "diagnosis", "cost",
        ]  # fmt: skip
        for column in ("birth_date", "sex", "zip", "diagnosis"):
            (share,) = table.aggregate(f"avg(CAST({column} IS NULL AS INTEGER))").fetchall()
            assert 0.001 < share[0] < 0.03, column
        zips = connection.execute("SELECT count(*) FROM admissions GROUP BY zip ORDER BY 1 DESC").fetchall()
        assert zips[0][0] > 20 * zips[len(zips) // 2][0]
        (people,) = connection.execute("SELECT count(DISTINCT (name, birth_date, sex, zip)) FROM admissions").fetchall()
        assert 39_000 < people[0] <= 40_000
        (named,) = connection.execute("SELECT count(DISTINCT patient_id) FROM admissions").fetchall()
        assert named == (40_000,)


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_tables_too_small_for_k(kanon: Callable[..., Ended], rows: int) -> None:
    ended = kanon("demo", "--rows", rows)
    assert ended.code == (0 if rows == 0 else 4)
    if rows:
        assert f"(it has {rows} {'row' if rows == 1 else 'rows'})" in ended.err


@pytest.mark.thorough
def test_its_sql_is_a_script_from_nothing_to_the_release(kanon: Callable[..., Ended]) -> None:
    script = kanon("demo", "--rows", 500, "--sql")
    assert script.code == 0
    assert not Path("kanon_demo.duckdb").exists()
    made = kanon("demo", "--rows", 500, "--format", "json").json
    with duckdb.connect() as connection:
        connection.execute(script.out).fetchall()
        rows = connection.table("admissions_k5").fetchall()
    with duckdb.connect("kanon_demo.duckdb", read_only=True) as connection:
        assert connection.table("admissions_k5").fetchall() == rows
    assert len(rows) == made["rows_out"]
