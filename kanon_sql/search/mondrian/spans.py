"""Which column a part is cut in: the one in which its values span most.

    kanon_chosen(part, total, column_number, low, high, null_place, level)     parts that can be cut
    kanon_tried(part, tried_1, tried_2, ...)                                   what could not be: see below

``low`` and ``high`` are the places from which to which the part goes in that column; ``level`` is that of the lowest
label over all of it, where cuts are made at nodes. A part that has NULLs and other values in a column is cut between
them first (``null_place``), then like any other. What was tried in a column: 0 nothing, 1 its NULLs, 2 all there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.lookup_relation import WORD_BITS
from kanon_sql.measures.places import PART, Places, node_name
from kanon_sql.models.counted import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.cutting import Cutting

NULLS, ALL = 1, 2
"""What was tried in a column."""
_LEAST = 1e-12  # of a span that is not empty
_MODULUS, _FACTORS = 2_147_483_647, (1_103_515_245, 12_820_163, 69_069)


def tried_name(column: Places) -> str:
    """Return the name of the column that says what was tried."""
    return f"tried_{column.number + 1}"


def chosen_query(tuples: exp.Table, tried: exp.Table, places: Sequence[Places], cutting: Cutting, k: int) -> exp.Select:
    """Return the query of parts that can be cut, each with the column to try next."""
    # 1. What each part spans in each column.
    spans = exp.select(PART, sql.named(sql.sum_of(sql.column(N)), "total")).from_(tuples.copy())
    for column in places:
        spans = spans.select(*_span(column, cutting), copy=False)
    spans = spans.group_by(PART).having(exp.GTE(this=exp.Sum(this=sql.column(N)), expression=sql.literal(2 * k)))
    # 2. How wide that is; nothing where all was tried.
    widths = exp.select(sql.column(PART, "spans"), "total").from_("spans")
    widths = widths.join(sql.aliased(tried, "tried"), on=_same(PART, "spans", "tried"))
    for column in places:
        widths = _with_ends(widths, column, cutting)
        all_tried = exp.EQ(this=sql.column(tried_name(column)), expression=sql.literal(ALL))
        empty = exp.EQ(this=_low(column), expression=_high(column))
        width = exp.Case().when(exp.or_(all_tried, empty), sql.literal(0.0)).else_(_width(column, cutting))
        widths = widths.select(_low(column), _high(column), sql.named(width, f"width_{column.number + 1}"), copy=False)
        if column.null is not None:
            untried = exp.EQ(this=sql.column(tried_name(column)), expression=sql.literal(0))
            first = exp.Case().when(exp.and_(_has_null(column), untried), sql.literal(column.null))
            widths = widths.select(sql.named(first, f"null_{column.number + 1}"), copy=False)
        if cutting.cut == "node" and not column.ordered:
            widths = widths.select(sql.named(_level(column), f"level_{column.number + 1}"), copy=False)
    # 3. The widest; the first one where several are.
    named = [sql.column(f"width_{column.number + 1}") for column in places]
    ranked = exp.select("*", sql.named(sql.greatest(named), "widest")).from_("widths")
    number = exp.Case()
    for column, its_width in zip(places, named, strict=True):
        is_widest = exp.EQ(this=sql.column(its_width.name), expression=sql.column("widest"))
        number = number.when(is_widest, sql.literal(column.number + 1), copy=False)
    chosen = exp.select("*", sql.named(number, "column_number")).from_("ranked")
    chosen = chosen.where(exp.GT(this=sql.column("widest"), expression=sql.literal(0)))
    null_place = of_column({c.number: sql.column(f"null_{c.number + 1}") for c in places if c.null is not None})
    by_tree = [c for c in places if cutting.cut == "node" and not c.ordered]
    level = of_column({c.number: sql.column(f"level_{c.number + 1}") for c in by_tree})
    return (
        exp.select(
            PART,
            "total",
            "column_number",
            *(
                sql.named(of_column({c.number: sql.column(f"{end}_{c.number + 1}") for c in places}), end)
                for end in ("low", "high")
            ),
            sql.named(sql.cast(null_place, "INTEGER"), "null_place"),
            sql.named(sql.cast(level, "INTEGER"), "level"),
        )
        .from_("chosen")
        .with_("spans", as_=spans)
        .with_("widths", as_=widths)
        .with_("ranked", as_=ranked)
        .with_("chosen", as_=chosen)
    )


def of_column(values: Mapping[int, exp.Expr]) -> exp.Expr:
    """Return the value of the column that ``column_number`` says, by number of the quasi-identifier; else NULL."""
    if not values:
        return exp.null()
    case = exp.Case(this=sql.column("column_number"))
    for number, value in values.items():
        case = case.when(sql.literal(number + 1), value, copy=False)
    return case


def _span(column: Places, cutting: Cutting) -> list[exp.Expr]:
    place, number = sql.column(column.place), column.number + 1
    found: list[exp.Expr] = [
        sql.named(exp.Min(this=place), f"low_{number}"),
        sql.named(exp.Max(this=place.copy()), f"high_{number}"),
    ]
    if _counts_values(column, cutting):
        if column.labels.leaves <= WORD_BITS:
            bit = exp.BitwiseLeftShift(this=sql.cast(sql.literal(1), "BIGINT"), expression=place.copy())
            several: exp.Expr = exp.BitwiseCount(this=exp.BitwiseOrAgg(this=bit))
        else:
            several = sql.count_distinct(place.copy())
        found.append(sql.named(several, f"different_{number}"))
    if column.null is not None and not column.ordered:
        is_null = exp.EQ(this=place.copy(), expression=sql.literal(column.null))
        found.append(sql.named(exp.LogicalOr(this=is_null), f"has_null_{number}"))
    return found


def _counts_values(column: Places, cutting: Cutting) -> bool:
    by_set = cutting.choose == "range" and cutting.labels == "set" and not column.ordered
    return cutting.choose == "distinct" or by_set


def _needs_tree(column: Places, cutting: Cutting) -> bool:
    """Tell whether the lowest label over a part's values is asked for."""
    by_tree = cutting.choose == "range" and cutting.labels == "tree"
    return not column.ordered and column.hierarchy.height > 1 and (by_tree or cutting.cut == "node")


def _with_ends(query: exp.Select, column: Places, cutting: Cutting) -> exp.Select:
    """Join what is known of the lowest and the highest place of a part, where it is needed."""
    if not (column.ordered and cutting.choose == "range") and not _needs_tree(column, cutting):
        return query
    for end, place in (("low", _low(column)), ("high", _high(column))):
        alias = _end(column, end)
        condition = exp.EQ(this=sql.column("place", alias), expression=place)
        query = query.join(sql.aliased(column.relation, alias), on=condition, copy=False)
    return query


def _width(column: Places, cutting: Cutting) -> exp.Expr:
    """Return how wide the values of a part are: 0 to 1, what the global certainty penalty charges for their label."""
    number, labels = column.number + 1, column.labels
    if cutting.choose == "random":
        return _random(column, cutting.seed)
    different = sql.cast(sql.column(f"different_{number}"), "DOUBLE")
    if cutting.choose == "distinct":
        return exp.Div(this=different, expression=sql.literal(float(column.different)))
    if column.ordered and labels.lower is not None and labels.upper is not None:
        low, high = (sql.column("number", _end(column, end)) for end in ("low", "high"))
        # Halves, because the difference of two large numbers may be too large for one.
        half = labels.upper / 2 - labels.lower / 2
        width = exp.Paren(this=exp.Sub(this=_halved(high), expression=_halved(low)))
        share: exp.Expr = exp.Div(this=width, expression=sql.literal(half)) if half else sql.literal(1.0)
        no_distance = exp.or_(low.copy().is_(exp.null()), high.copy().is_(exp.null()))
        share = sql.greatest([share, sql.literal(_LEAST)])
        return exp.Case().when(no_distance, sql.literal(1.0)).else_(share)
    if cutting.labels == "set":
        return exp.Div(this=different, expression=sql.literal(float(labels.leaves)))
    if cutting.labels == "range":
        places = exp.Add(this=exp.Sub(this=_high(column), expression=_low(column)), expression=sql.literal(1))
        return exp.Div(this=sql.cast(exp.Paren(this=places), "DOUBLE"), expression=sql.literal(float(labels.leaves)))
    tree = exp.Case()
    for level in range(1, column.hierarchy.height):
        leaves = sql.cast(sql.column(f"leaves_{level}", _end(column, "low")), "DOUBLE")
        share = exp.Div(this=leaves, expression=sql.literal(float(labels.leaves)))
        tree = tree.when(_same(node_name(level), _end(column, "low"), _end(column, "high")), share, copy=False)
    return tree.else_(sql.literal(1.0), copy=False) if column.hierarchy.height > 1 else sql.literal(1.0)


def _level(column: Places) -> exp.Expr:
    """Return the level of the lowest label over a part's values."""
    case = exp.Case().when(exp.EQ(this=_low(column), expression=_high(column)), sql.literal(0), copy=False)
    for level in range(1, column.hierarchy.height):
        same = _same(node_name(level), _end(column, "low"), _end(column, "high"))
        case = case.when(same, sql.literal(level), copy=False)
    return case.else_(sql.literal(column.hierarchy.height), copy=False)


def _has_null(column: Places) -> exp.Expr:
    """Return the condition that a part has NULLs; that it has other values too is known where it is asked."""
    if column.ordered:
        return exp.EQ(this=_low(column), expression=sql.literal(column.null))
    return sql.column(f"has_null_{column.number + 1}")


def _random(column: Places, seed: int) -> exp.Expr:
    """Return a number between 0 and 1 that nothing but the seed, the part and the column decide."""
    by_part, by_column, by_seed = _FACTORS
    start = sql.literal((by_column * (column.number + 1) + by_seed * seed) % _MODULUS)
    part = exp.Mod(this=sql.cast(sql.column(PART, "spans"), "BIGINT"), expression=sql.literal(_MODULUS))
    mixed = exp.Add(this=exp.Mul(this=exp.Paren(this=part), expression=sql.literal(by_part)), expression=start)
    once = exp.Mod(this=exp.Paren(this=mixed), expression=sql.literal(_MODULUS))
    twice = exp.Mod(
        this=exp.Paren(this=exp.Mul(this=exp.Paren(this=once), expression=exp.Paren(this=once.copy()))),
        expression=sql.literal(_MODULUS),
    )
    number = exp.Add(this=sql.cast(twice, "DOUBLE"), expression=sql.literal(1.0))
    return exp.Div(this=exp.Paren(this=number), expression=sql.literal(float(_MODULUS)))


def _low(column: Places) -> exp.Expr:
    return sql.column(f"low_{column.number + 1}", "spans")


def _high(column: Places) -> exp.Expr:
    return sql.column(f"high_{column.number + 1}", "spans")


def _end(column: Places, end: str) -> str:
    return f"{end}_place_{column.number + 1}"


def _halved(number: exp.Expr) -> exp.Expr:
    return exp.Div(this=number, expression=sql.literal(2))


def _same(name: str, left: str, right: str) -> exp.Expr:
    return exp.EQ(this=sql.column(name, left), expression=sql.column(name, right))
