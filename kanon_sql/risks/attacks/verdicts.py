"""The verdict on an attack, and its words: the same in ``attack``, in ``report`` and in the figures of both.

succeeds            it revealed something that the release should hide
not excluded        the labels do not settle it, or rows of one person were counted: the attack is not known to fail
finds nothing       it was tried on every row, without success; that proves nothing about other attacks
not meaningful      it says nothing about the release: an attacker who can rule out all values but one knows the last
                    anyway, and an attack that is no better than guessing says nothing about the risk
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
    doubted: frozenset[Outcome] = frozenset()  # unknown outcomes if the original cannot have the rows of the release
    doubt = ANOTHER_TABLE

    @property
    def about(self) -> str | None:
        """The sensitive column, or the other release, that it is about."""
        return None

    @property
    @abstractmethod
    def succeeded(self) -> bool:
        """True if it revealed something that the release should hide."""

    @property
    def leaves_open(self) -> bool:
        """True if it is not known to fail, unless it succeeded."""
        return False

    @property
    def open(self) -> bool:
        return self.leaves_open and not self.succeeded

    @property
    def meaningless(self) -> bool:
        """True if it says nothing about the release."""
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
        """Return its result, without the first capital and the full stop."""

    def public_sentence(self) -> str:
        """Return the result without anything from which values of the original can be computed."""
        return self.sentence()

    @abstractmethod
    def remedy(self, sensitive: int) -> str:
        """Return the fix; an option need not name the column if it is the only one of ``sensitive`` columns."""

    @property
    def stopped_by(self) -> str:
        """The fix, with the name of the sensitive column."""
        return self.remedy(2)

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """Return its result as plain values."""

    def public_figures(self) -> dict[str, Any]:
        """Return the figures of ``public_sentence``.

        The number of values of a sensitive column in the original would reveal whether suppressed rows have others.
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
        return self.name

    @property
    def succeeded(self) -> bool | None:
        """True if it revealed something that should be hidden; None if that is unknown, or means nothing."""
        return {"succeeds": True, "finds nothing": False}.get(self.outcome)

    @property
    def endangers(self) -> bool:
        """True if it succeeds, or is not known to fail."""
        return self.outcome in {"succeeds", "not excluded"}

    def summary(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("outcome", "succeeded", "found", "stopped_by")}

    def in_report(self) -> Verdict:
        return replace(self, found=f"{self.found[:1].upper()}{self.found[1:]}.")

    def stated(self) -> dict[str, Any]:
        """Return the verdict as plain values, in the form of a report."""
        return {"name": self.name, "about": self.about, **self.summary(), "figures": self.figures}


class Verdicts:
    """The verdict on each of several attacks, and their summary."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each attack, in their order."""
        raise NotImplementedError

    @property
    def succeeded(self) -> bool:
        """True if some attack succeeded."""
        return any(verdict.succeeded for verdict in self.verdicts)

    @property
    def endangered(self) -> bool:
        """True if some attack succeeds, or is not known to fail."""
        return any(verdict.endangers for verdict in self.verdicts)

    @property
    def said(self) -> str:
        """The number of attacks that succeed, in words."""
        return tally([verdict.outcome for verdict in self.verdicts])

    def together(self) -> dict[str, Any]:
        """Return their summary as plain values."""
        return {"succeeded": self.succeeded or (None if self.endangered else False), "said": self.said}


def verdicts_on(
    attacks: Sequence[Attack],
    *,
    with_original: bool = True,
    refused: tuple[str, str] | None = None,
    contradicted: bool = False,
) -> tuple[Verdict, ...]:
    """Return the verdict on each attack.

    ``refused`` has the reason why a check refused the tables, and the options. ``contradicted`` means that the release
    has rows that the original cannot have.
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
    """Return how many attacks succeed, of those that were tested and are meaningful; and how many were not."""
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
    """Return a number of rows with their share of all; a share above 0 is not written as 0."""
    return part_of(rows, of, counted(rows, "row"))


def part_of(number: int, of: int, written: str | None = None) -> str:
    """Return a number, ``written`` in some form, with its share, as ``share`` does."""
    part = number / of if of else 0.0
    share_of_all = "< 0.01%" if 0 < part < _LEAST_SHARE else f"{part:.2%}"
    return f"{f'{number:,}' if written is None else written} ({share_of_all})"


def rate(part: float) -> str:
    """Return a share; one above 0 is not written as 0, and one below 1 not as 1."""
    if 0 < part < _LEAST_RATE:
        return f"< {_LEAST_RATE:.1%}"
    return f"> {1 - _LEAST_RATE:.1%}" if 1 - _LEAST_RATE < part < 1 else f"{part:.1%}"


def people_of(number: int) -> str:
    return counted(number, "person", "people")


def diversity(column: str, values: int, sensitive: int) -> str:
    """Return the options that require ``values`` values of one of ``sensitive`` sensitive columns."""
    option, line = f"--l {values}", f"l = {values}"
    if sensitive > 1:
        key = column if _PLAIN.fullmatch(column) else json.dumps(column, ensure_ascii=False)
        option, line = f"--l {shlex.quote(f'{column}={values}')}", f"l = {{ {key} = {values} }}"
    return f"{option} or more (in kanon.toml: {line} under [privacy])"
