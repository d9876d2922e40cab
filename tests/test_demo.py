"""``kanon demo``: deterministic, skewed, with NULLs; and what it tells a person to type works."""

from __future__ import annotations

import hashlib
import re
import shlex
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

pytestmark = pytest.mark.usefixtures("in_tmp")


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
        _, *arguments = shlex.split(command.replace("\\\n", " "))
        assert kanon(*arguments).code == 0, command
    assert Path("admissions_k20.parquet").exists()
    # Run again it makes its own file anew.
    assert kanon("demo", "--rows", 10, "-k", 2).code == 0


def test_the_table_is_the_same_wherever_it_is_made(kanon: Callable[..., Ended]) -> None:
    """The first row follows from MD5 alone: worked out here without the package."""
    assert kanon("demo", "--rows", 2000, "--out", "one.duckdb", "-q").code == 0
    assert kanon("demo", "--rows", 1000, "--out", "two.duckdb", "-q").code == 0
    with duckdb.connect("one.duckdb", read_only=True) as one, duckdb.connect("two.duckdb", read_only=True) as two:
        assert one.table("admissions").limit(1000).fetchall() == two.table("admissions").fetchall()
        draw = int.from_bytes(hashlib.md5(b"stay 0").digest(), "little") >> 108  # noqa: S324 - no secret
        days = int(731 * draw / 1048576)
        (first,) = one.table("admissions").limit(1).fetchall()
        assert (first[4] - date(2023, 1, 1)).days == days


def test_it_is_skewed_and_has_nulls(kanon: Callable[..., Ended]) -> None:
    assert kanon("demo", "-q", "--format", "json").json["rows_in"] == 50_000
    with duckdb.connect("kanon_demo.duckdb", read_only=True) as connection:
        table = connection.table("admissions")
        assert table.columns == [
            "name", "birth_date", "sex", "zip", "admission_date", "department", "diagnosis", "cost",
        ]  # fmt: skip
        for column in ("birth_date", "sex", "zip", "diagnosis"):
            (share,) = table.aggregate(f"avg(CAST({column} IS NULL AS INTEGER))").fetchall()
            assert 0.001 < share[0] < 0.03, column
        zips = connection.execute("SELECT count(*) FROM admissions GROUP BY zip ORDER BY 1 DESC").fetchall()
        assert zips[0][0] > 20 * zips[len(zips) // 2][0]
        (people,) = connection.execute("SELECT count(DISTINCT (name, birth_date, sex, zip)) FROM admissions").fetchall()
        assert 39_000 < people[0] <= 40_000


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_tables_too_small_for_k(kanon: Callable[..., Ended], rows: int) -> None:
    ended = kanon("demo", "--rows", rows)
    assert ended.code == (0 if rows == 0 else 4)
    if rows:
        assert f"(it has {rows} rows)" in ended.err


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
