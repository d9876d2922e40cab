"""Any table, any names, any policy: a release that holds in plain Python, or an error that says why and no value.

    pytest tests/package/test_fuzz.py --fuzz-cases 2000 --fuzz-seed 1

runs as many cases as one likes, other ones for each seed; without options those of seed 0. They are thorough: what
they found once is in `test_found_by_fuzzing.py`, and quick.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fuzz_cases import CANARY, FuzzCase, fuzz_cases, quoted
from fuzz_files import columns_of, read_file, texts
from fuzz_oracle import Rows, require_release
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import seed as seeded

import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.policy.requirements import with_required_models

CASES = 48
"""In about 40 seconds of one core."""
SHARDS = 4
"""Parts of the cases, so that all cores have some."""
FRAMES = {"pandas", "polars", "arrow"}
FILES = {"csv", "parquet", "json", "jsonl"}
IN_DATABASE = {"table", "view"}
NOT_READ = {"pandas", "polars"}
"""Whose cells are other things than those of DuckDB: that they have as many rows is all that is asked."""
SHORT = 5
"""Cells of no more characters are in any text."""

# DuckDB makes pandas frames in a way that the next pandas will not have.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

Snapshot = dict[str, tuple[str, ...]]


@pytest.mark.thorough
@pytest.mark.parametrize("shard", range(SHARDS))
def test_any_table_is_released_as_asked_or_refused_with_a_reason(shard: int, request: pytest.FixtureRequest) -> None:
    cases, seed = request.config.getoption("--fuzz-cases") or CASES, request.config.getoption("--fuzz-seed")
    print(f"--fuzz-seed {seed}, part {shard}")  # noqa: T201 - beside what fails

    @seeded(seed * SHARDS + shard)
    @settings(
        max_examples=max(1, cases // SHARDS),
        database=None,
        print_blob=True,
        phases=[Phase.generate],  # to make a case smaller takes minutes, and each is SQL that can be run by hand
        suppress_health_check=list(HealthCheck),
    )
    @given(fuzz_cases())
    def holds(case: FuzzCase) -> None:
        event(require(case))

    holds()


def require(case: FuzzCase) -> str:
    """Raise unless a case ends as it must; return how it ended."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "fuzzed.duckdb"
        with duckdb.connect(str(path)) as connection:
            case.make(connection)
            before, source = snapshot(connection), source_of(connection, case)
            if case.through == "connection":
                outcome, columns, released = through_library(case, connection, Path(directory))
                assert not connection.execute("SELECT * FROM duckdb_tables() WHERE temporary").fetchall()
        if case.through != "connection":
            through = through_library if case.through == "path" else through_command_line
            outcome, columns, released = through(case, path, Path(directory))
        if isinstance(outcome, dict):
            require_no_value(case, json.dumps(outcome), source)
        with duckdb.connect(str(path)) as connection:
            after = snapshot(connection)
            require_nothing_else(case, before, after, Path(directory), refused=isinstance(outcome, Exception))
            if isinstance(outcome, dict) and case.destination in IN_DATABASE:
                columns, released = made_in(connection, before, after)
        if isinstance(outcome, Exception):
            require_reason(case, outcome, source)
            return f"refused: {type(outcome).__name__}"
        if case.destination not in NOT_READ:
            require_release(case, source, columns, released, outcome)
        return f"released as {case.destination}"


Outcome = dict[str, Any] | Exception


def through_library(case: FuzzCase, source: Any, directory: Path) -> tuple[Outcome, list[str], Rows]:
    """Release through the library; return its summary, or why not, and the release where it is no table of a file."""
    try:
        required: dict[str, list[str]] = {"distance": [] if case.distance is None else [case.distance]}
        for kind, about, typed in case.models:
            required.setdefault(kind, []).append(typed if about is None else f"{about}={typed}")
        models = with_required_models([kanon.KAnonymity(case.k, entity=case.entity)], required)
        with kanon.anonymize(
            source,
            case.reference,
            quasi_identifiers=case.named("qi"),
            identifying=case.named("id"),
            sensitive=case.named("sensitive"),
            insensitive=case.named("keep"),
            rest=case.rest,  # type: ignore[arg-type]  # one of the two
            count="people" if case.entity is not None else "rows",  # what the oracle counts
            models=models,
            hierarchies=case.rules,
            **case.settings,
        ) as release:
            return published(case, release, directory)
    except kanon.KanonError as error:
        return error, [], []


def published(case: FuzzCase, release: kanon.Release, directory: Path) -> tuple[Outcome, list[str], Rows]:
    """Publish a release as the case says."""
    columns: list[str] = []
    rows: Rows = []
    if case.destination in FRAMES:
        frame = getattr(release, f"to_{case.destination}")()
        assert len(frame) == release.rows_out
        columns = list(frame.column_names if case.destination == "arrow" else frame.columns)
        if case.destination == "arrow":
            with duckdb.connect() as connection:
                connection.register("frame", frame)
                rows = texts(connection, "frame", columns)
        return release.summary(), columns, rows
    if case.destination in FILES:
        path = directory / f"released.{case.destination}"
        made = release.to_file(path)
        columns, rows = read_file(case, path)
    else:
        made = (release.to_view if case.destination == "view" else release.to_table)(case.target)
    return release.summary(made), columns, rows


def through_command_line(case: FuzzCase, path: Path, directory: Path) -> tuple[Outcome, list[str], Rows]:
    """Release through the command line, with every name as an argument; return the same."""
    arguments = ["anonymize", "--format", "json", "-k", str(case.k), "--hierarchies", str(directory)]
    for option, role in (("--qi", "qi"), ("--id", "id"), ("--sensitive", "sensitive")):
        arguments += [f"{option}={name}" for name in case.named(role)]
    arguments += [
        f"--{kind.replace('_', '-')}={about + '=' if about else ''}{typed}" for kind, about, typed in case.models
    ]
    arguments += [f"--hierarchy={name}={rule}" for name, rule in case.rules.items()]
    arguments += [f"--{name.replace('_', '-')}={setting}" for name, setting in case.settings.items()]
    settings = {"--rest": case.rest, "--entity": case.entity, "--distance": case.distance}
    settings["--count"] = "people" if case.entity is not None else "rows"  # what the oracle counts
    arguments += [f"{option}={value}" for option, value in settings.items() if value is not None]
    out = directory / f"released.{case.destination}"
    arguments += (
        [f"--out={out}"] if case.destination in FILES else [f"--into={case.target}", f"--as={case.destination}"]
    )
    talk, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(talk):
        code = run([*arguments, "--", str(path), case.reference])
    if code == 0:
        assert "error" not in talk.getvalue()
        columns, rows = read_file(case, out) if case.destination in FILES else ([], [])
        return json.loads(said.getvalue()), columns, rows
    assert "bug in kanon" not in talk.getvalue(), talk.getvalue()
    assert said.getvalue() == ""
    kinds = {2: kanon.UsageError, 3: kanon.SourceError, 4: kanon.NoSolutionError}
    assert code in kinds, f"{code}: {talk.getvalue()}"
    return kinds[code](talk.getvalue()), [], []


# Reading


def source_of(connection: duckdb.DuckDBPyConnection, case: FuzzCase) -> Rows:
    """Return the rows of the table of a case."""
    place = quoted(case.table) if case.schema is None else f"{quoted(case.schema)}.{quoted(case.table)}"
    return texts(connection, place, [column.name for column in case.columns])


def snapshot(connection: duckdb.DuckDBPyConnection) -> Snapshot:
    """Return all that is in a database, but for what is kanon's own: each thing with its contents."""
    named = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT temporary "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    found: Snapshot = {}
    for schema, name in named:
        if schema == "kanon":
            continue
        relation = f"{quoted(schema)}.{quoted(name)}"
        columns = columns_of(connection, relation)
        rows = texts(connection, relation, list(columns))
        found[relation] = (str(columns), *sorted(map(str, rows)))
    schemas = connection.execute("SELECT schema_name FROM duckdb_schemas() WHERE NOT internal").fetchall()
    found["schemas"] = tuple(sorted(name for (name,) in schemas if name != "kanon"))
    return found


def made_in(connection: duckdb.DuckDBPyConnection, before: Snapshot, after: Snapshot) -> tuple[list[str], Rows]:
    """Return the one relation that is new."""
    (relation,) = after.keys() - before.keys()
    columns = list(columns_of(connection, relation))
    return columns, texts(connection, relation, columns)


# What must hold


def require_nothing_else(case: FuzzCase, before: Snapshot, after: Snapshot, directory: Path, *, refused: bool) -> None:
    """Raise if anything else was changed or left behind than the release."""
    assert CANARY in str(after.keys())
    new = after.keys() - before.keys()
    assert {name: after.get(name) for name in before} == before
    assert len(new) == (1 if case.destination in IN_DATABASE and not refused else 0)
    files = {path.name for path in directory.iterdir()} - {"fuzzed.duckdb"}
    assert files == ({f"released.{case.destination}"} if case.destination in FILES and not refused else set())


def require_no_value(case: FuzzCase, text: str, source: Rows) -> None:
    """Raise if a text has a cell of the table in it, unless it is said in what was asked for too."""
    asked = repr(case.schema) + repr([(c.name, c.type) for c in case.columns]) + case.table + case.target
    asked += "NaN or infinity" + str(case.rules) + str(case.settings) + str(kanon.Policy.__doc__)
    told = {cell for row in source for cell in row if cell is not None and len(cell) > SHORT}
    assert not [cell for cell in told if cell in text and cell not in asked]


def require_reason(case: FuzzCase, error: Exception, source: Rows) -> None:
    """Raise unless an error says what is wrong, and no value."""
    text = str(error)
    require_no_value(case, text, source)
    assert isinstance(error, kanon.UsageError | kanon.SourceError | kanon.NoSolutionError), repr(error)
    assert "DuckDB stopped" not in text, text
    assert "bug in kanon" not in text
    if "of type" in text:
        assert any(repr(column.name) in text for column in case.columns)
