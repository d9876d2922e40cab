"""Measure how many deliberate faults the tests find, by room.

    python tests/support/mutants.py map quick           # coverage: which test runs which line
    python tests/support/mutants.py run quick --seed 1  # verdicts on 60 mutants; goes on where it was interrupted
    python tests/support/mutants.py map thorough
    python tests/support/mutants.py run thorough --seed 1  # ... on those that the quick suite did not kill
    python tests/support/mutants.py table               # kill rates by room, and the mutants that survived

A mutant is one small fault in a room of `kanon_sql/`: a seed draws an operator and a place. The tests that run the
changed lines run on it with `-x`, for at most three minutes. A test that cannot see the fault does not run.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOMS = (
    "search",
    "classes",
    "models",
    "release/statements",
    "release/verify",
    "release/tables",
    "risks",
    "policy/roles.py",
)
"""What protects people: below `kanon_sql/`."""
SUITES = {"quick": [], "thorough": ["--thorough"]}
NO_TESTS_RAN = 5
"""Exit code of pytest."""
ONLY = "KANON_MUTANT_TESTS"
"""Environment variable: a file with the tests that `pytest -p mutants` runs, in their order."""

NEGATED = {"Eq": "!=", "NotEq": "==", "Lt": ">=", "GtE": "<", "Gt": "<=", "LtE": ">", "In": "not in", "NotIn": "in",
           "Is": "is not", "IsNot": "is"}  # fmt: skip
MOVED = {"Lt": "<=", "LtE": "<", "Gt": ">=", "GtE": ">"}
FILTERS = {"where", "having", "distinct", "group_by", "on"}
"""Methods of sqlglot expressions whose call is a condition of a statement."""


@dataclass(frozen=True)
class Mutant:
    """One fault: the lines of a file from first to last are replaced by a text."""

    room: str
    operator: str
    file: str
    first: int
    last: int
    before: str
    after: str


def replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """Yield what may replace a node or a part of it: operator, part, new text.

    >>> [(operator, text) for operator, _, text in replacements(ast.parse("a < 3").body[0].value)]
    [('comparison', 'a >= 3'), ('boundary', 'a <= 3')]
    """
    match node:
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            for operator, signs in (("comparison", NEGATED), ("boundary", MOVED)):
                if type(sign).__name__ in signs:
                    yield operator, node, f"{ast.unparse(left)} {signs[type(sign).__name__]} {ast.unparse(right)}"
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=int())):
            yield "boundary", node, ast.unparse(left)
        case ast.Constant(value=bool() as value):
            yield "constant", node, str(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", node, repr(value + 1)
        case ast.BoolOp(values=values):
            for kept in (values[1:], values[:-1]):
                yield "dropped condition", node, ast.unparse(ast.BoolOp(node.op, kept) if kept[1:] else kept[0])
        case ast.If(test=test) | ast.IfExp(test=test):
            yield "dropped condition", test, "False"
        case ast.comprehension(ifs=[condition]):
            yield "dropped condition", condition, "True"
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in FILTERS:
            yield "dropped condition", node, ast.unparse(value)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield "dropped statement", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "dropped statement", node, "pass"


def places(repository: Path, room: str) -> Iterator[Mutant]:
    """Yield every mutant of a room."""
    path = repository / "kanon_sql" / room
    for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
        source = file.read_bytes()
        lines = source.splitlines(keepends=True)
        tree = ast.parse(source)
        skipped = {id(part) for node in ast.walk(tree) for whole in unchanged(node) for part in ast.walk(whole)}
        for node in ast.walk(tree):
            for operator, part, text in () if id(node) in skipped else replacements(node):
                first, last = part.lineno, part.end_lineno  # type: ignore[attr-defined]
                head, tail = lines[first - 1][: part.col_offset], lines[last - 1][part.end_col_offset :]  # type: ignore[attr-defined]
                after = (
                    (head + f"({text})".encode() + tail) if operator != "dropped statement" else head + b"pass" + tail
                )
                before = b"".join(lines[first - 1 : last])
                where = str(file.relative_to(repository))
                yield Mutant(room, operator, where, first, last, before.decode(), after.decode())


def ungrouped(name: str) -> str:
    """Return the name of a test without the group of pytest-xdist.

    >>> ungrouped("test_a.py::test_b[x@y]@group"), ungrouped("test_a.py::test_b[x@y]")
    ('test_a.py::test_b[x@y]', 'test_a.py::test_b[x@y]')
    """
    test, _, group = name.rpartition("@")
    return test if test and "]" not in group else name


def unchanged(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node without mutants: types, decorators, texts with wrong positions in Python 3.11."""
    match node:
        case ast.JoinedStr():
            yield node
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield node
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.AST() as annotation):
            yield annotation
        case ast.FunctionDef(returns=returns, decorator_list=decorators):
            yield from [*decorators, *([returns] if returns else [])]
        case ast.ClassDef(decorator_list=decorators):
            yield from decorators


def drawn(repository: Path, seed: int, number: int) -> list[Mutant]:
    """Draw mutants: each room in turn, then an operator, then a place."""
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    rooms = [room for room in ROOMS if (repository / "kanon_sql" / room).exists()]
    by_operator: dict[str, dict[str, list[Mutant]]] = {room: defaultdict(list) for room in rooms}
    for room in rooms:
        for mutant in places(repository, room):
            by_operator[room][mutant.operator].append(mutant)
    found: dict[Mutant, None] = {}
    while len(found) < number:
        room = rooms[len(found) % len(rooms)]
        operator = rng.choice(sorted(by_operator[room]))
        found[rng.choice(by_operator[room][operator])] = None
    return list(found)


def make_map(repository: Path, suite: str, directory: Path) -> None:
    """Run a suite once with coverage per test."""
    settings = directory / "coverage.ini"
    settings.write_text(
        "[run]\nsource =\n" + "".join(f"  kanon_sql/{room.removesuffix('/roles.py')}\n" for room in ROOMS)
    )
    command = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report=", "-o", "junit_family=xunit1"]
    command += [f"--junitxml={directory / suite}.xml", "-W", "ignore::coverage.exceptions.CoverageWarning"]
    environment = os.environ | {"COVERAGE_FILE": str(directory / f"{suite}.coverage"), "PYTHONPATH": str(repository)}
    subprocess.run(  # noqa: S603 - our own tests
        [sys.executable, "-m", "pytest", *SUITES[suite], *command], cwd=repository, env=environment, check=False
    )


class Map:
    """The tests of a suite that passed, their seconds, and the lines that they run."""

    def __init__(self, suite: str, directory: Path) -> None:
        from coverage import CoverageData

        self.data = CoverageData(str(directory / f"{suite}.coverage"))
        self.data.read()
        self.files = {name[name.rindex("kanon_sql/") :]: name for name in self.data.measured_files()}
        self.seconds: dict[str, float] = {}
        self.of_file: dict[str, list[str]] = defaultdict(list)
        for case in ET.parse(directory / f"{suite}.xml").iter("testcase"):  # noqa: S314 - written by pytest
            if len(case) == 0:  # neither failed nor skipped
                test = ungrouped(f"{case.attrib['file']}::{case.attrib['name']}")
                self.seconds[test] = float(case.attrib["time"])
                self.of_file[case.attrib["file"]].append(test)

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a line of a mutant, or its file if it runs on import; quick files first."""
        lines = self.data.contexts_by_lineno(self.files[mutant.file]) if mutant.file in self.files else {}
        own = {name for line in range(mutant.first, mutant.last + 1) for name in lines.get(line, ()) if name}
        found: dict[str, set[str]] = defaultdict(set)
        for name in own or {name for names in lines.values() for name in names if name}:
            test, _, phase = name.rpartition("|")
            file = test.partition("::")[0]
            # A fixture of a module runs in the setup of one test, and other tests assert what it made.
            found[file] |= {ungrouped(test)} if phase == "run" else set(self.of_file[file])
        tests = [sorted(each & self.seconds.keys(), key=self.seconds.__getitem__) for each in found.values()]
        tests.sort(key=lambda each: sum(map(self.seconds.__getitem__, each)))
        return [test for each in tests for test in each]


def verdict(
    copy: Path, suite: str, tests: list[str], expected_seconds: float, limit_seconds: int
) -> tuple[str, str, float]:
    """Run tests on a mutated copy; return killed or survived, by what, and the seconds."""
    if not tests:
        return "survived", "no test runs it", 0.0
    begin = time.monotonic()
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("\n".join(tests))
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    options = [*SUITES[suite], "-x", "-n0", "-p", "mutants", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    environment = os.environ | {
        ONLY: file.name,
        "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'tests/support'}{os.pathsep}{Path(__file__).parent}",
    }
    try:
        ended = subprocess.run(  # noqa: S603 - our own tests
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=limit_seconds
        )
    except subprocess.TimeoutExpired:
        hangs = expected_seconds * 3 < limit_seconds
        return ("killed" if hangs else "survived"), "out of time", limit_seconds
    finally:
        Path(file.name).unlink()
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    by = failed[0].partition(" - ")[0] if failed else f"exit code {ended.returncode}"
    killed = ended.returncode not in {0, NO_TESTS_RAN}
    return ("killed" if killed else "survived"), by, time.monotonic() - begin


def read_results(directory: Path) -> dict[Mutant, dict[str, list[Any]]]:
    """Return the verdict on each mutant by suite."""
    results: dict[Mutant, dict[str, list[Any]]] = defaultdict(dict)
    file = directory / "results.jsonl"
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        result = json.loads(line)
        results[Mutant(**result["mutant"])][result["suite"]] = result["verdict"]
    return results


def run(
    repository: Path, directory: Path, suite: str, mutants: list[Mutant], *, workers: int, limit_seconds: int
) -> None:
    """Run a suite on the mutants that it has no verdict on, and that no earlier suite killed."""
    results, known = read_results(directory), Map(suite, directory)
    waiting = [mutant for mutant in mutants if all(own[0] != "killed" for own in results[mutant].values())]
    waiting = [mutant for mutant in waiting if suite not in results[mutant]]
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(workers) as pool:
        for worker in range(workers):
            copy = Path(place) / str(worker) / "main"
            shutil.copytree(
                repository, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".hypothesis")
            )
            (copy.parent / "shared").symlink_to(repository.parent / "shared")
            copies.put(copy)

        def judged(mutant: Mutant) -> tuple[Mutant, tuple[str, str, float]]:
            copy = copies.get()
            path, original = copy / mutant.file, (repository / mutant.file).read_text(encoding="utf-8")
            lines = original.splitlines(keepends=True)
            path.write_text(
                "".join([*lines[: mutant.first - 1], mutant.after, *lines[mutant.last :]]), encoding="utf-8"
            )
            tests = known.tests(mutant)
            try:
                return mutant, verdict(copy, suite, tests, sum(known.seconds[test] for test in tests), limit_seconds)
            finally:
                path.write_text(original, encoding="utf-8")
                copies.put(copy)

        for future in as_completed([pool.submit(judged, mutant) for mutant in waiting]):
            mutant, found = future.result()
            with (directory / "results.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps({"mutant": asdict(mutant), "suite": suite, "verdict": found}) + "\n")
            print(f"{mutant.file}:{mutant.first}", mutant.operator, *found, sep=", ", flush=True)


def print_table(results: dict[Mutant, dict[str, list[Any]]]) -> None:
    """Print kill rates by room, and the mutants that survived."""
    killed = {
        mutant: [suite for suite, found in own.items() if found[0] == "killed"] for mutant, own in results.items()
    }
    print(f"{'room':20}{'mutants':>9}{'quick':>9}{'whole':>9}")
    for room in [*ROOMS, "all"]:
        own = [suites for mutant, suites in killed.items() if room in {mutant.room, "all"}]
        print(f"{room:20}{len(own):9}{sum('quick' in suites for suites in own):9}{sum(map(bool, own)):9}")
    for mutant in [mutant for mutant, suites in killed.items() if not suites]:
        print(f"\nsurvived: {mutant.file}:{mutant.first}, {mutant.operator}\n- {mutant.before}+ {mutant.after}")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the tests of a mutant, in their order; as a plugin of pytest."""
    order = {test: number for number, test in enumerate(Path(os.environ[ONLY]).read_text().splitlines())}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
    items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["map", "run", "table"])
    parser.add_argument("suite", nargs="?", choices=[*SUITES], help="for map")
    parser.add_argument("--repository", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--directory", type=Path, default=Path("build/mutants"), help="for maps and results")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=int, default=180, help="for the tests of one mutant; more on a busy machine")
    asked = parser.parse_args()
    asked.directory.mkdir(parents=True, exist_ok=True)
    repository, directory = asked.repository.resolve(), asked.directory.resolve()
    match asked.action:
        case "map":
            make_map(repository, asked.suite, directory)
        case "run":
            mutants = drawn(repository, asked.seed, asked.number)
            run(repository, directory, asked.suite, mutants, workers=asked.workers, limit_seconds=asked.seconds)
        case _:
            print_table(read_results(directory))


if __name__ == "__main__":
    main()
