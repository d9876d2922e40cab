"""``kanon attack``: what a release gives away to someone who knows people in its original. Exit code 1 if it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.attacker import Attacked, attack_release, open_other
from kanon_sql.attacks.background import Background
from kanon_sql.attacks.homogeneity import Homogeneity
from kanon_sql.attacks.joint import Joint
from kanon_sql.attacks.linkage import Linkage
from kanon_sql.attacks.minimality import Minimality
from kanon_sql.attacks.order import Order
from kanon_sql.cli.conflicts import check_options
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.options import (
    DialectOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    KOption,
    PolicyOption,
    QiOption,
    QuietOption,
    SourceArgument,
    SqlOption,
    TableArgument,
    VerboseOption,
    assignments,
    overridden,
)
from kanon_sql.cli.output import counted, print_json, print_pairs, print_prose, print_sql, print_text, visible
from kanon_sql.cli.prepared import policy_in
from kanon_sql.engine.sources import open_beside
from kanon_sql.measurer import open_original
from kanon_sql.plan import logged_script

if TYPE_CHECKING:
    from kanon_sql.attacks.base import Attack


def attack_command(
    context: typer.Context,
    source: SourceArgument,
    table: TableArgument = None,
    *,
    original: Annotated[
        str,
        typer.Option(
            "--original", metavar="TABLE|FILE", help="What it was made from: a table of the same database, or a file."
        ),
    ],
    original_table: Annotated[
        str | None,
        typer.Option("--original-table", metavar="TABLE", help="The table, where --original is another database."),
    ] = None,
    quasi_identifiers: QiOption = None,
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
    k: KOption = None,
    confidence: Annotated[
        float,
        typer.Option("--confidence", metavar="SHARE", help="The share of one sensitive value that counts as known."),
    ] = 1.0,
    ruled_out: Annotated[
        int,
        typer.Option("--ruled-out", metavar="M", help="Up to how many sensitive values the attacker can rule out."),
    ] = 1,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    policy_file: PolicyOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Attack a release as someone would who knows people in its original; exit code 1 if that succeeds."""
    check_options(context)
    base = policy_in(policy_file)
    opened = open_original(source, original, original_table)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        talk.follow(opened.engine)
        policy = overridden(
            base,
            opened.columns,
            roles={"quasi_identifiers": quasi_identifiers, "sensitive": sensitive},
            rest="drop",
            k=k,
            hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
            settings={"hierarchy_directory": hierarchies and hierarchies.absolute()},
        )
        release = open_beside(opened, source, table, as_text=True)
        beside = [open_other(opened, source, release, other) for other in others or []]
        algorithm = None if policy_file is None else policy.algorithm
        result = attack_release(opened, release, beside, policy, confidence, ruled_out, talk, algorithm)
        if sql:
            print_sql(logged_script(opened.engine.statements, dialect))
            return
    if output_format == "json":
        print_json(result.summary())
    else:
        _print_attacked(result)
    if result.succeeded:
        raise typer.Exit(1)


def _print_attacked(result: Attacked) -> None:
    successes = [attack for attack in result.attacks if attack.succeeded]
    said = f"{len(successes)} of {len(result.attacks)} attacks SUCCEED" if successes else "no attack succeeds"
    print_prose(f"{visible(result.table)} against {visible(result.original)}: {said}")
    print_text("")
    print_pairs([(_named(attack), _said(attack)) for attack in result.attacks])
    if successes:
        print_text("")
        print_prose("What stops them:")
        print_pairs([(_named(attack), attack.stopped_by) for attack in successes])


def _named(attack: Attack) -> str:
    if isinstance(attack, Homogeneity | Background | Minimality):
        return f"{attack.name} of {attack.column}"
    return f"{attack.name} with {attack.other}" if isinstance(attack, Joint) else attack.name


def _said(attack: Attack) -> str:
    """Return what an attack found, in words."""
    match attack:
        case Linkage():
            return _linkage(attack)
        case Homogeneity():
            return _homogeneity(attack)
        case Background():
            return _background(attack)
        case Minimality():
            return _minimality(attack)
        case Order():
            return _order(attack)
        case Joint():
            return _joint(attack)
        case _:
            raise TypeError(attack)


def _mark(attack: Attack) -> str:
    return "SUCCEEDS: " if attack.succeeded else "fails: "


def _share(rows: int, of: int) -> str:
    return f"{counted(rows, 'row')} ({rows / of if of else 0:.2%})"


def _linkage(found: Linkage) -> str:
    parts = [f"{_share(found.rows_below_k, found.rows)} have fewer than {found.k} candidates"]
    if found.smallest is not None:
        parts.append(f"the fewest are {found.smallest:,}")
    single = f"{_share(found.rows_with_one_class, found.rows)} find exactly one class"
    if found.smallest_single_class is not None:
        single += f", the smallest of {counted(found.smallest_single_class, 'row')}"
    parts.append(single)
    if found.rows_without_class:
        parts.append(f"{_share(found.rows_without_class, found.rows)} find none")
    return _mark(found) + "; ".join(parts)


def _homogeneity(found: Homogeneity) -> str:
    said = f"the value of {_share(found.rows_certain, found.rows)} is certain"
    if found.rows_certain:
        said += f" and of {found.rows_certain_right:,} it is right"
    if found.confidence < 1:
        said += f"; of {_share(found.rows_confident, found.rows)} it is known with a confidence of {found.confidence:g}"
        said += f", and of {found.rows_confident_right:,} it is right" if found.rows_confident else ""
    return _mark(found) + said


def _background(found: Background) -> str:
    certain = [
        f"{_share(rows, found.rows)} after ruling out {counted(ruled_out, 'value')}"
        for ruled_out, rows in found.rows_certain.items()
    ]
    return f"{_mark(found)}certain are {', '.join(certain)}, of {counted(found.values, 'value')}"


def _minimality(found: Minimality) -> str:
    if found.reason is not None:
        return f"not tested: {found.reason}"
    said = f"{_share(found.rows_certain, found.rows)} of classes with several values are certain for one who knows that"
    said += (
        f" {found.algorithm} made it, and of {found.rows_certain_right:,} it is right"
        if found.rows_certain
        else (f" {found.algorithm} made it")
    )
    return (
        f"{_mark(found)}{said}; {found.possible:,} of {counted(found.assignments, 'assignment')} of values are possible"
    )


def _order(found: Order) -> str:
    if found.reason is not None:
        return f"not tested: {found.reason}"
    if not found.succeeded:
        return f"{_mark(found)}the rows follow none of {counted(len(found.orders), 'order')}"
    orders = []
    for name in found.followed:
        order = found.orders.get(name)
        if order is None or order.correlation is None:
            orders.append(name)
        else:
            orders.append(f"{name} (correlation {order.correlation:.2f})")
    distinct = f"{counted(found.rows_distinct, 'row')} of the release like no other can be told by their place"
    return f"{_mark(found)}the rows follow {', '.join(orders)}; {distinct}"


def _joint(found: Joint) -> str:
    classes = found.classes
    if classes.smallest is None:
        return f"{_mark(found)}no row is found in both"
    said = f"{_share(classes.rows_below_k, found.rows)} are left with fewer than {found.k} people, the fewest are "
    said += f"{classes.smallest:,}; {classes.groups_below_k:,} of {counted(classes.groups, 'group')} are that small"
    for known in found.known:
        said += f"; the value of {known.column} is certain for {_share(known.rows_certain, found.rows)}"
        said += f" and right for {known.rows_certain_right:,}" if known.rows_certain else ""
    return _mark(found) + said
