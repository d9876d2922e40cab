"""People, events and counts of rows that were found before several tables are published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kanon_sql.engine.keys import Key
    from kanon_sql.policy.tables import TablesPolicy
    from kanon_sql.release.tables.opened import OpenedTables
    from kanon_sql.release.tables.statements import ReleasedRows


@dataclass(frozen=True)
class TableCounts:
    """The rows of a table before and after.

    Attributes:
        rows: what they are: people, events, or kept as they are.
        rows_in: rows of the table.
        of_nobody: rows that lead to no person, or to one that the table of people does not have: never released.
        rows_out: rows that are released.
        levels: of its quasi-identifiers; a level of 0 is the original value.
    """

    name: str
    rows: str
    rows_in: int
    of_nobody: int
    rows_out: int
    levels: dict[str, int]

    @property
    def suppressed(self) -> int:
        """Rows of people that are left out."""
        return self.rows_in - self.of_nobody - self.rows_out


@dataclass(kw_only=True)
class FoundTables:
    """Tables whose people and events are found.

    Attributes:
        rows: the people and events that are left.
        key: of pseudonyms.
        seconds: by step.
        writable: whether the database was opened for writing.
        gone: True once the release has taken the place of its tables.
    """

    policy: TablesPolicy
    opened: OpenedTables
    rows: ReleasedRows
    counts: tuple[TableCounts, ...]
    key: Key
    seconds: dict[str, float]
    writable: bool = False
    gone: bool = False
