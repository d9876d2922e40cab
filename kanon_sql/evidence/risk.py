"""``risk``: who could be found in a table as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import find_column, names
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.sources.open_source import Source, holds_tables, open_beside, open_source
from kanon_sql.engine.time_zones import UTC, computing_in
from kanon_sql.errors import UsageError
from kanon_sql.policy.gate import PEOPLE, judge, refused_of
from kanon_sql.policy.policy import Policy, read_policy
from kanon_sql.policy.roles import NamedColumns, resolve_quasi_identifiers
from kanon_sql.risks.estimators.assessment import DEFAULT_THRESHOLD, Risk, RiskSettings, assess, threshold_of
from kanon_sql.risks.estimators.tuples import Population

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Count


def risk(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    quasi_identifiers: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    entity: str | None = None,
    count: Count = "people",
    time_zone: str = UTC,
    policy: Policy | str | os.PathLike[str] | None = None,
    threshold: str | float = DEFAULT_THRESHOLD,
    subsets: int | None = None,
    sampling_fraction: float | None = None,
    population: Any = None,  # noqa: ANN401 - the same, or the name of a table
    population_table: str | None = None,
    resources: Resources | None = None,
) -> Risk:
    """Return who could be found in a table as it is. Nothing is changed.

    Args:
        source: as for ``anonymize``.
        table: the table in a database.
        quasi_identifiers: columns whose values together make a class; NULL is a value like any other.
        insensitive: columns that are published as they are, though they may identify people by name or values.
        entity: the column that names the person, where people are counted and not rows.
        count: "people", or "rows" also where several are of one person; without an entity, ``Risk.people_repeat`` says
            whether that is found of people.
        time_zone: that of the release, as for ``anonymize``.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        threshold: the risk above which members are counted: a number, or one of those that people are asked for.
        subsets: columns of the largest subsets of quasi-identifiers to look at; by default 3, if there are few enough.
        sampling_fraction: the share of the population that the table has; with it, how many are unique in the
            population is estimated.
        population: a table of all people that the rows could be about, with values written like those of the table: a
            table in the same database, a path, or a data frame.
        population_table: the name of the population, where ``population`` is a database.
        resources: what may be taken of the machine; a connection has settings of its own.

    Raises:
        UsageError: a setting is wrong, a column is not there, or the population does not contain the table.
        SourceError: a source cannot be read.
    """
    settings = RiskSettings(threshold_of(threshold), subsets, sampling_fraction)
    if policy is None:
        named = NamedColumns(quasi_identifiers=names(quasi_identifiers), insensitive=names(insensitive), entity=entity)
        policy = Policy(named, count=count, time_zone=time_zone)
    elif not isinstance(policy, Policy):
        policy, _ = read_policy(Path(policy))
    with computing_in(policy.time_zone):
        opened = open_source(source, table, as_text=True, resources=resources)
    try:
        require_entity(entity, opened)
        everyone = opened_population(opened, source, population, population_table)
        return risk_of(opened, policy, settings, everyone)
    finally:
        opened.engine.close()


def require_entity(entity: str | None, *tables: Source) -> None:
    """Raise unless the column that was named for people is in one of the tables.

    Rows would be counted instead of people. A policy that names one is another matter: its release does not have the
    column, and is counted in rows.
    """
    if entity is not None and not any(_person(entity, table) for table in tables):
        names_of_tables = " nor ".join(table.name for table in tables)
        raise UsageError(f"There is no column {entity!r} to count people by in {names_of_tables}.")


def opened_population(
    opened: Source,
    source: Any,  # noqa: ANN401 - what the person pointed at for the table
    population: Any,  # noqa: ANN401 - as for ``risk``
    population_table: str | None = None,
) -> Source | None:
    """Return the population of a table, in the engine of one that is open; None where none was named."""
    if population is None:
        if population_table is not None:
            raise UsageError("A table of the population was named, but not where it is: name the population too.")
        return None
    is_name = isinstance(population, str) and population_table is None
    if is_name and not (Path(population).suffix and Path(population).exists()):
        is_path = isinstance(source, str | os.PathLike) and not is_warehouse(source)
        # Not looked into where it is open: that would take the locks of the process on it away.
        known = is_path and (opened.database == Path(source) or opened.engine.has_attached(Path(source)))
        in_file = known or (is_path and holds_tables(source))
        if in_file or opened.in_warehouse or source is opened.engine.connection:
            return open_beside(opened, opened.warehouse or source, population, as_text=True)
    return open_beside(opened, population, population_table, as_text=True)


def risk_of(
    source: Source,
    policy: Policy,
    settings: RiskSettings,
    population: Source | None = None,
    population_size: int | None = None,
    findings: Sequence[Finding] | None = None,
) -> Risk:
    """Return the risk of an open source: of people, or of rows if the table has no column of them.

    No threshold is known to be met if a check refused the table, or if it lacks the column that people are counted by.

    ``population_size`` goes before the sampling fraction; ``findings`` are those of the checks.
    """
    findings = judge(source, policy) if findings is None else findings
    named = policy.columns
    columns = resolve_quasi_identifiers(named.quasi_identifiers, source.columns, source.name)
    entity = _person(named.entity, source)
    source.bring(columns, entity)
    everyone = None
    if population is not None:
        same = resolve_quasi_identifiers([column.name for column in columns], population.columns, population.name)
        person = _person(named.entity, population) if entity is not None else None
        everyone = Population(population.relation, population.name, same, person)
    found = assess(
        source.engine,
        source.relation,
        columns,
        settings,
        entity=entity,
        population=everyone,
        population_size=population_size,
    )
    people = refused_of(findings, PEOPLE)
    if refused_of(findings) is None and (named.entity is None or entity is not None):
        return found
    return found.unverified(() if people is None else people.columns)


def _person(name: str | None, source: Source) -> Column | None:
    return None if name is None else find_column(name, source.columns)
