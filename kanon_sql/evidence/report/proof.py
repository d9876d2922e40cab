"""Are the published rows those that the policy makes? Compare both as multisets: in any order, NULL like any value.

Values are compared as written. Converting them to types first could lose a difference: ``30.1`` read as a whole number
is 30, and a forged release could hide a number for each row in its decimals. Therefore:

- For a text file, both sides are files: the rows that the policy makes are written like a release, to a private
  directory, and both are read with every value as text (JSON with its quotes).
- For anything else the types must be the same, and values are compared as the bytes of their text, which no collation
  treats as equal.
- A column made by a rule of ``--publish`` with a drawn key cannot be made again: such a release is not proven.
- Pseudonyms by a drawn key cannot be made again either. They must look like pseudonyms, equal no value of the original,
  and tie together the same rows as the new ones.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.files import private_directory
from kanon_sql.engine.sources.encodings import decode
from kanon_sql.engine.sources.excel import write_sheet
from kanon_sql.engine.sources.layout import DELIMITER_BY_SUFFIX, EXCEL, Layout
from kanon_sql.engine.sources.lines import write_lines
from kanon_sql.engine.sources.open_source import is_database
from kanon_sql.errors import NoRoomError, SourceError, VerificationError
from kanon_sql.release.pseudonyms import canonical_bytes, not_pseudonyms_query
from kanon_sql.release.publish.files import check_format, copy_statement, read_as_written, written_names
from kanon_sql.release.publish.publisher import OneTable
from kanon_sql.release.statements.release import generalized_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.release import Release
    from kanon_sql.release.verify.classes import Verification

_TEXTS = ("csv", "json", "jsonl")
_WHAT_TO_DO = (
    "Give the policy and the seed that it was made with (--policy, --seed). If the table or its hierarchies were "
    "changed since, or a time limit stopped the search, the release cannot be proven any more: make it again. Nothing "
    "was written."
)


@dataclass(frozen=True)
class ReleaseRows:
    """The rows of a release in a temporary table, and the results of its verification.

    ``people`` is a temporary table of their labels with the person of each; None if no column names people.
    """

    rows: exp.Table
    verification: Verification
    people: exp.Table | None


@contextmanager
def release_rows(release: Release) -> Iterator[ReleaseRows]:
    """Yield the rows of a release, made for its report; the tables are dropped at the end."""
    source, publication = release.prepared.source, release.publication
    engine, made = source.engine, OneTable(source, publication, release.expected)
    staging, people = engine.temporary_name("kanon_reported"), None
    try:
        with engine.snapshot():
            try:
                made.begin()
                engine.run(sql.create_table(staging, made.query(), temporary=True), "make the release")
                verification = made.verified({"": staging})
                if publication.roles.entity is not None:
                    people = engine.temporary_name("kanon_people")
                    generalized, names = generalized_query(publication, made.lookups), publication.quasi_identifiers
                    person = sql.column(publication.entity_name, "generalized")
                    found = original_rows_query(generalized, staging, names, person, published=True)
                    engine.run(
                        sql.create_table(people, found, temporary=True), "whom the rows of the release are about"
                    )
            finally:
                made.end()
        yield ReleaseRows(staging, verification, people)
    finally:
        if people is not None:
            engine.run(sql.drop(people), "drop whom the rows are about")
        engine.run(sql.drop(staging), "drop the rows that were reported on")


def require_same_rows(release: Release, made_rows: exp.Table, published: Source) -> None:
    """Raise an error unless a published release has the rows that its policy makes.

    ``made_rows`` are the rows that the policy makes, in the same engine.
    """
    is_csv = published.file is not None and published.file.suffix.lower() in DELIMITER_BY_SUFFIX
    # A whole file is for spreadsheets or not, and has one decimal sign: a choice for each row could hide something in
    # it.
    signs = dict.fromkeys([published.read.layout.decimal_separator or ".", "."])
    ways = [
        replace(release.publication, decimal=sign, spreadsheet_safe=safe, formats=release.prepared.source.read.formats)
        for sign in signs
        for safe in (False, True)
    ]
    errors = []
    for way in ways if is_csv else [release.publication]:
        try:
            _require_rows_of(release, way, made_rows, published)
        except VerificationError as error:
            errors.append(error)
        else:
            return
    raise errors[0]


def _require_rows_of(release: Release, publication: Publication, made_rows: exp.Table, published: Source) -> None:
    engine, original = release.prepared.source.engine, release.prepared.source.name
    not_it = f"{published.name} is not the release that this policy makes of {original}: it"
    if [column.name for column in published.columns] != written_names(publication):
        raise VerificationError(f"{not_it} has other columns. {_WHAT_TO_DO}")
    compared = compared_columns(publication)
    try:
        with _as_texts(engine, publication, made_rows, published) as (rows, output):
            missing, more = _differences(engine, rows, output, compared)
            if not missing and not more:
                _require_like_pseudonyms(engine, publication, rows, output, compared)
                return
    except NoRoomError:
        raise
    except SourceError:  # a file that is not written like a release
        raise VerificationError(f"{not_it} is written in another way. {_WHAT_TO_DO}") from None
    except VerificationError as error:  # starts with a verb: "has other types"
        raise VerificationError(f"{not_it} {error} {_WHAT_TO_DO}") from None
    rules = publication.rules
    if rules is not None and rules.cannot_be_repeated:
        raise VerificationError(
            f"{published.name} cannot be proven to be the release that this policy makes of {original}: "
            f"{', '.join(map(repr, rules.keyed))} are published by a key that was drawn and is kept nowhere. Make the "
            "report with the release (kanon anonymize --report), or use a key file (--key-file). Nothing was written."
        )
    if missing == release.rows_out and not more:
        raise VerificationError(
            f"{published.name} is not the release that this policy makes of {original}: none of its {missing:,} rows "
            "is in it. It is empty, or another program saved it, which ends lines or writes values in another way. "
            f"{_WHAT_TO_DO}"
        )
    raise VerificationError(
        f"{published.name} is not the release that this policy makes of {original}: {missing:,} of the "
        f"{release.rows_out:,} rows that the policy makes are not in it, and {more:,} rows that are in it are not what "
        f"the policy makes. {_WHAT_TO_DO}"
    )


def compared_columns(publication: Publication) -> list[str]:
    """Return the columns in which a published release must equal the rows that its policy makes."""
    pseudonyms = publication.pseudonyms
    drawn = pseudonyms.names if pseudonyms is not None and pseudonyms.key.drawn else []
    return [column.name for column in publication.columns if column.name not in drawn]


@contextmanager
def _as_texts(
    engine: Engine, publication: Publication, made_rows: exp.Table, published: Source
) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield the rows that the policy makes and the published rows, each value as text."""
    names, file = list(publication.published_types), published.file
    if file is None or is_database(file):
        _require_same_types(published.columns, publication.published_types)
        yield _texts(names, made_rows), _texts(names, published.relation)
        return
    form = check_format(file)
    with private_directory(Path(tempfile.gettempdir())) as private:
        again = private.path / file.name
        rows = exp.select(*(sql.column(name) for name in names)).from_(made_rows.copy())
        engine.run(copy_statement(rows, again, form, publication), "write the release as it was written")
        if form not in {*_TEXTS, EXCEL}:
            made, given = (
                exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[sql.literal(str(path))]))
                for path in (again, file)
            )
            _require_same_types(engine.columns(given), {column.name: column.type for column in engine.columns(made)})
            yield _texts(names, made), _texts(names, given)
            return
        delimiters = (publication.delimiter, published.read.delimiter)
        lines, encoding = private.path / "published", published.read.layout.encoding
        if form == EXCEL:
            sheet, own, delimiters = private.path / "own.xlsx", private.path / "own", (",", ",")
            write_sheet(again, sheet, publication.published_types)
            for source, target in ((sheet, own), (file, lines)):
                write_lines(source, target, Layout(format=EXCEL, header=True))
            again, file = own, lines
        elif encoding is not None:
            decode(file, lines, encoding)
            file = lines
        own_rows, given_rows = map(read_as_written, (again, file), (form, form), (names, names), delimiters)
        yield _texts(names, own_rows), _texts(names, given_rows)


def _require_same_types(columns: Sequence[Column], types: Mapping[str, str]) -> None:
    if others := [column.name for column in columns if types[column.name] != column.type]:
        raise VerificationError(f"has other types in {', '.join(map(repr, others))}.")


def _texts(names: Sequence[str], relation: exp.Table) -> exp.Subquery:
    columns = [sql.named(sql.cast(sql.column(name), "VARCHAR"), name) for name in names]
    return exp.select(*columns).from_(relation.copy()).subquery("written")


def _differences(engine: Engine, one: exp.Expr, other: exp.Expr, names: list[str]) -> tuple[int, int]:
    columns = [_bytes(name) for name in names]
    rows, others = (exp.select(*(column.copy() for column in columns)).from_(each.copy()) for each in (one, other))
    return _multisets(engine, rows, others, "is the published table the one that the policy makes?")


def _require_like_pseudonyms(
    engine: Engine, publication: Publication, one: exp.Expr, other: exp.Expr, compared: list[str]
) -> None:
    """Raise an error unless columns that cannot be made again are pseudonyms like those that the policy makes.

    ``one`` are the rows that the policy makes, as texts, ``other`` the published ones; the ``compared`` columns are the
    same in both.
    """
    pseudonyms = publication.pseudonyms
    if pseudonyms is None or not pseudonyms.key.drawn:
        return
    source = pseudonyms.origin if publication.rules is None else publication.rules.origin
    for column in pseudonyms.columns:
        relation = engine.temporary_name("kanon_published_pseudonyms")
        values = exp.select(sql.column(column.name)).from_(other.copy())
        engine.run(sql.create_table(relation, values, temporary=True), "pseudonyms that were published")
        try:
            (no_pseudonyms,) = engine.row(not_pseudonyms_query(relation, column.name), "are they pseudonyms?")
            known = exp.select(canonical_bytes(column)).from_(sql.aliased(source, "source"))
            is_known = exp.In(this=_bytes(column.name), query=known.subquery())
            same = exp.select(sql.where(sql.count_rows(), is_known)).from_(relation.copy())
            (as_they_were,) = engine.row(same, "are they values of the original?")
        finally:
            engine.run(sql.drop(relation), "drop them")
        if no_pseudonyms or as_they_were:
            raise VerificationError(
                f"has {no_pseudonyms or as_they_were:,} values in {column.name!r} that are no pseudonyms."
            )
        made, published = (_tied(rows, column.name, compared) for rows in (one, other))
        if any(_multisets(engine, made, published, f"what do the pseudonyms of {column.name} tie together?")):
            raise VerificationError(f"ties other rows together by {column.name!r}.")


def _tied(rows: exp.Expr, column: str, compared: list[str]) -> exp.Query:
    """Return for each pseudonym the rows that it ties together, as one text."""
    row = exp.Struct(expressions=[exp.PropertyEQ(this=sql.literal(name), expression=_bytes(name)) for name in compared])
    values = {"row": sql.cast(row, "VARCHAR"), "pseudonym": sql.column(column)}
    return sql.query("report/tied", values=values, relations={"released": rows})


def _bytes(name: str) -> exp.Expr:
    """Return a text column as bytes, which no collation treats as equal."""
    return sql.as_bytes(sql.column(name))


def _multisets(engine: Engine, one: exp.Query, other: exp.Query, title: str) -> tuple[int, int]:
    """Return the number of rows that only one side has, and only the other, counting repetitions."""
    rows = {"made": one.subquery("made"), "given": other.subquery("given")}
    missing, more = engine.row(sql.query("report/differences", relations=rows), title)
    return missing, more


def original_rows_query(
    generalized: exp.Query,
    released: exp.Table,
    quasi_identifiers: Sequence[str],
    person: exp.Expr | None,
    *,
    published: bool,
) -> exp.Select:
    """Return the labels of original rows whose class is in the output, or, unless ``published``, is not in it.

    ``generalized`` is the query of all rows, generalized; ``person`` is a column of it to select too.
    """
    labels = [sql.column(name, "generalized") for name in quasi_identifiers]
    same = [sql.same(sql.column(name, "released"), sql.column(name, "generalized")) for name in quasi_identifiers]
    in_output = exp.Exists(this=exp.select("1").from_(sql.aliased(released, "released")).where(*same))
    wanted = in_output if published else in_output.not_()
    query = exp.select(*labels).from_("generalized").where(wanted).with_("generalized", as_=generalized)
    return query if person is None else query.select(person)
