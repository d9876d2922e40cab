"""The models of docs/how-to/dbt-model.md are what kanon prints, and run in plain DuckDB they are its release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

PAGE = REPOSITORY / "docs/how-to/dbt-model.md"
FILE = re.compile(r"^```sql file=(\w+)/(\w+)\.sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ kanon (anonymize .*) --sql$", re.MULTILINE)


def compiled(text: str) -> str:
    """Return what dbt makes of a model: its configuration taken out, and the names of relations put in."""
    text = re.sub(r"\{\{ config\(.*?\) \}\}\s*", "", text)
    return re.sub(r"\{\{ (?:ref|source)\((?:'\w+', )?'(\w+)'\) \}\}", r"\1", text).strip()


def files(directory: str) -> dict[str, str]:
    found = {name: compiled(text) for kind, name, text in FILE.findall(PAGE.read_text()) if kind == directory}
    assert all("{{" not in text for text in found.values())
    return found


def command(page: str) -> list[str]:
    [line] = COMMAND.findall(re.sub(r" \\\n\s*", " ", page))
    return str(line).split()


@pytest.mark.thorough
def test_dbt_makes_the_release_that_kanon_makes(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    assert kanon("demo", "--rows", 5000, "-q").code == 0
    arguments = command(PAGE.read_text())
    printed = kanon(*arguments, "--sql")
    models = files("models")
    assert list(models) == ["kanon_hierarchy_birth_date", "kanon_hierarchy_zip", "admissions_k5"]
    # dbt runs models in the order of their refs, which is that of the page; kanon's own release has another name
    with duckdb.connect(str(in_tmp / "kanon_demo.duckdb")) as connection:
        connection.execute("DROP TABLE admissions_k5")
        for name, text in models.items():
            assert f"TABLE {name} AS\n{text};" in printed.out, f"the page's {name} is not what kanon prints"
            connection.execute(f"CREATE TABLE {name} AS (\n{text}\n)")
        rows = connection.table("admissions_k5").fetchall()
        for name, text in files("tests").items():
            assert connection.execute(text).fetchall() == [], name
        connection.execute("ALTER TABLE admissions_k5 RENAME TO by_dbt")
    release = kanon(*arguments, "--format", "json")
    assert (release.code, release.json["rows_out"]) == (0, len(rows))
    with duckdb.connect(str(in_tmp / "kanon_demo.duckdb"), read_only=True) as connection:
        assert connection.table("admissions_k5").fetchall() == rows


@pytest.mark.thorough
def test_the_tests_of_the_page_find_what_they_are_for(in_tmp: Path) -> None:  # noqa: ARG001 - no file is left behind
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE admissions AS SELECT 1 AS birth_date FROM range(100)")
        connection.execute("CREATE TABLE admissions_k5 AS SELECT 1 AS birth_date, 2 AS sex, 3 AS zip FROM range(4)")
        found = {name: connection.execute(text).fetchall() for name, text in files("tests").items()}
    assert found == {"admissions_k5_is_5_anonymous": [(1, 2, 3)], "admissions_k5_keeps_its_rows": [(4, 100)]}


@pytest.mark.thorough
def test_a_hierarchy_that_was_built_to_a_file_is_a_seed(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    kanon("demo", "--rows", 500, "-q")
    kanon("hierarchy", "build", "kanon_demo.duckdb", "admissions", "department=flat", "--out", "department.csv")
    with duckdb.connect() as connection:
        path = str(in_tmp / "department.csv")
        seed = connection.read_csv(path, delimiter=";", dtype={"value": "VARCHAR"})
        assert seed.columns == ["value", "level_1"]
        assert (None, "*") in seed.fetchall()
