"""What a command line imports: nothing that it does not need. ``benchmarks/start.py`` measures the time."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from kanon_sql.cli.commands import COMMANDS, EXAMPLES, GROUPS
from kanon_sql.cli.main import root

if TYPE_CHECKING:
    from pathlib import Path

_RUN = """
import sys
from kanon_sql.cli.process import main
try:
    main()
except SystemExit as ended:
    with open("modules", "w") as file:
        file.write("\\n".join([str(ended.code or 0), *sys.modules]))
"""
HEAVY = {"duckdb", "sqlglot", "pandas", "rich", "pyarrow", "numpy"}


def modules_after(where: Path, *arguments: str, **environment: str) -> tuple[int, set[str]]:
    """Return the exit code of a command line in a process of its own, and what it had imported at its end."""
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _RUN, *arguments],
        cwd=where,
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
    )
    code, *modules = (where / "modules").read_text().split("\n")
    return int(code), set(modules)


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--version"], {*HEAVY, "typer"}),
        (["--help"], HEAVY),
        (["hierarchy", "--help"], HEAVY),
        (["anonymise"], HEAVY),
        (["--nothing"], HEAVY),
    ],
)
def test_what_needs_no_database_imports_none(tmp_path: Path, arguments: list[str], heavy: set[str]) -> None:
    """Fails on 0.1.0, which imports all of them, and every command."""
    code, modules = modules_after(tmp_path, *arguments)
    assert code == (0 if {"--version", "--help"} & set(arguments) else 2)
    assert modules & heavy == set()
    assert not {name for name in modules if name.startswith("kanon_sql.cli.commands.")}


def test_tab_offers_commands_without_importing_them(tmp_path: Path) -> None:
    tab = {"_KANON_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "kanon "}
    code, modules = modules_after(tmp_path, **tab)
    assert code == 0
    assert modules & (HEAVY - {"rich"}) == set()  # typer itself imports rich where a shell asks


@pytest.mark.thorough
def test_anonymize_imports_what_it_needs(tmp_path: Path) -> None:
    """Fails on 0.1.0, which imports Spark, attacks, budgets and reports."""
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i // 6 AS age FROM range(24) AS r(i)")
    code, modules = modules_after(
        tmp_path,
        *("anonymize", "a.duckdb", "--qi", "age", "--hierarchy", "age=flat", "--into", "released"),
        *("--temp-dir", str(tmp_path), "--threads", "1", "--time-limit", "60.5"),
    )
    assert code == 0
    unused = ("dp", "evidence", "engine.spark", "engine.postgres", "release.in_place", "risks", "hierarchy.suggest")
    assert not {
        name for name in modules if any(f"{name}.".startswith(f"kanon_sql.{unused_room}.") for unused_room in unused)
    }
    assert modules & {"pandas", "pyarrow", "numpy", "psycopg", "pyspark", "opendp", "pydantic"} == set()
    others = {path.partition(":")[0] for path, _ in COMMANDS.values()} - {"anonymize"}
    assert modules & {f"kanon_sql.cli.commands.{other}" for other in others} == set()


@pytest.mark.parametrize("path", COMMANDS)
def test_the_summary_of_a_command_is_its_docstring(path: str) -> None:
    group = root()
    *groups, name = path.split()
    for each in groups:
        group = group.get_command(None, each)
    command = group.get_command(None, name)
    assert command.help.split("\n\n")[0] == COMMANDS[path][1]
    assert command.name == name
    assert path in EXAMPLES


def test_groups_have_commands() -> None:
    assert {path.partition(" ")[0] for path in COMMANDS if " " in path} == set(GROUPS)
