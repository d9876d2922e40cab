"""What the candidates of a person say of a sensitive column.

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
    """What is known of one sensitive column."""

    column: str
    baseline: float | None
    doubted = frozenset({"finds nothing"})

    @property
    def about(self) -> str:
        return self.column

    @property
    def _said_of_baseline(self) -> str:
        """What anybody guesses right who knows nothing but how often each value was published."""
        if self.baseline is None:
            return ""
        right = f"is right for {rate(self.baseline)} of the rows"
        return f"; whoever guesses the most frequent published value of all {right}"


@dataclass(frozen=True)
class Homogeneity(_Guess):
    """What is known of one sensitive column."""

    column: str
    confidence: float  # the share of one value among the candidates that counts as known
    rows: int
    rows_certain: int  # rows all whose candidates have one value
    rows_certain_right: int  # those for which it is the true one
    rows_confident: int  # rows for which one value has at least that share
    rows_confident_right: int  # those for which the guess is right
    rows_open: int = 0  # rows for which that is possible, and not certain: some of their classes may still be ruled out
    # people of whom some row has a value for certain, since they have more rows of a class than it has with other
    # values; None where people are not counted, or it is not known who is in which class
    people_by_number: int | None = None
    # the share of released rows that have the most frequent value: what anybody guesses right
    baseline: float | None = None
    name = "homogeneity"

    @property
    def succeeded(self) -> bool:
        return self.rows_confident > 0 or bool(self.people_by_number)

    @property
    def leaves_open(self) -> bool:
        """Whether the labels leave open whether it did."""
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
    """What is known of one sensitive column by one who can rule out values."""

    column: str
    values: int  # its different values in the original
    rows: int
    rows_certain: dict[int, int]  # for each number of values that are ruled out, rows whose value is certain then
    # ... rows for which that is possible, and not certain: some of their classes may still be ruled out.
    rows_open: dict[int, int]
    # the share of released rows that have the most frequent value: what anybody guesses right
    baseline: float | None = None
    name = "background knowledge"

    @property
    def succeeded(self) -> bool:
        """Whether some row is certain after ruling out values that do not leave one for everyone."""
        return self._says_something(self.rows_certain)

    @property
    def leaves_open(self) -> bool:
        """Whether the labels leave open whether it did."""
        return self._says_something(self.rows_open)

    @property
    def meaningless(self) -> bool:
        """Whether each number of values that is ruled out leaves one for everyone, with or without a release."""
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
    """Return what candidates say of a shared column; ``by_original`` is None if people are not counted."""
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
