"""``kanon hierarchy``: list, show, check, load, build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql import sql as sql_of
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.options import (
    DialectOption,
    FormatOption,
    HierarchiesOption,
    HierarchyOption,
    QiOption,
    QuietOption,
    SqlOption,
    VerboseOption,
    assignments,
    overridden,
)
from kanon_sql.cli.output import print_json, print_table, print_text
from kanon_sql.dialect import render
from kanon_sql.engine.sources import Source, is_database, open_database, open_source
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.lookup import StoredHierarchy
from kanon_sql.hierarchy.report import (
    Fit,
    Shape,
    fit,
    missing_values_query,
    rows_query,
    shape_of_file,
    shape_of_relation,
    shape_query,
)
from kanon_sql.hierarchy.spec import FileRule, parse_rule, ready_made, ready_made_names
from kanon_sql.hierarchy.store import stored_hierarchies
from kanon_sql.plan import lookup_statement, one_line
from kanon_sql.policy import Policy
from kanon_sql.prepare import make_hierarchy
from kanon_sql.roles import resolve_columns

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column, Engine

hierarchy_app = typer.Typer(
    help="Generalization hierarchies: list, show, check, load and build them.", no_args_is_help=True
)

_FIRST_ROWS = 20


@hierarchy_app.command("list")
def list_command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="A DuckDB file, or a directory of hierarchy files; without it, what comes with kanon.",
        ),
    ] = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """List the hierarchies in a database, in a directory, or ready-made."""
    if source is None:
        shapes = [shape_of_file(ready_made(name), f"ready:{name}") for name in ready_made_names()]
    elif Path(source).is_dir():
        shapes = [shape_of_file(path, path.stem) for path in sorted(Path(source).glob("*.csv"))]
    elif sql:
        print_text(f"{render(sql_of.statement('stored_hierarchies'), dialect, pretty=True)};")
        return
    else:
        with (
            open_database(Path(source), writable=False) as engine,
            Talk(quiet=quiet, verbose=verbose) as talk,
        ):
            engine.listener = talk.statement
            shapes = [
                shape_of_relation(engine, kept.relation, kept.height, kept.column, kept.origin)
                for kept in stored_hierarchies(engine).values()
            ]
    if sql:
        raise UsageError("Files are listed without SQL: --sql is for a database.")
    if output_format == "json":
        print_json([shape.summary() for shape in shapes])
        return
    if not shapes:
        print_text("There are none. kanon hierarchy load and kanon hierarchy build put them there.")
        return
    print_table(
        ["hierarchy", "levels", "values", "labels per level", "origin"],
        [(shape.name, shape.height, shape.leaves, per_level(shape), shape.origin) for shape in shapes],
    )


@hierarchy_app.command("show")
def show_command(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A hierarchy file, ready:NAME, or a DuckDB file.", show_default=False),
    ],
    column: Annotated[
        str | None,
        typer.Argument(metavar="COLUMN", help="In a DuckDB file: the column.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many values to show.")] = _FIRST_ROWS,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show a hierarchy: its shape, and the labels of its first values."""
    rule = parse_rule(source) if source.startswith("ready:") else FileRule(Path(source))
    if not isinstance(rule, FileRule):  # ready: always names a file
        raise UsageError(f"{source!r} is no hierarchy that could be shown.")
    if column is None and not is_database(rule.path):
        if sql:
            raise UsageError("A file is shown without SQL: --sql is for a database.")
        _show(*_from_file(rule.path, column or rule.path.stem, limit), output_format)
        return
    with open_database(rule.path, writable=False) as engine, Talk(quiet=quiet, verbose=verbose) as talk:
        engine.listener = talk.statement
        kept = _stored(engine, column, source)
        if sql:
            queries = [shape_query(kept.relation, kept.height), rows_query(kept.relation, kept.height, limit)]
            print_text("\n\n".join(f"{render(query, dialect, pretty=True)};" for query in queries))
            return
        shape = shape_of_relation(engine, kept.relation, kept.height, kept.column, kept.origin)
        rows = engine.rows(rows_query(kept.relation, kept.height, limit), "first values")
    _show(shape, rows, output_format)


@hierarchy_app.command("check")
def check_command(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A DuckDB file, or a data file.", show_default=False)],
    table: Annotated[str | None, typer.Argument(metavar="TABLE", show_default=False)] = None,
    quasi_identifiers: QiOption = None,
    hierarchy: HierarchyOption = None,
    hierarchies: HierarchiesOption = None,
    sql: SqlOption = False,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Tell whether hierarchies fit the columns of a table; exit code 1 if one does not.

    Checks the columns named with --qi; without it, every column that has a hierarchy.
    """
    opened = open_source(source, table)
    with opened.engine, Talk(quiet=quiet, verbose=verbose) as talk:
        opened.engine.listener = talk.statement
        policy = overridden(
            Policy(),
            opened.columns,
            roles={"quasi_identifiers": quasi_identifiers},
            hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
            settings={"hierarchy_directory": hierarchies and hierarchies.absolute()},
        )
        columns = _columns_to_check(opened, policy)
        if sql:
            print_text(_check_script(opened, columns, policy, dialect))
            return
        fits = [
            fit(
                opened.engine,
                opened.relation,
                column,
                policy.hierarchies.get(column.name, "the hierarchy"),
                lambda column=column: make_hierarchy(opened, column, policy),  # type: ignore[misc]  # called before the loop goes on
            )
            for column in columns
        ]
    if output_format == "json":
        print_json([vars(found) for found in fits])
    else:
        _print_fits(fits)
    if any(found.problem for found in fits):
        raise typer.Exit(1)


def _columns_to_check(opened: Source, policy: Policy) -> list[Column]:
    if policy.columns.quasi_identifiers:
        return resolve_columns(policy.columns.quasi_identifiers, opened.columns, opened.name)
    stored = stored_hierarchies(opened.engine)
    in_directory = (
        {path.stem.casefold() for path in policy.hierarchy_directory.glob("*.csv")}
        if policy.hierarchy_directory
        else set()
    )
    return [
        column
        for column in opened.columns
        if column.name in policy.hierarchies
        or column.name.casefold() in stored
        or any(
            stem == column.name.casefold() or stem.endswith(f"_hierarchy_{column.name.casefold()}")
            for stem in in_directory
        )
    ]


def _check_script(opened: Source, columns: list[Column], policy: Policy, dialect: str) -> str:
    """Return the statements that list, for each column, the values that its hierarchy has no row for."""
    parts = [f"{render(statement, dialect, pretty=True)};" for statement in opened.setup]
    for column in columns:
        hierarchy = make_hierarchy(opened, column, policy)
        query = missing_values_query(opened.relation, hierarchy.readable, column)
        if hierarchy.stored is None:
            parts.append(f"{render(lookup_statement(opened.engine, hierarchy), dialect, pretty=True)};")
        title = f"-- Values of {one_line(column.name)} without a row in the hierarchy"
        parts.append(f"{title}\n{render(query, dialect, pretty=True)};")
    return "\n\n".join(parts)


def _stored(engine: Engine, column: str | None, source: str) -> StoredHierarchy:
    known = stored_hierarchies(engine)
    if column is None or column.casefold() not in known:
        names = ", ".join(kept.column for kept in known.values()) or "none"
        raise UsageError(f"Say which hierarchy of {source} to show. There are: {names}.")
    return known[column.casefold()]


def _from_file(path: Path, name: str, limit: int) -> tuple[Shape, list[tuple[Any, ...]]]:
    from kanon_sql.hierarchy.read import read_hierarchy

    shape = shape_of_file(path, name)
    read = read_hierarchy(path, name)
    return shape, list(zip(read.values, *read.levels, strict=True))[:limit]


def _show(shape: Shape, rows: list[tuple[Any, ...]], output_format: str) -> None:
    if output_format == "json":
        print_json({**shape.summary(), "rows": [list(row) for row in rows]})
        return
    print_text(f"{shape.name}: {shape.leaves:,} values, labels per level {per_level(shape)} (from {shape.origin})")
    print_table(["value", *(f"level {level}" for level in range(1, shape.height + 1))], rows)
    if len(rows) < shape.leaves:
        print_text(f"The first {len(rows):,} are shown; --limit shows more.")


def _print_fits(fits: list[Fit]) -> None:
    if not fits:
        print_text("No column of the table has a hierarchy to check.")
        return
    print_table(
        ["column", "levels", "values missing", "rows missing", "fits", "hierarchy"],
        [
            (
                found.column,
                found.height or 0,
                found.values_missing,
                found.rows_missing,
                found.problem is None,
                found.origin,
            )
            for found in fits
        ],
    )
    for found in fits:
        if found.problem is not None:
            print_text(f"- {found.problem}")


def per_level(shape: Shape) -> str:
    """Return the number of labels of each level, from the values up."""
    return " > ".join(f"{labels:,}" for labels in shape.labels)
