"""Classes with the measures of the privacy models: one query, over codes or over values.

Models of rows alone are aggregates over the members of a class: one GROUP BY is enough. Each sensitive column
of a model adds steps::

    counted_1    rows of each class with each sensitive value
    weighed_1    the same with the quantities to compare: the class, their rank, their share of the table
    measured_1   the classes with their measures
    spread_1     (if a model uses distances between values) the share of each class that each feature has
    distance_1   the classes with their distance from the table

Then all of them are joined class by class. Members are rows of the frequency set (the class is a masked key),
rows of a table (the class is their labels), or combinations of values that stand for several rows. Their sensitive
values are compared with the whole table. A readable query has steps for that, too (``References``)::

    shares_1     every value of the column with its share of the table
    features_1   the features of values, if a model uses distances between them

If counts are stored side by side (``kanon_sql.classes.packing``), ``packed_query`` measures in three steps:

1. ``packed``: rows of each class, and its counts side by side: one GROUP BY of all members.
2. ``weighed``: a row for each class and count, with the share of the table to compare.
3. ``measured``: the measures of the models that compare the same; then all of them are joined class by class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import shares_query
from kanon_sql.models.base import RowModel
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.sensitive import SensitiveModel, Weighed, as_double
from kanon_sql.models.t_closeness import (
    FEATURES,
    TCloseness,
    compares_features,
    hierarchical_features,
    ordered_features,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects.expressions import each_once
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kanon_sql.classes.packing import ComparedValues, Packing
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel


@dataclass(frozen=True)
class Members:
    """The members of classes."""

    rows: exp.Select  # a query that selects nothing yet
    classes: tuple[exp.Expr, ...]  # the keys of a class, each named
    n: exp.Expr | None  # rows per member; None if a member is a row
    measure: Callable[[RowModel], exp.Expr]  # the measure of a model of rows, over the members
    # the sensitive value of a member, as a model of that column has it
    value: Callable[[SensitiveModel], exp.Expr] = field(default=lambda model: sql.column(model.sensitive or ""))
    shares: Callable[[SensitiveModel], exp.Table] = field(default=lambda _: sql.relation("shares"))
    features: Callable[[TCloseness], exp.Table] = field(default=lambda _: sql.relation("features"))
    # for a model that compares with a population, the relation of its classes under the same names, with their rows as
    # ``n``
    populations: Callable[[PopulationModel], exp.Query] | None = None
    null_safe: bool = False  # whether a class may have NULLs in its keys
    # names that steps must not have: such a step would hide its source
    taken: tuple[str, ...] = ()
    coded: bool = False  # whether members are rows of the frequency set
    packing: Packing | None = None  # positions of its counts, if they are stored side by side
    weight: exp.Expr | None = None  # what a member adds to ``Columns.tuples``; None if that is 1

    @property
    def names(self) -> list[str]:
        return [column.alias_or_name for column in self.classes]

    def rows_of_members(self) -> exp.Expr:
        """Return the rows of a group of members, as an aggregate."""
        return sql.count_rows() if self.n is None else sql.sum_of(self.n.copy())

    def weights(self) -> exp.Expr:
        """Return the amount that a group of members adds to ``Columns.tuples``, as an aggregate."""
        return sql.count_rows() if self.weight is None else sql.sum_of(self.weight.copy())

    def grouped(self, *selected: exp.Expr, by: Sequence[exp.Expr] = ()) -> exp.Select:
        """Return the members, grouped by class and by something else."""
        query = self.rows.copy().select(*(column.copy() for column in self.classes), *selected, copy=False)
        keys = [column.unalias().copy() for column in self.classes]
        return query.group_by(*keys, *by, copy=False) if keys or by else query


@dataclass(frozen=True)
class Columns:
    """Names of the columns of the result."""

    n: str
    measures: Sequence[str]
    tuples: str | None = None  # members of the class, or their weights; None to omit it
    # for each model, the most rows of a class that could be published; None to omit them
    bounds: Sequence[str] | None = None
    kept: bool = False  # whether the result is stored in a table; sums have a wider type than it needs


class References:
    """The steps that models compare classes to."""

    def __init__(
        self,
        models: Sequence[PrivacyModel],
        table: exp.Table | exp.Subquery,
        *,
        value: Callable[[str], exp.Expr] = sql.column,
        rows: Callable[[], exp.Expr] = sql.count_rows,
        trees: Mapping[str, Hierarchy] | None = None,
        taken: Iterable[str] = (),
    ) -> None:
        """Make the steps.

        ``table``: the whole table; ``value``: the value of a sensitive column in it, by the column's name; ``rows``:
        the rows of a group of it, as an aggregate; ``trees``: the hierarchies of sensitive columns, if a model uses
        distances in them; ``taken``: names that steps must not have.
        """
        self.steps: list[tuple[str, exp.Query]] = []
        self._shares: dict[str, str] = {}
        self._features: dict[tuple[str, str], str] = {}
        self._taken = list(taken)
        for model in models:
            if not isinstance(model, SensitiveModel) or model.sensitive is None:
                continue
            name = model.sensitive
            if name not in self._shares:
                self._shares[name] = self._add("shares", shares_query(table, value(name), rows()))
            distance = model.distance if isinstance(model, TCloseness) else None
            if distance not in {"ordered", "hierarchical"} or (name, distance) in self._features:
                continue
            shares = self.shares(model)
            if distance == "ordered":
                query: exp.Query = ordered_features(shares)
            else:
                tree = (trees or {})[name]
                query = hierarchical_features(shares, "value", "value", tree.readable, tree.height, tree.column.family)
            self._features[name, distance] = self._add("features", query)

    def _add(self, wanted: str, query: exp.Query) -> str:
        name = unused_name(f"{wanted}_{len(self._shares) + 1}", [*self._taken, *(name for name, _ in self.steps)])
        self.steps.append((name, query))
        return name

    def shares(self, model: SensitiveModel) -> exp.Table:
        """Return the step with the values of a model's column."""
        return sql.relation(self._shares[model.sensitive or ""])

    def features(self, model: TCloseness) -> exp.Table:
        """Return the step with the features that a model compares by."""
        return sql.relation(self._features[model.sensitive or "", model.distance or ""])

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.steps]


def with_steps(query: exp.Select, *steps: Iterable[tuple[str, exp.Query]]) -> exp.Select:
    """Return a query with steps before it, in this order."""
    for listed in steps:
        for name, step in listed:
            query = query.with_(name, as_=step)
    return query


_WEIGHED = ("value", "n", "class_n", "place", "share", "values")


@dataclass(frozen=True)
class _Part:
    """Classes with some of their measures, as a step."""

    step: str
    columns: tuple[str, ...]


def measured_query(members: Members, models: Sequence[PrivacyModel], columns: Columns) -> exp.Select:
    """Return the classes of members, with their rows and the measure of each model."""
    steps, query = measured_steps(members, models, columns)
    for name, step in steps:
        query = query.with_(name, as_=step, copy=False)
    return query


def measured_steps(
    members: Members, models: Sequence[PrivacyModel], columns: Columns
) -> tuple[list[tuple[str, exp.Query]], exp.Select]:
    """Return the steps of ``measured_query``, each with its name, and the query over them."""
    of_rows = {number: model for number, model in enumerate(models) if isinstance(model, RowModel)}
    if members.packing is not None and len(of_rows) < len(models):
        return [], packed_query(members, members.packing, models, columns)
    if len(of_rows) == len(models):
        return [], _plain(members, of_rows, columns)
    steps = _Steps(members, columns)
    by_column: dict[str, dict[int, SensitiveModel]] = {}
    for number, model in enumerate(models):
        if isinstance(model, SensitiveModel):
            by_column.setdefault(model.sensitive or "", {})[number] = model
    # Rows add up over sensitive values, people do not.
    alone = len(by_column) == 1 and all(model.entity is None for model in of_rows.values())
    parts = []
    if not alone:
        parts.append(steps.plain(of_rows))
    for own in by_column.values():
        parts += steps.sensitive(own, of_rows if alone else {}, with_rows=alone)
    for number, model in enumerate(models):
        if isinstance(model, PopulationModel):
            parts.append(steps.population(number, model))
    return steps.steps, steps.together(parts, models)


def _plain(members: Members, models: Mapping[int, RowModel], columns: Columns) -> exp.Select:
    """Return the classes if every measure is an aggregate over members."""
    rows = exp.Sum(this=members.n.copy()) if members.n is not None and not columns.kept else members.rows_of_members()
    counted = [sql.named(rows, columns.n)]
    if columns.tuples is not None:
        counted.append(sql.named(members.weights(), columns.tuples))
    measures = [sql.named(members.measure(model), columns.measures[number]) for number, model in models.items()]
    return members.grouped(*counted, *measures)


class _Steps:
    """The steps of a query, and the names that are free for more."""

    def __init__(self, members: Members, columns: Columns) -> None:
        self.members, self.columns = members, columns
        self.steps: list[tuple[str, exp.Query]] = []
        used = [*members.names, columns.n, *columns.measures, *(columns.bounds or ()), columns.tuples or ""]
        self.names = {name: unused_name(name, used) for name in (*_WEIGHED, *FEATURES, "p")}
        self.names["n"] = columns.n

    def add(self, wanted: str, query: exp.Query) -> str:
        name = unused_name(wanted, [*self.members.taken, *(name for name, _ in self.steps)])
        self.steps.append((name, query))
        return name

    def classes(self, step: str | None = None) -> list[exp.Expr]:
        """Return the keys of a class, as columns of a step."""
        return [sql.column(name, step) for name in self.members.names]

    def plain(self, models: Mapping[int, RowModel]) -> _Part:
        """Add the classes with the measures of models of rows."""
        given = [self.columns.n, *([self.columns.tuples] if self.columns.tuples else [])]
        step = self.add("classes_of_rows", _plain(self.members, models, self.columns))
        return _Part(step, (*given, *(self.columns.measures[number] for number in models)))

    def sensitive(
        self, models: Mapping[int, SensitiveModel], of_rows: Mapping[int, RowModel], *, with_rows: bool
    ) -> list[_Part]:
        """Add the classes with the measures of models of one sensitive column.

        ``of_rows``: models of rows that are measured along with them; ``with_rows``: whether rows are counted here
        too.
        """
        members, columns, names = self.members, self.columns, self.names
        first = next(iter(models.values()))
        tuples = columns.tuples if with_rows else None
        spread: dict[int, TCloseness] = {number: model for number, model in models.items() if compares_features(model)}
        others = {number: model for number, model in models.items() if number not in spread}
        weighed = Weighed(names, first.facts.values if first.facts else None, coded=members.coded)
        # Rows are counted along with the first measures, of any kind.
        rows_first = with_rows and bool(others or tuples)
        aggregates = self._of_rows(weighed, of_rows, tuples) if rows_first else {}
        aggregates |= self._of_values(weighed, others)
        needed = {column.name for item in aggregates.values() for column in item.find_all(exp.Column)}
        if spread:
            needed.add(names["class_n"])
        # 1. Rows of each class with each value.
        value = members.value(first)
        counted = [sql.named(value, names["value"]), sql.named(members.rows_of_members(), names["n"])]
        if tuples:
            counted.append(sql.named(members.weights(), tuples))
        step = self.add("counted", members.grouped(*counted, by=[value.copy()]))
        # 2. The quantities to compare them with.
        if needed & {names[name] for name in ("class_n", "place", "share", "values")}:
            step = self._weighed(step, first, needed, tuples)
        # 3. The classes.
        parts = []
        if aggregates:
            named = [sql.named(item, name) for name, item in aggregates.items()]
            query = exp.select(*self.classes(), *named, copy=False).from_(sql.relation(step), copy=False)
            parts.append(_Part(self.add("measured", self._by_class(query)), tuple(aggregates)))
        for number, model in spread.items():
            with_these = of_rows if with_rows and not parts else None
            parts.append(self._distance(step, number, model, with_these))
        return parts

    def _of_rows(self, weighed: Weighed, models: Mapping[int, RowModel], tuples: str | None) -> dict[str, exp.Expr]:
        """Return the rows of a class, its members, and the measures of models of rows, by column name."""
        aggregates: dict[str, exp.Expr] = {self.columns.n: sql.sum_of(weighed.n)}
        if tuples:
            aggregates[tuples] = sql.sum_of(sql.column(tuples))
        for number, model in models.items():
            aggregates[self.columns.measures[number]] = model.combined_measure(weighed.n, None)
        return aggregates

    def _of_values(self, weighed: Weighed, models: Mapping[int, SensitiveModel]) -> dict[str, exp.Expr]:
        """Return the measures of models of values, and their bounds if needed, by column name."""
        aggregates: dict[str, exp.Expr] = {}
        for number, model in models.items():
            aggregates[self.columns.measures[number]] = model.measure(weighed)
            if self.columns.bounds is not None and not model.monotone:
                aggregates[self.columns.bounds[number]] = model.most(weighed)
        return aggregates

    def _by_class(self, query: exp.Select) -> exp.Select:
        keys = self.classes()
        grouped = query.group_by(*keys, copy=False) if keys else query
        return each_once(grouped, self.members.names) if self.members.coded else grouped

    def _weighed(self, counted: str, model: SensitiveModel, needed: set[str], tuples: str | None) -> str:
        """Add the values of each class with the quantities that models compare them to."""
        names = self.names
        own = [names["value"], names["n"], *([tuples] if tuples else [])]
        query = exp.select(*self.classes(counted), *(sql.column(name, counted) for name in own))
        n = sql.column(names["n"], counted)
        if names["class_n"] in needed:
            total = exp.Window(this=exp.Sum(this=n.copy()), partition_by=self.classes(counted))
            query = query.select(sql.named(sql.cast(total, "BIGINT"), names["class_n"]))
        if names["place"] in needed:
            order = exp.Order(expressions=[exp.Ordered(this=n.copy(), desc=True)])
            place = exp.Window(this=exp.RowNumber(), partition_by=self.classes(counted), order=order)
            query = query.select(sql.named(place, names["place"]))
        query = query.from_(sql.relation(counted), copy=False)
        if needed & {names["share"], names["values"]}:
            shares = self.members.shares(model)
            for name in ("share", "values"):
                if names[name] in needed:
                    query = query.select(sql.named(sql.column(name, "shares"), names[name]))
            same = self._same_value(sql.column(names["value"], counted), sql.column("value", "shares"))
            query = query.join(sql.aliased(shares, "shares"), on=same)
        return self.add("weighed", query)

    def _same_value(self, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        """Return the condition that two sensitive values are the same; codes are never NULL."""
        return sql.same(one, other, sql.SAME_TYPE) if self.members.null_safe else exp.EQ(this=one, expression=other)

    def _distance(self, weighed: str, number: int, model: TCloseness, of_rows: Mapping[int, RowModel] | None) -> _Part:
        """Add the classes with their distance from the table, by features, and with the measures of rows."""
        names, columns = self.names, self.columns
        # 1. The share of each class that each feature has.
        class_n = exp.Max(this=sql.column(names["class_n"], weighed))
        feature = sql.column("feature", "features")
        facts = [sql.named(exp.Max(this=sql.column(name, "features")), names[name]) for name in FEATURES]
        rows = exp.Sum(this=sql.column(names["n"], weighed))
        spread = (
            exp.select(*self.classes(weighed), sql.named(class_n, names["class_n"]), *facts)
            .select(sql.named(exp.Div(this=as_double(rows), expression=class_n.copy()), names["p"]))
            .from_(sql.relation(weighed))
            .join(
                sql.aliased(self.members.features(model), "features"),
                on=self._same_value(sql.column(names["value"], weighed), sql.column("value", "features")),
            )
            .group_by(*self.classes(weighed), feature)
        )
        step = self.add("spread", spread)
        # 2. The distance.
        p, share, total, scale = (sql.column(names[name]) for name in ("p", "share", "total", "scale"))
        aggregates: dict[str, exp.Expr] = {}
        if of_rows is not None:
            in_class = exp.Max(this=sql.column(names["class_n"]))
            aggregates[columns.n] = in_class
            aggregates |= {columns.measures[one]: rows.measure_of(in_class.copy()) for one, rows in of_rows.items()}
        aggregates[columns.measures[number]] = model.spread_measure(p, share, total, scale)
        if columns.bounds is not None:
            most = model.spread_most(p, share, total, scale, sql.column(names["class_n"]))
            aggregates[columns.bounds[number]] = most
        named = [sql.named(item, name) for name, item in aggregates.items()]
        query = exp.select(*self.classes(), *named, copy=False).from_(sql.relation(step), copy=False)
        return _Part(self.add("distance", self._by_class(query)), tuple(aggregates))

    def population(self, number: int, model: PopulationModel) -> _Part:
        if self.members.populations is None:
            raise TypeError("These members have no population")
        name = self.columns.measures[number]
        counted = self.members.populations(model)
        rows = sql.named(sql.column(self.columns.n, "in_population"), name)
        query = exp.select(*self.classes("in_population"), rows).from_(counted.subquery("in_population"))
        return _Part(self.add("population", query), (name,))

    def together(self, parts: Sequence[_Part], models: Sequence[PrivacyModel]) -> exp.Select:
        """Return the classes with all measures, over the steps."""
        first, *others = parts
        if not others and self.steps[-1][0] == first.step and isinstance(self.steps[-1][1], exp.Select):
            _, query = self.steps.pop()
            return query  # type: ignore[return-value]  # checked above
        compared = {self.columns.measures[number]: model for number, model in enumerate(models)}
        query = exp.select(*self.classes(first.step)).from_(sql.relation(first.step))
        n = sql.column(self.columns.n, first.step)
        for part in parts:
            for name in part.columns:
                model = compared.get(name)
                column: exp.Expr = sql.column(name, part.step)
                if isinstance(model, PopulationModel):
                    column = sql.named(model.compared(n.copy(), column), name)
                query = query.select(column)
        for part in others:
            pairs = zip(self.classes(first.step), self.classes(part.step), strict=True)
            same = [
                sql.same(one, other, sql.SAME_TYPE) if self.members.null_safe else exp.EQ(this=one, expression=other)
                for one, other in pairs
            ]
            in_population = any(isinstance(compared.get(name), PopulationModel) for name in part.columns)
            query = query.join(
                sql.relation(part.step),
                on=sql.all_of(same),
                join_type="left" if in_population else "inner",
            )
        return query


_PACKED = "packed"
_CLASS_N = "class_n"
_OWN = "own_n"
_WEIGHED_COLUMNS = {"n": _OWN, "class_n": _CLASS_N, "share": "share", "values": "values"}


def packed_query(members: Members, packing: Packing, models: Sequence[PrivacyModel], columns: Columns) -> exp.Select:
    """Return the classes of members, with their rows and the measure of each model."""
    # 1. Rows of each class, and its counts side by side.
    counted = [sql.named(members.rows_of_members(), _CLASS_N)]
    if columns.tuples is not None:
        counted.append(sql.named(members.weights(), columns.tuples))
    packed = members.grouped(*counted, *packing.summed())
    # 2. and 3. For each compared relation, its models.
    by_compared: dict[str, dict[int, SensitiveModel]] = {}
    for place, model in enumerate(models):
        if isinstance(model, SensitiveModel):
            by_compared.setdefault(packing.of(model).counts.name, {})[place] = model
    parts = [_measured(members, packing, own, columns) for own in by_compared.values()]
    return _together(members, parts, models, columns).with_(_PACKED, as_=packed, copy=False)


def _measured(members: Members, packing: Packing, models: Mapping[int, SensitiveModel], columns: Columns) -> exp.Select:
    """Return the classes with the measures of models that compare the same."""
    compared = packing.of(next(iter(models.values())))
    kept = [*members.names, _CLASS_N, *([columns.tuples] if columns.tuples is not None else [])]
    own = compared.rows(packing.width)
    weighed = exp.select(*map(sql.column, kept), sql.column("share"), copy=False).from_(_PACKED, copy=False)
    weighed.join(sql.aliased(compared.counts, "counts"), join_type="cross", copy=False)
    if compared.by_features:
        share = exp.Div(this=exp.Paren(this=as_double(own)), expression=sql.column(_CLASS_N))
        weighed.select(sql.named(share, "p"), copy=False)
    else:  # a value missing in a class has 0 of its rows
        weighed.select(sql.named(own, _OWN), sql.column("values"), copy=False)
        weighed.where(exp.GT(this=own.copy(), expression=sql.literal(0)), copy=False)
    aggregates = []
    for place, model in models.items():
        aggregates.append(sql.named(_measure(model, compared), columns.measures[place]))
        if columns.bounds is not None and not model.monotone:
            aggregates.append(sql.named(_most(model, compared), columns.bounds[place]))
    by_class = exp.select(*map(sql.column, kept), *aggregates, copy=False)
    by_class.from_(weighed.subquery("weighed", copy=False), copy=False).group_by(*map(sql.column, kept), copy=False)
    return each_once(by_class, kept)


def _measure(model: SensitiveModel, compared: ComparedValues) -> exp.Expr:
    if compares_features(model):
        return model.spread_measure(*_feature(compared))
    return model.measure(Weighed(_WEIGHED_COLUMNS, compared.values, coded=True))


def _most(model: SensitiveModel, compared: ComparedValues) -> exp.Expr:
    if compares_features(model):
        return model.spread_most(*_feature(compared), sql.column(_CLASS_N))
    return model.most(Weighed(_WEIGHED_COLUMNS, compared.values, coded=True))


def _feature(compared: ComparedValues) -> tuple[exp.Expr, exp.Expr, exp.Expr, exp.Expr]:
    """Return a feature's share of the class and of the table, and the two values that are the same for all features."""
    return sql.column("p"), sql.column("share"), sql.double(compared.total), sql.double(compared.scale)


def _together(
    members: Members, parts: Sequence[exp.Select], models: Sequence[PrivacyModel], columns: Columns
) -> exp.Select:
    """Return the classes with all measures. Every part has all classes."""
    first, *others = [f"measured_{number}" for number in range(len(parts))]
    kept = [sql.column(name, first) for name in members.names]
    n = sql.column(_CLASS_N, first)
    query = exp.select(*kept, sql.named(n, columns.n), copy=False).from_(
        parts[0].subquery(first, copy=False), copy=False
    )
    if columns.tuples is not None:
        query.select(sql.column(columns.tuples, first), copy=False)
    for place, model in enumerate(models):
        if isinstance(model, RowModel):
            query.select(sql.named(model.measure_of(n.copy()), columns.measures[place]), copy=False)
        else:
            query.select(sql.column(columns.measures[place]), copy=False)
            if columns.bounds is not None and not model.monotone:
                query.select(sql.column(columns.bounds[place]), copy=False)
    for other, part in zip(others, parts[1:], strict=True):
        same = [exp.EQ(this=own.copy(), expression=sql.column(own.name, other)) for own in kept]
        query.join(part.subquery(other, copy=False), on=sql.all_of(same), copy=False)
    return query
