"""A hierarchy as a relation with the labels and the code of each value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.errors import HierarchyError

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.code import CodeWord


@dataclass(frozen=True)
class StoredHierarchy:
    """A hierarchy that was loaded into the schema ``kanon`` of a database.

    Attributes:
        column: name of the column it is for.
        relation: the table.
        height: its number of levels; 0 for a table that is no hierarchy.
        origin: the file or rule it was made from.
    """

    column: str
    relation: exp.Table
    height: int
    origin: str

    def require_levels(self) -> None:
        """Raise unless it has values and levels.

        Raises:
            HierarchyError: it has not.
        """
        if self.height == 0:
            table = f"{self.relation.db}.{self.relation.name}"
            raise HierarchyError(
                f"Table {table} does not have the columns of a hierarchy (value, level_1, ...): drop it, or load or "
                f"build the hierarchy of column {self.column!r} again with --replace."
            )


@dataclass(frozen=True)
class Hierarchy:
    """The hierarchy of a quasi-identifier, ready to be joined.

    Attributes:
        column: the column it generalizes.
        height: number of levels above the values; level ``height`` is the root.
        relation: the lookup relation with values, levels and codes.
        words: how the codes are laid out.
        root: label of the root.
        origin: what it was made from, in the words of the person who gave it.
        definition: the query that makes values and levels from the source; None where a file gave them.
        stored: the table in schema ``kanon`` that holds it, where it was loaded before.
        chosen: whether it was chosen here because nobody gave one.
        format: the format of the file that gave it.
        notes: what a person should know about how it was made.
    """

    column: Column
    height: int
    relation: exp.Table
    words: tuple[CodeWord, ...]
    root: str
    origin: str
    definition: exp.Query | None = None
    stored: exp.Table | None = None
    chosen: bool = False
    format: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def readable(self) -> exp.Table:
        """The relation that published SQL joins: the stored one, where there is one."""
        return self.stored or self.relation
