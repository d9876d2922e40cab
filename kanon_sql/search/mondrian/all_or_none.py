"""Cuts that depend on sensitive values and reveal none of them to an attacker who knows the algorithm.

The attacker knows the quasi-identifiers of all people, the algorithm, its settings and the release. Whether a cut
violates a model depends on sensitive values, so each cut that is *not* made reveals something. The rules:

1. Which cut of a part is tried depends only on quasi-identifiers and on how often the part has each sensitive value.
   The attacker knows both: the values of a part are those of the published parts that it was cut into.
2. A cut is tried only if it cannot fail, or if its failure leaves at least ``wanted`` possible values for each person
   of the part: l values, or two under models without an l. The attacker can repeat this decision.
3. If a cut that was tried fails, the part is published uncut. No other cut of it is tried.

Proof. All decisions follow from quasi-identifiers, from the values of published parts, and from the cuts that
failed. By 3, a published part has at most one failed cut, and none of its ancestors has any. So the assignments of
values to people that fit the release are, part by part, all those that fit the values of the part and make the failed
cut (if any) fail. By 2, each person has ``wanted`` values among those. A cut fails if one of its sides
fails: for a person of this side, ``fills`` of ``sql/mondrian.sql`` makes assignments in which the side has their value
and fails. For a person of another side, any value that such an assignment leaves over may be theirs. The sides are
filled with the most frequent values first. Under models that are harder to satisfy the more unequal the counts of a
class are, no assignment fails if this one does not. Under models that compare counts with the table, a failing
assignment must be found.

Several sensitive columns: either no column's values can make a cut fail, or each column has its own assignments.

Columns without a model are ignored: if one correlates with a column of a model, its values may become certain.

Remaining risk: a failed cut makes the frequent values of the part likelier. Nothing bounds by how much;
tests/oracles/choice.py computes it for small tables.

Kenthapadi, Mishra & Nissim 2005 (simulatable auditing); Wong et al. 2007 (minimality attack).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.measured import measured_query
from kanon_sql.classes.of_node import coded_columns, coded_members, is_published
from kanon_sql.measures.labels import PART
from kanon_sql.models.base import N
from kanon_sql.search.mondrian.cuts import failing_parts, forbid_by, forbid_parts, rows_of_sides
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.models.sensitive import SensitiveModel
    from kanon_sql.search.mondrian.parts import Parts

_CLASS = (PART, "side", "lead")
_LEAST_VALUES = 2


def forbid(parts: Parts) -> exp.Table | None:
    """Forbid the cuts of a round that leave a side in violation of the models.

    Return a table of the parts that no other cut may be tried on, or None if there can be none.
    """
    models, sensitive = parts.problem.models, parts.problem.about_sensitive
    if not parts.problem.is_all_or_none:
        forbid_by(parts, models)
        return None
    if of_rows := [model for model in models if model not in sensitive and model.entity is not None]:
        forbid_by(parts, of_rows)  # the attacker knows whether a side has k rows
    # 2. Cuts that may be tried.
    by_column: dict[str, list[SensitiveModel]] = {}
    for model in sensitive:
        by_column.setdefault(model.sensitive or "", []).append(model)
    for number, (column, own) in enumerate(by_column.items()):
        _find_possible(parts, column, own, first=number == 0)
    all_exact = not any(model.compares_shares for model in sensitive)
    forbid_parts(parts, lambda: _not_tried(parts, exact=all_exact), "cuts that may be tried")
    # 3. Cuts that fail.
    parts.make("kanon_failing", "parts whose cut fails", lambda: failing_parts(parts, sensitive))
    forbid_parts(parts, lambda: exp.select(PART).from_(parts["kanon_failing"].copy()), "cuts that do not fail")
    return parts["kanon_failing"]


def _find_possible(parts: Parts, column: str, models: Sequence[SensitiveModel], *, first: bool) -> None:
    """Add to kanon_open whether a side of each part can fail models of a column, and if people stay open then."""
    wanted = max(_LEAST_VALUES, *(model.least_rows for model in models))

    def values() -> exp.Select:
        rows, classes = rows_of_sides(parts)
        value = sql.column(models[0].coding.code)
        keys = [key.unalias().copy() for key in classes]
        counted = rows.select(*classes, sql.named(value, "value"), sql.named(sql.sum_of(sql.column(N)), N))
        return counted.where(_is_cut(parts)).group_by(*keys, value.copy())

    def judged() -> exp.Select:
        """Return whether each way to fill a side fails. The classes hold hypothetical sensitive values."""
        filled = exp.select().from_(parts["kanon_fills"].copy()).where(sql.column(N) > 0)
        members = coded_members(filled, [sql.named(sql.column(name), name) for name in _CLASS])
        members = replace(members, value=lambda _: sql.column("value"))
        measured = measured_query(members, models, coded_columns(models))
        fails = exp.Not(this=exp.Paren(this=is_published(models)))
        return exp.select(*_CLASS, sql.named(fails, "fails")).from_(measured.subquery("measured"))

    parts.make("kanon_values", f"values of {column} on the sides of each cut", values)
    fills = f"how {column} could fail"
    parts.make("kanon_fills", fills, lambda: parts.query("mondrian/fills"), wanted=wanted)
    parts.make("kanon_judged", f"whether {column} fails so", judged)
    title = f"whether people keep several values of {column}"
    if first:
        parts.make("kanon_open", title, lambda: parts.query("mondrian/possible"), wanted=wanted)
    else:
        parts.insert("kanon_open", title, lambda: parts.query("mondrian/possible", wanted=wanted))


def _is_cut(parts: Parts) -> exp.Expr:
    """Return the condition that the part of a tuple has an allowed cut."""
    cut = exp.select(PART).from_(parts["kanon_round"].copy()).where(sql.column("allowed"))
    return exp.In(this=parts.of_tuple(PART), query=cut.subquery())


def _not_tried(parts: Parts, *, exact: bool) -> exp.Select:
    """Return the parts whose cut could fail and thereby reveal a person's value.

    ``exact``: under all models, a cut fails in some assignment of ``fills`` if it fails in any assignment.
    """
    open_ = exp.LogicalAnd(this=sql.column("open"))
    cannot_fail = exp.Not(this=exp.LogicalOr(this=sql.column("can_fail"))) if exact else exp.false()
    may = exp.Paren(this=exp.or_(open_, cannot_fail))
    return exp.select(PART).from_(parts["kanon_open"].copy()).group_by(PART).having(exp.Not(this=may))
