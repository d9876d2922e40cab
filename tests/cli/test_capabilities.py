"""The table of capabilities is what happens: each row is tried with one table and with a set, in each engine."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from conftest import REPOSITORY
from engines import PLACES as ENGINES

from kanon_sql.cli.commands.anonymize import anonymize_command
from kanon_sql.cli.commands.attack import attack_command
from kanon_sql.cli.commands.check import check_command
from kanon_sql.engine.capabilities import CAPABILITIES, COMMANDS, PLACES, SETTINGS, Place, row_of
from kanon_sql.policy.policy import SECTIONS
from kanon_sql.policy.tables import OF_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import engines
    from conftest import Ended

PAGE = REPOSITORY / "docs/reference/capabilities.md"
COLUMN: dict[str, Place] = {"duckdb": "one table", "postgres": "PostgreSQL", "spark": "Spark"}
TYPES = {"i": "BIGINT", "person": "BIGINT", "age": "INTEGER", "sex": "VARCHAR", "note": "VARCHAR", "paid": "INTEGER"}
ROWS = [(i, i, 20 + i % 4, "fm"[i % 2], "abc"[i % 3], i % 5) for i in range(48)]
EVENTS = [(i, i // 2, "uv"[i % 2]) for i in range(96)]
SET = """[privacy]
k = 2
[search]
max_suppressed = 1.0
[tables.t]
rows = "people"
person = "person"
quasi_identifiers = ["sex"]
rest = "drop"
[tables.events]
person = "person"
quasi_identifiers = ["kind"]
rest = "drop"
"""
LEVELS = ("--hierarchy", "age=flat", "--hierarchy", "sex=flat")
ROLES = ("--qi", "age,sex", *LEVELS, "--id", "i,person", "--rest", "drop", "-k", "2")
QI = ("--qi", "age,sex")
TRIED = ("--dry-run", "--into", "tried")
# What is tried of one table: a command, after SOURCE and TABLE; or options of anonymize, which is run dry.
ONE: dict[str, tuple[str, ...]] = {
    "anonymize": ("anonymize", *ROLES, *TRIED),
    "apply": ("anonymize", *ROLES, "--into", "locked", "--lock", "apply.lock", "--ignore-ledger"),
    "check": ("check", *QI, "-k", "2"),
    "known": ("known", *QI, "-k", "2", "--max-columns", "1"),
    "measure": ("measure", *QI),
    "attack": ("attack", *QI, *LEVELS, "--original", "t"),
    "report": ("report", *ROLES, "--format", "json"),
    "compare": ("compare", *QI, *LEVELS, "-k", "2", "--algorithm", "optimal", "--entity", "person"),
    "lattice": ("lattice", *QI, *LEVELS, "-k", "2", "--max-suppressed", "0", "--entity", "person"),
    "dp release": (
        *("dp", "release", "--qi", "sex", "--hierarchy", "sex=flat", "--epsilon", "1", "--delta", "0.000001"),
        *("--levels", "sex=0", "--sql"),
    ),
    "k, time zone, format of results": ("--time-zone", "UTC", "--format", "json"),
    "suppression, time limit, seed, key file": ("--max-suppressed", "1.0", "--time-limit", "60", "--seed", "1"),
    "roles and hierarchies on the command line": ("--sensitive", "note"),
    "entity": ("--entity", "person"),
    "privacy models beside k": ("--sensitive", "note", "--l", "1"),
    "k of some columns (--known)": ("--known", "1"),
    "algorithms and measures": ("--algorithm", "datafly"),
    "--search-on warehouse": ("--search-on", "warehouse"),
    "levels": ("--levels", "sex=0"),
    "prepare": ("--prepare", "note=trim"),
    "publish": ("--keep", "paid", "--publish", "paid=round:10"),
    "publish: hash, shift-dates": ("--keep", "note", "--publish", "note=hash"),
    "publish: redact": ("--keep", "note", "--publish", "note=redact"),
    "pseudonymize": ("--pseudonymize", "i"),
    "a table (--into)": ("--into", "made"),
    "a schema, a directory (--into-schema, --out-dir)": ("--into-schema", "made_so"),
    "a view (--as view)": ("--into", "seen", "--as", "view"),
    "a materialized view": ("--into", "kept", "--as", "materialized-view"),
    "a file (--out), a dry run, --replace": ("--out", "one.csv", "--dry-run"),
    "in place": ("--in-place", "--no-backup", "--dry-run"),
    "the script (--sql)": ("--sql",),
    "the script, of prepared columns or publish": ("--prepare", "note=trim", "--sql"),
    "a lock": ("--into", "locked_too", "--lock", "one.lock"),
    "hold out": ("--hold-out", "0.5", "--control", "one.csv", *TRIED),
    "the report of a release": ("--into", "reported", "--report", "one.md"),
    "ignore the ledger": ("--ignore-ledger", *TRIED),
    "a control group (--control)": ("attack", *QI, *LEVELS, "--original", "t", "--control", "control.csv"),
    "the original that an attack compares with": ("attack", *QI, *LEVELS, "--original", "t"),
    "other settings of one table": ("--into", "saved", "--set", "run.save_policy=saved.toml"),
    "the report of a release in place": ("--in-place", "--no-backup", "--report", "two.md"),
}
# What is tried of a set where that is not the same.
SEVERAL: dict[str, tuple[str, ...]] = {
    **{name: (*name.split(), "--policy", "set.toml") for name in COMMANDS if name not in {"anonymize", "apply"}},
    "anonymize": (*TRIED[:1],),
    "apply": ("--lock", "set.lock", "--dry-run"),
    "attack": ("attack", "--policy", "set.toml", "--schema", "made_so", "--original", "SOURCE"),
    "check": ("check", "--policy", "set.toml", "--schema", "made_so"),
    "compare": ("compare", "--policy", "set.toml", "--algorithm", "optimal"),
    "explore": ("explore", "--policy", "set.toml"),
    "a control group (--control)": ("attack", "--policy", "set.toml", "--control", "control.csv"),
    "the original that an attack compares with": (
        *("attack", "--policy", "set.toml", "--schema", "made_so", "--original", "SOURCE"),
    ),
    "a file (--out), a dry run, --replace": ("--out", "set.duckdb", "--dry-run"),
    "the script, of several tables": ("--sql",),
    "the report of a release": ("--into-schema", "reported", "--report", "set.md"),
    "ignore the ledger": ("--ignore-ledger", "--dry-run"),
    "suppression, time limit, seed, key file": (*ONE["suppression, time limit, seed, key file"], "--dry-run"),
    "k, time zone, format of results": (*ONE["k, time zone, format of results"], "--dry-run"),
}


FIRST, LAST = "a schema, a directory (--into-schema, --out-dir)", "the report of a release in place"
"""What others rest on, and what leaves no original."""


@pytest.fixture(params=[*ENGINES])
def engine(request: pytest.FixtureRequest, in_tmp: Path) -> Iterator[engines.Place]:
    with ENGINES[request.param](request, in_tmp) as found:
        found.load("t", TYPES, ROWS)
        found.load("events", {"event": "BIGINT", "person": "BIGINT", "kind": "VARCHAR"}, EVENTS)
        (in_tmp / "set.toml").write_text(SET, encoding="utf-8")
        (in_tmp / "control.csv").write_text("i,person,age,sex,note,paid\n99,99,23,m,c,4\n", encoding="utf-8")
        yield found


def sign(ended: Ended) -> str:
    """Return whether a command did what it was asked to, or refused it with one sentence; else what it said."""
    refused = ended.code == 2 and "not for" in " ".join(ended.err.split())
    return "+" if ended.code in {0, 1} else "-" if refused else ended.err


def command_of(row: str, engine: engines.Place, *, several: bool) -> list[Any]:
    said = (SEVERAL.get(row) if several else None) or ONE[row]
    is_command = not said[0].startswith("-")
    name = said[: (2 if said[0] in {"dp", "hierarchy"} else 1)] if is_command else ("anonymize",)
    options = ["t", *(() if is_command else ROLES)] if not several else () if is_command else ["--policy", "set.toml"]
    after = [engine.typed if one == "SOURCE" else one for one in (said[len(name) :] if is_command else said)]
    places = {"--into", "--out", "--in-place", "--sql", "--into-schema"}
    if not several and not is_command and not places & {*after}:
        after += TRIED
    if not several and not is_command:
        after += ["--ignore-ledger"] if not {"--sql", "--ignore-ledger"} & {*after} else []
    return [*name, engine.typed, *options, *after]


def explored(engine: engines.Place) -> str:
    from exploring import explorer

    import kanon_sql as kanon_of

    with explorer(engine.typed, "t", kanon_of.Policy()) as pages:  # type: ignore[arg-type]  # a URL, too
        pages.get("/columns")
    return "+"


def tried(row: str, engine: engines.Place, kanon: Callable[..., Ended], *, several: bool) -> str:
    if row == "explore" and not several:
        return explored(engine)
    found = sign(kanon(*command_of(row, engine, several=several)))
    if row == "apply" and not several and found == "+":
        found = sign(kanon("apply", "apply.lock", "t", "--append", "locked", "--again", "--ignore-ledger"))
    return found


@pytest.mark.thorough
def test_a_cell_is_what_happens(engine: engines.Place, kanon: Callable[..., Ended]) -> None:
    place, wrong = COLUMN[engine.name], []
    for several in (True, False):  # a policy of several tables says what each table of a database is
        rows = [
            (row, own.where[PLACES.index("several tables" if several and engine.name == "duckdb" else place)])
            for row, own in CAPABILITIES.items()
        ]
        if several and engine.name == "postgres":  # a set there can do what one in DuckDB can, but for its script
            own = SETTINGS["the script, of several tables"]
            rows = [("the script, of several tables", own.where[PLACES.index("PostgreSQL")])]
        rows.sort(key=lambda one: (one[0] not in FIRST, one[0] in LAST))
        for row, said in rows if not several or engine.name != "spark" else ():
            if said == " " or (not several and row == "the script, of several tables"):
                continue
            found = tried(row, engine, kanon, several=several)
            if found != said:
                wrong.append(f"{row}{' of several' if several else ''} is {said}, and was {found}")
    assert not wrong, "\n".join(wrong)


def test_the_page_shows_the_table() -> None:
    lines = [f"| | {' | '.join(PLACES)} |", f"|---|{'---|' * len(PLACES)}"]
    shown = {"+": "yes", "-": "no", " ": ""}
    lines += [f"| {row} | {' | '.join(shown[one] for one in own.where)} |" for row, own in CAPABILITIES.items()]
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8"), "\n".join(lines)


def test_what_rows_name_is_there() -> None:
    """A name that is written wrong would refuse its option, or its key, for a set."""
    commands = (anonymize_command, attack_command, check_command)
    there = {name for command in commands for name in inspect.signature(command).parameters} | OF_TABLES.keys()
    there |= {key for names in SECTIONS.values() for key in names} | {"columns"}
    named = {name.partition(".")[2] or name for own in SETTINGS.values() for name in own.settings}
    assert named <= there
    assert {SETTINGS[row_of(name)].where[1] for name in OF_TABLES} == {"+"}
