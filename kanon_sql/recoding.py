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
        return {hierarchy.column.name: level for hierarchy, level in zip(hierarchies, self.node, strict=True)}


Recoding = FullDomain
"""Any recoding."""
