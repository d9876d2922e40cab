"""``check`` and ``attack`` for tables that were released together.

Tables are joined by their keys, as a reader joins them, and judged by themselves: labels and numbers of rows are not
compared with those of the originals. The attacker knows the published quasi-identifiers of a person, and those of up to
m of their events. The same counts in the originals, with raw values, serve as comparison.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import find_column
from kanon_sql.engine.files import same_file
from kanon_sql.engine.keys import same_database
from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.engine.warehouse.workbench import Workbench
from kanon_sql.errors import UsageError, counted
from kanon_sql.policy.gate import judge, people_are_counted
from kanon_sql.policy.tables import TablesPolicy, read_tables_policy
from kanon_sql.release.tables.found_people import found_people
from kanon_sql.release.tables.opened import keys_published, open_originals, open_released
from kanon_sql.release.tables.statements import PSEUDONYM_TYPE
from kanon_sql.release.tables.verify import ReleasedTables
from kanon_sql.release.tables.views import views_of_release
from kanon_sql.risks.attacks.verdicts import Verdict, Verdicts, part_of
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.release.tables.found_people import FoundPeople
    from kanon_sql.release.tables.opened import Member, OpenedTables
    from kanon_sql.release.tables.verify import TablesVerification
    from kanon_sql.risks.attacks.verdicts import Outcome


def check_tables(
    source: Any,  # noqa: ANN401 - a path or a connection, as ``open_source`` takes them
    policy: TablesPolicy | str | os.PathLike[str],
    *,
    schema: str | None = None,
    resources: Resources | None = None,
) -> TablesVerification:
    """Check that released tables keep the promise of a policy of several tables.

    Args:
        source: path of a DuckDB file, or of a directory with a CSV or Parquet file for each table; a DuckDB connection,
            or a PostgreSQL database; None if the policy names it.
        policy: a policy, or the path of a kanon.toml with ``[tables.NAME]``.
        schema: schema of the tables; by default the one that the policy releases to, or the current one.
        resources: resource limits.
    """
    wanted, place, in_schema = _named(source, policy, schema)
    with computing_in(wanted.time_zone), open_released(place, wanted, in_schema, resources) as opened:
        return _verified_alone(opened)


def attack_tables(
    source: Any,  # noqa: ANN401 - as for ``check_tables``
    policy: TablesPolicy | str | os.PathLike[str],
    *,
    schema: str | None = None,
    original: Any = None,  # noqa: ANN401 - as ``source``
    resources: Resources | None = None,
    progress: Listener = silent,
) -> TablesAttacked:
    """Attack released tables as someone who knows people and some of their events.

    Args:
        source: the release, as for ``check_tables``; ``policy``, ``schema`` and ``resources`` too.
        policy: a policy, or the path of a kanon.toml with ``[tables.NAME]``.
        schema: of the released tables.
        original: the original database; by default that of the policy, or else that of the release.
        resources: resource limits.
        progress: called during the work.
    """
    wanted, place, in_schema = _named(source, policy, schema)
    before = next((one for one in (original, wanted.source) if one is not None), place)
    if _same_place(place, before):  # the URL in the policy has no password
        before = place
    if in_schema is None and before is place:
        raise UsageError(
            "The released tables and their originals cannot be the same: add --schema NAME or --original DATABASE."
        )
    with computing_in(wanted.time_zone), open_released(place, wanted, in_schema, resources) as opened:
        progress(Progress("Counting who is found in the release"))
        verification = _verified_alone(opened, promise=False)
        found = found_people(as_released(opened))
    with computing_in(wanted.time_zone), open_originals(before, wanted, resources) as originals:
        progress(Progress("Counting who is found in the originals"))
        found_before = found_people(replace(as_released(originals), keys_are_texts=False))
        refused = [
            one.said_of_member(member.name)
            for member in originals.members
            for one in people_are_counted(member.source, member.policy)
            if one.refused
        ]
        findings = tuple(dict.fromkeys((*verification.findings, *refused)))
        verification = replace(verification, findings=findings)
    named = opened.place if in_schema is None else f"{opened.place}, schema {in_schema}"
    return TablesAttacked(named, originals.place, wanted.k, wanted.km, found, found_before, verification)


def _named(
    source: object, policy: TablesPolicy | str | os.PathLike[str], schema: str | None
) -> tuple[TablesPolicy, Any, str | None]:
    """Return the policy of a call, and the place and schema of its release, by default those of the policy."""
    wanted = policy if isinstance(policy, TablesPolicy) else read_tables_policy(policy)
    place = source if source is not None else wanted.out or wanted.out_directory or wanted.source
    if place is None:
        raise UsageError("Name the database that has the released tables.")
    return wanted, place, wanted.into_schema if schema is None and _same_place(place, wanted.source) else schema


def as_released(opened: OpenedTables) -> ReleasedTables:
    """Return released tables without levels and hierarchies."""
    outputs = {member.name: member.relation for member in opened.members}
    keys_are_texts = any(key.column.type != PSEUDONYM_TYPE for member in opened.members for key in member.keys)
    return ReleasedTables(opened.engine, opened, outputs, {}, keys_are_texts=keys_are_texts)


def _verified_alone(opened: OpenedTables, *, promise: bool = True) -> TablesVerification:
    """Verify released tables by themselves; without ``promise``, people are not counted."""
    of_people = [member for member in opened.members if member.roles is not None]
    judged = [
        one.said_of_member(member.name)
        for member in of_people
        for one in judge(member.source, member.policy)
        if one.refused
    ]
    kept = (member for member in opened.members if member.roles is None)
    keys = (f"{found}." for member in kept for found in keys_published(opened, member, {}))
    return replace(
        as_released(opened).verified(promise=promise),
        identifying=tuple(
            f"{member.name}.{name}"
            for member in opened.members
            for name in member.policy.columns.identifying
            if find_column(name, member.source.columns) is not None
        ),
        unforeseen=tuple(name for member in of_people for name in _unforeseen(member)),
        schema=opened.schema,
        others=opened.not_in_policy,
        elsewhere=opened.elsewhere,
        findings=(*judged, *keys, *_kept_views(opened)),
    )


def _kept_views(opened: OpenedTables) -> Iterator[str]:
    """Yield kept tables that are views and may show more than the released tables: raw rows, under any names."""
    engine, views, tables = opened.engine, dict[str, tuple[str, str]](), set[tuple[str, str]]()
    for member in opened.members:
        schema, name = map(folded, opened.place_of(member.relation))
        if (engine.kind_of(member.relation) or "").endswith("VIEW"):
            views |= {member.name: (schema, name)} if member.roles is None else {}
        else:
            tables.add((schema, name))
    if views and not isinstance(engine, Workbench):
        shown = views_of_release(engine, tables, engine.current_schema())
        views = {name: place for name, place in views.items() if place not in shown}
    for name in views:
        yield f"{name} is kept and is a view, which may show raw rows: release it as a table."


def _unforeseen(member: Member) -> list[str]:
    """Return the columns of a released table that its policy does not publish, without identifying ones."""
    columns = member.policy.columns
    if columns.rest == "keep":
        return []
    named = (*columns.identifying, *columns.quasi_identifiers, *columns.sensitive, *columns.insensitive)
    foreseen = {folded(name) for name in named} | {folded(key.column.name) for key in member.keys}
    return [f"{member.name}.{own.name}" for own in member.source.columns if folded(own.name) not in foreseen]


def _same_place(one: object, other: object) -> bool:
    """Return True if two sources are paths of one file, or URLs of one database."""
    if not isinstance(one, str | os.PathLike) or not isinstance(other, str | os.PathLike):
        return False
    if is_warehouse(one) or is_warehouse(other):
        return is_warehouse(one) and is_warehouse(other) and same_database(str(one), str(other))
    return same_file(Path(one), Path(other))


@dataclass(frozen=True)
class TablesAttacked(Verdicts):
    """The result of an attack on released tables: people found by up to 0, 1, ... events there, and in the originals.

    ``keys`` are the results of ``check_tables`` for keys and identifying columns.
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
        figures = {"promised": own.events <= self.km, **_figures(own), "original": _figures(was)}
        return Verdict(f"linkage, {known}", None, outcome, found, stopped_by, figures)

    def _keys(self) -> Verdict:
        keys, problems = self.keys, self.keys.problems()
        outcome: Outcome = "not excluded" if problems else "finds nothing"
        if keys.identifying or any(keys.raw_keys.values()):
            outcome = "succeeds"
        found = "; ".join(problems) or (
            "every key is written as a pseudonym and leads to a released row, and no identifying column is there"
        )
        stopped_by, figures = "a release by kanon anonymize with this policy", {"problems": problems}
        return Verdict("keys", None, outcome, found, stopped_by, figures)

    def summary(self) -> dict[str, Any]:
        """Return the result as plain values: the output of ``--format json``."""
        return {
            **{name: getattr(self, name) for name in ("table", "original", "k", "km")},
            **self.together(),
            "attacks": [
                {"attack": one.name.partition(",")[0], **one.summary(), **one.figures} for one in self.verdicts
            ],
        }


def _figures(found: FoundPeople) -> dict[str, Any]:
    """Return the people found, with shares of all people."""
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
