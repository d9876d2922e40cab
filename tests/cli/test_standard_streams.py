"""``-``: tables from stdin, releases to stdout."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from conftest import files_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

KANON = [sys.executable, "-m", "kanon_sql"]
ROLES = ["--id", "name", "--qi", "age,zip", "--sensitive", "illness", "-k", "4"]
ROWS = [f"P{n},{30 + n % 2},0{1 + n % 3}067,{'flu' if n % 5 else 'cold'}" for n in range(60)]
TABLE = "\n".join(["name,age,zip,illness", *ROWS, ""])
JSON = '[{"age": 31, "zip": "01067"}, {"age": 31, "zip": "01067"}]'


@pytest.fixture
def piped(in_tmp: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Run ``kanon`` with a text as stdin; what it leaves in its directory for temporary files is an error."""
    temporary = in_tmp / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def call(*arguments: object, stdin: str = TABLE) -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        ended = kanon(*arguments)
        assert "Traceback" not in ended.err
        assert files_in(temporary) == set()
        return ended

    return call


@pytest.mark.thorough
def test_a_pipe_from_stdin_to_stdout(in_tmp: Path, piped: Callable[..., Ended]) -> None:
    ended = piped("anonymize", "-", *ROLES, "--out", "-")
    assert ended.code == 0, ended.err
    header, *rows = ended.out.splitlines()
    assert header == "age,zip,illness"
    assert sorted(rows) == sorted(line.partition(",")[2] for line in ROWS)  # ten are alike in age and zip
    assert rows != [line.partition(",")[2] for line in ROWS]
    assert "stdin.csv -> stdout" in ended.err
    assert "k = 4 holds in the output" in ended.err
    assert files_in(in_tmp) == {"temporary"}


@pytest.mark.thorough
def test_stdout_has_nothing_but_the_release(piped: Callable[..., Ended]) -> None:
    quiet = piped("anonymize", "-", *ROLES, "--out", "-", "-q", "--delimiter", "semicolon")
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out.startswith('age;"zip";"illness"\n')
    dry = piped("anonymize", "-", *ROLES, "--out", "-", "--dry-run")
    assert (dry.code, dry.out) == (0, "")
    assert "nothing was written" in dry.err
    failed = piped("anonymize", "-", *ROLES, "-k", "61", "--out", "-")
    assert (failed.code, failed.out) == (4, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "-", "--format", "json"], "--format json goes to stdout"),
        (["--out", "-", "--report", "a.html"], "--report is not for a release that goes to stdout"),
        (["--sql"], "--sql names the file that a table is read from"),
    ],
)
def test_what_does_not_go_with_them_is_refused(piped: Callable[..., Ended], options: list[str], message: str) -> None:
    ended = piped("anonymize", "-", *ROLES, *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


@pytest.mark.thorough
def test_policies_name_neither(in_tmp: Path, piped: Callable[..., Ended]) -> None:
    begun = piped("init", "-", "--qi", "age,zip")
    assert begun.code == 0, begun.err
    assert "kanon anonymize - --policy kanon.toml" in begun.out
    saved = piped("anonymize", "-", *ROLES, "--out", "-", "--save-policy", "saved.toml")
    assert saved.code == 0, saved.err
    for name in ("kanon.toml", "saved.toml"):
        text = (in_tmp / name).read_text()
        assert "[source]" not in text
        assert "temporary" not in text
    assert "[release]" not in (in_tmp / "saved.toml").read_text()
    assert piped("anonymize", "-", "--policy", "saved.toml", "--out", "-").out.startswith("age,zip,illness\n")


@pytest.mark.thorough
def test_other_commands_read_stdin(piped: Callable[..., Ended]) -> None:
    assert piped("check", "-", "--qi", "age,zip", "--keep", "name", "-k", "10").code == 0
    assert piped("check", "-", "--qi", "age,zip", "--keep", "name", "-k", "11").code == 1
    assert "stdin.json satisfies" in piped("check", "-", "--qi", "age,zip", "--keep", "name", "-k", "2", stdin=JSON).out
    assert piped("profile", "-", "--encoding", "utf-8").code == 0
    empty = piped("profile", "-", stdin="")
    assert (empty.code, "has no header and no rows" in empty.err) == (3, True)


@pytest.mark.thorough
@pytest.mark.parametrize("after", ["| head -n 1", "| true"])
def test_a_reader_that_goes_is_no_error(in_tmp: Path, after: str) -> None:
    if (bash := shutil.which("bash")) is None:
        pytest.skip("needs bash")
    (in_tmp / "t.csv").write_text(TABLE)
    command = " ".join([*KANON, "anonymize", "-", *ROLES, "--out", "-", "-q"])
    line = f"{command} < t.csv {after}; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run([bash, "-c", line], capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.thorough
@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_while_stdin_is_read_leaves_nothing(in_tmp: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(in_tmp)}
    with subprocess.Popen(  # noqa: S603 - our own program
        [*KANON, "profile", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(TABLE)
        process.stdin.flush()
        until = time.monotonic() + 30
        while not files_in(in_tmp) and time.monotonic() < until:
            time.sleep(0.05)
        assert files_in(in_tmp)
        for _ in range(15):  # one that comes right before a read is seen after it
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(2)
                break
        assert process.wait(1) == 130
        assert process.stderr.read() == "error: Interrupted; nothing was written.\n"
    assert files_in(in_tmp) == set()


@pytest.mark.thorough
def test_the_ledger_remembers_what_went_to_stdout(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    first = kanon("anonymize", clinic, "--qi", "age,zip", "--rest", "drop", "-k", "3", "--out", "-", "-q")
    assert (first.code, first.out.splitlines()[0]) == (0, "age,zip")
    (entry,) = kanon("ledger", clinic, "--format", "json").json["releases"]
    assert entry["destination"].endswith("stdout.csv")
    assert entry["as_it_was"] is None
    assert files_in(in_tmp) == {"clinic.duckdb"}
