"""The hierarchies of columns: those that are given, those that are stored in the database, and chosen ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from kanon_sql.engine.base import find_column
from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.hierarchy.facts import column_facts
from kanon_sql.hierarchy.lookup import build_hierarchy, load_hierarchy, load_prefixed, use_stored
from kanon_sql.hierarchy.lookup_relation import Hierarchy, StoredHierarchy, coded_query
from kanon_sql.hierarchy.prefix_file import PrefixRule
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.spec import Rule

SCHEMA = "kanon"
REMEMBERING = frozenset({"releases", "dp_budgets", "dp_spent"})
"""Tables of it that record releases and answers about other tables: they outlive the rows of these."""
_PREFIX = "hierarchy_"


def stored_hierarchies(engine: Engine) -> dict[str, StoredHierarchy]:
    """Return the hierarchies in the schema ``kanon``, by the folded name of their column."""
    found = {}
    for name, origin, columns in engine.rows(sql.statement("hierarchy/stored"), "hierarchies in the database"):
        column = str(name).removeprefix(_PREFIX)
        found[folded(column)] = StoredHierarchy(
            column, sql.relation(name, SCHEMA), _height(columns), origin or f"{SCHEMA}.{name}"
        )
    return found


def _height(columns: list[str]) -> int:
    """Return how many levels a table with these columns has; 0 if it is no lookup relation at all."""
    names = {folded(column) for column in columns}
    if VALUE not in names:
        return 0
    return next(level for level in count(1) if level_name(level) not in names) - 1


def store_statements(hierarchy: Hierarchy, *, replace: bool) -> list[exp.Expr]:
    """Return the statements that keep a hierarchy in the database, codes and all, with its origin as a comment."""
    query = coded_query(hierarchy.relation, hierarchy.height, hierarchy.words)
    return _kept_statements(hierarchy, query, replace=replace)


def keep_hierarchy(source: Source, hierarchy: Hierarchy, *, replace: bool) -> None:
    """Keep a hierarchy where its table is; its values have the type that the column has there."""
    title = f"keep the hierarchy of {hierarchy.column.name}"
    query = coded_query(hierarchy.relation, hierarchy.height, hierarchy.words)
    typed = {VALUE: sql.column(hierarchy.column.name, "source")}
    kept = source.engine.carried(query, source.relation, typed, title)
    for statement in _kept_statements(hierarchy, kept, replace=replace):
        source.holder.run(statement, title)


def _kept_statements(hierarchy: Hierarchy, query: exp.Query, *, replace: bool) -> list[exp.Expr]:
    table = sql.relation(f"{_PREFIX}{hierarchy.column.name}", SCHEMA)
    schema = exp.Create(this=exp.Table(db=sql.identifier(SCHEMA)), kind="SCHEMA", exists=True)
    create = sql.create_table(table, query)
    comment = exp.Comment(this=table.copy(), kind="TABLE", expression=sql.literal(hierarchy.origin))
    return [schema, *([sql.drop(table)] if replace else []), create, comment]


class HierarchySettings(Protocol):
    """What is said of hierarchies: by a policy, or by ``GivenHierarchies``."""

    @property
    def hierarchies(self) -> Mapping[str, str]:
        """For columns that have one given, its rule or file."""

    @property
    def hierarchy_directory(self) -> Path | None:
        """A directory with hierarchy files."""

    @property
    def directory(self) -> Path:
        """Where relative paths start from."""


@dataclass(frozen=True)
class GivenHierarchies:
    """Hierarchies that are given without a policy.

    Attributes:
        hierarchies: for columns that have one given, its rule or file.
        hierarchy_directory: a directory with hierarchy files.
        directory: where relative paths start from.
    """

    hierarchies: Mapping[str, str] = field(default_factory=dict)
    hierarchy_directory: Path | None = None
    directory: Path = field(default_factory=Path)


def columns_with_hierarchy(source: Source, columns: Sequence[Column], policy: HierarchySettings) -> list[Column]:
    """Return those columns of which a hierarchy was given or is stored; none is chosen for a sensitive column."""
    if not columns:
        return []
    given, stored = given_rules(source, columns, policy), stored_hierarchies(source.engine)
    return [column for column in columns if column.name in given or folded(column.name) in stored]


def make_hierarchies(source: Source, columns: Sequence[Column], policy: HierarchySettings) -> tuple[Hierarchy, ...]:
    """Return a hierarchy for each column: the one that was given, else the one in the database, else a chosen one.

    Raises:
        UsageError: a hierarchy is given for a column that does not exist, twice for one, or is written wrong.
        HierarchyError: a hierarchy cannot be read, does not fit the type of its column, or is no tree.
        SourceError: a file or directory cannot be read.
    """
    engine = source.engine
    given = given_rules(source, columns, policy)
    stored = stored_hierarchies(engine) if len(given) < len(columns) else {}
    kept = {
        column.name: stored[folded(column.name)]
        for column in columns
        if column.name not in given and folded(column.name) in stored
    }
    left = [column for column in columns if column.name not in given and column.name not in kept]
    rules = dict(given)
    if left:
        from kanon_sql.hierarchy.suggest import chosen_rules

        rules |= chosen_rules(source, left)
    built = {
        column: rule
        for column in columns
        if (rule := rules.get(column.name)) is not None and not isinstance(rule, FileRule | PrefixRule)
    }
    facts = column_facts(engine, source.tuples, list(built.items()))

    def make(column: Column) -> Hierarchy:
        if column.name in kept:
            return use_stored(engine, column, kept[column.name])
        rule = rules[column.name]
        chosen = column.name not in given
        if isinstance(rule, FileRule):
            return replace(load_hierarchy(engine, source.tuples, column, rule), chosen=chosen)
        if isinstance(rule, PrefixRule):
            return replace(load_prefixed(engine, source.tuples, column, rule), chosen=chosen)
        return build_hierarchy(engine, source.relation, column, rule, facts[column.name], chosen=chosen)

    return tuple(make(column) for column in columns)


def make_hierarchy(source: Source, column: Column, policy: HierarchySettings) -> Hierarchy:
    """Return the hierarchy of one column, as ``make_hierarchies`` does."""
    (hierarchy,) = make_hierarchies(source, [column], policy)
    return hierarchy


def given_rules(source: Source, columns: Sequence[Column], policy: HierarchySettings) -> dict[str, Rule]:
    """Return the rules that a policy gives these columns: by name, else by a file in its directory.

    Raises:
        UsageError: a rule is given for a column that the source does not have, twice for one, or is written wrong.
        HierarchyError: the directory is not there, or two of its files are for one column.
    """
    rules: dict[str, Rule] = {}
    if policy.hierarchy_directory is not None:
        rules.update(_files_in(policy.hierarchy_directory, columns))
    named: set[Column] = set()
    for name, text in policy.hierarchies.items():
        column = find_column(name, source.columns)
        if column is None:
            raise UsageError(f"A hierarchy is given for column {name!r}, which {source.name} does not have.")
        if column in named:
            raise UsageError(f"Two hierarchies are given for column {column.name!r}: leave one out.")
        named.add(column)
        if column in columns:
            rules[column.name] = parse_rule(text, policy.directory)
    return rules


def _files_in(directory: Path, columns: Sequence[Column]) -> dict[str, FileRule]:
    """Return the files of a directory that are for these columns: ``<column>.csv`` or ``*_hierarchy_<column>.csv``.

    Raises:
        HierarchyError: there is no such directory, or two files for one column.
    """
    if not directory.is_dir():
        raise HierarchyError(f"There is no directory {directory} with hierarchies.")
    rules = {}
    files = sorted(path for path in directory.iterdir() if path.suffix.lower() == ".csv")
    for column in columns:
        name = folded(column.name)
        stems = {path: folded(path.stem) for path in files}
        found = [path for path, stem in stems.items() if stem == name or stem.endswith(f"_hierarchy_{name}")]
        if len(found) > 1:
            raise HierarchyError(
                f"{directory} has {len(found)} hierarchy files for column {column.name!r}: say which with --hierarchy."
            )
        if found:
            rules[column.name] = FileRule(found[0])
    return rules
