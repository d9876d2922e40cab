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
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.errors import counted as counted  # noqa: PLC0414 - evidence/report takes it from here
from kanon_sql.risks.attacks.choice import Choice
from kanon_sql.risks.attacks.controlled import CONTROLLED, Controlled
from kanon_sql.risks.attacks.guesses import Background, Homogeneity
from kanon_sql.risks.attacks.joint import Joint
from kanon_sql.risks.attacks.linkage import Linkage, LinkedPeople
from kanon_sql.risks.attacks.order import Order

if TYPE_CHECKING:
    from collections.abc import Sequence


_Alone = Linkage | Homogeneity | Background | Choice | Order | Joint
Attack = _Alone | Controlled
"""The outcome of an attack: counts and column names, never a value."""

Outcome = Literal["succeeds", "not excluded", "finds nothing", "not meaningful", "not tested"]
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_TALLIED: tuple[tuple[Outcome, str, str], ...] = (
    ("not excluded", "is", "are"),
    ("not meaningful", "is", "are"),
    ("not tested", "was", "were"),
)
_LEAST_SHARE = 0.0001
_LEAST_RATE = 0.001
_CLASSES = "in which of several classes they were published cannot be told"
_ANOTHER_TABLE = (
    "a release has more rows in some classes than this original has for them: is it a release of that table, and "
    "each row in it once?"
)
_LABELS = "which rows were published cannot be told from the labels"


@dataclass(frozen=True)
class Verdict:
    """The verdict on an attack, about a sensitive column or another release.

    ``found`` is a sentence without its first capital and its full stop.
    """

    attack: str
    about: str | None
    outcome: Outcome
    found: str
    stopped_by: str

    @property
    def succeeded(self) -> bool | None:
        """Whether it found out what should be hidden; None where that is not known, or says nothing."""
        return {"succeeds": True, "finds nothing": False}.get(self.outcome)

    def summary(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("outcome", "succeeded", "found", "stopped_by")}

    @property
    def endangers(self) -> bool:
        return self.outcome in {"succeeds", "not excluded"}


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
    sensitive = {attack.column for attack in attacks if isinstance(attack, Homogeneity)}
    verdicts = [
        _controlled(attack) if isinstance(attack, Controlled) else _verdict(attack, len(sensitive) == 1, with_original)
        for attack in attacks
    ]
    if refused is not None:
        verdicts = [_of_refused(one, *refused) if one.attack == "linkage" else one for one in verdicts]
    if contradicted:
        verdicts = [_of_another_table(one) for one in verdicts]
    return tuple(verdicts)


def _of_another_table(verdict: Verdict) -> Verdict:
    """Return the verdict on an attack by an original that cannot have all rows of the release."""
    compared = verdict.attack in CONTROLLED and verdict.outcome == "not meaningful"
    looked_up = verdict.attack in {"linkage", "homogeneity", "background knowledge", *CONTROLLED}
    if not compared and (verdict.outcome != "finds nothing" or not looked_up):
        return verdict
    also = "; or has it people of the control group?" if verdict.attack in CONTROLLED else ""
    found = f"{verdict.found}; {_ANOTHER_TABLE}{also}"
    return replace(verdict, outcome="not excluded", found=found)


def _of_refused(verdict: Verdict, text: str, ways_on: str) -> Verdict:
    """Return the verdict on linkage with tables that a check refused."""
    found = f"{verdict.found}; but {text}"
    outcome: Outcome = "not excluded" if verdict.outcome == "finds nothing" else verdict.outcome
    return replace(verdict, outcome=outcome, found=found, stopped_by=f"{verdict.stopped_by}. {ways_on}")


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


def _verdict(attack: _Alone, only_sensitive: bool, with_original: bool) -> Verdict:
    about, outcome = None, _outcome(attack)
    match attack:
        case Linkage():
            found = _linkage(attack)
        case Homogeneity():
            found, about = _homogeneity(attack), attack.column
        case Background():
            found, about = _background(attack, with_original=with_original), attack.column
        case Choice():
            found, about = _choice(attack), attack.column
        case Order():
            found = _order(attack, with_original=with_original)
        case Joint():
            found, about = _joint(attack), attack.other
            found += f"; {_ANOTHER_TABLE}" if outcome == "not excluded" else ""
    return Verdict(attack.name, about, outcome, found, _remedy(attack, only_sensitive))


def _outcome(attack: _Alone) -> Outcome:
    if isinstance(attack, Choice | Order) and attack.reason is not None:
        return "not tested"
    if isinstance(attack, Background) and attack.meaningless:
        return "not meaningful"
    if attack.succeeded:
        return "succeeds"
    is_open = attack.contradicted if isinstance(attack, Joint) else not isinstance(attack, Order) and attack.open
    return "not excluded" if is_open else "finds nothing"


def _linkage(found: Linkage) -> str:
    parts = [] if found.people is None else _linked_people(found, found.people)
    parts.append(f"{share(found.rows_below_k, found.rows)} have fewer than {found.k} candidate rows")
    if found.rows_open:
        parts.append(f"{share(found.rows_open, found.rows)} may have: {_CLASSES}")
    if found.smallest is not None:
        parts.append(f"the fewest are {found.smallest:,}")
    single = f"{share(found.rows_with_one_class, found.rows)} find exactly one class"
    if found.smallest_single_class is not None:
        single += f", the smallest of {counted(found.smallest_single_class, 'row')}"
    parts.append(single)
    if found.rows_without_class:
        parts.append(f"{share(found.rows_without_class, found.rows)} find none, and are known to be left out")
    if found.people_tied:
        people = counted(found.people_tied, "person", "people")
        parts.append(f"the pseudonyms of {people} tie rows of classes together that fewer than {found.k} people have")
    if found.rows_fitting_few and found.fewest_fitting is not None:
        who = "rows" if found.people is None else "people"
        few = counted(found.rows_fitting_few, "row")
        parts.append(f"{few} of the release can be of fewer than {found.k} {who}, of {found.fewest_fitting:,} at least")
    if found.fitting_open:
        parts.append(f"rows of classes of fewer than {found.k} may be of fewer: {_CLASSES}")
    return "; ".join(parts)


def _linked_people(found: Linkage, people: LinkedPeople) -> list[str]:
    below = counted(people.people_below_k, "person", "people")
    parts = [f"{below}, {share(people.rows_below_k, found.rows)}, are among fewer than {found.k} people"]
    if people.smallest is not None and people.smallest_at_most is not None:
        fewest = counted(people.smallest, "person", "people")
        if people.smallest != people.smallest_at_most:
            fewest = f"at least {people.smallest:,} and at most {counted(people.smallest_at_most, 'person', 'people')}"
        parts.append(f"the fewest are {fewest} ({people.entity})")
    if people.rows_open:
        more = counted(people.people_open, "person", "people")
        parts.append(f"{more}, {share(people.rows_open, found.rows)}, may be too: {_LABELS}")
    return parts


def _homogeneity(found: Homogeneity) -> str:
    said = f"the value of {share(found.rows_certain, found.rows)} is certain"
    if found.rows_certain:
        said += f" and of {found.rows_certain_right:,} it is right"
    if found.confidence < 1:
        said += f"; of {share(found.rows_confident, found.rows)} it is known with a confidence of {found.confidence:g}"
        said += f", and of {found.rows_confident_right:,} it is right" if found.rows_confident else ""
    if found.rows_open:
        said += f"; of {share(found.rows_open, found.rows)} it may be: {_CLASSES}"
    if found.people_by_number:
        people = counted(found.people_by_number, "person", "people")
        said += f"; of {people} some row has a value for certain, by how many rows of a class are theirs"
    return said + (_baseline(found.baseline) if found.succeeded else "")


def _background(found: Background, *, with_original: bool) -> str:
    if found.meaningless:
        has = f"only {counted(found.values, 'value')}" if found.values else "no values"
        return f"the column has {has}: who can rule out all but one knows the last, with or without a release"
    certain = [
        f"{share(rows, found.rows)} after ruling out {counted(ruled_out, 'value')}"
        + ("" if ruled_out + 1 < found.values else " (all but one of the column's: that needs no release)")
        for ruled_out, rows in found.rows_certain.items()
    ]
    of = f", of {counted(found.values, 'value')}" if with_original else ""
    said = f"certain are {', '.join(certain)}{of}"
    may_be = [
        f"{share(rows, found.rows)} after ruling out {counted(ruled_out, 'value')}"
        for ruled_out, rows in found.rows_open.items()
        if rows and ruled_out + 1 < found.values
    ]
    said += f"; {', '.join(may_be)} may be: {_CLASSES}" if may_be else ""
    return said + (_baseline(found.baseline) if any(found.rows_certain.values()) else "")


def _baseline(share_of_most: float | None) -> str:
    """Return what anybody guesses right who knows nothing but how often each value was published."""
    if share_of_most is None:
        return ""
    return f"; whoever guesses the most frequent published value of all is right for {_rate(share_of_most)} of the rows"


def _choice(found: Choice) -> str:
    if found.reason is not None:
        return found.reason
    if found.uncounted is not None:
        return f"{found.uncounted}. What {found.algorithm} did not publish tells something of sensitive values"
    if found.all_or_none:
        return "the choice all-or-none makes nobody's value certain to one who knows the algorithm"
    said = f"{share(found.rows_certain, found.rows)} are certain to one who knows that {found.algorithm} made it"
    if found.rows_certain:
        said += f", and of {found.rows_certain_right:,} it is right"
    if found.rows_below:
        said += f"; {share(found.rows_below, found.rows)} have fewer possible values than was promised"
    were = "was" if found.held_back == 1 else "were"
    return f"{said}; {counted(found.held_back, 'class', 'classes')} {were} held back. More may follow"


def _order(found: Order, *, with_original: bool) -> str:
    if found.reason is not None:
        return found.reason
    if not found.succeeded:
        return "the rows do not follow the order of the original"
    if not with_original:
        return "the rows follow position"
    distinct = f"{counted(found.rows_distinct, 'row')} of the release like no other can be told by their place"
    if not found.follows or found.correlation is None:
        return f"the rows follow position: {found.rows_in_place or 0:,} stand where the original has one like them"
    return f"the rows follow position (correlation {found.correlation:.2f}); {distinct}"


def _joint(found: Joint) -> str:
    classes = found.classes
    if classes.smallest is None:
        return "no row is in either"
    who = "rows" if classes.people_below_k is None else "people"
    said = f"{share(classes.rows_below_k, found.rows)} are left with fewer than {found.k} {who}"
    if classes.people_below_k is not None:
        said += f" ({counted(classes.people_below_k, 'person', 'people')})"
    said += (
        f", {classes.alone:,} alone; {classes.groups_below_k:,} of {counted(classes.groups, 'group')} are that small"
    )
    said += f", the smallest of {classes.smallest:,}"
    for known in found.known:
        said += f"; the value of {known.column} is certain for {share(known.rows_certain, found.rows)}"
        if known.joined_by:
            said += f", joined by {', '.join(known.joined_by)}"
        if known.rows_certain:
            said += f" and right for {known.rows_certain_right:,}, from both together for "
            said += f"{known.rows_certain_together:,}"
        if known.rows_alike:
            said += (
                f"; {counted(known.rows_alike, 'row')} are left in groups of enough people with {known.too_few} of it"
            )
    return said


def _controlled(attack: Controlled) -> Verdict:
    """Return the verdict on an attack that was compared with a control group."""
    outcome: Outcome = "succeeds" if attack.succeeded else "finds nothing"
    guesses, risk = attack.in_release.guesses, attack.risk
    if attack.reason is not None:
        outcome, found = "not tested", attack.reason
    elif not guesses:
        found = "no row of the release is alone in what is published of it, so that there is no predicate to try"
    elif risk is None:
        outcome, found = "not meaningful", f"{_rates(attack)}; where all guesses about others are right, none is a leak"
    else:
        at_least = "at least " if attack.is_bound else ""
        measured = f"risk {at_least}{_rate(risk.value)} (95%: {_rate(risk.low)} to {_rate(risk.high)})"
        if attack.succeeded:
            said = f"more often right about people of the original than about others: {measured}"
        elif attack.is_guessing:
            outcome = "not meaningful"
            said = "no better than guessing from the published marginals, which says nothing about the risk"
        else:
            said = f"not found to be more often right about people of the original than about others: {measured}"
        found = f"{said}; {_rates(attack)}"
    return Verdict(attack.name, attack.column, outcome, found, attack.stopped_by)


def _rates(attack: Controlled) -> str:
    """Return what was right of the guesses about each group, and by the baseline."""
    guesses, right = attack.in_release.guesses, _rate(attack.in_release.share)
    control, baseline = _rate(attack.control_estimate.value), _rate(attack.baseline.share)
    if attack.name == "singling out":
        people = counted(attack.control_people, "person", "people")
        return (
            f"{right} of {counted(guesses, 'predicate')} match exactly one person of the original, at most "
            f"{_rate(attack.control_estimate.high)} would by chance (by {people} of the control group), and {baseline} "
            "of random ones do"
        )
    sources = " in one source and ".join(", ".join(columns) for columns in attack.knows)
    by = f"by {sources}{' in another' if len(attack.knows) > 1 else ''}"
    of = f"{right} of {counted(guesses, 'person', 'people')} of the original"
    of_control = f"{control} of {counted(attack.control.guesses, 'person', 'people')} of the control group"
    return f"{by}: right for {of}, {of_control}, and for {baseline} by guessing from the published marginals"


def _rate(share: float) -> str:
    """Return a share; one that is not 0 is not written as 0, and one that is not 1 not as 1."""
    if 0 < share < _LEAST_RATE:
        return f"< {_LEAST_RATE:.1%}"
    return f"> {1 - _LEAST_RATE:.1%}" if 1 - _LEAST_RATE < share < 1 else f"{share:.1%}"


def _remedy(attack: _Alone, only_sensitive: bool) -> str:
    if isinstance(attack, Homogeneity) and attack.confidence == 1:
        return _diversity(attack.column, 2, only_sensitive=only_sensitive)
    if isinstance(attack, Background) and attack.values >= (least := max(attack.rows_certain) + 2):
        return _diversity(attack.column, least, only_sensitive=only_sensitive)
    if isinstance(attack, Linkage):
        in_file = f"k = {attack.k} under [privacy], and the columns in quasi_identifiers under [columns]"
        return f"{attack.stopped_by} (in kanon.toml: {in_file})"
    return attack.stopped_by


def _diversity(column: str, values: int, *, only_sensitive: bool) -> str:
    option, line = f"--l {values}", f"l = {values}"
    if not only_sensitive:
        key = column if _PLAIN.fullmatch(column) else json.dumps(column, ensure_ascii=False)
        option, line = f"--l {shlex.quote(f'{column}={values}')}", f"l = {{ {key} = {values} }}"
    return f"{option} or more (in kanon.toml: {line} under [privacy])"
