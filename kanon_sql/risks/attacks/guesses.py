"""What the candidates of a person say of a sensitive column.

kanon_values(found, value, n)                       values among the candidate rows (see ``candidates``)
kanon_guesses(found, different, size, most, guess)  how many they are; the most frequent one, and its rows
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.models.counted import N
from kanon_sql.risks.attacks.candidates import CLASS, FOUND, SIZE
from kanon_sql.risks.attacks.people import POSITION, TUPLE, position
from kanon_sql.risks.attacks.released import told_name, truth
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from fractions import Fraction

    from kanon_sql.engine.base import Engine
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.people import OriginalRows
    from kanon_sql.risks.attacks.released import Released

TOLD = "value"
_DIFFERENT, _MOST, _GUESS = "different", "most", "guess"
_FEWEST, _COULD_BE = "fewest", "could_be"


@dataclass(frozen=True)
class Guesses:
    """What an attacker who guesses the most frequent value of the candidates knows, for one sensitive column.

    Attributes:
        column: its name in the original.
        values: different values in the original.
        certain: rows of the original all whose candidates have one value.
        certain_right: those for which it is the true one. (A suppressed row may be taken for others.)
        confident: rows for which the share of the most frequent value reaches the confidence.
        confident_right: those for which it is the true one.
        confident_open: rows for which it may reach it: some of their classes may still be ruled out.
        by_different: for numbers of different values among the candidates, how many rows find so many.
        by_fewest: the same, if of classes that may still be ruled out only the one with the fewest values is left.
        relation: ``kanon_values`` of the column.
    """

    column: str
    values: int
    certain: int
    certain_right: int
    confident: int
    confident_right: int
    confident_open: int
    by_different: dict[int, int]
    by_fewest: dict[int, int]
    relation: exp.Table


def make_guesses(
    engine: Engine, people: OriginalRows, candidates: Candidates, released: Released, number: int, confidence: Fraction
) -> Guesses:
    """Return what candidates say of a column.

    Args:
        engine: holds all relations.
        people: the rows of the original.
        candidates: the classes that they can be in.
        released: the rows of the release.
        number: of the column among those that the release shares with its original.
        confidence: the share that counts as known.
    """
    column = released.shared[number].original
    values = values_among_candidates(engine, candidates, released, number)
    guesses = engine.temporary_name("kanon_guesses")
    title = f"the most frequent {column.name} among candidates"
    engine.run(sql.create_table(guesses, _guesses_query(values), temporary=True), title)
    own = people.value(column, "original")
    true = exp.select(sql.column(FOUND, "found"), sql.named(truth(own, column), TOLD))
    true = true.from_(sql.aliased(people.copy, "original"))
    for alias, relation, condition in (
        ("people", people.relation, exp.EQ(this=sql.column(POSITION, "people"), expression=position("original"))),
        ("found", candidates.found, exp.EQ(this=sql.column(TUPLE, "found"), expression=sql.column(TUPLE, "people"))),
    ):
        true = true.join(sql.aliased(relation, alias), on=condition)
    truths = exp.select(FOUND, TOLD, sql.named(sql.count_rows(), N)).from_(true.subquery("true")).group_by(FOUND, TOLD)
    (found_values,) = engine.row(
        exp.select(sql.count_distinct(sql.column(TOLD))).from_(true.subquery("true")), f"different {column.name}"
    )
    counts = _counts_query(truths, guesses, confidence, _open(candidates, released, number, confidence))
    rows = engine.rows(counts, f"how often {column.name} is known")
    engine.run(sql.drop(guesses), f"drop {title}")
    by_different: Counter[int] = Counter()
    by_fewest: Counter[int] = Counter()
    for different, _, _, fewest, _, n in rows:
        by_different[different] += n
        by_fewest[fewest] += n
    return Guesses(
        column=column.name,
        values=found_values,
        certain=by_different.get(1, 0),
        certain_right=sum(n for different, _, right, *_, n in rows if different == 1 and right),
        confident=sum(n for _, confident, *_, n in rows if confident),
        confident_right=sum(n for _, confident, right, *_, n in rows if confident and right),
        confident_open=sum(n for _, confident, _, _, could_be, n in rows if could_be and not confident),
        by_different=dict(sorted(by_different.items())),
        by_fewest=dict(sorted(by_fewest.items())),
        relation=values,
    )


def values_among_candidates(engine: Engine, candidates: Candidates, released: Released, number: int) -> exp.Table:
    """Return the relation of the values of a shared column among the rows of what is found."""
    name, column = told_name(number), released.shared[number].original.name
    in_class = exp.select(CLASS, sql.named(sql.column(name), TOLD), sql.named(sql.count_rows(), N))
    in_class = in_class.from_(released.relation.copy()).group_by(CLASS, sql.column(name))
    same = exp.EQ(this=sql.column(CLASS, "in_class"), expression=sql.column(CLASS, "sets"))
    rows = sql.named(sql.sum_of(sql.column(N, "in_class")), N)
    query = exp.select(sql.column(FOUND, "sets"), sql.column(TOLD, "in_class"), rows)
    query = query.from_(sql.aliased(candidates.sets, "sets")).join(in_class.subquery("in_class"), on=same)
    query = query.group_by(sql.column(FOUND, "sets"), sql.column(TOLD, "in_class"))
    relation = engine.temporary_name("kanon_values")
    engine.run(sql.create_table(relation, query, temporary=True), f"{column} among candidates")
    return relation


def _guesses_query(values: exp.Table) -> exp.Select:
    """Return the query of the most frequent value of what is found; of equals, the first one as text."""
    order = [exp.Ordered(this=sql.column(N), desc=True), exp.Ordered(this=sql.column(TOLD))]
    own = [sql.column(FOUND)]
    rank = exp.Window(this=exp.RowNumber(), partition_by=own, order=exp.Order(expressions=order))
    different = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[sql.column(FOUND)])
    size = exp.Window(this=exp.Sum(this=sql.column(N)), partition_by=[sql.column(FOUND)])
    ranked = exp.select(
        FOUND,
        sql.named(different, _DIFFERENT),
        sql.named(sql.cast(size, "BIGINT"), SIZE),
        sql.named(sql.column(N), _MOST),
        sql.named(sql.column(TOLD), _GUESS),
        sql.named(rank, "rank"),
    ).from_(values.copy())
    first = exp.EQ(this=sql.column("rank"), expression=sql.literal(1))
    return exp.select(FOUND, _DIFFERENT, SIZE, _MOST, _GUESS).from_(ranked.subquery("ranked")).where(first)


def _open(candidates: Candidates, released: Released, number: int, confidence: Fraction) -> exp.Query | None:
    """Return the query of what is known if classes are ruled out; None where none is."""
    if candidates.exact:
        return None
    values: dict[str, Any] = {
        "told": sql.column(told_name(number)),
        "numerator": confidence.numerator,
        "denominator": confidence.denominator,
    }
    return sql.query(
        "attacks/guesses_open", values=values, tables={"released": released.relation, "sets": candidates.sets}
    )


def _counts_query(
    truths: exp.Select, guesses: exp.Table, confidence: Fraction, still_open: exp.Query | None
) -> exp.Select:
    """Return the query ``(different, confident, right, fewest, could_be, n)`` over the rows that find something."""
    most = exp.Mul(this=sql.column(_MOST, "guesses"), expression=sql.literal(confidence.denominator))
    needed = exp.Mul(this=sql.column(SIZE, "guesses"), expression=sql.literal(confidence.numerator))
    confident = exp.GTE(this=most, expression=needed)
    right = exp.EQ(this=sql.column(_GUESS, "guesses"), expression=sql.column(TOLD, "truths"))
    same = exp.EQ(this=sql.column(FOUND, "guesses"), expression=sql.column(FOUND, "truths"))
    each = exp.select(
        sql.column(_DIFFERENT, "guesses"), sql.named(confident, "confident"), sql.named(right, "is_right")
    )
    each = each.select(sql.column(N, "truths")).from_(truths.subquery("truths"))
    each = each.join(sql.aliased(guesses, "guesses"), on=same)
    if still_open is None:
        each = each.select(
            sql.named(sql.column(_DIFFERENT, "guesses"), _FEWEST), sql.named(confident.copy(), _COULD_BE)
        )
    else:
        here = exp.EQ(this=sql.column(FOUND, "guesses"), expression=sql.column(FOUND, "still_open"))
        each = each.select(sql.column(_FEWEST, "still_open"), sql.column(_COULD_BE, "still_open"))
        each = each.join(still_open.subquery("still_open"), on=here)
    names = (_DIFFERENT, "confident", "is_right", _FEWEST, _COULD_BE)
    return exp.select(*names, sql.sum_of(sql.column(N))).from_(each.subquery("each_row")).group_by(*names)
