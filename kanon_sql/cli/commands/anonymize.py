"""``kanon anonymize``: search, publish, verify, report."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.destination_options import (
    AskedByOption,
    DryRunOption,
    HoldOutRequest,
    ReportRequest,
    asked_destination,
    check_key_file,
    check_policy_file,
    figures_apart,
    instead_of_stdout,
    is_of_several,
    save_policy_as,
    sent_to_stdout,
    what_is_there,
    with_destination,
)
from kanon_sql.cli.options.policy_options import RequestedPolicy, note_findings, note_unread, with_policy
from kanon_sql.cli.options.shared import given_options, option
from kanon_sql.cli.output.diagnostics import Talk, interrupted_after
from kanon_sql.cli.output.output import command, free_name, print_prose, print_sql, visible
from kanon_sql.cli.output.release_tables import print_release, print_remedies, print_tables, say_of_tables
from kanon_sql.cli.output.scripts import say_of_script
from kanon_sql.engine.capabilities import require
from kanon_sql.engine.duckdb.connection import waited
from kanon_sql.engine.keys import require_apart
from kanon_sql.engine.progress import within
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import UsageError, counted
from kanon_sql.hierarchy.given import notes_on_unused
from kanon_sql.measures.shares import read_share
from kanon_sql.policy.destination import Destination, decided_backup, named_table, origin_of
from kanon_sql.release.anonymize import make_release
from kanon_sql.release.hold_out import writing_held_out
from kanon_sql.release.publish.route import check_destination
from kanon_sql.release.release import Release
from kanon_sql.release.remedies import remedies
from kanon_sql.release.script import after_all
from kanon_sql.search.problem import UNLISTED_SECONDS
from kanon_sql.sql.dialects import capabilities_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.publish.publisher import Published
    from kanon_sql.release.script import Script
    from kanon_sql.release.tables.anonymize import TablesRelease
    from kanon_sql.release.tables.publish import PublishedTables

SqlOfRelease = Annotated[
    Literal["release", "all"] | None,
    typer.Option(
        "--sql",
        metavar="[=all]",
        help="Print the SQL only, of the release or of the whole run (=all).",
        show_default=False,
    ),
]


LookupsOption = Annotated[
    Path | None,
    option(
        "--lookups",
        "DIR",
        "With --sql: write the values that the script looks up to files there, instead of into the script.",
        hidden=True,
    ),
]

_APART = {
    ("into", "out"): "a release goes to one place",
    ("into", "in_place"): "a release goes to one place",
    ("out", "in_place"): "a release goes to one place",
    ("backup", "no_backup"): "a backup is made, or none is",
    ("in_place", "kind"): "--as says what --into makes",
    ("sql", "dry_run"): "--sql changes nothing anyway",
    ("dry_run", "save_policy"): "--dry-run writes nothing",
    ("out", "kind"): "--as says what --into makes",
    ("out", "lock"): "a lock is for appending rows to a table",
    ("in_place", "lock"): "a lock is for appending rows to a table",
    ("sql", "lock"): "--sql changes nothing, and so there is nothing to append to",
    ("sql", "save_policy"): "--sql changes nothing, and so writes no policy",
    ("sql", "report_file"): "--sql changes nothing, and so there is nothing to report",
    ("dry_run", "report_file"): "--dry-run writes nothing; kanon report reports before anything is published",
    ("lookups", "dry_run"): "--lookups is for the script that --sql prints",
    ("sql", "hold_out"): "a script would start from the whole table",
    ("in_place", "hold_out"): "rows that are held out would be lost with the table",
    ("lock", "hold_out"): "rows that are appended later would not be held out",
    ("report_file", "hold_out"): "a report is of a table as it is",
    ("save_policy", "hold_out"): "a policy file does not say which rows were held out",
    ("sql", "ignore_ledger"): "--sql publishes nothing, and so checks nothing",
}
"""Pairs of parameters that exclude each other, and the reason."""


@with_policy
@with_destination
@shared.with_output(_APART, sql=SqlOfRelease)
def anonymize_command(
    context: typer.Context,
    source: shared.NamedSourceArgument = None,
    table: shared.TableArgument = None,
    save_policy: Annotated[
        Path | None, option("--save-policy", "FILE", "Write the settings of this run as a kanon.toml.", hidden=True)
    ] = None,
    hold_out: Annotated[
        float | None,
        typer.Option(
            "--hold-out",
            metavar="SHARE",
            hidden=True,
            parser=read_share,
            help="Keep this share of the people (of the rows, where rows are counted) out of the release, as a control "
            "group for kanon attack --control.",
        ),
    ] = None,
    control: Annotated[
        Path | None,
        option(
            "--control",
            "FILE",
            "Where the rows of --hold-out go as they are, names included: a .csv or .parquet file.",
            hidden=True,
        ),
    ] = None,
    dry_run: DryRunOption = False,
    replace_existing: shared.ReplaceOption = False,
    report_file: Annotated[
        Path | None,
        option("--report", "FILE", "Write the evidence to a .html, .md or .json file: see kanon report.", hidden=True),
    ] = None,
    asked_by: AskedByOption = None,
    ignore_ledger: Annotated[
        bool,
        typer.Option(
            "--ignore-ledger", hidden=True, help="Publish even if this and earlier releases say too much together."
        ),
    ] = False,
    lookups: LookupsOption = None,
    *,
    requested: RequestedPolicy,
    place: dict[str, Any],
    output: shared.Output,
) -> None:
    """Find the release of a table that loses least, publish it, and verify the output."""
    if is_of_several(context, requested.file):
        return _anonymize_several(requested, context.params, output)
    base, in_file = requested.read()
    pointed_at, table = named_table(source, table, base.origin)
    place |= {"out": instead_of_stdout(context, place["out"])}
    destination = asked_destination(
        in_file, place, dry_run=dry_run, replace_existing=replace_existing, policy_file=requested.file
    )
    if not output.sql:
        _require_place(destination, lookups)
    apart = HoldOutRequest(hold_out, control, replace=replace_existing)
    if save_policy is not None:
        check_policy_file(
            save_policy, [Path(pointed_at), destination.out, destination.lock], replace_existing=replace_existing
        )
    reported = ReportRequest(report_file, asked_by, replace=replace_existing)
    reported.check(
        [
            *(pointed_at, destination.out, destination.backup or None, destination.lock),
            *(save_policy, requested.file, requested.key_file),
        ]
    )
    changes_source = destination.in_place or (destination.into is not None and not dry_run)
    begun, limit = time.monotonic(), requested.time_limit(base)
    with within(limit, begun):
        # Another run may hold the database while it publishes.
        opened = waited(lambda: open_source(pointed_at, table, writable=changes_source and not output.sql))
    with opened.engine, output.talk(opened.engine) as talk:
        with within(limit, begun):
            opened, policy = requested.prepared(opened, base)
            policy = replace(policy, origin=origin_of(pointed_at, table, opened))
            if source is not None and base.origin is not None and not base.origin.is_same(policy.origin):
                talk.note(
                    f"{requested.file} names another table under [source]: commands that get the file alone look at "
                    "that one."
                )
            check_key_file(policy, destination, save_policy)
            opened = apart.rest_of(opened, policy, [destination.out, requested.file, requested.key_file])
            if not output.sql:
                _check(opened, destination, policy, talk)
            release = make_release(opened, policy, talk, begun)
            _say_what_was_chosen(release, talk)
            if destination.into is not None and destination.kind == "view":
                _say_of_view(release, talk)
            _say_what_is_undecided(release, requested.file, talk)
            if output.sql:
                # The dialect of the table's engine, unless --dialect is given.
                own = output.dialect if "dialect" in given_options(context) else opened.holder.dialect
                _print_script(
                    release,
                    release.script(own, destination, lookups=lookups, replace=replace_existing),
                    output.sql,
                    own,
                    talk,
                )
                return None
            draft = reported.before(release, destination, talk)
            with writing_held_out(release.prepared.source, None if dry_run else control, replace=replace_existing):
                published = release.publish(destination, ignore_ledger=ignore_ledger)
        with interrupted_after(what_is_there(destination, published)):
            published = sent_to_stdout(destination, published)
            reported.after(release, pointed_at, destination, published, draft, talk)
            if save_policy is not None:
                save_policy_as(policy, destination, save_policy)
            talk.end()
            _warn_of_ledger(opened, published, talk)
            with figures_apart(destination, quiet=output.quiet):
                summary = printed_summary(release, published, tries_remedies=not output.quiet) | _held_out(
                    opened, control
                )
                output.show(summary, _print_published, summary)
            if not output.is_json and published.in_place is None and not dry_run and _can_be_repeated(release):
                _say_what_next(context, source, opened, talk)
    return None


def _anonymize_several(requested: RequestedPolicy, said: dict[str, Any], output: shared.Output) -> None:
    """Release the tables of a policy together."""
    from kanon_sql.release.tables.anonymize import anonymize_tables

    policy = requested.of_several(said)
    _require_directory(said["file_format"], policy.out_directory)
    written = [policy.out, policy.out_directory, policy.backup or None]
    if not (any(written) or policy.into_schema or policy.in_place or output.sql or said["dry_run"]):
        raise UsageError("Say where the release should go: --into-schema, --out, --out-dir or --in-place; or --sql.")
    if policy.in_place:
        if output.sql:
            why = "--sql shows how the tables of a schema are made: give --into-schema NAME, and no --in-place."
            raise UsageError(why)
        if said["report_file"] is not None:
            require("the report of a release in place", "several tables", "The report of a release in place")
        decided_backup(policy.backup)
    source = said["source"] or policy.source
    if output.sql and is_warehouse(source):
        require("the script, of several tables", "PostgreSQL", "A script of tables that are released together")
    require_apart(requested.file, written, "what is written", "the policy")
    reported = ReportRequest(said["report_file"], said["asked_by"], replace=said["replace_existing"])
    reported.check([source, requested.file, policy.out, policy.out_directory, policy.key_file])
    published = None
    with output.talk() as talk:
        with anonymize_tables(said["source"], policy, progress=talk) as release:
            say_of_tables(release, talk)
            if output.sql:
                script = release.script(policy.into_schema or "released", everything=output.sql == "all")
                say_of_script(script, output.sql, talk)
                print_sql(script.text)
                return
            if any(written) or policy.into_schema or policy.in_place:
                published = _published(release, said)
                found = published.verification
                with interrupted_after(f"the release is there: {published.destination}"):
                    reported.of_tables(release, published, talk)
            else:
                found = release.verified()
            if said["dry_run"] and not policy.in_place:
                published = None
        talk.end()
        if published is not None and published.not_remembered is not None:
            talk.warn(f"The ledger does not know of this release: {published.not_remembered}")
    output.show(release.summary(published), print_tables, release, found, published)


def _require_directory(file_format: str | None, out_directory: Path | None) -> None:
    if file_format is not None and out_directory is None:
        raise UsageError("--file-format is for the files of --out-dir: give both, or leave it out.")


def _published(release: TablesRelease, said: dict[str, Any]) -> PublishedTables:
    policy, replaces = release.policy, said["replace_existing"]
    how = {"ignore_ledger": said["ignore_ledger"], "dry_run": said["dry_run"]}
    if policy.in_place:
        return release.in_place(backup=policy.backup, **how)
    if policy.into_schema is not None:
        return release.to_schema(policy.into_schema, replace=replaces, **how)
    if policy.out is not None:
        return release.to_database(policy.out, replace=replaces, **how)
    formatted: Literal["csv", "parquet"] = said["file_format"] or "csv"
    return release.to_directory(policy.out_directory or "", format_name=formatted, **how)


def _require_place(destination: Destination, lookups: Path | None) -> None:
    if lookups is not None:
        raise UsageError("--lookups is for the script that --sql prints: give --sql too, or leave it out.")
    if not destination.is_somewhere:
        raise UsageError(
            "Say where the release should go: --into NAME, --out FILE or --in-place; or --sql to see the SQL only. Or "
            "begin with kanon init, which writes a policy file for a table, and name that with --policy."
        )


def _held_out(source: Source, control: Path | None) -> dict[str, Any]:
    held = source.held_out
    if held is None:
        return {}
    return {"held_out": {"rows": held.rows, "people": held.people, "file": str(control)}}


def _print_script(release: Release, script: Script, which: str, dialect: str, talk: Talk) -> None:
    say_of_script(
        script,
        which,
        talk,
        whole={tree.column.name for tree in release.publication.trees_compared},
        population=release.prepared.population is not None,
        advice="" if script.files else " --lookups DIR writes them to files instead.",
    )
    print_sql(script_text(release, script, which, dialect))


def _can_be_repeated(release: Release) -> bool:
    rules = release.publication.rules
    return rules is None or not rules.cannot_be_repeated


def _check(source: Source, destination: Destination, policy: Policy, talk: Talk) -> None:
    """Raise an error for an invalid destination before the work, and warn if no ledger will record the release."""
    check_destination(source, destination, policy)
    if source.holder.forgets is not None:
        talk.warn(
            f"No release of {source.name} is remembered: the ledger compares this one with no earlier one, and no "
            f"later one with this. {source.holder.forgets}"
        )


def _warn_of_ledger(source: Source, published: Published, talk: Talk) -> None:
    """Warn, even if quiet, about the overlap with replaced releases, and if the release is not recorded."""
    if published.ledger is not None:
        for warning in published.ledger.warnings:
            talk.warn(warning)
    if published.not_remembered not in {None, source.holder.forgets}:
        talk.warn(f"The ledger does not know of this release: {published.not_remembered}")


def printed_summary(release: Release, published: Published, *, tries_remedies: bool = False) -> dict[str, Any]:
    roles, is_view = release.prepared.roles, published.kind in {"view", "materialized-view"}
    found = remedies(release, as_view=is_view) if tries_remedies else None
    return {
        **release.summary(published),
        "columns_left_out": roles.left_out,
        "columns_proposed": [column.name for column in roles.proposed],
        "columns_emptied": release.emptied,
        "remedies": None if found is None else [asdict(remedy) for remedy in found.best],
        "remedies_untried": [] if found is None else found.untried,
    }


def _say_what_was_chosen(release: Release, talk: Talk) -> None:
    for hierarchy in release.publication.hierarchies:
        if hierarchy.chosen:
            column = hierarchy.column
            talk.note(f"{column.name}: no hierarchy was given; {hierarchy.origin} was chosen, as kanon init would.")
        for note in hierarchy.notes:
            talk.note(f"{hierarchy.column.name}: {note}.")
    note_unread(release.prepared.source, talk)
    note_findings(release.prepared.findings, talk)
    used = (*release.publication.hierarchies, *release.prepared.sensitive_hierarchies.values())
    unused = notes_on_unused(release.policy.hierarchy_directory, (hierarchy.rule for hierarchy in used))
    for note in (*unused, *release.prepared.spellings()):
        talk.note(note)
    if release.rows_in == 0:
        talk.note(f"{release.prepared.source.name} has no rows; the release has none either.")
    if release.result.stopped == "time limit" and release.policy.time_limit is None:
        talk.note(
            f"The lattice has {release.prepared.lattice.size:,} nodes: without a --time-limit, such a search ends "
            f"after {UNLISTED_SECONDS} seconds; this is the best release so far."
        )
    elif release.result.stopped is not None:
        talk.note(f"The search was stopped ({release.result.stopped}); this is the best release so far.")
    if emptied := release.emptied:
        talk.note(f"Empty columns (* in more than half of the rows, or one label): {', '.join(map(visible, emptied))}.")


def _say_of_view(release: Release, talk: Talk) -> None:
    """Print what a reader of a view learns in addition to its rows."""
    talk.note(
        "A view shows the table as it is at the moment: who can read the table behind it, or compares it before "
        "and after a change, learns more than the view says. To hand data out, make a table or a file. Rows with "
        "values that come later are left out where their column is generalized; kanon check counts them."
    )
    where = capabilities_of(release.prepared.source.holder.dialect)
    if where.barrier == "none":
        talk.note(
            f"{where.title} has no secure views: a condition or a function that a reader of this view adds may be "
            "evaluated for rows that the view leaves out, and errors or records of that function show their "
            "values. For readers who may not see the table, make a table or a file."
        )


def _say_what_is_undecided(release: Release, policy_file: Path | None, talk: Talk) -> None:
    """Print which columns have no role in the policy file, and which have an unconfirmed one."""
    roles = release.prepared.roles
    if policy_file is not None and roles.dropped:
        talk.note(
            f"Not published, because {policy_file} gives them no role: {_names(roles.dropped)}. To publish one, name "
            "it there as sensitive or insensitive, or in quasi_identifiers if others could know it."
        )
    if roles.proposed:
        talk.note(
            f"Published in a role that kanon init proposed and no person has confirmed: {_names(roles.proposed)}. "
            f"Check each, then take it out of proposed in {policy_file or 'the policy'}."
        )


def _names(columns: Sequence[Column]) -> str:
    return ", ".join(visible(column.name) for column in columns)


def _say_what_next(context: typer.Context, source: str | None, opened: Source, talk: Talk) -> None:
    """Print the command for the report of this release, if the policy file contains everything it needs."""
    given = given_options(context)
    if (
        set(given) <= {"source", "table", "policy_file", "replace_existing", "ignore_ledger", "verbose"}
        and "policy_file" in given
    ):
        options = ("--policy", str(context.params["policy_file"]), "--out", str(free_name(Path("report.html"))))
        talk.note(f"The evidence for it, as one file to sign:\n  {command('report', source, opened, *options)}")


def script_text(release: Release, script: Script, which: str, dialect: str) -> str:
    """Return the text of a script; with ``all``, it follows every statement that was executed before."""
    if which == "release":
        return script.text
    source = release.prepared.source
    run_in = source.engine.dialect if source.in_warehouse and dialect == source.holder.dialect else dialect
    return after_all(release.statements_run(run_in), script.text)


def _print_published(summary: dict[str, Any]) -> None:
    print_prose(f"{visible(summary['source'])} -> {visible(summary['destination'])}")
    print_release(summary)
    if (held := summary.get("held_out")) is not None:
        whose = "" if held["people"] is None else f" of {counted(held['people'], 'person', 'people')}"
        there = (
            f"they are not in the release; {visible(held['file'])} has them as they are: keep it as you keep the table"
        )
        print_prose(f"held out     {counted(held['rows'], 'row')}{whose}: {there}")
    print_remedies(summary)
    if summary["dry_run"] and summary["in_place"] is None:
        print_prose("Dry run: the release was made and checked, and nothing was written.")
