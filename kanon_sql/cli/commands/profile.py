"""``kanon profile`` and ``kanon init``: a profile of a table, and a policy file based on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.policy_options import preparing
from kanon_sql.cli.options.shared import given_options, option, with_options
from kanon_sql.cli.output.output import (
    Share,
    as_called,
    command,
    free_name,
    print_command,
    print_json,
    print_pairs,
    print_prose,
    print_sql,
    print_table,
    visible,
)
from kanon_sql.engine.base import split_names
from kanon_sql.engine.files import require_free
from kanon_sql.engine.sources.addresses import shown_source
from kanon_sql.engine.sources.open_source import open_source, open_tables
from kanon_sql.errors import UsageError, command_line, counted
from kanon_sql.hierarchy.vocabulary import Role
from kanon_sql.measures.shares import in_percent
from kanon_sql.policy.destination import origin_of
from kanon_sql.policy.policy import DEFAULT_K
from kanon_sql.policy.profile.database import profile_of_tables
from kanon_sql.policy.profile.profiler import (
    DEFAULT_ROWS,
    POLICY_FILE,
    prepared_for_profile,
    profile_of,
    proposal_of,
    write_init,
)
from kanon_sql.policy.profile.standards import smallest_class_for
from kanon_sql.policy.profile.tables import propose_tables, write_tables_proposal
from kanon_sql.policy.standards import standards_named
from kanon_sql.policy.tables import Through
from kanon_sql.release.proposal import with_trial
from kanon_sql.release.script import logged_script

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import OpenDatabase, Source
    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.profile.database import DatabaseProfile, TableProfile
    from kanon_sql.policy.profile.result import Profile
    from kanon_sql.policy.profile.tables import TableProposal, TablesProposal
    from kanon_sql.risks.estimators.subsets import SubsetRisk

_SHOWN = 3  # subsets for each number of columns

_OPTIONS: dict[str, Any] = {
    "quasi_identifiers": Annotated[
        list[str] | None, option("--qi", "COLUMN", "Others could know this column, whatever the profile says of it.")
    ],
    "sensitive": Annotated[
        list[str] | None,
        option("--sensitive", "COLUMN", "Must not be learned about a person, whatever the profile says of it."),
    ],
    "entity": Annotated[str | None, option("--entity", "COLUMN", "Names the person: people are counted, not rows.")],
    "sample": Annotated[
        int | None,
        typer.Option(
            "--sample",
            metavar="ROWS",
            min=0,
            help=f"Look at about so many rows where the table has more (default: {DEFAULT_ROWS:,}; 0: all rows).",
        ),
    ],
    "prepare": shared.PrepareOption,
}


def _with_columns(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for known facts about columns to a command, as ``columns``."""
    return with_options(command, _OPTIONS, lambda added, given: command(**given, columns=added), ("columns",))


def _roles(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column options of the command line as arguments of ``profile_of``."""
    lists = {name: split_names(columns[name] or []) for name in ("quasi_identifiers", "sensitive")}
    return {**lists, "entity": columns["entity"], "sample": columns["sample"]}


@shared.with_output()
@_with_columns
def profile_command(
    context: typer.Context,
    source: shared.SourceArgument,
    table: shared.TableArgument = None,
    *,
    columns: dict[str, Any],
    output: shared.Output,
) -> None:
    """Profile the columns of a table: figures, a role for each and why, and which columns single people out.

    Of a database with several tables, without TABLE: their keys, what refers to them, and how rows reach people.

    Nothing is changed, and no value of the table is shown.
    """
    if table is None and (database := open_tables(source)) is not None:
        with database.engine, output.talk(database.engine):
            if len(database.tables) > 1:
                _require_none_of_columns(context, database, "sample")
                tables = profile_of_tables(database)
                if output.sql:
                    print_sql(logged_script(database.engine.statements, output.dialect))
                elif output.is_json:
                    print_json(tables.summary())
                else:
                    _print_tables(tables, source)
                return
    opened = open_source(source, table)
    with opened.engine, output.talk(opened.engine):
        opened, to_prepare = prepared_for_profile(opened, preparing(columns["prepare"]))
        found = profile_of(opened, **_roles(columns), prepared=to_prepare)
        if output.sql:
            print_sql(logged_script(opened.engine.statements, output.dialect))
            return
    if output.is_json:
        print_json(found.summary())
        return
    _print_profile(found)
    print_prose("Next, write these roles into a policy file and edit it:")
    said = _as_said(columns)
    print_command(command("init", source, opened, *_written_to(free_name(Path(POLICY_FILE))), *said))


def _require_none_of_columns(context: typer.Context, database: OpenDatabase, *others: str) -> None:
    given = given_options(context)
    about = [given[name] for name in ("quasi_identifiers", "sensitive", "entity", "prepare", *others) if name in given]
    if about:
        raise UsageError(
            f"{database.place} has {len(database.tables)} tables, and {about[0]} is for the columns of one: name it "
            f"after {database.place}. There: {', '.join(name for _, name in database.tables)}."
        )


@shared.with_output()
@_with_columns
def init_command(
    context: typer.Context,
    source: shared.SourceArgument,
    table: shared.TableArgument = None,
    out: Annotated[Path, option("--out", "FILE", "The policy file to write.")] = Path(POLICY_FILE),
    replace: shared.ReplaceOption = False,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", "--k", min=1, help=f"The smallest class of the policy (default: {DEFAULT_K}, or that of a standard)."
        ),
    ] = None,
    standard: Annotated[
        list[str] | None,
        option(
            "--standard",
            "NAME",
            "A standard that the policy takes into account, such as hipaa-safe-harbor: columns that its rules do "
            "not allow are left out, or coarser ones published instead. Repeatable.",
        ),
    ] = None,
    *,
    columns: dict[str, Any],
    output: shared.Output,
) -> None:
    """Write a kanon.toml for a table, with a proposed role for each column and the reason beside it, ready to edit.

    Until it is edited, it publishes quasi-identifiers only, generalized. Every other column waits for your decision.

    For a database with several tables, without TABLE, it is a policy of all of them, with the way from rows to people.
    """
    if not output.sql:
        require_free(out, replace=replace)
    if table is None and (database := open_tables(source)) is not None:
        with database.engine, output.talk(database.engine):
            if len(database.tables) > 1:
                _require_none_of_columns(context, database, "standard")
                proposed = propose_tables(database, sample=columns["sample"])
                if output.sql:
                    print_sql(logged_script(database.engine.statements, output.dialect))
                    return
                smallest = DEFAULT_K if k is None else k
                named = write_tables_proposal(proposed, database, source, out, k=smallest, replace_existing=replace)
                if output.is_json:
                    print_json({"policy": str(out), **proposed.summary()})
                else:
                    _print_proposed(proposed, None if named else source, out)
                return
    standards = standards_named(standard or [])
    smallest = smallest_class_for(k, standards)
    opened = open_source(source, table)
    with opened.engine, output.talk(opened.engine):
        opened, found = proposal_of(opened, preparing(columns["prepare"]), standards, **_roles(columns))
        if output.sql:
            print_sql(logged_script(opened.engine.statements, output.dialect))
            return
        origin = origin_of(source, table, opened)
        found = with_trial(found, opened, k=smallest)
        found = write_init(found, opened, out, origin, k=smallest, replace_existing=replace)
    if output.is_json:
        print_json({"policy": str(out), **found.summary()})
        return
    print_pairs([(role, _names(found.of_role(role))) for role in (*get_args(Role), "undecided")])
    _print_notes(found.notes)
    said = _as_said({**columns, "standard": list(standards)})
    _print_what_is_next(found, source, opened, out, origin, said)


def _as_said(columns: Mapping[str, Any]) -> list[str]:
    """Return the column options that were given, for the next command."""
    options = {"quasi_identifiers": "--qi"}
    listed = [(name, values if isinstance(values, list | tuple) else [values]) for name, values in columns.items()]
    given = [(name, value) for name, values in listed for value in values if value is not None]
    return [word for name, value in given for word in (options.get(name, f"--{name}"), str(value))]


def _written_to(out: Path) -> list[str]:
    return [] if out == Path(POLICY_FILE) else ["--out", str(out)]


def _print_profile(found: Profile) -> None:
    looked_at = f"; {found.rows_looked_at:,} of them looked at, a sample" if found.sampled else ""
    people = f", {found.members:,} people by {visible(found.entity)}" if found.entity is not None else ""
    print_prose(f"{visible(found.table)}: {counted(found.rows, 'row')}{looked_at}{people}")
    print_table(
        ["column", "type", "distinct", "NULLs", "separation", "role", "why"],
        [
            (
                column.name,
                column.type,
                column.distinct,
                in_percent(column.null_share) if column.nulls else "",
                "" if column.separation is None else f"{column.separation:.3f}",
                column.role,
                column.reason,
            )
            for column in found.columns
        ],
        prose="why",
        spare=("separation", "type", "NULLs"),
    )
    worst = [subset for size in (3, 2, 1) for subset in found.worst(size)[:_SHOWN]]
    if worst:
        unique = f"{found.counted} unique" + (" in the sample" if found.sampled else "")
        print_table(
            ["known", unique, "share", "drawn", "smallest class"],
            [_of_subset(subset) for subset in worst],
            prose="known",
            spare=("drawn",),
        )
    _print_notes(found.notes)


def _print_tables(found: DatabaseProfile, source: str) -> None:
    print_prose(f"{visible(found.source)}: {counted(len(found.tables), 'table')}")
    rows = {table.name: table.rows for table in found.tables}
    print_table(
        ["table", "rows", "key", "a row reaches its person by"],
        [(table.name, table.rows, _keys(table), _ways(table)) for table in found.tables],
        prose="a row reaches its person by",
    )
    if found.references:
        print_table(
            ["column", "refers to", "known by", "with a value", "without one", "no match"],
            [
                (
                    f"{one.table}.{', '.join(one.columns)}",
                    f"{one.to_table}.{', '.join(one.to_columns)}",
                    "foreign key" if one.declared else "names and values",
                    one.rows,
                    rows[one.table] - one.rows,
                    one.unmatched,
                )
                for one in found.references
            ],
            spare=("known by",),
        )
    _print_notes(found.notes)
    print_prose("Next, write a policy for all of them and edit it:")
    written = _written_to(free_name(Path(POLICY_FILE)))
    print_command(_typed("init", [shown_source(source)], *written))
    print_prose("Or look at the columns of each table:")
    for table in found.tables:
        print_command(_typed("profile", [shown_source(source), table.name]))


def _print_proposed(found: TablesProposal, source: str | None, out: Path) -> None:
    """Print a policy of several tables; ``source`` is None if the file names the database."""
    print_table(
        ["table", "rows are", "a row reaches its person by", "quasi-identifiers"],
        [(one.table.name, one.rows, _way(one), _names(one.quasi_identifiers)) for one in found.tables],
        prose="quasi-identifiers",
    )
    _print_notes(note for one in found.tables for note in one.notes)
    waiting = tuple(f"{one.table.name}.{name}" for one in found.tables for name in one.awaiting_decision)
    lacking = [] if found.has_quasi_identifiers else ["name a quasi-identifier in one of the tables"]
    if found.undecided:
        lacking.insert(0, f"decide what the rows of {_names(found.undecided)} are, as the comments in it say")
    _print_written(visible(str(out)), waiting, lacking)
    named = [] if source is None else [shown_source(source)]
    print_command(_typed("anonymize", named, "--policy", str(out)))


def _way(one: TableProposal) -> str:
    if isinstance(one.person, Through):
        return f"{one.person.column} -> {one.person.table}"
    return "none found" if one.person is None else one.person


def _keys(table: TableProfile) -> str:
    return "; ".join(", ".join(key.columns) for key in table.keys) or "none found"


def _ways(table: TableProfile) -> str:
    ways = " or ".join(" -> ".join(path) for path in table.persons)
    return f"{ways}, one row each" if table.one_each else ways or "none found"


def _of_subset(subset: SubsetRisk) -> tuple[str, int, str, Share, int | str]:
    share = "" if subset.share_unique is None else in_percent(subset.share_unique)
    smallest = "" if subset.smallest_class is None else subset.smallest_class
    return " + ".join(subset.columns), subset.uniques, share, Share(subset.share_unique or 0.0), smallest


def _print_notes(notes: Iterable[str]) -> None:
    for text in notes:
        print_prose(f"- {text}")


def _print_written(file: str, waiting: tuple[str, ...], lacking: list[str]) -> None:
    if waiting:
        print_prose(
            f"Not published until you decide: {_names(waiting)}. To publish one as it is, take # decide: away before "
            f"it in {file}."
        )
    but = f", but cannot be used yet: {'; '.join(lacking)}" if lacking else ""
    print_prose(f"{file} is written{but or '. Read it and move columns to where they belong'}. Then:")


def _typed(name: str, named: list[str], *options: str) -> str:
    return as_called() + command_line(name, named, *options).removeprefix("kanon")


def _print_what_is_next(
    found: Profile, source: str, opened: Source, out: Path, origin: Origin | None, said: list[str]
) -> None:
    """Print the next steps with a policy file; ``kanon anonymize`` needs rows and a quasi-identifier.

    ``origin`` is the table as the file names it; without it, the command must name it.
    """
    file = visible(str(out))
    if not found.rows:
        print_prose(f"{file} is written, but there is nothing to anonymize yet. Once there are rows, write it again:")
        print_command(command("init", source, opened, *_written_to(out), *said, "--replace"))
        return
    lacking = [] if found.quasi_identifiers else [f"add a column to quasi_identifiers in {file}"]
    _print_written(file, found.awaiting_decision, lacking)
    print_command(command("anonymize", source if origin is None else None, opened, "--policy", str(out)))


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(visible(name) for name in names) or "none"
