"""Roll-ups: the frequency set of a node is the source for every node above it, and often far smaller.

A roll-up costs more than a node test, and may not be smaller, so making it at once may lose. It is made once tests
have scanned as many avoidable tuples as it costs (the ski rental rule: rent until the rent has reached the price),
after a probe has estimated its size. Scans are counted, not timed, so the search is deterministic.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.classes.frequency import roll_up_query
from kanon_sql.classes.of_node import PROBED, node_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from sqlglot import exp

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.classes.packing import Packing

MIN_TUPLES_PER_CLASS_TO_ROLL_UP = 8
_SMALL = 100_000  # tuples below which a scan costs no more than planning the statement
_PRICE = 8  # scans of the source, below a node, after which its roll-up is considered
_SHRINKS_TO = 0.5  # of its source: the size that a roll-up must reach


@dataclass(frozen=True)
class RollUp:
    """The frequency set of a node."""

    steps: int  # the node, as steps in the lattice
    relation: exp.Table
    tuples: int


class RollUps:
    """The frequency set and its roll-ups.

    If sensitive values are counted side by side (``kanon_sql.classes.packing``), the first of them is the frequency
    set without these values: it has fewer tuples, each with its counts.
    """

    def __init__(self, frequency: FrequencySet, lattice: Lattice) -> None:
        self._frequency = frequency
        self._lattice = lattice
        self._packing: Packing | None = None
        self._kept = [RollUp(lattice.steps(lattice.bottom), frequency.relation, frequency.tuples)]
        self._scanned: Counter[Node] = Counter()
        self._considered: set[Node] = set()
        self._rows_alone: exp.Table | None = None

    def count_side_by_side(self, packing: Packing) -> None:
        """Replace the frequency set with sensitive values by one with counts side by side.

        If the deadline passes before this is done, nothing is changed.
        """
        frequency, bottom = self._frequency, self._lattice.bottom
        query = packing.joined(roll_up_query(frequency, frequency.relation, bottom, packing.gathered()))
        self._kept[0] = self._made(query, bottom)
        self._packing = packing

    def source(self, node: Node) -> RollUp:
        """Return the smallest relation from which the classes of a node can be counted."""
        if len(self._kept) == 1 and not self._kept[0].steps:  # the roll-up of the bottom
            return self._kept[0]
        steps = self._lattice.steps(node)
        return min((kept for kept in self._kept if not kept.steps & ~steps), key=lambda kept: kept.tuples)

    def rows_alone(self, node: Node) -> exp.Table:
        """Return a relation from which only the rows of the classes of a node can be counted.

        It is the frequency set without the sensitive values, which has fewer tuples; or a roll-up, if there is one.
        """
        frequency, source = self._frequency, self.source(node)
        if not frequency.sensitive or frequency.counts_people or source.relation != frequency.relation:
            return source.relation
        if self._rows_alone is None:
            relation = frequency.engine.temporary_name("kanon_rows")
            query = roll_up_query(frequency, frequency.relation, self._lattice.bottom, ())
            made = sql.create_table(relation, query, temporary=True)
            frequency.engine.rows(made, "the frequency set without sensitive values")
            self._rows_alone = relation
        return self._rows_alone

    def scanned(self, lower: Node) -> None:
        """Record a test above ``lower``. More of them will follow, and may be worth a roll-up to ``lower``."""
        source = self.source(lower)
        if source.tuples < _SMALL or lower in self._considered or source.steps == self._lattice.steps(lower):
            return
        self._scanned[lower] += 1
        if self._scanned[lower] >= _PRICE:
            self._considered.add(lower)
            if self._estimate(lower, source) <= _SHRINKS_TO * source.tuples:
                self.keep(self.make(lower))

    def make(self, node: Node) -> RollUp:
        """Return the roll-up to a node. The caller may keep or drop it."""
        counts = None if self._packing is None else self._packing.summed()
        return self._made(roll_up_query(self._frequency, self.source(node).relation, node, counts), node)

    def _made(self, query: exp.Select, node: Node) -> RollUp:
        engine = self._frequency.engine
        relation = engine.temporary_name("kanon_roll_up")
        engine.rows(sql.create_table(relation, query, temporary=True), f"roll up to {node}")
        size = sql.select_count(relation)
        (tuples,) = engine.row(size, "size of the roll-up")
        return RollUp(self._lattice.steps(node), relation, tuples)

    def keep(self, roll_up: RollUp) -> None:
        self._kept.append(roll_up)

    def drop(self, roll_up: RollUp) -> None:
        self._kept = [kept for kept in self._kept if kept is not roll_up]
        self._frequency.engine.run(sql.drop(roll_up.relation), "drop a roll-up")

    def drop_all_but(self, relation: exp.Table) -> None:
        for roll_up in self._kept:
            if roll_up.relation not in (relation, self._frequency.relation):
                self.drop(roll_up)
        if self._rows_alone is not None:
            self._frequency.engine.run(sql.drop(self._rows_alone), "drop what rows were counted from")
            self._rows_alone = None
        if self._packing is not None:
            self._packing.drop(self._frequency.engine)

    def _estimate(self, node: Node, source: RollUp) -> int:
        """Return the approximate number of tuples of a roll-up."""
        query = node_query(source.relation, self._frequency.masks(node), [], probe=True)
        title = f"probe the size of a roll-up to {node}"
        classes, _ = self._frequency.engine.row(query, title)
        return int(classes) * PROBED
