"""Putting a release where it was asked for: table, view, file or data frame; all or nothing.

A release is made under a name of ours, verified there by statements of their own, and only then takes its name. When
anything fails on the way, whatever was made is gone.
"""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.private_files import private_directory, unwritable
from kanon_sql.engine.sources.addresses import DatabaseAddress
from kanon_sql.engine.sources.data_files import is_among
from kanon_sql.engine.timing import lift_deadlines, timed
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.store import SCHEMA
from kanon_sql.release.pseudonyms import forget_pseudonyms, make_pseudonyms
from kanon_sql.release.publish.file_formats import (
    copy_statement,
    reading_back,
    require_json,
    require_types,
    spreadsheet_safe,
)
from kanon_sql.release.published import Published
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.release.statements.view import (
    publication_of_view,
    require_viewable,
    view_lookups,
    view_statements,
    without_dots,
)
from kanon_sql.release.target import check_target, kind_of
from kanon_sql.release.verify.pseudonyms import leave_out
from kanon_sql.release.verify.verify import Expected, verify
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.published import Watch
    from kanon_sql.release.verify.classes import Verification

DATABASE = "duckdb"
"""The format of files that are databases."""
_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".duckdb": DATABASE,
    ".ddb": DATABASE,
    ".db": DATABASE,
}


def check_file(source: Source, path: Path, *, replace: bool) -> str:
    """Return the format of a file that a release will be written to, before any work is done for it.

    Raises:
        UsageError: its suffix is not known, it exists and may not be replaced, or it is what is to be anonymized.
        SourceError: its directory does not exist, or cannot be written.
    """
    format_name = check_format(path)
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK | os.X_OK):  # known before the work is done, not after it
        raise unwritable(path.parent, "no permission")
    database = source.database or (source.address.file if isinstance(source.address, DatabaseAddress) else None)
    itself = database is not None and path.exists() and path.samefile(database)
    among = source.file is not None and is_among(source.file, path)
    if among and not path.exists():
        raise UsageError(f"{path} would be a part of what is to be anonymized: write the release elsewhere.")
    if itself or among:
        raise UsageError(f"{path} is what is to be anonymized: write the release to another file, or give --in-place.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already: give another name, or replace it (--replace).")
    return format_name


def check_format(path: Path) -> str:
    """Return the format of a file that a release is written to.

    Raises:
        UsageError: its suffix is not known.
    """
    format_name = _FORMATS.get(path.suffix.lower())
    if format_name is None:
        raise UsageError(f"The format of {path} is not known by its suffix. Known are {', '.join(_FORMATS)}.")
    return format_name


def publish_table(
    source: Source,
    publication: Publication,
    name: str,
    expected: Expected,
    *,
    replace: bool = False,
    ledger: Watch | None = None,
) -> Published:
    """Make a release as a table; another's reader sees the old one or the whole new one."""
    engine = source.engine
    target = check_target(source, name, "table", replace=replace)
    lookups = readable_lookups(publication.hierarchies)
    staging = _beside(target, engine)
    seconds: dict[str, float] = {}
    with engine.transaction():
        with timed(seconds, "publish"):
            recode(engine, publication, lookups)
            engine.run(sql.create_table(staging, release_query(publication, lookups)), "make the release")
        with timed(seconds, "verify"):
            verification = verified(engine, publication, lookups, staging, expected)
        if ledger is not None:
            ledger.check(staging, target, seconds)
        forget_recoding(engine, publication)
        lift_deadlines()
        _take_name(engine, staging, target, "TABLE")
        if ledger is not None:
            ledger.remember("table", target, verification.rows)
    return Published(name, verification, seconds, None if ledger is None else ledger.outcome)


def publish_view(
    source: Source,
    publication: Publication,
    name: str,
    expected: Expected,
    *,
    replace: bool = False,
    ledger: Watch | None = None,
) -> Published:
    """Make a release as a view, with hierarchies of its own in the schema ``kanon`` that nothing else changes.

    Raises:
        UsageError: the recoding is a local one.
    """
    require_viewable(publication)
    engine = source.engine
    target = check_target(source, name, "view", replace=replace)
    staging = _beside(target, engine)
    lookups = view_lookups(publication, name)
    viewed = publication_of_view(publication, name)
    seconds: dict[str, float] = {}
    with engine.transaction():
        with timed(seconds, "publish"):
            own = readable_lookups(publication.hierarchies)
            for statement in view_statements(publication, name, staging, own):
                engine.run(statement, "make the view and its hierarchies")
        with timed(seconds, "verify"):
            verification = verified(engine, viewed, lookups, staging, expected)
        if ledger is not None:
            ledger.check(staging, target, seconds)
        lift_deadlines()
        _take_name(engine, staging, target, "VIEW")
        if ledger is not None:
            ledger.remember("view", target, verification.rows)
    return Published(name, verification, seconds, None if ledger is None else ledger.outcome)


def publish_file(
    source: Source,
    publication: Publication,
    path: Path,
    expected: Expected,
    *,
    replace: bool = False,
    ledger: Watch | None = None,
    dry_run: bool = False,
) -> Published:
    """Write a release to a file; it is verified as it can be read back, then takes its name in one step."""
    engine = source.engine
    format_name = check_file(source, path, replace=replace)

    def take_name(partial: Path, verification: Verification) -> None:
        if not dry_run:
            finish_file(engine, partial, path, verification, ledger)

    verification, seconds = write_file(source, publication, path, format_name, expected, take_name, ledger)
    return Published(str(path), verification, seconds, None if ledger is None else ledger.outcome)


def finish_file(
    engine: DuckDBEngine, partial: Path, path: Path, verification: Verification, ledger: Watch | None
) -> None:
    """Give a verified file its name, and remember it in the ledger; both or none.

    Raises:
        SourceError: the file cannot be written.
    """
    lift_deadlines()
    recording = ledger is not None and ledger.unwritable is None
    with engine.transaction() if recording else nullcontext():
        if ledger is not None:
            ledger.remember("file", path, verification.rows, written=partial)
        try:
            partial.replace(path)
        except OSError as error:
            raise SourceError(f"{path} cannot be written: {error.strerror}.") from None


def verify_file(
    engine: Engine, publication: Publication, partial: Path, format_name: str, expected: Expected
) -> Verification:
    """Return what is found in a file that was written and has not its name yet.

    Raises:
        VerificationError: it is not what it should be.
    """
    if format_name in {"json", "jsonl"}:
        require_json(engine, publication, partial)
    output = reading_back(publication, partial, format_name)
    return verified(engine, publication, readable_lookups(publication.hierarchies), output, expected)


def write_file(
    source: Source,
    publication: Publication,
    path: Path,
    format_name: str,
    expected: Expected,
    finish: Callable[[Path, Verification], None],
    ledger: Watch | None = None,
) -> tuple[Verification, dict[str, float]]:
    """Write a release beside where it is to be, verify it there, and hand it on; it is gone afterwards.

    Args:
        source: what is anonymized.
        publication: what is published.
        path: where it is to be.
        format_name: of the file.
        expected: what the search counted.
        finish: gives the verified file its name.
        ledger: asked before that.

    Returns:
        What was found in the file, and the seconds that it took.
    """
    engine = source.engine
    require_types(publication, format_name)
    lookups = readable_lookups(publication.hierarchies)
    seconds: dict[str, float] = {}
    with private_directory(path.parent) as private, engine.snapshot():
        partial = private.path / path.name
        try:
            with timed(seconds, "publish"):
                recode(engine, publication, lookups)
                query = release_query(publication, lookups)
                if publication.spreadsheet_safe:
                    query = spreadsheet_safe(query, publication)
                engine.run(copy_statement(query, partial, format_name), "write the release")
            with timed(seconds, "verify"):
                verification = verify_file(engine, publication, partial, format_name, expected)
            if ledger is not None:
                ledger.check(reading_back(publication, partial, format_name), path, seconds)
            finish(partial, verification)
        finally:
            forget_recoding(engine, publication)
    return verification, seconds


def publish_frame(
    engine: DuckDBEngine,
    publication: Publication,
    expected: Expected,
    fetch: Callable[[Any], Any],
    ledger: Watch | None = None,
    target: exp.Table | Path | None = None,
) -> tuple[Any, Published]:
    """Return a release as a data frame, made by ``fetch`` from a relation of DuckDB, and what was verified.

    A dry run has a ledger, which checks the release under the name that it would have: the target.
    """
    staging = engine.temporary_name("kanon_release")
    lookups = readable_lookups(publication.hierarchies)
    seconds: dict[str, float] = {}
    with engine.snapshot():
        try:
            with timed(seconds, "publish"):
                recode(engine, publication, lookups)
                query = release_query(publication, lookups)
                engine.run(sql.create_table(staging, query, temporary=True), "make the release")
            with timed(seconds, "verify"):
                verification = verified(engine, publication, lookups, staging, expected)
            if ledger is not None:
                ledger.check(staging, target, seconds)
            frame = engine.fetched(staging, fetch)
        finally:
            with suppress(SourceError):  # as in forget_recoding
                engine.run(sql.drop(staging), "drop the copy that was fetched")
            forget_recoding(engine, publication)
    return frame, Published("data frame", verification, seconds)


def recode(engine: Engine, publication: Publication, lookups: Mapping[str, exp.Table]) -> None:
    """Make pseudonyms, leave out those that rows tie too closely, and go through the steps of a local recoding."""
    make_pseudonyms(engine, publication.pseudonyms)
    for _ in range(0 if publication.pseudonyms is None else publication.pseudonyms.rounds):
        leave_out(engine, publication, lookups)
    for number, statement in enumerate(statements_for(publication).recoding_statements(lookups)):
        engine.run(statement, f"step {number} of the recoding" if number else "combinations of values")


def forget_recoding(engine: Engine, publication: Publication) -> None:
    """Drop what a local recoding worked on, and pseudonyms with the values that they stand for."""
    for table in statements_for(publication).working_tables():
        with suppress(SourceError):  # in a transaction that failed, and that will be rolled back with it
            engine.run(sql.drop(table), "drop the combinations of values")
    with suppress(SourceError):
        forget_pseudonyms(engine, publication.pseudonyms)


def verified(
    engine: Engine,
    publication: Publication,
    lookups: dict[str, exp.Table],
    output: exp.Expr,
    expected: Expected,
) -> Verification:
    """Return what is found in an output; arguments are those of ``verify``.

    Raises:
        VerificationError: it is not what it should be.
    """
    found = [column.name for column in engine.columns(output)]
    return verify(engine, publication, lookups, output, expected=expected, columns_found=found)


def _drop_lookups(engine: Engine, view: exp.Table) -> None:
    """Drop the hierarchies of a view that is replaced by a table: nothing reads them any more."""
    prefix = sql.literal(f"{without_dots(view.name)}.")
    for (name,) in engine.rows(
        sql.statement("release/lookups_of_view", values={"prefix": prefix}), "hierarchies of the view"
    ):
        engine.run(sql.drop(sql.relation(name, SCHEMA)), "drop the hierarchies of the view that is replaced")


def _beside(target: exp.Table, engine: Engine) -> exp.Table:
    """Return a name in the schema of the target that is not in use."""
    taken = {row[0] for row in engine.rows(sql.statement("catalog/relation_names"), "names in use")}
    return sql.relation(unused_name(f"kanon_unverified_{target.name}", taken), target.db or None)


def _take_name(engine: Engine, staging: exp.Table, target: exp.Table, kind: str) -> None:
    if existing := kind_of(engine, target):
        engine.run(sql.drop(target, existing), "drop what is replaced")
    if existing == "VIEW" and kind == "TABLE":
        _drop_lookups(engine, target)
    rename = exp.Alter(this=staging.copy(), kind=kind, actions=[exp.AlterRename(this=sql.relation(target.name))])
    engine.run(rename, "the verified release takes its name")
