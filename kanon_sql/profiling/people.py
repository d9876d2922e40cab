"""The column that names the person, where rows of one person repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.vocabulary import is_of_person

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.profiling.figures import Figures
    from kanon_sql.profiling.proposals import Proposal

_KINDS = ("record_id", "national_id")
_REPEATED = 0.95  # distinct values by rows, below which rows of one person repeat
_FEWEST = 10  # people


def proposed_entity(
    columns: Sequence[Column], proposals: Mapping[str, Proposal], figures: Mapping[str, Figures]
) -> Column | None:
    """Return the column that people should be counted by; None where no person has several rows, or none is named.

    It is a number of persons that names somebody in every row, and the same one in several rows.
    """
    repeated = [
        column
        for column in columns
        if proposals[column.name].role == "identifying"
        and proposals[column.name].kind in _KINDS
        and not figures[column.name].nulls
        and _FEWEST <= figures[column.name].distinct < _REPEATED * figures[column.name].rows
    ]
    return min(repeated, key=lambda column: _rank(column, proposals, figures), default=None)


def _rank(column: Column, proposals: Mapping[str, Proposal], figures: Mapping[str, Figures]) -> tuple[bool, int, int]:
    kind = proposals[column.name].kind or ""
    return not is_of_person(column.name), _KINDS.index(kind), figures[column.name].distinct
