"""Every command that is printed to be typed next runs as it is printed, after everything that was typed before it."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from needs import needs

import kanon_sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

_COMMAND = re.compile(r"^ {2}(?:\S*/)?kanon ((?:.*\\\n)*.*)$", re.MULTILINE)
_NAMED_COMMAND = re.compile(r"\bkanon ((?:dp|hierarchy) [a-z-]+|[a-z-]+)")
_NO_COMMANDS = {"kanon list", "kanon do", "kanon reads", "kanon that"}  # in schema kanon list ..., let kanon do that
_NAMED_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


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
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)  # noqa: S608 - names and numbers of this test


@pytest.mark.thorough
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
    # A table beside which there are only releases of it need not be named.
    assert kanon("report", file, "--policy", "kanon.toml", "--out", "unnamed.md").code == 0
    assert kanon("check", file, "--policy", "kanon.toml").code == 2  # which of the two is meant
    ended = kanon(*anonymize, "--replace")
    assert ended.code == 0, ended.err
    (report,) = suggested(ended)
    assert kanon(*report).code == 0
    assert (in_tmp / "report_2.html").exists()
    # And from the start: a policy file that is there is not in the way.
    (init,) = suggested(kanon("profile", file, table))
    assert kanon(*init).code == 0


@pytest.mark.thorough
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


@pytest.mark.thorough
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
    ended = kanon(*check[:-1])  # without --sql: what is missing, and the same command for what lists it
    assert ended.code == 1
    assert suggested(ended) == [check]


OPTIONS_OF_DESTINATIONS = {
    "table": ["--into", "ein Ergebnis; für's Haus"],
    "view": ["--into", "a view", "--as", "view"],
    "file": ["--out", "re lease's.csv"],
    "database": ["--out", "other $(x).duckdb"],
    "in place": ["--in-place", "--backup", "before it.duckdb"],
}


@pytest.mark.thorough
@pytest.mark.parametrize("destination", ["table", "view", "file", "database", "in place"])
def test_suggestions_of_every_destination_run(in_tmp: Path, kanon: Callable[..., Ended], destination: str) -> None:
    """Where the policy puts the release: what comes next runs, and so does the same again, with what the refusal says.

    Fails on 0.1.0: the table that is left out is ambiguous once there is a release.
    """
    make_people(in_tmp / "my people.duckdb", "people")
    asked = ["--qi", "age,sex", "--hierarchy", "age=ready:age", "--rest", "drop", "-k", "5"]
    where = OPTIONS_OF_DESTINATIONS[destination]
    policy = ["--save-policy", "my kanon.toml"]
    ended = kanon("anonymize", "my people.duckdb", *asked, *where, *policy)
    assert ended.code == 0, ended.err
    assert suggested(ended) == []  # a report needs what was asked, which no file has
    if destination == "in place":
        return
    again = ["anonymize", "my people.duckdb", "--policy", "my kanon.toml"]
    ended = kanon(*again)
    assert (ended.code, "--replace" in ended.err) == (2, True), ended.err
    ended = kanon(*again, "--replace")
    assert ended.code == 0, ended.err
    (report,) = suggested(ended)
    ended = kanon(*report)
    assert ended.code == 0, ended.err
    assert (in_tmp / "report.html").exists()
    assert "not published yet" not in ended.out


@pytest.mark.thorough
def test_what_profile_was_told_is_told_to_init(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Roles that a person gave to profile are in the command that it prints. Fails on 0.1.0: they are lost."""
    make_people(in_tmp / "people.duckdb", "people")
    said = ["--qi", "age", "--sensitive", "sex,diagnosis", "--entity", "name", "--sample", "0"]
    (init,) = suggested(kanon("profile", "people.duckdb", *said))
    assert [word for word in said if word not in init] == []
    ended = kanon(*init)
    assert ended.code == 0, ended.err
    text = (in_tmp / "kanon.toml").read_text()
    assert 'entity = "name"' in text
    (anonymize,) = suggested(ended)
    assert kanon(*anonymize).code == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
@pytest.mark.parametrize("entity", ["patient id", "PATIENT"])
def test_people_of_several_rows_end_in_a_release(kanon: Callable[..., Ended], entity: str) -> None:
    """Each person has three rows: profile, init and anonymize agree on what is to be done, and it works.

    A number of a person is proposed as the entity.
    """
    with duckdb.connect("visits.duckdb") as connection:
        connection.execute("CREATE TABLE visits (person VARCHAR, birth_date DATE, sex VARCHAR, ward VARCHAR)")
        connection.execute(
            "INSERT INTO visits SELECT 'P' || (i % 100), DATE '1970-01-01' + (i % 100)::INTEGER, "
            "CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END, 'ward ' || i % 7 FROM range(300) AS numbers(i)"
        )
        connection.execute(f'ALTER TABLE visits RENAME COLUMN person TO "{entity}"')
    (init,) = suggested(kanon("profile", "visits.duckdb"))
    ended = kanon(*init)
    assert ended.code == 0, ended.err
    (anonymize,) = suggested(ended)
    ended = kanon(*anonymize)
    assert ended.code == 0, ended.err
    assert f"people ({entity})" in ended.out


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_what_the_refusal_of_repeated_people_says_works(kanon: Callable[..., Ended]) -> None:
    """Of --entity COLUMN and --count rows, both end in a release."""
    with duckdb.connect("visits.duckdb") as connection:
        connection.execute(
            'CREATE TABLE visits AS SELECT i % 100 AS "the patient id", 20 + i % 10 AS age FROM range(300) AS n(i)'
        )
    asked = ["anonymize", "visits.duckdb", "visits", "--qi", "age", "--rest", "drop"]
    refused = kanon(*asked, "--into", "a")
    assert refused.code == 2
    (named,) = re.findall(r"Count people with (.*?) \(entity", refused.err)
    (rows,) = re.findall(r"with (--count rows)", refused.err)
    for number, advice in enumerate((named, rows)):
        ended = kanon(*asked, *shlex.split(advice), "--into", f"release {number}")
        assert ended.code == 0, ended.err


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["early", "an 'early' one; or $two", "-früh", "(x); --replace"])
def test_what_the_ledger_says_to_forget_is_forgotten(in_tmp: Path, kanon: Callable[..., Ended], name: str) -> None:
    """Both ways out of a refusal run: --ignore-ledger, and the command that forgets; so does that of a warning.

    Fails on 0.1.0: the command stands in brackets within a sentence, which no shell reads.
    """
    with duckdb.connect(str(in_tmp / "my data.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT (i * 7919) % 100 AS age, i % 2 AS sex, 10000 + (i * 13) % 7 AS zip "
            "FROM range(220) AS n(i)"
        )
    common = ["anonymize", "my data.duckdb", "t", "--rest", "drop", "-k", "5"]
    first = [*common, "--qi", "age,sex", f"--into={name}"]
    second = [*common, "--qi", "age,sex,zip"]
    assert kanon(*first).code == 0
    refused = kanon(*second, "--into", "second")
    assert refused.code == 1
    assert kanon(*second, "--into", "third", "--ignore-ledger").code == 0
    assert kanon("ledger", "my data.duckdb", "--forget", "third").code == 0
    (forget,) = suggested(refused)
    ended = kanon(*forget)
    assert ended.code == 0, (forget, ended.err)
    assert kanon(*second, "--into", "second").code == 0
    replacing = kanon(*common, "--qi", "age,sex", "--into", "second", "--replace")
    assert replacing.code == 0, replacing.err
    (forget,) = suggested(replacing)
    assert kanon(*forget).code == 0


@pytest.mark.thorough
@pytest.mark.parametrize("kept", [[], ["--budget", "the budget's.duckdb"]])
@pytest.mark.usefixtures("in_tmp")
def test_budgets_that_are_suggested_pay(kanon: Callable[..., Ended], kept: list[str]) -> None:
    """The command in the refusal sets a budget that protects people, and the question that was refused is answered.

    Fails on 0.1.0: the command is part of a sentence, and protects rows of patients who have several.
    """
    needs("opendp")
    source = ["visits of '26.parquet"] if kept else ["visits of '26.duckdb", "all visits"]
    query = "SELECT i % 100 AS patient_id, i % 7 AS days FROM range(300) AS n(i)"
    with duckdb.connect() if kept else duckdb.connect(source[0]) as connection:
        if kept:
            connection.sql(query).write_parquet(source[0])
            duckdb.connect(kept[1]).close()
        else:
            connection.execute(f'CREATE TABLE "all visits" AS {query}')
    count = ["dp", "count", *source, "--epsilon", "0.75", *kept]
    for refusing in (["dp", "budget", *source, *kept], count):
        refused = kanon(*refusing)
        assert refused.code == 1, refused.err
        (setting,) = suggested(refused)
        assert setting[-2:] == ["--entity", "patient_id"]
    ended = kanon(*setting)
    assert ended.code == 0, (setting, ended.err)
    ended = kanon(*count)
    assert ended.code == 0, ended.err
    assert "people" in ended.err + ended.out
    refused = kanon(*count)  # 0.25 is left
    assert refused.code == 1
    (showing,) = suggested(refused)
    ended = kanon(*showing)
    assert ended.code == 0
    assert "0.75 spent of 1" in ended.out
    assert kanon(*showing, "--epsilon", "2").code == 0
    assert kanon(*count).code == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_what_is_in_the_way_of_a_hierarchy(kanon: Callable[..., Ended]) -> None:
    """Building again and loading again end with what the refusal says: --replace; also of a file."""
    with duckdb.connect("a b.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS age, 'w' || i % 3 AS \"the ward\" FROM range(20) AS n(i)")
    built = ["hierarchy", "build", "a b.duckdb", "t", "the ward=flat"]
    written = [*built, "--out", "the ward.csv"]
    loaded = ["hierarchy", "load", "a b.duckdb", "t", "the ward=the ward.csv"]
    for first, again in ((built, built), (written, written), (built, loaded)):
        kanon(*first)
        refused = kanon(*again)
        assert refused.code == 2
        assert "--replace" in refused.err
        ended = kanon(*again, "--replace")
        assert ended.code == 0, ended.err


@pytest.mark.thorough
def test_names_that_begin_with_a_dash(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """They are not read as options. Fails on 0.1.0: "No such option: -t"."""
    make_people(in_tmp / "people.duckdb", "-t")
    (init,) = suggested(kanon("profile", "people.duckdb"))
    (anonymize,) = suggested(kanon(*init))
    ended = kanon(*anonymize)
    assert ended.code == 0, ended.err
    (report,) = suggested(ended)
    assert report[1:] == ["--policy", "kanon.toml", "--out", "report.html"], "the policy file names the table"


@pytest.mark.usefixtures("in_tmp")
def test_a_program_that_the_shell_does_not_find_is_called_by_its_path(
    kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In errors as in results."""
    monkeypatch.setattr("sys.argv", ["/opt/the env/bin/kanon"])
    monkeypatch.setattr("shutil.which", lambda _: None)
    with duckdb.connect("a.duckdb") as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    ended = kanon("dp", "budget", "a.duckdb")
    assert "\n  '/opt/the env/bin/kanon' dp budget a.duckdb t --epsilon 1" in ended.err
    assert "\n  '/opt/the env/bin/kanon' init a.duckdb t" in kanon("profile", "a.duckdb").out


@pytest.mark.thorough
def test_commands_and_options_in_messages_exist() -> None:
    """Every `kanon ...` and `--option` in a string of the package, docstrings apart, is one of the command line."""
    from kanon_sql.cli.main import root

    verbs, options = set(), {"--help"}
    waiting = [("", root())]
    while waiting:
        path, found = waiting.pop()
        for parameter in found.params:
            options |= {*parameter.opts, *parameter.secondary_opts}
        for name in getattr(found, "commands", ()):
            under = found.get_command(None, name)
            verbs.add(f"{path} {name}".strip())
            waiting.append((f"{path} {name}".strip(), under))
    unknown = []
    for file in sorted(Path(kanon_sql.__file__).parent.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in prose or not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            named = [verb for verb in _NAMED_COMMAND.findall(node.value) if f"kanon {verb}" not in _NO_COMMANDS]
            unknown += [(file.name, verb) for verb in named if verb not in verbs]
            unknown += [(file.name, option) for option in _NAMED_OPTION.findall(node.value) if option not in options]
    assert not unknown, "\n".join(map(str, unknown))
