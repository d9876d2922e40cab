"""An earlier release as it can be read today: where it stands, or made again from its levels.

A table or file that is still what it was is read as it stands; so is a view. A full-domain release that is gone or was
changed is made again: its levels, under hierarchies with the same fingerprints, say of every row of the source which
class it is in, and classes of fewer than k are left out. Nothing else can be made again: a local recoding and the parts
of Mondrian are known from what was published only.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kanon_sql.classes.recoding import FullDomain
from kanon_sql.engine.base import find_column
from kanon_sql.engine.sources.open_source import open_beside
from kanon_sql.errors import KanonError
from kanon_sql.hierarchy.given import make_hierarchy
from kanon_sql.hierarchy.rules.texts import PrefixRule
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import NamedColumns, assign_roles
from kanon_sql.release.ledger import fingerprint
from kanon_sql.release.publication import Publication
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.ledger.entry import Entry, KeptHierarchy


_KINDS = {"TABLE": "table", "VIEW": "view", "MATERIALIZED VIEW": "table"}
"""What an entry calls a relation: the rows of a materialized view stand in it, as those of a table do."""


class CannotBeCheckedError(Exception):
    """An earlier release cannot be told any more; its text says why. Caught inside, never shown by itself."""


def target_of(entry: Entry) -> exp.Table:
    """Return the table or view that an entry names."""
    schema, name = entry.target
    return sql.relation(name, schema)


def is_as_it_was(engine: DuckDBEngine, entry: Entry) -> bool | None:
    """Tell whether a release is still what it was; None if it is gone."""
    if entry.kind == "file":
        path = Path(entry.target[1])
        try:
            return fingerprint.of_file(path) == entry.fingerprint if path.is_file() else None
        except OSError:
            return None
    target = target_of(entry)
    kind = engine.kind_of(target)
    if kind is None or _KINDS.get(kind) != entry.kind:
        return None
    if entry.kind == "view":
        return fingerprint.of_view(engine, target) == entry.fingerprint
    names, columns = entry.quasi_identifiers, engine.columns(target)
    if any(find_column(name, columns) is None for name in names):
        return False
    return fingerprint.of_rows(engine, target, names, "is the earlier release what it was?") == entry.fingerprint


def read_as_it_stands(source: Source, entry: Entry) -> exp.Table | None:
    """Return the relation of an earlier release that is still what it was; else None.

    Raises:
        CannotBeCheckedError: its file cannot be read.
    """
    if not is_as_it_was(source.engine, entry):
        return None
    if entry.kind == "file":
        try:
            return open_beside(source, Path(entry.target[1]), as_text=True).relation
        except KanonError:
            raise CannotBeCheckedError("its file cannot be read") from None
    return target_of(entry)


def make_again(source: Source, entry: Entry, hierarchies: Sequence[Hierarchy], columns: Sequence[str]) -> exp.Table:
    """Return a temporary table with the classes of a full-domain release, from the rows as they are now.

    Args:
        source: the table.
        entry: the release.
        hierarchies: those that it was made with.
        columns: names of what is needed besides its quasi-identifiers.

    Raises:
        CannotBeCheckedError: its levels do not say what its classes are.
    """
    if entry.levels is None:
        raise CannotBeCheckedError("it is gone or was changed, and only the published rows tell its classes")
    if not entry.only_k:
        raise CannotBeCheckedError("it is gone or was changed, and sizes alone do not tell which classes it published")
    for kept, hierarchy in zip(entry.hierarchies, hierarchies, strict=True):
        if fingerprint.of_hierarchy(source.engine, hierarchy) != kept.fingerprint:
            raise CannotBeCheckedError(
                f"it is gone or was changed, and the hierarchy of column {kept.column!r} is another one now"
            )
    named = NamedColumns(
        quasi_identifiers=tuple(entry.quasi_identifiers), insensitive=tuple(columns), rest="drop", entity=entry.entity
    )
    roles = assign_roles(named, source.columns, source.name)
    engine = source.engine
    publication = Publication(
        source=source.relation,
        columns=(*roles.quasi_identifiers, *roles.insensitive),
        roles=roles,
        hierarchies=tuple(hierarchies),
        recoding=FullDomain(tuple(entry.levels[name] for name in entry.quasi_identifiers)),
        models=(KAnonymity(entry.k, entity=entry.entity),),
        seed=0,
        combinations=engine.temporary_name("kanon_combinations"),
    )
    again = engine.temporary_name("kanon_earlier")
    query = release_query(publication, readable_lookups(hierarchies))
    query.set("order", None)
    engine.run(sql.create_table(again, query, temporary=True), "an earlier release, made again from its levels")
    return again


def key_of(hierarchy: Hierarchy, fingerprint_of_it: str) -> str:
    """Return what a hierarchy is known by: its column and its fingerprint."""
    return json.dumps([hierarchy.column.name, fingerprint_of_it])


def kept_key(source: Source, kept: KeptHierarchy) -> str:
    """Return what the hierarchy that a release was made with is known by.

    Raises:
        CannotBeCheckedError: its column is gone.
    """
    return json.dumps([_column(source, kept).name, kept.fingerprint])


def hierarchy_again(source: Source, kept: KeptHierarchy) -> Hierarchy:
    """Return the hierarchy that a release was made with, as far as it can be had today.

    Raises:
        CannotBeCheckedError: it is gone, or another one stands in its place.
    """
    column = _column(source, kept)
    rules = {} if kept.rule is None else {column.name: kept.rule}
    try:
        made = make_hierarchy(source, column, Policy(hierarchies=rules))
    except KanonError:
        raise CannotBeCheckedError(f"the hierarchy of its column {kept.column!r} cannot be read any more") from None
    # One that is built from the values of the column grows with them; what it says of a value stays, but for a file of
    # prefixes, which may be another one now.
    grows = made.definition is not None and not _of_own_prefixes(kept)
    if not grows and fingerprint.of_hierarchy(source.engine, made) != kept.fingerprint:
        raise CannotBeCheckedError(f"the hierarchy of its column {kept.column!r} is another one now")
    return made


def _of_own_prefixes(kept: KeptHierarchy) -> bool:
    """Tell whether a hierarchy was looked up by prefix in a file of the person's own."""
    rule = None if kept.rule is None else parse_rule(kept.rule)
    return isinstance(rule, PrefixRule) and rule.name is None


def _column(source: Source, kept: KeptHierarchy) -> Column:
    column = find_column(kept.column, source.columns)
    if column is None:
        raise CannotBeCheckedError(f"its column {kept.column!r} is not in the table any more")
    return column
