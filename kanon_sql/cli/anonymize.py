"""``kanon anonymize``: search, publish, verify, report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.anonymizer import make_release
from kanon_sql.cli.conflicts import check_key_file, check_options, given_options
from kanon_sql.cli.destination_options import (
    BackupOption,
    DryRunOption,
    InPlaceAsked,
    InPlaceOption,
    IntoOption,
    KindOption,
    OutOption,
    asked_destination,
    check_destination,
    check_policy_file,
    save_policy_as,
)
from kanon_sql.cli.diagnostics import Talk, interrupted_after
from kanon_sql.cli.options import (
    DialectOption,
    FormatOption,
    QuietOption,
    ReplaceOption,
    SourceArgument,
    TableArgument,
    VerboseOption,
)
from kanon_sql.cli.output import print_json, print_prose, print_sql, visible
from kanon_sql.cli.policy_options import AskedPolicy
from kanon_sql.cli.release_tables import print_release
from kanon_sql.cli.report_option import AskedByOption, ReportAsked
from kanon_sql.destination import Destination
from kanon_sql.engine.addresses import shown_source
from kanon_sql.engine.sources import open_source
from kanon_sql.errors import UsageError
from kanon_sql.progress import Progress
from kanon_sql.release import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.published import Published

SqlOfRelease = Annotated[
    Literal["release", "all"] | None,
    typer.Option(
        "--sql",
        metavar="[=all]",
        help="Print the SQL that makes the release and change nothing; --sql=all prints every statement that was run.",
        show_default=False,
    ),
]


_APART = {
    ("into", "out"): "a release goes to one place",
    ("into", "in_place"): "a release goes to one place",
    ("out", "in_place"): "a release goes to one place",
    ("in_place", "kind"): "--as says what --into makes",
    ("sql", "dry_run"): "--sql changes nothing anyway",
    ("dry_run", "save_policy"): "--dry-run writes nothing",
    ("out", "kind"): "--as says what --into makes",
    ("sql", "save_policy"): "--sql changes nothing, and so writes no policy",
    ("sql", "report_file"): "--sql changes nothing, and so there is nothing to report",
    ("dry_run", "report_file"): "--dry-run writes nothing; kanon report reports before anything is published",
    ("sql", "ignore_ledger"): "--sql publishes nothing, and so checks nothing",
}
"""Pairs of parameters that do not go together, and why."""


def anonymize_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    save_policy: Annotated[
        Path | None,
        typer.Option("--save-policy", metavar="FILE", help="Write what was asked for as a kanon.toml."),
    ] = None,
    into: IntoOption = None,
    kind: KindOption = None,
    out: OutOption = None,
    in_place: InPlaceOption = False,
    backup: BackupOption = None,
    dry_run: DryRunOption = False,
    replace_existing: ReplaceOption = False,
    report_file: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write the evidence to a .html, .md or .json file: see kanon report."
        ),
    ] = None,
    asked_by: AskedByOption = None,
    ignore_ledger: Annotated[
        bool,
        typer.Option("--ignore-ledger", help="Publish even if this and earlier releases say too much together."),
    ] = False,
    sql: SqlOfRelease = None,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    *,
    asked: AskedPolicy,
) -> None:
    """Find the release of a table that loses least, publish it, and verify what was published."""
    check_options(context, _APART)
    base, in_file = asked.read()
    how = InPlaceAsked(in_place, backup, dry_run)
    destination = asked_destination(in_file, into, kind, out, how, replace_existing=replace_existing)
    if sql is None and not destination.is_somewhere:
        raise UsageError(
            "Say where the release should go: --into NAME, --out FILE or --in-place; or --sql to see the SQL only. Or "
            "begin with kanon init, which writes a policy file for a table, and name that with --policy."
        )
    if save_policy is not None:
        check_policy_file(save_policy, [Path(source), destination.out], replace_existing=replace_existing)
    reported = ReportAsked(report_file, asked_by, replace=replace_existing)
    reported.check([source, destination.out, destination.backup, save_policy, asked.file, asked.key_file])
    changes_source = destination.into is not None or destination.in_place
    opened = open_source(source, table, writable=changes_source and sql is None)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        policy = asked.over(base, opened.columns)
        check_key_file(policy, destination, save_policy)
        if sql is None:
            check_destination(opened, destination)
        release = make_release(opened, policy, talk)
        _say_what_was_chosen(release, destination, talk)
        _say_what_is_undecided(release, asked.file, talk)
        if sql is not None:
            # That of where the table is, unless another one was asked for.
            own = opened.dialect if "dialect" not in given_options(context) else dialect
            print_sql(release_script(release, destination, sql, own))
            return
        draft = reported.before(release, destination, talk)
        talk(Progress("Publishing"))
        published = release.publish(destination, ignore_ledger=ignore_ledger)
        with interrupted_after(f"the release is there: {published.destination}"):
            reported.after(release, source, destination, published, draft, talk)
            if save_policy is not None:
                save_policy_as(policy, destination, save_policy)
            talk.end()
            if published.not_remembered is not None:
                talk.note(f"The ledger does not know of this release: {published.not_remembered}")
            _print_published(summary_of(release, published), output_format)
            if output_format == "table" and published.in_place is None:
                _say_what_next(context, shown_source(source), talk)


def summary_of(release: Release, published: Published) -> dict[str, Any]:
    """Return what came out as plain values, with the names of the columns that were not published."""
    roles = release.prepared.roles
    return {
        **release.summary(published),
        "columns_left_out": roles.left_out,
        "columns_proposed": [column.name for column in roles.proposed],
    }


def _say_what_was_chosen(release: Release, destination: Destination, talk: Talk) -> None:
    for hierarchy in release.publication.hierarchies:
        if hierarchy.chosen:
            column = hierarchy.column
            talk.note(f"{column.name}: no hierarchy was given; {hierarchy.origin} was chosen, as kanon init would.")
        for note in hierarchy.notes:
            talk.note(f"{hierarchy.column.name}: {note}.")
    if release.rows_in == 0:
        talk.note(f"{release.prepared.source.name} has no rows; the release has none either.")
    if release.result.stopped is not None:
        talk.note(f"The search was stopped ({release.result.stopped}); this is the best release so far.")
    if said_nothing := _at_their_root(release):
        talk.note(
            f"{' and '.join(said_nothing)}: every value became the root of the hierarchy, which says nothing any more. "
            "--algorithm local, where rows have levels of their own, keeps more; so do fewer quasi-identifiers, "
            "hierarchies with more levels, or a smaller k."
        )
    if destination.into is not None and destination.kind == "view":
        talk.note(
            "A view shows the table as it is at the moment: who can read the table behind it, or compares it before "
            "and after a change, learns more than the view says. To hand data out, make a table or a file."
        )


def _say_what_is_undecided(release: Release, policy_file: Path | None, talk: Talk) -> None:
    """Say which columns have no role in the policy file, and which have one that no person has confirmed."""
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


def _say_what_next(context: typer.Context, source: str, talk: Talk) -> None:
    """Say how the report of this release is made, where the policy file says all that there is to say."""
    given = given_options(context)
    if set(given) <= {"source", "table", "policy_file", "replace_existing", "verbose"} and "policy_file" in given:
        table, policy = (context.params[name] for name in ("table", "policy_file"))
        command = shlex.join(["kanon", "report", source, *([table] if table else []), "--policy", str(policy)])
        talk.note(f"The evidence for it, as one file to sign:\n  {command} --out report.html")


def _at_their_root(release: Release) -> list[str]:
    """Return the quasi-identifiers that were generalized away; of a table without rows, none."""
    levels = release.levels if release.rows_in else None
    return [
        hierarchy.column.name
        for hierarchy in release.publication.hierarchies
        if levels is not None and levels[hierarchy.column.name] == hierarchy.height
    ]


def release_script(release: Release, destination: Destination, which: str, dialect: str) -> str:
    """Return the script of a release; with ``all``, every statement that was run before it."""
    script = release.sql(dialect, destination)
    if which == "release":
        return script
    source = release.prepared.source
    run_in = source.engine.dialect if source.warehouse is not None and dialect == source.dialect else dialect
    return f"{release.statements_run(run_in)}\n-- The script of the release\n\n{script}"


def _print_published(summary: dict[str, Any], output_format: str) -> None:
    if output_format == "json":
        print_json(summary)
        return
    print_prose(f"{visible(summary['source'])} -> {visible(summary['destination'])}")
    print_release(summary)
