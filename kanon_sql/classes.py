"""The equivalence classes of a lattice node, counted on the frequency set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.frequency import N, key_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.models.base import PrivacyModel

PROBED = 11
"""A probe counts one class in this many. Bits are spread well by a prime modulo which the powers of two differ."""


def classes_query(
    relation: exp.Table,
    masks: Sequence[int | exp.Expr],
    models: Sequence[PrivacyModel],
    *,
    probe: bool = False,
) -> exp.Select:
    """Return the query of the classes of a node: masked keys, rows, and the measure of each privacy model.

    Args:
        relation: the frequency set, or one rolled up from it to a node below.
        masks: of each key; a key masked away altogether is left out of the grouping.
        models: measured as ``measure_0``, ``measure_1``, ...
        probe: whether to count one class in ``PROBED`` only.
    """
    kept = [key for key, mask in enumerate(masks) if mask != 0] or [0]
    masked = [exp.BitwiseAnd(this=sql.column(key_name(key)), expression=sql.literal(masks[key])) for key in kept]
    named = [sql.named(expression, key_name(key)) for key, expression in zip(kept, masked, strict=True)]
    measures = [sql.named(model.coded_measure(), f"measure_{number}") for number, model in enumerate(models)]
    rows = sql.named(exp.Sum(this=sql.column(N)), N)
    query = exp.select(*named, rows, *measures, copy=False).from_(relation.copy(), copy=False)
    if probe:
        query.where(_one_class_in_several(masked), copy=False)
    return query.group_by(*(item.copy() for item in masked), copy=False)


def is_published(models: Sequence[PrivacyModel]) -> exp.Expr:
    """Return the condition that a class of ``classes_query`` satisfies all models."""
    return sql.all_of(model.is_met(sql.column(f"measure_{number}")) for number, model in enumerate(models))


def node_query(
    relation: exp.Table,
    masks: Sequence[int | exp.Expr],
    models: Sequence[PrivacyModel],
    *,
    probe: bool = False,
    with_sizes: bool = False,
) -> exp.Select:
    """Return the test of a node: how many classes it has, and how many rows lie in classes that must go.

    With sizes also: how many classes satisfy the models, and the sum of squared sizes of these and of the others.

    A probe counts one class in ``PROBED``. These classes are whole, so that the node suppresses at least what is
    suppressed among them: where most classes are too small, that is proof enough at a fraction of the cost.
    """
    classes = classes_query(relation, masks, models, probe=probe).subquery("classes", copy=False)
    hidden = sql.where(exp.Sum(this=sql.column(N)), sql.negated(is_published(models)))
    suppressed = exp.Coalesce(this=hidden, expressions=[sql.literal(0)])
    query = exp.select(sql.named(sql.count_rows(), "classes"), sql.named(suppressed, "suppressed"))
    if with_sizes:
        square = exp.Sum(this=exp.Mul(this=sql.column(N), expression=sql.column(N)))
        squares = [sql.where(square, is_published(models)), sql.where(square.copy(), sql.negated(is_published(models)))]
        query.select(
            sql.named(sql.where(sql.count_rows(), is_published(models)), "published"),
            *(
                sql.named(exp.Coalesce(this=total, expressions=[sql.literal(0)]), name)
                for total, name in zip(squares, ("squares", "suppressed_squares"), strict=True)
            ),
            copy=False,
        )
    return query.from_(classes, copy=False)


def _one_class_in_several(masked: Sequence[exp.Expr]) -> exp.Expr:
    """Return the condition that masked keys leave no remainder: the rows of a class are all chosen, or none is."""
    total: exp.Expr | None = None
    for key in masked:
        remainder = exp.Mod(this=exp.Paren(this=key.copy()), expression=sql.literal(PROBED))
        total = remainder if total is None else exp.Add(this=total, expression=remainder)
    if len(masked) > 1:
        total = exp.Mod(this=exp.Paren(this=total), expression=sql.literal(PROBED))
    return exp.EQ(this=total, expression=sql.literal(0))
