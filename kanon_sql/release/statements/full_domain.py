"""The statements that differ between kinds of recoding in the SQL of a release; and full-domain recoding.

In full-domain recoding, each row has the labels of its values on the level of their column.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from kanon_sql.classes.recoding import by_name
from kanon_sql.engine.equality import as_text, looked_up
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.release.publication import GENERALIZED, as_published
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.publication import Publication


@dataclass(frozen=True)
class Statements(ABC):
    """The statements of one kind of recoding. Lookups are the relations of the hierarchies, by column."""

    publication: Publication
    title_of_boxes: ClassVar[str] = (
        "The classes that have k by some of the columns, in the rows of today: run it on these rows only"
    )

    def recoding_statements(self, lookups: Mapping[str, exp.Table]) -> tuple[exp.Expr, ...]:  # noqa: ARG002 - part of what every recoding answers
        """Return the statements that run before the release is made."""
        return ()

    def working_tables(self) -> tuple[exp.Table, ...]:
        """Return the tables that these statements make."""
        return ()

    @abstractmethod
    def generalized_query(self, lookups: Mapping[str, exp.Table], *, with_entity: bool = True) -> exp.Select:
        """Return the query of all recoded rows, with the entity if a model counts people."""

    def released_query(self, lookups: Mapping[str, exp.Table]) -> exp.Select:
        """Return the query of the rows of a release that suppresses no class, in any order."""
        published = [sql.column(column.name, GENERALIZED) for column in self.publication.columns]
        rows = self.generalized_query(lookups, with_entity=False)
        return exp.select(*published).from_(GENERALIZED).with_(GENERALIZED, as_=rows)

    def known_labels(self, number: int, lookup: exp.Table, label: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        """Return the labels that may be published in a quasi-identifier, and the condition that one equals ``label``.

        These are the labels of its hierarchy at the levels of its column.
        """
        hierarchy = self.publication.hierarchies[number]
        levels = self.publication.recoding.levels_of(number)
        below = [level for level in levels if level < hierarchy.height]
        if len(below) == len(levels) == 1:
            return lookup, sql.same(_as_label(below[0], hierarchy, lookup.name), label, "text")
        # One column to compare with, so that the engine can look a label up instead of comparing it with every row.
        readings = [
            exp.select(sql.named(_as_label(level, hierarchy, lookup.name), "label")).from_(lookup.copy())
            for level in below
        ]
        if len(below) < len(levels):  # the root has one label, which needs no relation
            readings.append(exp.select(sql.named(sql.literal(hierarchy.root), "label")))
        return sql.union_all(readings).subquery("known"), sql.same(sql.column("label", "known"), label, "text")

    @abstractmethod
    def require_viewable(self) -> None:
        """Raise if a view cannot recode future rows of its table."""

    def read_only_cut(self, engine: Engine) -> Publication:  # noqa: ARG002 - part of what every recoding answers
        """Return the publication for a script that knows texts only of columns that are cut."""
        return self.publication

    def box_statements(self, engine: Engine, tuples: exp.Table) -> tuple[exp.Expr, ...]:  # noqa: ARG002 - part of what every recoding answers
        """Return the statements of a script that make the tables of the recoding, with their rows.

        Of the texts of a file, those that occur in ``tuples``, the rows of the source, are written out. Here, the only
        possible table is that of the published classes.
        """
        publication, kept = self.publication, self.publication.kept
        if kept is None:
            return ()
        names = enumerate(publication.quasi_identifiers)
        own = {name: [name] for place, name in names if 0 in publication.recoding.levels_of(place)}
        return (table_written_out(engine, kept, [column.name for column in engine.columns(kept)], own),)


class FullDomainStatements(Statements):
    """Labels are looked up on the level of their column; classes that are too small are suppressed."""

    def generalized_query(self, lookups: Mapping[str, exp.Table], *, with_entity: bool = True) -> exp.Select:  # noqa: ARG002 - it stays in the step
        publication = self.publication
        levels = by_name(publication.hierarchies, publication.recoding.nodes[0])
        hierarchies = {hierarchy.column.name: hierarchy for hierarchy in publication.hierarchies}
        named = [(column, column.name) for column in publication.columns]
        selected, joins = labelled(named, hierarchies, levels, lookups)
        if (entity := publication.roles.entity) is not None:
            selected.append(sql.named(sql.column(entity.name, "source"), publication.entity_name))
        return sql.select(
            "release/full_domain",
            part=GENERALIZED,
            values={"generalized": selected},
            relations={"source": sql.aliased(publication.source, "source")},
            joins={"hierarchy": joins},
        )

    def require_viewable(self) -> None:
        """Raise if the published classes were chosen from the present rows of the table."""
        if self.publication.kept is not None:
            raise UsageError(
                "Which classes have k rows by any few columns (--known) is found from the rows that the table has now, "
                "and a view shows later rows too: make a table or a file, or leave --known out."
            )


def labelled(
    columns: Iterable[tuple[Column, str]],
    hierarchies: Mapping[str, Hierarchy],
    levels: Mapping[str, int],
    lookups: Mapping[str, exp.Table],
    table: str = "source",
) -> tuple[list[exp.Expr], list[tuple[exp.Expr, exp.Expr]]]:
    """Return columns of a table as published at levels of their hierarchies, and the joins to the labels.

    Each column comes with its published name, which is also its key in hierarchies, levels and lookups.
    """
    selected: list[exp.Expr] = []
    joins: list[tuple[exp.Expr, exp.Expr]] = []
    for column, name in columns:
        hierarchy, level = hierarchies.get(name), levels.get(name, 0)
        if hierarchy is None or level == 0:
            value = as_published(column, table)
            selected.append(value if value.alias_or_name == name else sql.named(value.unalias(), name))
        elif level == hierarchy.height:
            selected.append(sql.named(sql.literal(hierarchy.root), name))
        else:
            lookup = lookups[name]
            selected.append(sql.named(sql.column(level_name(level), lookup.alias_or_name), name))
            value = looked_up(sql.column(column.name, table), column)
            joins.append((lookup, sql.same(value, sql.column(VALUE, lookup.alias_or_name), column.family)))
    return selected, joins


def _as_label(level: int, hierarchy: Hierarchy, lookup: str) -> exp.Expr:
    """Return the label of a hierarchy row at a level, in the type of labels of several levels."""
    if level > 0:
        return sql.column(level_name(level), lookup)
    return as_text(sql.column(VALUE, lookup), hierarchy.column)


def table_written_out(
    engine: Engine,
    table: exp.Table,
    sorted_by: Sequence[str],
    values: Mapping[str, Sequence[str]],
    only: exp.Expr | None = None,
) -> exp.Create:
    """Return the statement that makes a table from its rows; some of its columns hold values of the source."""
    columns = engine.columns(table)
    names = [column.name for column in columns]
    as_text = [sql.named(sql.cast(sql.column(name), "VARCHAR"), name) for name in names]
    query = exp.select(*as_text).from_(table.copy()).order_by(*(sql.column(name, table.name) for name in sorted_by))
    rows = engine.rows(query if only is None else query.where(only), f"rows of {table.name}")
    held = {
        own: frozenset(row[names.index(name)] for name in there if name in names for row in rows) - {None}
        for own, there in values.items()
    }
    written = sql.written_out(names, rows, [column.type for column in columns], held)
    return sql.create_table(table.copy(), written, temporary=True)
