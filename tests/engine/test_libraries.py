"""Files that a library reads: SQLite by Python, and SPSS, Stata and SAS by pyreadstat."""

from __future__ import annotations

import datetime as dt
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from needs import needs

from kanon_sql.engine.sources.layout import DataFile
from kanon_sql.engine.sources.lines import write_lines
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

TABLES = """
CREATE TABLE patients (id INTEGER PRIMARY KEY, "first name" TEXT, born DATE, seen DATETIME, cost NUMERIC, ok BOOLEAN,
    photo BLOB, mixed, never TEXT);
INSERT INTO patients VALUES (1, 'Ada', '1815-12-10', '2024-01-02 10:00:00', 1.5, 1, X'00ff', 7, NULL),
    (2, '', 'unknown', '2024-01-02', 2, 0, NULL, 'x', NULL), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE VIEW old AS SELECT id, born FROM patients WHERE id < 2;
"""


def read(source: Any, table: str | None = None) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    opened = open_source(source, table)
    with opened.engine:
        types = {column.name: column.type for column in opened.columns}
        return types, opened.engine.connection.execute(f"FROM {opened.relation.sql('duckdb')}").fetchall()


@pytest.fixture
def clinic(in_tmp: Path) -> Path:
    path = in_tmp / "clinic.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
    return path


def test_a_column_has_the_type_of_its_values(clinic: Path) -> None:
    types, rows = read(clinic, "patients")
    assert types == {
        "id": "BIGINT",
        "first name": "VARCHAR",
        "born": "VARCHAR",  # one text is no date
        "seen": "TIMESTAMP",
        "cost": "DOUBLE",
        "ok": "BIGINT",
        "photo": "BLOB",
        "mixed": "VARCHAR",
        "never": "VARCHAR",
    }
    moment = dt.datetime(2024, 1, 2, 10)
    assert rows[0] == (1, "Ada", "1815-12-10", moment, 1.5, 1, b"\x00\xff", "7", None)
    assert rows[1] == (2, None, "unknown", dt.datetime(2024, 1, 2), 2.0, 0, None, "x", None)
    assert rows[2] == (3, *(None,) * 8)
    assert read(clinic, "old") == ({"id": "BIGINT", "born": "DATE"}, [(1, dt.date(1815, 12, 10))])


def test_tables_are_named_and_other_files_are_refused(clinic: Path, in_tmp: Path) -> None:
    with pytest.raises(UsageError, match=r"2 tables and views: name the one to use\. There: patients, old"):
        read(clinic)
    with pytest.raises(UsageError, match="has no table or view 'ward'"):
        read(f"sqlite:{clinic}", "ward")
    (in_tmp / "torn.sqlite").write_bytes(clinic.read_bytes()[:300])
    with pytest.raises(SourceError, match="cannot be read as an SQLite database"):
        read(in_tmp / "torn.sqlite", "patients")


def test_the_script_of_an_sqlite_table_can_be_run(clinic: Path, in_tmp: Path) -> None:
    opened = open_source("clinic.sqlite", "old")
    with opened.engine:
        text = script(opened.setup, "duckdb")
    assert "write the rows of clinic.sqlite as lines of JSON" in text
    write_lines(clinic, in_tmp / "clinic.sqlite.jsonl", DataFile("x", format="sqlite", sheet="old").layout)
    with closing(duckdb.connect()) as plain:
        plain.execute(text)
        assert plain.execute("FROM kanon_source").fetchall() == [(1, dt.date(1815, 12, 10))]


def test_a_release_of_an_sqlite_table(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("anonymize", clinic, "patients", "--qi", "ok", "--rest", "drop", "-k", 1, "--out", "o.csv")
    assert ended.code == 0, ended.err
    assert len((in_tmp / "o.csv").read_text(encoding="utf-8").splitlines()) == 4


FRAME = pd.DataFrame({"age": [31.0, 32.5, None], "sex": [1.0, 2.0, 1.0], "town": ["Ulm", "", "Bonn"]})


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["sav", "dta", "por", "xpt"])
def test_files_of_statistics_programs(suffix: str, in_tmp: Path) -> None:
    pyreadstat = needs("pyreadstat")
    write = {"sav": "write_sav", "dta": "write_dta", "por": "write_por", "xpt": "write_xport"}[suffix]
    labels = {"variable_value_labels": {"sex": {1: "male", 2: "female"}}} if suffix in {"sav", "dta"} else {}
    getattr(pyreadstat, write)(FRAME, str(in_tmp / f"t.{suffix}"), **labels)
    types, rows = read(f"t.{suffix}")
    assert [name.lower() for name in types] == ["age", "sex", "town"]
    assert list(types.values()) == ["DOUBLE", "BIGINT", "VARCHAR"]
    assert rows == [(31.0, 1, "Ulm"), (32.5, 2, None), (None, 1, "Bonn")]
    if labels:
        assert [row[1] for row in read(DataFile(f"t.{suffix}", labels=True))[1]] == ["male", "female", "male"]


@pytest.mark.thorough
def test_without_pyreadstat_it_says_what_to_install(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (in_tmp / "t.sav").write_bytes(b"$FL2")
    with pytest.raises(SourceError, match=r"t\.sav cannot be read as \.sav"):
        read("t.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(UsageError, match=r"pip install 'kanon-sql\[stats\]'"):
        read("t.sav")
