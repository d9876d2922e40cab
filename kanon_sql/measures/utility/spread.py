"""An original and its release in the same values, by which both can be counted and learned from.

    kanon_bins_<column>(place, number, n, bin)              values that the original has, in their order
    kanon_spread_<column>(label, place, bin, share)         how the rows of a label are spread over what it covers
    kanon_utility_original(place_1, bin_1, ..., n)          different tuples of the original
    kanon_utility_release(label_1, ..., n)                  different tuples of the release; labels are numbers

A label covers what it can stand for (see ``covers``), as far as the original has it. Its rows are spread over that:

- ``even``: as many on each value. No figure of the original goes into it but which values there are.
- ``marginal``: as frequent as each value is in its column of the original, for those who know these frequencies.

Columns are spread independently of each other. A column that is no quasi-identifier has values, which cover themselves.

A bin is a value, or in a column of more than ``MOST_BINS`` values a range of them with about as many rows as others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.measures.labels import LABEL, NUMBER, as_number
from kanon_sql.measures.released_labels import (
    PLACE,
    Covers,
    as_original,
    label_name,
    make_covers,
    never_null,
    number_labels,
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
    """Return the way to spread of this name, or raise."""
    for one in SPREADS:
        if one == name:
            return one
    raise UsageError(f"Rows of a label are spread in one of these ways: {', '.join(SPREADS)}; not {name!r}.")


@dataclass(frozen=True)
class UtilitySettings:
    """What of the utility of a release is measured, and how."""

    spread: Spread = "even"  # how the rows of a label are spread over the values that it covers
    target: str | None = None


@dataclass(frozen=True)
class ComparedColumn:
    """A column of the original and the column of the release that has its labels; quasi-identifiers come first."""

    original: Column
    released: Column
    places: Places | None = None  # its places, of a quasi-identifier; None for a column that is published as it is

    @property
    def name(self) -> str:
        return self.original.name

    @property
    def numeric(self) -> bool:
        """Whether values have a distance."""
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
        return f"place_{self.number + 1}"

    @property
    def as_number(self) -> str:
        return f"number_{self.number + 1}"

    @property
    def bin(self) -> str:
        return f"bin_{self.number + 1}"

    def value_of(self, table: str) -> exp.Expr:
        """Return the value of a row of the original, as it stands in ``values``."""
        own = sql.column(self.column.original.name, table)
        return own if self.column.places is not None else never_null(text_of(own, self.column.original))


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
        UsageError: a label can stand for nothing that the original has.
    """
    # 1. Tuples of the release as they are written.
    query = _written_query(release, columns)
    written = make_table(engine, "kanon_utility_written", query, "tuples of the release as they are written")
    # 2. What each label covers, and how its rows are spread over that.
    labels = [number_labels(engine, written, number, column.name) for number, column in enumerate(columns)]
    dimensions = [
        _dimension(engine, original, own, number, column, spread)
        for number, (own, column) in enumerate(zip(labels, columns, strict=True))
    ]
    # 3. Tuples with numbers for labels, and with places for values.
    query = _numbered_query(written, labels)
    released = make_table(engine, "kanon_utility_release", query, "tuples of the release")
    query = _tuples_query(original, dimensions)
    placed = make_table(engine, "kanon_utility_original", query, "tuples of the original")
    for table in (written, *labels):
        engine.run(sql.drop(table), "drop labels as they are written")
    return Comparable(engine, tuple(dimensions), placed, released, _rows(engine, placed), _rows(engine, released))


def _rows(engine: Engine, tuples: exp.Table) -> int:
    (rows,) = engine.row(exp.select(sql.sum_of(sql.column(N))).from_(tuples.copy()), "rows of the tuples")
    return int(rows or 0)


def _written_query(release: exp.Table, columns: Sequence[ComparedColumn]) -> exp.Select:
    written = [
        as_original(column.released, column.original)
        if column.places is None
        else text_of(sql.column(column.released.name), column.released)
        for column in columns
    ]
    named = [sql.named(text, label_name(number)) for number, text in enumerate(written)]
    query = exp.select(*named, sql.named(sql.count_rows(), N)).from_(release.copy())
    return query.group_by(*(text.copy() for text in written))


def _dimension(
    engine: Engine, original: exp.Table, labels: exp.Table, number: int, column: ComparedColumn, spread: Spread
) -> Dimension:
    # 1. The values of the original, in their order.
    name = column.name
    if column.places is not None:
        values = column.places.relation
        covered = make_covers(engine, labels, column.places, one_level=True)
    else:
        values = make_table(
            engine, f"kanon_values_{name}", _values_query(original, column.original), f"values of {name}"
        )
        covers = make_table(engine, f"kanon_covers_{name}", _covers_query(labels, values), f"values of {name} in both")
        _require_values(engine, labels, covers, name)
        covered = Covers(number, covers, functional=True, assumed=False, nested=True)
    # 2. Their bins.
    query = sql.query("utility/bins", values={"most": MOST_BINS}, tables={"places": values})
    bins = make_table(engine, f"kanon_bins_{name}", query, f"bins of {name}")
    # 3. How labels are spread over them.
    weight = sql.column(N, "bins") if spread == "marginal" else sql.literal(1)
    query = sql.query("utility/spread", values={"weight": weight}, tables={"covers": covered.relation, "bins": bins})
    spread_table = make_table(engine, f"kanon_spread_{name}", query, f"labels of {name}, spread over values")
    covered.drop(engine)
    return Dimension(number, column, values, bins, spread_table)


def _values_query(original: exp.Table, column: Column) -> exp.Query:
    own = sql.column(column.name)
    return sql.query(
        "utility/values",
        values={"value": never_null(text_of(own, column)), "number": as_number(own.copy(), column)},
        relations={"source": original},
    )


def _covers_query(labels: exp.Table, values: exp.Table) -> exp.Select:
    same = exp.EQ(this=sql.column(LABEL, "labels"), expression=sql.column(VALUE, "values"))
    query = exp.select(sql.named(sql.column(NUMBER, "labels"), LABEL), sql.column(PLACE, "values"))
    return query.from_(sql.aliased(labels, "labels")).join(sql.aliased(values, "values"), on=same)


def _require_values(engine: Engine, labels: exp.Table, covers: exp.Table, name: str) -> None:
    """Raise if the release has values of a column that its original does not have: it was not published as it is."""
    (there,), (known,) = (engine.row(sql.select_count(table), f"values of {name}") for table in (labels, covers))
    if known < there:
        raise UsageError(
            f"Column {name!r} of the release has {there - known:,} of {there:,} different values that the original "
            "does not have: only a column that is published as it is, or a quasi-identifier, can be compared."
        )


def _numbered_query(written: exp.Table, labels: Sequence[exp.Table]) -> exp.Select:
    """Return the query of the tuples of the release, with numbers for labels."""
    query = exp.select(sql.column(N, "written")).from_(sql.aliased(written, "written"))
    for number, own in enumerate(labels):
        name, alias = label_name(number), f"labels_{number + 1}"
        same = sql.same(sql.column(LABEL, alias), sql.column(name, "written"))
        query = query.select(sql.named(sql.column(NUMBER, alias), name)).join(sql.aliased(own, alias), on=same)
    return query


def _tuples_query(original: exp.Table, dimensions: Sequence[Dimension]) -> exp.Select:
    """Return the query of the different tuples of the original: places and bins of their values."""
    query = exp.select(sql.named(sql.count_rows(), N)).from_(sql.aliased(original, "source"))
    for one in dimensions:
        values, bins = f"values_{one.number + 1}", f"bins_{one.number + 1}"
        is_value = sql.same(one.value_of("source"), sql.column(VALUE, values))
        same_place = exp.EQ(this=sql.column(PLACE, values), expression=sql.column(PLACE, bins))
        own = {one.place: sql.column(PLACE, bins), one.bin: sql.column(BIN, bins)}
        query = query.join(sql.aliased(one.values, values), on=is_value).join(
            sql.aliased(one.bins, bins), on=same_place
        )
        query = query.select(*(sql.named(column, name) for name, column in own.items()))
        query = query.group_by(*(column.copy() for column in own.values()))
    return query


def unseen_query(rows: exp.Subquery, dimensions: Sequence[Dimension]) -> exp.Select:
    """Return the query of the different tuples of rows like the original: the place of each value, then its number.

    A value that the original does not have has the place 0; ``rows`` are called ``source``.
    """
    query = exp.select(sql.named(sql.count_rows(), N)).from_(rows)
    for one in dimensions:
        values, column = f"values_{one.number + 1}", one.column.original
        is_value = sql.same(one.value_of("source"), sql.column(VALUE, values))
        place = exp.Coalesce(this=sql.column(PLACE, values), expressions=[sql.literal(0)])
        number = as_number(sql.column(column.name, "source"), column)
        query = query.join(sql.aliased(one.values, values), on=is_value, join_type="left")
        query = query.select(sql.named(place, one.place), sql.named(number, one.as_number))
        query = query.group_by(place.copy(), number.copy())
    return query
