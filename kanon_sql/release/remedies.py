"""Remedies that would make a release more useful: changes of one option each, tried on the existing frequency set.

A remedy is one different setting: another algorithm, more suppression, a column that is not published, or, last and
labelled, a weaker promise. Its figures come from the same search that the command with the option runs. Which remedies
are tried depends only on printed figures (policy, loss, levels, labels, rows) and on the remaining time. So the choice
of remedies to try reveals no more than these. Figures of other releases are for the person who makes this one: no
report has them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from kanon_sql.engine.base import written_name
from kanon_sql.errors import KanonError
from kanon_sql.measures.shares import MUCH_LOST, WORTH_SAYING, others_lose
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets
from kanon_sql.policy.algorithms import options_of_others
from kanon_sql.search.prepare import problem_of
from kanon_sql.search.run import search
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.measures.quality import Quality
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.release import Release
    from kanon_sql.search.prepare import Prepared

MOST_REMEDIES = 3
_LIMITS = (0.05, 0.1)
"""Limits of suppression to try, the lower one first."""
_COLUMNS = 3
"""Number of columns to leave out, one at a time: those with the most labels."""
_KNOWN = 3
"""Number of columns that an attacker knows, under the weaker promise."""
_NOT_IN_VIEWS = {"--algorithm", "--known"}
"""Options whose recoding a view cannot have: ``local``, and k for some of the columns."""
_SHARE_OF_SEARCH = 1 / 3
_LEAST_SECONDS = 2.0
"""Time for remedies even if the search was fast."""


@dataclass(frozen=True)
class Remedy:
    """An option, and the release that it would give.

    Attributes:
        options: to add to the command.
        loss: of the release with the option; if it removes a column, the loss of the others.
        instead_of: the loss of the same columns without the option.
        weakens: whether it promises less than the policy.
        means: the effect of the option, if its name does not say it.
    """

    options: tuple[str, str]
    loss: float
    instead_of: float
    rows_suppressed: int
    means: str = ""
    weakens: bool = False

    @property
    def gain(self) -> float:
        """By how much the loss is reduced."""
        return self.instead_of - self.loss


@dataclass(frozen=True)
class Remedies:
    """The remedies of a release.

    Attributes:
        best: up to three, largest gain first; a weaker promise comes last.
        untried: options for which there was no time.
    """

    best: tuple[Remedy, ...] = ()
    untried: tuple[tuple[str, str], ...] = ()


def remedies(release: Release, *, as_view: bool = False) -> Remedies:
    """Return the remedies of a release with a large loss or emptied columns; ``as_view``: those that a view can have.

    Each loses at least 0.05 less. A weaker promise never stands alone. They are tried for a third of the
    search time, or two seconds if that is longer. A search that stops before it is complete gives no remedy.
    Pseudonyms have none: their rare signatures are only known once a release is made.
    """
    source = release.prepared.source
    if source.gone or not release.rows_out or release.publication.pseudonyms or source.engine.in_transaction():
        return Remedies()
    if release.loss <= MUCH_LOST and not release.emptied:
        return Remedies()
    end = time.monotonic() + max(release.seconds["search"] * _SHARE_OF_SEARCH, _LEAST_SECONDS)
    found: dict[str, Remedy] = {}
    untried: list[tuple[str, str]] = []
    for one in _candidates(release):
        if as_view and one.options[0] in _NOT_IN_VIEWS:
            continue
        remedy = None if time.monotonic() >= end else _tried(release, one, end)
        if time.monotonic() >= end:
            untried.append(one.options)
        elif remedy is not None and remedy.gain >= WORTH_SAYING:
            # The lowest limit that helps, and the column whose removal helps the others most.
            best = found.setdefault(one.options[0], remedy)
            if one.left_out is not None and remedy.gain > best.gain:
                found[one.options[0]] = remedy
    best_first = sorted(found.values(), key=lambda remedy: (remedy.weakens, -remedy.gain))[:MOST_REMEDIES]
    alone_weakens = not best_first or best_first[0].weakens
    return Remedies(() if alone_weakens else tuple(best_first), tuple(untried))


class _Candidate(NamedTuple):
    """An option to try, and the policy with it."""

    options: tuple[str, str]
    policy: Policy
    means: str
    left_out: str | None = None  # the column that is not published
    weakens: bool = False


def _candidates(release: Release) -> Iterator[_Candidate]:
    """Yield the options to try, those that are found fastest first.

    The column with the most labels is left out first; a column at its root is not tried, because the others would not
    change. ``local`` is not tried if a person has several rows, which ``kanon check`` could not count by its labels, or
    if sensitive columns are published, because its small classes reveal more of their values.
    """
    policy, roles, prepared = release.policy, release.prepared.roles, release.prepared
    is_plain = all(isinstance(model, KAnonymity) for model in policy.models)
    heights = {hierarchy.column.name: hierarchy.height for hierarchy in prepared.hierarchies}
    leveled = {folded(name) for name in policy.levels}
    weights = dict(zip(heights, prepared.weights(policy), strict=True))
    if policy.algorithm == "optimal" and policy.measure == "loss" and len(prepared.hierarchies) > 1:
        for name, labels in sorted((release.labels or {}).items(), key=lambda item: -item[1])[:_COLUMNS]:
            if labels > 1 and folded(name) not in leveled and any(weights[other] for other in heights if other != name):
                means = "the column is left out; losses are of the others"
                yield _Candidate(("--id", written_name(name)), without_column(policy, name, heights[name]), means, name)
    for limit in _LIMITS:
        if policy.rows_allowed(release.rows_in, policy.k) < int(limit * release.rows_in):
            own_option = ("--max-suppressed", f"{limit:.0%}")
            yield _Candidate(own_option, policy.suppressing(limit), "more rows are left out")
    is_recoded_here = policy.search_on != "warehouse"  # else local is refused, as with options of other algorithms
    has_no_levels = not policy.levels and all(getattr(policy, name) is None for name in options_of_others("local"))
    is_local = policy.algorithm == "local" or roles.entity is not None or bool(roles.sensitive)
    if is_plain and is_recoded_here and has_no_levels and not is_local:
        local = replace(policy, algorithm="local")
        yield _Candidate(("--algorithm", "local"), local, "each row has its own levels")
    if is_plain and len(prepared.hierarchies) > _KNOWN:
        (k,) = (model for model in policy.models if isinstance(model, KAnonymity))
        weaker = replace(policy, models=(KnownSubsets(_KNOWN, k.k, k.entity),))
        means = f"a weaker promise: k holds for those who know {_KNOWN} columns at most"
        yield _Candidate(("--known", str(_KNOWN)), weaker, means, weakens=True)


def _tried(release: Release, candidate: _Candidate, end: float) -> Remedy | None:
    """Try an option; return None if it has no release, or none in time."""
    prepared = release.prepared
    quality = quality_of(prepared, candidate.policy, end)
    if quality is None:
        return None
    loses, lost = quality.values["loss"] or 0.0, release.loss
    if candidate.left_out is not None:
        place = [hierarchy.column.name for hierarchy in prepared.hierarchies].index(candidate.left_out)
        weights = prepared.weights(candidate.policy)
        loses, lost = (others_lose(one, place, weights) for one in (quality.by_column["loss"], release.losses))
    suppressed = quality.counts.suppressed
    return Remedy(candidate.options, loses, lost, suppressed, candidate.means, weakens=candidate.weakens)


def without_column(policy: Policy, name: str, height: int) -> Policy:
    """Return a policy that fixes this column at its root: the other columns are then as if it were left out."""
    return replace(policy, levels={**policy.levels, name: str(height)})


def quality_of(prepared: Prepared, policy: Policy, end: float) -> Quality | None:
    """Return the loss of the release of a policy; None if there is none, or the search was stopped at ``end``."""
    try:
        found = search(problem_of(prepared, policy), policy.algorithm, deadline=end)
    except KanonError:
        return None
    quality = prepared.measured(policy, found.recoding, found.classes, found.models, loss_alone=True)
    return quality if found.stopped is None else None
