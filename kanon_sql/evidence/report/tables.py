"""``report_tables``: the evidence for tables that were released together, as one file without a raw value.

Its figures were found before the release, or counted in the published tables.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import shlex
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from kanon_sql.engine.capabilities import require
from kanon_sql.evidence.report.attributes import role_of
from kanon_sql.evidence.report.figures import DescribedColumn
from kanon_sql.evidence.report.gather import POLICY, versions
from kanon_sql.evidence.report.written import SECTIONS, WrittenReport
from kanon_sql.evidence.tables import TablesAttacked, as_released
from kanon_sql.policy.tables import tables_policy_text
from kanon_sql.policy.weights import stated_weights
from kanon_sql.release.tables.found_people import found_people
from kanon_sql.release.tables.opened import open_released
from kanon_sql.release.tables.verify import ReleasedTables
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kanon_sql.evidence.standards.judge import CheckedStandard
    from kanon_sql.release.tables.anonymize import TablesRelease
    from kanon_sql.release.tables.opened import KeyColumn, Member
    from kanon_sql.release.tables.publish import PublishedTables
    from kanon_sql.release.tables.statements import TableCounts
    from kanon_sql.release.tables.verify import Promise
    from kanon_sql.risks.attacks.verdicts import Verdict


_SECTIONS = {
    **{name: SECTIONS[name] for name in ("summary", "asked", "measured", "attributes", "risk", "origin", "limits")},
    "measured": "What was counted in the output",
    "attributes": "Columns, table by table",
    "origin": "Provenance, and how to check it",
}


@dataclass(frozen=True, kw_only=True)
class ReportedColumn(DescribedColumn):
    """A column of one of the tables; a pseudonym ``joins`` columns of other tables that have it for the same values."""

    table: str
    joins: tuple[str, ...] = ()
    rule: None = None


@dataclass(frozen=True, kw_only=True)
class TablesReport(WrittenReport):
    """The evidence for released tables: requirements, counts and attacks.

    Attributes:
        source, published: names of the database and of the release; no path, which may say more than it should.
        loss: a share; ``gap`` is how much less any recoding of this kind could lose, rounded up.
        key: the origin of the key of pseudonyms: "drawn" for this release, or a file.
        attacks: linkage by a maximum number of events, and keys; figures describe the release and the originals.
        proposed: columns with a role that ``kanon init`` proposed and no person has confirmed.
    """

    template: ClassVar[str] = "tables.j2"
    titles: ClassVar[Mapping[str, str]] = _SECTIONS
    standards: ClassVar[tuple[CheckedStandard, ...]] = ()

    made_at: str
    source: str
    published: str
    kind: str
    asked_by: str | None
    k: int
    km: int
    max_suppressed: float | str
    time_limit: float | None
    seed: int | None
    time_zone: str | None
    key: str
    people_in: int
    people_out: int
    loss: float
    weights: dict[str, int | str]
    gap: float
    optimal: bool
    nodes_tested: int
    stopped: str | None
    tables: tuple[TableCounts, ...]
    columns: tuple[ReportedColumn, ...]
    holds: bool
    promises: tuple[Promise, ...]
    attacks: tuple[Verdict, ...]
    versions: dict[str, str]
    fingerprints: dict[str, str]
    policy: str
    commands: tuple[str, ...]
    proposed: tuple[str, ...] = ()
    choice: None = None  # several tables have no models of sensitive values
    not_remembered: str | None = None

    @property
    def linked(self) -> tuple[Verdict, ...]:
        """The attacks by known events, by their number."""
        return self.attacks[:-1]

    def summary(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("columns", "promises"):
            plain[name] = [asdict(one) for one in plain[name]]
        plain["attacks"] = [attack.stated() for attack in self.attacks]
        return plain | {"tables": [asdict(one) | {"suppressed": one.suppressed} for one in self.tables]}


def report_tables(release: TablesRelease, published: PublishedTables, *, asked_by: str | None = None) -> TablesReport:
    """Return the evidence for a published release of several tables.

    Args:
        release: the release, with its database still open.
        published: the result of ``to_schema``, ``to_database`` or ``to_directory``.
        asked_by: the person who requested the release: printed in the report.

    Raises:
        UsageError: the release replaced its tables: nothing is left to compare it with.
    """
    if published.kind == "in place":
        require("the report of a release in place", "several tables", "The report of a release in place")
    policy, verification = release.policy, published.verification
    text = tables_policy_text(replace(policy, source=None), Path())
    return TablesReport(
        made_at=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        source=_name(release.opened.place),
        published=_target(published),
        kind=published.kind,
        asked_by=asked_by,
        k=policy.k,
        km=policy.km,
        max_suppressed=policy.max_suppressed,
        time_limit=policy.time_limit,
        seed=policy.seed,
        time_zone=next((zone for one in release.opened.members if (zone := one.source.time_zone)), None),
        key=release.key.origin,
        people_in=release.people_in,
        people_out=release.people_out,
        loss=float(f"{release.loss:.4g}"),  # more digits would reveal rows that are left out
        weights=stated_weights(policy.weights),
        gap=math.ceil(release.gap * 10_000) / 10_000,  # claims no more than is proven
        optimal=release.optimal,
        nodes_tested=release.nodes_tested,
        stopped=release.stopped,
        tables=release.counts,
        columns=tuple(column for member in release.opened.members for column in _columns(release, member)),
        holds=verification.holds,
        promises=verification.promises,
        attacks=tuple(verdict.in_report() for verdict in _attacked(release, published).verdicts),
        versions=versions(),
        fingerprints={POLICY: hashlib.sha256(text.encode("utf-8")).hexdigest()},
        policy=text,
        commands=_commands(release, published),
        proposed=tuple(
            f"{member.name}.{column.name}"
            for member in release.opened.members
            if member.roles is not None
            for column in member.roles.proposed
        ),
        not_remembered=published.not_remembered,
    )


def _attacked(release: TablesRelease, published: PublishedTables) -> TablesAttacked:
    """Attack the published tables, and their originals for comparison."""
    opened, policy, place = release.opened, release.policy, published.destination
    raw = {member.name: member.relation for member in opened.members}
    if published.kind == "schema":
        tables = {name: sql.relation(one.name, place) for name, one in raw.items()}
        found = found_people(ReleasedTables(opened.engine, opened, tables, release.rows.levels))
    else:
        with open_released(place, policy, None) as new:
            found = found_people(as_released(new))
    before = found_people(ReleasedTables(opened.engine, opened, raw, {}))
    return TablesAttacked(place, opened.place, policy.k, policy.km, found, before, published.verification)


def _columns(release: TablesRelease, member: Member) -> Iterator[ReportedColumn]:
    keys = {key.column.name: key for key in member.keys}
    hierarchies = dict(zip(member.quasi_identifiers, member.hierarchies, strict=True))
    for column in member.source.columns:
        key, hierarchy, how = keys.get(column.name), hierarchies.get(column), dict[str, Any]()
        if member.roles is None:
            role, published = "about no person", "as it is"
        elif key is not None:
            role, published = "direct identifier", "as pseudonyms"
            how = {"joins": tuple(_joining(release, member, key))}
        else:
            role, published = role_of(member.roles, column)
        if hierarchy is not None:
            how = {"hierarchy": hierarchy.origin, "chosen": hierarchy.chosen, "height": hierarchy.height}
            how["level"] = release.rows.levels[member.names[column.name]]
        yield ReportedColumn(column.name, column.kind, role, published, table=member.name, **how)


def _joining(release: TablesRelease, member: Member, key: KeyColumn) -> Iterator[str]:
    for other in release.opened.members:
        for own in other.keys:
            if own.domain == key.domain and (other.name, own.column.name) != (member.name, key.column.name):
                yield f"{other.name}.{own.column.name}"


def _name(place: str) -> str:
    return Path(place).name


def _target(published: PublishedTables) -> str:
    return published.destination if published.kind == "schema" else _name(published.destination)


def _commands(release: TablesRelease, published: PublishedTables) -> tuple[str, ...]:
    """Return the commands that check a release and make it again, with the policy beside them."""
    source, target = _name(release.opened.place), _target(published)
    with_policy = ["--policy", "kanon.toml"]
    made = [{"schema": "--into-schema", "database": "--out", "directory": "--out-dir"}[published.kind], target]
    in_schema = published.kind == "schema"
    checked = [source, *with_policy, "--schema", target] if in_schema else [target, *with_policy]
    original = [] if in_schema else ["--original", source]
    return (
        shlex.join(["kanon", "check", *checked]),
        shlex.join(["kanon", "attack", *checked, *original]),
        shlex.join(["kanon", "anonymize", source, *with_policy, *made, "--report", "report.html"]),
    )
