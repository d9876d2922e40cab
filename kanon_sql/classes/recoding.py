"""What a search returns: how cells are recoded. Publishing, measuring and printing know only this."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.classes.cutting import Cutting
    from kanon_sql.classes.lattice import Node
    from kanon_sql.hierarchy.lookup_relation import Hierarchy


@dataclass(frozen=True)
class FullDomain:
    """Every value of a column is generalized to the same level; rows in classes that fail a model are suppressed.

    Attributes:
        node: the level of each quasi-identifier.
    """

    node: Node

    def levels(self, hierarchies: Sequence[Hierarchy]) -> dict[str, int]:
        """Return the level of each column, by name."""
        return by_name(hierarchies, self.node)

    def levels_of(self, column: int) -> tuple[int, ...]:
        """Return the levels that cells of a quasi-identifier may have, the lowest first."""
        return (self.node[column],)

    def label_type(self, column: int) -> str | None:
        """Return the type that a quasi-identifier is published with; None for its own."""
        return "VARCHAR" if any(self.levels_of(column)) else None


@dataclass(frozen=True)
class Local:
    """Rows are generalized as far as their own class needs: step by step, each at the node of its step.

    At each step the rows whose class, among those that are left, satisfies the models are published and leave; what is
    left after the last step is suppressed.

    Attributes:
        steps: the nodes, in their order.
    """

    steps: tuple[Node, ...]

    def levels(self, hierarchies: Sequence[Hierarchy]) -> None:
        """Return None: a column has no level of its own."""

    def levels_of(self, column: int) -> tuple[int, ...]:
        """Return the levels that cells of a quasi-identifier may have, the lowest first."""
        return tuple(sorted({node[column] for node in self.steps}))

    def label_type(self, column: int) -> str | None:
        """Return the type that a quasi-identifier is published with; None for its own."""
        return "VARCHAR" if any(self.levels_of(column)) else None


@dataclass(frozen=True)
class Multidimensional:
    """The table is cut into parts, and all rows of a part are published alike.

    State lives in the database (see ``kanon_sql.search.mondrian.boxes``): the cuts, which lead each row to its box, and
    what is published of each box.

    Attributes:
        cutting: how the table was cut.
        boxes: how many there are.
        cuts: how many cuts led to them; they have the numbers from 1 on, and boxes those after them.
        rounds: of cuts.
        cuts_table: the temporary table of cuts.
        boxes_table: that of boxes.
        orders: for each column of texts, the temporary table of its order; else None.
        types: for each column, the type of its labels; None where every box has one value of it.
        nulls: for each column, whether boxes tell that they have NULLs.
        unread: columns of texts that no cut is about: their values need not be known to find the box of a row.
    """

    cutting: Cutting
    boxes: int
    cuts: int
    rounds: int
    cuts_table: exp.Table
    boxes_table: exp.Table
    orders: tuple[exp.Table | None, ...]
    types: tuple[str | None, ...]
    nulls: tuple[bool, ...]
    unread: frozenset[int] = field(default=frozenset(), kw_only=True)

    def levels(self, hierarchies: Sequence[Hierarchy]) -> None:
        """Return None: a column has no level of its own."""

    def levels_of(self, column: int) -> tuple[int, ...]:  # noqa: ARG002 - the same for every column
        """Return nothing: labels are not looked up on levels of hierarchies."""
        return ()

    def label_type(self, column: int) -> str | None:
        """Return the type that a quasi-identifier is published with; None for its own."""
        return self.types[column]


@dataclass(frozen=True)
class Led(Multidimensional):
    """The same, where the labels of each combination of values are at hand and no cuts need to be followed.

    Attributes:
        labels_table: each combination of quasi-identifiers, under their own names, with its labels.
        labels: for each quasi-identifier, the column with its labels; None where it keeps its values.
        ranks: where rows that are alike are parted, the columns with the first and the last of them, counted from 1.
    """

    labels_table: exp.Table
    labels: tuple[str | None, ...]
    ranks: tuple[str, str] | None


Recoding = FullDomain | Local | Multidimensional
"""Any recoding."""


def by_name(hierarchies: Sequence[Hierarchy], node: Node) -> dict[str, int]:
    """Return the level of each column at a node, by name."""
    return {hierarchy.column.name: level for hierarchy, level in zip(hierarchies, node, strict=True)}
