"""What the candidates of a person say of a sensitive column.

kanon_values(found, value, n)                       values among the candidate rows (see ``candidates``)
kanon_guesses(found, different, size, most, guess)  how many they are; the most frequent one, and its rows

Homogeneity: whose sensitive value is the same in all rows that the person can be in, or in most of them? Who is among k
people who all have the same disease has that disease, whichever of them she is (Machanavajjhala 2007). And where it is
known how many rows of a class are whose: who has 20 of its 24 rows has some of its 20 rows of one disease.

Background knowledge: whose sensitive value is certain for one who can rule some values out? The worst case: the
attacker rules out values that are not the true one, and just those among the candidates. With at most m + 1 different
values among them, m are enough. Where the whole table has no more than m + 1 values, ruling out m of them says
everything without a release; that is no success of the attack.

Baseline: whoever knows no column of a person guesses the most frequent published value, which is right for a share of
the released rows. It is said beside what an attack found; a value that is certain is more than a guess, so that it
changes no verdict.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.models.base import N
from kanon_sql.risks.attacks.candidates import CLASS, FOUND, POSITION, SIZE, TUPLE, position
from kanon_sql.risks.attacks.released import shared_name, truth
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from fractions import Fraction

    from kanon_sql.engine.base import Engine
    from kanon_sql.risks.attacks.candidates import Candidates, OriginalRows
    from kanon_sql.risks.attacks.released import ClassPeople, Released

SHARED_VALUE = "value"
_DIFFERENT, _MOST, _GUESS = "different", "most", "guess"
_FEWEST, _COULD_BE = "fewest", "could_be"


@dataclass(frozen=True)
class Guesses:
    """What an attacker who guesses the most frequent value of the candidates knows, for one sensitive column.

    Attributes:
        certain: rows of the original all whose candidates have one value.
        certain_right: those for which it is the true one. (A suppressed row may be taken for others.)
        confident: rows for which the share of the most frequent value reaches the confidence.
        confident_right: those for which it is the true one.
        confident_open: rows for which it may reach it: some of their classes may still be ruled out.
        by_different: for numbers of different values among the candidates, how many rows find so many.
        by_fewest: the same, if of classes that may still be ruled out only the one with the fewest values is left.
        baseline: the share of released rows with the most frequent value; None for a release without rows.
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
    baseline: float | None = None


def make_guesses(
    engine: Engine, people: OriginalRows, candidates: Candidates, released: Released, number: int, confidence: Fraction
) -> Guesses:
    """Return what candidates say of a shared column; ``confidence`` is the share that counts as known."""
    column = released.shared[number].original
    values = _values_among_candidates(engine, candidates, released, number)
    title = f"the most frequent {column.name} among candidates"
    guesses = make_table(engine, "kanon_guesses", _guesses_query(values), title)
    own = people.value(column, "original")
    true = exp.select(sql.column(FOUND, "found"), sql.named(truth(own, column), SHARED_VALUE))
    true = true.from_(sql.aliased(people.copy, "original"), copy=False)
    for alias, relation, condition in (
        ("people", people.relation, exp.EQ(this=sql.column(POSITION, "people"), expression=position("original"))),
        ("found", candidates.found, exp.EQ(this=sql.column(TUPLE, "found"), expression=sql.column(TUPLE, "people"))),
    ):
        true = true.join(sql.aliased(relation, alias), on=condition, copy=False)
    truths = (
        exp.select(FOUND, SHARED_VALUE, sql.named(sql.count_rows(), N))
        .from_(true.subquery("true"))
        .group_by(FOUND, SHARED_VALUE)
    )
    (found_values,) = engine.row(
        exp.select(sql.count_distinct(sql.column(SHARED_VALUE))).from_(true.subquery("true")),
        f"different {column.name}",
    )
    counts = _counts_query(truths, guesses, confidence, _open(candidates, released, number, confidence))
    rows = engine.rows(counts, f"how often {column.name} is known")
    engine.run(sql.drop(guesses), f"drop {title}")
    most_query = sql.query(
        "attacks/published_most",
        values={"shared": sql.column(shared_name(number))},
        tables={"released": released.relation},
    )
    most, published = engine.row(most_query, f"the most frequent {column.name} of the release")
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
        baseline=most / published if published else None,
    )


def _values_among_candidates(engine: Engine, candidates: Candidates, released: Released, number: int) -> exp.Table:
    """Return the relation of the values of a shared column among the rows of what is found."""
    name, column = shared_name(number), released.shared[number].original.name
    in_class = exp.select(CLASS, sql.named(sql.column(name), SHARED_VALUE), sql.named(sql.count_rows(), N))
    in_class = in_class.from_(released.relation.copy(), copy=False).group_by(CLASS, sql.column(name), copy=False)
    same = exp.EQ(this=sql.column(CLASS, "in_class"), expression=sql.column(CLASS, "sets"))
    rows = sql.named(sql.sum_of(sql.column(N, "in_class")), N)
    query = exp.select(sql.column(FOUND, "sets"), sql.column(SHARED_VALUE, "in_class"), rows)
    query = query.from_(sql.aliased(candidates.sets, "sets"), copy=False).join(
        in_class.subquery("in_class"), on=same, copy=False
    )
    query = query.group_by(sql.column(FOUND, "sets"), sql.column(SHARED_VALUE, "in_class"), copy=False)
    return make_table(engine, "kanon_values", query, f"{column} among candidates")


def _guesses_query(values: exp.Table) -> exp.Select:
    """Return the query of the most frequent value of what is found; of equals, the first one as text."""
    order = [exp.Ordered(this=sql.column(N), desc=True), exp.Ordered(this=sql.column(SHARED_VALUE))]
    own = [sql.column(FOUND)]
    rank = exp.Window(this=exp.RowNumber(), partition_by=own, order=exp.Order(expressions=order))
    different = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[sql.column(FOUND)])
    size = exp.Window(this=exp.Sum(this=sql.column(N)), partition_by=[sql.column(FOUND)])
    ranked = exp.select(
        FOUND,
        sql.named(different, _DIFFERENT),
        sql.named(sql.cast(size, "BIGINT"), SIZE),
        sql.named(sql.column(N), _MOST),
        sql.named(sql.column(SHARED_VALUE), _GUESS),
        sql.named(rank, "rank"),
    ).from_(values.copy())
    first = exp.EQ(this=sql.column("rank"), expression=sql.literal(1))
    return exp.select(FOUND, _DIFFERENT, SIZE, _MOST, _GUESS).from_(ranked.subquery("ranked")).where(first)


def _open(candidates: Candidates, released: Released, number: int, confidence: Fraction) -> exp.Query | None:
    """Return the query of what is known if classes are ruled out; None where none is."""
    if candidates.exact:
        return None
    values: dict[str, Any] = {
        "shared": sql.column(shared_name(number)),
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
    right = exp.EQ(this=sql.column(_GUESS, "guesses"), expression=sql.column(SHARED_VALUE, "truths"))
    same = exp.EQ(this=sql.column(FOUND, "guesses"), expression=sql.column(FOUND, "truths"))
    each = exp.select(
        sql.column(_DIFFERENT, "guesses"), sql.named(confident, "confident"), sql.named(right, "is_right")
    )
    each = each.select(sql.column(N, "truths"), copy=False).from_(truths.subquery("truths"), copy=False)
    each = each.join(sql.aliased(guesses, "guesses"), on=same, copy=False)
    if still_open is None:
        each = each.select(
            sql.named(sql.column(_DIFFERENT, "guesses"), _FEWEST), sql.named(confident.copy(), _COULD_BE), copy=False
        )
    else:
        here = exp.EQ(this=sql.column(FOUND, "guesses"), expression=sql.column(FOUND, "still_open"))
        each = each.select(sql.column(_FEWEST, "still_open"), sql.column(_COULD_BE, "still_open"), copy=False)
        each = each.join(still_open.subquery("still_open"), on=here, copy=False)
    names = (_DIFFERENT, "confident", "is_right", _FEWEST, _COULD_BE)
    return exp.select(*names, sql.sum_of(sql.column(N))).from_(each.subquery("each_row")).group_by(*names)


@dataclass(frozen=True)
class Homogeneity:
    """What is known of one sensitive column.

    Attributes:
        confidence: the share of one value among the candidates that counts as known.
        rows_certain: rows all whose candidates have one value.
        rows_certain_right: those for which it is the true one.
        rows_confident: rows for which one value has at least that share.
        rows_confident_right: those for which the guess is right.
        rows_open: rows for which that is possible, and not certain: some of their classes may still be ruled out.
        people_by_number: people of whom some row has a value for certain, since they have more rows of a class than it
            has with other values; None where people are not counted, or it is not known who is in which class.
        baseline: the share of released rows that have the most frequent value: what anybody guesses right.
    """

    column: str
    confidence: float
    rows: int
    rows_certain: int
    rows_certain_right: int
    rows_confident: int
    rows_confident_right: int
    rows_open: int = 0
    people_by_number: int | None = None
    baseline: float | None = None
    name: ClassVar[str] = "homogeneity"

    @property
    def succeeded(self) -> bool:
        return self.rows_confident > 0 or bool(self.people_by_number)

    @property
    def open(self) -> bool:
        """Whether it did not succeed for certain, and the labels leave open whether it did."""
        return not self.succeeded and self.rows_open > 0

    @property
    def stopped_by(self) -> str:
        share = "" if self.confidence == 1 else f"; below a confidence of {self.confidence:g}: --alpha, or --t"
        return f"l-diversity of {self.column}: --l 2 or more{share}"

    def figures(self) -> dict[str, Any]:
        return dict(vars(self))


def people_by_number(engine: Engine, released: Released, number: int, in_classes: ClassPeople | None) -> int | None:
    """Return of how many people some row has a value of a shared column for certain, by the number of their rows.

    ``in_classes`` are the people of the classes by the original; None where people are not counted.
    """
    if in_classes is None or not in_classes.settled:
        return None
    query = sql.query(
        "attacks/people_by_number",
        values={"value": sql.column(shared_name(number))},
        tables={"released": released.relation, "members": in_classes.members},
    )
    title = f"whose {released.shared[number].original.name} follows from their number of rows"
    (people,) = engine.row(query, title)
    return int(people)


def homogeneity(guesses: Guesses, rows: int, confidence: float, by_number: int | None = None) -> Homogeneity:
    """Return what is known of a column from quasi-identifiers, and from how many rows are whose."""
    return Homogeneity(
        guesses.column,
        confidence,
        rows,
        guesses.certain,
        guesses.certain_right,
        guesses.confident,
        guesses.confident_right,
        guesses.confident_open,
        by_number,
        guesses.baseline,
    )


@dataclass(frozen=True)
class Background:
    """What is known of one sensitive column by one who can rule out values.

    Attributes:
        values: its different values in the original.
        rows_certain: for each number of values that are ruled out, rows whose value is certain then.
        rows_open: ... rows for which that is possible, and not certain: some of their classes may still be ruled out.
        baseline: the share of released rows that have the most frequent value: what anybody guesses right.
    """

    column: str
    values: int
    rows: int
    rows_certain: dict[int, int]
    rows_open: dict[int, int]
    baseline: float | None = None
    name: ClassVar[str] = "background knowledge"

    @property
    def succeeded(self) -> bool:
        """Whether some row is certain after ruling out values that do not leave one for everyone."""
        return self._says_something(self.rows_certain)

    @property
    def open(self) -> bool:
        """Whether it did not succeed for certain, and the labels leave open whether it did."""
        return not self.succeeded and self._says_something(self.rows_open)

    @property
    def meaningless(self) -> bool:
        """Whether each number of values that is ruled out leaves one for everyone, with or without a release."""
        return self.values <= min(self.rows_certain) + 1

    @property
    def stopped_by(self) -> str:
        most = max(self.rows_certain)
        diverse = f"l-diversity of {self.column}: --l {most + 2} or more"
        return diverse if self.values >= most + 2 else f"{diverse}, which its {self.values:,} different values rule out"

    def figures(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "values": self.values,
            "rows": self.rows,
            "rows_certain": {str(ruled_out): rows for ruled_out, rows in self.rows_certain.items()},
            "rows_open": {str(ruled_out): rows for ruled_out, rows in self.rows_open.items()},
            "baseline": self.baseline,
        }

    def _says_something(self, found: dict[int, int]) -> bool:
        return any(rows for ruled_out, rows in found.items() if ruled_out + 1 < self.values)


def background(guesses: Guesses, rows: int, ruled_out: int) -> Background:
    """Return what is known of a column after ruling out 1, 2, ... values."""
    numbers = range(1, ruled_out + 1)
    certain, possible = (
        {m: sum(n for different, n in by.items() if different <= m + 1) for m in numbers}
        for by in (guesses.by_different, guesses.by_fewest)
    )
    still_open = {m: possible[m] - certain[m] for m in numbers}
    return Background(guesses.column, guesses.values, rows, certain, still_open, guesses.baseline)
