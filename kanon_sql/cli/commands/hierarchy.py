"""``kanon hierarchy list``, ``show``, ``check`` and ``suggest``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.policy_options import RequestedPolicy
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import command, print_command, print_json, print_prose, print_sql, print_table, visible
from kanon_sql.engine.base import resolve_columns, split_names, written_name
from kanon_sql.engine.sources.addresses import is_warehouse, without_secrets
from kanon_sql.engine.sources.open_source import Source, is_database, open_beside_warehouse, open_database, open_source
from kanon_sql.errors import HierarchyError, SourceError, UsageError
from kanon_sql.hierarchy.formats import read_hierarchy
from kanon_sql.hierarchy.given import given_rules, hierarchy_files, make_hierarchy, notes_on_unused, stored_hierarchies
from kanon_sql.hierarchy.lookup_relation import StoredHierarchy, lookup_statement
from kanon_sql.hierarchy.ready import READY, catalogue, ready_made
from kanon_sql.hierarchy.report import (
    Fit,
    Shape,
    fit,
    missing_values_query,
    ready_rows,
    ready_shape,
    rows_query,
    shape_of_relation,
    shape_of_rows,
    shape_query,
)
from kanon_sql.hierarchy.spec import FileRule
from kanon_sql.hierarchy.suggest import columns_to_suggest, suggestion_statements, suggestions_for
from kanon_sql.policy.policy import Policy
from kanon_sql.release.script import one_line
from kanon_sql.sql import build as sql_of
from kanon_sql.sql.dialects import script
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.hierarchy.ready import ReadyMade
    from kanon_sql.hierarchy.suggest import Suggestion

_FIRST_ROWS = 20


@shared.with_output()
def list_command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="A DuckDB file, the URL of a warehouse, or a directory of hierarchy files; without it, what comes "
            "with kanon.",
        ),
    ] = None,
    *,
    output: shared.Output,
) -> None:
    """List the hierarchies in a database, in a directory, or ready-made."""
    path = Path(source) if source is not None else None
    in_files = path is None or path.is_dir()
    if output.sql and in_files:
        raise UsageError("Files are listed without SQL: --sql is for a database.")
    if path is not None and path.is_file() and not is_database(path):
        raise UsageError(f"{path} is neither a database nor a directory: kanon hierarchy show shows a file.")
    if output.sql and output.dialect != "duckdb":
        raise UsageError("Hierarchies are listed from the catalogs of DuckDB: leave --dialect out.")
    if output.sql:
        print_sql(script([sql_of.statement("hierarchy/stored")], output.dialect))
        return
    with output.talk() as talk:
        if path is None:
            shapes = [ready_shape(ready) for ready in catalogue().values()]
        else:
            opened = _open_database(source, path) if not in_files else None
            shapes = _in_directory(path, talk) if opened is None else _in_database(opened, talk)
    if not output.is_json and not shapes:
        print_prose("There are none. kanon hierarchy load and kanon hierarchy build put them there.")
        return
    show_shapes(shapes, output)


def _in_directory(directory: Path, talk: Talk) -> list[Shape]:
    """Return the shapes of the hierarchy files in a directory; print the files that are not hierarchies."""
    shapes = []
    for path in hierarchy_files(directory):
        try:
            shapes.append(shape_of_rows(read_hierarchy(path, path.stem), FileRule(path), path.stem))
        except SourceError as error:
            talk.note(f"left out: {error}")
    return shapes


def _open_database(source: str | None, path: Path) -> DuckDBEngine:
    if source is not None and is_warehouse(source):
        return open_beside_warehouse(source)
    return open_database(path, writable=False)


def _in_database(opened: DuckDBEngine, talk: Talk) -> list[Shape]:
    """Return the shapes of the hierarchies in a database; print the tables that are not hierarchies."""
    shapes = []
    with opened as engine:
        talk.follow(engine)
        for kept in stored_hierarchies(engine).values():
            try:
                kept.require_levels()
            except HierarchyError as error:
                talk.note(f"left out: {error}")
            else:
                shapes.append(shape_of_relation(engine, kept.relation, kept.height, kept.column, kept.origin))
    return shapes


@shared.with_output()
def show_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A hierarchy file, ready:NAME, a DuckDB file, or the URL of a warehouse.",
            show_default=False,
        ),
    ],
    column: Annotated[
        str | None, typer.Argument(metavar="COLUMN", help="In a database: the column.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many values to show.")] = _FIRST_ROWS,
    *,
    output: shared.Output,
) -> None:
    """Show a hierarchy: its shape, and the labels of its first values."""
    ready = ready_made(source.removeprefix(READY)) if source.startswith(READY) else None
    path = Path(source)
    if ready is not None or not (is_warehouse(source) or is_database(path)):
        if column is not None:
            raise UsageError(f"A file holds one hierarchy: leave {column!r} out.")
        if output.sql:
            raise UsageError("A file is shown without SQL: --sql is for a database.")
        if ready is None:
            _show(*_from_file(FileRule(path), limit), output)
        else:
            _show_ready(ready, limit, output)
        return
    with _open_database(source, path) as engine, output.talk(engine):
        kept = _stored(engine, column, without_secrets(source))
        if output.sql:
            queries = [shape_query(kept.relation, kept.height), rows_query(kept.relation, kept.height, limit)]
            print_sql(script(queries, output.dialect))
            return
        shape = shape_of_relation(engine, kept.relation, kept.height, kept.column, kept.origin)
        rows = engine.rows(rows_query(kept.relation, kept.height, limit), "first values")
    _show(shape, rows, output)


@shared.with_output()
def fit_command(
    source: shared.SourceArgument,
    table: Annotated[str | None, typer.Argument(metavar="TABLE", show_default=False)] = None,
    quasi_identifiers: shared.QiOption = None,
    hierarchy: shared.HierarchyOption = None,
    hierarchies: shared.HierarchiesOption = None,
    *,
    output: shared.Output,
) -> None:
    """Check whether hierarchies fit the columns of a table; exit code 1 if one does not.

    Checks the columns named with --qi; without it, every column that has a hierarchy.
    """
    opened = open_source(source, table)
    with opened.engine, output.talk(opened.engine) as talk:
        said = {"quasi_identifiers": quasi_identifiers, "hierarchy": hierarchy, "hierarchies": hierarchies}
        policy = RequestedPolicy(said).over(Policy())
        origins = _origins(opened, policy)
        columns = _columns_to_check(opened, policy, origins)
        opened.bring(columns)
        for note in notes_on_unused(hierarchies, given_rules(opened, columns, policy).values()):
            talk.note(note)
        if output.sql:
            print_sql(_check_script(opened, columns, policy, output.dialect))
            return
        fits = [
            fit(
                opened.engine,
                opened.relation,
                column,
                origins.get(column.name, "chosen"),
                lambda column=column: make_hierarchy(opened, column, policy),  # type: ignore[misc]  # called before the loop goes on
            )
            for column in columns
        ]
    if output.is_json:
        print_json([vars(found) for found in fits])
    else:
        _print_fits(fits)
        if any(found.values_missing for found in fits):
            given = [("--qi", quasi_identifiers), ("--hierarchy", hierarchy)]
            given.append(("--hierarchies", None if hierarchies is None else [str(hierarchies)]))
            options = [word for option, values in given for value in values or () for word in (option, value)]
            print_prose("This prints the query that lists the values that are missing:")
            print_command(command("hierarchy check", source, opened, *options, "--sql"))
    if any(found.problem for found in fits):
        raise typer.Exit(1)


def _origins(opened: Source, policy: Policy) -> dict[str, str]:
    """Return the origins of hierarchies that are given or in the database, by column."""
    stored = stored_hierarchies(opened.engine)
    in_database = {
        column.name: stored[folded(column.name)].origin for column in opened.columns if folded(column.name) in stored
    }
    given = {name: str(rule) for name, rule in given_rules(opened, opened.columns, policy).items()}
    return in_database | given


def _columns_to_check(opened: Source, policy: Policy, origins: dict[str, str]) -> list[Column]:
    if not policy.columns.quasi_identifiers:
        return [column for column in opened.columns if column.name in origins]
    columns = resolve_columns(policy.columns.quasi_identifiers, opened.columns, opened.name)
    given = resolve_columns(policy.hierarchies, opened.columns, opened.name)
    if others := [column.name for column in given if column not in columns]:
        raise UsageError(f"A hierarchy is given for column {others[0]!r}, which is not among those of --qi.")
    return list(dict.fromkeys(columns))


def _check_script(opened: Source, columns: list[Column], policy: Policy, dialect: str) -> str:
    """Return the statements that list, for each column, the values that its hierarchy lacks."""
    foreign = dialect != opened.engine.dialect
    parts = [] if foreign else [script([statement], dialect) for statement in opened.setup]
    for column in columns:
        hierarchy = make_hierarchy(opened, column, policy)
        query = missing_values_query(opened.relation, hierarchy.readable, column)
        if hierarchy.stored is None:
            parts.append(script([lookup_statement(opened.engine, hierarchy, dialect=dialect)], dialect))
        title = f"-- Values of {one_line(column.name)} without a row in the hierarchy"
        parts.append(f"{title}\n{script([query], dialect)}")
    return "\n\n".join(parts)


def _stored(engine: Engine, column: str | None, source: str) -> StoredHierarchy:
    known = stored_hierarchies(engine)
    if column is None or folded(column) not in known:
        names = ", ".join(kept.column for kept in known.values()) or "none"
        raise UsageError(f"Say which hierarchy of {source} to show. There are: {names}.")
    kept = known[folded(column)]
    kept.require_levels()
    return kept


def _from_file(rule: FileRule, limit: int) -> tuple[Shape, list[tuple[str | None, ...]]]:
    name = rule.path.stem
    read = read_hierarchy(rule.path, name)
    return shape_of_rows(read, rule, name), read.rows[:limit]


def _show(shape: Shape, rows: Sequence[tuple[Any, ...]], output: shared.Output) -> None:
    if output.is_json:
        print_json({**shape.summary(), "rows": [list(row) for row in rows]})
        return
    origin = _with_format(shape.origin, shape.format)
    print_prose(f"{shape.name}: {_size(shape)} (from {origin})")
    _print_notes(shape.name, shape.notes)
    print_table(["value", *(f"level {level}" for level in range(1, len(shape.labels) + 1))], rows)
    if shape.leaves is not None and len(rows) < shape.leaves:
        print_prose(f"The first {len(rows):,} are shown; --limit shows more.")


def _show_ready(ready: ReadyMade, limit: int, output: shared.Output) -> None:
    """Show a ready-made hierarchy: its origin and its first rows; for a rule, its results for examples."""
    shape, rows = replace(ready_shape(ready), name=ready.name), ready_rows(ready)
    if output.is_json:
        facts = {"title": ready.title, "source": ready.source, "licence": ready.licence}
        as_of = ready.as_of and ready.as_of.isoformat()
        print_json({**shape.summary(), **facts, "as_of": as_of, "rows": [list(row) for row in rows[:limit]]})
        return
    print_prose(f"{shape.name}: {_size(shape)} (from {shape.origin})")
    print_table(["value", *(f"level {level}" for level in range(1, len(rows[0])))], rows[:limit])
    if ready.rule is not None:
        print_prose("The values are examples.")
    elif len(rows) > limit:
        print_prose(f"The first {limit:,} are shown; --limit shows more.")


def _size(shape: Shape) -> str:
    """Return the numbers of values and labels of a hierarchy; those of a rule are not known."""
    if shape.leaves is None:
        return "a rule"
    what = "prefixes" if shape.by_prefix else "values"
    return f"{shape.leaves:,} {what}, labels per level {_per_level(shape)}"


def _print_fits(fits: list[Fit]) -> None:
    if not fits:
        print_prose("No column of the table has a hierarchy to check.")
        return
    print_table(
        ["column", "levels", "values missing", "rows missing", "fits", "hierarchy"],
        [
            (
                found.column,
                _or_dash(found.height),
                _or_dash(found.values_missing),
                _or_dash(found.rows_missing),
                found.problem is None,
                _with_format(found.origin, found.format),
            )
            for found in fits
        ],
    )
    for found in fits:
        _print_notes(found.column, found.notes)
    for found in fits:
        if found.problem is not None:
            print_prose(f"- {found.problem}")


def _or_dash(number: int | None) -> int | str:
    return "-" if number is None else number


def show_shapes(shapes: list[Shape], output: shared.Output) -> None:
    output.show([shape.summary() for shape in shapes], _print_shapes, shapes)


def _print_shapes(shapes: list[Shape]) -> None:
    print_table(
        ["hierarchy", "levels", "values", "labels per level", "origin"],
        [
            (
                shape.name,
                _or_dash(shape.height),
                _or_dash(shape.leaves),
                _per_level(shape) or "-",
                _with_format(shape.origin, shape.format),
            )
            for shape in shapes
        ],
    )
    for shape in shapes:
        _print_notes(shape.name, shape.notes)


def _with_format(origin: str, recognised: str | None) -> str:
    return origin if recognised is None or origin.startswith("ready:") else f"{origin}, {recognised}"


def _print_notes(name: str, notes: Sequence[str]) -> None:
    for note in notes:
        print_prose(f"- {visible(name)}: {note}.")


def _per_level(shape: Shape) -> str:
    """Return the number of labels of each level, from the values up."""
    return " > ".join(f"{labels:,}" for labels in shape.labels)


@shared.with_output()
def suggest_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A DuckDB file, or a data file.", show_default=False)],
    table: Annotated[str | None, typer.Argument(metavar="TABLE", show_default=False)] = None,
    quasi_identifiers: shared.QiOption = None,
    *,
    output: shared.Output,
) -> None:
    """Suggest hierarchies for columns by their names, values and types, and list missing values.

    Looks at the columns named with --qi; without it, at all but those whose names say that they identify a person.
    """
    opened = open_source(source, table)
    with opened.engine, output.talk(opened.engine) as talk:
        columns = columns_to_suggest(opened, split_names(quasi_identifiers or []))
        left_out = [column.name for column in opened.columns if column not in columns]
        if left_out and not quasi_identifiers:
            talk.note(f"left out, because their names say that they identify a person: {', '.join(left_out)}")
        if output.sql:
            print_sql(script(suggestion_statements(opened, columns), output.dialect))
            return
        found = suggestions_for(opened, columns)
    plain = {name: [suggestion.summary() for suggestion in listed] for name, listed in found.items()}
    output.show(plain, _print_suggestions, found, source, opened)


def _print_suggestions(found: dict[str, tuple[Suggestion, ...]], source: str, opened: Source) -> None:
    if not found:
        print_prose("No column of the table could have a hierarchy. Name one with --qi.")
        return
    print_table(
        ["column", "suggestion", "covers", "values missing", "rows missing", "why"],
        [
            (
                name,
                suggestion.rule,
                suggestion.covers,
                suggestion.values_missing,
                suggestion.rows_missing,
                suggestion.reason,
            )
            for name, listed in found.items()
            for suggestion in listed
        ],
        prose="why",
        spare=("rows missing", "values missing"),
    )
    print_prose("The first of each column fits best: use it with --hierarchy COLUMN=SUGGESTION.")
    lacking = [(name, listed[0]) for name, listed in found.items() if not listed[0].covers]
    if lacking:
        name, suggestion = lacking[0]
        print_prose("This prints the query that lists the values which it lacks, here for the first that lacks some:")
        assignment = f"{written_name(name)}={suggestion.rule}"
        print_command(command("hierarchy check", source, opened, "--hierarchy", assignment, "--sql"))
