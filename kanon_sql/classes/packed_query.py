"""Classes and what the privacy models measure in them, where counts stand side by side (``kanon_sql.classes.packing``).

1. ``packed``: rows of each class, and its counts side by side: one GROUP BY of all members.
2. ``weighed``: a row for each class and count, with the share of the table that is compared to it.
3. ``measured``: the measures of the models that compare the same; then all of them are joined class by class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.models.base import RowModel
from kanon_sql.models.sensitive import SensitiveModel, Weighed, as_double, number
from kanon_sql.models.t_closeness import compares_features
from kanon_sql.sql import build as sql
from kanon_sql.sql.repeated_aggregates import each_once

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.members import Columns, Members
    from kanon_sql.classes.packing import ComparedValues, Packing
    from kanon_sql.models.base import PrivacyModel

_PACKED = "packed"
_CLASS_N = "class_n"
_OWN = "own_n"
_WEIGHED = {"n": _OWN, "class_n": _CLASS_N, "share": "share", "values": "values"}


def packed_query(members: Members, packing: Packing, models: Sequence[PrivacyModel], columns: Columns) -> exp.Select:
    """Return the query of the classes of members, with their rows and the measure of each model.

    Args:
        members: what classes are made of; their rows are counted.
        packing: where counts stand.
        models: what is measured.
        columns: how the columns of the answer are called.
    """
    # 1. Rows of each class, and its counts side by side.
    counted = [sql.named(members.rows_of_members(), _CLASS_N)]
    if columns.tuples is not None:
        counted.append(sql.named(sql.count_rows(), columns.tuples))
    packed = members.grouped(*counted, *packing.summed())
    # 2. and 3. For all that is compared, its models.
    by_compared: dict[str, dict[int, SensitiveModel]] = {}
    for place, model in enumerate(models):
        if isinstance(model, SensitiveModel):
            by_compared.setdefault(packing.of(model).counts.name, {})[place] = model
    parts = [_measured(members, packing, own, columns) for own in by_compared.values()]
    return _together(members, parts, models, columns).with_(_PACKED, as_=packed, copy=False)


def _measured(members: Members, packing: Packing, models: Mapping[int, SensitiveModel], columns: Columns) -> exp.Select:
    """Return the classes with the measures of models that compare the same."""
    compared = packing.of(next(iter(models.values())))
    told = [*members.names, _CLASS_N, *([columns.tuples] if columns.tuples is not None else [])]
    own = compared.rows(packing.width)
    weighed = exp.select(*map(sql.column, told), sql.column("share"), copy=False).from_(_PACKED, copy=False)
    weighed.join(sql.aliased(compared.counts, "counts"), join_type="cross", copy=False)
    if compared.by_features:
        share = exp.Div(this=exp.Paren(this=as_double(own)), expression=sql.column(_CLASS_N))
        weighed.select(sql.named(share, "p"), copy=False)
    else:  # a value that a class has not is none of its rows
        weighed.select(sql.named(own, _OWN), sql.column("values"), copy=False)
        weighed.where(exp.GT(this=own.copy(), expression=sql.literal(0)), copy=False)
    aggregates = []
    for place, model in models.items():
        aggregates.append(sql.named(_measure(model, compared), columns.measures[place]))
        if columns.bounds is not None and not model.monotone:
            aggregates.append(sql.named(_most(model, compared), columns.bounds[place]))
    by_class = exp.select(*map(sql.column, told), *aggregates, copy=False)
    by_class.from_(weighed.subquery("weighed", copy=False), copy=False).group_by(*map(sql.column, told), copy=False)
    return each_once(by_class, told)


def _measure(model: SensitiveModel, compared: ComparedValues) -> exp.Expr:
    if compares_features(model):
        return model.spread_measure(*_feature(compared))
    return model.measure(Weighed(_WEIGHED, compared.values, coded=True))


def _most(model: SensitiveModel, compared: ComparedValues) -> exp.Expr:
    if compares_features(model):
        return model.spread_most(*_feature(compared), sql.column(_CLASS_N))
    return model.most(Weighed(_WEIGHED, compared.values, coded=True))


def _feature(compared: ComparedValues) -> tuple[exp.Expr, exp.Expr, exp.Expr, exp.Expr]:
    """Return a feature's share of the class and of the table, and what is the same for all of them."""
    return sql.column("p"), sql.column("share"), number(compared.total), number(compared.scale)


def _together(
    members: Members, parts: Sequence[exp.Select], models: Sequence[PrivacyModel], columns: Columns
) -> exp.Select:
    """Return the classes with all that was measured; every part has all of them."""
    first, *others = [f"measured_{number}" for number in range(len(parts))]
    told = [sql.column(name, first) for name in members.names]
    n = sql.column(_CLASS_N, first)
    query = exp.select(*told, sql.named(n, columns.n), copy=False).from_(
        parts[0].subquery(first, copy=False), copy=False
    )
    if columns.tuples is not None:
        query.select(sql.column(columns.tuples, first), copy=False)
    for place, model in enumerate(models):
        if isinstance(model, RowModel):
            query.select(sql.named(model.measure_of(n.copy()), columns.measures[place]), copy=False)
        else:
            query.select(sql.column(columns.measures[place]), copy=False)
            if columns.bounds is not None and not model.monotone:
                query.select(sql.column(columns.bounds[place]), copy=False)
    for other, part in zip(others, parts[1:], strict=True):
        same = [exp.EQ(this=own.copy(), expression=sql.column(own.name, other)) for own in told]
        query.join(part.subquery(other, copy=False), on=sql.all_of(same), copy=False)
    return query
