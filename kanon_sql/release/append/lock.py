"""``kanon.lock``: everything needed to publish new rows with the rules of an earlier release.

It is a policy whose rules do not depend on the data, plus the levels of its quasi-identifiers:

    [lock]
    version = 1
    release = "c2a0..."         # the fingerprint of the release
    recoding = "full-domain"    # or "local", which has several steps
    steps = [{ zip = 1 }]       # the level of each quasi-identifier, at each step
    types = { zip = "VARCHAR" } # of each column that is read; text for an ENUM, which would list all values
    hierarchies = {}            # fingerprints of hierarchies from files and from the database
    one_each = ["name"]         # identifying columns that had another value in each row
    table = ["main", "visits"]  # the source of the release, and a fingerprint of its rows
    rows = "77f0..."

    [source], [prepare], [columns], [hierarchies], [publish], [privacy]      # as in kanon.toml

It contains no value of the table: only rules, lengths of labels, and bounds that a person wrote. Two rules of
hierarchies write labels that depend on the existing values. Here they get a setting that fixes this (see
``build.settled_rule``).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.classes.recoding import Local
from kanon_sql.engine.equality import published_type
from kanon_sql.engine.files import private_directory, require_free, write_whole
from kanon_sql.engine.time_zones import UTC
from kanon_sql.errors import PolicyError, SourceError, UnsuitableError, UsageError
from kanon_sql.hierarchy.expressions import ROOT
from kanon_sql.hierarchy.rules import FlatRule, ListedRule
from kanon_sql.hierarchy.spec import LevelsRule, require_in_files
from kanon_sql.models.alpha_k_anonymity import AlphaKAnonymity
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.l_diversity import DistinctLDiversity, EntropyLDiversity, RecursiveCLDiversity
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import Policy, parse_policy, policy_text
from kanon_sql.policy.profile.people import numbers_people
from kanon_sql.policy.publish_rules import KEYED, parse_publish_rules
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.release.ledger import fingerprint
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.policy.roles import Roles
    from kanon_sql.release.publication import Publication
    from kanon_sql.search.prepare import Prepared

_VERSION = 1
_FULL_DOMAIN, _LOCAL = "full-domain", "local"
_UNITE = (KAnonymity, DistinctLDiversity, EntropyLDiversity, RecursiveCLDiversity, AlphaKAnonymity)
"""Models that depend on no rows outside of the class, and that a union of classes satisfies if each class does."""
_OF_OTHER_ROWS = frozenset({"microaggregate", *KEYED})


@dataclass(frozen=True)
class Lock:
    """The contents of a ``kanon.lock``."""

    policy: Policy  # its rules do not depend on the data; its time zone is that of the release
    is_local: bool  # rows are published at the first step at which their class is large enough
    steps: tuple[Mapping[str, int], ...]  # the level of each quasi-identifier at each step
    types: Mapping[str, str]  # of each column that is read
    hierarchies: Mapping[str, str]  # fingerprints of hierarchies in files or in the database, by column
    one_each: tuple[str, ...]  # identifying columns without repeated values, if people are counted without an entity
    table: tuple[str, str]  # schema and name of the source table of the release
    rows: str  # the fingerprint of its columns that are read
    release: str  # the fingerprint of the release when it was made; identifies this lock


def require_lockable(policy: Policy, source: Source) -> None:
    """Refuse a lock before the search if new rows could not be published with the same rules."""
    source.require("a lock", "A lock", UnsuitableError)
    if source.address is not None:
        raise UnsuitableError("A lock is for a release in a DuckDB database: leave --lock out.")
    if ALGORITHMS[policy.algorithm].kind not in {_FULL_DOMAIN, _LOCAL}:
        raise UnsuitableError(
            f"{policy.algorithm} cuts the values of this table into parts: use --algorithm optimal or local."
        )
    if others := [model.name for model in policy.models if not isinstance(model, _UNITE)]:
        why = "compares a class with rows outside of it, which change with each append"
        raise UnsuitableError(f"{others[0]} {why}: leave --lock out, or that model.")
    if policy.columns.pseudonymize:
        raise UnsuitableError("Pseudonyms tie new rows to earlier ones: leave --lock out, or --pseudonymize.")
    for column, texts in policy.publish.items():
        for rule in parse_publish_rules(column, texts):
            if rule.kind in _OF_OTHER_ROWS:
                why = "needs a key, or compares rows with one another: leave --lock out, or that rule"
                raise UnsuitableError(f"{rule.text} of column {column!r} {why}.")


def require_lock_file(path: Path, source: Source, policy: Policy, *, replace: bool) -> None:
    """Refuse a lock that cannot be written, before any work is done. Only another lock is replaced."""
    require_free(path, replace=replace)
    if path.exists() and not _is_lock(path):
        raise UsageError(f"{path} is no lock, and would be lost: give another name after --lock.")
    if source.database is not None and path.resolve() == Path(f"{source.database}.wal").resolve():
        raise UsageError(f"{path} is where DuckDB keeps the log of {source.database}: give another name after --lock.")
    try:
        private_directory(path.parent).remove()
    except SourceError:
        raise SourceError(f"No lock can be written to {path.parent}: name another file after --lock.") from None
    require_lockable(policy, source)


def _is_lock(path: Path) -> bool:
    try:
        return isinstance(tomllib.loads(path.read_text(encoding="utf-8")).get("lock"), dict)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


def write_lock(policy: Policy, prepared: Prepared, publication: Publication, target: exp.Table, path: Path) -> None:
    """Write the lock of a release that was published as the table ``target``, completely or not at all."""
    import tomli_w

    columns = locked_columns(publication)
    settled = _settled(policy, prepared.roles, columns)
    document = tomllib.loads(policy_text(settled, Destination(), path.parent))
    del document["search"]
    named = settled.columns
    read = {*named.identifying, *named.quasi_identifiers, *named.sensitive, *named.insensitive, named.entity}
    repeated = repeated_values(prepared.source, named.identifying)
    lock: dict[str, Any] = {
        "version": _VERSION,
        "release": print_of_release(prepared.source.engine, target, named),
        "recoding": _LOCAL if isinstance(publication.recoding, Local) else _FULL_DOMAIN,
        "steps": [
            {column.name: column.levels[level] for column, level in zip(columns, node, strict=True)}
            for node in publication.recoding.nodes
        ],
        "types": {column.name: published_type(column) for column in prepared.source.columns if column.name in read},
        "hierarchies": {
            column.name: print_of_hierarchy(prepared.source.engine, column.looked_up)
            for column in columns
            if column.looked_up is not None
        },
        "one_each": [] if named.entity else [name for name in named.identifying if name not in repeated],
        "table": list(table_place(prepared.source)),
    }
    if prepared.source.time_zone is not None:
        lock["time_zone"] = prepared.source.time_zone
    lock["rows"] = fingerprint.of_source(prepared.source.engine, prepared.source.relation, list(lock["types"]))
    write_whole(path, tomli_w.dumps({"lock": lock, **document}), "The lock")


def read_lock(path: Path) -> Lock:
    import tomli_w

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PolicyError(f"There is no lock {path}: kanon anonymize writes one with --lock.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(f"{path} cannot be read as a lock: {error}.") from None
    lock = document.pop("lock", None)
    if not isinstance(lock, dict):
        raise PolicyError(f"{path} is no lock: it has no section [lock]. kanon anonymize writes one with --lock.")
    if lock.get("version") != _VERSION:
        raise PolicyError(f"{path} is a lock of another version of kanon-sql than this one.")
    policy, _ = parse_policy(tomli_w.dumps(document), path)
    try:
        return Lock(
            policy=replace(policy, time_zone=lock.get("time_zone", UTC)),
            is_local=lock["recoding"] == _LOCAL,
            steps=tuple(lock["steps"]),
            one_each=tuple(lock["one_each"]),
            table=tuple(lock["table"]),
            **{name: lock[name] for name in ("types", "hierarchies", "rows", "release")},
        )
    except KeyError as error:
        raise PolicyError(f"{path} cannot be read as a lock: [lock] has no {error.args[0]}.") from None


@dataclass(frozen=True)
class LockedColumn:
    """A quasi-identifier in a lock."""

    name: str
    rule: str | None  # of its hierarchy; None if the hierarchy is stored in the database
    levels: Mapping[int, int]  # the level in the hierarchy of the rule, by level of the release
    looked_up: Hierarchy | None = None  # the hierarchy, if its labels are in a file or in the database

    @classmethod
    def of(cls, hierarchy: Hierarchy, levels: Sequence[int]) -> LockedColumn:
        """Return a column that is published at some levels. Unchanged values and the root fit any rule."""
        name, rule = hierarchy.column.name, hierarchy.rule
        same = {level: level for level in levels}
        if all(level == 0 or (level == hierarchy.height and hierarchy.root == ROOT) for level in levels):
            return cls(name, str(FlatRule()), {level: min(level, 1) for level in levels})
        if hierarchy.stored is not None:
            return cls(name, None, same, hierarchy)
        if isinstance(rule, LevelsRule):
            require_in_files({name: rule}, "a lock")
        if isinstance(rule, ListedRule):
            return cls(name, rule.absolute(), same, hierarchy)
        if rule is None:
            raise UnsuitableError(
                f"The bounds of the labels of column {name!r} ({hierarchy.origin}) were chosen by the values of this "
                "table, and other values would have other bounds: give the column intervals, or leave --lock out."
            )
        return cls(name, str(rule), same)


def locked_columns(publication: Publication) -> list[LockedColumn]:
    """Return the lock entry of each quasi-identifier of a full-domain or local release."""
    recoding = publication.recoding
    if not recoding.nodes:
        raise UnsuitableError("No row was published, so that no step says how new rows are: leave --lock out.")
    return [
        LockedColumn.of(hierarchy, recoding.levels_of(number))
        for number, hierarchy in enumerate(publication.hierarchies)
    ]


def _settled(policy: Policy, roles: Roles, locked: Sequence[LockedColumn]) -> Policy:
    """Return the part of a policy that new rows need, with rules that do not depend on the data."""
    entity = None if roles.entity is None else roles.entity.name
    # These columns show whether several rows belong to one person, even if they are not published.
    seen = [column for column in (*roles.identifying, *roles.dropped) if numbers_people(column)]
    seen += roles.identifying if entity is None else ()
    columns = NamedColumns(
        identifying=tuple(dict.fromkeys(_names(seen))) if policy.count == "people" else (),
        quasi_identifiers=_names(roles.quasi_identifiers),
        sensitive=_names(roles.sensitive),
        insensitive=_names((*roles.sensitive, *roles.insensitive)),
        proposed=_names(roles.without_role),  # checked in each batch, as in this table
        rest="drop",
        entity=entity,
    )
    return Policy(
        columns=columns,
        models=policy.models,
        hierarchies={column.name: column.rule for column in locked if column.rule is not None},
        publish=policy.publish,
        directory=policy.directory,
        count=policy.count,
        origin=policy.origin,
        prepare=policy.prepare,
    )


def _names(columns: Sequence[Column]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def table_place(source: Source) -> tuple[str, str]:
    """Return schema and name of a table in comparable form."""
    table = source.table
    return folded(table.db or source.engine.current_schema()), folded(table.name)


def repeated_values(source: Source, names: Sequence[str]) -> list[str]:
    """Return the columns in which several rows have the same value; NULL does not count."""
    if not names:
        return []
    counts = [
        count for name in names for count in (exp.Count(this=sql.column(name)), sql.count_distinct(sql.column(name)))
    ]
    found = source.engine.row(exp.select(*counts).from_(source.relation.copy()), "do identifying columns repeat?")
    return [name for name, number, distinct in zip(names, found[::2], found[1::2], strict=True) if distinct < number]


def print_of_release(engine: Engine, release: exp.Table, columns: NamedColumns) -> str:
    """Return the fingerprint of a release: of its labels, the number of rows with each, and their sensitive values."""
    return fingerprint.of_rows(
        engine, release, columns.quasi_identifiers, "fingerprint of the release", columns.sensitive
    )


def print_of_hierarchy(engine: Engine, hierarchy: Hierarchy) -> str:
    """Return the fingerprint of a hierarchy that is looked up: of its file, or of its table in the database."""
    if isinstance(hierarchy.rule, ListedRule):
        return fingerprint.of_file(hierarchy.rule.path)
    return fingerprint.of_hierarchy(engine, hierarchy)
