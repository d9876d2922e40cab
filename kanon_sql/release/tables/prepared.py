"""A table of a release of several, coded and ready to be searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Labels
    from kanon_sql.release.tables.opened import Member
    from kanon_sql.search.full_domain.several_tables import Part


@dataclass(frozen=True)
class PreparedPart:
    """A table with quasi-identifiers, coded and ready to be searched.

    Attributes:
        member: the table.
        part: of the search.
        hierarchies: of all columns that its rows are known by.
        labels: the same.
        unit: of its costs, in a cell that is lost.
        rows: its rows that are of somebody.
    """

    member: Member
    part: Part
    hierarchies: tuple[Hierarchy, ...]
    labels: tuple[Labels, ...]
    unit: int
    rows: int

    @property
    def own(self) -> list[int]:
        """The places of its own columns among those that its rows are known by."""
        names = {one.column.name for one in self.member.hierarchies}
        return [place for place, one in enumerate(self.hierarchies) if one.column.name in names]
