"""``kanon attack``: what a release gives away to someone who knows people in its original. Exit code 1 if it does."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.destination_options import is_of_several
from kanon_sql.cli.options.policy_options import generalizing_policy, note_findings, policy_in, prepared_beside
from kanon_sql.cli.options.shared import check_options
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import print_json, print_pairs, print_prose, print_sql, print_text, visible
from kanon_sql.engine.base import split_names
from kanon_sql.evidence.attack import Attacked, attack_release, attacked_release, open_other, opened_control
from kanon_sql.evidence.control import TARGETS, ControlGroup, Guessing, refuse_without_control
from kanon_sql.measures.shares import read_share
from kanon_sql.policy.destination import NamedRelease
from kanon_sql.release.script import logged_script

if TYPE_CHECKING:
    from kanon_sql.evidence.tables_attack import TablesAttacked
    from kanon_sql.risks.attacks.verdicts import Verdict

_LOUD = {"succeeds": "SUCCEEDS", "not excluded": "NOT EXCLUDED"}


def attack_command(
    context: typer.Context,
    source: shared.NamedSourceArgument = None,
    table: shared.TableArgument = None,
    original: shared.OriginalOption = None,
    original_table: shared.OriginalTableOption = None,
    quasi_identifiers: shared.QiOption = None,
    keep: shared.KeepOption = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="What the attacker wants to know of a person."),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--other",
            metavar="TABLE|FILE",
            help="Another release of the same original: a table of the same database, or a file. May be repeated.",
        ),
    ] = None,
    entity: shared.EntityOption = None,
    count: shared.CountOption = None,
    k: shared.KOption = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="SHARE",
            parser=read_share,
            help="The share of one sensitive value that counts as known.",
        ),
    ] = 1.0,
    ruled_out: Annotated[
        int,
        typer.Option("--ruled-out", metavar="M", help="Up to how many sensitive values the attacker can rule out."),
    ] = 1,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="TABLE|FILE",
            help="People who are not in the release: rows of the same table, such as those of --hold-out. Guesses "
            "about people are compared with guesses about them.",
        ),
    ] = None,
    knows: Annotated[
        list[str] | None,
        typer.Option(
            "--knows",
            metavar="COLUMNS",
            autocompletion=shared.complete_columns,
            help="The columns that an attacker knows, separated by commas; twice: of two sources (default: quasi-"
            "identifiers in which most people are alone, and all of them).",
        ),
    ] = None,
    targets: Annotated[
        int,
        typer.Option("--targets", metavar="N", help="Guesses are about so many people of each group, at most."),
    ] = TARGETS,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Of what is drawn for these guesses.")] = 0,
    choice: shared.ChoiceOption = None,
    prepare: shared.PrepareOption = None,
    hierarchy: shared.HierarchyOption = None,
    hierarchies: shared.HierarchiesOption = None,
    policy_file: shared.PolicyOption = None,
    schema: shared.SchemaOption = None,
    sql: shared.SqlOption = False,
    dialect: shared.DialectOption = "duckdb",
    output_format: shared.FormatOption = "table",
    quiet: shared.QuietOption = False,
    verbose: shared.VerboseOption = False,
) -> None:
    """Attack a release as someone would who knows people in its original; code 1 if it succeeds or is not excluded."""
    check_options(context)
    if is_of_several(context, policy_file, schema=schema):
        from kanon_sql.cli.commands.several_tables import attack_several

        _end_with(attack_several(context, context.params), output_format)
        return
    base, in_file = policy_in(policy_file)
    guessing = Guessing(tuple((names,) for names in knows or []), targets, seed)
    refuse_without_control(guessing, control)
    named = attacked_release(NamedRelease(source, table, original, original_table), base, in_file)
    opened, release = named.opened()
    with opened.engine, Talk(opened.engine, quiet=quiet, verbose=verbose) as talk:
        group = None
        if control is not None:
            people = opened_control(opened, named.source, release, control)
            known = tuple(split_names(names) for names in guessing.knows)
            group = ControlGroup(prepared_beside(people, release, base, prepare), replace(guessing, knows=known))
        opened = prepared_beside(opened, release, base, prepare)
        policy = generalizing_policy(
            base,
            quasi_identifiers=quasi_identifiers,
            keep=keep,
            sensitive=sensitive,
            entity=entity,
            k=k,
            hierarchy=hierarchy,
            hierarchies=hierarchies,
            settings={"count": count, "choice": choice},
        )
        beside = [open_other(opened, named.source, release, other) for other in others or []]
        algorithm = None if policy_file is None else policy.algorithm
        result = attack_release(opened, release, beside, policy, confidence, ruled_out, talk, algorithm, control=group)
        if sql:
            print_sql(logged_script(opened.engine.statements, dialect))
            return
        note_findings(result.findings, talk)
        if result.left_out is not None:
            talk.note(result.left_out)
    _end_with(result, output_format)


def _end_with(result: Attacked | TablesAttacked, output_format: str) -> None:
    if output_format == "json":
        print_json(result.summary())
    else:
        _print_attacked(result)
    if result.endangered:
        raise typer.Exit(1)


def _print_attacked(result: Attacked | TablesAttacked) -> None:
    verdicts = result.verdicts
    said = re.sub(r"\bsucceeds?\b", lambda word: word[0].upper(), result.said) if result.succeeded else result.said
    print_prose(f"{visible(result.table)} against {visible(result.original)}: {said}")
    print_text("")
    print_pairs(
        [(_named(verdict), f"{_LOUD.get(verdict.outcome, verdict.outcome)}: {verdict.found}") for verdict in verdicts]
    )
    if stopped := [(_named(verdict), verdict.stopped_by) for verdict in verdicts if verdict.endangers]:
        print_text("")
        print_prose("What stops them:")
        print_pairs(stopped)


def _named(verdict: Verdict) -> str:
    between = "with" if verdict.attack == "joint release" else "of"
    return verdict.attack if verdict.about is None else f"{verdict.attack} {between} {visible(verdict.about)}"
