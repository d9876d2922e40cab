"""A release as a DuckDB file of its own: one table, and nothing of where it came from."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.timing import lift_deadlines, timed
from kanon_sql.engine.whole_files import require_no_log, take_name, workspace
from kanon_sql.errors import SourceError
from kanon_sql.release.publish.duckdb import check_file, forget_recoding, recode, verified
from kanon_sql.release.published import Published
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.published import Watch
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.release.verify.verify import Expected

_SCHEMA = "main"


def publish_database(
    source: Source,
    publication: Publication,
    path: Path,
    expected: Expected,
    *,
    replace: bool = False,
    ledger: Watch | None = None,
    dry_run: bool = False,
) -> Published:
    """Make a release the only table of a new DuckDB file; it is verified there, then takes its name in one step.

    Raises:
        UsageError: the file exists and may not be replaced, or is what is to be anonymized.
        SourceError: it cannot be written.
        VerificationError: the output is not what it should be; nothing is left of it.
    """
    engine = source.engine
    check_file(source, path, replace=replace)
    require_no_log(path)
    lookups = readable_lookups(publication.hierarchies)
    seconds: dict[str, float] = {}
    with workspace(path) as directory:
        file = directory / "new.duckdb"
        name = engine.attach_new(file)
        try:
            table = table_in(source, name)
            with timed(seconds, "publish"):
                recode(engine, publication, lookups)
                engine.run(sql.create_table(table, release_query(publication, lookups)), "make the release")
            with timed(seconds, "verify"):
                verification = verified(engine, publication, lookups, table, expected)
            if ledger is not None:
                ledger.check(table, path, seconds)
            forget_recoding(engine, publication)
            with timed(seconds, "write"):
                engine.detach(name)
        except BaseException:
            engine.abandon(name)
            with suppress(SourceError):
                forget_recoding(engine, publication)
            raise
        if not dry_run:
            _finish(engine, file, path, verification, ledger)
    return Published(str(path), verification, seconds, None if ledger is None else ledger.outcome)


def _finish(engine: DuckDBEngine, file: Path, path: Path, verification: Verification, ledger: Watch | None) -> None:
    """Give a verified database its name, and remember it in the ledger; both or none."""
    lift_deadlines()
    recording = ledger is not None and ledger.unwritable is None
    with engine.transaction() if recording else nullcontext():
        if ledger is not None:
            ledger.remember("file", path, verification.rows, written=file)
        try:
            take_name(file, path)
        except OSError as error:
            raise SourceError(f"{path} cannot be written: {error.strerror}.") from None


def table_in(source: Source, database: str) -> exp.Table:
    """Return the table of a release in a database of its own: it is called as its source is."""
    if source.file is not None:
        name = source.file.stem if source.file.is_file() else "release"
    else:
        name = "release" if source.frame_kind is not None else source.relation.name
    return sql.relation(name, _SCHEMA, database)


def database_statements(source: Source, query: exp.Query, path: Path) -> tuple[tuple[exp.Expr, ...], exp.Table]:
    """Return the statements that make such a file, and its table."""
    name = "kanon_new"
    table = table_in(source, name)
    attach = exp.Attach(this=exp.Alias(this=sql.literal(str(path)), alias=sql.identifier(name)))
    return (attach, sql.create_table(table.copy(), query)), table
