"""Inferences about a sensitive column from the candidates of a person.

Homogeneity: for which people is the sensitive value the same in all rows that they can be in, or in most of them? If k
people all have the same disease, a person among them has that disease, whichever of them the person is (Machanavajjhala
2007). And if it is known how many rows of a class a person has: a person with 20 of its 24 rows has at least some of
its 20 rows of one disease.

Background knowledge: for which people is the sensitive value certain if an attacker can rule some values out? The worst
case: the attacker rules out values other than the true one, and exactly those among the candidates. If these have at
most m + 1 different values, m are enough. If the whole table has no more than m + 1 values, ruling out m of them
reveals everything without a release; that does not count as a success of the attack.

Baseline: an attacker who knows no column of a person guesses the most frequent published value, which is right for a
share of the released rows. It is reported beside the results. A certain value is more than a guess, so the baseline
changes no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlglot import exp

from kanon_sql.errors import counted
from kanon_sql.risks.attacks.released import shared_name, truth
from kanon_sql.risks.attacks.verdicts import CLASSES_UNKNOWN, Attack, diversity, people_of, rate, share
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.released import ClassPeople, Released


class _Counted(NamedTuple):
    """Rows of the original: see ``sql/attacks/guesses.sql``."""

    different: int
    fewest: int
    confident: bool
    could_be: bool
    is_right: bool
    n: int


class _Guess(Attack):
    """The inferences about one sensitive column."""

    column: str
    baseline: float | None
    doubted = frozenset({"finds nothing"})

    @property
    def about(self) -> str:
        return self.column

    @property
    def _said_of_baseline(self) -> str:
        """The right guesses of someone who only knows how often each value was published."""
        if self.baseline is None:
            return ""
        right = f"is right for {rate(self.baseline)} of the rows"
        return f"; whoever guesses the most frequent published value of all {right}"


@dataclass(frozen=True)
class Homogeneity(_Guess):
    """The inferences about one sensitive column."""

    column: str
    confidence: float  # the share of one value among the candidates from which it counts as known
    rows: int
    rows_certain: int  # rows whose candidates all have one value
    rows_certain_right: int  # those for which this value is the true one
    rows_confident: int  # rows for which one value has at least that share
    rows_confident_right: int  # those for which the guess is right
    rows_open: int = 0  # rows for which this is possible but not certain: some of their classes may still be ruled out
    # people who certainly have a value in some row, because they have more rows of a class than it has with other
    # values; None if people are not counted, or it is not known who is in which class
    people_by_number: int | None = None
    # the share of released rows with the most frequent value: the rate of right guesses without knowledge
    baseline: float | None = None
    name = "homogeneity"

    @property
    def succeeded(self) -> bool:
        return self.rows_confident > 0 or bool(self.people_by_number)

    @property
    def leaves_open(self) -> bool:
        """True if the labels do not settle whether it succeeded."""
        return self.rows_open > 0

    def sentence(self) -> str:
        said = f"the value of {share(self.rows_certain, self.rows)} is certain"
        if self.rows_certain:
            said += f" and of {self.rows_certain_right:,} it is right"
        if self.confidence < 1:
            said += f"; of {share(self.rows_confident, self.rows)} it is known with a confidence of {self.confidence:g}"
            said += f", and of {self.rows_confident_right:,} it is right" if self.rows_confident else ""
        if self.rows_open:
            said += f"; of {share(self.rows_open, self.rows)} it may be: {CLASSES_UNKNOWN}"
        if by_number := self.people_by_number:
            said += (
                f"; of {people_of(by_number)} some row has a value for certain, by how many rows of a class are theirs"
            )
        return said + (self._said_of_baseline if self.succeeded else "")

    def remedy(self, sensitive: int) -> str:
        if self.confidence == 1:
            return diversity(self.column, 2, sensitive)
        below = f"below a confidence of {self.confidence:g}: --alpha, or --t"
        return f"l-diversity of {self.column}: --l 2 or more; {below}"

    def figures(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Background(_Guess):
    """The inferences about one sensitive column by an attacker who can rule out values."""

    column: str
    values: int  # number of distinct values in the original
    rows: int
    rows_certain: dict[int, int]  # for each number of ruled-out values, rows whose value is then certain
    # ... rows for which this is possible but not certain: some of their classes may still be ruled out.
    rows_open: dict[int, int]
    # the share of released rows with the most frequent value: the rate of right guesses without knowledge
    baseline: float | None = None
    name = "background knowledge"

    @property
    def succeeded(self) -> bool:
        """True if some row is certain after ruling out a number of values that does not leave one for everyone."""
        return self._says_something(self.rows_certain)

    @property
    def leaves_open(self) -> bool:
        """True if the labels do not settle whether it succeeded."""
        return self._says_something(self.rows_open)

    @property
    def meaningless(self) -> bool:
        """True if each number of ruled-out values leaves one for everyone, with or without a release."""
        return self.values <= min(self.rows_certain) + 1

    def sentence(self) -> str:
        return self._sentence(f", of {counted(self.values, 'value')}")

    def public_sentence(self) -> str:
        return self._sentence("")

    def _sentence(self, of: str) -> str:
        if self.meaningless:
            has = f"only {counted(self.values, 'value')}" if self.values else "no values"
            return f"the column has {has}: who can rule out all but one knows the last, with or without a release"
        certain = [
            self._after(rows, ruled_out)
            + ("" if ruled_out + 1 < self.values else " (all but one of the column's: that needs no release)")
            for ruled_out, rows in self.rows_certain.items()
        ]
        said = f"certain are {', '.join(certain)}{of}"
        open_rows = [(n, ruled_out) for ruled_out, n in self.rows_open.items() if n and ruled_out + 1 < self.values]
        if open_rows:
            said += f"; {', '.join(self._after(*each) for each in open_rows)} may be: {CLASSES_UNKNOWN}"
        return said + (self._said_of_baseline if any(self.rows_certain.values()) else "")

    def _after(self, rows: int, ruled_out: int) -> str:
        return f"{share(rows, self.rows)} after ruling out {counted(ruled_out, 'value')}"

    def remedy(self, sensitive: int) -> str:
        least = max(self.rows_certain) + 2
        if self.values >= least:
            return diversity(self.column, least, sensitive)
        rule_out = f"its {self.values:,} different values rule out"
        return f"l-diversity of {self.column}: --l {least} or more, which {rule_out}"

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


def guess(
    candidates: Candidates,
    released: Released,
    number: int,
    confidence: float,
    ruled_out: int,
    by_original: ClassPeople | None,
) -> tuple[Homogeneity, Background]:
    """Return the inferences about a shared column; ``by_original`` is None if people are not counted."""
    engine, people = candidates.engine, candidates.people
    column, shared = released.shared[number].original, sql.column(shared_name(number))
    own, of_release = truth(people.value(column, "original"), column), {"released": released.relation}
    share = Fraction(str(confidence))
    sizes = exp.select(sql.count_rows(), sql.count_distinct(own)).from_(sql.aliased(people.copy, "original"))
    rows, values = engine.row(sizes, f"different {column.name}")
    query = sql.query(
        "attacks/guesses/known",
        values={
            "shared": shared,
            "own": own,
            "numerator": share.numerator,
            "denominator": share.denominator,
            "exact": candidates.exact,
        },
        tables=of_release
        | {"sets": candidates.sets, "original": people.copy, "people": people.relation, "found": candidates.found},
    )
    counts = [_Counted(*row) for row in engine.rows(query, f"how often {column.name} is known")]
    query = sql.query("attacks/guesses/published_most", values={"shared": shared}, tables=of_release)
    most, published = engine.row(query, f"the most frequent {column.name} of the release")
    by_number = None
    if by_original is not None and by_original.settled:
        query = sql.query(
            "attacks/people/by_number", values={"value": shared}, tables=of_release | {"members": by_original.members}
        )
        (by_number,) = engine.row(query, f"whose {column.name} follows from their number of rows")
    baseline = most / published if published else None

    homogeneity = Homogeneity(
        column=column.name,
        confidence=confidence,
        rows=rows,
        rows_certain=sum(each.n for each in counts if each.different == 1),
        rows_certain_right=sum(each.n for each in counts if each.different == 1 and each.is_right),
        rows_confident=sum(each.n for each in counts if each.confident),
        rows_confident_right=sum(each.n for each in counts if each.confident and each.is_right),
        rows_open=sum(each.n for each in counts if each.could_be and not each.confident),
        people_by_number=by_number,
        baseline=baseline,
    )
    numbers = range(1, ruled_out + 1)
    certain = {m: sum(each.n for each in counts if each.different <= m + 1) for m in numbers}
    still_open = {m: sum(each.n for each in counts if each.fewest <= m + 1 < each.different) for m in numbers}
    return homogeneity, Background(column.name, values, rows, certain, still_open, baseline)
