"""``report``: the evidence for a published release, or for one that a policy would make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import find_column, names
from kanon_sql.engine.progress import Listener, silent
from kanon_sql.engine.sources.layout import NOT_STATED, Layout, data_file
from kanon_sql.engine.sources.open_source import Source, open_beside, open_database, open_source
from kanon_sql.engine.sources.preparing import with_prepared
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.evidence.case import Tables, opened_control
from kanon_sql.evidence.control_group import without_control
from kanon_sql.evidence.report.gather import (
    CURVE,
    POLICY,
    ROWS,
    KeptApart,
    ReportedRelease,
    commands_of,
    policy_fingerprint,
    policy_of,
    report_of,
    require_nothing_certain,
)
from kanon_sql.evidence.report.proof import compared_columns
from kanon_sql.hierarchy.expressions import ROOT
from kanon_sql.policy.destination import Destination, named_table
from kanon_sql.policy.policy import Policy, given_policy, make_policy
from kanon_sql.policy.profile.preparing import with_dates
from kanon_sql.release.anonymize import make_release
from kanon_sql.release.ledger.fingerprint import of_rows
from kanon_sql.release.publish.publisher import target_table
from kanon_sql.release.release import Release
from kanon_sql.release.utility import utility_settings
from kanon_sql.search.problem import SharedTests
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.evidence.report.written import Report
    from kanon_sql.measures.utility.spread import Spread, UtilitySettings


def report(  # noqa: PLR0913 - the public call: every setting has its own name
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    release: str | os.PathLike[str] | None = None,
    asked_by: str | None = None,
    standards: Sequence[str] = (),
    utility: bool = False,
    target: str | None = None,
    spread: Spread | None = None,
    control: Any = None,  # noqa: ANN401 - a path or a data frame, or the name of a table
    policy: Policy | str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
    progress: Listener | None = None,
    **settings: Any,  # noqa: ANN401 - those of ``anonymize``, which checks them
) -> Report:
    """Report the evidence for a release. Nothing is published, and nothing is changed.

    Args:
        source: the original, as for ``anonymize``; or a release object, whose rows are the subject of the evidence.
            Optional if the policy names it.
        table: its name in a database.
        release: the published release: a table or view in the database of the original, or a file. By default, the
            destination of the policy file if it exists; otherwise nothing was published yet.
        asked_by: the person who requested it.
        standards: names of standards, such as "hipaa-safe-harbor", whose rules are checked; by default those of a
            policy file.
        utility: measure the utility of the release, as ``measure`` does.
        target: a column for models to predict, as for ``measure``.
        spread: as for ``measure``.
        control: people who are not in the release, as for ``attack``: the report is on the original without them, and
            guesses about its people are compared with guesses about them.
        policy: a Policy or the path of a kanon.toml, instead of the settings of ``anonymize``.
        resources: resource limits; a connection has its own settings.
        progress: called during the work.
        settings: those of ``anonymize``: ``quasi_identifiers``, ``models``, ``algorithm`` and so on.

    Raises:
        UsageError: a setting or a column is wrong; or ``utility`` or ``control`` is given for an all-or-none release.
        SourceError: a source or a hierarchy cannot be read.
        NoSolutionError: no release satisfies the models.
        VerificationError: the published rows are not those that the policy makes from the original.
    """
    good_for = utility_settings(utility=utility, target=target, spread=spread)
    if isinstance(source, Release):
        if settings or standards or any(one is not None for one in (table, release, control, policy)):
            raise UsageError("A release that was found has a policy of its own: give asked_by and utility alone.")
        source.prepared.source.refuse_held_out("and a report is of a table as it is: report on a table of the rest.")
        return report_of(source, asked_by=asked_by, utility=good_for, progress=progress or silent)
    policy, in_file = given_policy(policy)
    required = make_policy(policy, **settings)
    if standards:
        required = replace(required, standards=names(standards))
    return report_on(
        Tables(source, table, control=control),
        required,
        in_file,
        release,
        asked_by=asked_by,
        utility=good_for,
        progress=progress or silent,
        resources=resources,
    )[0]


def report_on(  # noqa: PLR0913 - the subject and options of a report
    tables: Tables,
    policy: Policy,
    in_file: Destination,
    release: str | os.PathLike[str] | None,
    *,
    asked_by: str | None,
    utility: UtilitySettings | None,
    progress: Listener,
    resources: Resources | None = None,
    watch: Callable[[Engine], None] = lambda _: None,
) -> tuple[Report, Engine]:
    """Return the report of a table and its engine, which is closed; arguments are those of ``report``.

    Without a seed the report uses 0: rows are compared in no order.
    """
    require_nothing_certain(policy, utility=utility is not None, control=tables.control is not None)
    source, table = named_table(tables.source, tables.table, policy.origin)
    with computing_in(policy.time_zone):
        raw = open_source(source, table, resources=resources)
    watch(raw.engine)
    with raw.engine as engine:
        control = None if tables.control is None else opened_control(raw, raw, tables.control)
        opened, policy = with_dates(with_prepared(raw, policy.prepare), policy)
        named = policy.columns
        required = [find_column(name, opened.columns) for name in (*named.quasi_identifiers, *named.sensitive)]
        entity = find_column(named.entity or "", opened.columns)
        opened.bring([column for column in required if column is not None], entity)
        if why := _why_a_release(opened, policy, in_file):  # nothing could be measured against it
            name = opened.name
            raise UsageError(f"{name} looks like the release: {why}. Try kanon report ORIGINAL --release {name}.")
        apart = None
        if control is not None:
            control = with_prepared(control, policy.prepare)
            opened, said = without_control(opened, control, entity)
            apart = KeptApart(control, said)
        published = _published_release(opened, source, in_file, release)
        if policy.seed is None:
            policy = replace(policy, seed=0)
        # The nodes that the search tests are reused for its curve. With pseudonyms it may search twice itself.
        alone = policy.k > 1 and not policy.columns.pseudonymize
        shared = SharedTests(tuple(sorted({*CURVE, policy.k}))) if alone else None
        made = make_release(opened, policy, progress, shared_tests=shared)
        found = report_of(made, published, asked_by=asked_by, utility=utility, apart=apart, progress=progress)
    return found, engine


def report_published(
    release: Release,
    source: Any,  # noqa: ANN401 - as above
    destination: Destination,
    *,
    asked_by: str | None = None,
    progress: Listener = silent,
) -> Report:
    """Return the report of a release that was just published as a table, a view or a file."""
    opened = release.prepared.source
    if destination.out is not None:
        published = _in_file(opened, destination.out, destination.layout)
    else:
        published = _in_database(opened, source, destination.into or "")
    return report_of(release, replace(published, destination=destination), asked_by=asked_by, progress=progress)


def report_in_place(draft: Report, release: Release, destination: Destination, file: Path) -> Report:
    """Return the report of a release that replaced its table in a database file.

    The ``draft`` was measured on the rows of the release before the original was replaced.
    """
    table, publication = release.prepared.source.relation, release.publication
    with open_database(file, writable=False) as engine:
        own = sql.relation(table.name, table.db or None)
        found = of_rows(engine, own, compared_columns(publication), "fingerprint of what took the place of the table")
    if found != draft.fingerprints[ROWS]:
        raise VerificationError(f"No report was written: the rows of {draft.source} are not those that were measured.")
    published = ReportedRelease(draft.source, "in place", None, destination)
    return replace(
        draft,
        published=published.name,
        kind=published.kind,
        policy=policy_of(release, published),
        commands=commands_of(release, published),
        fingerprints={**draft.fingerprints, POLICY: policy_fingerprint(release, published)},
    )


def _published_release(
    opened: Source,
    source: Any,  # noqa: ANN401 - as above
    in_file: Destination,
    named: str | os.PathLike[str] | None,
) -> ReportedRelease | None:
    """Return the published release, in the engine of the original; None if nothing was published."""
    if named is not None:
        path = Path(named)
        no_file = opened.file is None and opened.frame_kind is None and opened.address is None
        in_database = opened.database is not None or no_file
        if in_database and not (path.suffix and path.exists()):
            return _in_database(opened, source, str(named))
        return _in_file(opened, path)
    if in_file.in_place:
        raise UsageError(
            "The policy anonymizes in place, and the original is gone: report as you publish (kanon anonymize --report "
            "FILE), or name a copy of the original, and --release."
        )
    if in_file.out is not None and in_file.out.exists():
        return _in_file(opened, in_file.out, in_file.layout)
    if in_file.into is not None and opened.keeps_tables and opened.frame_kind is None:
        target = target_table(opened.engine, in_file.into)
        if opened.engine.kind_of(target) is not None:
            return _in_database(opened, source, in_file.into)
    return None


def _in_database(opened: Source, source: Any, name: str) -> ReportedRelease:  # noqa: ANN401 - as above
    found = open_beside(opened, source, name)
    if found.relation == opened.table:
        raise UsageError(f"{name!r} is the original: name its release.")
    is_view = opened.engine.kind_of(found.relation) == "VIEW"
    return ReportedRelease(
        name, "view" if is_view else "table", found, Destination(into=name, kind="view" if is_view else "table")
    )


def _in_file(opened: Source, path: Path, layout: Layout = NOT_STATED) -> ReportedRelease:
    found = open_beside(opened, data_file(path, layout), as_text=True)
    return ReportedRelease(path.name, "file", found, Destination(out=path))


def _why_a_release(opened: Source, policy: Policy, in_file: Destination) -> str | None:
    """Return the reason why a source looks like the release of its policy; None if it does not."""
    if in_file.out is not None and opened.file is not None and in_file.out.resolve() == opened.file.resolve():
        return "it is the file that the policy publishes to"
    named = policy.columns
    naming = list(dict.fromkeys([*named.identifying, *([named.entity] if named.entity is not None else [])]))
    quasi = [find_column(name, opened.columns) for name in named.quasi_identifiers]
    found = [column for column in quasi if column is not None]
    if len(found) < len(quasi) or not found:
        return None
    if naming and not any(find_column(name, opened.columns) for name in naming):
        return f"it has the quasi-identifiers, but not the identifying columns of the policy ({', '.join(naming)})"
    texts = [column.name for column in found if column.family == "text"]
    hidden = [name for name in texts if _has_only_roots(opened, name)]
    return f"{', '.join(hidden)} has no value but the label {ROOT}" if hidden else None


def _has_only_roots(opened: Source, name: str) -> bool:
    own = sql.column(name)
    is_root = exp.EQ(this=own, expression=sql.literal(ROOT))
    query = exp.select(sql.count_rows(), sql.where(sql.count_rows(), is_root)).from_(opened.relation.copy())
    rows, roots = opened.engine.row(query, f"is {name} a column of labels?")
    return bool(rows) and bool(rows == roots)
