"""Make the hierarchy of each column: from the given rule or file, from the database, or by a chosen rule.

1. ``make_hierarchies`` finds the rule of each column: given, or else stored in schema ``kanon``, or else chosen.
2. ``build_hierarchy``, ``load_hierarchy`` and ``_use_stored`` make values and levels.
3. ``_coded`` checks that they form a tree, and adds the prefix codes. For a file, both happen as it is read: a tree has
   few distinct paths.

The lookup relation ``(value, level_1, ..., level_h, code)`` has one row for every value and for NULL, which counts as a
value. If a file has no row for NULL, it gets one with the root from level 1 on.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import bounds_of, find_column
from kanon_sql.errors import ComputationError, HierarchyError, UsageError
from kanon_sql.hierarchy.check import require_counts, require_tree
from kanon_sql.hierarchy.expressions import ROOT, VALUE, level_name
from kanon_sql.hierarchy.formats import read_hierarchy
from kanon_sql.hierarchy.lookup_relation import (
    Hierarchy,
    StoredHierarchy,
    code_words,
    coded_paths,
    coded_query,
    load_paths,
    reading,
)
from kanon_sql.hierarchy.rules import FlatRule, ListedRule, column_facts
from kanon_sql.hierarchy.rules.texts import PrefixRule, prefix_columns, prefixed_query, require_prefixes
from kanon_sql.hierarchy.spec import FileRule, FromFile, parse_rule
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.formats.rows import HierarchyRows
    from kanon_sql.hierarchy.rules import BuiltRule, ColumnExtremes
    from kanon_sql.hierarchy.spec import GivenHierarchies, Rule


SCHEMA = "kanon"
REMEMBERING = frozenset({"releases", "appended", "dp_budgets", "dp_spent"})
"""Tables of that schema that record releases and answers about other tables: they outlive the rows of these."""
WAITING = "waiting_"
"""Prefix of tables of that schema with rows that are not published yet (see ``kanon_sql.release.append``)."""
_PREFIX = "hierarchy_"


def stored_hierarchies(engine: Engine) -> dict[str, StoredHierarchy]:
    """Return the hierarchies in schema ``kanon``, by the folded name of their column."""
    found = {}
    for name, origin, columns in engine.rows(sql.statement("hierarchy/stored"), "hierarchies in the database"):
        column, names = str(name).removeprefix(_PREFIX), set(map(folded, columns))
        height = next(level for level in count(1) if level_name(level) not in names) - 1 if VALUE in names else 0
        found[folded(column)] = StoredHierarchy(
            column, sql.relation(name, SCHEMA), height, origin or f"{SCHEMA}.{name}"
        )
    return found


def store_statements(hierarchy: Hierarchy, query: exp.Query | None = None, *, replace: bool) -> list[exp.Expr]:
    """Return the statements that store a hierarchy with its codes in the database; its origin becomes a comment.

    ``query`` returns the rows to store, if they are sent elsewhere.
    """
    table = sql.relation(f"{_PREFIX}{hierarchy.column.name}", SCHEMA)
    schema = exp.Create(this=exp.Table(db=sql.identifier(SCHEMA)), kind="SCHEMA", exists=True)
    create = sql.create_table(table, query or coded_query(hierarchy.relation, hierarchy.height, hierarchy.words))
    comment = exp.Comment(this=table.copy(), kind="TABLE", expression=sql.literal(hierarchy.origin))
    return [schema, *([sql.drop(table)] if replace else []), create, comment]


def keep_hierarchy(source: Source, hierarchy: Hierarchy, *, replace: bool) -> None:
    """Store a hierarchy beside its table; its values have the type of the column there."""
    title = f"keep the hierarchy of {hierarchy.column.name}"
    query = coded_query(hierarchy.relation, hierarchy.height, hierarchy.words)
    typed = {VALUE: sql.column(hierarchy.column.name, "source")}
    kept = source.engine.carried(query, source.relation, typed, title)
    for statement in store_statements(hierarchy, kept, replace=replace):
        source.holder.run(statement, title)


def columns_with_hierarchy(source: Source, columns: Sequence[Column], policy: GivenHierarchies) -> list[Column]:
    """Return the columns with a given or stored hierarchy; none is chosen for a sensitive column."""
    if not columns:
        return []
    given, stored = given_rules(source, columns, policy), stored_hierarchies(source.engine)
    return [column for column in columns if column.name in given or folded(column.name) in stored]


def make_hierarchies(
    source: Source, columns: Sequence[Column], policy: GivenHierarchies, population: Source | None = None
) -> tuple[Hierarchy, ...]:
    """Return a hierarchy for each column: the given one, or else the one in the database, or else a chosen one.

    Rules are chosen for, and applied to, the values of the source and of its population.
    """
    engine = source.engine
    if population is not None:
        view = engine.temporary_name("kanon_with_population")
        both = _with_population(source, population, columns)
        engine.run(sql.create_view(view, both, temporary=True), "the table and the population that it is a part of")
        made = make_hierarchies(replace(source, relation=view), columns, policy)
        return tuple(_reading_both(hierarchy, source, population) for hierarchy in made)
    given = given_rules(source, columns, policy)
    stored = stored_hierarchies(engine) if len(given) < len(columns) else {}
    kept = {column: stored.get(folded(column.name)) for column in columns if column.name not in given}
    rules = dict(given)
    if left := [column for column, own in kept.items() if own is None]:
        from kanon_sql.hierarchy.suggest import chosen_rules

        rules |= chosen_rules(source, left)
    built = [
        (column, rule)
        for column in columns
        if (rule := rules.get(column.name)) is not None and not isinstance(rule, FromFile)
    ]
    facts = column_facts(engine, source.tuples, built)

    def make(column: Column) -> Hierarchy:
        if (own := kept.get(column)) is not None:
            return _use_stored(engine, column, own)
        rule = rules[column.name]
        chosen = column.name not in given
        if isinstance(rule, FromFile):
            return replace(load_hierarchy(engine, source.tuples, column, rule), chosen=chosen, rule=rule)
        return build_hierarchy(engine, source.relation, column, rule, facts[column.name], chosen=chosen)

    return tuple(make(column) for column in columns)


def _with_population(source: Source, population: Source, columns: Sequence[Column]) -> exp.Query:
    """Return the query of the values that rules are applied to: the leaves of their hierarchies."""
    return sql.query(
        "hierarchy/with_population",
        values={name: [sql.column(column.name, name) for column in columns] for name in ("source", "population")},
        relations={
            "source": sql.aliased(source.relation, "source"),
            "population": sql.aliased(population.relation, "population"),
        },
    )


def _reading_both(hierarchy: Hierarchy, source: Source, population: Source) -> Hierarchy:
    """Return a hierarchy whose definition reads the source and its population, not the view of both."""
    if hierarchy.definition is None:
        return hierarchy
    both = _with_population(source, population, [hierarchy.column]).subquery("source")
    return replace(hierarchy, definition=reading(hierarchy.definition, both))


def make_hierarchy(source: Source, column: Column, policy: GivenHierarchies) -> Hierarchy:
    (hierarchy,) = make_hierarchies(source, [column], policy)
    return hierarchy


def given_rules(source: Source, columns: Sequence[Column], policy: GivenHierarchies) -> dict[str, Rule]:
    """Return the rules that a policy gives these columns: by name, or else by a file in its directory."""
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


def hierarchy_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.suffix.lower() in {".csv", ".txt"})


def notes_on_unused(directory: Path | None, rules: Iterable[Rule | None]) -> list[str]:
    """Return a note if a directory has files that no rule reads."""
    used = {rule.path for rule in rules if isinstance(rule, ListedRule)}
    files = [] if directory is None else hierarchy_files(directory)
    unused = [path.name for path in files if path not in used]
    names = "<column>.csv, <column>.txt, *_hierarchy_<column>.csv or *_hierarchy_<column>.txt"
    return [f"No quasi-identifier uses {', '.join(unused)} of {directory}. A file is called {names}."] if unused else []


def _files_in(directory: Path, columns: Sequence[Column]) -> dict[str, FileRule]:
    """Return the files of a directory for these columns: ``<column>`` or ``*_hierarchy_<column>``."""
    if not directory.is_dir():
        raise HierarchyError(f"There is no directory {directory} with hierarchies.")
    rules = {}
    for column in columns:
        name = folded(column.name)
        stems = {path: folded(path.stem) for path in hierarchy_files(directory)}
        found = [path for path, stem in stems.items() if stem == name or stem.endswith(f"_hierarchy_{name}")]
        if len(found) > 1:
            raise HierarchyError(
                f"{directory} has {len(found)} hierarchy files for column {column.name!r}: say which with --hierarchy."
            )
        if found:
            rules[column.name] = FileRule(found[0])
    return rules


def build_hierarchy(
    engine: Engine, source: exp.Table, column: Column, rule: BuiltRule, facts: ColumnExtremes, *, chosen: bool = False
) -> Hierarchy:
    rule.require_fit(column)
    try:
        bound, origin, notes = rule.bind(engine, source, column, facts)
        query = bound.query(column, source, facts)
        made = _coded(engine, column, query, ROOT, origin)
        return replace(made, definition=query, chosen=chosen, notes=notes, rule=bound.settled(column, facts))
    except ComputationError:
        if chosen and not isinstance(rule, FlatRule):  # this rule was not given
            return build_hierarchy(engine, source, column, FlatRule(), facts, chosen=True)
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({rule}) cannot be computed: the column is {column.type}, and "
            "some of its values, or of the bounds between them, have more digits than numbers can have. Round or "
            "cast the column in a view, or use mask or flat."
        ) from None


def for_other_rows(engine: Engine, hierarchy: Hierarchy, other: exp.Table) -> Hierarchy:
    """Return a hierarchy for the values of another table; equal values have the same labels.

    Bounds that were chosen from the data of its own table stay unchanged. A hierarchy from a file or from the database
    is the same for both.
    """
    if hierarchy.definition is None:
        return hierarchy
    definition = reading(hierarchy.definition, other)
    made = _coded(engine, hierarchy.column, definition, hierarchy.root, hierarchy.origin)
    return replace(hierarchy, relation=made.relation, words=made.words, definition=definition)


def load_hierarchy(engine: Engine, source: exp.Table, column: Column, rule: FromFile) -> Hierarchy:
    """Read a hierarchy from a file; for a prefix file, the values are those of source."""
    if isinstance(rule, PrefixRule):
        return _load_prefixed(engine, source, column, rule)
    rows = rule.read(column.name)
    values, paths, notes = rows.values, rows.paths, rows.notes
    if column.lookup_type == "VARCHAR":  # NULL, then by code points, as in DuckDB
        keys = ["" if value is None else f"\0{value}" for value in values]
        order = sorted(range(len(keys)), key=keys.__getitem__)
    else:
        order, beyond = _in_typed_order(engine, column, rows, str(rule))
        if beyond:
            left_out = "1 value is" if beyond == 1 else f"{beyond:,} values are"
            notes = (*notes, f"{left_out} beyond what {column.type} can hold, and left out")
    values, path_of = [values[row] for row in order], [rows.path_of[row] for row in order]
    if None not in values[:1]:  # NULL maps to the root, unless the file has a row for it
        at_root = (rows.root,) * rows.height
        paths = paths if at_root in paths else [*paths, at_root]
        values, path_of = [None, *values], [paths.index(at_root), *path_of]
    coded = coded_paths(values, paths, path_of)
    relation = engine.temporary_name(f"kanon_hierarchy_{column.name}")
    load_paths(engine, relation, coded, column.lookup_type, f"load the hierarchy of {column.name}")
    return Hierarchy(column, rows.height, relation, coded.words, rows.root, str(rule), format=rows.format, notes=notes)


_WIDER = {"integer": "DOUBLE", "decimal": "DOUBLE", "float": "DOUBLE", "date": "TIMESTAMP", "timestamp": "TIMESTAMP"}
"""For each family of types, a type that holds the values outside the range of its narrower types."""


def _in_typed_order(engine: Engine, column: Column, rows: HierarchyRows, origin: str) -> tuple[list[int], int]:
    """Return the sorted indices of values that the column's type can hold, and the number of those it cannot.

    Values outside the type have no row: no row of the table can contain them.
    """
    if (order := _in_order_of_integers(column, rows.values)) is not None:
        return order, 0
    title = f"type of the values in the hierarchy of {column.name}"
    readable, wider = (
        exp.TryCast(this=sql.column("text"), to=exp.DataType.build(kind, dialect="duckdb"))
        for kind in (column.lookup_type, _WIDER.get(column.family, column.lookup_type))
    )
    typed = {"texts": exp.Placeholder(this="texts"), "typed": readable, "wider": wider}
    ranks: dict[int, int] = {}
    unreadable, beyond = 0, 0
    for place, rank, is_of_kind in engine.rows(
        sql.query("hierarchy/typed", values=typed), title, {"texts": rows.values}
    ):
        if rank is not None:
            ranks[place - 1] = rank
        elif rows.values[place - 1] is None:
            ranks[place - 1] = 0
        elif is_of_kind:
            beyond += 1
        else:
            unreadable += 1
    if unreadable:
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({origin}): {unreadable:,} of its {len(rows.values):,} "
            f"values cannot be read as {column.type}, the type of the column. Write them as the column has them"
            f"{', or remove the header line' if unreadable == 1 and not rows.header else ''}."
        )
    repeated = sum(times > 1 for times in Counter(ranks.values()).values())
    require_counts({("repeated", 0): repeated}, column.name, origin)
    return sorted(ranks, key=ranks.__getitem__), beyond


_AS_WRITTEN = re.compile(r"0|-?[1-9][0-9]{0,38}")


def _in_order_of_integers(column: Column, values: Sequence[str | None]) -> list[int] | None:
    """Return the sorted indices of whole numbers, NULL first; None if one is not in DuckDB's format, or a duplicate.

    A statement for each column would take a twentieth of the time of a small release.
    """
    bounds = bounds_of(column) if column.family == "integer" else None
    if bounds is None:
        return None
    least, most = map(int, bounds)
    numbers = [
        least - 1 if value is None else int(value)
        for value in values
        if value is None or (_AS_WRITTEN.fullmatch(value) and least <= int(value) <= most)
    ]
    if len({*numbers}) < len(values):
        return None
    return sorted(range(len(numbers)), key=numbers.__getitem__)


def _load_prefixed(engine: Engine, source: exp.Table, column: Column, rule: PrefixRule) -> Hierarchy:
    """Return a hierarchy of a column's values; the levels of each come from the file's row for its first characters.

    Values whose first characters are not in the file get no row, like values missing from another file.
    """
    rows = read_hierarchy(rule.path, column.name)
    require_prefixes(rule, rows, column)
    prefixes = engine.temporary_name(f"kanon_prefixes_{column.name}")
    columns = prefix_columns(rows)
    engine.load(prefixes, columns, "load a hierarchy")
    query = prefixed_query(rule, rows, column, source, sql.aliased(prefixes, "prefixes"))
    written = sql.values("prefixes", list(columns), zip(*columns.values(), strict=True))
    definition = prefixed_query(rule, rows, column, source, written)
    hierarchy = _coded(engine, column, query, rows.root, str(rule))
    engine.run(sql.drop(prefixes), "drop the rows of the file")
    return replace(hierarchy, definition=definition)


def _use_stored(engine: Engine, column: Column, stored: StoredHierarchy) -> Hierarchy:
    """Return a hierarchy stored in the database, checked again."""
    stored.require_levels()
    levels = [sql.column(level_name(level)) for level in range(1, stored.height + 1)]
    value = exp.TryCast(this=sql.column(VALUE), to=exp.DataType.build(column.lookup_type, dialect=engine.dialect))
    query = exp.select(sql.named(value, VALUE), *levels).from_(stored.relation.copy())
    root = exp.select(sql.named(exp.Min(this=levels[-1].copy()), "root")).from_(stored.relation.copy())
    (label,) = engine.row(root, f"root of the hierarchy of {column.name}")
    return replace(_coded(engine, column, query, label or ROOT, stored.origin), stored=stored.relation)


def _coded(engine: Engine, column: Column, query: exp.Query, root: str, origin: str) -> Hierarchy:
    """Return the hierarchy of a query of values and levels, checked and with codes."""
    height = len(query.selects) - 1
    # 1. Compute values and levels once.
    levels = engine.temporary_name(f"kanon_levels_{column.name}")
    engine.run(sql.create_table(levels, query, temporary=True), f"levels of {column.name}")
    # 2. They must form a tree.
    children = require_tree(engine, levels, height, column.name, origin)
    # 3. Add the codes.
    words = code_words(children)
    relation = engine.temporary_name(f"kanon_hierarchy_{column.name}")
    coded = coded_query(levels, height, words)
    engine.run(sql.create_table(relation, coded, temporary=True), f"prefix codes of {column.name}")
    engine.run(sql.drop(levels), "drop the levels without codes")
    return Hierarchy(column, height, relation, words, root, origin)
