"""Mondrian (LeFevre et al. 2006), set at a time: a round cuts every part that can be cut, in a handful of statements.

Start with the whole table as one part. Then, round by round:

1. For every part, choose the column in which its values span most, among those not tried without success. Parts
   without one are finished.
2. The histogram of that column in each part: its cumulative counts give the median and the rows on both sides.
3. A cut is allowed if all sides satisfy the models. If it is not, the column counts as tried without success.
4. The tuples of each part that was cut go to its sides.

If cuts are compared by the loss they save, all of it is done over arrays instead (``best_cuts``).

Parts do not depend on each other: cutting all of them in a round gives the same as cutting the largest one first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.errors import UnsuitableError
from kanon_sql.search.mondrian.all_or_none import forbid
from kanon_sql.search.mondrian.cuts import choose_columns, make, propose_cuts
from kanon_sql.search.mondrian.parts import Parts

if TYPE_CHECKING:
    from kanon_sql.classes.recoding import Cutting
    from kanon_sql.search.mondrian.best_cuts import BestCuts
    from kanon_sql.search.problem import Problem, SearchProgress


class Mondrian:
    """A search that cuts until no part can be cut. Its parts are in tables."""

    def __init__(self, parts: Parts) -> None:
        self.tables = parts

    def search(self, progress: SearchProgress | None = None) -> None:
        parts = self.tables
        while True:
            # 1. The column of each part.
            choose_columns(parts)
            parts.finish_others()
            # 2. The cuts.
            propose_cuts(parts)
            # 3. Whether they are allowed.
            if not parts.problem.only_counts_rows and forbid(parts) is not None:
                parts.give_up("parts whose cut failed are published as they are", "kanon_failing")
            if not parts.number_sides():
                return
            # 4. The sides.
            with parts.together():
                make(parts)
            if progress is not None:
                progress(parts.rounds, None, None)

    def write(self) -> None:
        """Do nothing: the parts are in the tables already."""


def begin(problem: Problem, cutting: Cutting) -> Mondrian | BestCuts:
    if not problem.only_counts_rows and cutting.cut == "relaxed":
        raise UnsuitableError(
            "Relaxed cuts separate rows that are alike, and counts do not show whose they are, nor their sensitive "
            "values: leave cut relaxed out, or all models but k."
        )
    parts = Parts(problem, cutting)
    if cutting.choose != "loss":
        return Mondrian(parts)
    from kanon_sql.search.mondrian.best_cuts import BestCuts  # needs numpy

    return BestCuts(parts)
