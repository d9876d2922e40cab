"""The verdict on an attack, and its words: the same in ``attack``, in ``report`` and in the figures of both.

succeeds            it found out what the release should hide
not excluded        the labels leave open whether it did, or rows of one person were counted: not known to find nothing
finds nothing       it was tried on every row, and found nothing out; that proves nothing about other attacks
not meaningful      it says nothing about the release: who can rule out all values but one knows the last anyway, and
                    an attack that is no better than guessing says nothing about the risk
not tested          it could not be tried
"""

from __future__ import annotations

import json
import re
import shlex
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

Outcome = Literal["succeeds", "not excluded", "finds nothing", "not meaningful", "not tested"]
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_TALLIED: tuple[tuple[Outcome, str, str], ...] = (
    ("not excluded", "is", "are"),
    ("not meaningful", "is", "are"),
    ("not tested", "was", "were"),
)
_LEAST_SHARE = 0.0001
_LEAST_RATE = 0.001
CLASSES_UNKNOWN = "labels do not show in which of several classes they were published"
ANOTHER_TABLE = (
    "a release has more rows in some classes than this original has for them: is it a release of that table, and "
    "each row in it once?"
)


class Attack(ABC):
    """The outcome of an attack: counts and column names, never a value."""

    name: str
    reason: str | None = None  # why it was not tested
    doubted: frozenset[Outcome] = frozenset()  # not known of an original that cannot have the rows of the release
    doubt = ANOTHER_TABLE

    @property
    def about(self) -> str | None:
        """The sensitive column, or the other release, that it is about."""
        return None

    @property
    @abstractmethod
    def succeeded(self) -> bool:
        """Whether it found out what the release should hide."""

    @property
    def leaves_open(self) -> bool:
        """Whether it is not known to fail, unless it succeeded."""
        return False

    @property
    def open(self) -> bool:
        return self.leaves_open and not self.succeeded

    @property
    def meaningless(self) -> bool:
        """Whether it says nothing about the release."""
        return False

    @property
    def outcome(self) -> Outcome:
        if self.reason is not None:
            return "not tested"
        if self.meaningless:
            return "not meaningful"
        return "succeeds" if self.succeeded else "not excluded" if self.open else "finds nothing"

    @abstractmethod
    def sentence(self) -> str:
        """Return what it found, without the first capital and the full stop."""

    def public_sentence(self) -> str:
        """Return the same without anything from which values of the original can be computed."""
        return self.sentence()

    @abstractmethod
    def remedy(self, sensitive: int) -> str:
        """Return what stops it; an option need not name the only one of so many sensitive columns."""

    @property
    def stopped_by(self) -> str:
        """What stops it, with the name of the sensitive column."""
        return self.remedy(2)

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """Return what it found as plain values."""

    def public_figures(self) -> dict[str, Any]:
        """Return the figures of ``public_sentence``.

        How many values a sensitive column of the original has tells whether rows that were left out have others.
        """
        return {name: figure for name, figure in self.figures().items() if name != "values"}


@dataclass(frozen=True)
class Verdict:
    """The verdict on an attack, about a sensitive column or another release.

    ``found`` is a sentence: in a report with its first capital and its full stop.
    """

    name: str
    about: str | None
    outcome: Outcome
    found: str
    stopped_by: str
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def attack(self) -> str:
        """The name of the attack."""
        return self.name

    @property
    def succeeded(self) -> bool | None:
        """Whether it found out what should be hidden; None where that is not known, or says nothing."""
        return {"succeeds": True, "finds nothing": False}.get(self.outcome)

    @property
    def endangers(self) -> bool:
        """Whether it succeeds, or is not known to fail."""
        return self.outcome in {"succeeds", "not excluded"}

    def summary(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("outcome", "succeeded", "found", "stopped_by")}

    def in_report(self) -> Verdict:
        return replace(self, found=f"{self.found[:1].upper()}{self.found[1:]}.")

    def stated(self) -> dict[str, Any]:
        """Return the verdict as plain values, as a report has it."""
        return {"name": self.name, "about": self.about, **self.summary(), "figures": self.figures}


class Verdicts:
    """The verdict on each of several attacks, and what they say together."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each attack, in their order."""
        raise NotImplementedError

    @property
    def succeeded(self) -> bool:
        """Whether some attack did."""
        return any(verdict.succeeded for verdict in self.verdicts)

    @property
    def endangered(self) -> bool:
        """Whether some attack succeeds, or is not known to fail."""
        return any(verdict.endangers for verdict in self.verdicts)

    @property
    def said(self) -> str:
        """How many attacks succeed, in words."""
        return tally([verdict.outcome for verdict in self.verdicts])

    def together(self) -> dict[str, Any]:
        """Return what they say together as plain values."""
        return {"succeeded": self.succeeded or (None if self.endangered else False), "said": self.said}


def verdicts_on(
    attacks: Sequence[Attack],
    *,
    with_original: bool = True,
    refused: tuple[str, str] | None = None,
    contradicted: bool = False,
) -> tuple[Verdict, ...]:
    """Return the verdict on each attack.

    ``refused`` is why a check refused the tables, and the options; ``contradicted`` says that the release has rows that
    the original cannot have.
    """
    sensitive = len({attack.about for attack in attacks if attack.name == "homogeneity"})
    verdicts = []
    for attack in attacks:
        outcome, stopped_by = attack.outcome, attack.remedy(sensitive)
        found = attack.reason or (attack.sentence() if with_original else attack.public_sentence())
        if refused is not None and attack.name == "linkage":
            found, stopped_by = f"{found}; but {refused[0]}", f"{stopped_by}. {refused[1]}"
            outcome = "not excluded" if outcome == "finds nothing" else outcome
        if contradicted and outcome in attack.doubted:
            outcome, found = "not excluded", f"{found}; {attack.doubt}"
        figures = attack.figures() if with_original else attack.public_figures()
        verdicts.append(Verdict(attack.name, attack.about, outcome, found, stopped_by, figures))
    return tuple(verdicts)


def tally(outcomes: Sequence[Outcome]) -> str:
    """Return how many attacks succeed, of those that could be tested and say something; and how many did not."""
    number = Counter(outcomes)
    tested = number["succeeds"] + number["not excluded"] + number["finds nothing"]
    parts = ["no attack could be tested"]
    if tested:
        succeeded = number["succeeds"]
        parts = [f"{succeeded or 'none'} of {counted(tested, 'attack')} {'succeed' if succeeded > 1 else 'succeeds'}"]
    for outcome, one, several in _TALLIED if tested else _TALLIED[:2]:
        if n := number[outcome]:
            parts.append(f"{n} {one if n == 1 else several} {outcome}")
    return "; ".join(parts)


def share(rows: int, of: int) -> str:
    """Return a number of rows with their share of all; a share that is not 0 is not written as 0."""
    return part_of(rows, of, counted(rows, "row"))


def part_of(number: int, of: int, written: str | None = None) -> str:
    """Return a number, as it is ``written``, with its share, as ``share`` does."""
    part = number / of if of else 0.0
    share_of_all = "< 0.01%" if 0 < part < _LEAST_SHARE else f"{part:.2%}"
    return f"{f'{number:,}' if written is None else written} ({share_of_all})"


def rate(part: float) -> str:
    """Return a share; one that is not 0 is not written as 0, and one that is not 1 not as 1."""
    if 0 < part < _LEAST_RATE:
        return f"< {_LEAST_RATE:.1%}"
    return f"> {1 - _LEAST_RATE:.1%}" if 1 - _LEAST_RATE < part < 1 else f"{part:.1%}"


def people_of(number: int) -> str:
    return counted(number, "person", "people")


def diversity(column: str, values: int, sensitive: int) -> str:
    """Return the options that require so many values of one of so many sensitive columns."""
    option, line = f"--l {values}", f"l = {values}"
    if sensitive > 1:
        key = column if _PLAIN.fullmatch(column) else json.dumps(column, ensure_ascii=False)
        option, line = f"--l {shlex.quote(f'{column}={values}')}", f"l = {{ {key} = {values} }}"
    return f"{option} or more (in kanon.toml: {line} under [privacy])"
