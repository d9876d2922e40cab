"""kanon hierarchy: mistakes are said and end with their exit code, and leave everything as it was."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import files_in, tables_of
from each import each
from rows import create_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

FLAT = "anonymize clinic.duckdb --qi sex --rest drop --into x"


@pytest.mark.thorough
@each(
    ("line", "code", "says"),
    [
        ("check clinic.duckdb --hierarchy zipp=flat", 2, "column 'zipp', which patients does not have"),
        ("check clinic.duckdb --qi sex --hierarchy zip=flat", 2, "'zip', which is not among those of --qi"),
        ("check clinic.duckdb --hierarchies nowhere", 3, "There is no directory"),
        ("check clinic.duckdb --hierarchy zip=none.csv", 3, "none.csv does not exist"),
        ("check clinic.duckdb --hierarchy zip=dates:year", 2, "Rules are: intervals:5,10"),
        ("show ready:us_state foo", 2, "A file holds one hierarchy: leave 'foo' out"),
        ("show one.csv foo", 2, "A file holds one hierarchy: leave 'foo' out"),
        ("show ready:atlantis", 2, "no ready-made hierarchy"),
        ("show clinic.duckdb name", 3, "kanon.hierarchy_name does not have the columns of a hierarchy"),
        ("list one.csv", 2, "neither a database nor a directory: kanon hierarchy show"),
        ("list nowhere", 3, "nowhere does not exist"),
        ("list . --sql", 2, "--sql is for a database"),
        ("list clinic.duckdb --sql --dialect postgres", 2, "the catalogs of DuckDB"),
        ("build clinic.duckdb zip=mask --out zip.parquet", 2, "a file whose name ends in .csv, not zip.parquet"),
        ("build clinic.duckdb zip=mask --out .", 2, "a file whose name ends in .csv"),
        ("build clinic.duckdb zip=mask ZIP=flat", 2, "names column 'ZIP' twice"),
        ("build clinic.duckdb zip=Flat", 2, "neither a rule nor a file"),
        ("build clinic.duckdb zip=intervals:5", 3, "cast the column to a number type"),
        ("build clinic.duckdb age=intervals:inf", 2, "must be finite"),
        ("build clinic.duckdb zip=mask --sql --format json", 2, "--format json"),
        ("load clinic.duckdb zip=one.csv --dialect spark", 2, "--dialect is for the SQL"),
        ("list --sql --format json", 2, "--format json"),
        ("list --dialect postgres", 2, "add --sql"),
        ("show ready:us_state -q -v", 2, "leave one of them out"),
        ("check clinic.duckdb --dialect postgres", 2, "add --sql"),
    ],
    quick=12,
)
def test_mistakes(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended], line: str, code: int, says: str) -> None:
    (in_tmp / "one.csv").write_text("a;*\nb;*\n", encoding="utf-8")
    clinic = Path(shutil.copy(clinic, in_tmp))
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE SCHEMA kanon").execute("CREATE TABLE kanon.hierarchy_name (x INTEGER)")
    before, files = tables_of(clinic), files_in(in_tmp)
    ended = kanon("hierarchy", *shlex.split(line))
    assert ended.code == code, ended.err
    assert says in ended.err
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1
    assert tables_of(clinic) == before
    assert files_in(in_tmp) == files


@pytest.mark.usefixtures("clinic", "in_tmp")
def test_a_column_is_named_once_in_whatever_case(kanon: Callable[..., Ended]) -> None:
    ended = kanon(*FLAT.split(), "--hierarchy", "sex=flat", "--hierarchy", "SEX=mask")
    assert ended.code == 2
    assert "--hierarchy names column 'SEX' twice" in ended.err
    found = kanon("hierarchy", "check", "clinic.duckdb", "--hierarchy", "ZIP=flat", "--format", "json")
    assert found.code == 0
    assert [(fit["column"], fit["origin"], fit["problem"]) for fit in found.json] == [("zip", "flat", None)]


@pytest.mark.usefixtures("in_tmp")
def test_what_is_no_hierarchy_does_not_hide_the_others(
    clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]
) -> None:
    directory = tmp_path / "trees"
    directory.mkdir()
    for name, text in [("a.csv", "only one field\n"), ("b.csv", "x;*\ny;*\n"), ("c.CSV", "x;*\n")]:
        (directory / name).write_text(text, encoding="utf-8")
    ended = kanon("hierarchy", "list", directory, "--format", "json")
    assert ended.code == 0
    assert [found["name"] for found in ended.json] == ["b", "c"]
    assert "left out: " in ended.err
    assert "a.csv has one field per line" in ended.err
    assert kanon("hierarchy", "build", clinic, "sex=flat").code == 0
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE kanon.hierarchy_age (x INTEGER)")
    ended = kanon("hierarchy", "list", clinic, "--format", "json")
    assert [found["name"] for found in ended.json] == ["sex"]
    assert "kanon.hierarchy_age does not have the columns of a hierarchy" in ended.err


@pytest.mark.thorough
@pytest.mark.parametrize("columns", ["x INTEGER", "value INTEGER", "level_1 VARCHAR", "value INTEGER, level_2 VARCHAR"])
@pytest.mark.usefixtures("in_tmp")
def test_a_table_in_the_place_of_a_hierarchy_that_is_none(
    clinic: Path, kanon: Callable[..., Ended], columns: str
) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE SCHEMA kanon").execute("CREATE TABLE kanon.hierarchy_age (" + columns + ")")
    ended = kanon("anonymize", clinic, "--qi", "age", "--rest", "drop", "--out", "a.csv")
    assert ended.code == 3
    assert "Table kanon.hierarchy_age does not have the columns of a hierarchy" in ended.err
    fit = kanon("hierarchy", "check", clinic, "--format", "json")
    assert fit.code == 1
    assert (fit.json[0]["column"], fit.json[0]["values_missing"]) == ("age", None)
    assert "does not have the columns" in kanon("hierarchy", "check", clinic).out
    # A hierarchy that is given goes before it, and --replace puts one there.
    assert kanon("anonymize", clinic, "--qi", "age", "--rest", "drop", "--sql", "--hierarchy", "age=flat").code == 0
    assert kanon("hierarchy", "build", clinic, "age=flat", "--replace").code == 0
    assert kanon("hierarchy", "check", clinic).code == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_stored_hierarchy_is_to_be_built_again_when_values_came(clinic: Path, kanon: Callable[..., Ended]) -> None:
    assert kanon("hierarchy", "build", clinic, "zip=mask").code == 0
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("UPDATE patients SET zip = '54321' WHERE id < 3")
    ended = kanon("hierarchy", "check", clinic)
    assert ended.code == 1
    assert (
        "has no row for 1 value of the column (3 rows of the table). It is in the database: build it again"
        in " ".join(ended.out.split())
    )
    assert "--replace" in ended.out
    assert "Add a line" not in ended.out
    assert kanon("hierarchy", "build", clinic, "zip=mask", "--replace").code == 0
    assert kanon("hierarchy", "check", clinic).code == 0


@pytest.mark.thorough
def test_names_that_differ_for_duckdb_have_hierarchies_of_their_own(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """DuckDB regards case of ASCII letters only: these are two columns each, and two tables each."""
    names = ["straße", "strasse", "É", "é"]
    with duckdb.connect("odd.duckdb") as connection:
        create_table(connection, "t", {name: ("BIGINT", [0, 1] * 10) for name in names})
    assert kanon("hierarchy", "build", "odd.duckdb", "straße=flat", "É=intervals:2").code == 0
    assert kanon("hierarchy", "build", "odd.duckdb", "strasse=flat", "é=flat").code == 0
    listed = kanon("hierarchy", "list", "odd.duckdb", "--format", "json").json
    assert {found["name"]: found["origin"] for found in listed} == {
        **dict.fromkeys(names, "flat"),
        "É": "intervals:2",
    }
    directory = in_tmp / "trees"
    directory.mkdir()
    (directory / "strasse.csv").write_text("0;*\n1;*\n", encoding="utf-8")
    found = kanon("hierarchy", "check", "odd.duckdb", "--hierarchies", directory, "--format", "json").json
    origins = {fit["column"]: fit["origin"] for fit in found}
    assert origins["straße"] == "flat"
    assert origins["strasse"].endswith("strasse.csv")
