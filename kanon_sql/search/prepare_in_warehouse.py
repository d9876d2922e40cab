"""Preparing a search that runs on the warehouse: the frequency set is made there and does not leave it.

What comes here are the values of each quasi-identifier by itself, with their counts: hierarchies are made from them on
the workbench. They go back with their codes; the frequency set, the labels and all tests of nodes are made there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_sql.classes.frequency import build_frequency
from kanon_sql.engine.capabilities import require
from kanon_sql.engine.equality import looked_up
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.labels import make_labels
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.policy.algorithms import algorithms_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.workbench import Workbench
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Labels
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.roles import Roles


def require_in_warehouse(source: Source, policy: Policy) -> None:
    """Raise unless a search can run on the warehouse of a table."""
    if not source.in_warehouse:
        require("--search-on warehouse", "one table")
    # These only read: the others change tables of their own step by step, or cut them.
    *algorithms, last = algorithms_of("full-domain")
    if policy.algorithm not in {*algorithms, last}:
        raise UsageError(
            f"{policy.algorithm} works on tables that it changes step by step, on the workbench: leave --search-on "
            f"warehouse out, or use {', '.join(algorithms)} or {last}."
        )
    if policy.columns.pseudonymize:
        raise UsageError("Pseudonyms and --search-on warehouse do not go together: leave one of them out.")
    for model in policy.models:
        if isinstance(model, PopulationModel) or (
            isinstance(model, TCloseness) and model.distance in {"hierarchical", "ordered"}
        ):
            raise UsageError(
                f"{model.name} compares with tables that are made on the workbench: leave --search-on warehouse out."
            )


def values_in_warehouse(source: Source, columns: Sequence[Column]) -> Source:
    """Return the values of each column by itself as a source: what hierarchies are made from.

    Its rows have one value each, and NULL in every other column; one scan.
    """
    source.workbench.seal(source.relation)
    return replace(source, relation=source.workbench.values_of(source.relation, columns))


def frequency_in_warehouse(
    source: Source, hierarchies: Sequence[Hierarchy], roles: Roles, sensitive: Sequence[Column]
) -> tuple[FrequencySet, tuple[Labels, ...]]:
    """Return the frequency set of a table and the labels of its hierarchies, both in the warehouse."""
    bench = source.workbench
    engine = bench.searching = bench.warehouse
    coded = [_coded_in_warehouse(bench, source.relation, hierarchy) for hierarchy in hierarchies]
    frequency = build_frequency(engine, source.relation, coded, roles.entity, sensitive)
    return frequency, make_labels(frequency, coded)


def _coded_in_warehouse(bench: Workbench, source: exp.Table, hierarchy: Hierarchy) -> Hierarchy:
    """Return a hierarchy with its codes in the warehouse."""
    column = hierarchy.column
    levels = [level_name(level) for level in range(1, hierarchy.height + 1)]
    codes = [code_name(number) for number in range(len(hierarchy.words))]
    kinds = {VALUE: column.type, **dict.fromkeys(levels, "VARCHAR"), **dict.fromkeys(codes, "BIGINT")}
    typed = {VALUE: looked_up(sql.column(column.name, "source"), column)}
    relation = bench.warehouse.temporary_name(f"kanon_codes_{column.name}")
    title = f"the hierarchy of {column.name} with its codes"
    bench.send(hierarchy.relation, source, kinds, title, typed, name=relation)
    return replace(hierarchy, relation=relation, stored=None)
