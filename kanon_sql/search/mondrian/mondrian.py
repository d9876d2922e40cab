"""Mondrian (LeFevre et al. 2006), set at a time: a round cuts every part that can be cut, in a handful of statements.

Begin with the whole table as one part. Then, round by round:

1. For every part, the column in which its values span most, of those that were not tried in vain. Parts without one
   are finished.
2. The histogram of that column in each part; its cumulative counts give the median and the rows on both sides.
3. A cut is allowed if all sides satisfy the models. Of a part whose cut is not, the column was tried in vain.
4. The tuples of each part that was cut go to its sides.

Where cuts are compared by what they save, 1 and 2 are ``best_cuts`` instead; or all of it is done over arrays, where
rows alone are counted and tuples are few enough.

Parts do not depend on each other: cutting all of them in a round gives the same as cutting the largest one first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.errors import UnsuitableError
from kanon_sql.search.mondrian import arrays
from kanon_sql.search.mondrian.all_or_none import forbid
from kanon_sql.search.mondrian.best_cuts import best_cuts, recut_pairs
from kanon_sql.search.mondrian.cuts import choose_columns, make, propose_cuts
from kanon_sql.search.mondrian.parts import Parts
from kanon_sql.search.mondrian.side_costs import SideCosts

if TYPE_CHECKING:
    from kanon_sql.classes.recoding import Cutting
    from kanon_sql.search.mondrian.arrays import ArrayParts
    from kanon_sql.search.problem import Problem, SearchProgress


@dataclass(frozen=True)
class Mondrian:
    """A search that cuts: its parts in tables, or in arrays until it is finished."""

    parts: Parts
    arrays: ArrayParts | None = None

    def search(self, progress: SearchProgress | None = None) -> None:
        """Cut until no part can be cut; then cut pairs of parts again, as often as ``pairs`` says."""
        if self.arrays is not None:
            self.arrays.search(progress)
            return
        parts = self.parts
        _cut(parts, progress)
        if parts.costs is None:
            return
        if parts.problem.is_all_or_none:  # that a cut of a pair did not fail tells what its first parts had
            return
        for number in range(parts.cutting.pairs):
            more = recut_pairs(parts, number, parts.costs)
            _cut(parts, progress)
            if not more:
                return

    def finish(self) -> None:
        """Leave the parts as they are in the tables of the search."""
        if self.arrays is not None:
            self.arrays.write()


def _cut(parts: Parts, progress: SearchProgress | None) -> None:
    while True:
        if parts.costs is None:
            # 1. The column of each part.
            choose_columns(parts)
            parts.finish_others()
            # 2. The cuts.
            propose_cuts(parts)
        else:
            best_cuts(parts, parts.costs)
            parts.finish_others()
        # 3. Which of them are allowed.
        if not parts.problem.only_counts_rows:
            forbid(parts)
        if not parts.number_sides():
            return
        # 4. The sides.
        with parts.together():
            make(parts)
        if progress is not None:
            progress(parts.rounds, None, None)


def begin(problem: Problem, cutting: Cutting) -> Mondrian:
    if not problem.only_counts_rows and cutting.cut == "relaxed":
        raise UnsuitableError(
            "Relaxed cuts part rows that are alike, and what is counted does not say whose they are, nor their "
            "sensitive values: leave cut relaxed out, or all models but k."
        )
    few = problem.frequency.tuples * (len(problem.places) + 1) <= arrays.MOST_VALUES
    if cutting.every_cut and problem.only_counts_rows and few:
        parts = Parts(problem, cutting, problem.places)
        return Mondrian(parts, arrays.ArrayParts(parts))
    costs = None
    if cutting.choose == "loss":
        costs = SideCosts(problem.places, problem.objective.name, cutting.labels)
    return Mondrian(Parts(problem, cutting, problem.places, costs))
