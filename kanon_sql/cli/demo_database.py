"""The sample database of ``kanon demo``: hospital admissions that never happened."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.sources.open_source import is_database
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLE = "admissions"
LARGEST = 100_000_000
ENTITY = "patient_id"
QUASI_IDENTIFIERS = ("birth_date", "sex", "zip", "admission_date")
_MARK = "Made by kanon demo: nobody in this table exists."
_NAMED = 5  # tables of others in an error message


def release_name(k: int) -> str:
    """Return the name of the release of the sample table."""
    return f"{TABLE}_k{k}"


def demo_policy(k: int) -> Policy:
    """Return the policy that the sample table is anonymized by."""
    return Policy(
        columns=NamedColumns(
            identifying=("name",),
            quasi_identifiers=QUASI_IDENTIFIERS,
            sensitive=("diagnosis",),
            rest="keep",
            entity=ENTITY,
        ),
        models=(KAnonymity(k),),
        seed=1,
    )


def demo_statement(rows: int) -> exp.Expr:
    """Return the statement that makes the sample table.

    Raises:
        UsageError: more rows than are offered, or less than none.
    """
    check_rows(rows)
    return sql.statement("demo/admissions", values={"rows": rows})


def check_rows(rows: int) -> None:
    """Refuse a size of the sample table that is not offered.

    Raises:
        UsageError: more rows than are offered, or less than none.
    """
    if not 0 <= rows <= LARGEST:
        raise UsageError(f"--rows is a number from 0 to {LARGEST:,}.")


def make_demo(engine: DuckDBEngine, rows: int) -> None:
    """Make the sample table, marked as ours.

    Raises:
        UsageError: more rows than are offered, or less than none.
    """
    engine.run(demo_statement(rows), "make the sample table")
    mark_as_ours(engine, TABLE)


def mark_as_ours(engine: DuckDBEngine, table: str) -> None:
    """Note at a table that ``kanon demo`` made it and may replace it."""
    engine.run(exp.Comment(this=sql.relation(table), kind="TABLE", expression=sql.literal(_MARK)), "mark it as ours")


def make_demo_file(path: Path, rows: int) -> None:
    """Make a database with the sample table; one that was made here before is replaced.

    Raises:
        UsageError: see ``demo_file``; or more rows than are offered, or less than none.
        SourceError: it cannot be written.
    """
    check_rows(rows)
    with demo_file(path) as partial, DuckDBEngine.from_file(partial, writable=True) as engine:
        make_demo(engine, rows)


@contextmanager
def demo_file(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Hand out the path of a database to be made, which takes its name when the block ends well.

    Until then what was there before is there still; when the block ends with an error nothing else is.

    Args:
        path: the database.
        replace: whether it may be lost with tables that were not made here.

    Raises:
        UsageError: what was there before must not be lost.
        SourceError: the database cannot be put there.
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
            _log_of(target).unlink(missing_ok=True)  # of the database that was there before
        except OSError as error:
            raise SourceError(f"{path} cannot be written: {error.strerror}.") from None


def _log_of(database: Path) -> Path:
    """Return where DuckDB keeps what it has not yet written into a database."""
    return database.with_name(f"{database.name}.wal")


def _check_may_be_made(path: Path, *, replace: bool) -> None:
    """Refuse to make a demo database where something must not be lost.

    Raises:
        UsageError: a file of that name was not made here, or has tables that were not.
        SourceError: its directory does not exist.
    """
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    if not path.exists():
        return
    made = _relations(path) if path.is_file() and is_database(path) else []
    if not any(by_demo for _, by_demo in made):
        raise UsageError(f"{path} exists and was not made by kanon demo: give another name with --out.")
    others = [name for name, by_demo in made if not by_demo]
    if others and not replace:
        names = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
        raise UsageError(
            f"{path} has tables that kanon demo did not make, and would lose them: {names}. Give another name with "
            "--out, or let them go with --replace."
        )


def _relations(path: Path) -> list[tuple[str, bool]]:
    """Return the tables and views of a database, each with whether it was made here."""
    with DuckDBEngine.from_file(path, writable=False) as engine:
        rows = engine.rows(sql.statement("demo/made_by_demo", values={"mark": _MARK}), "what did kanon demo make?")
    return [(name, by_demo) for name, by_demo in rows]
