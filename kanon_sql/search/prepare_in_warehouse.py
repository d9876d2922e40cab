"""Prepare a search that runs on the warehouse: the frequency set is made there and does not leave it.

Only the values of each quasi-identifier by itself are fetched, with their counts. The workbench makes hierarchies from
them and sends them back with their codes. The warehouse makes the frequency set and the labels, and tests all nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_sql.engine.capabilities import require
from kanon_sql.engine.equality import looked_up
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.policy.algorithms import algorithms_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.policy.policy import Policy


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


def coded_in_warehouse(source: Source, hierarchy: Hierarchy) -> Hierarchy:
    """Return a hierarchy with its codes in the warehouse."""
    bench, column = source.workbench, hierarchy.column
    levels = [level_name(level) for level in range(1, hierarchy.height + 1)]
    codes = [code_name(number) for number in range(len(hierarchy.words))]
    kinds = {VALUE: column.type, **dict.fromkeys(levels, "VARCHAR"), **dict.fromkeys(codes, "BIGINT")}
    typed = {VALUE: looked_up(sql.column(column.name, "source"), column)}
    relation = bench.warehouse.temporary_name(f"kanon_codes_{column.name}")
    title = f"the hierarchy of {column.name} with its codes"
    bench.send(hierarchy.relation, source.relation, kinds, title, typed, name=relation)
    return replace(hierarchy, relation=relation, stored=None)
