"""What a command line imports: nothing that it does not need. ``benchmarks/start.py`` measures the time."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from kanon_sql.cli.commands import COMMANDS, EXAMPLES, GROUPS
from kanon_sql.cli.main import root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RUN = """
import json, os, sys
from kanon_sql.cli.process import main
for number, (arguments, environment) in enumerate(json.loads(sys.argv[1])):
    if os.fork() == 0:
        sys.argv[1:] = arguments
        os.environ.update(environment)
        try:
            main()
        except SystemExit as ended:
            with open(f"modules{number}", "w") as file:
                file.write("\\n".join([str(ended.code or 0), *sys.modules]))
        os._exit(0)
    os.wait()
"""
HEAVY = {"duckdb", "sqlglot", "pandas", "rich", "pyarrow", "numpy"}
NO_DATABASE = [
    (["--version"], {}, 0, {*HEAVY, "typer"}),
    (["--help"], {}, 0, HEAVY),
    (["hierarchy", "--help"], {}, 0, HEAVY),
    (["anonymise"], {}, 2, HEAVY),
    (["--nothing"], {}, 2, HEAVY),
    # For Tab, typer itself imports rich.
    ([], {"_KANON_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "kanon "}, 0, HEAVY - {"rich"}),
]
"""Command lines with what is set in their environment, their exit codes and what they must not import."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")


def modules_after(where: Path, *lines: tuple[list[str], dict[str, str]]) -> Iterator[tuple[int, set[str]]]:
    """Yield the exit code of command lines, and what each had imported at its end.

    One process is started, which imports nothing but the beginning, and each line is done in a fork of it.
    """
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _RUN, json.dumps(lines)], cwd=where, capture_output=True, check=True
    )
    for number in range(len(lines)):
        code, *modules = (where / f"modules{number}").read_text().split("\n")
        yield int(code), set(modules)


def test_what_needs_no_database_imports_none(tmp_path: Path) -> None:
    """Fails on 0.1.0, which imports all of them, and every command."""
    found = modules_after(tmp_path, *((arguments, environment) for arguments, environment, *_ in NO_DATABASE))
    for (arguments, _, expected, heavy), (code, modules) in zip(NO_DATABASE, found, strict=True):
        assert code == expected, arguments
        assert modules & heavy == set(), arguments
        assert not {name for name in modules if name.startswith("kanon_sql.cli.commands.")}, arguments


@pytest.mark.thorough
def test_anonymize_imports_what_it_needs(tmp_path: Path) -> None:
    """Fails on 0.1.0, which imports Spark, attacks, budgets and reports."""
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i // 6 AS age FROM range(24) AS r(i)")
    line = [
        *("anonymize", "a.duckdb", "--qi", "age", "--hierarchy", "age=flat", "--into", "released"),
        *("--temp-dir", str(tmp_path), "--threads", "1", "--time-limit", "60.5"),
    ]
    ((code, modules),) = modules_after(tmp_path, (line, {}))
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
