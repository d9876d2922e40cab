"""Questions about the keys of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.dp.contributions import counts_of_keys
from kanon_sql.dp.questions.base import Question, whole
from kanon_sql.dp.questions.groups import Keys, bins_of, given_keys, level_keys, own_text
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlglot import exp

    from kanon_sql.dp.numbers import Number
    from kanon_sql.dp.questions.base import Row
    from kanon_sql.dp.rows import Asked


@dataclass(frozen=True, kw_only=True)
class KeyedQuestion(Question):
    """A question about the keys of a column.

    Attributes:
        column: the column.
        keys: values that are told apart.
        bins: edges of bins of numbers, instead.
        hierarchy: a hierarchy file, or a ready: one, whose labels are the keys, instead.
        level: of the hierarchy; 0 is the values that it lists.
        directory: where the path of a hierarchy starts from.
    """

    column: str
    keys: Sequence[str] | None = None
    bins: Sequence[Number] | None = None
    hierarchy: str | None = None
    level: int | None = None
    directory: Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        ways = [name for name in ("keys", "bins", "hierarchy") if getattr(self, name) is not None]
        if len(ways) > 1:
            raise UsageError(f"The keys are given in one way: {' or '.join(ways)}.")
        if (self.hierarchy is None) != (self.level is None):
            raise UsageError("A hierarchy and a level of it go together: --hierarchy FILE --level 1.")

    @property
    def has_keys(self) -> bool:
        """Whether somebody gave the keys."""
        return not (self.keys is None and self.bins is None and self.hierarchy is None)

    @property
    def key(self) -> str | None:
        """The column whose values are the keys, or are found in a hierarchy; none where they are put in bins."""
        return self.column if self.bins is None else None

    def known(self, asked: Asked) -> Keys | None:
        """Return the keys; None if nobody gave them.

        Raises:
            UsageError: they are none.
            HierarchyError: the hierarchy cannot be read.
        """
        if self.keys is not None:
            return given_keys(self.keys)
        if self.bins is not None:
            return bins_of(self.bins).keys
        if self.hierarchy is not None and self.level is not None:
            return level_keys(self.hierarchy, self.level, asked.column(self.column), self.directory)
        return None

    def query(self, asked: Asked) -> exp.Query:
        """Return the query of the rows by key."""
        column, known = asked.column(self.column), self.known(asked)
        key = own_text(column) if self.bins is None else bins_of(self.bins).key(column)
        return counts_of_keys(asked, key, None if known is None else known.wanted)

    def counted(self, asked: Asked) -> str:
        """Return what is counted."""
        return self.counted_rows(asked, "rows", "once, under one of its keys")

    def assumes(self, asked: Asked) -> tuple[str, ...]:
        """Return what the promise rests on."""
        if not self.has_keys:
            return super().assumes(asked)
        return (*super().assumes(asked), "The keys were known without looking at the table.")


def by_key(rows: Sequence[Row]) -> dict[str | None, int]:
    """Return the rows of each key, as the query found them."""
    return {None if key is None else str(key): whole(n) for key, n in rows}
