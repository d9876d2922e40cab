"""Is what was published what its policy makes? The rows of both, as multisets: in any order, NULL like any value."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kanon_sql.errors import NoRoomError, SourceError, VerificationError
from kanon_sql.evidence.report.distribution import original_rows_query
from kanon_sql.evidence.report.same_rows import as_texts, differences, require_like_pseudonyms
from kanon_sql.release.publish.file_formats import written_names
from kanon_sql.release.publish.publisher import forget_recoding, recode, verified
from kanon_sql.release.statements.release import generalized_query, readable_lookups, release_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot import exp

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.release import Release
    from kanon_sql.release.verify.classes import Verification

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
                    generalized, names = generalized_query(publication, lookups), publication.quasi_identifiers
                    person = sql.column(publication.entity_name, "generalized")
                    found = original_rows_query(generalized, staging, names, person, published=True)
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


def require_same_rows(release: Release, made_rows: exp.Table, published: Source) -> None:
    """Raise unless a published release has the rows that its policy makes.

    Pseudonyms by a key that was drawn for the release cannot be made again: nobody has the key any more. They must be
    pseudonyms, and tie together what those that were made now tie together.

    Args:
        release: what the policy makes.
        made_rows: its rows.
        published: what was published, in the same engine.

    Raises:
        VerificationError: it has others.
    """
    try:
        _require_rows_of(release, release.publication, made_rows, published)
    except VerificationError as error:
        if published.file is None or published.file.suffix.lower() != ".csv":
            raise
        # A file is for spreadsheets as a whole, or not at all: a choice for each row could hide something in it.
        for_spreadsheets = replace(release.publication, spreadsheet_safe=True)
        with suppress(VerificationError):
            _require_rows_of(release, for_spreadsheets, made_rows, published)
            return
        raise error from None


def _require_rows_of(release: Release, publication: Publication, made_rows: exp.Table, published: Source) -> None:
    """Raise unless a published release has the rows of a publication (see ``require_same_rows``).

    Raises:
        VerificationError: it has others.
    """
    engine = release.prepared.source.engine
    not_it = f"{published.name} is not the release that this policy makes of {release.prepared.source.name}:"
    if [column.name for column in published.columns] != written_names(publication):
        raise VerificationError(f"{not_it} it has other columns. {_WHAT_TO_DO}")
    compared = compared_columns(publication)
    try:
        with as_texts(engine, publication, made_rows, published) as (rows, output):
            missing, more = differences(engine, rows, output, compared)
            if not missing and not more:
                require_like_pseudonyms(engine, publication, rows, output, compared)
    except NoRoomError:
        raise
    except SourceError:  # a file that is not written as a release is
        raise VerificationError(f"{not_it} it is written in another way. {_WHAT_TO_DO}") from None
    except VerificationError as error:
        raise VerificationError(f"{not_it} it {error} {_WHAT_TO_DO}") from None
    if missing or more:
        raise VerificationError(
            f"{not_it} {missing:,} of the {release.rows_out:,} rows that the policy makes are not in it, and {more:,} "
            f"rows that are in it are not what the policy makes. {_WHAT_TO_DO}"
        )


def compared_columns(publication: Publication) -> list[str]:
    """Return the columns in which a published release must be what its policy makes."""
    pseudonyms = publication.pseudonyms
    drawn = pseudonyms.names if pseudonyms is not None and pseudonyms.key.drawn else []
    return [column.name for column in publication.columns if column.name not in drawn]
