"""``kanon report``: the evidence for a release, as one file for who has to sign."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.cli.conflicts import check_options
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.model_options import (
    AlphaOption,
    BetaOption,
    DeltaOption,
    DistanceOption,
    EnhancedBetaOption,
    EntropyLOption,
    KMapOption,
    LOption,
    PopulationOption,
    PresenceOption,
    RecursiveOption,
    TOption,
    asked_models,
)
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
    SqlOption,
    TableArgument,
    VerboseOption,
    assignments,
    overridden,
)
from kanon_sql.cli.output import about, counted, figure, print_json, print_pairs, print_prose, print_sql, visible
from kanon_sql.cli.output import threshold as written
from kanon_sql.cli.report_option import AskedByOption, require_own_file
from kanon_sql.destination import Destination
from kanon_sql.engine.sources import open_source
from kanon_sql.errors import UsageError
from kanon_sql.plan import logged_script
from kanon_sql.policy import Algorithm, Policy, read_policy

if TYPE_CHECKING:
    from kanon_sql.reporting.figures import Report


def report_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    release: Annotated[
        str | None,
        typer.Option(
            "--release",
            metavar="NAME|FILE",
            help="What was published: a table or view in the database, or a file (default: where the policy file puts "
            "it, if it is there). Its rows are proven to be those that the policy makes.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the report to a .html, .md or .json file."),
    ] = None,
    asked_by: AskedByOption = None,
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
    l: LOption = None,  # noqa: ARG001, E741 - the name that the field has in the literature
    entropy_l: EntropyLOption = None,  # noqa: ARG001 - asked_models reads it, as those that follow
    recursive: RecursiveOption = None,  # noqa: ARG001
    alpha: AlphaOption = None,  # noqa: ARG001
    t: TOption = None,  # noqa: ARG001
    distance: DistanceOption = None,  # noqa: ARG001
    beta: BetaOption = None,  # noqa: ARG001
    enhanced_beta: EnhancedBetaOption = None,  # noqa: ARG001
    delta: DeltaOption = None,  # noqa: ARG001
    k_map: KMapOption = None,  # noqa: ARG001
    presence: PresenceOption = None,  # noqa: ARG001
    population: PopulationOption = None,
    max_suppressed: MaxSuppressedOption = None,
    algorithm: Annotated[
        Algorithm | None, typer.Option("--algorithm", help="How it was searched for (default: optimal).")
    ] = None,
    measure: MeasureOption = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Of each search alone.")
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
        int | None, typer.Option("--seed", help="The one that the release was made with; 0 if not given.")
    ] = None,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
    replace_existing: ReplaceOption = False,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Write the evidence for a release as one file without a raw value in it: what was asked, measured and attacked.

    [bold]kanon report clinic.duckdb patients --policy kanon.toml --out report.html[/bold]
    """
    from kanon_sql.reporting.figures import check_report
    from kanon_sql.reporting.reporter import report_on

    check_options(context, {("sql", "out"): "--sql prints what is run and writes nothing"})
    if out is not None:
        require_own_file(out, [source, release, policy_file, key_file])
        check_report(out, replace=replace_existing)
    elif not sql and output_format != "json":
        raise UsageError("Say where the report should go: --out report.html (or .md, .json); or --format json.")
    base, in_file = read_policy(policy_file) if policy_file is not None else (Policy(), Destination())
    opened = open_source(source, table)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        opened.engine.listener = talk.statement
        settings: dict[str, Any] = {
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
        }
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
            models=asked_models(context),
            hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
            settings=settings,
        )
        found = report_on(opened, source, policy, in_file, release, asked_by=asked_by, progress=talk)
        if sql:
            print_sql(logged_script(opened.engine.statements, dialect))
            return
        if out is not None:
            found.write(out, replace=replace_existing)
    if output_format == "json":
        print_json(found.summary())
    else:
        _print_reported(found, out)


def _print_reported(report: Report, out: Path | None) -> None:
    release = "not published yet" if report.published is None else report.published
    print_prose(f"{visible(report.source)} -> {visible(release)}: {visible(str(out))}")
    pairs = [("rows", f"{report.rows_in:,} in, {report.rows_out:,} out, {report.rows_suppressed:,} suppressed")]
    for found in report.requirements:
        verdict = "holds" if found.holds else "DOES NOT HOLD"
        measured = "no rows" if found.measured is None else written(found.measured)
        asked = f"{found.letter} = {written(found.required)}"
        pairs.append((about(found.model, found.sensitive), f"{asked} {verdict} in the output: {measured}"))
    if report.measures is not None:
        pairs.append(("loss", figure(report.measures["loss"])))
    succeeded = [attack.name for attack in report.attacks if attack.succeeded]
    tried = counted(sum(attack.succeeded is not None for attack in report.attacks), "attack")
    pairs.append(
        (
            "attacks",
            f"{len(succeeded)} of {tried} succeed: {', '.join(succeeded)}" if succeeded else f"{tried}, none succeeds",
        )
    )
    print_pairs(pairs)
