"""``kanon dp release``: a differentially private table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.destination_options import IntoOption, OutOption
from kanon_sql.cli.options.policy_options import assignments
from kanon_sql.cli.options.shared import option
from kanon_sql.cli.output.diagnostics import interrupted_after
from kanon_sql.cli.output.output import print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.dp.released import ASSUMPTIONS, require_destination
from kanon_sql.dp.releaser import dp_release_script, make_dp_release
from kanon_sql.dp.safepub import RequestedRelease
from kanon_sql.engine.base import split_names
from kanon_sql.engine.progress import Progress
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import UsageError, counted
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.release.publish.route import check_destination

_APART = {
    ("into", "out"): "a release goes to one place",
    ("sql", "budget"): "--sql spends nothing",
    ("levels", "epsilon_search"): "levels that are given cost nothing",
}
"""Pairs of parameters that exclude each other, and the reason."""


@shared.with_output(_APART)
def release_command(
    source: shared.DpSourceArgument,
    table: shared.TableArgument = None,
    quasi_identifiers: shared.QiOption = None,
    hierarchy: Annotated[
        list[str] | None,
        option(
            "--hierarchy",
            "COLUMN=FILE",
            "The hierarchy of a column: a file, or a rule that does not depend on the data, such as "
            "intervals:5,10,20  date:month,year  round:1,2  truncate:1,2  steps  cut:1,2  prefixes:3,1  flat  "
            "ready:us_state.",
        ),
    ] = None,
    hierarchies: shared.HierarchiesOption = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="E", help="All that may be spent, such as 1.", show_default=False)
    ] = None,
    delta: Annotated[
        str | None,
        option(
            "--delta",
            "D",
            "What delta may be, far below 1 over the number of people, such as 0.000001: the least k is taken "
            "that keeps it.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            help="The smallest class that may be published, instead of the least that keeps --delta; without --delta, "
            "delta is what follows from k.",
            show_default=False,
        ),
    ] = None,
    levels: Annotated[
        list[str] | None,
        option(
            "--levels",
            "COLUMN=LEVEL,...",
            "The level of each column, 0 being its values, chosen without a look at the data; without it a part "
            "of epsilon chooses them.",
        ),
    ] = None,
    epsilon_search: Annotated[
        str | None, option("--epsilon-search", "E", "The part of --epsilon that chooses levels (a tenth).")
    ] = None,
    into: IntoOption = None,
    out: OutOption = None,
    replace_existing: shared.ReplaceOption = False,
    budget: Annotated[
        Path | None,
        option("--budget", "FILE", "The DuckDB file with the budget of a table that cannot keep it itself."),
    ] = None,
    *,
    output: shared.Output,
) -> None:
    """Publish a differentially private release: sampled, generalized, without small classes (SafePub).

    Each row is sampled with the rate 1 - e^-epsilon; all columns of --qi are published and no others; classes of fewer
    than k sampled rows are left out. A person must not be in more than one row.
    """
    destination = Destination(into=into, out=out, replace=replace_existing)
    if not output.sql:
        require_destination(destination)
    if output.dialect != "duckdb":
        raise UsageError(
            "Rows are sampled by functions that other dialects have under other names and with other types: leave "
            "--dialect out."
        )
    if budget is not None and out is not None and budget.resolve() == out.resolve():
        raise UsageError(f"{out} keeps the budget and cannot be the release too.")
    opened = open_source(source, table, writable=into is not None and not output.sql)
    with opened.engine, output.talk(opened.engine) as talk:
        policy = _policy(quasi_identifiers, hierarchy, hierarchies)
        if epsilon is None:
            raise UsageError(
                "Say how much may be spent: --epsilon 1, for example. A smaller one tells less of anybody."
            )
        requested = RequestedRelease.of(
            policy,
            epsilon,
            delta=delta,
            k=k,
            levels=None if levels is None else _levels(levels),
            epsilon_search=epsilon_search,
        )
        if output.sql:
            print_sql(dp_release_script(opened, requested, destination))
            return
        check_destination(opened, destination, remembers=False)
        release = make_dp_release(opened, requested, budget, talk)
        talk(Progress("Publishing"))
        published = release.publish(destination)
        with interrupted_after(f"the release is there: {published.destination}"):
            talk.end()
            summary = release.summary(published)
            output.show(summary, _print_published, summary)
            if at_root := [name for name, level in summary["levels"].items() if level == summary["heights"][name] > 0]:
                talk.note(
                    f"Empty columns (every row has the root of the hierarchy): {', '.join(map(visible, at_root))}. "
                    "Fewer columns, hierarchies with more levels, a larger epsilon or --levels keep more."
                )
            talk.note(f"The promise assumes: {' '.join(ASSUMPTIONS)}")


def _policy(quasi_identifiers: list[str] | None, hierarchy: list[str] | None, hierarchies: Path | None) -> Policy:
    return Policy(
        columns=NamedColumns(quasi_identifiers=split_names(quasi_identifiers or [])),
        hierarchies=assignments(hierarchy, "--hierarchy"),
        hierarchy_directory=hierarchies,
    )


def _levels(texts: list[str]) -> dict[str, int]:
    parts = [part for text in texts for part in re.split(r"(?<=\d),", text)]
    named = assignments([part.strip() for part in parts], "--levels")
    for column, level in named.items():
        if not re.fullmatch(r"[0-9]{1,4}", level):
            raise UsageError(f"The level of column {column!r} is a whole number from 0, not {level!r}.")
    return {column: int(level) for column, level in named.items()}


def _print_published(summary: dict[str, Any]) -> None:
    print_prose(f"{visible(summary['source'])} -> {visible(summary['destination'])}")
    found = [
        (column, level, summary["heights"][column], summary["hierarchies"][column])
        for column, level in summary["levels"].items()
    ]
    print_table(["column", "level", "of", "hierarchy"], found)
    search = summary["epsilon_search"]
    print_pairs(
        [
            ("epsilon", f"{summary['epsilon']:g}" + (f", of which {search:g} chose the levels" if search else "")),
            ("delta", f"{summary['delta']:g}"),
            ("k", f"{summary['k']:,}, of rows sampled with rate {summary['beta']:.4f}"),
            ("rows", f"{summary['rows_out']:,} out"),
            ("classes", f"{summary['classes']:,}, the smallest has {counted(summary['smallest_class'], 'row')}"),
        ]
    )
