"""Every command that is printed to be typed next runs as it is printed, after everything that was typed before it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import duckdb
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

_COMMAND = re.compile(r"^ {2}(?:\S*/)?kanon ((?:.*\\\n)*.*)$", re.MULTILINE)


def suggested(ended: Ended) -> list[list[str]]:
    """Return the commands on lines of their own in what was printed, as a shell reads them."""
    found = _COMMAND.findall(f"{ended.out}\n{ended.err}")
    return [shlex.split(text.replace("\\\n", " ")) for text in found]


def make_people(path: Path, table: str) -> None:
    """Make a database with one table, of columns that everybody's words know."""
    with duckdb.connect(str(path)) as connection:
        name = '"' + table.replace('"', '""') + '"'
        connection.execute(f"CREATE TABLE {name} (name VARCHAR, age INTEGER, sex VARCHAR, diagnosis VARCHAR)")
        rows = [(f"Person {n}", 20 + n % 12, "FM"[n % 2], ["flu", "cough", "asthma"][n % 3]) for n in range(120)]
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)  # noqa: S608


@pytest.mark.parametrize(
    ("file", "table"), [("people.duckdb", "people"), ("人 and 'others'.duckdb", 'the "people\'s" $HOME; 表')]
)
def test_from_profile_to_report_every_suggestion_runs(
    in_tmp: Path, kanon: Callable[..., Ended], file: str, table: str
) -> None:
    """Profile -> init -> anonymize -> report: the printed command is what is typed, nothing else, twice through.

    Names have spaces, quotes, dollars and Chinese. Fails on 0.1.0: ``kanon report people.duckdb --policy kanon.toml``
    is ambiguous once anonymize has made a second table.
    """
    make_people(in_tmp / file, table)
    ended = kanon("profile", file)
    (init,) = suggested(ended)
    assert init[0] == "init"
    ended = kanon(*init)
    assert ended.code == 0, ended.err
    (anonymize,) = suggested(ended)
    ended = kanon(*anonymize)
    assert ended.code == 0, ended.err
    (report,) = suggested(ended)
    ended = kanon(*report)
    assert ended.code == 0, ended.err
    assert (in_tmp / "report.html").exists()
    # The same again: what is in the way is said with what to do about it, and the next suggestion takes a free name.
    refused = kanon(*anonymize)
    assert refused.code == 2
    assert "--replace" in refused.err
    ended = kanon(*anonymize, "--replace", "--ignore-ledger")
    assert ended.code == 0, ended.err
    (report,) = suggested(ended)
    assert kanon(*report).code == 0
    assert (in_tmp / "report_2.html").exists()
    # And from the start: a policy file that is there is not in the way.
    (init,) = suggested(kanon("profile", file, table))
    assert kanon(*init).code == 0


@pytest.mark.usefixtures("in_tmp")
def test_suggestions_of_the_demo_run(kanon: Callable[..., Ended]) -> None:
    """Each of the commands that ``kanon demo`` ends with, in their order."""
    ended = kanon("demo", "--rows", 3000, "--out", "sample data.duckdb")
    commands = suggested(ended)
    assert [words[0] for words in commands][:2] == ["check", "anonymize"]
    assert len(commands) >= 3
    for words in commands:
        ended = kanon(*words)
        assert ended.code == 0, (words, ended.err)
    (init,) = suggested(ended)  # of profile, which is the last
    assert kanon(*init).code == 0


@pytest.mark.usefixtures("in_tmp")
def test_suggestions_of_hierarchies_run(kanon: Callable[..., Ended]) -> None:
    """The query that lists missing values is printed by a command that names the table, also beside other tables."""
    with duckdb.connect("my data.duckdb") as connection:
        connection.execute('CREATE TABLE "home\'s" (state VARCHAR)')
        states = ["Ohio", "Texas", "Maine", "Utah", "Iowa", "Nowhere"] * 3
        connection.executemany('INSERT INTO "home\'s" VALUES (?)', [[state] for state in states])
    ended = kanon("hierarchy", "suggest", "my data.duckdb")
    assert ended.code == 0, ended.err
    (check,) = suggested(ended)
    with duckdb.connect("my data.duckdb") as connection:
        connection.execute("CREATE TABLE another (x INTEGER)")
    ended = kanon(*check)
    assert ended.code == 0, ended.err
