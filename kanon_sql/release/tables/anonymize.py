"""``anonymize_tables``: from a database and a policy of several tables to a release of all of them.

1. Open the tables: roles, keys, hierarchies (``opened``).
2. Take the ``STEPS``. Count: for the table of people, and for each table of events with quasi-identifiers, the
   frequency set of the values by which its rows are known; the members of its classes are people. Search: one lattice
   of the columns of all tables (``kanon_sql.search.full_domain.several_tables``). Find the people and events that
   remain at its optimum (``statements``).
3. Publish and verify (``publish``, ``verify``).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.classes.frequency import frequency_of_coded
from kanon_sql.classes.lattice import Lattice
from kanon_sql.engine.base import closed_on_error
from kanon_sql.engine.duckdb.connection import waited
from kanon_sql.engine.keys import key_from
from kanon_sql.engine.progress import Progress, TimedStep, allow_to_finish, silent, within
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import NoSolutionError, UsageError
from kanon_sql.hierarchy.check import missing_messages
from kanon_sql.measures.cell_measures import CELL_MEASURES
from kanon_sql.measures.costs import Objective, level_costs
from kanon_sql.measures.labels import make_labels
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.destination import decided_backup
from kanon_sql.policy.tables import TablesPolicy, read_tables_policy
from kanon_sql.policy.weights import column_weights, in_json, in_proportion, stated_weights
from kanon_sql.release.release import with_seed
from kanon_sql.release.tables import publish
from kanon_sql.release.tables.coded import CodedTables
from kanon_sql.release.tables.gate import require_nothing_across
from kanon_sql.release.tables.opened import PERSON, PERSON_NUMBER, open_policy
from kanon_sql.release.tables.script import tables_script
from kanon_sql.release.tables.statements import FoundTables, ReleasedRows
from kanon_sql.search.full_domain.several_tables import Part, TablesSearch
from kanon_sql.search.problem import LISTABLE, Problem, Proof, end_of_search
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.progress import Listener
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.release.script import Script
    from kanon_sql.release.tables.opened import Member
    from kanon_sql.release.tables.publish import Format, PublishedTables
    from kanon_sql.release.tables.verify import TablesVerification
    from kanon_sql.search.problem import Stopped

_FINISHING = 1.5
"""Seconds of publishing and verifying for each second of preparing; times km * km for km known events."""


@dataclass(kw_only=True)
class TablesRelease(FoundTables, Proof):
    """The best recoding that was found for several tables, ready to be published.

    Nothing is published yet. ``to_schema``, ``to_database``, ``to_directory`` and ``in_place`` each make the tables,
    verify them on their own rows, and then return them.

    Attributes:
        people_out: number of released people.
        cost: of the recoding, in lost cells; the cells of each table together count the same.
        bound: the proven minimum cost of recodings of this kind.
        cells: cells of quasi-identifiers.
        stopped: why the search ended before the proof was complete.
        found: the logged statements that found people and events.
    """

    people_out: int = field(init=False)
    cost: Fraction = field(init=False)
    bound: Fraction = field(init=False)
    cells: int = field(init=False)
    nodes_tested: int = field(init=False)
    stopped: Stopped | None = field(init=False)
    found: slice = field(init=False)
    coded: CodedTables = field(init=False, repr=False)
    search: TablesSearch = field(init=False, repr=False)

    @property
    def people_in(self) -> int:
        """Number of people in the tables."""
        return self.rows.people_in

    @property
    def loss(self) -> float:
        """The mean loss of the tables: the share of other values that a cell could have, averaged: 0 to 1."""
        return float(self.cost / self.cells) if self.cells else 0.0

    @property
    def gap(self) -> float:
        """How much less any recoding of this kind could lose, as a share of the loss of this one."""
        return self.gap_above(0) or 0.0

    def to_schema(
        self, name: str, *, replace: bool = False, ignore_ledger: bool = False, dry_run: bool = False
    ) -> PublishedTables:
        """Write the release as tables of a schema of its database.

        Args:
            name: of the schema, which is made if it does not exist.
            replace: whether to replace existing tables of these names.
            ignore_ledger: whether to publish regardless of earlier releases; the ledger remembers the release anyway.
            dry_run: whether to make and check everything, and then leave nothing.

        Raises:
            UsageError: a name is taken.
            JointReleaseError: there is an earlier release of one of the tables.
            VerificationError: the output failed verification and was removed.
        """
        return publish.to_schema(self, name, replace=replace, ignore_ledger=ignore_ledger, dry_run=dry_run)

    def to_database(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        ignore_ledger: bool = False,
        dry_run: bool = False,
    ) -> PublishedTables:
        """Write the release as the tables of a new DuckDB file; it raises as ``to_schema`` does."""
        how = {"ignore_ledger": ignore_ledger, "dry_run": dry_run}
        return publish.to_database(self, Path(path), replace=replace, **how)

    def to_directory(
        self,
        path: str | os.PathLike[str],
        *,
        format_name: Format = "csv",
        ignore_ledger: bool = False,
        dry_run: bool = False,
    ) -> PublishedTables:
        """Write the release as files of a new or empty directory; it raises as ``to_schema`` does."""
        how = {"ignore_ledger": ignore_ledger, "dry_run": dry_run}
        return publish.to_directory(self, Path(path), format_name=format_name, **how)

    def in_place(
        self,
        *,
        backup: str | os.PathLike[str] | Literal[False] | None = None,
        dry_run: bool = False,
        ignore_ledger: bool = False,
    ) -> PublishedTables:
        """Replace the tables with the release, and leave no raw value of them in the file (docs/in-place.md).

        Tables that the policy drops are removed too. The release cannot be used afterwards: its original rows are gone.
        ``backup`` and the errors are those of ``Release.in_place``.
        """
        from kanon_sql.release.tables.in_place import put_in_place

        return put_in_place(self, decided_backup(backup), dry_run=dry_run, ignore_ledger=ignore_ledger)

    def verified(self, schema: str = "released") -> TablesVerification:
        """Make the release in memory and verify it there; nothing is published."""
        return publish.preview(self, schema)

    def sql(self, schema: str = "released") -> str:
        """Return the text of the script of a release to a schema; see ``script``."""
        return self.script(schema).text

    def script(self, schema: str = "released", *, everything: bool = False) -> Script:
        """Return the SQL that makes and verifies the release as the tables of a schema; nothing is published.

        Of the tables' values, it contains those that are looked up in the hierarchy of a file and occur in released
        rows. With ``everything``, it starts with all statements that found the release, which can contain values of all
        rows. The key of pseudonyms is not included. A UsageError means that a script without other values would make
        another release.
        """
        return tables_script(self, self.found, schema, everything=everything)

    def summary(self, published: PublishedTables | None = None) -> dict[str, Any]:
        """Return the results as plain values, as ``--format json`` prints them."""
        return {
            "destination": None if published is None else published.destination,
            "k": self.policy.k,
            "km": self.policy.km,
            "people_in": self.people_in,
            "people_out": self.people_out,
            "tables": [asdict(one) | {"suppressed": one.suppressed} for one in self.counts],
            "loss": self.loss,
            **in_json(stated_weights(self.policy.weights)),
            "gap": self.gap,
            "optimal": self.optimal,
            "nodes_tested": self.nodes_tested,
            "stopped": self.stopped,
            "verification": None if published is None else published.verification.summary(),
            "not_remembered": None if published is None else published.not_remembered,
            "in_place": None if published is None or published.in_place is None else published.in_place.summary(),
            "seed": self.policy.seed,
            "key": self.key.origin,
            "seconds": self.seconds,
        }

    def close(self) -> None:
        self.opened.engine.close()


def anonymize_tables(
    source: Any,  # noqa: ANN401 - a path or a connection, as ``open_source`` takes them
    policy: TablesPolicy | str | os.PathLike[str],
    *,
    resources: Resources | None = None,
    progress: Listener | None = None,
) -> TablesRelease:
    """Return the release of several tables of a database with the least information loss.

    Args:
        source: path of a DuckDB file, a DuckDB connection, or a PostgreSQL database; None if the policy names it.
        policy: a policy, or the path of a kanon.toml with ``[tables.NAME]``.
        resources: resource limits of the run.
        progress: called with the progress.

    Raises:
        UsageError: the tables do not match the policy.
        NoSolutionError: no release keeps the promise within the limit of suppression.
        TimeLimitError: the time limit ended before a release was found.
    """
    begun = time.monotonic()
    wanted = with_seed(policy if isinstance(policy, TablesPolicy) else read_tables_policy(Path(policy)))
    found = source if source is not None else wanted.source
    if found is None:
        raise UsageError("Name the database that has the tables, or write it into the policy ([source] from).")
    with within(wanted.time_limit, begun), computing_in(wanted.time_zone):
        opened = waited(lambda: open_policy(found, wanted, resources))
        with closed_on_error(opened.engine):
            release = TablesRelease(
                policy=wanted,
                opened=opened,
                key=key_from(wanted.key_file),
                progress=progress or silent,
                begun=begun,
                seconds={"open": time.monotonic() - begun},
            )
            release.take(STEPS)
            return release


def _count(release: TablesRelease) -> None:
    release.coded = CodedTables(release.opened)
    lattice = Lattice(tuple(one.height for one in release.opened.hierarchies))
    release.search = TablesSearch(parts_of(release.coded), lattice)


def _fetch(release: TablesRelease) -> None:
    from kanon_sql.release.tables.known_events import KnownEvents  # with arrays

    release.search.measure = KnownEvents(release.coded, release.search.parts)


def _search(release: TablesRelease) -> None:
    policy, opened, searched = release.policy, release.opened, release.search
    finishing = _FINISHING * policy.km**2 * (time.monotonic() - release.begun)
    is_endless = searched.lattice.size > LISTABLE
    end = end_of_search(policy.time_limit, release.begun, finishing, is_endless=is_endless)
    release.cells = sum(part.rows * len(part.own) for part in searched.parts)
    whole = sum(part.whole for part in searched.parts)
    cell = Fraction(whole, release.cells) if whole else Fraction(1)

    def report(nodes_tested: int, best: Cost | None, bound: Cost | None) -> None:
        loss, least = (None if cost is None or not whole else float(Fraction(cost) / whole) for cost in (best, bound))
        release.progress(Progress("Searching", nodes_tested, loss, least))

    node, cost = searched.run(end, report)
    allow_to_finish(policy.time_limit, release.begun)
    release.cost, release.bound = Fraction(cost) / cell, Fraction(searched.bound) / cell
    release.nodes_tested, release.stopped = searched.nodes_tested, searched.stopped
    levels = {one.column.name: level for one, level in zip(opened.hierarchies, node, strict=True)}
    release.rows = ReleasedRows(opened, levels, release.key)
    release.coded.drop()
    for part in searched.parts:
        opened.engine.run(sql.drop(part.problem.frequency.relation), "drop a frequency set")
    del release.coded, release.search


def _find(release: TablesRelease) -> None:
    statements, k = release.opened.engine.statements, release.policy.k
    begin = len(statements)
    release.rows.make()
    release.found = slice(begin, len(statements))
    release.counts, release.people_out = tuple(release.rows.counts()), release.rows.people_out()
    if release.people_out < k and release.people_in:
        raise NoSolutionError(
            f"Fewer than {k:,} people would be left in the tables, so that none is released: lower k, lower "
            "--max-suppressed, or take more people."
        )


STEPS: tuple[TimedStep[TablesRelease], ...] = (
    TimedStep("count", _count, "Counting"),
    TimedStep("fetch", _fetch, needed=lambda release: release.policy.km > 1),
    TimedStep("search", _search, "Searching"),
    TimedStep("gate", lambda release: require_nothing_across(release.opened, release.rows.levels)),
    TimedStep("rows", _find, "Counting published rows"),
)
"""The steps from opened tables to a release."""


def parts_of(coded: CodedTables) -> list[Part]:
    """Return the parts of the search: the tables with quasi-identifiers."""
    made: list[Part] = []
    for member in coded.opened.members:
        if member.hierarchies:
            made.append(_part(coded, member, made))
    shares = [Fraction(part.whole and coded.opened.member(part.name).policy.weight, part.whole or 1) for part in made]
    for part, weight in zip(made, in_proportion(shares), strict=True):
        part.weight = weight
    return made


def _part(coded: CodedTables, member: Member, before: Sequence[Part]) -> Part:
    opened, policy = coded.opened, coded.opened.policy
    engine, people = opened.engine, opened.people
    hierarchies = tuple(coded.known(member))
    entity = None if member is people else PERSON_NUMBER
    places = [one.column.name for one in opened.hierarchies]
    columns = tuple(places.index(one.column.name) for one in hierarchies)
    own = frozenset(map(places.index, member.labels))

    def missing() -> str:
        view = engine.temporary_name("kanon_rows")
        title = f"the rows of {member.name} with the person of each"
        engine.run(sql.create_view(view, opened.raw_rows(member), temporary=True), title)
        return missing_messages(engine, view, hierarchies)

    codes = [coded.codes(hierarchy) for hierarchy in hierarchies]
    frequency = frequency_of_coded(engine, coded.of(member), codes, hierarchies, entity, missing)
    others = {  # the columns of other tables cost nothing in this one
        hierarchies.index(one.hierarchies[column]): (one.problem.frequency, column)
        for one in before
        for column in one.own_columns
        if one.hierarchies[column] in hierarchies
    }
    labels = make_labels(frequency, hierarchies, others)
    (costs,) = level_costs(engine, labels, [CELL_MEASURES["loss"]], frequency.rows)
    weights = column_weights(member.policy.weights, [column.name for column in member.quasi_identifiers])
    by_name = dict(zip(member.labels, weights, strict=True))
    mine = costs.weighted([by_name.get(one.column.name, 0) for one in hierarchies])
    all_of_them = policy.may_suppress_all and member is not people
    # People are those with events if no other table has people: at least k rows remain, or there is no release.
    least = policy.k if people is None and len(opened.events) == 1 and frequency.rows >= policy.k else 0
    problem = Problem(
        frequency,
        Lattice(tuple(one.height for one in hierarchies)),
        (KAnonymity(policy.k, None if entity is None else PERSON),),
        Objective(mine),
        labels,
        frequency.rows - least if all_of_them else policy.rows_allowed(frequency.rows, policy.k),
    )
    return Part(problem, name=member.name, hierarchies=hierarchies, columns=columns, own=own)
