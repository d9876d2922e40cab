"""The population that k-map and delta-presence compare with: a table of everybody, of whom the source has a part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kanon_sql.classes.frequency import FrequencySet, build_frequency
from kanon_sql.engine.columns import resolve_columns
from kanon_sql.engine.sources.open_source import open_beside
from kanon_sql.errors import HierarchyError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy


def open_population(source: Source, given: str, columns: Sequence[Column], *, as_text: bool = False) -> Source:
    """Return the population: a table beside the source in its database, or a file.

    Args:
        source: the table that is anonymized.
        given: the name of the table, or the path of the file.
        columns: the quasi-identifiers of the source, which the population must have with the same types.
        as_text: whether the values of a CSV file are taken as they are written, as those of the source were.

    Raises:
        UsageError: there is no such table, or it lacks a column or has it with another type.
        SourceError: the file cannot be read.
    """
    path = Path(given)
    if path.suffix and path.exists():
        population = open_beside(source, path, as_text=as_text)
    elif source.warehouse is None and (source.file is not None or source.frame_kind is not None):
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
    """Return the frequency set of a population, coded like that of the source.

    Raises:
        HierarchyError: it has values that the hierarchies lack.
    """
    try:
        return build_frequency(population.engine, population.tuples, hierarchies, None, weight=population.weight)
    except HierarchyError as error:
        raise HierarchyError(
            f"In the population: {error} A hierarchy that is built from values knows those of the table alone: give "
            "one that covers the population with --hierarchy."
        ) from None
