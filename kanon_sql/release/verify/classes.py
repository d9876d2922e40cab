"""The check of the classes of a table: count them again, and measure each model in its worst class.

It does not depend on how the table was made: ``check`` runs it on any table, and every release is verified by it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.classes.measured import Columns, Members, References, measured_steps, with_steps
from kanon_sql.engine.equality import written
from kanon_sql.models.base import RowModel
from kanon_sql.models.known_subsets import columns_named
from kanon_sql.models.population import PopulationModel
from kanon_sql.release.statements.release import class_columns, population_classes
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel


@dataclass(frozen=True)
class ModelResult:
    """The requirement of a privacy model, and its value in the output."""

    model: str
    required: int | float
    measured: int | float | None  # the measure of the worst class of the output; None if the output has no rows
    holds: bool  # whether every class satisfies the model
    letter: str = "k"  # the name of the threshold
    sensitive: str | None = None
    classes_failing: int = 0
    rows_failing: int = 0
    verified: bool = True  # False if this could not be verified; then the model does not hold

    def stated(self, entity: str | None) -> dict[str, Any]:
        """Return the summary of the model; ``entity`` is the column that names its people."""
        return {
            "model": self.model,
            "sensitive": self.sensitive,
            "letter": self.letter,
            "required": self.required,
            "measured": self.measured,
            "holds": self.holds,
            "entity": entity,
        }


def k_of(models: Sequence[ModelResult], smallest: int | None) -> int | float | None:
    """Return the measure of k-anonymity; if it is not required, the rows of the smallest class."""
    return next((model.measured for model in models if model.model == "k-anonymity"), smallest)


@dataclass(frozen=True)
class Tied:
    """The check of the pseudonyms of a column in a release."""

    column: str
    pseudonyms: int  # distinct pseudonyms
    several: int  # those on several rows
    signatures: int  # distinct signatures
    fewest: int | None  # the number of pseudonyms with the rarest signature; None if there are none
    failing: int  # pseudonyms whose signature fewer than k share

    def stated(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "pseudonyms": self.pseudonyms,
            "on_several_rows": self.several,
            "signatures": self.signatures,
            "fewest_alike": self.fewest,
        }


@dataclass(frozen=True)
class Verification:
    """The findings in the output."""

    rows: int
    classes: int
    smallest_class: int | None  # rows of the smallest class; None if there are no rows
    classes_failing: int
    rows_failing: int
    models: tuple[ModelResult, ...]
    pseudonyms: tuple[Tied, ...] = ()  # for each pseudonymized column, the check of what its pseudonyms link
    fewest_people: int | None = None  # in a class by all columns, if k counts people in classes by some

    @property
    def smallest_members(self) -> int | float | None:
        """Members of the smallest class by all columns: people if they were counted, else rows."""
        of_some = any(columns_named(model.model) for model in self.models)
        measured = self.fewest_people if of_some else k_of(self.models, None)
        return self.smallest_class if measured is None else measured


@dataclass(frozen=True)
class ClassCheck:
    """The check of the classes of a table. A class has rows whose values are written alike."""

    output: exp.Expr  # the table, or a subquery
    quasi_identifiers: Sequence[Column]
    models: tuple[PrivacyModel, ...]  # models that count people need the entity
    entity: str | None = None
    _: KW_ONLY
    whole: exp.Table | None = None  # its sensitive values are compared with those of a class; by default ``output``
    trees: Mapping[str, Hierarchy] | None = None  # of sensitive columns, if a model measures distances in them
    everybody: exp.Query | None = None  # the rows of the population, if a model compares with it

    def query(self) -> exp.Select:
        """Count the classes, and return the smallest, and for each model the worst and the number of failing ones."""
        n, measured = self._columns
        absent = None
        if any(isinstance(model, PopulationModel) and model.covers for model in self.models):
            absent = self._absent_classes()
        values = summary_values(self.models, n, measured, absent)
        query = sql.select("verify/classes", values=values, steps={"classes": self._steps()}, names={"n": n})
        if absent is not None:
            failing = next(one for one in query.selects if one.alias == "classes_failing")
            failing.set("this", exp.Add(this=failing.this, expression=absent.copy()))
        return query

    def worst(self, number: int, most: int) -> exp.Select:
        """Return the query of the classes that fail a model: rows and measure of up to ``most`` of the worst ones."""
        n, measured = self._columns
        model, measure = self.models[number], sql.column(measured[number])
        descending = isinstance(model.worst(measure.copy()), exp.Max)
        order = [exp.Ordered(this=measure.copy(), desc=descending), exp.Ordered(this=sql.column(n))]
        query = exp.select(sql.column(n), measure).from_("classes").where(sql.negated(model.is_met(measure.copy())))
        return with_steps(query.order_by(*order).limit(most), self._steps())

    @property
    def _columns(self) -> tuple[str, list[str]]:
        return class_columns([column.name for column in self.quasi_identifiers], self.models)

    def _absent_classes(self) -> exp.Subquery | None:
        """Return the number of classes of the population that have no row in the table."""
        if self.everybody is None:
            return None
        named = [sql.named(written(sql.column(column.name), column), column.name) for column in self.quasi_identifiers]
        absent = exp.except_(
            exp.select(*named).from_(self.everybody.subquery("everybody")),
            exp.select(*(key.copy() for key in named)).from_(self.output.copy()),
        )
        return exp.select(sql.count_rows()).from_(absent.subquery("absent")).subquery()

    def _steps(self) -> list[tuple[str, exp.Query]]:
        """Return the steps up to ``classes``: rows and measures of each class."""
        (n, measured), models, output = self._columns, self.models, self.output

        def measure(model: RowModel) -> exp.Expr:
            return model.readable_measure(sql.column(self.entity) if self.entity and model.entity else None)

        grouping = [written(sql.column(column.name), column) for column in self.quasi_identifiers]
        of_rows = [model for model in models if isinstance(model, RowModel)]
        if len(of_rows) == len(models):
            measures = [sql.named(measure(model), name) for name, model in zip(measured, of_rows, strict=True)]
            values: dict[str, sql.Given] = {"measures": measures, "labels": grouping}
            relations = {"release": output}
            classes = sql.select("verify/classes", part="classes", values=values, relations=relations, names={"n": n})
            return [("classes", classes)]
        whole, everybody = self.whole, self.everybody
        taken = ["classes", *(table.name for table in output.find_all(exp.Table)), *([whole.name] if whole else [])]
        compared = whole if whole is not None else exp.select("*").from_(output.copy()).subquery("whole_table")
        references = References(models, compared, trees=self.trees, taken=taken)
        named = tuple(sql.named(key, one.name) for key, one in zip(grouping, self.quasi_identifiers, strict=True))
        members = Members(
            rows=exp.select().from_(output.copy()),
            classes=named,
            n=None,
            populations=lambda _: population_classes(everybody, named, n),
            measure=measure,
            shares=references.shares,
            features=references.features,
            null_safe=True,
            taken=(*taken, *references.names),
        )
        steps, classes = measured_steps(members, models, Columns(n, measured))
        return [*references.steps, *steps, ("classes", classes)]


def read_verification(row: tuple[int, ...] | list[int], models: tuple[PrivacyModel, ...]) -> Verification:
    classes, rows, smallest, classes_failing, rows_failing, *measured = row
    results = tuple(
        ModelResult(
            model.name, model.required, worst, failing == 0, model.letter, model.sensitive, failing, int(hidden or 0)
        )
        for model, worst, failing, hidden in zip(models, measured[::3], measured[1::3], measured[2::3], strict=True)
    )
    return Verification(int(rows or 0), classes, smallest, classes_failing, int(rows_failing or 0), results)


def summary_values(
    models: Sequence[PrivacyModel], n: str, measured: Sequence[str], absent: exp.Subquery | None = None
) -> dict[str, exp.Expr | list[exp.Expr]]:
    """Return the values of ``sql/verify/classes.sql`` for the models: whether a class fails, and the worst of each.

    ``n`` and ``measured`` are names of rows and measures. ``absent`` is the number of classes of the population without
    a row, if a model forbids them.
    """
    fails = [sql.negated(model.is_met(sql.column(name))) for name, model in zip(measured, models, strict=True)]
    of_each: list[exp.Expr] = []
    for number, model in enumerate(models):
        worst = model.worst(sql.column(measured[number]))
        count: exp.Expr = sql.where(sql.count_rows(), fails[number].copy())
        if absent is not None and isinstance(model, PopulationModel) and model.covers:
            some = exp.GT(this=absent.copy(), expression=sql.literal(0))
            worst = exp.Case().when(some, sql.literal(0.0)).else_(worst)
            count = exp.Add(this=count, expression=absent.copy())
        of_each += [
            sql.named(worst, f"worst_{number}"),
            sql.named(count, f"failing_{number}"),
            sql.named(sql.where(exp.Sum(this=sql.column(n)), fails[number].copy()), f"rows_failing_{number}"),
        ]
    return {"fails": exp.or_(*fails) if fails else exp.false(), "models": of_each}
