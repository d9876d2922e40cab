"""An original and its release in the same values, for counting and learning.

    kanon_bins_<column>(place, number, n, bin)              values of the original, in their order
    kanon_spread_<column>(label, place, bin, share)         how the rows of a label are spread over the covered values
    kanon_utility_original(place_1, bin_1, ..., n)          distinct tuples of the original
    kanon_utility_release(label_1, ..., n)                  distinct tuples of the release; labels are numbers

A label covers the values that it can stand for (see ``covers``), if the original has them. Its rows are spread over
these:

- ``even``: the same number on each value. Of the original, this uses only which values exist.
- ``marginal``: by the frequency of each value in its column of the original, for readers who know these frequencies.

Columns are spread independently of each other. A column that is not a quasi-identifier has values, which cover
themselves.

A bin is a value or, in a column of more than ``MOST_BINS`` values, a range of them; all bins have about as many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.measures.labels import as_number, place_name
from kanon_sql.measures.released_labels import (
    PLACE,
    Covers,
    as_original,
    grouped_query,
    label_name,
    make_covers,
    never_null,
    number_labels,
    numbered_query,
)
from kanon_sql.measures.sets_and_ranges import text_of
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.measures.labels import Places

Spread = Literal["even", "marginal"]
SPREADS: tuple[Spread, ...] = get_args(Spread)
MOST_BINS = 50
BIN = "bin"


def checked_spread(name: str) -> Spread:
    """Return the spread of this name, or raise."""
    if found := next((one for one in SPREADS if one == name), None):
        return found
    raise UsageError(f"Rows of a label are spread in one of these ways: {', '.join(SPREADS)}; not {name!r}.")


@dataclass(frozen=True)
class UtilitySettings:
    """Which utility of a release is measured, and how."""

    spread: Spread = "even"  # how the rows of a label are spread over the values that it covers
    target: str | None = None


@dataclass(frozen=True)
class ComparedColumn:
    """A column of the original and the column of the release that has its labels. Quasi-identifiers come first."""

    original: Column
    released: Column
    places: Places | None = None  # its places, for a quasi-identifier; None for a column that is published unchanged

    @property
    def name(self) -> str:
        return self.original.name

    @property
    def numeric(self) -> bool:
        return self.original.is_numeric if self.places is None else self.places.ordered


@dataclass(frozen=True)
class Dimension:
    """A column in which original and release can be compared: ``kanon_bins_...`` and ``kanon_spread_...``."""

    number: int
    column: ComparedColumn
    values: exp.Table  # the temporary table of its values, whose ``value`` is that of the original at each place
    bins: exp.Table
    spread: exp.Table

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def label(self) -> str:
        return label_name(self.number)

    @property
    def place(self) -> str:
        return place_name(self.number)

    @property
    def bin(self) -> str:
        return f"bin_{self.number + 1}"


@dataclass(frozen=True)
class Comparable:
    """An original and its release, in temporary tables that ``drop`` drops."""

    engine: Engine
    dimensions: tuple[Dimension, ...]
    original: exp.Table
    released: exp.Table
    rows_in: int
    rows_out: int

    def drop(self) -> None:
        own = [table for one in self.dimensions for table in (one.bins, one.spread)]
        of_values = [one.values for one in self.dimensions if one.column.places is None]
        for table in (*own, *of_values, self.original, self.released):
            self.engine.run(sql.drop(table), "drop tables of utility")


def make_comparable(
    engine: Engine, original: exp.Table, release: exp.Table, columns: Sequence[ComparedColumn], spread: Spread
) -> Comparable:
    """Return an original and its release in the same values.

    Raises:
        UsageError: a label matches no value of the original.
    """
    # 1. Tuples of the release as they are written.
    texts = [
        as_original(column.released, column.original)
        if column.places is None
        else text_of(sql.column(column.released.name), column.released)
        for column in columns
    ]
    query = grouped_query(release, dict(enumerate(texts)))
    written = make_table(engine, "kanon_utility_written", query, "tuples of the release by their labels")
    # 2. The values that each label covers, and the spread of its rows over them.
    labels = [number_labels(engine, written, number, column.name) for number, column in enumerate(columns)]
    dimensions = [
        _dimension(engine, original, own, number, column, spread)
        for number, (own, column) in enumerate(zip(labels, columns, strict=True))
    ]
    # 3. Tuples with numbers for labels, and with places for values.
    query = numbered_query(written, dict(enumerate(labels)))
    released = make_table(engine, "kanon_utility_release", query, "tuples of the release")
    query = original_tuples_query(sql.aliased(original, "source"), dimensions)
    placed = make_table(engine, "kanon_utility_original", query, "tuples of the original")
    for table in (written, *labels):
        engine.run(sql.drop(table), "drop written labels")
    counts = [exp.select(sql.sum_of(sql.column(N))).from_(tuples.copy()).subquery() for tuples in (placed, released)]
    rows_in, rows_out = engine.row(exp.select(*counts), "rows of the tuples")
    return Comparable(engine, tuple(dimensions), placed, released, int(rows_in or 0), int(rows_out or 0))


def _dimension(
    engine: Engine, original: exp.Table, labels: exp.Table, number: int, column: ComparedColumn, spread: Spread
) -> Dimension:
    # 1. The values of the original, in their order, and those that labels cover.
    name = column.name
    if column.places is not None:
        values = column.places.relation
        covered = make_covers(engine, labels, column.places, one_level=True)
    else:
        query = sql.query(
            "utility/values",
            values={"value": _value_of(column), "number": as_number(sql.column(name), column.original)},
            relations={"source": original},
        )
        values = make_table(engine, f"kanon_values_{name}", query, f"values of {name}")
        query = sql.query("utility/covers", tables={"labels": labels, "places": values})
        covers = make_table(engine, f"kanon_covers_{name}", query, f"values of {name} in both")
        _require_values(engine, labels, covers, name)
        covered = Covers(number, covers, functional=True, assumed=False, nested=True)
    # 2. Their bins.
    query = sql.query("utility/bins", values={"most": MOST_BINS}, tables={"places": values})
    bins = make_table(engine, f"kanon_bins_{name}", query, f"bins of {name}")
    # 3. The spread of labels over them.
    weight = sql.column(N, "bins") if spread == "marginal" else sql.literal(1)
    query = sql.query("utility/spread", values={"weight": weight}, tables={"covers": covered.relation, "bins": bins})
    spread_table = make_table(engine, f"kanon_spread_{name}", query, f"labels of {name}, spread over values")
    covered.drop(engine)
    return Dimension(number, column, values, bins, spread_table)


def _value_of(column: ComparedColumn, table: str | None = None) -> exp.Expr:
    """Return the value of a row of the original, as in the values of a dimension."""
    own = sql.column(column.original.name, table)
    return own if column.places is not None else never_null(text_of(own, column.original))


def _require_values(engine: Engine, labels: exp.Table, covers: exp.Table, name: str) -> None:
    """Raise if the release has values of a column that its original does not have: it was not published unchanged."""
    (there,), (known,) = (engine.row(sql.select_count(table), f"values of {name}") for table in (labels, covers))
    if known < there:
        raise UsageError(
            f"Column {name!r} of the release has {there - known:,} of {there:,} different values that the original "
            "does not have: only a column that is published as it is, or a quasi-identifier, can be compared."
        )


def original_tuples_query(
    rows: exp.Table | exp.Subquery, dimensions: Sequence[Dimension], *, unseen: bool = False
) -> exp.Select:
    """Return the distinct tuples of rows like the original. The rows are called ``source``.

    For each column the place of its value and the bin; for ``unseen`` rows the place (0 for a value that the original
    does not have) and the value as a number.
    """
    query = exp.select(sql.named(sql.count_rows(), N)).from_(rows)
    for one in dimensions:
        values, bins, column = f"values_{one.number + 1}", f"bins_{one.number + 1}", one.column.original
        place: exp.Expr = sql.column(PLACE, values)
        is_value = sql.same(_value_of(one.column, "source"), sql.column(VALUE, values))
        query = query.join(sql.aliased(one.values, values), on=is_value, join_type="left" if unseen else "")
        if unseen:
            place = exp.Coalesce(this=place, expressions=[sql.literal(0)])
            beside = sql.named(as_number(sql.column(column.name, "source"), column), f"number_{one.number + 1}")
        else:
            query = query.join(sql.aliased(one.bins, bins), on=sql.column(PLACE, bins).eq(place))
            beside = sql.named(sql.column(BIN, bins), one.bin)
        query = query.select(sql.named(place, one.place), beside).group_by(place.copy(), beside.this.copy())
    return query
