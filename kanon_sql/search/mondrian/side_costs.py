"""What the sides of a cut would lose: each row of a side, what the labels of all its columns cost.

The values that a side has in a column are bits of a word, so that the values of several groups of rows
are the bits of either, and their number a count of bits. A column with more leaves than a word has bits is known by its
lowest and its highest place, like numbers.

    word_1, word_2, ...     bits of the values of columns of texts, several columns in one word
    low_1, high_1           places of the other columns of texts, and what numbers are measured by: places or values
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.lookup_relation import WORD_BITS
from kanon_sql.measures.labels import node_name
from kanon_sql.search.mondrian.ends import at_place, names_of_nodes
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kanon_sql.measures.labels import Places


class SideCosts:
    """What sides cost, in columns over the tuples and expressions over groups of them."""

    def __init__(self, places: Sequence[Places], measure: str, labels: str) -> None:
        """Find room for the bits of each column; ``labels`` is how texts are written."""
        self.places, self.measure, self.labels = places, measure, labels
        self.bits: dict[int, tuple[int, int]] = {}  # of a column: its word, and the bit of its place 1 there
        used: list[int] = []
        for column in places:
            leaves = column.labels.leaves
            if column.ordered or leaves > WORD_BITS or labels == "range":
                continue
            word = next((word for word, bits in enumerate(used) if bits + leaves <= WORD_BITS), len(used))
            if word == len(used):
                used.append(0)
            self.bits[column.number] = (word, used[word])
            used[word] += leaves
        self.words = len(used)
        self.spans = [column for column in places if column.number not in self.bits]

    @property
    def needed_of_ends(self) -> list[tuple[Places, str]]:
        """What must be known of the lowest and the highest place of a side."""
        trees = self.places if self.labels == "tree" else ()
        return [(column, name) for column in trees if not column.ordered for name in names_of_nodes(column)]

    # Columns of the tuples

    def of_tuples(self) -> list[exp.Expr]:
        """Return what tuples need on top: their bits, and what their numbers are measured by."""
        words: list[list[exp.Expr]] = [[] for _ in range(self.words)]
        for column in self.places:
            if (bits := self.bits.get(column.number)) is not None:
                word, shift = bits
                place = sql.column("place", _alias(column)) + (shift - 1)
                one = sql.cast(sql.literal(1), "BIGINT")
                bit = exp.BitwiseLeftShift(this=one, expression=exp.Paren(this=place))
                words[word].append(exp.Paren(this=bit))
        found = [sql.named(sql.combined(parts), _word(word)) for word, parts in enumerate(words)]
        return [*found, *(sql.named(self._measured(column), _point(column)) for column in self.spans)]

    def names(self) -> list[str]:
        return [*(_word(word) for word in range(self.words)), *(_point(column) for column in self.spans)]

    def _measured(self, column: Places) -> exp.Expr:
        if column.ordered and self.measure == "gcp":
            return sql.column("number", _alias(column))
        return sql.column("place", _alias(column))

    # Columns of groups of tuples

    def summed(self, *, grouped: bool) -> list[exp.Expr]:
        """Return what is known of a group, from its tuples or from groups within it."""
        found: list[exp.Expr] = [
            sql.named(exp.BitwiseOrAgg(this=sql.column(_word(word))), _word(word)) for word in range(self.words)
        ]
        for column in self.spans:
            low, high = (_low(column), _high(column)) if grouped else (_point(column), _point(column))
            found += [
                sql.named(exp.Min(this=sql.column(low)), _low(column)),
                sql.named(exp.Max(this=sql.column(high)), _high(column)),
            ]
        return found

    def group_names(self) -> list[str]:
        words = [_word(word) for word in range(self.words)]
        return [*words, *(name for column in self.spans for name in (_low(column), _high(column)))]

    def over(self, name: str, window: exp.Window, prefix: str) -> exp.Expr:
        """Return what is known of the groups in a window."""
        own = sql.column(name)
        aggregate: exp.Expr = exp.Min(this=own) if name.startswith("low") else exp.Max(this=own)
        if name.startswith("word"):
            aggregate = exp.BitwiseOrAgg(this=own)
        whole = window.copy()
        whole.set("this", aggregate)
        return sql.named(whole, f"{prefix}_{name}")

    def together(self, name: str, prefixes: Sequence[str]) -> exp.Expr:
        """Return what is known of groups together, each under its own prefix; some may be empty."""
        own: list[exp.Expr] = [sql.column(f"{prefix}_{name}" if prefix else name) for prefix in prefixes]
        if len(own) == 1:
            return own[0]
        if name.startswith("word"):
            own = [exp.Coalesce(this=item, expressions=[sql.literal(0)]) for item in own]
        return self.merged(name, *own)  # the least and the greatest of an empty group are NULL, which is passed over

    def merged(self, name: str, one: exp.Expr, other: exp.Expr) -> exp.Expr:
        """Return what is known of two groups together, neither of which is empty."""
        if name.startswith("word"):
            return exp.BitwiseOr(this=one, expression=other)
        return sql.least([one, other]) if name.startswith("low") else sql.greatest([one, other])

    # What a side costs

    def cost(self, side: str) -> exp.Expr:
        """Return what each row of a side costs, over ``cuts`` whose columns of the side begin with ``side``."""
        total: exp.Expr | None = None
        for column in self.places:
            if column.labels.leaves > 1:
                cost = self._column_cost(column, side)
                total = cost if total is None else exp.Add(this=total, expression=cost)
        return total or sql.literal(0.0)

    def _column_cost(self, column: Places, side: str) -> exp.Expr:
        if (bits := self.bits.get(column.number)) is not None:
            word, shift = bits
            mask = (1 << column.labels.leaves) - 1
            own = sql.bits(sql.shifted_right(sql.column(f"{side}_{_word(word)}", "cuts"), shift), mask)
            values = exp.BitwiseCount(this=own)
            if self.labels == "set":
                return self._share(column, values)
            below_lowest = exp.BitwiseAnd(this=own.copy(), expression=exp.Paren(this=exp.Neg(this=own.copy()))) - 1
            lowest = exp.BitwiseCount(this=below_lowest) + 1

            def is_last(place: exp.Expr) -> exp.Expr:  # no bit is beyond it
                return exp.BitwiseRightShift(this=own.copy(), expression=exp.Paren(this=place)).eq(0)

            return self._tree(column, values.eq(1), lowest, is_last)
        low, high = (sql.column(f"{side}_{name}", "cuts") for name in (_low(column), _high(column)))
        if column.ordered:
            return self._width(column, low, high)
        if self.labels == "tree":
            return self._tree(column, low.eq(high), low, lambda place: exp.LTE(this=high.copy(), expression=place))
        places = exp.Add(this=high - low, expression=sql.literal(1))
        return self._share(column, exp.Paren(this=places))

    def _share(self, column: Places, leaves: exp.Expr) -> exp.Expr:
        """Return what a label with some leaves costs, 0 to 1."""
        number, all_leaves = sql.cast(leaves, "DOUBLE"), float(column.labels.leaves)
        if self.measure == "loss":
            return (number - 1.0) / sql.literal(all_leaves - 1)
        several = exp.GT(this=leaves.copy(), expression=sql.literal(1))
        return _unless_zero(several, number / all_leaves)

    def _width(self, column: Places, low: exp.Expr, high: exp.Expr) -> exp.Expr:
        if self.measure == "loss":
            places = sql.cast(exp.Paren(this=exp.Sub(this=high, expression=low)), "DOUBLE")
            return places / float(column.labels.leaves - 1)
        lower, upper = column.labels.lower, column.labels.upper
        if lower is None or upper is None or lower == upper:
            return sql.literal(0.0)
        halves = [exp.Div(this=end, expression=sql.literal(2)) for end in (high, low)]
        width = exp.Paren(this=exp.Sub(this=halves[0], expression=halves[1])) / sql.literal(upper / 2 - lower / 2)
        return exp.Coalesce(this=width, expressions=[sql.literal(0.0)])

    def _tree(
        self, column: Places, is_single: exp.Expr, low: exp.Expr, is_last: Callable[[exp.Expr], exp.Expr]
    ) -> exp.Expr:
        """Return what the lowest label over all values costs: the first above the lowest one that has them all.

        ``is_last`` says of a place that no value is beyond it.
        """
        case = exp.Case().when(is_single, sql.literal(0.0))
        for level in range(1, column.hierarchy.height):
            leaves = at_place(column, f"leaves_{level}", low)
            last = at_place(column, node_name(level), low) + leaves.copy() - 1
            case = case.when(is_last(last), self._share(column, leaves), copy=False)
        return exp.Paren(this=case.else_(sql.literal(1.0)))


def _unless_zero(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Case().when(condition, value).else_(sql.literal(0.0)))


def _alias(column: Places) -> str:
    """Return the alias of a column's places in the query that makes the tuples."""
    return f"places_{column.number + 1}"


def _word(word: int) -> str:
    return f"word_{word + 1}"


def _point(column: Places) -> str:
    return f"point_{column.number + 1}"


def _low(column: Places) -> str:
    return f"low_{column.number + 1}"


def _high(column: Places) -> str:
    return f"high_{column.number + 1}"
