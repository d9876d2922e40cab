"""No command prints a control character of a name: it could move the cursor, or rewrite what a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from needs import needs

from kanon_sql.cli.main import root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import click
    from conftest import Ended

EVIL = "\x1b[2Ka\x9b\u202e"
"""Begins with what clears a line of a terminal; ends with what turns the writing."""
QI, ILL, ID, TABLE = f"q{EVIL}", f"ill{EVIL}", f"id{EVIL}", f"t{EVIL}"
ROLES = ["--qi", QI, "-k", "3"]
COMMANDS: dict[str, list[str]] = {
    "profile": ["{db}", TABLE],
    "init": ["{db}", TABLE, "--out", "{dir}/k.toml"],
    "anonymize": [
        *("{db}", TABLE, *ROLES, "--id", ID, "--sensitive", ILL, "--l", "2", "--choice", "greedy"),
        *("--into", f"n{EVIL}"),
    ],
    "apply": ["{dir}/k.lock", TABLE, "--append", f"n{EVIL}", "--again", "--dry-run"],
    "check": ["{db}", TABLE, *ROLES, "--id", ID, "--sensitive", ILL, "--l", "2", "--standard", "wp216"],
    "measure": ["{db}", TABLE, "--original", TABLE, *ROLES, "--utility", "--target", ILL],
    "known": ["{db}", TABLE, *ROLES],
    "attack": ["{db}", TABLE, "--original", TABLE, *ROLES, "--sensitive", ILL, "--other", TABLE],
    "report": ["{db}", TABLE, *ROLES, "--id", ID, "--sensitive", ILL, "--out", "{dir}/r.html"],
    "ledger": ["{db}"],
    "clean": ["{db}", "--drop", f"dropped{EVIL}"],
    "lattice": ["{db}", TABLE, *ROLES],
    "compare": ["{db}", TABLE, *ROLES, "--algorithm", "optimal"],
    "hierarchy list": ["{db}"],
    "hierarchy show": ["{db}", QI],
    "hierarchy check": ["{db}", TABLE, "--hierarchy", f"{QI}=intervals:2,4"],
    "hierarchy suggest": ["{db}", TABLE],
    "hierarchy load": ["{db}", TABLE, f"{QI}={{dir}}/{{file}}.csv"],
    "hierarchy build": ["{db}", TABLE, f"{QI}=intervals:2,4"],
    "hierarchy export": ["{db}", TABLE, f"{QI}=intervals:2,4", "--out", "{dir}/h.csv"],
    "dp budget": ["{db}", TABLE, "--epsilon", "9", "--entity", ID],
    "dp count": ["{db}", TABLE, "--epsilon", "1"],
    "dp sum": ["{db}", TABLE, "--column", QI, "--epsilon", "1", "--bounds", "0,9"],
    "dp mean": ["{db}", TABLE, "--column", QI, "--epsilon", "1", "--bounds", "0,9"],
    "dp quantile": ["{db}", TABLE, "--column", QI, "--epsilon", "1", "--bounds", "0,9", "--quantile", "0.5"],
    "dp histogram": ["{db}", TABLE, "--column", ILL, "--epsilon", "1", "--keys", f"{EVIL},b"],
    "dp most-frequent": ["{db}", TABLE, "--column", ILL, "--epsilon", "1", "--keys", f"{EVIL},b"],
    "dp release": [
        *("{db}", TABLE, "--qi", QI, "--hierarchy", f"{QI}=intervals:2,4", "--levels", f"{QI}=2"),
        *("--epsilon", "1", "--delta", "0.5", "--out", "{dir}/dp.csv"),
    ],
}
NOTHING_NAMED = {"demo", "explore", "settings"}
"""Commands that are given no name of a table or column, or print none: for its pages there is tests/explore."""


def commands(group: click.Group, before: str = "") -> Iterator[str]:
    """Return the names of all commands of the program."""
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        yield from commands(command, f"{before}{name} ") if inner else [f"{before}{name}"]


def test_every_command_is_here() -> None:
    assert set(commands(root())) - NOTHING_NAMED == set(COMMANDS)


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_no_control_character_of_a_name_is_printed(tmp_path: Path, kanon: Callable[..., Ended], command: str) -> None:
    """Fails on 0.1.0 for ``attack``: the name of a column is printed as it is, and clears the line it stands in."""
    if command.startswith("dp "):
        needs("opendp")
    path = tmp_path / "evil.duckdb"
    with duckdb.connect(str(path)) as connection:
        rows = connection.sql("SELECT i AS id, i // 6 AS qi, ['b', 'c'][1 + i % 2] AS ill FROM range(24) AS r(i)")
        rows.project(f'id AS "{ID}", qi AS "{QI}", ill AS "{ILL}"').create(f'"{TABLE}"')
        connection.execute(f'CREATE TABLE "dropped{EVIL}" AS SELECT 1 AS a')
    name = f"x{EVIL}"
    (tmp_path / f"{name}.csv").write_text("0,*\n1,*\n2,*\n3,*\n")
    if command == "apply":
        lock = ("--into", f"n{EVIL}", "--lock", tmp_path / "k.lock")
        assert kanon("anonymize", path, TABLE, *ROLES, "--rest", "drop", *lock).code == 0
    if command in {"hierarchy show", "hierarchy list"}:
        assert kanon("hierarchy", "build", path, TABLE, f"{QI}=intervals:2,4").code == 0
    if command == "ledger":
        assert kanon("anonymize", path, TABLE, *ROLES, "--rest", "drop", "--into", f"n{EVIL}").code == 0
    places = {"{db}": str(path), "{dir}": str(tmp_path), "{file}": name}
    arguments = []
    for argument in COMMANDS[command]:
        for place, given in places.items():
            argument = argument.replace(place, given)  # noqa: PLW2901 - the argument as it is typed
        arguments.append(argument)
    ended = kanon(*command.split(), *arguments, "-v" if command not in {"ledger", "hierarchy list"} else "-q")
    assert ended.code in {0, 1}, ended.err
    for character in "\x1b\x9b\u202e":
        assert character not in ended.out + ended.err
    if command != "hierarchy list":
        assert r"\x1b" in ended.out + ended.err, ended.out
