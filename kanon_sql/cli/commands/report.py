"""``kanon report``: the evidence for a release, as one file for the person who signs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.case_options import end_with
from kanon_sql.cli.options.destination_options import AskedByOption, require_own_file
from kanon_sql.cli.options.policy_options import RequestedPolicy, with_policy
from kanon_sql.cli.options.shared import check_options
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import (
    about,
    figure,
    print_pairs,
    print_prose,
    print_sql,
    print_text,
    visible,
)
from kanon_sql.cli.output.utility import utility_cells
from kanon_sql.errors import UsageError
from kanon_sql.measures.shares import threshold_text
from kanon_sql.policy.destination import named_table
from kanon_sql.release.script import logged_script
from kanon_sql.release.utility import utility_settings

if TYPE_CHECKING:
    from kanon_sql.evidence.report.written import Report


@with_policy
def report_command(
    context: typer.Context,
    source: shared.NamedSourceArgument = None,
    table: shared.TableArgument = None,
    release: Annotated[
        str | None,
        typer.Option(
            "--release",
            metavar="NAME|FILE",
            help="The published table, view or file (default: where the policy file puts it, if it is there). Its rows "
            "are proven to be those that the policy makes.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the report to a .html, .md or .json file."),
    ] = None,
    asked_by: AskedByOption = None,
    standard: shared.StandardOption = None,
    utility: shared.UtilityOption = False,
    target: shared.TargetOption = None,
    spread: shared.SpreadOption = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="TABLE|FILE",
            help="People who are not in the release, such as those of run.hold_out: the report is on the table without "
            "them, and compares guesses about its people with guesses about them.",
        ),
    ] = None,
    replace_existing: shared.ReplaceOption = False,
    sql: shared.SqlOption = False,
    dialect: shared.DialectOption = "duckdb",
    output_format: shared.FormatOption = "table",
    quiet: shared.QuietOption = False,
    verbose: shared.VerboseOption = False,
    *,
    requested: RequestedPolicy,
) -> None:
    """Write the evidence for a release as one file without a raw value: the request, the measurements, the attacks."""
    from kanon_sql.evidence.case import Tables
    from kanon_sql.evidence.report.reporter import report_on
    from kanon_sql.evidence.report.written import check_report

    check_options(context, {("sql", "out"): "--sql prints the statements and writes nothing"})
    good_for = utility_settings(utility=utility, target=target, spread=spread)
    base, in_file = requested.read()
    policy = requested.over(base)
    if standard:
        policy = replace(policy, standards=tuple(standard))
    source, table = named_table(source, table, policy.origin)
    if out is not None:
        require_own_file(out, [source, release, requested.file, requested.key_file])
        check_report(out, replace=replace_existing)
    elif not sql and output_format != "json":
        raise UsageError("Say where the report should go: --out report.html (or .md, .json); or --format json.")
    with Talk(quiet=quiet, verbose=verbose) as talk:
        found, engine = report_on(
            Tables(source, table, control=control),
            policy,
            in_file,
            release,
            asked_by=asked_by,
            utility=good_for,
            progress=talk,
            watch=talk.follow,
        )
    if sql:
        print_sql(logged_script(engine.statements, dialect))
        return
    if out is not None:
        found.write(out, replace=replace_existing)
    end_with(found, lambda report: _print_reported(report, out), output_format)


def _print_reported(report: Report, out: Path | None) -> None:
    from kanon_sql.evidence.report.words import measured_text

    release = "not published yet" if report.published is None else report.published
    print_prose(f"{visible(report.source)} -> {visible(release)}: {visible(str(out))}")
    pairs = [("rows", f"{report.rows_in:,} in, {report.rows_out:,} out, {report.rows_suppressed:,} suppressed")]
    for found in report.requirements:
        verdict = "holds" if found.holds else "DOES NOT HOLD"
        measured = measured_text(found.measured, found.model, people=found.entity is not None)
        required = f"{found.letter} = {threshold_text(found.required)}"
        pairs.append((about(found.model, found.sensitive), f"{required} {verdict} in the output: {measured}"))
    if report.measures is not None:
        pairs.append(("loss", figure(report.measures["loss"])))
    pairs.append(("attacks", report.attacks_said))
    pairs += [("standard", f"{standard.title}: {standard.tally}") for standard in report.standards]
    if report.utility is not None:
        pairs.append(
            ("utility", ", ".join(f"{name} {text}" for name, text in utility_cells(report.utility).items() if text))
        )
    if report.proposed:
        said = f"no person has confirmed those of {', '.join(map(visible, report.proposed))} (proposed in the policy)"
        pairs.append(("roles", said))
    print_pairs(pairs)
    if endangering := report.endangering:
        print_text("")
        print_prose("What stops them:")
        print_pairs([(about(attack.name, attack.about), attack.stopped_by) for attack in endangering])
