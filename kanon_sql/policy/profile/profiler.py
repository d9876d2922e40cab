"""``profile``: statistics and roles of the columns of a table, and the commented kanon.toml made from them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import find_columns, names, resolve_columns
from kanon_sql.engine.files import require_free, write_whole
from kanon_sql.engine.sources.addresses import seen_from
from kanon_sql.engine.sources.data_files import require_not_read
from kanon_sql.engine.sources.open_source import Source, open_source
from kanon_sql.engine.sources.preparing import rules_of, with_prepared
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.given import stored_hierarchies
from kanon_sql.hierarchy.ready import READY
from kanon_sql.hierarchy.suggest import best_fitting, suggestions_for
from kanon_sql.policy.policy import parse_policy
from kanon_sql.policy.profile.figures import (
    candidate_pairs,
    counts_query,
    find_dependencies,
    table_figures,
    who_is_alone,
)
from kanon_sql.policy.profile.people import proposed_entity
from kanon_sql.policy.profile.preparing import columns_to_prepare
from kanon_sql.policy.profile.proposals import Proposal, propose_role
from kanon_sql.policy.profile.result import ColumnProfile, NearlyFitting, PreparedColumn, Profile, ToPrepare
from kanon_sql.policy.profile.standards import changes_for
from kanon_sql.policy.profile.words import hints_for, notes_of, with_uniqueness
from kanon_sql.policy.standards import standard_named
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.sources.preparing import Rules
    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.profile.figures import Dependency
    from kanon_sql.policy.profile.proposals import ProposedRole

DEFAULT_ROWS = 500_000
POLICY_FILE = "kanon.toml"
_SUFFIXES = frozenset({".csv", ".tsv", ".parquet", ".json", ".xlsx"})  # files that a release can be written to
_FEW_MISSING = 0.2  # largest share of values that is worth adding
_HEX_DIGITS = 8
_FIGURES = ("distinct", "nulls", "null_share", "distinctness", "separation", "uniques")


def profile(
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    entity: str | None = None,
    sample: int | None = None,
    prepare: Mapping[str, str | Sequence[str]] | None = None,
    resources: Resources | None = None,
) -> Profile:
    """Profile a table: statistics, roles and how many rows its columns identify. Nothing is changed.

    Args:
        source: as for ``anonymize``.
        table: the table in a database.
        quasi_identifiers: columns that others could know, whatever the profile suggests.
        sensitive: columns that must not be learned about a person, whatever the profile suggests.
        entity: the column that names the person; the profile then counts people, not rows.
        sample: use a sample of about this many rows if the table has more; None is 500,000, 0 uses all rows.
        prepare: rules that come before all else, as for ``anonymize``. Other columns are prepared if their values need
            it: numbers and dates written as texts, codes of missing values.
        resources: resource limits; a connection has its own settings.

    Raises:
        UsageError: a column does not exist, or the sample is negative.
        SourceError: the source cannot be read.
    """
    opened = open_source(source, table, resources=resources)
    try:
        opened, to_prepare = prepared_for_profile(opened, rules_of(prepare or {}))
        known: dict[str, Any] = {"entity": entity, "sample": sample, "prepared": to_prepare}
        return profile_of(opened, quasi_identifiers=quasi_identifiers, sensitive=sensitive, **known)
    finally:
        opened.engine.close()


def prepared_for_profile(source: Source, given: Mapping[str, Rules]) -> tuple[Source, ToPrepare]:
    """Prepare the columns of a table by the given rules, and by those that its values need."""
    said = [column.name for column in find_columns(given, source.columns)]
    found = columns_to_prepare(source, said)
    prepared = (*found.columns, *(PreparedColumn(name, rules, None) for name, rules in given.items()))
    made = with_prepared(source, {one.name: one.rules for one in prepared})
    return made, ToPrepare(prepared, found.notes)


def profile_of(
    source: Source,
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    entity: str | None = None,
    sample: int | None = None,
    prepared: ToPrepare | None = None,
    left_out: Mapping[str, str] | None = None,
) -> Profile:
    """Return the profile of an open source.

    ``prepared`` describes how its columns were prepared, ``left_out`` why some are not published. Other arguments are
    those of ``profile``.
    """
    if sample is not None and (isinstance(sample, bool) or sample < 0):
        raise UsageError(f"--sample is a number of rows, or 0 for all of them, not {sample}.")
    by_role: dict[ProposedRole, Sequence[str]] = {"quasi-identifying": quasi_identifiers, "sensitive": sensitive}
    named: dict[Column, ProposedRole] = {}
    for role, columns in by_role.items():
        for column in resolve_columns(names(columns), source.columns, source.name):
            if named.setdefault(column, role) != role:
                raise UsageError(f"Column {column.name!r} was given two roles: {named[column]} and {role}.")
    person = None if entity is None else resolve_columns([entity], source.columns, source.name)[0]
    if person is not None and person in named:
        raise UsageError(f"Column {person.name!r} names the person; it cannot be {named[person]} too.")
    with source.engine.snapshot():
        found = _profile(source, named, person, DEFAULT_ROWS if sample is None else sample, left_out or {})
    if prepared is not None:
        found = replace(found, prepared=prepared.columns, undecided=prepared.notes)
    return replace(found, notes=notes_of(found))


def proposal_of(
    source: Source,
    given: Mapping[str, Rules],
    standards: Sequence[str],
    *,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    **named: Any,  # noqa: ANN401 - other arguments of profile_of
) -> tuple[Source, Profile]:
    """Return a prepared table, and a profile that proposes a policy that meets the rules of standards."""
    opened, to_prepare = prepared_for_profile(source, given)
    lists: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
    found = profile_of(opened, **lists, **named, prepared=to_prepare)
    changes = changes_for(opened, found, [standard_named(name) for name in standards])
    if changes.left_out:
        to_prepare = replace(to_prepare, columns=(*to_prepare.columns, *changes.new))
        opened = with_prepared(source, {one.name: one.rules for one in to_prepare.columns})
        instead = {folded(name): new for name, new in changes.instead.items()}
        lists = {role: [instead.get(folded(name), name) for name in names(columns)] for role, columns in lists.items()}
        found = profile_of(opened, **lists, **named, prepared=to_prepare, left_out=changes.left_out)
    return opened, replace(found, standards=tuple(standards))


def _profile(
    source: Source,
    named: Mapping[Column, ProposedRole],
    person: Column | None,
    most: int,
    left_out: Mapping[str, str],
) -> Profile:
    engine, columns = source.engine, source.columns
    looked_at, sampled = rows_to_look_at(source, person, most)
    counts = None
    if sampled:  # counted at the source: of a warehouse table, only the sample was transferred
        title = "rows, NULLs and distinct values of every column"
        (counts,) = source.holder.rows(counts_query(source.relation, columns), title)
        source = source if source.warehouse is None else replace(source, relation=looked_at, warehouse=None)
    figures = table_figures(engine, source.relation, looked_at, columns, dt.datetime.now(tz=dt.UTC).year, counts)
    proposals = {column.name: propose_role(column, figures[column.name]) for column in columns}
    entity = person or proposed_entity(columns, figures)
    if entity is not None:
        of_entity, proposal = figures[entity.name], proposals[entity.name]
        rows = (of_entity.rows - of_entity.nulls) / of_entity.distinct if of_entity.distinct else 0.0
        says = proposal.reason if person is None else "you named it as the person"
        reason = f"{says}; {rows:.1f} rows for each, so people are counted by it"
        proposals[entity.name] = Proposal("identifying", proposal.kind, reason)
    for column, role in named.items():
        proposals[column.name] = replace(proposals[column.name], role=role, reason="you or the policy named it")
    for name, reason in left_out.items():
        proposals[name] = replace(proposals[name], role="identifying", reason=reason)
    first = figures[columns[0].name]
    guarded = [column for column in columns if proposals[column.name].role in {"quasi-identifying", "sensitive"}]
    published = [column for column in columns if proposals[column.name].role != "identifying"]
    dependencies = find_dependencies(engine, looked_at, candidate_pairs(published, guarded, figures), figures)
    quasi = [column for column in columns if proposals[column.name].role == "quasi-identifying"]
    rules, nearly = _hierarchies_for(source, quasi) if first.rows else ({}, {})
    for name, kept in _said_twice(dependencies, [column for column in quasi if column not in named], rules).items():
        reason = f"{kept} says the same, and is published instead"
        proposals[name] = replace(proposals[name], role="identifying", reason=reason)
        rules.pop(name, None)
        nearly.pop(name, None)
    quasi = [column for column in quasi if proposals[column.name].role == "quasi-identifying"]
    of_entity = first if entity is None else figures[entity.name]
    members = first.looked_at if entity is None else of_entity.classes - bool(of_entity.nulls)  # NULL is not a person
    subsets = who_is_alone(engine, looked_at, quasi, entity, members)
    in_words = with_uniqueness(proposals, subsets)
    return Profile(
        table=source.name,
        rows=first.rows,
        rows_looked_at=first.looked_at,
        sampled=sampled,
        entity=None if entity is None else entity.name,
        entity_proposed=entity is not None and person is None,
        counted="rows" if entity is None else "people",
        members=members,
        columns=tuple(
            ColumnProfile(
                name=column.name,
                type=column.kind,
                **{name: getattr(figures[column.name], name) for name in _FIGURES},
                **vars(in_words[column.name]),
                named=column in named or column == person,
                hints=hints_for(figures[column.name], in_words[column.name], column),
            )
            for column in columns
        ),
        subsets=subsets,
        dependencies=dependencies,
        hierarchies=rules,
        nearly_fitting=nearly,
    )


def _said_twice(
    dependencies: Sequence[Dependency], quasi_identifiers: Sequence[Column], rules: Mapping[str, str]
) -> dict[str, str]:
    """Return the quasi-identifiers that determine another one and are determined by it, each with the one to keep.

    The column whose hierarchy has groups is kept. If both are alike, the text, which people can read, is kept before
    the code; otherwise the first one.
    """
    worth = {one.name: (rules.get(one.name) != "flat", one.family == "text") for one in quasi_identifiers}
    left: dict[str, str] = {}
    for found in dependencies:
        one, other = found.column, found.told
        if found.both_ways and {one, other} <= worth.keys() - left.keys():
            kept, dropped = (other, one) if worth[other] > worth[one] else (one, other)
            left[dropped] = kept
    return left


def rows_to_look_at(source: Source, entity: Column | None, most: int) -> tuple[exp.Table, bool]:
    """Return the table, or a sample of it if it has more than ``most`` rows."""
    if most == 0:
        return source.relation, False
    counting = sql.select_count(source.relation)
    ((rows,),) = source.holder.rows(counting, "rows of the table")
    if int(rows) <= most:
        return source.relation, False
    sample = source.engine.temporary_name("kanon_sample")
    chosen = _by_hash(source.columns if entity is None else [entity], most / int(rows))
    title = "a sample of the rows, by their hash"
    source.engine.copy_rows(sample, source.relation, source.columns, chosen, title)
    return sample, True


def _hierarchies_for(source: Source, columns: Sequence[Column]) -> tuple[dict[str, str], dict[str, NearlyFitting]]:
    """Return rules for columns without a hierarchy in the database, by name, and hierarchies that nearly fit.

    Each column gets the best suggestion that has all of its values: a ready-made hierarchy, or else one by its type. In
    the latter case, the second result names a ready-made one that has at least 80 % of its values.
    """
    stored = stored_hierarchies(source.engine)
    wanted = [column for column in columns if folded(column.name) not in stored]
    rules: dict[str, str] = {}
    nearly: dict[str, NearlyFitting] = {}
    for column, suggestions in suggestions_for(source, wanted).items():
        rules[column] = best_fitting(suggestions).rule
        if not rules[column].startswith(READY):
            near = (one for one in suggestions if not one.covers)
            counts = [(one.rule, one.values_missing, one.distinct or 0) for one in near]
            first = next((one for one in counts if one[1] <= _FEW_MISSING * one[2]), None)
            nearly |= {} if first is None else {column: NearlyFitting(*first)}
    return rules, nearly


def _by_hash(columns: Sequence[Column], share: float) -> exp.Expr:
    """Return a condition that about a share of the rows meets: the MD5 hash of these columns is small."""
    limit = format(int(share * 16**_HEX_DIGITS), f"0{_HEX_DIGITS}x")
    texts = [sql.cast(sql.column(column.name, "source"), "VARCHAR") for column in columns]
    parts = [exp.Coalesce(this=text, expressions=[sql.literal("")]) for text in texts]
    digest = exp.MD5(this=sql.concatenated(*parts, by="|"))
    return exp.LT(this=exp.Left(this=digest, expression=sql.literal(_HEX_DIGITS)), expression=sql.literal(limit))


def write_init(
    found: Profile,
    source: Source,
    path: Path,
    origin: Origin | None,
    *,
    k: int,
    replace_existing: bool,
) -> Profile:
    """Write the policy file of a profile atomically, once it reads back.

    ``origin`` is the table as the file names it. Return the profile with notes on what to change in the file.
    """
    require_free(path, replace=replace_existing)
    require_not_read(path, source.database, source.file)
    seen = None if origin is None else replace(origin, source=seen_from(path.parent, origin.source))
    text = found.to_toml(k=k, **_destination(source, k, path.parent), where=source.on_command_line, origin=seen)
    parse_policy(text, path)  # the text must read back
    write_whole(path, text, "The policy")
    return replace(found, notes=notes_of(found, str(path)))


def _destination(source: Source, k: int, directory: Path) -> Mapping[str, str]:
    """Return a free destination for the release of a source: a table beside it, or a file of the same type."""
    if source.database is not None:
        taken = (row[2] for row in source.engine.rows(sql.statement("catalog/tables"), "names that are taken"))
        return {"into": unused_name(f"{source.name}_k{k}", taken)}
    if source.file is not None or source.address is not None:
        name = Path(source.name) if source.file is None else source.file
        kind = name.suffix.lower()
        suffix = kind if kind in _SUFFIXES else ".csv"
        plain = "".join(character for character in name.stem if character not in "*?[]") or "released"
        taken = (path.name.removesuffix(suffix) for path in directory.iterdir() if path.name.endswith(suffix))
        return {"out": unused_name(f"{plain}_k{k}", taken) + suffix}
    return {}
