"""``attack_tables``: what tables that were released together give away to someone who knows people and their events.

The attacker knows the quasi-identifiers of a person as they are published, and those of up to m of their events; the
same is counted in the originals, where values are raw, for comparison.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import UsageError, counted
from kanon_sql.evidence.tables import as_released, people_refused, released_place, same_place, verified_alone
from kanon_sql.policy.tables import TablesPolicy, read_tables_policy
from kanon_sql.release.tables.found_people import found_people
from kanon_sql.release.tables.opened import open_originals, open_released
from kanon_sql.risks.attacks.verdicts import Verdict, Verdicts, part_of

if TYPE_CHECKING:
    import os

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.release.tables.found_people import FoundPeople
    from kanon_sql.release.tables.verify import TablesVerification
    from kanon_sql.risks.attacks.verdicts import Outcome


@dataclass(frozen=True)
class TablesAttacked(Verdicts):
    """The outcome of an attack on released tables.

    Attributes:
        table, original: places of the release and of its originals.
        k, km: as in the policy: with up to km known events, no person is found, as is promised.
        found: people found in the released tables by up to 0, 1, ... events; ``found_before`` in the originals.
        keys: of ``check_tables``, the findings about keys and identifying columns.
    """

    table: str
    original: str
    k: int
    km: int
    found: tuple[FoundPeople, ...]
    found_before: tuple[FoundPeople, ...]
    keys: TablesVerification

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on linkage by each number of events, and on keys."""
        by_events = zip(self.found, self.found_before, strict=True)
        return (*(self._linkage(own, was) for own, was in by_events), self._keys())

    def _linkage(self, own: FoundPeople, was: FoundPeople) -> Verdict:
        outcome: Outcome = "succeeds" if own.below_k else "finds nothing"
        if own.below_k is None:
            outcome = "not tested"
        found, stopped_by = _found(own, self.k), f"what the policy promises (k = {self.k}, km = {self.km})"
        if own.events > self.km:
            found += f"; nothing is promised of {counted(own.events, 'event')} (km = {self.km})"
            stopped_by = f"km = {own.events} (in kanon.toml: km = {own.events} under [privacy])"
        found += f"; in the originals, {_found(was, self.k)}"
        known = counted(own.events, "known event") if own.events else "no known event"
        return Verdict(f"linkage, {known}", None, outcome, found, stopped_by)

    def _keys(self) -> Verdict:
        keys, problems = self.keys, self.keys.problems()
        outcome: Outcome = "not excluded" if problems else "finds nothing"
        if keys.identifying or any(keys.raw_keys.values()):
            outcome = "succeeds"
        found = "; ".join(problems) or (
            "every key is written as a pseudonym and leads to a released row, and no identifying column is there"
        )
        return Verdict("keys", None, outcome, found, "a release by kanon anonymize with this policy")

    def summary(self) -> dict[str, Any]:
        """Return the outcome as plain values: what ``--format json`` prints."""
        *linked, keys = self.verdicts
        attacks: list[dict[str, Any]] = [
            {
                "attack": "linkage",
                **verdict.summary(),
                "promised": own.events <= self.km,
                **_figures(own),
                "original": _figures(was),
            }
            for verdict, own, was in zip(linked, self.found, self.found_before, strict=True)
        ]
        attacks.append({"attack": "keys", **keys.summary(), "problems": self.keys.problems()})
        return {
            **{name: getattr(self, name) for name in ("table", "original", "k", "km")},
            "succeeded": self.succeeded or (None if self.endangered else False),
            "said": self.said,
            "attacks": attacks,
        }


def _figures(found: FoundPeople) -> dict[str, Any]:
    """Return who is found, with shares of all people."""
    shares = {
        f"share_{name}": None if number is None else number / found.people if found.people else 0.0
        for name, number in (("alone", found.alone), ("below_k", found.below_k))
    }
    return {**asdict(found), **shares}


def _found(found: FoundPeople, k: int) -> str:
    if found.alone is None or found.below_k is None:
        return f"not counted: {found.combinations:,} combinations of {counted(found.events, 'event')} are too many"
    if found.smallest is None:
        return "there are no people"
    everybody = counted(found.people, "person", "people")
    if not found.below_k:
        return f"none of {everybody} is among fewer than {k} people: the smallest group is of {found.smallest:,}"
    below_k = part_of(found.below_k, found.people, f"{found.below_k:,} of {everybody}")
    among = f"{'is' if found.below_k == 1 else 'are'} among fewer than {k} people"
    return f"{below_k} {among}, {part_of(found.alone, found.people)} alone"


def attack_tables(
    source: Any,  # noqa: ANN401 - a path or a connection, as ``open_source`` takes them
    policy: TablesPolicy | str | os.PathLike[str],
    *,
    schema: str | None = None,
    original: Any = None,  # noqa: ANN401 - as ``source``
    resources: Resources | None = None,
    progress: Listener = silent,
) -> TablesAttacked:
    """Attack released tables as someone who knows people and some of their events.

    Args:
        source: the release, as for ``check_tables``; None if the policy names it.
        policy: a policy, or the path of a kanon.toml with ``[tables.NAME]``.
        schema: of the released tables, as for ``check_tables``.
        original: the database that they were made from; by default that of the policy, or else that of the release.
        resources: limits of the machine.
        progress: called as the work goes on.
    """
    wanted = policy if isinstance(policy, TablesPolicy) else read_tables_policy(policy)
    place, in_schema = released_place(source, wanted, schema)
    before = next((one for one in (original, wanted.source) if one is not None), place)
    if same_place(place, before):  # the policy's URL of it has no password
        before = place
    if in_schema is None and before is place:
        raise UsageError(
            "The released tables and their originals cannot be the same: add --schema NAME or --original DATABASE."
        )
    with computing_in(wanted.time_zone), open_released(place, wanted, in_schema, resources) as opened:
        progress(Progress("Counting who is found in the release"))
        verification = verified_alone(opened, promise=False)
        found = found_people(as_released(opened))
    with computing_in(wanted.time_zone), open_originals(before, wanted, resources) as originals:
        progress(Progress("Counting who is found in the originals"))
        found_before = found_people(replace(as_released(originals), keys_are_texts=False))
        of_people = [one for one in people_refused(originals) if one not in verification.findings]
        verification = replace(verification, findings=(*verification.findings, *of_people))
    named = opened.place if in_schema is None else f"{opened.place}, schema {in_schema}"
    return TablesAttacked(named, originals.place, wanted.k, wanted.km, found, found_before, verification)
