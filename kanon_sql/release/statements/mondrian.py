"""A multidimensional recoding in readable SQL: the cuts lead every row to its box, and the box has its labels.

    walk          each combination of values, from box to box
    arrived       combinations in a box that is not cut, if they lie in its bounds, with its labels
    generalized   every row of the source with the labels of its combination
    too_small     in a view, the classes that no longer satisfy the privacy models

Equal rows stay together, so the walk is over combinations, not rows. With relaxed cuts, equal rows may be in several
boxes, so each row walks separately.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

from sqlglot import exp

from kanon_sql.classes.recoding import LabelledCombinations
from kanon_sql.engine.base import Column
from kanon_sql.engine.equality import comparable, looked_up
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.release.publication import GENERALIZED, as_published
from kanon_sql.release.statements.full_domain import Statements, table_written_out
from kanon_sql.search.mondrian.boxes import BoxColumns
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import shuffled
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.classes.recoding import Multidimensional
    from kanon_sql.engine.base import Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.publication import Publication

_BOXES, _CUT = "boxes", "cut"


class MondrianStatements(Statements):
    """Rows follow the cuts to their boxes; every box is published."""

    title_of_boxes = "Where the table is cut, and the published values of each box"

    @cached_property
    def _recoding(self) -> Multidimensional:
        return cast("Multidimensional", self.publication.recoding)

    @cached_property
    def _names(self) -> BoxColumns:
        return BoxColumns(self.publication.hierarchies)

    @property
    def _relaxed(self) -> bool:
        return self._recoding.cutting.cut == "relaxed"

    def _read(self) -> Iterator[tuple[int, Hierarchy, exp.Table | None]]:
        """Yield the quasi-identifiers that rows are cut by, each with the table of the ranks of its texts."""
        for number, hierarchy in enumerate(self.publication.hierarchies):
            if number not in self._recoding.unread:
                yield number, hierarchy, self._recoding.orders[number]

    def _step(self, step: str) -> str:
        """Return the name of a step that the source does not have: otherwise the step would read itself."""
        return unused_name(step, [self.publication.source.name])

    def generalized_query(self, lookups: Mapping[str, exp.Table], *, with_entity: bool = True) -> exp.Select:  # noqa: ARG002 - boxes have labels
        return self._with_walk(self._boxed(with_entity=with_entity))

    def released_query(self, lookups: Mapping[str, exp.Table]) -> exp.Select:  # noqa: ARG002 - boxes have labels
        """Return all rows with the labels of their boxes: every box is published."""
        query = exp.select(*(sql.column(column.name, GENERALIZED) for column in self.publication.columns))
        query = self._with_walk(query).from_(GENERALIZED, copy=False)
        return query.with_(GENERALIZED, as_=self._boxed(with_entity=False), recursive=True, copy=False)

    def known_labels(self, number: int, lookup: exp.Table, label: exp.Expr) -> tuple[exp.Expr, exp.Expr]:  # noqa: ARG002 - part of what every recoding answers
        labels = sql.column(self._names.labels[number])
        of_boxes = exp.select(sql.named(labels, "label")).from_(self._recoding.boxes_table.copy())
        column = self.publication.hierarchies[number].column
        kind = comparable(Column(column.name, self._recoding.label_type(number) or column.type))
        return of_boxes.subquery("known"), sql.same(sql.column("label", "known"), label, kind)

    def require_viewable(self) -> None:
        """Raise if labels depend on the present values."""
        cutting = self._recoding.cutting
        of_now = {"--labels set": cutting.labels == "set", "--cut relaxed": self._relaxed}
        of_now[f"--numbers {cutting.numbers}"] = cutting.numbers != "range"
        if said := [option for option, is_said in of_now.items() if is_said]:
            raise UsageError(
                f"What {said[0]} publishes is made from the rows that the table has now, and a view shows later rows "
                f"too: make a table or a file, or leave {said[0]} out."
            )

    def read_only_cut(self, engine: Engine) -> Publication:
        """Return the publication for a script that does not need the texts of columns without cuts.

        If cuts are relaxed, equal rows are divided by the order of all their values: then all columns are read.
        """
        publication, recoding = self.publication, self._recoding
        if self._relaxed:
            return publication
        cut = exp.select(sql.column(self._names.cut_column)).distinct().from_(recoding.cuts_table.copy())
        read = {name for (name,) in engine.rows(cut, "columns that are cut")}
        if not read:  # one box for all rows: the walk to it needs a column
            return publication
        orders = zip(publication.hierarchies, recoding.orders, strict=True)
        unread = frozenset(
            n for n, (own, order) in enumerate(orders) if order is not None and own.column.name not in read
        )
        kept = tuple(None if number in unread else order for number, order in enumerate(recoding.orders))
        return replace(publication, recoding=replace(recoding, orders=kept, unread=unread))

    def box_statements(self, engine: Engine, tuples: exp.Table) -> tuple[exp.Expr, ...]:
        """Return the statements that make the orders, the cuts and the boxes, with their rows written out."""
        names, recoding = self._names, self._recoding
        made = []
        values: dict[str, list[str]] = {}  # columns of cuts and boxes that contain values of the table
        for number, hierarchy, order in self._read():
            name = hierarchy.column.name
            if order is None:
                values[name] = [names.labels[number], names.low[number], names.high[number]]
            else:
                own = looked_up(sql.column(name, "source"), hierarchy.column)
                same = sql.same(own, sql.column(VALUE, order.name), hierarchy.column.family)
                present = exp.Exists(this=exp.select("1").from_(sql.aliased(tuples, "source")).where(same))
                made.append(table_written_out(engine, order, ["place"], {name: [VALUE]}, present))
        made.append(table_written_out(engine, recoding.cuts_table, [names.box], values))
        bounds_only = {name: bounds[1:] for name, bounds in values.items()}
        made.append(table_written_out(engine, recoding.boxes_table, [names.box], bounds_only))
        return tuple(made)

    # The walk

    def _walk_query(self) -> exp.Query:
        """Return the query that leads combinations of values, or rows, from box 1 to their published box."""
        walk, names = self._step("walk"), self._names
        goes = exp.Case().when(self._goes_inside(), sql.column(names.inside, _CUT))
        step = (
            exp.select(*(sql.column(name, walk) for name in self._kept()))
            .select(sql.named(goes.else_(sql.column(names.outside, _CUT)), names.box))
            .from_(sql.relation(walk))
            .join(
                sql.aliased(self._recoding.cuts_table, _CUT),
                on=exp.EQ(this=sql.column(names.box, _CUT), expression=sql.column(names.box, walk)),
            )
        )
        return exp.union(self._begin(), step, distinct=False)

    def _begin(self) -> exp.Select:
        """Return the query of the start in box 1: combinations of values, texts as ranks; or numbered rows."""
        publication, names, keys = self.publication, self._names, self._keys()
        if not self._relaxed:
            begin = exp.select(*keys.values()).distinct()
            return self._from_source(begin).select(sql.named(sql.literal(1), names.box))
        published = [sql.column(column.name, "source") for column in publication.columns]
        begin = self._from_source(exp.select(*published))
        order = []
        for number, key in keys.items():
            if self._recoding.orders[number] is not None:
                begin = begin.select(key)
            order.append(exp.Ordered(this=key.unalias().copy(), nulls_first=True))
        # Equal rows are in a random order.
        order.append(exp.Ordered(this=shuffled([column.copy() for column in published], publication.seed)))
        position = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
        return begin.select(sql.named(position, names.position), sql.named(sql.literal(1), names.box))

    def _keys(self) -> dict[int, exp.Expr]:
        """Return the key by which a row is cut in each quasi-identifier: its value, or the rank of a text."""
        return {
            number: sql.column(hierarchy.column.name, "source")
            if order is None
            else sql.named(sql.column("place", _order(number)), self._names.place[number])
            for number, hierarchy, order in self._read()
        }

    def _from_source(self, query: exp.Select) -> exp.Select:
        """Return a query of the rows of the source, with the ranks of their texts."""
        query = query.from_(sql.aliased(self.publication.source, "source"))
        for number, hierarchy in enumerate(self.publication.hierarchies):
            if (table := self._recoding.orders[number]) is not None:
                value = looked_up(sql.column(hierarchy.column.name, "source"), hierarchy.column)
                same = sql.same(value, sql.column(VALUE, _order(number)), hierarchy.column.family)
                query = query.join(sql.aliased(table, _order(number)), on=same, copy=False)
        return query

    def _kept(self) -> list[str]:
        """Return the columns that the walk carries along."""
        keys = [
            hierarchy.column.name if order is None else self._names.place[number]
            for number, hierarchy, order in self._read()
        ]
        if not self._relaxed:
            return keys
        published = [column.name for column in self.publication.columns]
        return [*published, *(key for key in keys if key not in published), self._names.position]

    def _boxed(self, *, with_entity: bool) -> exp.Select:
        """Return the query of all rows with the labels of their boxes, over the steps of ``_with_walk``."""
        publication, recoding = self.publication, self._recoding
        if isinstance(recoding, LabelledCombinations):
            return _joined_labels(publication, recoding)
        arrived = self._step("arrived")
        rows = arrived if self._relaxed else "source"
        numbers = {name: number for number, name in enumerate(publication.quasi_identifiers)}
        query = exp.select()
        for column in publication.columns:
            number = numbers.get(column.name)
            if number is not None and recoding.types[number] is not None:
                label = sql.column(self._names.published[number], arrived)
                query = query.select(sql.named(label, column.name), copy=False)
            else:
                query = query.select(as_published(column, rows), copy=False)
        entity = publication.roles.entity
        if entity is not None and with_entity:
            query = query.select(sql.named(sql.column(entity.name, rows), publication.entity_name))
        return query.from_(sql.relation(arrived)) if self._relaxed else self._with_arrived(query)

    def _with_arrived(self, query: exp.Select) -> exp.Select:
        """Join the rows of the source to the arrived step of their combination."""
        arrived = self._step("arrived")
        same = [
            sql.same(key.unalias(), sql.column(key.alias_or_name, arrived), sql.SAME_TYPE)
            if self._recoding.orders[number] is None
            else exp.EQ(this=key.unalias(), expression=sql.column(key.alias_or_name, arrived))
            for number, key in self._keys().items()
        ]
        return self._from_source(query).join(sql.relation(arrived), on=sql.all_of(same))

    def _with_walk(self, query: exp.Select, *, with_position: bool = False) -> exp.Select:
        """Return a query with the steps that ``_boxed`` needs before it.

        The ``arrived`` step is materialized: otherwise the engine may join the source to every step of the walk.
        """
        names, recoding, walk = self._names, self._recoding, self._step("walk")
        if isinstance(recoding, LabelledCombinations):
            return query
        labels = [
            sql.named(sql.column(names.labels[number], _BOXES), names.published[number])
            for number, kind in enumerate(recoding.types)
            if kind is not None
        ]
        box = sql.column(names.box, walk)
        in_box = exp.EQ(this=sql.column(names.box, _BOXES), expression=box)
        kept = [name for name in self._kept() if with_position or name != names.position]
        arrived = exp.select(*(sql.column(name, walk) for name in kept), *labels).from_(sql.relation(walk))
        arrived = arrived.join(sql.aliased(recoding.boxes_table, _BOXES), on=exp.and_(in_box, self._within()))
        # Boxes have higher numbers than cuts.
        arrived = arrived.where(exp.GT(this=box.copy(), expression=sql.literal(recoding.cuts)))
        query = query.with_(walk, as_=self._walk_query(), recursive=True, copy=False)
        return query.with_(self._step("arrived"), as_=arrived, materialized=True, recursive=True, copy=False)

    def labelled_combinations(self, labels: Sequence[str | None], ranks: tuple[str, str] | None) -> exp.Select:
        """Return the query of each combination of quasi-identifiers with the labels of its box, under these names.

        If equal rows are divided, they are in a random order: the first ones go to the first box, the following ones to
        the next. Boxes get the same ``ranks`` of them at every count.
        """
        own, arrived = self.publication.quasi_identifiers, self._step("arrived")
        label_of = {
            number: sql.column(self._names.published[number], arrived)
            for number, kind in enumerate(self._recoding.types)
            if kind
        }
        named = [sql.named(label_of[number], str(labels[number])) for number in label_of]
        if ranks is None:
            values = [sql.column(name, "source") for name in own]
            return self._with_walk(self._with_arrived(exp.select(*values, *named).distinct()))
        values = [sql.column(name, arrived) for name in own]
        groups = [*values, *label_of.values()]
        rows = sql.named(sql.count_rows(), "parted_rows")
        first = sql.named(exp.Min(this=sql.column(self._names.position, arrived)), "parted_first")
        parted = exp.select(*values, *named, rows, first).from_(arrived).group_by(*(group.copy() for group in groups))
        window = exp.Window(
            this=exp.Sum(this=sql.column("parted_rows")),
            partition_by=[sql.column(name) for name in own],
            order=exp.Order(expressions=[exp.Ordered(this=sql.column("parted_first"))]),
        )
        last = sql.cast(window, "BIGINT")
        low = exp.Add(this=exp.Sub(this=last, expression=sql.column("parted_rows")), expression=sql.literal(1))
        ranked = exp.select(
            *(sql.column(name) for name in own),
            *(sql.column(str(label)) for label in labels if label is not None),
            sql.named(low, ranks[0]),
            sql.named(last.copy(), ranks[1]),
        )
        return self._with_walk(ranked.from_(parted.subquery("parted")), with_position=True)

    def _goes_inside(self) -> exp.Expr:
        """Return the condition that a step of the walk goes inside its cut."""
        walk, names = self._step("walk"), self._names
        case = exp.Case(this=sql.column(names.cut_column, _CUT))
        for number, hierarchy, order in self._read():
            own = hierarchy.column.name
            if order is None:
                value, bound = sql.column(own, walk), sql.column(own, _CUT)
                below: exp.Expr = exp.or_(value.is_(exp.null()), exp.LTE(this=value.copy(), expression=bound))
            else:
                value, bound = sql.column(names.place[number], walk), sql.column(names.high[number], _CUT)
                below = exp.Between(this=value, low=sql.column(names.low[number], _CUT), high=bound)
            if self._relaxed:  # some of the rows at the median go inside
                position = sql.column(names.position, _CUT)
                parting = exp.and_(sql.same(value.copy(), bound.copy()), position.is_(exp.null()).not_())
                early = exp.LTE(this=sql.column(names.position, walk), expression=position.copy())
                below = exp.Case().when(parting, early).else_(below)
            case = case.when(sql.literal(own), below, copy=False)
        return case

    def _within(self) -> exp.Expr:
        """Return the condition that a row lies between the bounds of its box.

        It is a single CASE. Otherwise, a planner multiplies the estimated selectivity of each bound, expects one row
        although nearly all rows lie in their boxes, and compares it with all rows of the source.
        """
        walk, names = self._step("walk"), self._names
        conditions: list[exp.Expr] = []
        for number, hierarchy, order in self._read():
            low, high = sql.column(names.low[number], _BOXES), sql.column(names.high[number], _BOXES)
            if order is not None:
                conditions.append(exp.Between(this=sql.column(names.place[number], walk), low=low, high=high))
                continue
            value = sql.column(hierarchy.column.name, walk)
            between: exp.Expr = exp.Between(this=value, low=low, high=high)
            if self._recoding.nulls[number]:
                has_null = sql.column(names.null[number], _BOXES)
                between = exp.or_(between, exp.and_(value.copy().is_(exp.null()), has_null))
            conditions.append(between)
        inside = exp.Case().when(sql.all_of(conditions), sql.literal(1)).else_(sql.literal(0))
        return exp.GT(this=inside, expression=sql.literal(0))


def _joined_labels(publication: Publication, recoding: LabelledCombinations) -> exp.Select:
    """Return the query of all rows with the labels of their combination, without following cuts."""
    numbers = {name: number for number, name in enumerate(publication.quasi_identifiers)}
    columns = []
    for column in publication.columns:
        label = recoding.labels[numbers[column.name]] if column.name in numbers else None
        value = as_published(column) if label is None else sql.named(sql.column(label, "led"), column.name)
        columns.append(value)
    own = publication.quasi_identifiers
    same = [
        sql.same(sql.column(column.name, "source"), sql.column(column.name, "led"), comparable(column))
        for column in publication.roles.quasi_identifiers
    ]
    source: exp.Expr = sql.aliased(publication.source, "source")
    if recoding.ranks is not None:
        rank = unused_name("kanon_rank", [column.name for column in publication.columns])
        order = shuffled([sql.column(column.name, "source") for column in publication.columns], publication.seed)
        window = exp.Window(
            this=exp.RowNumber(),
            partition_by=[sql.column(name, "source") for name in own],
            order=exp.Order(expressions=[exp.Ordered(this=order)]),
        )
        names = [column.name for column in publication.columns]
        ranked = exp.select(*(sql.column(name, "source") for name in names), sql.named(window, rank))
        source, place = ranked.from_(source).subquery("source"), sql.column(rank, "source")
        low, high = (sql.column(name, "led") for name in recoding.ranks)
        same.append(exp.Between(this=place, low=low, high=high))
    joined = sql.aliased(recoding.labels_table, "led")
    return exp.select(*columns).from_(source).join(joined, on=sql.all_of(same))


def _order(number: int) -> str:
    return f"order_{number + 1}"
