"""``release``: make a differentially private release of some columns of a table (SafePub).

1. Check everything that needs no row: columns, rules, files, levels, k, epsilon and delta.
2. Charge the cost to the budget of the table.
3. If no levels are given, choose them by the exponential mechanism, on all rows (``node_choice``).
4. Sample rows (``sampling``); copy only the published columns.
5. Recode the sample at the levels, and leave out classes of fewer than k of its rows: the query and the checks are
   those of every other release.

Every column of the release is a quasi-identifier: what an attacker could know does not matter here, and a column
published unchanged would reveal its values.
"""

from __future__ import annotations

import secrets
from contextlib import closing
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.classes.frequency import build_frequency
from kanon_sql.classes.lattice import Lattice
from kanon_sql.classes.of_node import classes_query
from kanon_sql.classes.recoding import FullDomain, by_name
from kanon_sql.dp.account import Charge
from kanon_sql.dp.budget import open_budgets
from kanon_sql.dp.mechanisms import choose, opendp
from kanon_sql.dp.released import DPRelease, PublishedSample, sample_script
from kanon_sql.dp.safepub import RequestedRelease
from kanon_sql.dp.sampling import (
    SCALE,
    candidates,
    copied_value,
    copy_rows_statement,
    draw_sample,
    fixed_rules,
    make_fixed,
    sample_statement,
    scores,
)
from kanon_sql.engine.base import resolve_columns
from kanon_sql.engine.equality import require_identity
from kanon_sql.engine.keys import draw_key
from kanon_sql.engine.progress import Progress, silent
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import ComputationError, HierarchyError, NoSolutionError, UsageError
from kanon_sql.models.base import N
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.policy import make_policy
from kanon_sql.policy.roles import Roles
from kanon_sql.release.publication import Publication
from kanon_sql.release.verify.verify import Expected
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Node
    from kanon_sql.dp.account import Number
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.progress import Listener
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.hierarchy.spec import Hierarchies, Rule
    from kanon_sql.policy.destination import Destination

_IN_ORDER = 31  # bits of the seed of the row order


def release(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    quasi_identifiers: Sequence[str],
    hierarchies: Hierarchies,
    epsilon: Number,
    delta: Number | None = None,
    k: int | None = None,
    levels: Mapping[str, int] | None = None,
    epsilon_search: Number | None = None,
    budget: str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
    progress: Listener | None = None,
) -> DPRelease:
    """Return a differentially private release of a table with at most one row per person.

    Args:
        source: path of a DuckDB, CSV, Parquet or JSON file; a DuckDB connection; a pandas, polars or Arrow table.
        table: the table in a database; optional if it has only one.
        quasi_identifiers: the columns to publish; all others are left out.
        hierarchies: for each of them, as for ``anonymize``; none may depend on the data.
        epsilon: the total to spend.
        delta: the largest delta; the least k that satisfies it is used.
        k: the smallest class; with ``delta`` it must satisfy that too. Give at least one of the two.
        levels: the level of each column, chosen without looking at the data; by default a mechanism chooses them.
        epsilon_search: the part of epsilon for choosing levels; by default a tenth.
        budget: the file that keeps the budget of a table that is in no database.
        resources: the resource limits; a connection has settings of its own.
        progress: called during the run.

    Raises:
        UsageError: a setting or a column is wrong, or a hierarchy depends on the data.
        SourceError: the source or a hierarchy cannot be read.
        BudgetError: too little of the budget of the table remains.
        NoSolutionError: no rows could be published; the cost is spent.
    """
    policy = make_policy(None, quasi_identifiers=quasi_identifiers, hierarchies=hierarchies)
    requested = RequestedRelease.of(policy, epsilon, delta=delta, k=k, levels=levels, epsilon_search=epsilon_search)
    opened = open_source(source, table, resources=resources)
    try:
        return make_dp_release(opened, requested, budget, progress or silent)
    except BaseException:
        opened.engine.close()
        raise


@dataclass(frozen=True)
class _ReleaseShape:
    """The facts about a release that are known before a row of the table is read."""

    source: Source
    columns: tuple[Column, ...]
    rules: Mapping[str, Rule]
    values: Mapping[str, exp.Expr]  # by name, the expression that copies a value from the source
    empty: exp.Table  # a copy without rows, which gives the types
    trees: tuple[Hierarchy, ...]  # the hierarchies of that copy, which give the heights
    node: Node | None  # the levels; None if a mechanism chooses them

    @property
    def lattice(self) -> Lattice:
        return Lattice(tuple(tree.height for tree in self.trees))


def make_dp_release(
    source: Source, requested: RequestedRelease, budget: str | os.PathLike[str] | None, progress: Listener
) -> DPRelease:
    progress(Progress("Preparing hierarchies"))
    shape = _shape_of(source, requested)
    if source.engine.in_transaction():  # a rollback could undo the charge
        raise UsageError("The connection has a transaction open: commit it or roll it back, then release.")
    nodes: list[Node] = []
    if shape.node is None:
        nodes = candidates(shape.lattice)
        opendp()  # without OpenDP, levels cannot be chosen: fail before charging
    _drop(source, shape.empty, *(tree.relation for tree in shape.trees))
    _charge(source, budget, requested.parameters.epsilon + requested.epsilon_search, requested.parameters.delta)
    try:
        node = shape.node
        if node is None:
            progress(Progress("Choosing levels"))
            node = _chosen_node(shape, requested, nodes)
        progress(Progress("Sampling"))
        return _sampled_release(shape, requested, node)
    except (HierarchyError, ComputationError):  # unexpected: these rules have a label for every value
        raise HierarchyError(
            "A hierarchy has no place for some values. Which ones, and how many, is not said, since it is exact; what "
            "this cost is spent. Please report it, with the rules and the types of the columns."
        ) from None


def dp_release_script(source: Source, requested: RequestedRelease, destination: Destination) -> str:
    """Return the script of a release at given levels; no row is read, and nothing is spent."""
    if requested.levels is None:
        raise UsageError("Which levels are chosen is known when it was paid for: give them (--levels) to see the SQL.")
    shape = _shape_of(source, requested)
    return sample_script(
        _drawn(shape, requested, shape.node or (), shape.empty, shape.trees, Expected(0, 0)), destination
    )


def _shape_of(source: Source, requested: RequestedRelease) -> _ReleaseShape:
    """Return the shape of a release: hierarchies are made for an empty copy, which gives their heights."""
    source.require("dp release", "A differentially private release")
    policy = requested.policy
    columns = resolve_columns(policy.columns.quasi_identifiers, source.columns, source.name)
    if not columns:
        raise UsageError("No column was named: say with --qi which columns the release has; all others are left out.")
    require_identity(source.engine, source.relation, columns)
    for column in resolve_columns(policy.hierarchies, source.columns, source.name):
        if column not in columns:
            raise UsageError(f"A hierarchy is given for column {column.name!r}, which the release does not have.")
    rules = fixed_rules(source, columns, policy)
    values = {column.name: copied_value(column, rules[column.name]) for column in columns}
    empty = source.engine.temporary_name("kanon_sample")
    create = copy_rows_statement(empty, source.relation, values)
    create.set("expression", create.expression.limit(0))
    source.engine.run(create, "the columns that are published, without a row")
    trees = make_fixed(source.engine, empty, _copied(source, empty, columns), rules)
    node = _given_node(source, trees, requested.levels)
    return _ReleaseShape(source, tuple(columns), rules, values, empty, trees, node)


def _given_node(source: Source, trees: Sequence[Hierarchy], levels: Mapping[str, int] | None) -> Node | None:
    if levels is None:
        return None
    named = {resolve_columns([name], source.columns, source.name)[0].name: level for name, level in levels.items()}
    known = {tree.column.name: tree.height for tree in trees}
    if others := [name for name in named if name not in known]:
        raise UsageError(f"A level is given for column {others[0]!r}, which the release does not have.")
    if missing := [name for name in known if name not in named]:
        raise UsageError(f"No level is given for column {missing[0]!r}: give one for each column, or none at all.")
    for name, level in named.items():
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= known[name]:
            raise UsageError(f"Column {name!r} has levels 0 to {known[name]}, not {level!r}.")
    return tuple(named[name] for name in known)


def _chosen_node(shape: _ReleaseShape, requested: RequestedRelease, nodes: Sequence[Node]) -> Node:
    """Return levels that the exponential mechanism chooses on the whole table."""
    engine = shape.source.engine
    whole = engine.temporary_name("kanon_whole")
    engine.run(copy_rows_statement(whole, shape.source.relation, shape.values), "copy the columns that are published")
    trees = make_fixed(engine, whole, _copied(shape.source, whole, shape.columns), shape.rules)
    frequency = build_frequency(engine, whole, trees, None)
    least = ceil(requested.parameters.k / requested.parameters.beta)
    # All scores change in the same direction when a row is added or removed.
    found = scores(frequency, shape.lattice, nodes, least)
    chosen = choose(found, SCALE, requested.epsilon_search, monotone=True)
    _drop(shape.source, whole, frequency.relation, *(tree.relation for tree in trees))
    return nodes[chosen]


def _drop(source: Source, *tables: exp.Table) -> None:
    for made in tables:
        source.engine.run(sql.drop(made), "drop what levels were chosen by")


def _sampled_release(shape: _ReleaseShape, requested: RequestedRelease, node: Node) -> DPRelease:
    source, parameters = shape.source, requested.parameters
    sample = source.engine.temporary_name("kanon_sample")
    statement = sample_statement(sample, source.relation, shape.values, parameters.threshold)
    draw_sample(source.engine, statement, draw_key())
    trees = make_fixed(source.engine, sample, _copied(source, sample, shape.columns), shape.rules)
    frequency = build_frequency(source.engine, sample, trees, None)
    rows, classes, smallest, squares = _published(frequency, node, parameters.k)
    if not rows:
        raise NoSolutionError(
            f"No class of the sample has {parameters.k:,} rows, and an empty table is no release. Its cost is "
            "spent: an empty result says something too. Publish fewer columns, or higher levels of them."
        )
    expected = Expected(rows, classes, frequency.rows, squares)
    drawn = _drawn(shape, requested, node, sample, trees, expected)
    return DPRelease(parameters, by_name(trees, node), requested.epsilon_search, rows, classes, smallest, drawn)


def _published(frequency: FrequencySet, node: Node, k: int) -> tuple[int, int, int, int]:
    """Return the rows, the classes, the smallest class and the sum of squared class sizes of the release."""
    n = sql.column(N)
    squares = exp.Sum(this=exp.Mul(this=n, expression=n))
    aggregates = (exp.Sum(this=n), sql.count_rows(), exp.Min(this=n), squares)
    found = [exp.Coalesce(this=aggregate, expressions=[sql.literal(0)]) for aggregate in aggregates]
    classes = classes_query(frequency.relation, frequency.masks(node), ()).subquery("classes")
    large = exp.GTE(this=n.copy(), expression=sql.literal(k))
    query = exp.select(*found).from_(classes).where(large)
    rows, number, smallest, squared = map(int, frequency.engine.row(query, "published values of the sample"))
    return rows, number, smallest, squared


def _drawn(
    shape: _ReleaseShape,
    requested: RequestedRelease,
    node: Node,
    sample: exp.Table,
    trees: tuple[Hierarchy, ...],
    expected: Expected,
) -> PublishedSample:
    source, copied = shape.source, tuple(tree.column for tree in trees)
    in_order = [column.name for column in source.columns]
    publication = Publication(
        source=sample,
        columns=tuple(sorted(copied, key=lambda column: in_order.index(column.name))),
        roles=Roles(copied, (), (), (), ()),
        hierarchies=trees,
        recoding=FullDomain(node),
        models=(KAnonymity(requested.parameters.k),),
        seed=secrets.randbits(_IN_ORDER),
        combinations=source.engine.temporary_name("kanon_combinations"),
    )
    statement = sample_statement(sample, source.relation, shape.values, requested.parameters.threshold)
    return PublishedSample(source, publication, shape.rules, statement, expected)


def _copied(source: Source, copy: exp.Table, columns: Sequence[Column]) -> list[Column]:
    found = {column.name: column for column in source.engine.columns(copy)}
    return [found[column.name] for column in columns]


def _charge(source: Source, kept_in: str | os.PathLike[str] | None, epsilon: Decimal, delta: Decimal) -> None:
    """Charge the cost of a release to the budget of its table, before any row affects a result."""
    if kept_in is None:
        source.make_writable()
    with closing(open_budgets(source, kept_in)) as budgets:
        budgets.charge(Charge("release", epsilon, delta))
