"""Prepare a search from a source and a policy: roles, hierarchies, frequency set, labels.

Also the models, each with its sensitive column and that column's coding; and the population that k-map
and delta-presence compare with: a table of all people, some of whom are in the source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import FrequencySet, build_frequency
from kanon_sql.classes.lattice import Lattice
from kanon_sql.engine.base import find_column, make_table, resolve_columns
from kanon_sql.engine.equality import require_identity
from kanon_sql.engine.progress import Progress, TimedStep, silent, take_steps
from kanon_sql.engine.sources.open_source import is_elsewhere, open_named
from kanon_sql.errors import HierarchyError, UnsuitableError, UsageError
from kanon_sql.hierarchy.check import missing_messages
from kanon_sql.hierarchy.given import columns_with_hierarchy, make_hierarchies
from kanon_sql.measures.cell_measures import CELL_MEASURES
from kanon_sql.measures.class_measures import CLASS_MEASURES
from kanon_sql.measures.costs import Costs, Objective, level_costs
from kanon_sql.measures.labels import Labels, Places, make_labels, make_places
from kanon_sql.measures.quality import Original, PartTables, measure_recoding
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets, known_subsets_of
from kanon_sql.models.population import KMap, PopulationModel
from kanon_sql.models.sensitive import SensitiveFacts, SensitiveModel
from kanon_sql.models.t_closeness import (
    TCloseness,
    hierarchical_features,
    natural_distance,
    ordered_features,
    require_few,
)
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.policy.gate import Finding, pass_before
from kanon_sql.policy.levels import allowed_nodes
from kanon_sql.policy.publish_rules import ruled_columns
from kanon_sql.policy.roles import Roles, assign_roles
from kanon_sql.policy.weights import column_weights
from kanon_sql.search.prepare_in_warehouse import coded_in_warehouse, require_in_warehouse
from kanon_sql.search.problem import Problem, SharedTests
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.frequency import SensitiveColumn
    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.progress import Listener
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.quality import Quality
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.models.t_closeness import Distance
    from kanon_sql.policy.policy import Policy


_SUBSETS = 20_000  # subsets of columns to test at each node; each takes some 0.1 ms for 30,000 tuples


@dataclass(frozen=True)
class Prepared:
    """A table that was encoded once and can be searched."""

    source: Source
    roles: Roles
    hierarchies: tuple[Hierarchy, ...]
    frequency: FrequencySet
    labels: tuple[Labels, ...]
    lattice: Lattice
    seconds: dict[str, float]  # duration of each step
    # of sensitive columns, if a model measures distances of their values in a tree
    sensitive_hierarchies: dict[str, Hierarchy] = field(default_factory=dict)
    population: tuple[Source, FrequencySet] | None = None  # the table that models compare with, and its frequency set
    findings: tuple[Finding, ...] = ()  # notes of the checks that it passed
    shared_tests: SharedTests | None = None  # node tests that several searches share; None if each makes its own
    _costs: dict[str, Costs] = field(default_factory=dict, repr=False)
    _places: dict[bool, tuple[Places, ...]] = field(default_factory=dict, repr=False)

    def costs_of(self, measure: str) -> Costs:
        if not self._costs:  # of all measures: the release is chosen by one and measured by each
            frequency = self.frequency
            costs = level_costs(frequency.engine, self.labels, list(CELL_MEASURES.values()), frequency.rows)
            self._costs.update(zip(CELL_MEASURES, costs, strict=True))
        return self._costs[measure]

    def as_original(self, policy: Policy, *, loss_alone: bool = False) -> Original:
        """Return the baseline that releases under a policy are measured against.

        With ``loss_alone``, other measures of cells and the divergence are left out.
        """
        costs = [self.costs_of(name) for name in (["loss"] if loss_alone else CELL_MEASURES)]
        weights = self.weights(policy)
        return Original(
            self.frequency, self.hierarchies, self.labels, costs, weights, policy.k, asks_divergence=not loss_alone
        )

    def weights(self, policy: Policy) -> tuple[int, ...]:
        return column_weights(policy.weights, [hierarchy.column.name for hierarchy in self.hierarchies])

    def measured(
        self,
        policy: Policy,
        recoding: Recoding,
        classes: exp.Table | PartTables,
        models: Sequence[PrivacyModel] | None = None,
        *,
        loss_alone: bool = False,
    ) -> Quality:
        """Measure a recoding, and drop the tables that it was measured from; for ``models`` see ``SearchResult``."""
        of_node = [one.population for one in models or () if isinstance(one, KMap) and one.population is not None]
        models = self.coded(policy.models) if models is None else models
        found = measure_recoding(self.as_original(policy, loss_alone=loss_alone), classes, recoding, models)
        for table in (*(classes.tables if isinstance(classes, PartTables) else (classes,)), *of_node):
            if table != self.frequency.relation:
                self.frequency.engine.run(sql.drop(table), "drop the tables that the release was measured from")
        return found

    def resolved(self, models: Sequence[PrivacyModel]) -> tuple[PrivacyModel, ...]:
        return resolve_models(models, self.roles.sensitive, self.source.name, list(self.sensitive_hierarchies))

    def coded(self, models: Sequence[PrivacyModel]) -> tuple[PrivacyModel, ...]:
        population = None if self.population is None else self.population[1].relation
        return _coded_models(models, self.frequency, self.sensitive_hierarchies, population)

    def places(self, *, by_tree: bool = False) -> tuple[Places, ...]:
        """Return the values of each quasi-identifier in their order. ``by_tree``: order numbers by their tree, too."""
        if by_tree not in self._places:
            self._places[by_tree] = make_places(self.frequency, self.hierarchies, self.labels, by_tree=by_tree)
        return self._places[by_tree]

    def objective(self, policy: Policy) -> Objective:
        """Return the quantity that a policy minimizes. Measures of class sizes are guided by loss."""
        of_classes = CLASS_MEASURES.get(policy.measure)
        costs = self.costs_of("loss" if of_classes is not None else policy.measure)
        return Objective(costs.weighted(self.weights(policy)), of_classes)

    def spellings(self) -> list[str]:
        """Return warnings about spellings of sensitive values that models count as different values."""
        return [
            f"{one.column.name} has values that differ in case or in spaces around them alone ({one.values:,} for "
            f"{one.spellings:,} values). They are counted as different values; if they are not, write them in one way."
            for one in self.frequency.sensitive
            if one.spellings < one.values
        ]


def by_rows(prepared: Prepared, policy: Policy, progress: Listener = silent) -> Prepared:
    """Return a prepared table that counts rows by its quasi-identifiers alone: itself, if it does already."""
    frequency = prepared.frequency
    if frequency.engine is prepared.source.engine and not frequency.counts_people and not frequency.sensitive:
        return prepared
    return prepare_source(prepared.source, policy.of_rows(), progress)


def prepare_source(source: Source, policy: Policy, progress: Listener = silent) -> Prepared:
    """Return a table ready to be searched.

    Costs one scan of the source for the frequency set, after the checks of ``kanon_sql.policy.gate``. A column whose
    hierarchy is built from its values is read for its distinct values. If rules need minima and maxima first
    (of numbers for intervals and steps, of lengths for masks), one more scan reads them for all columns. Choosing rules
    takes another such scan, and one of each column that may have a ready-made hierarchy. Hierarchies from the database
    and from files read nothing of the source, except files of prefixes, which need the values of the column.
    """
    made, seconds = _Preparing(source, policy, progress), dict[str, float]()
    take_steps(PREPARE, made, seconds, progress)
    hierarchies, everybody = made.hierarchies, made.everybody
    return Prepared(
        source,
        made.roles,
        hierarchies,
        made.frequency,
        made.labels,
        Lattice(tuple(hierarchy.height for hierarchy in hierarchies)),
        seconds,
        made.of_sensitive,
        None if everybody is None else (everybody, _population_frequency(everybody, hierarchies)),
        made.findings,
    )


class _Preparing:
    """The state of the steps of ``PREPARE``."""

    def __init__(self, source: Source, policy: Policy, progress: Listener) -> None:
        self.source, self.policy, self.progress, self.known = source, policy, progress, source
        self.roles = roles = assign_roles(policy.columns, source.columns, source.name)
        self.about = [model for model in policy.models if isinstance(model, SensitiveModel)]
        distances = [one for one in self.about if isinstance(one, TCloseness) and one.distance == "hierarchical"]
        self.in_trees = _columns_of(distances, roles)
        for name in policy.hierarchies:
            column = find_column(name, source.columns)
            if column is not None and column not in (*roles.quasi_identifiers, *self.in_trees):
                raise UsageError(f"A hierarchy is given for column {name!r}, which is not a quasi-identifier.")
        ruled_columns(policy.publish, roles, source.columns, source.name)  # raises if a column cannot be published so
        _require_known_suits(policy, source, roles)
        may_be_collated = source.file is None or source.engine.is_shared
        require_identity(source.engine, source.relation, roles.quasi_identifiers, may_be_collated=may_be_collated)

    @property
    def engine(self) -> Engine:
        """The engine of the search: the workbench, or the warehouse that keeps the tuples of the table."""
        return self.source.engine.engine_of(self.source.relation)

    def pass_gate(self) -> None:
        source, policy, roles = self.source, self.policy, self.roles
        self.findings = tuple(pass_before(source, policy, roles, lambda doing: self.progress(Progress(doing))))
        self.everybody = None
        if policy.population is not None:
            self.everybody = open_population(source, policy.population_path, roles.quasi_identifiers)
            self.everybody.bring(roles.quasi_identifiers)
        if policy.search_on == "warehouse":
            require_in_warehouse(source, policy)
            source.workbench.search_there(source.relation)

    def fetch(self) -> None:
        """Fetch distinct tuples, or, if these stay in the warehouse, the values of each column by itself."""
        source, columns = self.source, self.roles.quasi_identifiers
        if self.engine is source.engine:
            source.bring((*columns, *_columns_of(self.about, self.roles)), self.roles.entity)
        else:
            self.known = replace(source, relation=source.workbench.values_of(source.relation, columns))

    def make_hierarchies(self) -> None:
        source, policy = self.source, self.policy
        self.hierarchies = make_hierarchies(self.known, self.roles.quasi_identifiers, policy, self.everybody)
        own = make_hierarchies(source, columns_with_hierarchy(source, self.in_trees, policy), policy)
        self.of_sensitive = {hierarchy.column.name: hierarchy for hierarchy in own}

    def count(self) -> None:
        source, roles, engine, hierarchies = self.source, self.roles, self.engine, self.hierarchies
        models = resolve_models(self.policy.models, roles.sensitive, source.name, list(self.of_sensitive))
        sensitive = _sensitive_columns(models, source.columns)
        if engine is not source.engine:
            hierarchies = tuple(coded_in_warehouse(source, hierarchy) for hierarchy in hierarchies)
        rows, weight = source.tuples, source.weight
        self.frequency = build_frequency(engine, rows, hierarchies, roles.entity, sensitive, weight=weight)
        self.labels = make_labels(self.frequency, hierarchies)


PREPARE = (
    TimedStep("gate", _Preparing.pass_gate),
    TimedStep("fetch", _Preparing.fetch, "Fetching distinct tuples", lambda own: own.source.in_warehouse),
    TimedStep("hierarchies", _Preparing.make_hierarchies, "Preparing hierarchies"),
    TimedStep("frequency_set", _Preparing.count, "Counting distinct tuples"),
)
"""The steps from an open source to a table that can be searched."""


def _require_known_suits(policy: Policy, source: Source, roles: Roles) -> None:
    """Raise if k of some of the columns is combined with unsupported settings, or if it covers too many subsets."""
    known = known_subsets_of(policy.models)
    if known is None:
        return
    width = len(roles.quasi_identifiers)
    subsets = known.subsets(width)
    if subsets > _SUBSETS:
        fewer = max(m for m in range(1, known.m) if math.comb(width, m) <= _SUBSETS)
        raise UnsuitableError(
            f"{width} quasi-identifiers have {subsets:,} subsets of {known.m} columns, and each node is tested by all "
            f"of them (at most {_SUBSETS:,}): use --known {fewer}, or name fewer quasi-identifiers."
        )
    if policy.measure in CLASS_MEASURES:
        raise UnsuitableError(
            f"{policy.measure} is made from sizes of classes by all columns, of which {known.name} requires none: use "
            "--measure loss."
        )
    source.require("k of some columns (--known)", "k of some of the columns (--known)", UnsuitableError)
    if roles.pseudonymized:
        raise UnsuitableError(
            "Pseudonyms tie rows by all columns together, and k of some of them (--known) says nothing about that: "
            "leave --pseudonymize out, or --known."
        )


def _columns_of(models: Sequence[SensitiveModel], roles: Roles) -> list[Column]:
    """Return the sensitive columns of the models; all, if a model names none."""
    if any(model.sensitive is None for model in models):
        return list(roles.sensitive)
    found = [find_column(model.sensitive or "", roles.sensitive) for model in models]
    return list(dict.fromkeys(column for column in found if column is not None))


def problem_of(prepared: Prepared, policy: Policy) -> Problem:
    frequency = prepared.frequency
    _require_known_suits(policy, prepared.source, prepared.roles)
    counting = [model for model in policy.models if isinstance(model, KAnonymity | KnownSubsets)]
    if counting and any(model.entity is not None for model in counting) != frequency.counts_people:
        raise UsageError("The table was prepared to count other members of a class: give prepare() the same entity.")
    limit = policy.rows_allowed(frequency.rows, policy.k)
    if any(isinstance(model, PopulationModel) and model.covers for model in policy.models):
        limit = 0  # suppressed rows would make a class of the population without a row
    objective = prepared.objective(policy)
    cutting = policy.cutting
    places = () if cutting is None else prepared.places(by_tree=cutting.numbers == "tree")
    models = prepared.coded(prepared.resolved(policy.models))
    return Problem(
        frequency,
        allowed_nodes(prepared.lattice, prepared.hierarchies, policy.levels),
        models,
        objective,
        prepared.labels,
        limit,
        {name: getattr(policy, name) for name in ALGORITHMS[policy.algorithm].options},
        cutting,
        places,
        prepared.shared_tests,
        bool(policy.prove),
        bool(policy.levels),
        policy.choice,
    )


# Models and their columns


def resolve_models(
    models: Sequence[PrivacyModel], sensitive: Sequence[Column], table: str, hierarchies: Sequence[str] = ()
) -> tuple[PrivacyModel, ...]:
    """Return the models with their column and the distance between its values.

    ``table`` is the name of the table in messages; ``hierarchies`` are the sensitive columns that have one.
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


def _sensitive_columns(models: Sequence[PrivacyModel], columns: Sequence[Column]) -> list[Column]:
    """Return the columns of the models, each once."""
    named = dict.fromkeys(model.sensitive for model in models if isinstance(model, SensitiveModel))
    found = [find_column(name, columns) for name in named if name is not None]
    return [column for column in found if column is not None]


def _coded_models(
    models: Sequence[PrivacyModel],
    frequency: FrequencySet,
    hierarchies: Mapping[str, Hierarchy],
    population: exp.Table | None = None,
) -> tuple[PrivacyModel, ...]:
    """Return the models with the coding of their columns in a frequency set.

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
            query: exp.Query = ordered_features(column.shares)
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
    """Return the population: a table in the database of the source, or a file.

    It must have the quasi-identifiers of the source, with the same types. ``as_text`` reads the values of a CSV file
    as text, as those of the source were.
    """
    if source.home is None and not is_elsewhere(given):
        raise UsageError(
            f"There is no file {given}, and {source.name} is in no database that could have it as a table."
        )
    population = open_named(source, given, as_text=as_text)
    found = resolve_columns([column.name for column in columns], population.columns, population.name)
    for own, other in zip(columns, found, strict=True):
        if own.type != other.type:
            raise UsageError(
                f"Column {own.name!r} of the population is of type {other.type}, that of {source.name} of type "
                f"{own.type}: cast it in a view."
            )
    return population


def _population_frequency(population: Source, hierarchies: Sequence[Hierarchy]) -> FrequencySet:
    """Return the frequency set of a population, coded like that of the source."""
    try:
        return build_frequency(population.engine, population.tuples, hierarchies, None, weight=population.weight)
    except HierarchyError:
        missing = missing_messages(population.engine, population.tuples, hierarchies, population.on_command_line)
        raise HierarchyError(f"In the population: {missing}") from None
