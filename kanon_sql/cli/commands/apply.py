"""``kanon apply``: publishes new rows by a lock and appends them to a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.destination_options import DryRunOption
from kanon_sql.cli.options.policy_options import note_findings
from kanon_sql.cli.options.shared import option
from kanon_sql.cli.output.diagnostics import interrupted_after
from kanon_sql.cli.output.output import about, print_pairs, print_prose, print_sql, visible
from kanon_sql.errors import NOTHING_WRITTEN, counted
from kanon_sql.measures.shares import threshold_text
from kanon_sql.policy.algorithms import GREEDY
from kanon_sql.policy.policy import CHOICE_IS_GREEDY_IN_SHORT
from kanon_sql.release.append.append import append_to, new_rows, open_release
from kanon_sql.release.append.lock import read_lock
from kanon_sql.release.script import logged_script

if TYPE_CHECKING:
    from kanon_sql.release.append.append import Appended

_APART = {("sql", "dry_run"): "--sql changes nothing anyway"}


@shared.with_output(_APART)
def apply_command(
    lock: Annotated[
        Path,
        typer.Argument(
            metavar="LOCK", help="The file that kanon anonymize wrote for --set release.lock=FILE.", show_default=False
        ),
    ],
    rows: Annotated[
        str,
        typer.Argument(
            metavar="NEW_ROWS",
            help="A table or view of the database of the release, a data file, or another database.",
            show_default=False,
        ),
    ],
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="The table, where NEW_ROWS is another database.", show_default=False),
    ] = None,
    *,
    append: Annotated[
        str,
        typer.Option("--append", metavar="RELEASE", help="The table that they are appended to.", show_default=False),
    ],
    database: Annotated[
        Path | None, option("--database", "FILE", "The database of the release, if not the one the lock names.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Append rows that equal rows that were appended before, or that wait.")
    ] = False,
    ignore_ledger: Annotated[
        bool, typer.Option("--ignore-ledger", help="Append even if these and earlier releases say too much together.")
    ] = False,
    dry_run: DryRunOption = False,
    output: shared.Output,
) -> None:
    """Publish new rows as the rows of a release were, and append them; rows of classes that are too small wait."""
    known = read_lock(lock)
    tries = dry_run or output.sql
    release = open_release(known, append, database, writable=not tries)
    with release.engine, output.talk(release.engine) as talk:
        found = new_rows(release, rows, table)
        appended = append_to(
            release, known, found, again=again, ignore_ledger=ignore_ledger, dry_run=tries, progress=talk
        )
        with interrupted_after(NOTHING_WRITTEN if tries else f"the rows are appended: {append}"):
            talk.end()
            note_findings(appended.findings, talk)
            if appended.rows_equal and not again:
                equal = "equals a row" if appended.rows_equal == 1 else "equal rows"
                talk.note(
                    f"{counted(appended.rows_equal, 'new row')} {equal} that waited. A class counts each person once, "
                    "and the release gets the rows twice: are they new?"
                )
            if appended.ledger is not None:
                for warning in appended.ledger.warnings:
                    talk.warn(warning)
            if output.sql:
                print_sql(logged_script(release.engine.statements, output.dialect))
            else:
                output.show(appended.summary(), _print_appended, appended)


def _print_appended(appended: Appended) -> None:
    print_prose(f"{visible(appended.rows)} -> {visible(appended.release)}")
    waited = f" and {appended.rows_waited:,} that waited" if appended.rows_waited else ""
    pairs = [
        ("rows", f"{appended.rows_new:,} new{waited}: {appended.rows_appended:,} appended"),
        ("waiting", f"{counted(appended.rows_waiting, 'row')}, too few of their class so far"),
        ("release", f"{counted(appended.rows_released, 'row')}{' as before' if appended.dry_run else ''}"),
    ]
    if appended.classes:
        pairs.append(("classes", f"{appended.classes:,} of the appended rows, by themselves"))
    for model in appended.models if appended.classes else ():
        people = counted(model["measured"], "person", "people") if model["entity"] else None
        found = people or threshold_text(model["measured"])
        required = f"{model['letter']} = {threshold_text(model['required'])}"
        pairs.append(
            (about(model["model"], model["sensitive"]), f"{required} holds in each: the worst one has {found}")
        )
    if appended.choice == GREEDY:
        pairs.append(("choice", CHOICE_IS_GREEDY_IN_SHORT))
    print_pairs(pairs)
    if appended.dry_run:
        print_prose("Dry run: all was made and checked, and nothing was appended.")
