"""``kanon ledger``: lists the releases that a database records, and removes one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.shared import option
from kanon_sql.cli.output.output import print_prose, print_sql, print_table, visible
from kanon_sql.engine.sources.addresses import without_secrets
from kanon_sql.errors import counted
from kanon_sql.release.ledger.earlier import forget_in, open_ledger, remembered_in
from kanon_sql.release.ledger.store import HOLD_OUT, Entry, entries_of, forget_statements, forgotten
from kanon_sql.sql import build as sql_of
from kanon_sql.sql.dialects import script

_STATES = {True: "as it was", False: "changed", None: "gone"}


@shared.with_output()
def ledger_command(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A DuckDB file, or the URL of a warehouse.", show_default=False)
    ],
    forget: Annotated[
        str | None,
        option(
            "--forget",
            "NUMBER|NAME",
            "Forget a release that was given to no one: by its number, or all that had this name or path.",
        ),
    ] = None,
    *,
    output: shared.Output,
) -> None:
    """List the releases that a database remembers; a new release is checked against those of its table."""
    with open_ledger(source, writable=forget is not None and not output.sql) as engine, output.talk(engine):
        if output.sql:
            statements = [sql_of.statement("ledger/entries")]
            if forget is not None:
                statements = forget_statements(forgotten(entries_of(engine), forget))
            print_sql(script(statements, output.dialect))
            return
        if forget is not None:
            entries = forget_in(engine, forget)
            output.show({"forgotten": [entry.number for entry in entries]}, _print_forgotten, entries)
            return
        remembered = [each.summary() for each in remembered_in(engine)]
    name = without_secrets(source)
    output.show({"database": name, "releases": remembered}, _print_releases, name, remembered)


def _print_forgotten(entries: list[Entry]) -> None:
    names = ", ".join(f"{entry.number} ({visible(entry.name)})" for entry in entries)
    print_prose(f"Forgotten: {names}. New releases are not checked against {'it' if len(entries) == 1 else 'them'}.")


def _print_releases(source: str, remembered: list[dict[str, Any]]) -> None:
    if not remembered:
        print_prose(f"{source} remembers no release.")
        return
    print_prose(f"{source} remembers {counted(len(remembered), 'release')}\n")
    columns = ["", "made (UTC)", "of", "release", "is", "models", "how", "rows", "today"]
    print_table(columns, [_row(each) for each in remembered])


def _row(each: dict[str, Any]) -> list[object]:
    models = ", ".join(f"{model['model']} {model['required']}" for model in each["policy"]["models"])
    levels = each["levels"]
    how = each["policy"]["search"]["algorithm"]
    if levels is not None:
        how = " ".join(f"{name}={level}" for name, level in levels.items())
    made = each["made_at"].removesuffix("Z").replace("T", " ")[:-3]
    today = _STATES[each["as_it_was"]]
    if each["appended"]:
        today = f"{counted(each['appended'], 'batch', 'batches')} appended"
    if each["policy"]["columns"].get("prepared"):
        today += f"; {each['source']} not compared: its columns were prepared"
    elif apart := each["policy"].get(HOLD_OUT):
        today += f"; {each['source']} not compared: {counted(apart['rows'], 'row')} held out"
    elif each["source_as_it_was"] is not True:
        today += f"; {each['source']} {_STATES[each['source_as_it_was']]}"
    return [
        each["number"], made, each["source"], each["destination"], each["kind"], models, how, each["rows_out"], today
    ]  # fmt: skip
