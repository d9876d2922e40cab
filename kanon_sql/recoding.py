"""What a search returns: how cells are recoded. Publishing, measuring and printing know only this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.hierarchy.lookup import Hierarchy
    from kanon_sql.lattice import Node


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


Recoding = FullDomain | Local
"""Any recoding."""


def by_name(hierarchies: Sequence[Hierarchy], node: Node) -> dict[str, int]:
    """Return the level of each column at a node, by name."""
    return {hierarchy.column.name: level for hierarchy, level in zip(hierarchies, node, strict=True)}
