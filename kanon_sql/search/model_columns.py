"""Which sensitive column each privacy model is about, and how it is coded.

And the population that k-map and delta-presence compare with: a table of all people, some of which are in the source.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import FrequencySet, build_frequency
from kanon_sql.engine.base import find_column, make_table, resolve_columns
from kanon_sql.engine.sources.open_source import open_beside
from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.sensitive import SensitiveFacts, SensitiveModel
from kanon_sql.models.t_closeness import (
    TCloseness,
    hierarchical_features,
    natural_distance,
    ordered_features,
    require_few,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.frequency import SensitiveColumn
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.models.t_closeness import Distance


def resolve_models(
    models: Sequence[PrivacyModel], sensitive: Sequence[Column], table: str, hierarchies: Sequence[str] = ()
) -> tuple[PrivacyModel, ...]:
    """Return models that know the column they are about, and the distance between its values.

    ``table`` is what messages call the table; ``hierarchies`` are the sensitive columns that have one.
    """
    return tuple(
        _resolved(model, sensitive, table, hierarchies) if isinstance(model, SensitiveModel) else model
        for model in models
    )


def _resolved(
    model: SensitiveModel, sensitive: Sequence[Column], table: str, hierarchies: Sequence[str]
) -> SensitiveModel:
    if model.sensitive is None:
        if len(sensitive) != 1:
            have = "no sensitive column" if not sensitive else f"{len(sensitive)} sensitive columns"
            raise UsageError(
                f"{model.name} is about a sensitive column, and {table} has {have}: name "
                + (
                    "it with --sensitive."
                    if not sensitive
                    else f"the one that is meant, as in COLUMN={model.required:g}."
                )
            )
        column: Column | None = sensitive[0]
    else:
        column = find_column(model.sensitive, sensitive)
    if column is None:
        raise UsageError(f"{model.name} is about column {model.sensitive!r}, which is no sensitive column of {table}.")
    model = model.about(column.name)
    if isinstance(model, TCloseness):
        if model.distance is None:
            model = replace(model, distance=natural_distance(column))
        if model.distance == "hierarchical" and column.name not in hierarchies:
            raise UsageError(
                f"The hierarchical distance needs a hierarchy of column {column.name!r}: give it with --hierarchy "
                f"{column.name}=FILE."
            )
    return model


def sensitive_columns(models: Sequence[PrivacyModel], columns: Sequence[Column]) -> list[Column]:
    """Return the columns that models are about, each once."""
    named = dict.fromkeys(model.sensitive for model in models if isinstance(model, SensitiveModel))
    found = [find_column(name, columns) for name in named if name is not None]
    return [column for column in found if column is not None]


def coded_models(
    models: Sequence[PrivacyModel],
    frequency: FrequencySet,
    hierarchies: Mapping[str, Hierarchy],
    population: exp.Table | None = None,
) -> tuple[PrivacyModel, ...]:
    """Return models that know how their columns are coded in a frequency set.

    ``hierarchies`` are those of sensitive columns; ``population`` is the frequency set of the population.
    """
    coded = {column.column.name: column for column in frequency.sensitive}
    found: list[PrivacyModel] = []
    for model in models:
        if isinstance(model, PopulationModel):
            if population is None:
                raise UsageError(f"{model.name} compares with a population: name it, population=.")
            found.append(model.coded(population))
            continue
        if not isinstance(model, SensitiveModel):
            found.append(model)
            continue
        column = coded.get(model.sensitive or "")
        if column is None:
            raise UsageError(
                f"The table was prepared without the values of column {model.sensitive!r}: give prepare() the same "
                "models."
            )
        features = None
        if isinstance(model, TCloseness) and model.distance in {"ordered", "hierarchical"}:
            features = _features(frequency, column, model.distance, hierarchies)
        found.append(model.coded(SensitiveFacts(column.code, column.shares, column.values, features)))
    return tuple(found)


def _features(
    frequency: FrequencySet, column: SensitiveColumn, distance: Distance, hierarchies: Mapping[str, Hierarchy]
) -> exp.Table:
    """Return the features of a sensitive column, made once."""
    if distance not in column.features:
        name = column.column.name
        engine = frequency.engine
        if distance == "ordered":
            require_few(column.values, name)
            query: exp.Query = ordered_features(column.shares, "value")
        else:
            own = hierarchies[name]
            query = hierarchical_features(column.shares, "original", "value", own.relation, own.height)
        relation = make_table(engine, f"kanon_features_{name}", query, f"what values of {name} are compared by")
        found = exp.select(sql.count_distinct(sql.column("value"))).from_(relation.copy())
        (values,) = engine.row(found, f"how many values of {name} are compared")
        if values < column.values:
            raise HierarchyError(
                f"The hierarchy of the sensitive column {name!r} misses {column.values - values:,} of its "
                f"{column.values:,} different values."
            )
        column.features[distance] = relation
    return column.features[distance]


def open_population(source: Source, given: str, columns: Sequence[Column], *, as_text: bool = False) -> Source:
    """Return the population: a table beside the source in its database, or a file.

    It must have the quasi-identifiers of the source, with the same types. ``as_text`` takes the values of a CSV file as
    they are written, as those of the source were.
    """
    path = Path(given)
    if path.suffix and path.exists():
        population = open_beside(source, path, as_text=as_text)
    elif not source.in_warehouse and (source.file is not None or source.frame_kind is not None):
        raise UsageError(
            f"There is no file {given}, and {source.name} is in no database that could have it as a table."
        )
    elif source.address is not None:
        population = open_beside(source, source.address.given, given)
    else:
        population = open_beside(source, source.warehouse or source.database or source.engine.connection, given)
    found = resolve_columns([column.name for column in columns], population.columns, population.name)
    for own, other in zip(columns, found, strict=True):
        if own.type != other.type:
            raise UsageError(
                f"Column {own.name!r} of the population is of type {other.type}, that of {source.name} of type "
                f"{own.type}: cast it in a view."
            )
    return population


def population_frequency(population: Source, hierarchies: Sequence[Hierarchy]) -> FrequencySet:
    """Return the frequency set of a population, coded like that of the source."""
    try:
        return build_frequency(population.engine, population.tuples, hierarchies, None, weight=population.weight)
    except HierarchyError as error:
        raise HierarchyError(
            f"In the population: {error} A hierarchy that is built from values knows those of the table alone: give "
            "one that covers the population with --hierarchy."
        ) from None
