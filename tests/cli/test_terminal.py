"""What a person sees in a terminal: colours, bars, progress, help with examples that run, and what TAB offers."""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from sqlglot import parse_one

from kanon_sql.cli.commands import EXAMPLES
from kanon_sql.cli.main import run
from kanon_sql.cli.output import output
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import Share, print_table
from kanon_sql.cli.output.progress_bar import ProgressBar
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ESCAPE = "\x1b["
CHECK = "check kanon_demo.duckdb admissions_k5 --qi birth_date,sex,zip,admission_date -k 5"


def in_terminal(line: str, where: Path, **environment: str) -> str:
    """Return what ``kanon`` writes to a terminal of 120 columns, stdout and stderr together."""
    leader, follower = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR"}}
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "kanon_sql", *shlex.split(line)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=where,
        env={**plain, "TERM": "xterm-256color", "COLUMNS": "120", **environment},
    )
    os.close(follower)
    written = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # Linux says EIO where the other end is closed
            break
        if not part:
            break
        written += part
    process.wait()
    os.close(leader)
    return written.decode()


@pytest.fixture
def demo(kanon: Callable[..., Ended], in_tmp: Path) -> Path:
    """Return a directory with the sample database."""
    assert kanon("demo", "--rows", "2000", "-q").code == 0
    return in_tmp


@pytest.mark.thorough
def test_verdicts_have_colours_in_a_terminal_and_nowhere_else(demo: Path, kanon: Callable[..., Ended]) -> None:
    assert f"{ESCAPE}32mholds" in in_terminal("demo --rows 500 --out other.duckdb", demo)
    assert f"{ESCAPE}1;31mDOES NOT SATISFY" in in_terminal(CHECK.replace("-k 5", "-k 9999"), demo)
    assert f"{ESCAPE}1;31merror" in in_terminal("check nothing.duckdb", demo)
    assert ESCAPE not in in_terminal(CHECK, demo, TERM="dumb")
    without = in_terminal("demo --rows 500 --out other.duckdb", demo, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3\d", without)
    assert ESCAPE not in kanon("demo", "--rows", "500", "--out", "other.duckdb").out
    assert ESCAPE not in kanon("check", "nothing.duckdb").err


@pytest.mark.thorough
def test_sql_and_json_have_no_colour_even_in_a_terminal(demo: Path) -> None:
    assert ESCAPE not in in_terminal(f"{CHECK} --sql", demo)
    assert ESCAPE not in in_terminal(f"{CHECK} --format json", demo)


@pytest.mark.thorough
def test_bars_are_drawn_where_a_person_looks(demo: Path, kanon: Callable[..., Ended]) -> None:
    line = "measure kanon_demo.duckdb admissions_k5 --qi birth_date,sex,zip,admission_date"
    shown = in_terminal(line, demo)
    assert "members, drawn" in shown
    assert "█" * 16 in shown
    piped = kanon(*shlex.split(line)).out
    assert "members, drawn" not in piped
    assert "█" not in piped


@pytest.mark.parametrize(
    ("share", "encoding", "expected"),
    [
        (1.0, "utf-8", "████"),
        (0.5, "utf-8", "██"),
        (0.28125, "utf-8", "█▏"),
        (0.0001, "utf-8", "▏"),
        (0.0, "utf-8", ""),
        (0.5, "ascii", "##"),
        (0.0001, "latin-1", "#"),
        (0.0, "ascii", ""),
    ],
)
def test_a_bar_is_as_long_as_its_share_of_four_characters(share: float, encoding: str, expected: str) -> None:
    assert output.drawn_bar(share, 4, encoding) == expected


def test_a_column_of_bars_is_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["size", "drawn", "n"], [["1", Share(1.0), 3], ["2", Share(0.5), 1]])
    assert capsys.readouterr().out.split() == ["size", "n", "─" * 8, "1", "3", "2", "1"]


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_examples_of_the_help_run_as_they_stand(kanon: Callable[..., Ended]) -> None:
    assert kanon("demo").code == 0
    for command, lines in EXAMPLES.items():
        shown = " ".join(kanon(*command.split(), "--help").out.replace("\\\n", " ").split())
        for line in lines:
            assert line in shown
            program, *arguments = shlex.split(line)
            assert program == "kanon"
            if command not in {"demo", "explore"}:  # which serves until Ctrl-C: tests/explore
                ended = kanon(*arguments)
                expected = (
                    1 if command == "attack" else 0
                )  # somebody's diagnosis is certain at k = 5: that is its point
                assert (ended.code, ended.out != "") == (expected, True), f"{line}: {ended.err}"


def test_every_command_has_examples(kanon: Callable[..., Ended]) -> None:
    def commands(*group: str) -> set[str]:
        rows = re.findall(r"^  (\w[\w-]*) {2,}\S", kanon(*group, "--help").out, re.MULTILINE)
        return {" ".join([*group, name]) for name in rows}

    groups = {"hierarchy", "dp"}
    assert commands().union(*map(commands, groups)) - groups == set(EXAMPLES)


def test_the_bar_shows_the_step_and_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    last = Progress("Publishing")
    bar = ProgressBar(lambda: last, lambda: (now - 100) / 20)
    (task,) = bar.tasks
    bar.get_time = task._get_time = lambda: now  # noqa: SLF001 - the clock of rich
    for _ in range(5):
        bar.get_renderables()
        now += 1.0
    assert (task.description, task.completed, task.time_remaining) == ("Publishing", 4 / 20, 16)
    last = Progress("Searching", 7, best=0.5, bound=0.25)
    bar.get_renderables()
    assert task.fields["found"] == "7 nodes, loss 0.5000, none better than 0.2500"
    assert (task.completed, task.elapsed) == (0.5, 0)  # another step


@pytest.mark.thorough
def test_the_engine_tells_how_far_a_statement_is() -> None:
    with DuckDBEngine.in_memory() as engine:
        assert engine.share_done() is None
        shares: list[float] = []
        query = parse_one("SELECT COUNT(DISTINCT HASH(range)) FROM range(15000000)", read="duckdb")
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(0.01):
                share = engine.share_done()
                if share is not None:
                    shares.append(share)

        looking = threading.Thread(target=look)
        looking.start()
        engine.run(query)
        ended.set()
        looking.join()
    assert shares
    assert 0 <= min(shares) <= max(shares) <= 1
    assert engine.share_done() is None  # closed


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("mea", ["measure"]),
        ("anonymize kanon_demo.duckdb admissions_", ["admissions_k5"]),
        ("anonymize kanon_demo.duckdb admissions --qi b", ["birth_date"]),
        ("anonymize kanon_demo.duckdb admissions --qi sex,b", ["sex,birth_date"]),
        ("anonymize kanon_demo.duckdb admissions --qi sex,s", []),
        ("anonymize kanon_demo.duckdb admissions --entity na", ["name"]),
        ("anonymize nothing.duckdb admissions --qi b", []),
        ("anonymize nothing.duckdb ad", []),
        ("anonymize kanon_demo.duckdb admissions --algorithm mon", ["mondrian", "mondrian-plus"]),
    ],
)
@pytest.mark.usefixtures("demo")
def test_tab_offers(
    typed: str, offered: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_KANON_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"kanon {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    with pytest.raises(SystemExit) as ended:
        run([])
    assert ended.value.code == 0
    shown = capsys.readouterr()
    assert (shown.out.split(), shown.err) == (offered, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(
    shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_KANON_COMPLETE", f"source_{shell}")
    monkeypatch.setattr("typer._completion_classes.BashComplete._check_version", lambda _: None)  # asks a bash
    with pytest.raises(SystemExit) as ended:
        run([])
    assert ended.value.code == 0
    assert f"_KANON_COMPLETE=complete_{shell}" in capsys.readouterr().out


@pytest.mark.thorough
def test_quiet_says_nothing_on_stderr(demo: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    line = "anonymize kanon_demo.duckdb admissions --entity patient_id --qi birth_date,sex --rest drop --into quiet"
    line += " -q --format json"
    monkeypatch.chdir(demo)
    assert kanon(*shlex.split(line)).err == ""


def test_a_narrow_window_goes_without_what_is_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    class Window(io.StringIO):
        def isatty(self) -> bool:
            return True

    def shown(width: int) -> list[str]:
        window = Window()
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr(sys, "stdout", window)
        rows = [["birth_date", "DATE", 12, "the name says a date of birth, and values look like it"]]
        print_table(["column", "type", "n", "why"], rows, prose="why", spare=["n", "type"])
        return [line.strip() for line in window.getvalue().splitlines() if line.strip()]

    assert shown(120)[0].split() == ["column", "type", "n", "why"]
    assert len(shown(120)) == 3
    assert shown(60)[0].split() == ["column", "type", "n", "why"]
    assert len(shown(60)) > 3  # the sentence takes several lines
    assert shown(46)[0].split() == ["column", "type", "why"]
    assert shown(40)[0].split() == ["column", "why"]
    assert shown(30)[:4] == ["column: birth_date", "type: DATE", "n: 12", "why: the name says a date of"]
    assert all(len(line) <= width for width in (120, 60, 46, 40, 30) for line in shown(width))


@pytest.mark.thorough
def test_a_profile_is_whole_in_a_window_of_80_columns(demo: Path) -> None:
    """Fails on 0.1.0: "rows u…", "…" for every share, and names of columns that end in the middle."""
    text = in_terminal("profile kanon_demo.duckdb admissions -q", demo, COLUMNS="80", NO_COLOR="1", TERM="dumb")
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in text.splitlines()]
    assert all(len(line) <= 80 for line in lines)
    assert "…" not in text
    assert any(line.split() == ["known", "people", "unique", "share", "smallest", "class"] for line in lines)
    (triple,) = [place for place, line in enumerate(lines) if line.startswith(" birth_date + admission_date + ")]
    assert lines[triple + 1].strip() == "department"


def test_a_cell_that_takes_one_line_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of several words keeps its line, where the window is wide enough for it."""

    class Window(io.StringIO):
        def isatty(self) -> bool:
            return True

    for width in range(20, 60):
        window = Window()
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr(sys, "stdout", window)
        print_table(["first name", "n"], [["one two three four five", 7]])
        text = window.getvalue()
        assert "…" not in text
        assert all(word in text for word in ["first", "name", "one", "two", "three", "four", "five", "7"])


def test_a_bar_that_comes_too_late_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(quiet=False, verbose=False)
    talk.end()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    talk._show()  # noqa: SLF001 - what the timer calls when it goes off while the command ends
    assert talk._bar is None  # noqa: SLF001 - nothing else shows that none is there
