"""The docs are run: every command block and every example, in order, and what they are shown to print is printed."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import REPOSITORY
from needs import needs

from kanon_sql.cli.main import run

DOCUMENTS = [
    REPOSITORY / "README.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    REPOSITORY / "benchmarks/README.md",
    REPOSITORY / "CONTRIBUTING.md",
]
BLOCK = re.compile(r"^```(\w*)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT_CODE = "; echo $?"
OF_THE_PACKAGE = ("kanon_sql/", "sql/")
"""Files of the package, or lines of one: tests/docs/test_architecture.py runs kanon with them."""


@dataclass(frozen=True)
class Command:
    """A command line in a document and what it is shown to print; ``...`` stands for anything."""

    line: str
    shown: str


def commands(block: str) -> list[Command]:
    """Return the commands of a block; one that goes on after a backslash is one line."""
    parts = re.split(r"^\$ ", re.sub(r" \\\n\s*", " ", block), flags=re.MULTILINE)[1:]
    return [Command(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def printed(command: Command) -> str:
    """Run a command as a shell would; return what it prints, stdout and then stderr, and its exit code if asked for."""
    line = command.line.removesuffix(EXIT_CODE)
    program, *arguments = shlex.split(line)
    assert program == "kanon", "documents show our own command only"
    code, text = (demonstrated if arguments[:1] == ["demo"] else ran)(tuple(arguments))
    return text + (f"{code}\n" if line != command.line else "")


def ran(arguments: tuple[str, ...]) -> tuple[int, str]:
    """Run our command; return its exit code, and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue() + err.getvalue()


_DEMOS: dict[tuple[str, ...], tuple[int, str, dict[str, bytes]]] = {}


def demonstrated(arguments: tuple[str, ...]) -> tuple[int, str]:
    """Run ``kanon demo``, with which most documents begin: what it makes of the same arguments is made once."""
    here = Path()
    if arguments in _DEMOS and not any((here / name).exists() for name in _DEMOS[arguments][2]):
        code, text, files = _DEMOS[arguments]
        for name, content in files.items():
            (here / name).write_bytes(content)
        return code, text
    before = set(here.iterdir())
    code, text = ran(arguments)
    if not before:  # what it found and wrote again would be missing
        _DEMOS[arguments] = code, text, {path.name: path.read_bytes() for path in here.iterdir()}
    return code, text


def of_a_script(block: str) -> list[str]:
    """Return our own commands in a shell script, or in the steps of a workflow."""
    return re.findall(r"^(?:\s*- run: )?(kanon .*)$", block, re.MULTILINE)


def as_shown(shown: str, found: str) -> bool:
    """Tell whether a text is as shown: white space does not matter, and ``...`` stands for anything."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in shown.split("...")]
    return re.fullmatch(r"\s*" + r"\s*.*?\s*".join(parts) + r"\s*", found, re.DOTALL) is not None


def blocks(path: Path) -> list[tuple[str, str, str]]:
    """Return the kind, the file and the text of each block of a document."""
    return BLOCK.findall(path.read_text(encoding="utf-8"))


def run_block(path: Path, kind: str, block: str, names: dict[str, object]) -> None:
    """Run a block of commands or of Python in the working directory."""
    for command in commands(block) if kind == "console" else ():
        found = printed(command)
        assert as_shown(command.shown, found), (
            f"{path.name} shows for {command.line}:\n{command.shown}\nbut it prints:\n{found}"
        )
    if kind == "python":
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block, path.name, "exec"), names)  # noqa: S102 - our own documents


@pytest.mark.thorough
@pytest.mark.xdist_group("docs")  # they share what kanon demo makes
@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if not {"console", "python"}.isdisjoint(kind for kind, _, _ in blocks(path))],
    ids=lambda path: str(path.relative_to(REPOSITORY)),
)
def test_what_a_document_shows_is_what_happens(path: Path, in_tmp: Path) -> None:
    names: dict[str, object] = {}
    for kind, file, block in blocks(path):
        if file.startswith(OF_THE_PACKAGE):
            continue
        if file:
            (in_tmp / file).parent.mkdir(parents=True, exist_ok=True)
            (in_tmp / file).write_text(block, encoding="utf-8")
        run_block(path, kind, block, names)


def test_files_of_sql_are_shown_as_they_are() -> None:
    for path in DOCUMENTS:
        for _, file, block in blocks(path):
            if file.startswith("sql/"):
                assert block == (REPOSITORY / file).read_text(encoding="utf-8"), f"{file} is shown as it was before"


@pytest.mark.thorough
def test_blocks_that_are_not_run_can_be_read() -> None:
    for path in DOCUMENTS:
        for kind, file, block in blocks(path):
            if not file.startswith(OF_THE_PACKAGE):
                require_readable(path, kind, file, block)


def require_readable(path: Path, kind: str, file: str, block: str) -> None:
    match kind:
        case "toml":
            tomllib.loads(block)
        case "yaml":
            assert needs("yaml").safe_load(block)
        case "sql":
            assert "{{" in block, "dbt's SQL, which tests/docs/test_dbt_page.py runs; other SQL is what kanon prints"
        case "sh":
            assert block.count("\n") == 1, "an install command is one line"
        case "csv":
            assert file, "a table in a document is there to be read"
        case "console" | "python" | "bash":
            pass  # run above; a script, of which only our own commands can be looked at
        case _:
            pytest.fail(f"{path.name} has a block of an unknown kind: {kind!r}")


def test_commands_in_scripts_are_shown_to_work() -> None:
    found = []
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        scripts = [block for kind, _, block in blocks(path) if kind in {"bash", "yaml"}]
        for line in [line for script in scripts for line in of_a_script(script)]:
            assert re.search(rf"^\$ {re.escape(line)}(; echo|$)", text, re.MULTILINE), f"{path.name}: {line}"
            found.append(path.name)
    assert "guard-a-pipeline.md" in found


def test_links_between_documents_lead_somewhere() -> None:
    for path in [*DOCUMENTS, REPOSITORY / "hierarchies/README.md"]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    demo, tests = (block.strip() for kind, _, block in blocks(REPOSITORY / "README.md") if kind == "sh")
    assert demo.endswith("kanon demo")
    assert tests.endswith("pytest")
    script = (REPOSITORY / ".ci/run").read_text()
    assert """grep -m1 -F "'.[dev]'" README.md""" in script
    assert "'.[dev]'" in tests
    assert "'.[dev]'" not in demo
