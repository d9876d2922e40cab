"""``kanon anonymize``: search, publish, verify, report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kanon_sql.anonymizer import make_release
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.options import (
    DialectOption,
    EntityOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    IdOption,
    KOption,
    PolicyOption,
    QiOption,
    QuietOption,
    ReplaceOption,
    SourceArgument,
    TableArgument,
    VerboseOption,
    assignments,
    overridden,
)
from kanon_sql.cli.output import print_json, print_pairs, print_table, print_text
from kanon_sql.destinations import check_file, check_target
from kanon_sql.engine.sources import Source, open_source
from kanon_sql.errors import UsageError
from kanon_sql.policy import DEFAULT_MAX_SUPPRESSED, Destination, Policy, read_policy, write_policy
from kanon_sql.progress import Progress
from kanon_sql.release import Release

SqlOfRelease = Annotated[
    Literal["release", "all"] | None,
    typer.Option(
        "--sql",
        metavar="[=all]",
        help="Print the SQL that makes the release and change nothing; --sql=all prints every statement that was run.",
        show_default=False,
    ),
]


def anonymize_command(
    source: SourceArgument,
    table: TableArgument = None,
    identifying: IdOption = None,
    quasi_identifiers: QiOption = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="Must not be learned about a person; published as it is."),
    ] = None,
    rest: Annotated[
        Literal["keep", "drop"] | None, typer.Option("--rest", help="What happens to columns without a role.")
    ] = None,
    entity: EntityOption = None,
    k: KOption = None,
    max_suppressed: Annotated[
        float | None,
        typer.Option(
            "--max-suppressed",
            metavar="FRACTION",
            help=f"The share of rows that may be left out, 0 to 1 (default: {DEFAULT_MAX_SUPPRESSED}).",
        ),
    ] = None,
    algorithm: Annotated[Literal["optimal"] | None, typer.Option("--algorithm", help="How to search.")] = None,
    measure: Annotated[Literal["loss"] | None, typer.Option("--measure", help="What to lose least of.")] = None,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="Then take the best release so far, with its proven gap."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of the order of rows; drawn if not given.")] = None,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
    save_policy: Annotated[
        Path | None,
        typer.Option("--save-policy", metavar="FILE", help="Write what was asked for as a kanon.toml."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="NAME", help="Put the release into the database under this name."),
    ] = None,
    kind: Annotated[
        Literal["table", "view"] | None, typer.Option("--as", help="What --into makes (default: table).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the release to a .parquet, .csv or .json file."),
    ] = None,
    replace_existing: ReplaceOption = False,
    sql: SqlOfRelease = None,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Find the release of a table that loses least, publish it, and verify what was published.

    [bold]kanon anonymize clinic.duckdb patients --id name --qi age,zip --sensitive disease --into patients_k5[/bold]
    """
    base, destination = read_policy(policy_file) if policy_file is not None else (Policy(), Destination())
    if into is not None or out is not None:
        destination = Destination(into, kind or "table", out, replace_existing)
    elif kind is not None or replace_existing:
        destination = replace(
            destination, kind=kind or destination.kind, replace=replace_existing or destination.replace
        )
    if sql is None and destination.into is None and destination.out is None:
        raise UsageError("Say where the release should go: --into NAME or --out FILE; or --sql to see the SQL only.")
    opened = open_source(source, table, writable=destination.into is not None and sql is None)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        opened.engine.listener = talk.statement
        policy = overridden(
            base,
            opened.columns,
            roles={
                "identifying": identifying,
                "quasi_identifiers": quasi_identifiers,
                "sensitive": sensitive,
            },
            rest=rest,
            entity=entity,
            k=k,
            hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
            settings={
                "hierarchy_directory": hierarchies and hierarchies.absolute(),
                "max_suppressed": max_suppressed,
                "algorithm": algorithm,
                "measure": measure,
                "time_limit": time_limit,
                "seed": seed,
            },
        )
        if sql is None:
            _check_destination(opened, destination)
        release = make_release(opened, policy, talk)
        _say_what_was_chosen(release, destination, talk)
        if sql is not None:
            print_text(release_script(release, destination, sql, dialect))
        else:
            _publish(release, destination, talk, output_format)
    if save_policy is not None:
        write_policy(policy, destination, save_policy)


def print_release(release: Release, summary: dict[str, Any]) -> None:
    """Print what came out, for people."""
    rows = []
    for column, level in summary["levels"].items():
        hierarchy = summary["hierarchies"][column]
        origin = hierarchy["origin"] + (" (chosen)" if hierarchy["chosen"] else "")
        rows.append((column, level, summary["heights"][column], summary["labels"][column], origin))
    print_table(["column", "level", "of", "labels", "hierarchy"], rows)
    print_pairs(_findings(release, summary))


def _findings(release: Release, summary: dict[str, Any]) -> list[tuple[str, str]]:
    share = summary["rows_suppressed"] / summary["rows_in"] if summary["rows_in"] else 0.0
    measures = summary["measures"]
    proof = (
        f"proven optimal: no full-domain release loses less ({summary['nodes_tested']:,} of "
        f"{summary['lattice_size']:,} nodes tested)"
        if summary["optimal"]
        else f"stopped by {summary['stopped']}: no release can lose less than {summary['bound']:.4f} "
        f"(gap {summary['gap']:.1%}, {summary['nodes_tested']:,} nodes tested)"
    )
    suppressed = f"{summary['rows_suppressed']:,} suppressed ({share:.2%})"
    pairs = [("rows", f"{summary['rows_in']:,} in, {summary['rows_out']:,} out, {suppressed}")]
    for model in summary["models"]:
        members = f"people ({model['entity']})" if model["entity"] else "rows"
        found = "no rows" if model["measured"] is None else f"smallest class has {model['measured']:,} {members}"
        verdict = "holds" if model["holds"] else "DOES NOT HOLD"
        pairs.append((model["model"], f"k = {model['required']} {verdict} in the output: {found}"))
    size = measures["average_rows_per_class"]
    pairs += [
        (
            "classes",
            f"{summary['classes']:,}" + (f", {size:,.1f} rows on average" if size is not None else ""),
        ),
        ("loss", f"{measures['loss']:.4f}, {proof}"),
        (
            "precision",
            f"{measures['precision']:.4f}   gcp {measures['gcp']:.4f}   discernibility {measures['discernibility']:,}",
        ),
        (
            "seconds",
            f"{sum(summary['seconds'].values()):.2f}: "
            + ", ".join(f"{step.replace('_', ' ')} {seconds:.2f}" for step, seconds in summary["seconds"].items()),
        ),
    ]
    if release.prepared.roles.identifying:
        pairs.append(("left out", ", ".join(column.name for column in release.prepared.roles.identifying)))
    return pairs


def _check_destination(source: Source, destination: Destination) -> None:
    """Refuse a destination before any work is done for it."""
    if destination.out is not None:
        check_file(source, destination.out, replace=destination.replace)
    elif destination.into is not None:
        check_target(source, destination.into, destination.kind, replace=destination.replace)


def _say_what_was_chosen(release: Release, destination: Destination, talk: Talk) -> None:
    for hierarchy in release.publication.hierarchies:
        if hierarchy.chosen:
            column = hierarchy.column
            talk.note(
                f"{column.name}: no hierarchy was given; {hierarchy.origin} was chosen by its type ({column.type})."
            )
    if release.rows_in == 0:
        talk.note(f"{release.prepared.source.name} has no rows; the release has none either.")
    if release.result.stopped is not None:
        talk.note(f"The search was stopped ({release.result.stopped}); this is the best release so far.")
    if destination.into is not None and destination.kind == "view":
        talk.note(
            "A view shows the table as it is at the moment: who can read the table behind it, or compares it before "
            "and after a change, learns more than the view says. To hand data out, make a table or a file."
        )


def release_script(release: Release, destination: Destination, which: str, dialect: str) -> str:
    """Return the script of a release; with ``all``, every statement that was run before it."""
    script = release.sql(dialect, destination)
    if which == "release":
        return script
    return f"{release.statements_run(dialect)}\n-- The script of the release\n\n{script}"


def _publish(release: Release, destination: Destination, talk: Talk, output_format: str) -> None:
    talk(Progress("Publishing"))
    published = release.publish(destination)
    summary = release.summary(published)
    talk.end()
    if output_format == "json":
        print_json(summary)
        return
    print_text(f"{release.prepared.source.name} -> {published.destination}")
    print_release(release, summary)
