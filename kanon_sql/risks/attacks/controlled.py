"""Singling out, linkability and inference against a control group of people who are not in the release.

They are the attacks of Anonymeter (see ``residual``), on tables whose labels may stand for several values. A released
row is a *candidate* for a person if each of its labels in the known columns covers the person's value there. Nothing
else is used: neither which rows were suppressed, nor that a class has no room for more people than rows, which would be
known of the people in the original alone.

*Targets* are people of the original, and people of the control group, in drawn order, up to a number. Of a person with
several rows one is drawn. A guess is right or wrong; what is drawn is drawn anew for each target.

1. Inference. The attacker knows some columns of a target and guesses another one: the most frequent label among the
   candidates, of equally frequent ones a drawn one, without candidates the most frequent label of the release. It is
   right if the label covers the target's value: a label of a generalized column stands for several. Baseline: the most
   frequent label of the release, for every target. (Anonymeter's is a random row's value, which is right less often:
   whoever has seen the published marginals does better.)
2. Linkability. Two sources know different columns of a target. The attacker picks one candidate by the columns of the
   first source and one by those of the second, each candidate being as likely as any other: so the right row is picked
   from a class of k with probability 1/k. It is right if both picks are the same released row. Without candidates by
   one of them there is no link. Baseline: two random rows of the release.
3. Singling out. A predicate is the labels that a released row has in a set of columns in which no other released row
   is like it: any published columns, but those of which the original has fewer than half of the released values (they
   are pseudonyms, or made up). The sets are those of up to 3 columns in which most rows are alone (the first 5), and
   all columns together; each row is used once, with a drawn one of its sets. It is right if exactly one person of the
   original satisfies it: has a row whose values all labels cover. There are no more predicates than people of the
   control group, so that these are seldom matched by several. Baseline: predicates over the same columns, the label of
   each column taken from a random row of its own. The control rate is ``residual.control_of_singling_out``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlglot import exp

from kanon_sql.engine.base import Column, make_table
from kanon_sql.measures.labels import place_name
from kanon_sql.measures.released_labels import label_name
from kanon_sql.models.base import N
from kanon_sql.risks.attacks.candidates import TUPLE, by_spread, find_pairs, numbered_classes
from kanon_sql.risks.attacks.coded import RECORD
from kanon_sql.risks.attacks.residual import (
    EstimatedShare,
    Rate,
    control_of_singling_out,
    residual_risk,
    risk_of_singling_out,
)
from kanon_sql.risks.estimators.subsets import largest_subsets, subset_risks
from kanon_sql.risks.estimators.tuples import collect
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.risks.attacks.coded import Coded

Name = Literal["singling out", "linkability", "inference"]
CONTROLLED: tuple[Name, ...] = get_args(Name)
"""Attacks whose guesses are compared with guesses about a control group."""
_SETS = 5
"""Sets of up to three columns whose labels make predicates."""


@dataclass(frozen=True)
class Controlled:
    """What an attack guessed about people in the scope of a release, and about a control group."""

    name: Name
    column: str | None = None  # the column that was inferred; None for other attacks
    # the columns that the attacker knows; of linkability those of each source; none for singling out
    knows: tuple[tuple[str, ...], ...] = ()
    # how many guesses about people of the original were right
    in_release: Rate = field(default_factory=lambda: Rate(0, 0))
    # how many guesses were, that anybody makes who knows the published marginals alone
    baseline: Rate = field(default_factory=lambda: Rate(0, 0))
    # how many guesses about the control group were right; of singling out, how many predicates exactly one of its
    # people satisfies
    control: Rate = field(default_factory=lambda: Rate(0, 0))
    people: int = 0
    control_people: int = 0  # people of the control group whom predicates were compared with
    reason: str | None = None  # why it was not made; None if it was

    @cached_property
    def control_estimate(self) -> EstimatedShare:
        """The control rate; of singling out, an upper bound of it."""
        if self.name == "singling out" and self.people and self.control_people:
            return control_of_singling_out(self.control, self.people, self.control_people)
        return self.control.estimate

    @property
    def is_bound(self) -> bool:
        """Whether the control rate is an upper bound, and so the risk a lower one."""
        return self.name == "singling out" and self.control_people < self.people

    @cached_property
    def risk(self) -> EstimatedShare | None:
        """The risk with its interval; None where nothing was guessed, or all of the control group was guessed right."""
        if self.reason is not None or not self.in_release.guesses or not self.control.guesses:
            return None
        if self.name == "singling out":
            return risk_of_singling_out(self.in_release, self.control_estimate)
        return residual_risk(self.in_release.estimate, self.control_estimate)

    @property
    def succeeded(self) -> bool:
        """Whether guesses are more often right about people in the release: the interval of the risk excludes 0."""
        return self.risk is not None and self.risk.low > 0

    @property
    def is_guessing(self) -> bool:
        """Whether the attack was no better than its baseline, so that it says nothing about the risk."""
        return self.in_release.share <= self.baseline.share

    @property
    def stopped_by(self) -> str:
        if self.name == "singling out":
            return (
                "coarser labels, or fewer columns, so that no combination of published values belongs to one row alone:"
                " a larger -k with every column that is published in --qi"
            )
        if self.name == "linkability":
            return "a larger -k with the columns of both sources in --qi"
        return f"a larger -k, and l-diversity or t-closeness of {self.column} (--l, --t)"

    def figures(self) -> dict[str, Any]:
        risk, control = self.risk, self.control_estimate
        return {
            "column": self.column,
            "knows": [list(columns) for columns in self.knows],
            "in_release": self.in_release.figures(),
            "baseline": self.baseline.figures(),
            "control": self.control.figures(),
            "control_rate": control.figures() if self.control.guesses else None,
            "risk": None if risk is None else risk.figures(),
            "risk_is_lower_bound": self.is_bound,
            "reason": self.reason,
        }


def _know(coded: Coded, known: Sequence[int], at_most: int) -> dict[str, exp.Table]:
    """Return the candidates of the targets by columns: ``classes``, their ``members``, and ``pairs``."""
    engine, labels = coded.engine, [label_name(number) for number in known]
    target = exp.EQ(this=sql.column(RECORD, "targets"), expression=sql.column(RECORD, "sides"))
    first = exp.LTE(this=sql.column("rank", "targets"), expression=sql.literal(at_most))
    query = exp.select(
        sql.named(sql.column(RECORD, "sides"), TUPLE), *(sql.column(place_name(number), "sides") for number in known)
    ).from_(sql.aliased(coded.sides, "sides"))
    query = query.join(sql.aliased(coded.targets, "targets"), on=exp.and_(target, first), copy=False)
    tuples = make_table(engine, "kanon_targets_known", query, "what is known of targets")
    grouped = exp.select(*labels, sql.named(sql.count_rows(), N)).from_(coded.release.copy()).group_by(*labels)
    classes, pairs = _matched(coded, known, tuples, grouped)
    same = _same(labels, "classes", "coded")
    numbered = sql.query(
        "attacks/control/members",
        values={"same_class": same},
        tables={"coded": coded.release, "classes": classes},
    )
    members = make_table(engine, "kanon_members", numbered, "rows of classes by known columns")
    _drop(engine, tuples)
    return {"classes": classes, "members": members, "pairs": pairs}


def _drop(engine: Engine, *tables: exp.Table) -> None:
    for table in tables:
        engine.run(sql.drop(table), "drop what was guessed by")


def _matched(
    coded: Coded, columns: Sequence[int], tuples: exp.Table, labelled: exp.Select
) -> tuple[exp.Table, exp.Table]:
    """Return classes by the labels of columns, numbered, and the pairs of a tuple and a class that covers it."""
    engine = coded.engine
    numbered = make_table(engine, "kanon_numbered", labelled, "classes by some columns")
    order = by_spread(engine, tuples, numbered, [coded.covers[number] for number in columns])
    query = numbered_classes(numbered, columns, order)
    classes = make_table(engine, "kanon_classes", query, "classes by some columns, numbered")
    _drop(engine, numbered)
    return classes, find_pairs(engine, tuples, classes, order)


def _tables(coded: Coded) -> dict[str, exp.Table]:
    return {"coded": coded.release, "targets": coded.targets, "sides": coded.sides}


def _same(names: Sequence[str], one: str, other: str) -> exp.Expr:
    return sql.all_of(exp.EQ(this=sql.column(name, one), expression=sql.column(name, other)) for name in names)


def _rates(rows: Sequence[tuple[Any, ...]]) -> tuple[Rate, Rate, Rate]:
    """Return the rates of rows ``(is_control, guesses, right, right by the baseline)``."""
    found = {bool(is_control): (guesses, right, by_baseline) for is_control, guesses, right, by_baseline in rows}
    guesses, right, by_baseline = found.get(False, (0, 0, 0))
    of_control, right_of_control, _ = found.get(True, (0, 0, 0))
    return Rate(right, guesses), Rate(by_baseline, guesses), Rate(right_of_control, of_control)


# 1. Inference


def infer(coded: Coded, known: Sequence[int], secrets: Sequence[int], at_most: int) -> Iterator[Controlled]:
    """Yield what is inferred of each secret column by one who knows others of up to so many people of each group."""
    engine, found = coded.engine, _know(coded, known, at_most)
    names = tuple(coded.columns[number] for number in known)
    for secret in secrets:
        label = sql.column(label_name(secret), "coded")
        seed: dict[str, Any] = {"seed": str(coded.seed), "secret": label}
        query = sql.query("attacks/control/most", values=seed, tables={"coded": coded.release})
        title = f"the most frequent {coded.columns[secret]} of the release"
        (most,) = engine.row(query, title)
        query = sql.query(
            "attacks/control/inferred",
            values=seed | {"place": sql.column(place_name(secret), "sides"), "most": most, "at_most": at_most},
            tables=found | _tables(coded) | {"covers": coded.covers[secret].relation},
        )
        rates = _rates(engine.rows(query, f"how often {coded.columns[secret]} is inferred"))
        yield Controlled("inference", coded.columns[secret], (names,), *rates, coded.people, coded.control_people)
    _drop(engine, *found.values())


# 2. Linkability


def link_sources(coded: Coded, first: Sequence[int], second: Sequence[int], at_most: int) -> Controlled:
    """Return how often two sources, each with columns of its own, pick the same released row for a person."""
    engine, picked = coded.engine, []
    for name, known in (("first", first), ("second", second)):
        found = _know(coded, known, at_most)
        query = sql.query("attacks/control/picked", values={"seed": f"{coded.seed} {name}"}, tables=found)
        picked.append(make_table(engine, f"kanon_{name}_picked", query, f"rows that the {name} source picks"))
        _drop(engine, *found.values())
    query = sql.query(
        "attacks/control/linked",
        values={"seed": str(coded.seed), "rows": coded.rows, "at_most": at_most},
        tables={"targets": coded.targets, "first_picked": picked[0], "second_picked": picked[1]},
    )
    rates = _rates(engine.rows(query, "how often both sources pick the same row"))
    _drop(engine, *picked)
    names = tuple(tuple(coded.columns[number] for number in known) for known in (first, second))
    return Controlled("linkability", None, names, *rates, coded.people, coded.control_people)


# 3. Singling out


def found_in_original(coded: Coded) -> list[int]:
    """Return the columns of which the original has at least half of the values that the released rows have."""
    kept = list(range(coded.quasi_identifiers))  # their labels all cover some value
    for number in range(coded.quasi_identifiers, len(coded.columns)):
        same = exp.EQ(this=sql.column(place_name(number), "sides"), expression=sql.column(label_name(number), "coded"))
        query = sql.query("attacks/control/found_in", values={"same": same}, tables=_tables(coded))
        (rows,) = coded.engine.row(query, f"rows whose {coded.columns[number]} the original has")
        if 2 * rows >= coded.rows:
            kept.append(number)
    return kept


def single_out(coded: Coded, columns: Sequence[int], at_most: int) -> Controlled:
    """Return how many predicates over published columns exactly one person satisfies."""
    engine = coded.engine
    # 1. Sets of columns in which rows of the release are alone.
    chosen = _identifying_sets(coded, columns)
    control_people = min(coded.control_people, coded.people)
    if not chosen:
        return Controlled("singling out", people=coded.people, control_people=control_people)
    alone = [
        sql.select(
            "attacks/control/alone",
            values={"labels": [sql.column(label_name(number)) for number in subset], "subset": place},
            tables={"coded": coded.release},
        )
        for place, subset in enumerate(chosen)
    ]
    relation = make_table(engine, "kanon_alone", sql.union_all(alone), "rows that are alone in a set of columns")
    # 2. Predicates.
    query = sql.query(
        "attacks/control/predicates",
        values={"seed": str(coded.seed), "at_most": min(at_most, control_people)},
        tables={"alone": relation},
    )
    predicates = make_table(engine, "kanon_predicates", query, "predicates from the release")
    _drop(engine, relation)
    (number,) = engine.row(sql.select_count(predicates), "predicates")
    # 3. How many of them single out, and how many of random ones.
    right = by_chance = in_control = 0
    for place, subset in enumerate(chosen):
        original, control = _singled_out(coded, subset, _labels_of(coded, predicates, place, subset))
        random, _ = _singled_out(coded, subset, _random_labels(coded, predicates, place, subset))
        right, in_control, by_chance = right + original, in_control + control, by_chance + random
    _drop(engine, predicates)
    return Controlled(
        "singling out",
        in_release=Rate(right, number),
        baseline=Rate(by_chance, number),
        control=Rate(in_control, number),
        people=coded.people,
        control_people=control_people,
    )


def _identifying_sets(coded: Coded, columns: Sequence[int]) -> list[list[int]]:
    """Return the sets of up to three columns in which most rows of a release are alone, and all columns together."""
    named = {label_name(number): number for number in columns}
    tuples = collect(coded.engine, coded.release, [Column(name, "BIGINT") for name in named])
    found = subset_risks(tuples, largest_subsets(None, len(columns))).found
    chosen = [[named[name] for name in one.columns] for one in found if one.uniques][:_SETS]
    if len(columns) not in map(len, chosen) and tuples.sizes().uniques:
        chosen.append(list(columns))
    tuples.drop()
    return chosen


def _labels_of(coded: Coded, predicates: exp.Table, place: int, subset: Sequence[int]) -> exp.Select:
    """Return the query of the labels of predicates over a set of columns, and how many have the same."""
    labels = [sql.column(label_name(number), "coded") for number in subset]
    same = exp.EQ(this=sql.column(RECORD, "coded"), expression=sql.column(RECORD, "predicates"))
    query = exp.select(*labels, sql.named(sql.count_rows(), N)).from_(sql.aliased(predicates, "predicates"))
    query = query.join(sql.aliased(coded.release, "coded"), on=same, copy=False)
    own = exp.EQ(this=sql.column("subset", "predicates"), expression=sql.literal(place))
    return query.where(own).group_by(*(label.copy() for label in labels))


def _random_labels(coded: Coded, predicates: exp.Table, place: int, subset: Sequence[int]) -> exp.Select:
    """Return the query of as many predicates, the label of each column from a random row of its own."""
    labels = [sql.column(label_name(number), f"coded_{number + 1}") for number in subset]
    query = exp.select(*labels, sql.named(sql.count_rows(), N)).from_(sql.aliased(predicates, "predicates"))
    for number in subset:
        seed = sql.literal(f"{coded.seed} random {number} ")
        text = sql.concatenated(seed, sql.cast(sql.column(RECORD, "predicates"), "VARCHAR"))
        drawn = exp.Mod(
            this=exp.Anonymous(this="MD5_NUMBER_LOWER", expressions=[text]), expression=sql.literal(coded.rows)
        )
        record = exp.Add(this=sql.cast(drawn, "BIGINT"), expression=sql.literal(1))
        alias = f"coded_{number + 1}"
        query = query.join(
            sql.aliased(coded.release, alias), on=exp.EQ(this=sql.column(RECORD, alias), expression=record), copy=False
        )
    own = exp.EQ(this=sql.column("subset", "predicates"), expression=sql.literal(place))
    return query.where(own).group_by(*(label.copy() for label in labels))


def _singled_out(coded: Coded, subset: Sequence[int], labelled: exp.Select) -> tuple[int, int]:
    """Return how many predicates exactly one person of the original satisfies, and one of the control group."""
    engine, names = coded.engine, [place_name(number) for number in subset]
    distinct = exp.select(*names).distinct().from_(coded.sides.copy())
    query = exp.select(sql.named(exp.Window(this=exp.RowNumber()), TUPLE), *names).from_(
        distinct.subquery("distinct_places")
    )
    tuples = make_table(engine, "kanon_tuples", query, "what people have in a set of columns")
    classes, pairs = _matched(coded, subset, tuples, labelled)
    counts = sql.query(
        "attacks/control/singled_out",
        values={"same_places": _same(names, "tuples", "sides"), "at_most": coded.people},
        tables=_tables(coded) | {"tuples": tuples, "pairs": pairs, "classes": classes},
    )
    found = {bool(is_control): right for is_control, right in engine.rows(counts, "predicates that single out")}
    _drop(engine, tuples, classes, pairs)
    return found.get(False, 0), found.get(True, 0)
