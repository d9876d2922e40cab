"""``kanon attack``: attacks a release as someone who knows people in its original. Exit code 1 if it succeeds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.case_options import end_with, run_judge, with_case
from kanon_sql.cli.options.destination_options import is_of_several
from kanon_sql.cli.options.policy_options import RequestedPolicy
from kanon_sql.cli.options.shared import check_options
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import print_pairs, print_prose, print_text, visible
from kanon_sql.engine.base import split_names
from kanon_sql.evidence.attack import Attacked, attack_release
from kanon_sql.measures.shares import read_share
from kanon_sql.risks.attacks.controlled import TARGETS, Guessing

if TYPE_CHECKING:
    from kanon_sql.evidence.case import Case
    from kanon_sql.evidence.tables import TablesAttacked
    from kanon_sql.risks.attacks.verdicts import Verdict

_LOUD = {"succeeds": "SUCCEEDS", "not excluded": "NOT EXCLUDED"}


@with_case(
    sensitive=Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="What the attacker wants to know of a person."),
    ],
    choice=shared.ChoiceOption,
    schema=shared.SchemaOption,
)
def attack_command(
    context: typer.Context,
    others: Annotated[
        list[str] | None,
        typer.Option(
            "--other",
            metavar="TABLE|FILE",
            help="Another release of the same original: a table of the same database, or a file. May be repeated.",
        ),
    ] = None,
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
            help="People who are not in the release: rows of the same table, such as those of run.hold_out. Guesses "
            "about people are compared with guesses about them.",
        ),
    ] = None,
    knows: Annotated[
        list[str] | None,
        typer.Option(
            "--knows",
            metavar="COLUMNS",
            autocompletion=shared.complete_columns,
            help="The columns that an attacker knows, separated by commas; twice for an attacker with two sources "
            "(default: quasi-identifiers in which most people are alone, and all of them).",
        ),
    ] = None,
    targets: Annotated[
        int,
        typer.Option("--targets", metavar="N", help="Guesses are about so many people of each group, at most."),
    ] = TARGETS,
    drawn_by: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the draws for the guesses.")] = 0,
) -> None:
    """Attack a release as someone would who knows people in its original; code 1 if one succeeds or may succeed."""
    said = context.params
    if is_of_several(context, said["policy_file"]):
        from kanon_sql.evidence.tables import attack_tables

        check_options(context)
        policy, schema, original = RequestedPolicy(said).of_several(said), said["schema"], said["original"]
        with Talk(quiet=said["quiet"], verbose=said["verbose"]) as talking:
            attacked = attack_tables(said["source"], policy, schema=schema, original=original, progress=talking)
        end_with(attacked, _print_attacked, said["output_format"], failed=attacked.endangered)
        return
    guessing = Guessing(tuple(split_names([names]) for names in knows or []), targets, drawn_by)

    def judge(case: Case, talk: Talk) -> Attacked:
        algorithm = None if said["policy_file"] is None else case.policy.algorithm
        return attack_release(case, guessing, confidence, ruled_out, talk, algorithm)

    run_judge(
        context,
        "always",
        judge,
        _print_attacked,
        lambda result: result.endangered,
        control=control,
        others=others or (),
    )


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
    between = "with" if verdict.name == "joint release" else "of"
    return verdict.name if verdict.about is None else f"{verdict.name} {between} {visible(verdict.about)}"
