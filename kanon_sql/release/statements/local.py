"""A local recoding in readable SQL: combinations of values, and the step at which the class of each is large enough.

    CREATE TEMPORARY TABLE kanon_combinations AS ...      each combination once, with its labels, its rows, and no step
    UPDATE kanon_combinations SET step = 1 WHERE ...      all combinations without a step that are in large classes
    ...
    SELECT CASE WHEN step IN (1, 4) THEN age_level_1 ...  the rows of the source with the labels of their step

Each step counts its classes itself, from the rows of the source, independently of codes and of the search. If k is
required for some of the columns, a table has the classes of each step (see ``kanon_sql.release.kept_classes``).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import Columns, Members, References, measured_steps, with_steps
from kanon_sql.engine.equality import as_text, comparable, looked_up, published
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.models.base import RowModel
from kanon_sql.release.publication import as_published
from kanon_sql.release.statements.full_domain import Statements
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.classes.lattice import Node
    from kanon_sql.release.publication import Publication

_NEVER = 0
"""The step of combinations that are not published."""


class CombinationColumns:
    """Names of the columns of the table of combinations, all different."""

    def __init__(self, publication: Publication) -> None:
        self.publication, taken = publication, list(publication.quasi_identifiers)

        def name(wanted: str) -> str:
            taken.append(unused_name(wanted, taken))
            return taken[-1]

        self.labels = {
            (number, level): name(f"{hierarchy.column.name}_{level_name(level)}")
            for number, hierarchy in enumerate(publication.hierarchies)
            for level in publication.recoding.levels_of(number)
            if 0 < level < hierarchy.height
        }
        self.n, self.step, self.entity = name("n"), name("step"), name("entity")
        self.sensitive = {
            column: name(column)
            for column in dict.fromkeys(model.sensitive for model in publication.models)
            if column is not None
        }

    def labels_at(self, node: Node) -> list[str]:
        """Return the label columns of a node, without those of the root, which are not needed."""
        return [
            self.labels.get((column, level), hierarchy.column.name)
            for column, (level, hierarchy) in enumerate(zip(node, self.publication.hierarchies, strict=True))
            if level < hierarchy.height
        ]

    def all(self) -> list[str]:
        entity = [self.entity] if self.publication.roles.entity is not None else []
        own = [*self.publication.quasi_identifiers, *self.labels.values(), self.n, *entity, *self.sensitive.values()]
        return [*own, self.step]


class LocalStatements(Statements):
    """The steps run before; a release has the rows of combinations with a step."""

    @cached_property
    def _names(self) -> CombinationColumns:
        return CombinationColumns(self.publication)

    def recoding_statements(self, lookups: Mapping[str, exp.Table]) -> tuple[exp.Expr, ...]:
        query = combinations_query(self.publication, lookups, self._names)
        table = sql.create_table(self.publication.combinations.copy(), query, temporary=True)
        nodes = enumerate(self.publication.recoding.nodes, start=1)
        return (table, *(self._step_statement(number, node) for number, node in nodes))

    def working_tables(self) -> tuple[exp.Table, ...]:
        return (self.publication.combinations,)

    def generalized_query(self, lookups: Mapping[str, exp.Table], *, with_entity: bool = True) -> exp.Select:  # noqa: ARG002 - joined before
        """Return all published rows: the classes of each step were counted when it ran."""
        publication, names, place = self.publication, self._names, self.publication.combinations.name
        numbers = {name: number for number, name in enumerate(publication.quasi_identifiers)}
        query = exp.select().from_(sql.aliased(publication.source, "source"))
        for column in publication.columns:
            if column.name in numbers:
                query = query.select(sql.named(self._label(numbers[column.name]), column.name), copy=False)
            else:
                query = query.select(as_published(column), copy=False)
        pairs = [(column.name, column.name, comparable(column)) for column in publication.roles.quasi_identifiers]
        pairs += [(own, there, sql.SAME_TYPE) for own, there in names.sensitive.items()]
        entity = publication.roles.entity
        if entity is not None:
            pairs.append((entity.name, names.entity, comparable(entity)))
            if with_entity:
                query = query.select(sql.named(sql.column(entity.name, "source"), publication.entity_name))
        same = sql.all_of(
            sql.same(sql.column(own, "source"), sql.column(there, place), family) for own, there, family in pairs
        )
        step = sql.column(names.step, place)
        has_step = (
            exp.GT(this=step, expression=sql.literal(_NEVER)) if publication.partial else step.is_(exp.null()).not_()
        )
        return query.join(publication.combinations.copy(), on=same).where(has_step)

    def require_viewable(self) -> None:
        """Raise: a view is one statement."""
        raise UsageError(
            "A local recoding goes through its table step by step and cannot be a view: make a table or a file, or use "
            "--algorithm optimal."
        )

    def _step_statement(self, number: int, node: Node) -> exp.Update:
        """Return the update that publishes, at a node, remaining combinations in classes that satisfy all models."""
        publication, names, place = self.publication, self._names, self.publication.combinations.name
        labels = names.labels_at(node)
        left = sql.column(names.step).is_(exp.null())
        # No copies: there may be a hundred steps, and a builder would copy its whole query at every call.
        selected: list[exp.Expr] = [*map(sql.column, labels)] or [sql.literal(1)]
        large = exp.select(*selected, copy=False).from_(publication.combinations.copy(), copy=False)
        large = large.where(left, copy=False)
        if labels:
            large = large.group_by(*(sql.column(label) for label in labels), copy=False)
        of_rows = [model for model in publication.models if isinstance(model, RowModel)]
        if publication.kept is not None:
            large = exp.select(*selected).from_(publication.kept.copy()).where(sql.column(names.step).eq(number))
        elif len(of_rows) == len(publication.models):
            met = [model.is_met(self._measure(model)) for model in of_rows]
            large = large.having(sql.all_of(met), copy=False)
        else:
            large = self._allowed_classes(labels)
        families = {hierarchy.column.name: comparable(hierarchy.column) for hierarchy in publication.hierarchies}
        same = [
            sql.same(sql.column(label, "large"), sql.column(label, place), families.get(label, "text"))
            for label in labels
        ]
        found = exp.select(sql.literal(1), copy=False).from_(large.subquery("large", copy=False), copy=False)
        in_large = exp.Exists(this=found.where(*same, copy=False) if same else found)
        assigned = exp.EQ(this=sql.column(names.step), expression=sql.literal(number))
        condition = exp.Where(this=exp.and_(left.copy(), in_large, copy=False))
        update = exp.Update(this=publication.combinations.copy(), expressions=[assigned], where=condition)
        update.meta["columns"] = names.all()  # if tables cannot be changed, the next one is made from these columns
        return update

    def _measure(self, model: RowModel) -> exp.Expr:
        """Return the measure of a model of rows, over combinations."""
        return model.combined_measure(
            sql.column(self._names.n), sql.column(self._names.entity) if model.entity else None
        )

    def _allowed_classes(self, labels: list[str]) -> exp.Select:
        """Return the classes of remaining combinations that also satisfy models of sensitive columns."""
        names, models, table = self._names, self.publication.models, self.publication.combinations
        references = References(
            models,
            table,
            value=lambda column: sql.column(names.sensitive[column]),
            rows=lambda: exp.Sum(this=sql.column(names.n)),
            trees=self.publication.trees,
            taken=[table.name],
        )
        members = Members(
            rows=exp.select().from_(table.copy()).where(sql.column(names.step).is_(exp.null())),
            classes=tuple(sql.column(label) for label in labels),
            n=sql.column(names.n),
            measure=self._measure,
            value=lambda model: sql.column(names.sensitive[model.sensitive or ""]),
            shares=references.shares,
            features=references.features,
            null_safe=True,
            taken=(table.name, *references.names),
        )
        columns = Columns(unused_name("n", labels), [unused_name(f"measure_{i}", labels) for i in range(len(models))])
        steps, classes = measured_steps(members, models, columns)
        met = [model.is_met(sql.column(name)) for model, name in zip(models, columns.measures, strict=True)]
        selected: list[exp.Expr] = [*map(sql.column, labels)] or [sql.literal(1)]
        query = exp.select(*selected).from_(classes.subquery("classes")).where(sql.all_of(met))
        return with_steps(query, references.steps, steps)

    def _label(self, column: int) -> exp.Expr:
        publication, names, place = self.publication, self._names, self.publication.combinations.name
        hierarchy = publication.hierarchies[column]
        levels = publication.recoding.levels_of(column)
        value = published(sql.column(hierarchy.column.name, "source"), hierarchy.column)

        def at(level: int) -> exp.Expr:
            if level == 0:
                return (
                    value if levels == (0,) else as_text(sql.column(hierarchy.column.name, "source"), hierarchy.column)
                )
            if level == hierarchy.height:
                return sql.literal(hierarchy.root)
            return sql.column(names.labels[column, level], place)

        if not levels:  # no step, no row
            return value
        *others, last = levels
        if not others:
            return at(last)
        case = exp.Case()
        for level in others:
            numbers = [n for n, node in enumerate(publication.recoding.nodes, 1) if node[column] == level]
            case = case.when(sql.column(names.step, place).isin(*numbers), at(level))
        return case.else_(at(last))


def combinations_query(
    publication: Publication, lookups: Mapping[str, exp.Table], names: CombinationColumns
) -> exp.Select:
    """Return the query of the combinations of values, with their labels, their rows, and no step."""
    columns = [sql.column(name, "source") for name in publication.quasi_identifiers]
    # 1. Each combination once, with its rows; if people are counted, once for each person; and once for each of the
    #    sensitive values that models measure.
    counted = exp.select(*columns, sql.named(sql.count_rows(), names.n)).from_(
        sql.aliased(publication.source, "source")
    )
    entity = publication.roles.entity
    groups = [column.copy() for column in columns]
    if entity is not None:
        person = sql.column(entity.name, "source")
        counted = counted.select(sql.named(person, names.entity))
        groups.append(person.copy())
    for column, name in names.sensitive.items():
        counted = counted.select(sql.named(sql.column(column, "source"), name), copy=False)
        groups.append(sql.column(column, "source"))
    counted = counted.group_by(*groups)
    # 2. Its labels at the levels that some step needs.
    query = exp.select(*(sql.column(name, "combined") for name in publication.quasi_identifiers))
    query = query.from_("combined").with_("combined", as_=counted)
    joined = set()
    never: list[exp.Expr] = []
    for (number, level), name in names.labels.items():
        column = publication.hierarchies[number].column.name
        lookup = lookups[column]
        query = query.select(sql.named(sql.column(level_name(level), lookup.name), name), copy=False)
        if number not in joined:
            joined.add(number)
            condition = sql.same(
                looked_up(sql.column(column, "combined"), publication.hierarchies[number].column),
                sql.column(VALUE, lookup.name),
                publication.hierarchies[number].column.family,
            )
            if column in publication.partial:
                # The value of an unpublished row has no label: it counts in totals, but in no class.
                never.append(sql.column(level_name(level), lookup.name).is_(exp.null()))
                query = query.join(lookup.copy(), on=condition, join_type="left", copy=False)
            else:
                query = query.join(lookup.copy(), on=condition, copy=False)
    others = [names.n, *([names.entity] if entity is not None else []), *names.sensitive.values()]
    nothing: exp.Expr = sql.cast(exp.null(), "INTEGER")
    if never:
        nothing = exp.Case().when(exp.or_(*never), sql.literal(_NEVER)).else_(nothing)
    return query.select(*(sql.column(name, "combined") for name in others), sql.named(nothing, names.step))
