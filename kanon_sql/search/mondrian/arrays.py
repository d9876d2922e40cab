"""``best_cuts`` and ``recut_pairs`` over arrays, where classes are counted by their rows alone and tuples are few.

The parts are the same, with the same numbers, and are left in the same tables; tests hold both to it. A round goes
through the columns one by one:

1. Groups: the tuples of each part in the order of their places, those of one place together.
2. What is known of the groups up to each one, and from each one on, by one running minimum, maximum or union over all
   parts at once: values of later parts are moved out of the way of earlier ones.
3. Cuts, and what both sides would lose.

What is known of a group are the ends of its places in each column; where texts are written as sets, its values as bits
(``kanon_sql.search.mondrian.side_costs``). It is kept as two arrays, of which each column is a group, so that one call
is for all quasi-identifiers; entries are picked by ``take``, which is several times as fast as an index.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from kanon_sql.engine.progress import check_deadline
from kanon_sql.hierarchy.lookup_relation import WORD_BITS
from kanon_sql.measures.labels import PART, node_name
from kanon_sql.models.base import N
from kanon_sql.search.mondrian import best_cuts
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kanon_sql.measures.labels import Places
    from kanon_sql.search.mondrian.parts import Parts
    from kanon_sql.search.problem import SearchProgress

    Numbers = NDArray[np.int64]
    Costs = NDArray[np.float64]
    Truths = NDArray[np.bool_]
    Array = NDArray[Any]

MOST_VALUES = 4_000_000
"""Values of tuples that are held as arrays: some 400 MB at most, with what is known of groups."""

_ROW = "tuple_row"
_SLAB = 32_768  # pairs of parts, or their tuples, that are looked at together: what is known of them stays in the cache
_BOTH = 2  # parts of a pair
_TABLE = 256  # places of a column up to which its costs are written out for all pairs of ends
_SHORT = 4  # entries of a group up to which groups are merged entry by entry, all of them at once
_NO_END = np.iinfo(np.int32).max


@dataclass(frozen=True)
class _Known:
    """What is known of tuples, groups or parts; each is one column of both arrays."""

    # of some quasi-identifiers, the least place and the greatest one with its sign changed: what is known of several is
    # the least of both
    ends: Array
    bits: Numbers  # values as bits, of several quasi-identifiers in one word
    size: int  # more than any place

    def take(self, which: Numbers) -> _Known:
        return replace(self, ends=self.ends.take(which, axis=1), bits=self.bits.take(which, axis=1))

    def where(self, condition: Truths) -> _Known:
        """Return what is known of each, and nothing where the condition does not hold."""
        return replace(self, ends=np.where(condition, self.ends, _NO_END), bits=np.where(condition, self.bits, 0))

    def with_(self, other: _Known) -> _Known:
        return replace(self, ends=np.minimum(self.ends, other.ends), bits=self.bits | other.bits)

    def pairs(self, ones: slice, others: slice) -> _Known:
        """Return what is known of each of some groups with each of others: arrays of three dimensions."""
        ends = np.minimum(self.ends[:, ones, None], self.ends[:, None, others])
        return replace(self, ends=ends, bits=self.bits[:, ones, None] | self.bits[:, None, others])

    def of_groups(self, starts: Numbers) -> _Known:
        ends, bits = _merged(np.minimum, self.ends, starts), _merged(np.bitwise_or, self.bits, starts)
        return replace(self, ends=ends, bits=bits)

    def up_to(self, parts: Numbers, longest: int) -> _Known:
        """Return what is known of each group and those before it in its part, of which none has more than ``longest``.

        ``parts`` never falls.
        """
        span = 2 * self.size + 2
        fits = span * (int(np.abs(parts).max()) + 1) < _NO_END
        moved = (parts * -span).astype(np.int32 if fits else np.int64)
        ends = np.minimum.accumulate(self.ends + moved, axis=1)
        ends -= moved
        if not len(self.bits):
            return replace(self, ends=ends)
        bits, step = self.bits.copy(), 1
        while step < longest:
            bits[:, step:] |= np.where(parts[step:] == parts[:-step], bits[:, :-step], 0)
            step *= 2
        return replace(self, ends=ends, bits=bits)

    def from_end(self) -> _Known:
        return replace(self, ends=self.ends[:, ::-1], bits=self.bits[:, ::-1])


@dataclass(frozen=True)
class _ArrayColumn:
    """One quasi-identifier."""

    number: int  # as the cuts have it, from 1
    places: Numbers
    null: int | None  # the place that is cut from all others; None where there is none
    # for each level, the first and the last place under the label of a place, where cuts are made at nodes
    nodes: tuple[tuple[Numbers, Numbers], ...] | None
    # what a row of each group costs in this column; None where every row costs the same
    cost: Callable[[_Known], Costs] | None


@dataclass(frozen=True)
class _Cuts:
    """The best cut of each of some parts, by part."""

    part: Numbers
    column: Numbers
    low: Numbers
    high: Numbers
    lost: Costs


@dataclass(frozen=True)
class _Groups:
    """The groups of one column: rows of a part at one place, by part and place."""

    part: Numbers
    place: Numbers
    rows: Numbers
    up_to: Numbers  # rows of each group and those before it
    total: Numbers
    known: _Known
    # ... of each and those before it.
    before: _Known
    # ... of each and those after it.
    after: _Known


@dataclass(frozen=True)
class _Neighbours:
    """Groups that stand side by side together: where each begins, its rows, and what is known of it."""

    begins: Numbers
    rows: Numbers
    known: _Known


@dataclass(frozen=True)
class _State:
    """Parts as they are: replaced as a whole, so that a search that is stopped has what was there before a round."""

    part: Numbers
    working: Truths
    made: tuple[tuple[Numbers, ...], ...]
    numbers: int
    rounds: int


class ArrayParts:
    """A table in parts, its tuples in arrays."""

    def __init__(self, parts: Parts) -> None:
        """Read the tuples and the places of their values."""
        self.k, self.pairs, self.tables = parts.problem.k, parts.cutting.pairs, parts
        names = [*(column.place for column in parts.places), N]
        query = exp.select(sql.named(sql.column("rowid"), _ROW), *names).from_(parts["kanon_tuples"].copy())
        found = np.array(parts.engine.rows(query, "the tuples as arrays"), dtype=np.int64).reshape(-1, len(names) + 1)
        values = np.ascontiguousarray(found.T)
        self.row, self.n, self.places = values[0], values[-1], values[1:-1]
        tuples = _Tuples(len(self.n))
        self.columns = self._columns(parts, tuples)
        self.known = tuples.known()
        self.looked_at = np.zeros((2, 0), dtype=np.int64), _no_cuts()  # pairs of parts, and their best cuts
        whole = np.ones(len(self.n), dtype=np.int64)
        self.state = _State(whole, np.ones(len(self.n), dtype=bool), (), 1, 0)

    def search(self, progress: SearchProgress | None) -> None:
        self._cut(progress)
        for number in range(self.pairs):
            more = self._recut(number)
            self._cut(progress)
            if not more:
                return

    def write(self) -> None:
        """Leave the parts and the cuts in the tables of the search."""
        parts, engine = self.tables, self.tables.engine
        own, cuts = engine.temporary_name("kanon_part_of"), engine.temporary_name("kanon_array_cuts")
        engine.load(own, {_ROW: self.row.tolist(), PART: self.state.part.tolist()}, "parts of tuples", "BIGINT")
        same = exp.EQ(this=sql.column(_ROW, own.name), expression=parts.of_tuple("rowid"))
        numbered = sql.named(sql.cast(sql.column(PART, own.name), "INTEGER"), PART)
        query = exp.select(numbered, *parts.others()).from_(parts["kanon_tuples"].copy()).join(own.copy(), on=same)
        parts.insert("kanon_finished", "tuples with their parts", lambda: query)
        names = (PART, "column_number", "from_place", "to_place", "inside", "outside")
        made = [np.concatenate(column).tolist() for column in zip(*self.state.made, strict=True)] or [[]] * len(names)
        engine.load(cuts, dict(zip(names, made, strict=True)), "cuts", "BIGINT")
        position = sql.named(sql.cast(exp.null(), "BIGINT"), "position")
        numbers = [sql.cast(sql.column(name), "INTEGER") for name in names]
        parts.insert(
            "kanon_cuts_made",
            "cuts that were made",
            lambda: exp.select(*numbers[:4], position, *numbers[4:]).from_(cuts.copy()),
        )
        for table in (own, cuts):
            engine.run(sql.drop(table), "drop arrays")
        parts.rounds, parts.all_finished = self.state.rounds, True

    # What is known of columns

    def _columns(self, parts: Parts, tuples: _Tuples) -> list[_ArrayColumn]:
        found = []
        for places, own in zip(parts.places, self.places, strict=True):
            levels = range(1, places.hierarchy.height) if not places.ordered else ()
            labels = [name for level in levels for name in (node_name(level), f"leaves_{level}")]
            query = exp.select("place", "number", *labels).from_(places.relation.copy()).order_by("place")
            rows = parts.engine.rows(query, f"places of {places.hierarchy.column.name} as an array")
            size = max((row[0] for row in rows), default=0) + 1
            nodes = tuple(_by_place(rows, size, 2 + 2 * level) for level in range(len(levels)))
            by_node = not places.ordered and parts.cutting.cut == "node"
            alone = None if by_node or places.ordered else places.null
            ends = tuple((first, first + leaves - 1) for first, leaves in nodes)
            cost = self._cost(parts, places, own, rows, nodes, tuples)
            found.append(_ArrayColumn(places.number + 1, own, alone, ends if by_node else None, cost))
        return found

    def _cost(
        self,
        parts: Parts,
        places: Places,
        own: Numbers,
        rows: Sequence[tuple[float | None, ...]],
        nodes: Sequence[tuple[Numbers, Numbers]],
        tuples: _Tuples,
    ) -> Callable[[_Known], Costs] | None:
        """Return what a label costs, of what is known of its rows; which is added to what is known of tuples."""
        leaves, measure, written = places.labels.leaves, parts.problem.objective.name, parts.cutting.labels
        if leaves <= 1:
            return None
        size = int(own.max(initial=0)) + 1

        def share(number: NDArray[np.int64]) -> Costs:
            if measure == "loss":
                return (number - 1.0) / (leaves - 1)
            return np.where(number > 1, number / leaves, 0.0)

        if not places.ordered and written == "set" and leaves <= WORD_BITS:
            place, mask = tuples.add_bits(own - 1, leaves)
            return lambda known: share(np.bitwise_count(known.bits[place] & mask).astype(np.int64))
        if places.ordered and measure == "gcp":
            return self._width(places, own, rows, tuples)
        shares = [(first, share(under)) for first, under in nodes]

        def of_tree(low: Array, high: Array) -> Costs:
            cost = np.ones(low.shape)
            for first, costs in reversed(shares):
                cost = np.where(first[low] == first[high], costs[low], cost)
            return np.where(low == high, 0.0, cost)

        def of_places(low: Array, high: Array) -> Costs:
            return (high - low) / (leaves - 1) if places.ordered else share(high - low + 1)

        by_tree = not places.ordered and written == "tree"
        return self._of_ends(tuples.add_ends(own, own, size), size, of_tree if by_tree else of_places)

    def _width(
        self, places: Places, own: Numbers, rows: Sequence[tuple[float | None, ...]], tuples: _Tuples
    ) -> Callable[[_Known], Costs] | None:
        """Return what a range of numbers costs: NULL, and what is infinite, is passed over."""
        lower, upper = places.labels.lower, places.labels.upper
        if lower is None or upper is None or lower == upper:
            return None
        half = upper / 2 - lower / 2
        size = max(int(row[0] or 0) for row in rows) + 1
        number = np.full(size + 1, np.nan)
        for place, value, *_ in rows:
            number[int(place or 0)] = np.nan if value is None else value
        has_none = np.isnan(number)[own]
        ends = tuples.add_ends(np.where(has_none, size, own), np.where(has_none, -1, own), size)

        def width(low: Array, high: Array) -> Costs:
            found = (number[high] / 2 - number[low] / 2) / half
            return np.where((low == size) | (high < 0) | (high == size), 0.0, found)

        return self._of_ends(ends, size + 1, width)

    @staticmethod
    def _of_ends(ends: int, size: int, cost: Callable[[Array, Array], Costs]) -> Callable[[_Known], Costs]:
        """Return what a label costs by what is known of its ends, which are below ``size``; of few, by a table."""
        if size > _TABLE:
            return lambda known: cost(known.ends[ends], -known.ends[ends + 1])
        table = cost(*np.divmod(np.arange(size * size), size))
        return lambda known: table.take(known.ends[ends] * size - known.ends[ends + 1])

    # Cuts

    def _cut(self, progress: SearchProgress | None) -> None:
        while True:
            before = self.state
            entries = np.flatnonzero(before.working)
            cuts = self._best(entries, before.part[entries])
            if not len(cuts.part):
                nothing = np.zeros(len(self.n), dtype=bool)
                self.state = _State(before.part, nothing, before.made, before.numbers, before.rounds + 1)
                return
            numbers = before.numbers + 1 + 2 * np.arange(len(cuts.part), dtype=np.int64)
            self.state = self._applied(before, cuts, numbers, before.numbers + 2 * len(cuts.part))
            if progress is not None:
                progress(self.state.rounds, None, None)

    def _applied(self, before: _State, cuts: _Cuts, inside: Numbers, numbers: int) -> _State:
        """Return the parts after cuts; those of which none was cut are finished."""
        which = np.minimum(np.searchsorted(cuts.part, before.part), len(cuts.part) - 1)
        is_cut = before.working & (cuts.part[which] == before.part)
        entries = np.flatnonzero(is_cut)
        part = before.part.copy()
        part[entries] = self._sides(entries, which[entries], cuts, inside)
        made = (cuts.part, cuts.column, cuts.low, cuts.high, inside, inside + 1)
        return _State(part, is_cut, (*before.made, made), numbers, before.rounds + 1)

    def _sides(self, entries: Numbers, which: Numbers, cuts: _Cuts, inside: Numbers) -> Numbers:
        own = self.places[cuts.column[which] - 1, entries]
        outside = (own < cuts.low[which]) | (own > cuts.high[which])
        return inside[which] + outside

    def _best(self, entries: Numbers, part: Numbers) -> _Cuts:
        """Return the cut of each part after which it loses least; of equal ones, the first."""
        names, index = np.unique(part, return_inverse=True)
        totals = np.bincount(index, weights=self.n[entries], minlength=len(names)).astype(np.int64)
        large = totals[index] >= 2 * self.k
        entries, index = entries[large], index[large].astype(np.int64)
        if not len(entries):
            return _no_cuts()
        found = _least(_joined([self._best_in(column, entries, index, totals) for column in self.columns]))
        return replace(found, part=names[found.part])

    def _best_in(self, column: _ArrayColumn, entries: Numbers, index: Numbers, totals: Numbers) -> _Cuts:
        """Return the best cut of each part in one column; parts by the ``index`` of their rows in ``totals``."""
        check_deadline("cuts that save most")
        # 1. and 2. Groups, and what is before and after each.
        groups = self._groups(column, entries, index, totals)
        # 3. Cuts.
        number, place = column.number, groups.place
        each = _Neighbours(np.arange(len(place)), groups.rows, groups.known)
        if column.nodes is None:
            found = [self._prefixes(number, groups)]
            if column.null is not None:
                found.append(self._alone(number, groups, each, place, place, column.null))
            return _least(_joined(found))
        found = [self._alone(number, groups, each, place, place)]
        for first, last in column.nodes:
            each = self._united(groups, each, first[place])
            found.append(self._alone(number, groups, each, first[place], last[place]))
        return _least(_joined(found))

    def _groups(self, column: _ArrayColumn, entries: Numbers, index: Numbers, totals: Numbers) -> _Groups:
        own = column.places.take(entries)
        order = _order(own)
        order = order.take(_order(index.take(order)))
        own, index, entries = own.take(order), index.take(order), entries.take(order)
        starts = _starts(own, index)
        part = index.take(starts)
        up_to = np.cumsum(self.n.take(entries)).take(np.append(starts[1:], len(entries)) - 1)
        rows = np.diff(up_to, prepend=0)
        known = self.known.take(entries).of_groups(starts)
        first = _starts(part)
        sizes = np.diff(np.append(first, len(part)))
        longest = int(sizes.max())
        before = known.up_to(part, longest)
        after = known.from_end().up_to(-part[::-1], longest).from_end()
        up_to -= np.repeat(up_to[first] - rows[first], sizes)
        return _Groups(part, own.take(starts), rows, up_to, totals.take(part), known, before, after)

    def _prefixes(self, number: int, groups: _Groups) -> _Cuts:
        """Return the cuts of each group and all before it against all after it."""
        rest = groups.total - groups.up_to
        cut = np.flatnonzero((groups.up_to >= self.k) & (rest >= self.k))
        inside, outside = groups.before.take(cut), groups.after.take(cut + 1)
        lost = groups.up_to[cut] * self._cost_of(inside) + rest[cut] * self._cost_of(outside)
        low, column = np.zeros(len(cut), dtype=np.int64), np.full(len(cut), number, dtype=np.int64)
        return _Cuts(groups.part[cut], column, low, groups.place[cut], lost)

    def _united(self, groups: _Groups, each: _Neighbours, low: Numbers) -> _Neighbours:
        """Return neighbouring groups together that have one ``low``."""
        begins = _starts(low[each.begins], groups.part[each.begins])
        return _Neighbours(each.begins[begins], np.add.reduceat(each.rows, begins), each.known.of_groups(begins))

    def _alone(
        self,
        number: int,
        groups: _Groups,
        each: _Neighbours,
        low: Numbers,
        high: Numbers,
        only: int | None = None,
    ) -> _Cuts:
        """Return the cuts of neighbouring groups, or of the group at one place, against all others of their part."""
        part = groups.part
        others = groups.total[each.begins] - each.rows
        allowed = (each.rows >= self.k) & (others >= self.k)
        cut = np.flatnonzero(allowed if only is None else allowed & (low[each.begins] == only))
        begun, following = each.begins[cut], np.append(each.begins[1:], len(part))[cut]
        has_before = (begun > 0) & (part[begun - 1] == part[begun])
        next_one = np.minimum(following, len(part) - 1)
        has_after = (following < len(part)) & (part[next_one] == part[begun])
        before, after = groups.before.take(np.maximum(begun - 1, 0)), groups.after.take(next_one)
        outside = before.where(has_before).with_(after.where(has_after))
        lost = each.rows[cut] * self._cost_of(each.known.take(cut)) + others[cut] * self._cost_of(outside)
        column = np.full(len(cut), number, dtype=np.int64)
        return _Cuts(part[begun], column, low[begun], high[begun], lost)

    def _cost_of(self, known: _Known) -> Costs:
        """Return what a row of each group costs in all columns."""
        total = np.zeros(known.ends.shape[1:])
        for column in self.columns:
            if column.cost is not None:
                total += column.cost(known)
        return total

    # Pairs of parts

    def _recut(self, number: int) -> bool:
        """Go through the pairs of parts once, as ``recut_pairs``; return whether another pass may be worth it."""
        before = self.state
        if not len(before.part):
            return False
        # 1. The parts in the order of the tree, and what they lose.
        names, index = np.unique(before.part, return_inverse=True)
        entries = np.argsort(index, kind="stable")
        sizes = np.bincount(index)
        starts = np.cumsum(sizes) - sizes
        rows = np.add.reduceat(self.n[entries], starts)
        known = self.known.take(entries).of_groups(starts)
        lost = rows * self._cost_of(known)
        # 2. Pairs that could be merged at little cost.
        blocks = _blocks(names, before.made, number % 2 * best_cuts.BLOCK // 2)
        pairs = np.concatenate([self._nearest(block, names, rows, known, lost) for block in blocks], axis=1)
        pairs = pairs[:, np.lexsort((names[pairs[1]], names[pairs[0]]))]
        # 3. The best cut of each; of pairs that were looked at before, it is known.
        known_pairs, known_cuts = self.looked_at
        place = _places_in(names[pairs], known_pairs)
        new = np.flatnonzero(place < 0)
        again = np.flatnonzero(place >= 0)
        found = [_of_pairs(known_cuts, place[again], again)]
        many = np.cumsum(sizes[pairs[:, new]].sum(axis=0)) // _SLAB
        for some in np.split(new, np.flatnonzero(np.diff(many)) + 1):
            tuples, of_pair = _members_of(pairs[:, some], starts, sizes)
            found.append(self._best(entries[tuples], some[of_pair]))
        cuts = _joined(found)
        cuts = _picked(cuts, np.argsort(cuts.part, kind="stable"))
        self.looked_at = names[pairs], cuts
        # 4. Those that save something, and are the best for both.
        one, other = pairs[:, cuts.part]
        gain = lost[one] + lost[other] - cuts.lost
        better = _mutual(names[one], names[other], gain, np.flatnonzero(gain > best_cuts.SMALL))
        if not len(better):
            return False
        # 5. The new sides.
        self.state = self._recut_state(before, names, pairs[:, cuts.part[better]], _picked(cuts, better))
        return float(gain[better].sum()) > best_cuts.LEAST_GAIN * float(lost.sum())

    def _nearest(self, block: Numbers, names: Numbers, rows: Numbers, known: _Known, lost: Costs) -> Numbers:
        """Return, for each part of a block, the pairs with the others that cost least more together than apart."""
        check_deadline("pairs that could be merged at little cost")
        own, n, apart = known.take(block), rows.take(block), lost.take(block)
        more = np.full((len(block), len(block)), np.inf)
        some = max(1, _SLAB // max(1, 4 * len(block)))
        for begin in range(0, len(block), some):
            one, other = slice(begin, begin + some), slice(begin, len(block))
            both = n[one, None] + n[other]
            together = both * self._cost_of(own.pairs(one, other))
            more[one, other] = (together - (apart[one, None] + apart[other])) / both
        more[np.tril_indices(len(block))] = np.inf
        near = []
        for weighed in (more, more.T):
            most = np.partition(weighed, min(best_cuts.NEAREST, len(block)) - 1, axis=1)[
                :, min(best_cuts.NEAREST, len(block)) - 1
            ]
            part, with_part = np.nonzero((weighed <= most[:, None]) & np.isfinite(weighed))
            ones, others = (part, with_part) if weighed is more else (with_part, part)
            order = np.lexsort((names[block[others]], names[block[ones]], weighed[part, with_part], part))
            begins = _starts(part[order])
            rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
            chosen = order[rank < best_cuts.NEAREST]
            near.append(ones[chosen] * len(block) + others[chosen])
        ones, others = np.divmod(np.unique(np.concatenate(near)), max(1, len(block)))
        return np.stack([block[ones], block[others]])

    def _recut_state(self, before: _State, names: Numbers, pairs: Numbers, cuts: _Cuts) -> _State:
        """Return the parts after both parts of some pairs were cut alike."""
        order = np.argsort(names[pairs[0]], kind="stable")
        pairs, cuts = pairs[:, order], _picked(cuts, order)
        inside = before.numbers + 1 + 2 * np.arange(len(order), dtype=np.int64)
        members = np.concatenate([names[pairs[0]], names[pairs[1]]])
        twice = np.tile(np.arange(len(order)), 2)
        by_part = np.argsort(members, kind="stable")
        both, new = _picked(cuts, twice[by_part]), inside[twice[by_part]]
        both = _Cuts(members[by_part], both.column, both.low, both.high, both.lost)
        which = np.minimum(np.searchsorted(both.part, before.part), len(both.part) - 1)
        entries = np.flatnonzero(both.part[which] == before.part)
        part = before.part.copy()
        part[entries] = self._sides(entries, which[entries], both, new)
        sides, index = np.unique(part[entries], return_inverse=True)
        total = np.bincount(index, weights=self.n[entries], minlength=len(sides))
        working = np.zeros(len(part), dtype=bool)
        working[entries] = total[index] >= 2 * self.k
        made = (both.part, both.column, both.low, both.high, new, new + 1)
        return _State(part, working, (*before.made, made), before.numbers + 2 * len(order), before.rounds)


class _Tuples:
    """What is known of tuples, column by column."""

    def __init__(self, tuples: int) -> None:
        self._tuples, self._size = tuples, 0
        self._ends: list[Numbers] = []
        self._words: list[Numbers] = []
        self._used: list[int] = []  # bits of each word

    def known(self) -> _Known:
        ends = np.array(self._ends, dtype=np.int32).reshape(len(self._ends), self._tuples)
        bits = np.array(self._words, dtype=np.int64).reshape(len(self._words), self._tuples)
        return _Known(ends, bits, self._size)

    def add_ends(self, low: Numbers, high: Numbers, size: int) -> int:
        """Add the places of a column, which are at most ``size``; return where they are."""
        self._size = max(self._size, size + 1)
        self._ends += [low, -high]
        return len(self._ends) - 2

    def add_bits(self, values: Numbers, leaves: int) -> tuple[int, np.int64]:
        """Add values from 0 as bits; return the word that has room for so many, and the mask of them."""
        place = next((place for place, bits in enumerate(self._used) if bits + leaves <= WORD_BITS), None)
        if place is None:
            place = len(self._used)
            self._used.append(0)
            self._words.append(np.zeros(self._tuples, dtype=np.int64))
        shift = self._used[place]
        self._words[place] |= np.left_shift(np.int64(1), values + shift)
        self._used[place] += leaves
        return place, np.int64(((1 << leaves) - 1) << shift)


def _merged(merge: np.ufunc, values: Array, starts: Numbers) -> Array:
    """Return ``merge.reduceat`` of each row of an array; where groups are short, in a tenth of its time."""
    many = values.shape[1]
    if many > _SHORT * len(starts) or not len(values):
        reduced: Array = merge.reduceat(values, starts, axis=1)
        return reduced
    sizes = np.diff(np.append(starts, many))
    found = values.take(starts, axis=1)
    for place in range(1, _SHORT):
        longer = np.flatnonzero(sizes > place)
        found[:, longer] = merge(found.take(longer, axis=1), values.take(starts[longer] + place, axis=1))
    long = np.flatnonzero(sizes > _SHORT)
    if len(long):
        both = np.stack([starts[long], starts[long] + sizes[long]], axis=1).reshape(-1)
        found[:, long] = merge.reduceat(values, both[both < many], axis=1)[:, ::2]  # not what is between them
    return found


def _by_place(rows: Sequence[tuple[float | None, ...]], size: int, column: int) -> tuple[Numbers, Numbers]:
    """Return two columns of rows, by the place that is their first column."""
    found = np.zeros((2, size), dtype=np.int64)
    for row in rows:
        found[:, int(row[0] or 0)] = int(row[column] or 0), int(row[column + 1] or 0)
    return found[0], found[1]


def _order(numbers: Numbers) -> Numbers:
    """Return the places of small numbers in their order; of equal ones, as they stand. Short ones are sorted faster."""
    short = np.uint16 if int(numbers.max(initial=0)) <= np.iinfo(np.uint16).max else np.int64
    return np.argsort(numbers.astype(short), kind="stable")


def _starts(*keys: Numbers) -> Numbers:
    """Return where the first of each run of equal keys stands."""
    differ = np.ones(len(keys[0]), dtype=bool)
    differ[1:] = False
    for key in keys:
        differ[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(differ)


def _no_cuts() -> _Cuts:
    empty = np.zeros(0, dtype=np.int64)
    return _Cuts(empty, empty, empty, empty, np.zeros(0))


def _places_in(pairs: Numbers, known: Numbers) -> Numbers:
    """Return where each pair stands among known ones, which are in their order; -1 where it does not."""
    if not known.shape[1]:
        return np.full(pairs.shape[1], -1, dtype=np.int64)
    many = int(max(pairs.max(initial=0), known.max())) + 1
    wanted, there = (pair[0] * many + pair[1] for pair in (pairs, known))
    place = np.minimum(np.searchsorted(there, wanted), len(there) - 1)
    return np.where(there[place] == wanted, place, -1)


def _of_pairs(cuts: _Cuts, before: Numbers, now: Numbers) -> _Cuts:
    """Return the cuts of some pairs under new numbers; there are pairs without a cut."""
    if not len(cuts.part):
        return cuts
    place = np.minimum(np.searchsorted(cuts.part, before), len(cuts.part) - 1)
    there = cuts.part[place] == before
    found = _picked(cuts, place[there])
    return _Cuts(now[there], found.column, found.low, found.high, found.lost)


def _joined(several: Sequence[_Cuts]) -> _Cuts:
    return _Cuts(
        np.concatenate([cuts.part for cuts in several]),
        np.concatenate([cuts.column for cuts in several]),
        np.concatenate([cuts.low for cuts in several]),
        np.concatenate([cuts.high for cuts in several]),
        np.concatenate([cuts.lost for cuts in several]),
    )


def _least(cuts: _Cuts) -> _Cuts:
    """Return the cut of each part that loses least; of equal ones, the first."""
    return _picked(cuts, _first_of_each(cuts.part, (cuts.lost, cuts.column, cuts.low, cuts.high)))


def _first_of_each(part: Numbers, keys: tuple[NDArray[np.int64] | NDArray[np.float64], ...]) -> Numbers:
    """Return the places of the first of each part, by keys of which the first counts most; in the order of parts."""
    order = np.lexsort((*reversed(keys), part))
    return order[_starts(part[order])]


def _picked(cuts: _Cuts, which: Numbers) -> _Cuts:
    return _Cuts(cuts.part[which], cuts.column[which], cuts.low[which], cuts.high[which], cuts.lost[which])


def _blocks(names: Numbers, made: Sequence[tuple[Numbers, ...]], shift: int) -> list[Numbers]:
    """Return the parts in blocks of neighbours in the tree of cuts (``sql/mondrian/tree.sql``)."""
    paths: dict[int, str] = {1: ""}
    for part, _, _, _, inside, outside in made:
        for own, *sides in zip(part.tolist(), inside.tolist(), outside.tolist(), strict=True):
            for side, letter in zip(sides, "ab", strict=True):
                paths.setdefault(side, paths[own] + letter)  # of two parts that were cut alike, the first one's
    parts = names.tolist()
    order = np.array(sorted(range(len(parts)), key=lambda place: (paths[parts[place]], parts[place])), dtype=np.int64)
    block = (np.arange(1, len(order) + 1) + shift) // best_cuts.BLOCK
    return [order[block == number] for number in np.unique(block)]


def _members_of(pairs: Numbers, starts: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the places of the tuples of both parts of each pair, and the number of the pair, from 0."""
    both = pairs.T.reshape(-1)
    counts = sizes[both]
    before = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) - np.repeat(before - starts[both], counts)
    return places, np.repeat(np.repeat(np.arange(pairs.shape[1]), 2), counts)


def _mutual(one: Numbers, other: Numbers, gain: Costs, gained: Numbers) -> Numbers:
    """Return the pairs, of those that gained, that are the best pair of both of their parts."""
    members = np.concatenate([one[gained], other[gained]])
    twice = np.tile(gained, 2)
    first = _first_of_each(members, (-gain[twice], one[twice], other[twice]))
    pairs, counts = np.unique(twice[first], return_counts=True)
    best: Numbers = pairs[counts == _BOTH]
    return best
