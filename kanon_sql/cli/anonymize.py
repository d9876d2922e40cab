"""``kanon anonymize``: search, publish, verify, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.anonymizer import make_release
from kanon_sql.cli.conflicts import check_key_file, check_options
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
from kanon_sql.cli.model_options import AskedModels
from kanon_sql.cli.options import (
    ChooseOption,
    CutOption,
    DialectOption,
    EntityOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    IdOption,
    KeyFileOption,
    KOption,
    LabelsOption,
    MaxSuppressedOption,
    MeasureOption,
    NumbersOption,
    PairsOption,
    PolicyOption,
    PseudonymizeOption,
    QiOption,
    QuietOption,
    ReplaceOption,
    SensitiveOption,
    SourceArgument,
    TableArgument,
    VerboseOption,
    assignments,
    overridden,
)
from kanon_sql.cli.output import print_json, print_prose, print_sql, visible
from kanon_sql.cli.release_tables import print_release
from kanon_sql.destination import Destination
from kanon_sql.engine.sources import open_source
from kanon_sql.errors import UsageError
from kanon_sql.policy import Algorithm, Policy, read_policy
from kanon_sql.progress import Progress
from kanon_sql.release import Release

if TYPE_CHECKING:
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
    ("sql", "ignore_ledger"): "--sql publishes nothing, and so checks nothing",
}
"""Pairs of parameters that do not go together, and why."""


def anonymize_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    identifying: IdOption = None,
    quasi_identifiers: QiOption = None,
    sensitive: SensitiveOption = None,
    rest: Annotated[
        Literal["keep", "drop"] | None, typer.Option("--rest", help="What happens to columns without a role.")
    ] = None,
    entity: EntityOption = None,
    pseudonymize: PseudonymizeOption = None,
    key_file: KeyFileOption = None,
    k: KOption = None,
    max_suppressed: MaxSuppressedOption = None,
    algorithm: Annotated[
        Algorithm | None, typer.Option("--algorithm", help="How to search (default: optimal).")
    ] = None,
    measure: MeasureOption = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="Of the search alone (not of reading and publishing): then take the best release so far, with its "
            "proven gap.",
        ),
    ] = None,
    sample_rate: Annotated[
        float | None,
        typer.Option("--sample-rate", metavar="SHARE", help="Of rows on which spolg chooses its path (0.01)."),
    ] = None,
    choose: ChooseOption = None,
    cut: CutOption = None,
    labels: LabelsOption = None,
    numbers: NumbersOption = None,
    pairs: PairsOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of the order of rows, and of random choices; drawn if not given.")
    ] = None,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
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
    models: AskedModels,
    population: str | None,
) -> None:
    """Find the release of a table that loses least, publish it, and verify what was published."""
    check_options(context, _APART)
    base, in_file = read_policy(policy_file) if policy_file is not None else (Policy(), Destination())
    asked = InPlaceAsked(in_place, backup, dry_run)
    destination = asked_destination(in_file, into, kind, out, asked, replace_existing=replace_existing)
    if sql is None and not destination.is_somewhere:
        raise UsageError(
            "Say where the release should go: --into NAME, --out FILE or --in-place; or --sql to see the SQL only."
        )
    if save_policy is not None:
        check_policy_file(save_policy, [Path(source), destination.out], replace_existing=replace_existing)
    changes_source = destination.into is not None or destination.in_place
    opened = open_source(source, table, writable=changes_source and sql is None)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        policy = overridden(
            base,
            opened.columns,
            roles={
                "identifying": identifying,
                "quasi_identifiers": quasi_identifiers,
                "sensitive": sensitive,
                "pseudonymize": pseudonymize,
            },
            rest=rest,
            entity=entity,
            k=k,
            models=models,
            hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
            settings={
                "hierarchy_directory": hierarchies and hierarchies.absolute(),
                "max_suppressed": max_suppressed,
                "algorithm": algorithm,
                "measure": measure,
                "time_limit": time_limit,
                "sample_rate": sample_rate,
                "choose": choose,
                "cut": cut,
                "labels": labels,
                "numbers": numbers,
                "pairs": pairs,
                "seed": seed,
                "population": population,
                "key_file": key_file and key_file.absolute(),
            },
        )
        check_key_file(policy, destination, save_policy)
        if sql is None:
            check_destination(opened, destination)
        release = make_release(opened, policy, talk)
        _say_what_was_chosen(release, destination, talk)
        if sql is not None:
            print_sql(release_script(release, destination, sql, dialect))
            return
        talk(Progress("Publishing"))
        published = release.publish(destination, ignore_ledger=ignore_ledger)
        with interrupted_after(f"the release is there: {published.destination}"):
            if save_policy is not None:
                save_policy_as(policy, destination, save_policy)
            talk.end()
            if published.not_remembered is not None:
                talk.note(f"The ledger does not know of this release: {published.not_remembered}")
            _print_published(summary_of(release, published), output_format)


def summary_of(release: Release, published: Published) -> dict[str, Any]:
    """Return what came out as plain values, with the names of the columns that were not published."""
    return {**release.summary(published), "columns_left_out": release.prepared.roles.left_out}


def _say_what_was_chosen(release: Release, destination: Destination, talk: Talk) -> None:
    for hierarchy in release.publication.hierarchies:
        if hierarchy.chosen:
            column = hierarchy.column
            talk.note(
                f"{column.name}: no hierarchy was given; {hierarchy.origin} was chosen by its type ({column.type})."
            )
        for note in hierarchy.notes:
            talk.note(f"{hierarchy.column.name} ({hierarchy.origin}): {note}.")
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


def _print_published(summary: dict[str, Any], output_format: str) -> None:
    if output_format == "json":
        print_json(summary)
        return
    print_prose(f"{visible(summary['source'])} -> {visible(summary['destination'])}")
    print_release(summary)
