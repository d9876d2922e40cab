"""``risk``: the re-identification risk of an existing table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from kanon_sql.engine.base import find_column
from kanon_sql.errors import UsageError
from kanon_sql.evidence.case import CaseSettings, Tables, given_case, takes_case
from kanon_sql.policy.gate import PEOPLE, judge, refused_of
from kanon_sql.policy.roles import resolve_quasi_identifiers
from kanon_sql.risks.estimators.assessment import DEFAULT_THRESHOLD, Risk, RiskSettings, assess, threshold_of
from kanon_sql.risks.estimators.tuples import Population
from kanon_sql.risks.estimators.weighted import Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Policy


@takes_case("original", "original_table", "identifying", "sensitive", "hierarchies", "prepare", "k", "models")
def risk(  # noqa: PLR0913 - the public call: every setting has its own name
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    threshold: str | float = DEFAULT_THRESHOLD,
    subsets: int | None = None,
    sampling_fraction: float | None = None,
    population: Any = None,  # noqa: ANN401 - the same, or the name of a table
    population_table: str | None = None,
    suda: int | None = None,
    record_weight: str | None = None,
    **case: Unpack[CaseSettings],
) -> Risk:
    """Measure the re-identification risk of a table: the part of ``measure`` about risk. Nothing is changed.

    Args:
        source: as for ``anonymize``.
        table: the table in a database.
        threshold: the risk above which members are counted: a number, or the name of a common threshold.
        subsets: maximum number of columns in subsets of quasi-identifiers; by default 3, if there are few enough.
        sampling_fraction: the share of the population that the table has. It allows an estimate of how many are unique
            in the population.
        population: a table of all people that the rows could be about, with values written like those of the table: a
            table in the same database, a path, or a data frame.
        population_table: the name of the population, if ``population`` is a database.
        suda: score rows by the sets of at most this many quasi-identifiers by which they are unique (SUDA2); usually 3.
        record_weight: the column with the number of people in the population that a row stands for, 1 or more. It
            estimates the risk of each row and the size of the population.
        case: see ``CaseSettings``; without an entity, ``Risk.people_repeat`` is True if rows of one person are found.

    Raises:
        UsageError: a setting is wrong, a column does not exist, or the population does not contain the table.
        SourceError: a source cannot be read.
    """
    settings = RiskSettings(threshold_of(threshold), subsets, sampling_fraction, suda, record_weight)
    tables = Tables(source, table, population=population, population_table=population_table)
    with given_case(tables, case, "for people") as opened:
        require_entity(case.get("entity"), opened.release)
        require_weights(record_weight, opened.release)
        return risk_of(opened.release, opened.policy, settings, opened.population)


def require_entity(entity: str | None, *tables: Source) -> None:
    """Raise an error unless one of the tables has the named column of people: rows would be counted instead.

    A policy that names one is different: its release does not have the column, and is counted in rows.
    """
    if entity is not None and not any(find_column(entity, table.columns) for table in tables):
        names_of_tables = " nor ".join(table.name for table in tables)
        raise UsageError(f"There is no column {entity!r} to count people by in {names_of_tables}.")


def require_weights(record_weight: str | None, *tables: Source) -> None:
    """Raise an error unless the column of weights is in one of the tables."""
    if record_weight is not None and not any(find_column(record_weight, table.columns) for table in tables):
        raise UsageError(f"There is no column {record_weight!r} of weights in {' nor '.join(t.name for t in tables)}.")


def _weights_of(source: Source, name: str | None, entity: Column | None, weighed: Source | None) -> Weights | None:
    """Return the weights of a table, or those of ``weighed`` if it has none."""
    for table in (source, weighed):
        if name is None or table is None or (weight := find_column(name, table.columns)) is None:
            continue
        person = None if entity is None else find_column(entity.name, table.columns)
        table.bring([weight], person)
        return Weights(weight, table.relation, table.name, person)
    return None


def risk_of(
    source: Source,
    policy: Policy,
    settings: RiskSettings,
    population: Source | None = None,
    population_size: int | None = None,
    findings: Sequence[Finding] | None = None,
    weighed: Source | None = None,
) -> Risk:
    """Return the risk of an open source: of people, or of rows if the table has no column of them.

    No threshold is known to be met if a check refused the table, or if it lacks the column that counts people.
    ``population_size`` takes precedence over the sampling fraction; ``findings`` are those of the checks. ``weighed``
    has the weights of the same people, or a row for each of them, if the table itself has no weights.
    """
    findings = judge(source, policy) if findings is None else findings
    named = policy.columns
    columns = resolve_quasi_identifiers(named.quasi_identifiers, source.columns, source.name)
    entity = find_column(named.entity or "", source.columns)
    source.bring(columns, entity)
    everyone = None
    if population is not None:
        same = resolve_quasi_identifiers([column.name for column in columns], population.columns, population.name)
        person = None if entity is None else find_column(entity.name, population.columns)
        everyone = Population(population.relation, population.name, same, person)
    found = assess(
        source.engine,
        source.relation,
        columns,
        settings,
        entity=entity,
        population=everyone,
        population_size=population_size,
        weights=_weights_of(source, settings.record_weight, entity, weighed),
    )
    people = refused_of(findings, PEOPLE)
    if refused_of(findings) is None and (named.entity is None or entity is not None):
        return found
    return found.unverified(() if people is None else people.columns)
