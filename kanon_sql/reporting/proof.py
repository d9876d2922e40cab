"""Is what was published what its policy makes? The rows of both, as multisets: in any order, NULL like any value."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.destinations import DATABASE, check_format, forget_recoding, recode, verified
from kanon_sql.engine.sources import is_database
from kanon_sql.errors import NoRoomError, SourceError, VerificationError
from kanon_sql.publish import generalized_query, readable_lookups, release_query
from kanon_sql.written_files import reading_back

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kanon_sql.class_check import Verification
    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources import Source
    from kanon_sql.publication import Publication
    from kanon_sql.release import Release

_WHAT_TO_DO = (
    "Give the policy and the seed that it was made with (--policy, --seed). If the table or its hierarchies were "
    "changed since, the release cannot be proven any more: make it anew. Nothing was written."
)


@dataclass(frozen=True)
class Made:
    """The rows of a release, made for its report.

    Attributes:
        rows: the temporary table of them.
        verification: what was verified in them.
        people: a temporary table of their labels with the person of each, which the release does not have; None where
            nobody is named.
    """

    rows: exp.Table
    verification: Verification
    people: exp.Table | None


@contextmanager
def made(release: Release) -> Iterator[Made]:
    """Hand out the rows of a release in a temporary table, and what was verified in them; it is dropped at the end.

    Raises:
        VerificationError: they are not what they should be.
    """
    engine, publication = release.prepared.source.engine, release.publication
    staging, people = engine.temporary_name("kanon_reported"), None
    lookups = readable_lookups(publication.hierarchies)
    try:
        with engine.snapshot():
            try:
                recode(engine, publication, lookups)
                query = release_query(publication, lookups)
                engine.run(sql.create_table(staging, query, temporary=True), "make the release")
                verification = verified(engine, publication, lookups, staging, release.expected)
                if publication.roles.entity is not None:
                    people = engine.temporary_name("kanon_people")
                    found = _people_query(publication, lookups, staging)
                    engine.run(
                        sql.create_table(people, found, temporary=True), "whom the rows of the release are about"
                    )
            finally:
                forget_recoding(engine, publication)
        yield Made(staging, verification, people)
    finally:
        if people is not None:
            engine.run(sql.drop(people), "drop whom the rows are about")
        engine.run(sql.drop(staging), "drop the rows that were reported on")


def _people_query(publication: Publication, lookups: Mapping[str, exp.Table], released: exp.Table) -> exp.Select:
    """Return the query of the labels of rows that are in a release, with the person of each."""
    generalized, names = generalized_query(publication, lookups), publication.quasi_identifiers
    same = [sql.same(sql.column(name, "released"), sql.column(name, "generalized")) for name in names]
    in_release = exp.Exists(this=exp.select("1").from_(sql.aliased(released, "released")).where(*same))
    selected = [sql.column(name, "generalized") for name in (*names, publication.entity_name)]
    return exp.select(*selected).from_(generalized.subquery("generalized")).where(in_release)


def require_same_rows(release: Release, made_rows: exp.Table, published: Source) -> None:
    """Raise unless a published release has the rows that its policy makes.

    Pseudonyms by a key that was drawn for the release are not compared: nobody has the key any more.

    Args:
        release: what the policy makes.
        made_rows: its rows.
        published: what was published, in the same engine.

    Raises:
        VerificationError: it has others.
    """
    engine, publication = release.prepared.source.engine, release.publication
    names = [column.name for column in publication.columns]
    if [column.name for column in published.columns] != names:
        raise VerificationError(
            f"{published.name} is not the release that this policy makes of {release.prepared.source.name}: it has "
            f"other columns. {_WHAT_TO_DO}"
        )
    output = _as_it_must_be(publication, published)
    try:
        missing, more = _differences(engine, made_rows, output, compared_columns(publication))
    except NoRoomError:
        raise
    except SourceError:  # a file with values that the types of the release do not have
        raise VerificationError(
            f"{published.name} is not the release that this policy makes of {release.prepared.source.name}: it has "
            f"values of other types. {_WHAT_TO_DO}"
        ) from None
    if missing or more:
        raise VerificationError(
            f"{published.name} is not the release that this policy makes of {release.prepared.source.name}: "
            f"{missing:,} of the {release.rows_out:,} rows that the policy makes are not in it, and {more:,} rows that "
            f"are in it are not what the policy makes. {_WHAT_TO_DO}"
        )


def compared_columns(publication: Publication) -> list[str]:
    """Return the columns in which a published release must be what its policy makes."""
    pseudonyms = publication.pseudonyms
    drawn = pseudonyms.names if pseudonyms is not None and pseudonyms.key.drawn else []
    return [column.name for column in publication.columns if column.name not in drawn]


def _as_it_must_be(publication: Publication, published: Source) -> exp.Expr:
    """Return a published release with the types that it must have: a file of text is read as it was written."""
    file = published.file
    if file is not None and not is_database(file) and (form := check_format(file)) != DATABASE:
        return reading_back(publication, file, form)
    types = publication.published_types
    names = [sql.named(sql.cast(sql.column(name), kind), name) for name, kind in types.items()]
    return exp.select(*names).from_(published.relation.copy()).subquery("published")


def _differences(engine: Engine, one: exp.Table, other: exp.Expr, names: list[str]) -> tuple[int, int]:
    """Return how many rows only one has, and how many only the other, each as often as it has them more."""
    columns = [sql.column(name) for name in names]
    rows = exp.select(*columns).from_(one.copy())
    others = exp.select(*(column.copy() for column in columns)).from_(other.copy())

    def counted(left: exp.Select, right: exp.Select) -> exp.Expr:
        only = exp.Except(this=left.copy(), expression=right.copy(), distinct=False)
        return exp.select(sql.count_rows()).from_(only.subquery("only")).subquery()

    missing, more = engine.row(
        exp.select(sql.named(counted(rows, others), "missing"), sql.named(counted(others, rows), "more")),
        "is what was published what the policy makes?",
    )
    return missing, more
