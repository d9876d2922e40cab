"""Singling out, linkability and inference against a control group of people who are not in the release.

These are the attacks of Anonymeter (see ``residual``), on tables whose labels may stand for several values. A released
row is a *candidate* for a person if each of its labels in the known columns covers the person's value there. Nothing
else is used: neither which rows were suppressed, nor that a class has no room for more people than rows, which an
attacker would know only for people of the original.

*Targets* are people of the original, and people of the control group, in random order, up to a number. If a person has
several rows, one is drawn. A guess is right or wrong; random choices are made separately for each target.

1. Inference. The attacker knows some columns of a target and guesses another one: the most frequent label among the
   candidates, with ties broken at random; without candidates, the most frequent label of the release. The guess is
   right if the label covers the target's value: a label of a generalized column stands for several. Baseline: the most
   frequent label of the release, for every target. (Anonymeter's is a random row's value, which is right less often: an
   attacker who has seen the published marginals does better.)
2. Linkability. Two sources know different columns of a target. The attacker picks one candidate by the columns of the
   first source and one by those of the second, each uniformly at random: so the right row is picked from a class of k
   with probability 1/k. The guess is right if both picks are the same released row. If one of them has no candidates,
   there is no link. Baseline: two random rows of the release.
3. Singling out. A predicate is the labels of a released row in a set of columns in which no other released row has the
   same labels. It may use any published columns, except columns whose released values are mostly missing from the
   original, which has fewer than half of them (pseudonyms, or made-up values). The sets are those of up to 3 columns in
   which most rows are alone (the first 5), and all columns together; each row is used once, with a random one of its
   sets. The guess is right if exactly one person of the original satisfies it: has a row whose values all labels cover.
   There are no more predicates than people of the control group, so that several of them seldom match the same
   predicate. Baseline: predicates over the same columns, the label of each column taken from a different random row.
   The control rate is ``residual.control_of_singling_out``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from sqlglot import exp

from kanon_sql.engine.base import Column, make_table, resolve_columns
from kanon_sql.errors import UsageError, counted
from kanon_sql.measures.labels import place_name
from kanon_sql.measures.released_labels import label_name
from kanon_sql.risks.attacks.candidates import find_pairs, number_classes, same_in
from kanon_sql.risks.attacks.coded import RECORD, code_tables
from kanon_sql.risks.attacks.residual import (
    EstimatedShare,
    Rate,
    control_of_singling_out,
    residual_risk,
    risk_of_singling_out,
)
from kanon_sql.risks.attacks.verdicts import ANOTHER_TABLE, Attack, people_of, rate
from kanon_sql.risks.estimators.subsets import largest_subsets, subset_risks
from kanon_sql.risks.estimators.tuples import collect
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.coded import Coded
    from kanon_sql.risks.attacks.released import Released
    from kanon_sql.risks.temporary import Values

Name = Literal["singling out", "linkability", "inference"]
CONTROLLED: tuple[Name, ...] = get_args(Name)
"""Attacks whose guesses are compared with guesses about a control group."""
TARGETS = 2_000
"""Default number of people of each group to guess about."""
_SOURCES = 2
_FEW = 3
"""Number of columns that an attacker knows by default, besides all quasi-identifiers."""
_KNOWN = ("classes", "members", "pairs")
_SETS = 5
"""Number of sets of up to three columns whose labels make predicates."""


@dataclass(frozen=True)
class Guessing:
    """How guesses are made, about a maximum number of people of each group.

    ``knows`` are the columns that the attacker knows: of one source, or of two. If empty, they are chosen.
    """

    knows: tuple[tuple[str, ...], ...] = ()
    targets: int = TARGETS
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.targets, bool) or not isinstance(self.targets, int) or self.targets < 1:
            raise UsageError(f"The number of targets is 1 or more, not {self.targets!r}.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise UsageError(f"The seed is a whole number, not {self.seed!r}.")
        if len(self.knows) > _SOURCES:
            raise UsageError(f"--knows has columns of one source or of two. Got {len(self.knows)} sources.")
        if any(not names for names in self.knows):
            raise UsageError("A source of an attacker has no column: name those that it knows, --knows.")


@dataclass(frozen=True)
class Controlled(Attack):
    """The guesses of an attack about people in a release, and about a control group."""

    name: Name
    column: str | None = None  # the column that was inferred; None for other attacks
    # the columns that the attacker knows; for linkability, of each source; none for singling out
    knows: tuple[tuple[str, ...], ...] = ()
    # the rate of right guesses about people of the original
    in_release: Rate = field(default_factory=lambda: Rate(0, 0))
    # the rate of right guesses by someone who knows only the published marginals
    baseline: Rate = field(default_factory=lambda: Rate(0, 0))
    # the rate of right guesses about the control group; for singling out, of predicates that exactly one of its people
    # satisfies
    control: Rate = field(default_factory=lambda: Rate(0, 0))
    people: int = 0
    control_people: int = 0  # people of the control group with whom predicates were compared
    reason: str | None = None  # why the attack was not made; None if it was
    doubted = frozenset({"finds nothing", "not meaningful"})
    doubt = f"{ANOTHER_TABLE}; or has it people of the control group?"

    @property
    def about(self) -> str | None:
        return self.column

    @cached_property
    def control_estimate(self) -> EstimatedShare:
        """The control rate; for singling out, an upper bound of it."""
        if self.name == "singling out" and self.people and self.control_people:
            return control_of_singling_out(self.control, self.people, self.control_people)
        return self.control.estimate

    @property
    def is_bound(self) -> bool:
        """True if the control rate is an upper bound, so that the risk is a lower bound."""
        return self.name == "singling out" and self.control_people < self.people

    @cached_property
    def risk(self) -> EstimatedShare | None:
        """The risk with its interval; None without guesses, or if all guesses about the control group were right."""
        if self.reason is not None or not self.in_release.guesses or not self.control.guesses:
            return None
        if self.name == "singling out":
            return risk_of_singling_out(self.in_release, self.control_estimate)
        return residual_risk(self.in_release.estimate, self.control_estimate)

    @property
    def succeeded(self) -> bool:
        """True if guesses are right more often about people in the release: the interval of the risk excludes 0."""
        return self.risk is not None and self.risk.low > 0

    @property
    def is_guessing(self) -> bool:
        """True if the attack was no better than its baseline, so that it says nothing about the risk."""
        return self.in_release.share <= self.baseline.share

    @property
    def meaningless(self) -> bool:
        """True if it was no better than its baseline, or all guesses about the control group were right."""
        return self.in_release.guesses > 0 and (self.risk is None or (self.is_guessing and not self.succeeded))

    def sentence(self) -> str:
        if not self.in_release.guesses:
            return "no row of the release is unique by its published values, so there is no predicate to try"
        risk = self.risk
        if risk is None:
            return f"{self._rates}; where all guesses about others are right, none is a leak"
        if self.meaningless:
            said = "no better than guessing from the published marginals, which says nothing about the risk"
        else:
            at_least = "at least " if self.is_bound else ""
            said = "" if self.succeeded else "not found to be "
            said += "more often right about people of the original than about others: "
            said += f"risk {at_least}{rate(risk.value)} (95%: {rate(risk.low)} to {rate(risk.high)})"
        return f"{said}; {self._rates}"

    @property
    def _rates(self) -> str:
        """The right guesses about each group, and by the baseline."""
        guesses, right, baseline = self.in_release.guesses, rate(self.in_release.share), rate(self.baseline.share)
        control = self.control_estimate
        if self.name == "singling out":
            return (
                f"{right} of {counted(guesses, 'predicate')} match exactly one person of the original, at most "
                f"{rate(control.high)} would by chance (by {people_of(self.control_people)} of the control group), and "
                f"{baseline} of random ones do"
            )
        by = " in one source and ".join(", ".join(columns) for columns in self.knows)
        return (
            f"by {by}{' in another' if len(self.knows) > 1 else ''}: right for {right} of {people_of(guesses)} of the "
            f"original, {rate(control.value)} of {people_of(self.control.guesses)} of the control group, and for "
            f"{baseline} by guessing from the published marginals"
        )

    def remedy(self, _sensitive: int) -> str:
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


def _know(coded: Coded, known: Sequence[int], at_most: int) -> None:
    """Find the candidates of the targets by columns: ``classes``, their ``members``, and ``pairs``."""
    tables, labels = coded.tables, [label_name(number) for number in known]
    places: Values = {"places": [sql.column(place_name(number), "sides") for number in known], "at_most": at_most}
    tuples = tables.make("attacks/control/targets_known", "known values of targets", places)
    grouped = tables.query("attacks/control/grouped", {"labels": [sql.column(name) for name in labels]})
    _match(coded, known, tuples, grouped)
    same = {"same_class": same_in(labels, "classes", "coded")}
    tables.make("attacks/control/members", "rows of classes by known columns", same)
    tables.drop("targets_known")


def _match(coded: Coded, columns: Sequence[int], tuples: exp.Table, labelled: exp.Query) -> None:
    """Make numbered classes by the labels of columns, and the pairs of a tuple and a class that covers it."""
    tables, covers = coded.tables, [coded.covers[number] for number in columns]
    numbered = make_table(tables.engine, "kanon_numbered", labelled, "classes by some columns")
    classes, ordered = number_classes(tables.engine, tuples, numbered, covers)
    tables.known |= {"classes": classes, "pairs": find_pairs(tables.engine, tuples, classes, ordered)}


def _rates(rows: Sequence[tuple[Any, ...]]) -> tuple[Rate, Rate, Rate]:
    """Return the rates of rows ``(is_control, guesses, right, right by the baseline)``."""
    found = {bool(is_control): (guesses, right, by_baseline) for is_control, guesses, right, by_baseline in rows}
    guesses, right, by_baseline = found.get(False, (0, 0, 0))
    of_control, right_of_control, _ = found.get(True, (0, 0, 0))
    return Rate(right, guesses), Rate(by_baseline, guesses), Rate(right_of_control, of_control)


# 1. Inference


def infer(coded: Coded, known: Sequence[int], secrets: Sequence[int], at_most: int) -> Iterator[Controlled]:
    """Yield the inference of each secret column by an attacker who knows others of ``at_most`` people of each group."""
    tables, names = coded.tables, tuple(coded.columns[number] for number in known)
    _know(coded, known, at_most)
    for secret in secrets:
        name, place = coded.columns[secret], sql.column(place_name(secret), "sides")
        seed: dict[str, Any] = {"seed": str(coded.seed), "secret": sql.column(label_name(secret), "coded")}
        (most,) = tables.row("attacks/control/most", f"the most frequent {name} of the release", seed)
        values = seed | {"place": place, "most": most, "at_most": at_most}
        query = tables.query("attacks/control/inferred", values, covers=coded.covers[secret].relation)
        rates = _rates(tables.engine.rows(query, f"how often {name} is inferred"))
        yield Controlled("inference", name, (names,), *rates, coded.people, coded.control_people)
    tables.drop(*_KNOWN)


# 2. Linkability


def link_sources(coded: Coded, first: Sequence[int], second: Sequence[int], at_most: int) -> Controlled:
    """Return how often two sources, each with its own columns, pick the same released row for a person."""
    tables, seed = coded.tables, str(coded.seed)
    for name, known in (("first", first), ("second", second)):
        _know(coded, known, at_most)
        query = tables.query("attacks/control/picked", {"seed": f"{seed} {name}"})
        tables.keep(f"{name}_picked", query, f"rows that the {name} source picks")
        tables.drop(*_KNOWN)
    query = tables.query("attacks/control/linked", {"seed": seed, "rows": coded.rows, "at_most": at_most})
    rates = _rates(tables.engine.rows(query, "how often both sources pick the same row"))
    tables.drop("first_picked", "second_picked")
    names = tuple(tuple(coded.columns[number] for number in known) for known in (first, second))
    return Controlled("linkability", None, names, *rates, coded.people, coded.control_people)


# 3. Singling out


def found_in_original(coded: Coded) -> list[int]:
    """Return the columns for which the original has at least half of the values of the released rows."""
    kept = list(range(coded.quasi_identifiers))  # each of their labels covers some value
    for number in range(coded.quasi_identifiers, len(coded.columns)):
        same = exp.EQ(this=sql.column(place_name(number), "sides"), expression=sql.column(label_name(number), "coded"))
        title = f"rows whose {coded.columns[number]} the original has"
        (rows,) = coded.tables.row("attacks/control/found_in", title, {"same": same})
        if 2 * rows >= coded.rows:
            kept.append(number)
    return kept


def single_out(coded: Coded, columns: Sequence[int], at_most: int) -> Controlled:
    """Return how many predicates over published columns exactly one person satisfies."""
    tables = coded.tables
    # 1. Sets of columns in which rows of the release are alone.
    chosen = _identifying_sets(coded, columns)
    control_people = min(coded.control_people, coded.people)
    if not chosen:
        return Controlled("singling out", people=coded.people, control_people=control_people)
    alone = [
        tables.query("attacks/control/alone", {"labels": [*_labels(subset)], "subset": place})
        for place, subset in enumerate(chosen)
    ]
    tables.keep("alone", sql.union_all(alone), "rows that are alone in a set of columns")
    # 2. Predicates.
    values: Values = {"seed": str(coded.seed), "at_most": min(at_most, control_people)}
    predicates = tables.make("attacks/control/predicates", "predicates from the release", values)
    tables.drop("alone")
    (number,) = tables.engine.row(sql.select_count(predicates), "predicates")
    # 3. How many of them single out a person, and how many random ones.
    right = by_chance = in_control = 0
    for place, subset in enumerate(chosen):
        original, control = _singled_out(coded, subset, _predicated(coded, place, [*_labels(subset, "coded")], None))
        labels = [sql.column(label_name(column), f"coded_{column + 1}") for column in subset]
        random, _ = _singled_out(coded, subset, _predicated(coded, place, labels, subset))
        right, in_control, by_chance = right + original, in_control + control, by_chance + random
    tables.drop("predicates")
    return Controlled(
        "singling out",
        in_release=Rate(right, number),
        baseline=Rate(by_chance, number),
        control=Rate(in_control, number),
        people=coded.people,
        control_people=control_people,
    )


def _labels(columns: Sequence[int], table: str | None = None) -> Iterator[exp.Column]:
    return (sql.column(label_name(number), table) for number in columns)


def _identifying_sets(coded: Coded, columns: Sequence[int]) -> list[list[int]]:
    """Return the sets of up to three columns in which most rows of a release are alone, and all columns together."""
    named = {label_name(number): number for number in columns}
    tuples = collect(coded.tables.engine, coded.tables.known["coded"], [Column(name, "BIGINT") for name in named])
    found = subset_risks(tuples, largest_subsets(None, len(columns))).found
    chosen = [[named[name] for name in one.columns] for one in found if one.uniques][:_SETS]
    if len(columns) not in map(len, chosen) and tuples.sizes().uniques:
        chosen.append(list(columns))
    tuples.drop()
    return chosen


def _predicated(coded: Coded, place: int, labels: list[exp.Column], drawn: Sequence[int] | None) -> exp.Query:
    """Return the query of the labels of predicates over a set of columns, and how many have the same labels.

    The labels are those of a row; if ``drawn`` columns are given, each label is from a different random row.
    """
    own, relation = sql.column(RECORD, "predicates"), coded.tables.known["coded"]
    joins = [(sql.aliased(relation, "coded"), exp.EQ(this=sql.column(RECORD, "coded"), expression=own))]
    if drawn is not None:
        joins = []
        for number in drawn:
            alias, seed = f"coded_{number + 1}", sql.literal(f"{coded.seed} random {number} ")
            hashed = exp.Anonymous(
                this="MD5_NUMBER_LOWER", expressions=[sql.concatenated(seed, sql.cast(own.copy(), "VARCHAR"))]
            )
            drawn_row = sql.cast(exp.Mod(this=hashed, expression=sql.literal(coded.rows)), "BIGINT")
            record = exp.Add(this=drawn_row, expression=sql.literal(1))
            joins.append((sql.aliased(relation, alias), exp.EQ(this=sql.column(RECORD, alias), expression=record)))
    return coded.tables.query("attacks/control/predicated", {"labels": labels, "subset": place}, {"coded": joins})


def _singled_out(coded: Coded, subset: Sequence[int], labelled: exp.Query) -> tuple[int, int]:
    """Return how many predicates exactly one person of the original satisfies, and one of the control group."""
    tables, names = coded.tables, [place_name(number) for number in subset]
    title, places = "what people have in a set of columns", {"places": [sql.column(name) for name in names]}
    _match(coded, subset, tables.make("attacks/control/tuples", title, places), labelled)
    values: Values = {"same_places": same_in(names, "tuples", "sides"), "at_most": coded.people}
    query = tables.query("attacks/control/singled_out", values)
    found = {bool(is_control): right for is_control, right in tables.engine.rows(query, "predicates that single out")}
    tables.drop("tuples", "classes", "pairs")
    return found.get(False, 0), found.get(True, 0)


# All attacks


def controlled_attacks(
    original: Source,
    control: Source,
    guessing: Guessing,
    candidates: Candidates,
    released: Released,
    sensitive: Sequence[str],
    entity: Column | None,
) -> Iterator[Controlled]:
    """Yield singling out, linkability and inference.

    ``sensitive`` are the columns to infer; if empty, all published columns that are not known.
    """
    coded = code_tables(original.relation, control.relation, candidates, released, entity, guessing.seed)
    quasi_identifiers = [own.hierarchy.column for own in candidates.places]
    known, sources = _known(coded, guessing, original, quasi_identifiers, entity)
    found = found_in_original(coded)
    yield single_out(coded, found, guessing.targets)
    if sources is None:
        yield Controlled("linkability", reason="it takes two columns that an attacker knows, and there is one")
    else:
        yield link_sources(coded, *sources, guessing.targets)
    named = {folded(name) for name in sensitive}
    for columns in known:
        secrets = [
            number
            for number in range(len(coded.columns))
            if number not in columns and (folded(coded.columns[number]) in named if named else number in found)
        ]
        if secrets:
            yield from infer(coded, columns, secrets, guessing.targets)
        else:
            yield Controlled("inference", reason="the attacker knows every column that was to be inferred")


def _known(
    coded: Coded, guessing: Guessing, original: Source, quasi_identifiers: Sequence[Column], entity: Column | None
) -> tuple[list[tuple[int, ...]], tuple[list[int], list[int]] | None]:
    """Return the sets of columns that attackers know, by their numbers, and the two sources of linkability.

    These are the named columns, or else quasi-identifiers: the up to three of them in which most people are alone, and
    all of them. For linkability they are dealt to two sources, in descending order of distinct values: 1st, 4th, 5th,
    8th, ... and 2nd, 3rd, 6th, ... One column cannot make two sources.
    """
    if guessing.knows:
        by_name = {name: number for number, name in enumerate(coded.columns)}
        sources = [
            [by_name[column.name] for column in resolve_columns(names, original.columns, original.name)]
            for names in guessing.knows
        ]
        everything = [number for source in sources for number in source]
        return [tuple(everything)], (sources[0], sources[1]) if len(sources) == _SOURCES else _dealt(everything)
    tuples = collect(original.engine, original.relation, quasi_identifiers, entity)
    found = subset_risks(tuples, min(_FEW, largest_subsets(None, len(quasi_identifiers)))).found
    tuples.drop()
    number_of = {column.name: number for number, column in enumerate(quasi_identifiers)}
    most = max(len(one.columns) for one in found)
    few = tuple(number_of[name] for name in next(one.columns for one in found if len(one.columns) == most))
    by_values = sorted((one for one in found if len(one.columns) == 1), key=lambda one: -one.classes)
    everything = list(range(len(quasi_identifiers)))
    sets = [few] if len(few) == len(everything) else [few, tuple(everything)]
    return sets, _dealt([number_of[one.columns[0]] for one in by_values])


def _dealt(numbers: Sequence[int]) -> tuple[list[int], list[int]] | None:
    if len(numbers) < _SOURCES:
        return None
    first = [number for place, number in enumerate(numbers) if place % 4 in {0, 3}]
    return first, [number for number in numbers if number not in first]
