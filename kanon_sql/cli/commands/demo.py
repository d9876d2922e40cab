"""``kanon demo``: makes a sample database, anonymizes it, shows the result and the next commands."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sqlglot import exp

from kanon_sql.cli.commands.anonymize import SqlOfRelease, printed_summary, script_text
from kanon_sql.cli.options import shared
from kanon_sql.cli.options.shared import option
from kanon_sql.cli.output.diagnostics import Talk, interrupted_after
from kanon_sql.cli.output.output import as_called, print_json, print_prose, print_sql, print_table, print_text
from kanon_sql.cli.output.release_tables import print_release
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.progress import Progress
from kanon_sql.engine.sources.open_source import Source, is_database
from kanon_sql.errors import SourceError, UsageError, counted
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.release.anonymize import make_release
from kanon_sql.sql import build as sql_of
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.engine.base import Engine

TABLE = "admissions"
_LARGEST = 100_000_000
_ENTITY = "patient_id"
_KEPT_COLUMNS = ("department", "cost")
_KEPT = f"--keep {','.join(_KEPT_COLUMNS)}"
_QUASI_IDENTIFIERS = ("birth_date", "sex", "zip", "admission_date")
_MARK = "Made by kanon demo: nobody in this table exists."
_MOST_NAMED = 5  # tables of others in an error message
_SHOWN = 5
_STRICTER = 20
_NOT_WITH_SQL = "--sql changes nothing, and so makes no database"


@shared.with_output({("sql", "out"): _NOT_WITH_SQL, ("sql", "replace"): _NOT_WITH_SQL}, sql=SqlOfRelease)
def demo_command(
    rows: Annotated[int, typer.Option("--rows", min=0, help="Rows of the sample table, up to 100,000,000.")] = 50_000,
    out: Annotated[Path, option("--out", "FILE", "The database to make.")] = Path("kanon_demo.duckdb"),
    k: Annotated[int, typer.Option("-k", min=1, help="The smallest class that may be published.")] = 5,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a sample database even if it has tables of your own by now.")
    ] = False,
    *,
    output: shared.Output,
) -> None:
    """Make a sample database of hospital admissions, anonymize it, and show what happened."""
    _check_rows(rows)
    policy = demo_policy(k)
    with output.talk() as talk:
        if output.sql:
            _print_sql(rows, k, output.sql, output.dialect, talk)
            return
        talk(Progress("Making the sample table"))
        with _demo_file(out, replace=replace) as partial, DuckDBEngine.from_file(partial, writable=True) as engine:
            talk.follow(engine)
            _make_demo(engine, rows)
            before = _first_rows(engine, TABLE)
            # Not a source in a database file, which has a ledger: nobody receives this release, and later attempts must
            # not be refused because of it.
            release = make_release(Source(engine, sql_of.relation(TABLE), TABLE), policy, talk)
            published = release.to_table(_release_name(k))
            _mark_as_ours(engine, _release_name(k))
            after = _first_rows(engine, _release_name(k))
            summary = printed_summary(release, published)
        talk.end()
    with interrupted_after(f"{out} is there, with the release"):
        if output.is_json:
            print_json({**summary, "database": str(out)})
            return
        _explain(out, k, before, after)
        print_release(summary)
        _say_what_next(out, k, summary)


def _explain(out: Path, k: int, before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> None:
    print_prose(f"{out} has a table of hospital admissions. Nobody in it exists. Its first rows:\n")
    columns = [_ENTITY, "name", *_QUASI_IDENTIFIERS, "department", "diagnosis", "cost"]
    print_table(columns, before)
    print_prose(
        "Who knows a neighbour's birth date, sex, ZIP and when she was in hospital can find her row, and learn her "
        "diagnosis, even without the name. So these four were generalized until every row is like those of at least "
        f"{counted(k - 1, 'other person', 'other people')} in all of them (k-anonymity with k = {k}), as little as "
        "that takes; rows that would still be too few were left out. Some people are here twice: "
        f"{_ENTITY} says who is who, and k counts people by it, not rows. It is gone now, and so is the name. "
        f"Some rows of {_release_name(k)}:\n"
    )
    print_table(columns[2:], after)
    print_prose("The level of each column in its hierarchy, 0 being the original value.\n")


def _say_what_next(out: Path, k: int, summary: dict[str, Any]) -> None:
    """Print commands that can be typed unchanged; the one with --sql shows the SQL of this release."""
    database, kanon = shlex.quote(str(out)), as_called()
    qi = ",".join(_QUASI_IDENTIFIERS)
    roles = f"{kanon} anonymize {database} {TABLE} --entity {_ENTITY} --id name --sensitive diagnosis"
    anonymize = f"{roles} {_KEPT}"
    print_text("")
    print_prose(
        f"The release is the table {_release_name(k)} in {out}; it was checked by counting its classes again. "
        "What to type next:"
    )
    _say(f"{kanon} check {database} {_release_name(k)} --qi {qi} {_KEPT} -k {k}", "count its classes yourself")
    seed = f"-k {k} --seed {summary['seed']}"
    _say(f"{anonymize} \\\n      --qi {qi} {seed} --sql", "read the SQL that makes this release")
    stricter = max(_STRICTER, 2 * k)
    if summary["rows_in"] >= _SHOWN * stricter:
        _say(
            f"{roles} --keep cost \\\n      --qi {qi},department --hierarchy department=ready:hospital_department \\\n"
            f"      -k {stricter} --max-suppressed 0.05 --out {TABLE}_k{stricter}.parquet",
            "a stricter release, as a file, that generalizes the department too",
        )
    _say(f"{kanon} profile {database} {TABLE}", "the first of four commands for your own table; each tells the next")
    print_text("")


def _say(command: str, what_for: str) -> None:
    """Print a command, unwrapped so it can be copied, and its purpose."""
    print_text(f"\n  {command}\n      {what_for}")


def _first_rows(engine: Engine, table: str) -> list[tuple[Any, ...]]:
    query = exp.select("*").from_(sql_of.relation(table)).limit(_SHOWN)
    return engine.rows(query, f"first rows of {table}")


def _print_sql(rows: int, k: int, which: str, dialect: str, talk: Talk) -> None:
    """Print the statement of the sample table and the script of its release, made in memory."""
    with DuckDBEngine.in_memory() as engine:
        talk.follow(engine)
        _make_demo(engine, rows)
        engine.statements.clear()  # the sample is printed before the statements that found its release
        source = Source(engine, sql_of.relation(TABLE), TABLE)
        release = make_release(source, demo_policy(k), talk)
        made = release.script(dialect, Destination(into=_release_name(k)))
        of_release = script_text(release, made, which, dialect)
    if dialect == engine.dialect:
        sample = f"-- The sample table\n{script([_demo_statement(rows)], dialect)}"
    else:
        sample = f"-- The table {TABLE} is DuckDB's: kanon demo makes it, and --sql without --dialect shows how."
    print_sql(f"{sample}\n\n{of_release}")


# The sample database: hospital admissions that never happened


def _release_name(k: int) -> str:
    return f"{TABLE}_k{k}"


def demo_policy(k: int) -> Policy:
    return Policy(
        columns=NamedColumns(
            identifying=("name",),
            quasi_identifiers=_QUASI_IDENTIFIERS,
            sensitive=("diagnosis",),
            insensitive=_KEPT_COLUMNS,
            entity=_ENTITY,
        ),
        models=(KAnonymity(k),),
        seed=1,
    )


def _demo_statement(rows: int) -> exp.Expr:
    return sql_of.statement("demo/admissions", values={"rows": rows})


def _check_rows(rows: int) -> None:
    if not 0 <= rows <= _LARGEST:
        raise UsageError(f"--rows is a number from 0 to {_LARGEST:,}.")


def _make_demo(engine: DuckDBEngine, rows: int) -> None:
    engine.run(_demo_statement(rows), "make the sample table")
    _mark_as_ours(engine, TABLE)


def _mark_as_ours(engine: DuckDBEngine, table: str) -> None:
    """Mark a table as made by ``kanon demo``, which may replace it."""
    engine.run(
        exp.Comment(this=sql_of.relation(table), kind="TABLE", expression=sql_of.literal(_MARK)), "mark it as ours"
    )


def make_demo_file(path: Path, rows: int) -> None:
    """Make a database with the sample table, replacing one that was made here before."""
    _check_rows(rows)
    with _demo_file(path) as partial, DuckDBEngine.from_file(partial, writable=True) as engine:
        _make_demo(engine, rows)


@contextmanager
def _demo_file(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield the path of a database to be made, which gets its name if the block succeeds.

    Until then, and after an error, the previous file remains. With ``replace``, it may be lost with tables that were
    not made here.
    """
    target = path.resolve()  # a link stays a link
    _check_may_be_made(path, replace=replace)
    with private_directory(target.parent) as private:
        partial = private.path / target.name
        yield partial
        if _log_of(partial).exists():
            raise SourceError(f"{path} cannot be made: its last changes were not written. Is the disk full?")
        try:
            partial.replace(target)
            _log_of(target).unlink(missing_ok=True)  # of the previous database
        except OSError as error:
            raise SourceError(f"{path} cannot be written: {error.strerror}.") from None


def _log_of(database: Path) -> Path:
    """Return the write-ahead log of DuckDB: changes that are not yet in the database."""
    return database.with_name(f"{database.name}.wal")


def _check_may_be_made(path: Path, *, replace: bool) -> None:
    """Raise an error if making a demo database would lose data."""
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    if not path.exists():
        return
    made = _relations(path) if path.is_file() and is_database(path) else []
    if not any(by_demo for _, by_demo in made):
        raise UsageError(f"{path} exists and was not made by kanon demo: give another name with --out.")
    others = [name for name, by_demo in made if not by_demo]
    if others and not replace:
        names = ", ".join(others[:_MOST_NAMED]) + (", ..." if len(others) > _MOST_NAMED else "")
        raise UsageError(
            f"{path} has tables that kanon demo did not make, and would lose them: {names}. Give another name with "
            "--out, or let them go with --replace."
        )


def _relations(path: Path) -> list[tuple[str, bool]]:
    """Return the tables and views of a database, each with True if it was made here."""
    with DuckDBEngine.from_file(path, writable=False) as engine:
        rows = engine.rows(sql_of.statement("demo/made_by_demo", values={"mark": _MARK}), "what did kanon demo make?")
    return [(name, by_demo) for name, by_demo in rows]
