"""Options that contradict each other, override a policy file, or write a second file; and what is said at the end."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import files_in, tables_of

from kanon_sql.cli.commands import anonymize
from kanon_sql.cli.output.output import print_json, print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.engine import files
from kanon_sql.errors import SourceError, counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

SEX = "anonymize clinic.duckdb patients --qi sex --rest drop"

pytestmark = pytest.mark.usefixtures("in_tmp")


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (f"{SEX} --sql --format json", 2, "--sql prints SQL, which is no JSON"),
        (f"{SEX} --into x --dialect spark", 2, "add --sql, or leave --dialect out"),
        (f"{SEX} --into x -q -v", 2, "-q says nothing and -v says more"),
        (f"{SEX} --out x.csv --as view", 2, "--out and --as do not go together"),
        (f"{SEX} --sql --as view", 2, "give --into NAME too"),
        (f"{SEX} --into ''", 2, "The name of the release is empty"),
        (f"{SEX} --sql --save-policy p.toml", 2, "--sql and --save-policy do not go together"),
        (f"{SEX} --into x --save-policy nowhere/p.toml", 3, "The directory nowhere"),
        (f"{SEX} --into x --save-policy .", 3, "is a directory"),
        (f"{SEX} --into x --save-policy old.toml", 2, "old.toml exists already"),
        (f"{SEX} --into x --save-policy clinic.duckdb --replace", 2, "cannot be the policy too"),
        (f"{SEX} --out x.csv --save-policy ./x.csv", 2, "cannot be the policy too"),
        ("check clinic.duckdb --qi sex --sql --format json", 2, "--sql prints SQL, which is no JSON"),
        ("check clinic.duckdb --qi sex --dialect spark", 2, "add --sql, or leave --dialect out"),
        ("demo --sql --out x.duckdb", 2, "--sql and --out do not go together"),
        ("demo --sql --replace", 2, "--sql and --replace do not go together"),
    ],
)
def test_what_would_be_ignored_or_fail_later_is_refused_at_once(
    clinic: Path, in_tmp: Path, kanon: Callable[..., Ended], line: str, code: int, says: str
) -> None:
    Path("old.toml").write_text("", encoding="utf-8")
    before, files = tables_of(clinic), files_in(in_tmp)
    ended = kanon(*shlex.split(line))
    assert (ended.code, ended.out) == (code, "")
    assert says in ended.err
    assert ended.err.count("\n") == 1
    assert tables_of(clinic) == before
    assert files_in(in_tmp) == files
    assert Path("old.toml").read_text(encoding="utf-8") == ""


@pytest.mark.thorough
def test_a_policy_is_written_whole_and_reads_back(clinic: Path, kanon: Callable[..., Ended]) -> None:
    Path("p.toml").write_text("old", encoding="utf-8")
    ended = kanon(*shlex.split(SEX), "--into", "x", "--save-policy", "p.toml", "--replace", "-q")
    assert ended.code == 0, ended.err
    assert kanon("check", clinic, "x", "--policy", "p.toml").code == 0


@pytest.mark.thorough
def test_a_policy_that_cannot_be_written_is_one_line_and_the_release_is_there(
    clinic: Path, in_tmp: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    take_name = files.take_name

    def fail(new: Path, name: Path) -> None:
        if name.suffix == ".toml":
            raise OSError(28, "No space left on device")
        take_name(new, name)

    monkeypatch.setattr(files, "take_name", fail)
    ended = kanon(*shlex.split(SEX), "--into", "x", "--save-policy", "p.toml", "-q")
    assert ended.code == 3
    assert ended.err == (
        "error: The release is there. The policy cannot be written to p.toml: No space left on device.\n"
    )
    assert "main.x" in tables_of(clinic)
    assert files_in(in_tmp) == {"clinic.duckdb"}


@pytest.mark.thorough
def test_ctrl_c_after_the_release_says_that_it_is_there(
    clinic: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(anonymize, "print_release", interrupt)
    ended = kanon(*shlex.split(SEX), "--into", "x", "-q")
    assert (ended.code, ended.err) == (130, "error: Interrupted; the release is there: x.\n")
    assert "main.x" in tables_of(clinic)


@pytest.mark.thorough
def test_the_command_line_overrides_the_destination_of_a_policy_field_by_field(
    clinic: Path, kanon: Callable[..., Ended]
) -> None:
    Path("p.toml").write_text('[release]\ninto = "x"\nas = "view"\nreplace = true\n', encoding="utf-8")
    policy = (*shlex.split(SEX), "--policy", "p.toml", "-q")

    def kind(name: str) -> str:
        with duckdb.connect(str(clinic), read_only=True) as connection:
            query = "SELECT table_type FROM information_schema.tables WHERE table_name = ?"
            ((found,),) = connection.execute(query, [name]).fetchall()
            return str(found)

    for _ in range(2):  # again: replace = true holds for the other name too
        assert kanon(*policy, "--into", "y").code == 0
    assert kind("y") == "VIEW"
    assert kanon(*policy, "--into", "y", "--as", "table").code == 0
    assert kind("y") == "BASE TABLE"
    assert kanon(*policy, "--out", "x.csv").code == 0
    assert "main.x" not in tables_of(clinic)


def test_the_policy_is_not_written_over(kanon: Callable[..., Ended]) -> None:
    text = '[release]\nout = "p.csv"\nreplace = true\n'
    Path("p.csv").write_text(text, encoding="utf-8")
    for options in ([], ["--out", "./p.csv"]):
        ended = kanon(*shlex.split(SEX), "--policy", "p.csv", "-q", *options)
        assert (ended.code, ended.err) == (2, "error: p.csv is the policy and cannot be a file that is written too.\n")
    assert Path("p.csv").read_text(encoding="utf-8") == text


@pytest.mark.thorough
def test_every_column_that_is_not_published_is_named(clinic: Path, kanon: Callable[..., Ended]) -> None:
    line = (*shlex.split("anonymize clinic.duckdb patients --qi sex --id name --rest drop -q"), "--into")
    assert clinic.exists()
    assert "left out     name, id, age, zip, disease\n" in kanon(*line, "x").out
    assert kanon(*line, "y", "--format", "json").json["columns_left_out"] == ["name", "id", "age", "zip", "disease"]


@pytest.mark.thorough
def test_one_is_one(kanon: Callable[..., Ended]) -> None:
    with duckdb.connect("one.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS person")
    line = "anonymize one.duckdb t --qi a -k 1 -q"
    assert "smallest class has 1 row\n" in kanon(*shlex.split(line), "--rest", "drop", "--into", "x").out
    of_people = kanon(*shlex.split(line), "--entity", "person", "--out", "x.csv").out
    assert "1 person (person); the one of fewest rows has 1 row\n" in of_people
    assert "1 class with 1 row\n" in kanon("check", "one.duckdb", "t", "--qi", "a").out
    assert [counted(number, "class", "classes") for number in (0, 1, 2000)] == ["0 classes", "1 class", "2,000 classes"]


def test_the_time_limit_says_what_it_limits(kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "For all of the work" in kanon("settings").out


class Window(io.StringIO):
    """stdout with a person in front of it."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Window]:
    """Return a function that opens a window of a width."""

    def opened(width: int) -> Window:
        shown = Window()
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr(sys, "stdout", shown)
        return shown

    return opened


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_table_is_never_folded(window: Callable[[int], Window], width: int) -> None:
    shown = window(width)
    columns = ["birth_date", "department", *(f"column_{number}" for number in range(5))]
    rows = [["1962-01-20", "Gastroenterology", *range(1000, 1005)], ["1962-01-21", None, *range(2000, 2005)]]
    print_table(columns, rows)
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    if width == 200:
        assert any("1962-01-20" in line and "Gastroenterology" in line and "1,004" in line for line in lines)
    else:
        assert lines[1:4] == ["birth_date: 1962-01-20", "department: Gastroenterology", "column_0: 1,000"]
        assert lines[9:11] == ["birth_date: 1962-01-21", "department: NULL"]


def test_a_file_takes_a_table_as_wide_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([f"column_{number}" for number in range(40)], [["a" * 12] * 40])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert len(lines) == 3
    assert lines[2].split() == ["a" * 12] * 40


def test_prose_fits_the_window(window: Callable[[int], Window]) -> None:
    shown = window(40)
    print_prose("word " * 30)
    print_pairs([("rows", "word " * 30), ("k-anonymity", "holds")])
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[-1] == "k-anonymity  holds"
    assert lines[-2].startswith(" " * 13 + "word")


def test_names_and_values_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b[2J\r\n\x9b\u202eb\u2028"
    assert visible(evil) == r"a\x1b[2J\r\n\x9b\u202eb\u2028"
    assert visible("Zoë 😀 \u0645\u200c\u062e") == "Zoë 😀 \u0645\u200c\u062e"  # Persian needs its invisible joiner
    print_table([evil], [[evil]])
    print_pairs([("x", evil)])
    print_prose(visible(evil))
    out = capsys.readouterr().out
    assert out.count(visible(evil)) == 4
    assert not {"\x1b", "\r", "\x9b", "\u202e", "\u2028"} & set(out)
    print_sql(evil)
    assert capsys.readouterr().out == f"{evil}\n"


def test_messages_cannot_steer_the_terminal(clinic: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute('CREATE TABLE t AS SELECT 1 AS "\x1b[31ma", 2 AS b')
    ended = kanon("check", clinic, "t", "--qi", "c")
    assert ended.code == 2
    assert r"It has: \x1b[31ma, b." in ended.err
    assert "\x1b" not in ended.err


def test_what_stdout_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", errors="replace"))
    print_json(["Zoë"])
    with pytest.raises(SourceError, match="set PYTHONIOENCODING=utf-8"):
        print_sql("SELECT 'Zoë'")
    sys.stdout.flush()
    assert raw.getvalue() == b'[\n  "Zo\\u00eb"\n]\n'
