"""A lower bound of the cost of every recoding by labels of the hierarchies: prices of rows that no class can pay.

Every published row is in a class of at least k rows whose labels are those of one node, and costs what they cost. Give
each row a price such that, under any labels, the k rows with the highest prices together have a price of at most the
cost of k rows. Then the prices in a class never exceed its cost, and no release costs less than the sum of all prices.
Rows may be suppressed at the cost of all their cells, and privacy models may ask for more than k rows: both only make
a release cost more.

The best prices are the dual of a linear program (Dantzig and Wolfe 1960; of set covering, Barnhart et al. 1998), which
spreads rows over all classes that they could be in. Rows of one tuple have one price.

1. Columns are combined as long as their nodes are few, and each such set of columns is priced by itself: the cost of a
   release is the sum over columns, and leaving columns out only makes classes larger.
2. Start with one price for all rows, and a cap on prices.
3. Find all labels whose k dearest rows are too dear, column by column: labels that are absent in some of the columns
   are absent in all of them. The sum of all prices minus their excess is a bound already.
4. Lower the prices in such classes until the classes can pay them. Step 5 is drawn to the best prices so far, the
   middle.
5. Solve the program for the classes found so far, without those that cost much more than their rows pay. Then 3 again.
6. Raise the cap when there is little to gain under it: with a low cap, few labels are cheap enough to be examined.

Steps 4 to 6 are floating point, and decide how fast the bound rises. Step 3 uses integers: costs are rounded
down, so the bound holds whatever the solver returns.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from kanon_sql.classes.frequency import key_name
from kanon_sql.engine.progress import DeadlineReachedError, check_deadline, until
from kanon_sql.errors import UnsuitableError, UsageError
from kanon_sql.measures.costs import costs_of_labels
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from kanon_sql.measures.labels import Labels
    from kanon_sql.search.problem import Problem, Stopped

    Numbers = NDArray[np.int64]
    Reals = NDArray[np.float64]
    Truths = NDArray[np.bool_]

MOST_VALUES = 4_000_000
"""Values of tuples that are held as arrays, some 200 MB with their labels at every level."""
SECONDS = 60
"""For the proof, if no time limit is set."""

_NODES = 1_000_000  # of the columns that are priced together
_WORD = 63  # bits of an unsigned number
_BITS = 40  # of the cost of a row whose cells are all lost
_CAP = 0.02  # of the cost of a suppressed row: the first cap on prices, and the first prices
_HIGHER = 1.7  # times the previous cap
_LITTLE = 0.1  # to gain under a cap, as a share
_ENOUGH = 0.0005  # to gain in all, as a share
_NOTHING = 1e-6  # a rise up to this share counts as none
_ASIDE, _IN_VAIN = 2, 10  # rises of none in a row: the middle is ignored, the search under a cap ends
_MIDDLE = 0.3  # of the way from new prices to the best so far
_MOST_CLASSES = 40_000  # that enter the program together
_DEAR = 0.3  # share of the cost of a class: it leaves the program if its rows pay less by this
_PRECISION = 1e-5  # of the program's solution
_WAIT = 0.05  # seconds between checks of the clock while it is solved


@dataclass(frozen=True)
class _ArrayColumn:
    """One quasi-identifier at each of its levels."""

    label: tuple[Numbers, ...]  # for each level, the number of the label of each tuple
    cost: tuple[Numbers, ...]  # for each level, the cost of a row by the number of its label


@dataclass(frozen=True)
class _Classes:
    """Labels under which the k dearest rows have higher prices than k rows cost."""

    number: Numbers  # of the class that each of the dearest tuples is in, from 0, ascending
    tuples: Numbers  # the dearest tuples of each
    rows: Numbers  # how many of their rows are among the k
    cost: Numbers  # of each class, the cost of a row
    dearer: Numbers  # excess of the prices of the k dearest rows over their cost
    excess: Numbers  # excess of the prices of all rows above their cost, and at least of the k


def prove(
    problem: Problem, found: int, deadline: float | None, progress: Callable[[int], None]
) -> tuple[int, Stopped | None]:
    """Return a lower bound of the cost of any local recoding, in units of its costs; and why the proof ended early.

    ``found``: the cost of the best known recoding, an upper limit of the bound. ``deadline``: when to stop, on
    the clock of ``time.monotonic``; the bound is what is proven by then.
    """
    costs = problem.costs
    tables: list[_Prices] = []
    at = time.monotonic() + SECONDS if deadline is None else deadline
    # A row whose cells are all lost costs ``whole`` units of the problem, and here 2 to the power of ``bits``.
    whole, rows = sum(costs.full), problem.frequency.rows
    bits = min(_BITS, 62 - rows.bit_length())
    if not whole * rows:
        return found, None

    def bound() -> int:  # an integer, as costs are
        return max(costs.original, -(-sum(table.best for table in tables) * whole >> bits))

    stopped: Stopped | None = None
    try:
        with until(at):
            n, columns = _arrays(problem, Fraction(1 << bits, whole))
            # 1. Columns that are priced together. Columns that cost nothing add nothing.
            charged = [place for place, full in enumerate(costs.full) if full]
            together = list(_columns_together([len(columns[place].label) for place in charged]))
            for number, of_charged in enumerate(together):
                places = [charged[place] for place in of_charged]
                some = [columns[place] for place in places]
                lost = Fraction(sum(costs.full[place] for place in places), whole)
                table = _Prices(problem.k, *_projected(n, some), lost, bits)
                tables.append(table)
                left = at - time.monotonic()
                with until(time.monotonic() + left / (len(together) - number)):
                    try:
                        for _ in table.raised():
                            progress(bound())
                    except DeadlineReachedError:
                        stopped = "time limit"
    except DeadlineReachedError:  # the bound so far holds
        stopped = "time limit"
    except KeyboardInterrupt:
        stopped = "interrupt"
    proven = min(found, bound())
    return proven, None if proven == found else stopped


def require_provable(problem: Problem) -> None:
    """Raise if no proof is possible, before a search that may take long.

    Raises:
        UnsuitableError: there are too many tuples.
        UsageError: the solver is not installed.
    """
    if problem.frequency.tuples * len(problem.labels) > MOST_VALUES:
        raise UnsuitableError(
            f"A proof holds the distinct tuples in memory, and {problem.frequency.tuples:,} of {len(problem.labels)} "
            f"columns are too many (at most {MOST_VALUES:,} values): leave --prove out."
        )
    if find_spec("highspy") is None:
        raise UsageError("A proof needs HiGHS, which is not here: pip install 'kanon-sql[prove]'.")


def _columns_together(levels: Sequence[int]) -> Iterator[list[int]]:
    """Return columns in their order, in sets with a limited number of nodes each."""
    part: list[int] = []
    for column, own in enumerate(levels):
        if part and prod(levels[place] for place in part) * own > _NODES:
            yield part
            part = []
        part.append(column)
    if part:
        yield part


def _arrays(problem: Problem, scale: Fraction) -> tuple[Numbers, list[_ArrayColumn]]:
    """Return the rows of each tuple, and its columns. Costs are scaled, then rounded down."""
    frequency = problem.frequency
    keys = [key_name(key) for key in range(frequency.keys)]
    query = (
        exp.select(*keys, sql.sum_of(sql.column(N))).from_(frequency.relation.copy()).group_by(*keys).order_by(*keys)
    )
    values = np.array(frequency.engine.rows(query, "the tuples as arrays"), dtype=np.int64).reshape(-1, len(keys) + 1).T
    found = costs_of_labels(frequency.engine, problem.labels, problem.costs)
    columns = []
    for labels in problem.labels:
        of_level = [_level(labels, level, values, found[labels.number], scale) for level in range(labels.height + 1)]
        columns.append(_ArrayColumn(tuple(one for one, _ in of_level), tuple(other for _, other in of_level)))
    return values[-1], columns


def _level(
    labels: Labels, level: int, keys: Numbers, costs: dict[tuple[int, ...], int], scale: Fraction
) -> tuple[Numbers, Numbers]:
    """Return the number of each tuple's label at a level, and the cost of a row by that number."""
    words = [(keys[place.key] >> place.shift) & place.word.mask(level) for place in labels.placements]
    number = np.zeros(keys.shape[1], dtype=np.int64)
    for word in words:
        own, place = np.unique(word, return_inverse=True)
        number = np.unique(number * len(own) + place, return_inverse=True)[1]
    _, first = np.unique(number, return_index=True)
    charged = [int(costs[level, *code] * scale) for code in zip(*(word[first].tolist() for word in words), strict=True)]
    return number, np.array(charged, dtype=np.int64)


def _projected(n: Numbers, columns: Sequence[_ArrayColumn]) -> tuple[Numbers, list[_ArrayColumn]]:
    """Return the distinct tuples of some columns, with the rows of all tuples that agree in them."""
    number = np.zeros(len(n), dtype=np.int64)
    for column in columns:
        number = np.unique(number * len(column.cost[0]) + column.label[0], return_inverse=True)[1]
    _, first = np.unique(number, return_index=True)
    rows = np.zeros(len(first), dtype=np.int64)
    np.add.at(rows, number, n)
    return rows, [_ArrayColumn(tuple(label[first] for label in column.label), column.cost) for column in columns]


class _Prices:
    """Prices of the tuples of some columns, and the best bound that any prices proved."""

    def __init__(self, k: int, n: Numbers, columns: Sequence[_ArrayColumn], lost: Fraction, bits: int) -> None:
        self.k, self.n = k, n
        self.share = float(lost)  # cost of a suppressed row in these columns
        self.columns = sorted(columns, key=lambda column: len(column.cost[0]))  # few labels first: large classes
        self.unit = float(1 << bits)
        self.most = int(lost * (1 << bits))
        self.best = 0
        # A tuple of k rows can be a class of its own. Its rows cannot be priced above the cost of that class.
        own = sum((column.cost[0][column.label[0]] for column in columns), np.zeros(len(n), dtype=np.int64))
        self.fixed: Truths = n >= k
        self.own: Numbers = np.minimum(own, self.most)
        self.program = _Program(k, n, np.flatnonzero(~self.fixed), self.own / self.unit)

    def raised(self) -> Iterator[None]:
        """Raise the bound step by step."""
        # 2. One price for all rows.
        cap = _CAP * self.share
        prices = np.full(len(self.n), cap)
        middle, most, in_vain = prices, -np.inf, 0
        while True:
            # 3. Labels whose rows are too dear.
            whole = np.where(self.fixed, self.own, np.minimum((prices * self.unit).astype(np.int64), self.most))
            classes = self._too_dear(whole)
            before = self.best
            self.best = max(before, sum((self.n * whole).tolist()) - sum(classes.excess.tolist()))
            in_vain = 0 if self.best > before * (1 + _NOTHING) else in_vain + 1
            yield
            # 4. The prices lowered until classes can pay them.
            paid = whole / self.unit * self._lowered(classes)
            if (total := float(np.dot(self.n, paid))) > most:
                middle, most = paid, total
            # 5. The program.
            self.program.add(classes, self.unit)
            solved = self.program.solved(cap)
            if solved is None:
                return
            priced, least = solved
            if cap >= self.share and (in_vain >= _IN_VAIN or self.best / self.unit >= (1 - _ENOUGH) * least):
                return
            drawn = _MIDDLE if len(classes.cost) and in_vain < _ASIDE else 0.0
            prices = drawn * middle + (1 - drawn) * priced
            # 6. The cap.
            if cap < self.share and (most >= (1 - _LITTLE) * least or in_vain >= _IN_VAIN):
                cap, in_vain = min(self.share, cap * _HIGHER), 0

    def _lowered(self, classes: _Classes) -> Reals:
        """Return factors for the prices with which each class pays for its current dearest rows."""
        lowered = np.ones(len(self.n))
        paid = self.k * classes.cost
        np.minimum.at(lowered, classes.tuples, (paid / (paid + classes.dearer))[classes.number])
        return lowered

    def _too_dear(self, prices: Numbers) -> _Classes:
        found: list[_Classes] = []
        dearest_first = np.argsort(-prices, kind="stable")
        nothing = np.zeros(len(self.n), dtype=np.int64)
        self._walk(0, prices, dearest_first, nothing, nothing, found)
        numbers = np.cumsum([0, *(len(classes.cost) for classes in found)])
        empty = np.zeros(0, dtype=np.int64)
        return _Classes(
            np.concatenate([empty, *(one.number + first for one, first in zip(found, numbers, strict=False))]),
            *(
                np.concatenate([empty, *(getattr(classes, name) for classes in found)])
                for name in ("tuples", "rows", "cost", "dearer", "excess")
            ),
        )

    def _walk(
        self, depth: int, prices: Numbers, tuples: Numbers, group: Numbers, cost: Numbers, found: list[_Classes]
    ) -> None:
        """Go through the levels of a column and of those after it, with the tuples of groups whose rows are too dear.

        ``tuples`` lists the groups one after another, the dearest tuples of each first. ``cost`` is the cost of each
        so far, which is the same in a group.
        """
        column = self.columns[depth]
        for label, costs in zip(column.label, column.cost, strict=True):
            check_deadline()
            own = label[tuples]
            key, order = _sorted(group * len(costs) + own)
            member, own = tuples[order], own[order]
            charged = cost[order] + costs[own]
            starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
            number = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(key))))
            rows = self.n[member]
            up_to = np.cumsum(rows)
            before = up_to - rows
            before -= before[starts][number]
            among = np.clip(self.k - before, 0, rows)  # rows of the tuple among the k dearest of its group
            dearer = np.add.reduceat(among * (prices[member] - charged), starts)
            enough = np.add.reduceat(among, starts) == self.k
            kept = enough & (dearer > 0)
            if not kept.any():
                continue
            inside, renumbered = kept[number], np.cumsum(kept) - 1
            if depth + 1 < len(self.columns):
                self._walk(depth + 1, prices, member[inside], renumbered[number[inside]], charged[inside], found)
                continue
            others = np.maximum(prices[member] - charged, 0) * (rows - among)
            excess = dearer + np.add.reduceat(others, starts)
            inside &= among > 0
            found.append(
                _Classes(
                    renumbered[number[inside]],
                    member[inside],
                    among[inside],
                    charged[starts][kept],
                    dearer[kept],
                    excess[kept],
                )
            )


def _sorted(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return numbers from 0 in their order, and the place that each had. Equal numbers keep their order.

    Numbers are sorted several times faster than places by them.
    """
    bits = len(numbers).bit_length()
    if int(numbers.max(initial=0)).bit_length() + bits > _WORD:
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order
    found = np.sort(numbers << bits | np.arange(len(numbers)))
    return found >> bits, found & ((1 << bits) - 1)


class _Program:
    """The linear program: the classes found so far, and how often each is taken to have every row in one."""

    def __init__(self, k: int, n: Numbers, free: Numbers, own: Reals) -> None:
        self.k, self.n, self.free, self.own = k, n, free, own
        self.row = np.full(len(n), -1, dtype=np.int64)
        self.row[free] = np.arange(len(free))
        self.cost = np.zeros(0)
        self.sizes = np.zeros(0, dtype=np.int64)
        self.entries = np.zeros((2, 0), dtype=np.int64)  # row of the program, and rows of the table

    def add(self, classes: _Classes, unit: float) -> None:
        """Add the classes with the greatest excess as a share of their cost."""
        if not len(classes.cost):
            return
        share = classes.dearer / np.maximum(classes.cost, 1)
        least = np.partition(share, -_MOST_CLASSES)[-_MOST_CLASSES] if len(share) > _MOST_CLASSES else -1.0
        chosen = share >= least
        is_fixed = self.row[classes.tuples] < 0
        paid = np.zeros(len(share))
        np.add.at(paid, classes.number[is_fixed], (classes.rows * self.own[classes.tuples])[is_fixed])
        inside = chosen[classes.number] & ~is_fixed
        self.cost = np.append(self.cost, np.maximum(self.k * classes.cost / unit - paid, 0.0)[chosen])
        sizes = np.bincount(classes.number[inside], minlength=len(share))[chosen]
        self.sizes = np.append(self.sizes, sizes)
        entries = np.stack([self.row[classes.tuples[inside]], classes.rows[inside]])
        self.entries = np.concatenate([self.entries, entries], axis=1)

    def solved(self, cap: float) -> tuple[Reals, float] | None:
        """Return the prices of all tuples, and the sum that all rows pay. Classes whose rows pay too little leave.

        None if the solver finds no prices. The bound proven so far stays.
        """
        import highspy

        prices = self.own.copy()
        fixed = float(np.dot(self.n, prices)) - float(np.dot(self.n[self.free], prices[self.free]))
        if not len(self.free):
            return prices, fixed
        single = np.arange(len(self.free), dtype=np.int64)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(self.free) + len(self.cost), len(self.free)
        program.col_cost_ = np.append(np.full(len(self.free), cap), self.cost)
        program.col_lower_ = np.zeros(program.num_col_)
        program.col_upper_ = np.full(program.num_col_, highspy.kHighsInf)
        program.row_lower_ = self.n[self.free].astype(np.float64)
        program.row_upper_ = np.full(len(self.free), highspy.kHighsInf)
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        starts = np.concatenate([single, len(single) + np.cumsum(np.append(0, self.sizes))])
        program.a_matrix_.start_ = starts.astype(np.int32)
        program.a_matrix_.index_ = np.append(single, self.entries[0]).astype(np.int32)
        program.a_matrix_.value_ = np.append(np.ones(len(single)), self.entries[1])
        solver = _solver()
        for name, value in {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": _PRECISION}.items():
            solver.setOptionValue(name, value)
        solver.passModel(program)
        _run(solver)
        dual = np.clip(np.nan_to_num(np.array(solver.getSolution().row_dual)), 0.0, cap)
        if len(dual) != len(self.free):
            return None
        prices[self.free] = dual
        self._forget_dear(dual)
        return prices, fixed + float(np.dot(self.n[self.free], dual))

    def _forget_dear(self, dual: Reals) -> None:
        """Keep the classes whose rows pay nearly their cost."""
        number = np.repeat(np.arange(len(self.sizes)), self.sizes)
        paid = np.zeros(len(self.sizes))
        np.add.at(paid, number, dual[self.entries[0]] * self.entries[1])
        kept = self.cost - paid <= _DEAR * self.cost
        self.cost, self.sizes, self.entries = self.cost[kept], self.sizes[kept], self.entries[:, kept[number]]


def _solver() -> Any:  # noqa: ANN401 - highspy is typed in part
    """Return a solver that writes nothing, not even its name at the start."""
    from highspy import Highs

    def quietly(solver: Any) -> None:  # noqa: ANN401 - as above
        solver.silent()
        Highs.enableCallbacks(solver)  # type: ignore[no-untyped-call]  # highspy is typed in part

    return type("Quiet", (Highs,), {"enableCallbacks": quietly})()  # called first by its constructor


def _run(solver: Any) -> None:  # noqa: ANN401 - as above
    """Run the solver to the end, or stop it when time is up or Ctrl-C is pressed."""
    solver.HandleUserInterrupt = True
    thread = solver.startSolve()
    try:
        while thread.is_alive():
            thread.join(_WAIT)
            check_deadline()
    finally:
        solver.cancelSolve()
        thread.join()
