"""What several tests use: the Adult data, the command line in this process, small databases."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import duckdb
import pytest
from effort import is_spread, is_thorough, load_profile
from needs import THOROUGH_FILES, missing, needs
from servers import java, postgres_programs, postgres_server, spark_session

from kanon_sql.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPOSITORY = Path(__file__).parent.parent
ADULT = REPOSITORY.parent / "shared" / "data" / "adult"
ADULT_QI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
MOST_QUICK_CASES = 6
"""Of one parametrized test in the quick run, spread evenly."""
SERVERS = {"postgres", "spark", "browser"}
"""Fixtures, and names of engines, whose tests are thorough."""
# What tests start keeps its byte code, as it does for users: else each of some hundred processes compiles all of kanon.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@dataclass(frozen=True)
class Ended:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.out)


@pytest.fixture
def adult() -> Path:
    """The directory with the Adult table and its hierarchies."""
    if not ADULT.is_dir():
        pytest.skip("needs the Adult data in ../shared/data/adult, which are not part of this repository")
    return ADULT


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The connection string of an empty PostgreSQL database on a server of this worker's own."""
    needs("psycopg")
    programs = postgres_programs()
    if programs is None:
        missing("needs the programs of a PostgreSQL server (Debian: apt install postgresql)")
    with postgres_server(programs) as connection_string:
        yield connection_string


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of Spark in local mode, of this worker's own."""
    needs("pyspark")
    if java() is None:
        missing("needs Java 17 (Debian: apt install openjdk-17-jre-headless)")
    session = spark_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, headless, driven by playwright."""
    sync_api = needs("playwright.sync_api")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        missing("needs Chromium on the PATH (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def kanon(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run the command line in this process."""

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of the test's own, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A small database with one table of 60 patients, three of whom are like nobody else."""
    return make_clinic(tmp_path / "clinic.duckdb")


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """Python's own answer to Ctrl-C: a run in the background ignores it, and a session of Spark has another.

    Hypothesis times the garbage collector by a callback, in which Python drops every exception, a Ctrl-C too.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(callbacks)
    signal.signal(signal.SIGINT, before)


def make_clinic(path: Path) -> Path:
    """Make the database of the fixture `clinic` in a file."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            """
            CREATE TABLE patients AS
            SELECT
              i AS id,
              'Name ' || i AS name,
              CASE WHEN i < 57 THEN 20 + (i * 7) % 50 ELSE 95 + i - 57 END AS age,
              CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
              CASE WHEN i < 57 THEN CAST(10000 + 10 * (i % 6) + i % 3 AS VARCHAR) ELSE '77777' END AS zip,
              CASE WHEN i % 5 = 0 THEN 'flu' ELSE 'cough' END AS disease
            FROM range(60) AS numbers(i)
            """
        )
    return path


def tables_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return every table of a database with its rows, sorted: what a failed command must leave as it was."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        return {
            f"{schema}.{table}": sorted(connection.table(f'"{schema}"."{table}"').fetchall(), key=repr)
            for schema, table in names
        }


def files_in(directory: Path) -> set[str]:
    """Return the names of all files in a directory."""
    return set(os.listdir(directory))  # noqa: PTH208 - hidden files too, as a set of names


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of this suite."""
    parser.addoption("--approve", action="store_true", help="write the SQL snapshots anew; then read the diff")
    parser.addoption("--fuzz-cases", type=int, help="how many cases the fuzz test draws")
    parser.addoption("--fuzz-seed", type=int, default=0, help="of these cases: others for each number")
    parser.addoption("--thorough", action="store_true", help="run what the quick suite leaves out, and nothing else")
    parser.addoption("--all-examples", action="store_true", help="with --thorough: all examples, not a tenth")
    parser.addoption("--part", metavar="N/M", default="1/1", help="run the N-th of M parts: .ci/run does one each day")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how much is done, and let the garbage collector look at what tests leave only."""
    thorough, everything = config.getoption("--thorough"), config.getoption("--all-examples")
    load_profile(thorough=thorough, all_examples=everything, seed=config.getoption("--hypothesis-seed"))
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def pytest_unconfigure() -> None:
    """Let go of what was kept from the garbage collector, or duckdb reports it as leaked."""
    gc.unfreeze()
    gc.collect()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Print a failure when it happens: a run that is stopped prints no summary."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        errors = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        print("", f"{report.nodeid}: {report.when} failed", *errors[:5], sep="\n", file=sys.__stderr__)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run does not do, and say which tests share a worker."""
    cases: dict[tuple[pytest.Item, str], list[pytest.Item]] = {}
    for item in items:
        cases.setdefault((item.parent, getattr(item, "originalname", item.name)), []).append(item)
    quick = {item for own in cases.values() for item in quick_of(own)}
    run, left_out = [], []
    part, parts = map(int, config.getoption("--part").split("/"))
    for item in items:
        deeper = item.get_closest_marker("deeper") is not None
        is_wanted = deeper or item not in quick if is_thorough() else item in quick
        (run if is_wanted and crc32(item.nodeid.encode()) % parts == part - 1 else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = run
    for item in items:
        group = group_of(item)
        if group is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))


def quick_of(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the quick cases of a test: at most `MOST_QUICK_CASES`, spread evenly; those that `quick` names, or all."""
    for place, item in enumerate(cases):
        thorough = str(item.path) in THOROUGH_FILES or item.get_closest_marker("thorough") is not None
        if thorough or needs_a_server(item):
            continue
        mark = item.get_closest_marker("quick")
        wanted = (mark.args or [len(cases)]) if mark is not None else [min(len(cases), MOST_QUICK_CASES)]
        if is_spread(place, len(cases), *wanted) or case_of(item) in wanted:
            yield item


def needs_a_server(item: pytest.Item) -> bool:
    """Return True if a test needs PostgreSQL, Spark or a browser: it is thorough."""
    return not SERVERS.isdisjoint([*getattr(item, "fixturenames", ()), *texts_of(item)])


def case_of(item: pytest.Item) -> str:
    """Return what a test calls one of its cases; nothing where it has one only."""
    return item.callspec.id if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ""


def group_of(item: pytest.Item) -> str | None:
    """Return what a test shares with others and is made once in a worker.

    That is a session of Spark, which takes ten seconds to start and a minute to get warm; or what is made for a module.
    """
    if "spark" in getattr(item, "fixturenames", ()) or "spark" in texts_of(item):
        return "spark"
    fixtures = getattr(item, "_fixtureinfo", None)
    made = fixtures.name2fixturedefs.values() if fixtures is not None else ()
    return item.path.stem if any(each[-1].scope == "module" for each in made) else None


def texts_of(item: pytest.Item) -> list[str]:
    """Return the parameters of a case that are texts, such as the name of an engine."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return [each for each in parameters if isinstance(each, str)]
