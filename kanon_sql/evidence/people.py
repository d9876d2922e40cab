"""The people of the classes of a judged table, if it or its original names them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kanon_sql.engine.base import find_column, find_columns, resolve_columns
from kanon_sql.engine.equality import require_identity
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.given import columns_with_hierarchy, make_hierarchies
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.policy.gate import judge, people_are_counted
from kanon_sql.policy.roles import resolve_quasi_identifiers
from kanon_sql.risks.attacks.released import name_people
from kanon_sql.search.prepare import prepare_source, resolve_models

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Policy
    from kanon_sql.risks.attacks.released import ClassPeople
    from kanon_sql.search.prepare import Prepared


def source_with_people(source: Source, policy: Policy, original: Source | None) -> tuple[Source, ClassPeople | None]:
    """Return a table with the column that names people, taken from its original if the table lacks it."""
    if original is None:
        return source, None
    entity = policy.columns.entity
    if entity is None:
        raise UsageError(
            "An original says how many people each class has: name the column that tells them apart, --entity."
        )
    own, person = find_column(entity, source.columns), find_column(entity, original.columns)
    if person is None and own is None:
        raise UsageError(f"Neither {source.name} nor {original.name} has a column {entity!r} to count people by.")
    if person is None:
        return source, None
    quasi = policy.columns.quasi_identifiers
    columns = resolve_quasi_identifiers(quasi, source.columns, source.name)
    require_identity(source.engine, source.relation, columns)
    original.bring(resolve_quasi_identifiers(quasi, original.columns, original.name), person)
    about = columns_of(source, models_of(source, policy)[0], policy)
    kept = list(dict.fromkeys(column for column in (*columns, *about) if column != own))
    source.bring(kept, own)
    # The population of a check is generalized like the release, and no hierarchy covers it.
    prepared = prepare_source(original, policy.of_rows(with_population=False))
    return named_by(prepared, source, policy, person, kept)


def named_by(
    prepared: Prepared, source: Source, policy: Policy, person: Column, kept: list[Column]
) -> tuple[Source, ClassPeople | None]:
    """Return a table with ``kept`` columns and the ``person`` of an original, if the classes of both match."""
    columns = resolve_quasi_identifiers(policy.columns.quasi_identifiers, source.columns, source.name)
    own, original = find_column(person.name, source.columns), prepared.source.relation
    named = name_people(source.engine, original, prepared.places(), person, source.relation, columns, kept, own)
    if named is None:
        return source, None
    table, people = named
    return replace(source, relation=table, columns=source.engine.columns(table), warehouse=None), people


def columns_of(source: Source, models: tuple[PrivacyModel, ...], policy: Policy) -> list[Column]:
    """Return the columns that a check needs in addition to the quasi-identifiers."""
    wanted = [model.sensitive for model in models if isinstance(model, SensitiveModel) and model.sensitive]
    return find_columns((*wanted, *policy.columns.pseudonymize), source.columns)


def models_of(source: Source, policy: Policy) -> tuple[tuple[PrivacyModel, ...], dict[str, Hierarchy]]:
    """Return the models with their columns resolved, and the hierarchies of columns that distances need."""
    about = [model.sensitive for model in policy.models if isinstance(model, SensitiveModel) and model.sensitive]
    sensitive = resolve_columns(dict.fromkeys((*policy.columns.sensitive, *about)), source.columns, source.name)
    required = [model for model in policy.models if isinstance(model, TCloseness) and model.distance == "hierarchical"]
    in_trees = columns_with_hierarchy(source, sensitive, policy) if required else []
    made = {hierarchy.column.name: hierarchy for hierarchy in make_hierarchies(source, in_trees, policy)}
    return resolve_models(policy.models, sensitive, source.name, list(made)), made


def findings_on(source: Source, policy: Policy, original: Source | None) -> tuple[Finding, ...]:
    """Return the findings for a table and its original: their rows belong to the same people."""
    return (*judge(source, policy), *(() if original is None else people_are_counted(original, policy)))
