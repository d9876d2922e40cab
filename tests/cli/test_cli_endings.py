"""How the process ends: streams that are closed, full or no longer read, Ctrl-C at any time, errors nobody foresaw."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import files_in, tables_of

from kanon_sql.cli.commands import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

KANON = [sys.executable, "-m", "kanon_sql"]
INTO = "anonymize clinic.duckdb --qi zip --rest drop --into released"
CHECK = "check clinic.duckdb --qi zip --keep id,name,age,sex -k 3"
FAILING = "check clinic.duckdb patients --qi zip -k 40"

pytestmark = pytest.mark.usefixtures("in_tmp")


def shell(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in which ``kanon`` is our own; ``$?`` is that of the last command, or of the first one in a pipe."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("needs bash")
    text = f'kanon() {{ "{sys.executable}" -m kanon_sql "$@"; }}\n{script}\nexit ${{PIPESTATUS[0]}}'
    return subprocess.run(  # noqa: S603 - our own program
        [bash, "-c", text], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"{INTO} | true", 0),
        (f"{INTO} --format json | head -n 1", 0),
        (f"{CHECK} | true", 0),
        (f"{FAILING} | true", 1),
        ("demo --rows 500 | head -n 1", 0),
        ("anonymize clinic.duckdb --qi zip --rest drop --sql=all | head -n 1", 0),
        ("anonymize clinic.duckdb --qi zip | true", 2),
        ("--help | true", 0),
    ],
)
def test_the_exit_code_is_that_of_the_work_whoever_reads_it(clinic: Path, line: str, code: int) -> None:
    assert clinic.exists()
    ended = shell(f"kanon {line}")
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Broken" not in ended.stderr
    assert ("--into" in line) == ("main.released" in tables_of(clinic))


@pytest.mark.thorough
@pytest.mark.parametrize("stdout", ["> /dev/full", ">&-"])
def test_results_that_cannot_be_printed_are_an_error_and_the_release_is_there(clinic: Path, stdout: str) -> None:
    if "full" in stdout and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    ended = shell(f"kanon {INTO} -q {stdout}")
    assert ended.returncode == 3
    assert ended.stderr.startswith("error: The results could not be printed (stdout: ")
    assert ended.stderr.count("\n") == 1
    assert "main.released" in tables_of(clinic)
    assert shell(f"kanon {FAILING} {stdout}").returncode == 1


@pytest.mark.thorough
@pytest.mark.parametrize("stderr", ["2>&-", "2> /dev/full", "<&- 2>&-"])
def test_the_work_goes_on_without_stderr(clinic: Path, stderr: str) -> None:
    ended = shell(f"kanon {INTO} -v {stderr}")
    assert ended.returncode == 0
    assert ended.stdout.startswith("patients -> released\n")
    assert "main.released" in tables_of(clinic)
    assert shell(f"kanon anonymize clinic.duckdb {stderr}").returncode == 2


@pytest.mark.thorough
def test_names_that_the_terminal_cannot_show_are_no_reason_to_stop() -> None:
    ended = shell("kanon demo --rows 500 --out 'Zoë.duckdb'", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr
    assert "Zo? Carter" in ended.stdout
    assert Path("Zoë.duckdb").exists()


INTERRUPTED = "error: Interrupted; nothing was written."
INTERRUPTED_IMPORT = """
import os, signal, sys
from kanon_sql.cli.process import main

class CtrlC:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, CtrlC())
sys.argv = ["kanon", "demo"]
main()
"""


@pytest.mark.quick("duckdb")
@pytest.mark.parametrize("module", ["typer", "duckdb", "kanon_sql.cli.commands.demo"])
@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_while_libraries_are_imported(in_tmp: Path, module: str) -> None:
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", INTERRUPTED_IMPORT.format(module=module)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", f"{INTERRUPTED}\n")
    assert files_in(in_tmp) == set()


ENDED = """
import atexit, sys
from kanon_sql.cli import main as commands
from kanon_sql.cli.process import main

def run(arguments):
    atexit.register(print, "cleaned up")
    print("done")
    return {code}

commands.run = run
sys.argv = ["kanon", "nothing"]
try:
    main()
finally:
    print("ended")
"""


@pytest.mark.quick("1")
@pytest.mark.usefixtures("in_tmp")
@pytest.mark.parametrize("code", [0, 1])
def test_what_is_registered_for_the_end_is_called(code: int) -> None:
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", ENDED.format(code=code)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "done\nended\ncleaned up\n", "")


INTERRUPTED_END = """
import os, shutil, signal, sys
from pathlib import Path
from kanon_sql.cli.process import main

steps = {{"replace": (os, "replace", 1), "tidied": (shutil, "rmtree", 1), "closed": (shutil, "rmtree", 2)}}
module, name, times = steps[{step!r}]
plain, calls = getattr(module, name), []

def followed_by_a_signal(*arguments, **named):
    plain(*arguments, **named)
    calls.extend(path for path in Path().glob("released.csv"))
    if len(calls) == times:
        os.kill(os.getpid(), {number})

setattr(module, name, followed_by_a_signal)
main()
"""


@pytest.mark.thorough
@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("step", ["replace", "tidied", "closed"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_a_file_took_its_name_does_not_deny_the_file(
    clinic: Path, step: str, number: signal.Signals
) -> None:
    roles = ["--qi", "age,sex", "--rest", "drop", "--count", "rows"]
    program = [sys.executable, "-c", INTERRUPTED_END.format(step=step, number=int(number))]
    ended = subprocess.run(  # noqa: S603 - our own program
        [*program, "anonymize", clinic.name, *roles, "-q", "--out", "released.csv"],
        cwd=clinic.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 128 + number
    assert "the release is there: released.csv." in ended.stderr
    assert "nothing was written" not in ended.stderr
    assert files_in(clinic.parent) == {"clinic.duckdb", "released.csv"}


EMBEDDED = """
import atexit, sys
from kanon_sql.cli.process import main

atexit.register(print, "called")
sys.argv = ["kanon", "--version"]
try:
    main()
except SystemExit:
    sys.exit(7)
"""


@pytest.mark.thorough
def test_a_program_that_runs_kanon_goes_on_after_it() -> None:
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", EMBEDDED], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 7
    assert ended.stdout.endswith("called\n")


@pytest.mark.thorough
@pytest.mark.parametrize(("after", "times"), [(0, 1), (0.3, 2), (1, 1)])
@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_at_any_time_of_the_work_is_one_line_at_most(in_tmp: Path, after: float, times: int) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*KANON, "demo", "--rows", "3000000", "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "Making the sample table ...\n"
    time.sleep(after)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert err.count("error: ") <= 1
    assert files_in(in_tmp) == set()


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        (OSError(28, "No space left on device", "x.tmp"), "error: x.tmp: No space left on device. -v shows"),
        (MemoryError(), "error: There is not enough memory."),
        (ValueError("the cell 'HIV'"), "error: This is a bug in kanon: ValueError in test_cli_endings.py, line "),
    ],
)
def test_what_nobody_foresaw_is_one_line_that_quotes_nothing(
    clinic: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, raised: Exception, says: str
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(check, "check_source", fail)
    ended = kanon("check", clinic, "--qi", "zip")
    assert ended.code == 3
    assert ended.err.startswith(says)
    assert ended.err.count("\n") == 1
    assert "HIV" not in ended.err
    loud = kanon("check", clinic, "--qi", "zip", "-v")
    assert loud.code == 3
    assert "Traceback" in loud.err


def test_a_wrong_choice_is_told_in_our_words(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("anonymize", clinic, "--measure", "gcp")
    assert ended.code == 2
    assert "Value error" not in ended.err
