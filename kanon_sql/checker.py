"""``check``: does a table satisfy a policy, as it is?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.class_check import ModelResult, Tied, class_check_query, k_of, read_verification, worst_classes_query
from kanon_sql.dialect import script
from kanon_sql.engine.sources import Source, open_source
from kanon_sql.errors import UsageError
from kanon_sql.identity import require_identity
from kanon_sql.model_columns import resolve_models
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.plan import lookup_statement
from kanon_sql.policy import DEFAULT_K, Policy, read_policy
from kanon_sql.population import open_population
from kanon_sql.preparation import columns_with_hierarchy, make_hierarchies
from kanon_sql.pseudonyms import not_pseudonyms_query
from kanon_sql.roles import NamedColumns, find_column, names, resolve_columns, resolve_quasi_identifiers
from kanon_sql.tie_check import signature_query, tied_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.resources import Resources
    from kanon_sql.hierarchy.lookup import Hierarchy
    from kanon_sql.models.base import PrivacyModel


WORST = 5
"""Classes that are told of each model that fails."""


@dataclass(frozen=True)
class WorstClass:
    """A class that fails a model; its values are not told.

    Attributes:
        model: the name of the model.
        sensitive: the sensitive column that it is about.
        rows: rows of the class.
        measured: its measure.
    """

    model: str
    sensitive: str | None
    rows: int
    measured: int | float


@dataclass(frozen=True)
class CheckResult:
    """Whether a table satisfies a policy, and by how much.

    Attributes:
        table: what was checked.
        rows: its rows.
        classes: its equivalence classes.
        smallest_class: rows of the smallest class; None for a table without rows.
        models: the result of each privacy model.
        classes_failing: classes that fail some model.
        rows_failing: rows in them.
        identifying: identifying columns that the table has and must not have.
        entity: the column that names the person, where people are counted.
        worst: of each model that fails, the worst classes.
        pseudonyms: for each pseudonymized column, how many share what its pseudonyms tie together.
    """

    table: str
    rows: int
    classes: int
    smallest_class: int | None
    models: tuple[ModelResult, ...]
    classes_failing: int
    rows_failing: int
    identifying: tuple[str, ...]
    entity: str | None = None
    worst: tuple[WorstClass, ...] = ()
    pseudonyms: tuple[Tied, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every model holds, no identifying column is there, and no pseudonym ties too much together."""
        tied_alike = not any(tied.failing for tied in self.pseudonyms)
        return all(model.holds for model in self.models) and not self.identifying and tied_alike

    def summary(self) -> dict[str, Any]:
        """Return the result as plain values: what ``--format json`` prints."""
        return {
            "table": self.table,
            "holds": self.holds,
            "rows": self.rows,
            "classes": self.classes,
            "k": k_of(self.models, self.smallest_class),
            "smallest_class": self.smallest_class,
            "entity": self.entity,
            "models": [vars(model) for model in self.models],
            "worst_classes": [vars(one) for one in self.worst],
            "classes_failing": self.classes_failing,
            "rows_failing": self.rows_failing,
            "identifying_columns": list(self.identifying),
            "pseudonyms": [tied.stated() for tied in self.pseudonyms],
        }


def check(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    quasi_identifiers: Sequence[str] = (),
    identifying: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    models: Sequence[PrivacyModel] | None = None,
    population: str | None = None,
    hierarchies: Mapping[str, str | os.PathLike[str]] | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
) -> CheckResult:
    """Return whether a table satisfies a policy as it is. Nothing is changed.

    Models that compare a class with the whole table compare it with this table: where rows were suppressed, their
    values are not among those that a class is compared to, as they were when the release was made.

    Args:
        source: as for ``anonymize``.
        table: the table in a database.
        quasi_identifiers: columns whose values together make a class; NULL is a value like any other.
        identifying: columns that the table must not have.
        sensitive: columns that models are about; may be left out where each model names its own.
        population: the table, or the file, that ``KMap`` and ``DeltaPresence`` compare with; with values written like
            those of the table.
        hierarchies: of sensitive columns, for the hierarchical distance of t-closeness.
        models: what every class must satisfy; by default ``KAnonymity(5)``.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        resources: what may be taken of the machine; a connection has settings of its own.

    Raises:
        UsageError: a quasi-identifier is not there, or none is named.
        SourceError: the source cannot be read.
    """
    if policy is None:
        columns = NamedColumns(names(identifying), names(quasi_identifiers), names(sensitive))
        rules = {column: str(rule) for column, rule in (hierarchies or {}).items()}
        asked = tuple(models) if models is not None else (KAnonymity(DEFAULT_K),)
        policy = Policy(columns, asked, rules, population=population)
    elif not isinstance(policy, Policy):
        policy, _ = read_policy(Path(policy))
    opened = open_source(source, table, as_text=True, resources=resources)
    try:
        return check_source(opened, policy)
    finally:
        opened.engine.close()


def check_source(source: Source, policy: Policy) -> CheckResult:
    """Return whether an open source satisfies a policy."""
    asked = _asked(source, policy)
    row = source.engine.row(asked.query(source), "check the classes of the table")
    found = read_verification(row, asked.models)
    return CheckResult(
        table=source.name,
        rows=found.rows,
        classes=found.classes,
        smallest_class=found.smallest_class,
        models=found.models,
        classes_failing=found.classes_failing,
        rows_failing=found.rows_failing,
        identifying=_identifying(source, policy),
        entity=policy.columns.entity,
        worst=tuple(
            WorstClass(result.model, result.sensitive, int(rows), measured)
            for number, result in enumerate(found.models)
            if not result.holds
            for rows, measured in source.engine.rows(
                asked.worst_query(source, number), f"worst classes, {result.model}"
            )
        ),
        pseudonyms=_ties(source, policy, asked),
    )


def check_query(source: Source, policy: Policy) -> exp.Select:
    """Return the one statement of a check."""
    return _asked(source, policy).query(source)


@dataclass(frozen=True)
class _Asked:
    """What is asked of a table, in terms of its columns."""

    columns: tuple[Column, ...]
    models: tuple[PrivacyModel, ...]
    entity: str | None
    trees: dict[str, Hierarchy]
    everybody: exp.Query | None = None

    def query(self, source: Source) -> exp.Select:
        return class_check_query(
            source.relation, self.columns, self.models, self.entity, trees=self.trees, everybody=self.everybody
        )

    def worst_query(self, source: Source, number: int) -> exp.Select:
        return worst_classes_query(
            source.relation,
            self.columns,
            self.models,
            number,
            self.entity,
            trees=self.trees,
            everybody=self.everybody,
            most=WORST,
        )


def _asked(source: Source, policy: Policy) -> _Asked:
    """Return what a policy asks of a table.

    Raises:
        UsageError: a column is not there.
    """
    named = policy.columns
    columns = resolve_quasi_identifiers(named.quasi_identifiers, source.columns, source.name)
    require_identity(source.engine, source.relation, columns)
    person = find_column(named.entity, source.columns) if named.entity is not None else None
    if named.entity is not None and person is None:
        raise UsageError(
            f"{source.name} has no column {named.entity!r} to count people by; a release never has. That its classes "
            "hold enough people was verified when it was made. To check its rows alone, name its quasi-identifiers "
            "with --qi and -k, without a policy that has an entity."
        )
    entity = None if person is None else person.name
    models, trees = _models_of(source, policy)
    source.bring([*columns, *_columns_of(source, models, policy)], person)
    everybody = None
    if policy.population is not None:
        population = open_population(source, policy.population_path, columns, as_text=True)
        everybody = exp.select("*").from_(population.relation.copy())
    return _Asked(tuple(columns), models, entity, trees, everybody)


def _columns_of(source: Source, models: tuple[PrivacyModel, ...], policy: Policy) -> list[Column]:
    """Return the columns besides the quasi-identifiers that a check asks for."""
    wanted = [model.sensitive for model in models if isinstance(model, SensitiveModel) and model.sensitive]
    found = [find_column(name, source.columns) for name in (*wanted, *policy.columns.pseudonymize)]
    return [column for column in found if column is not None]


def _models_of(source: Source, policy: Policy) -> tuple[tuple[PrivacyModel, ...], dict[str, Hierarchy]]:
    """Return the models that know their columns, and the hierarchies of columns in which distances count."""
    about = [model.sensitive for model in policy.models if isinstance(model, SensitiveModel) and model.sensitive]
    sensitive = resolve_columns(dict.fromkeys((*policy.columns.sensitive, *about)), source.columns, source.name)
    asked = [model for model in policy.models if isinstance(model, TCloseness) and model.distance == "hierarchical"]
    in_trees = columns_with_hierarchy(source, sensitive, policy) if asked else []
    made = {hierarchy.column.name: hierarchy for hierarchy in make_hierarchies(source, in_trees, policy)}
    return resolve_models(policy.models, sensitive, source.name, list(made)), made


def check_sql(source: Source, policy: Policy, dialect: str = "duckdb") -> str:
    """Return the text of the statement of a check, after what makes the source if a script needs that."""
    asked = _asked(source, policy)
    foreign = dialect != source.engine.dialect
    needed = [tree for tree in asked.trees.values() if tree.stored is None]
    trees = [lookup_statement(source.engine, tree, dialect=dialect) for tree in needed]
    # Elsewhere the source is expected to be there.
    statements = [*(() if foreign else source.setup), *trees, asked.query(source)]
    return script(statements, dialect) + "\n"


def _identifying(source: Source, policy: Policy) -> tuple[str, ...]:
    """Return the identifying columns of the policy that the table has, but for those that hold pseudonyms only.

    The column that names the person is none of them: people are counted by it, so that it must be there.
    """
    named = policy.columns
    replaced = [column for name in named.pseudonymize if (column := find_column(name, source.columns)) is not None]
    person = find_column(named.entity, source.columns) if named.entity else None
    found = [find_column(name, source.columns) for name in named.identifying]
    others = [column for column in found if column is not None and column != person and column not in replaced]
    raw = [column for column in replaced if _holds_others(source, column)]
    return tuple(dict.fromkeys(column.name for column in (*others, *raw)))


def _ties(source: Source, policy: Policy, asked: _Asked) -> tuple[Tied, ...]:
    """Return what is found of the pseudonyms that the table has."""
    columns = [find_column(name, source.columns) for name in policy.columns.pseudonymize]
    names = list(dict.fromkeys(column.name for column in columns if column is not None))
    queries = [signature_query(source.relation, asked.columns, names, name, policy.k) for name in names]
    return tied_of(source.engine, names, queries)


def _holds_others(source: Source, column: Column) -> bool:
    """Tell whether a column that is to hold pseudonyms holds anything else."""
    query = not_pseudonyms_query(source.relation, column.name)
    return bool(source.engine.row(query, "values that are no pseudonyms")[0])
