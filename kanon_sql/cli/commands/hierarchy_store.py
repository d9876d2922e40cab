"""``kanon hierarchy load``, ``build`` and ``export``: hierarchies into a database or a file."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace as replace_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from sqlglot import exp

from kanon_sql.cli.commands.hierarchy import show_shapes
from kanon_sql.cli.options import shared
from kanon_sql.cli.options.policy_options import assignments
from kanon_sql.cli.options.shared import option
from kanon_sql.cli.output.output import print_sql
from kanon_sql.engine.base import find_column, resolve_columns
from kanon_sql.engine.files import write_whole
from kanon_sql.engine.sources.data_files import require_not_read
from kanon_sql.engine.sources.open_source import Source, open_source
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.export import check_csv_target, exportable, file_as_arx
from kanon_sql.hierarchy.expressions import levels_columns
from kanon_sql.hierarchy.given import keep_hierarchy, make_hierarchies, store_statements, stored_hierarchies
from kanon_sql.hierarchy.lookup_relation import lookup_statement
from kanon_sql.hierarchy.report import Shape, shape_of_hierarchy
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.policy.policy import Policy
from kanon_sql.sql import build as sql_of
from kanon_sql.sql.dialects import script
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kanon_sql.engine.base import Column

TableAndAssignments = Annotated[
    list[str],
    typer.Argument(
        metavar="[TABLE] COLUMN=VALUE",
        help="The table, if the database has several; then for each column its file or rule.",
        show_default=False,
    ),
]


@shared.with_output()
def load_command(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A DuckDB file, or the URL of a warehouse.", show_default=False)
    ],
    arguments: TableAndAssignments,
    replace: shared.ReplaceOption = False,
    *,
    output: shared.Output,
) -> None:
    """Read hierarchy files into the database (schema kanon), where anonymize finds them by column name."""
    with _opened(source, arguments, writable=not output.sql) as (opened, rules), output.talk(opened.engine):
        if built := [column for column, rule in rules.items() if not isinstance(parse_rule(rule), FileRule)]:
            raise UsageError(
                f"Column {built[0]!r} is given a rule, not a file: kanon hierarchy build makes hierarchies by rules."
            )
        shapes = _store(opened, rules, replace=replace, sql=output.sql, dialect=output.dialect)
    if not output.sql:
        show_shapes(shapes, output)


@shared.with_output()
def build_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A DuckDB file, a data file, or the URL of a warehouse.", show_default=False
        ),
    ],
    arguments: TableAndAssignments,
    out: Annotated[
        Path | None, option("--out", "FILE", "Write the hierarchy of the one column to a CSV file instead.")
    ] = None,
    replace: shared.ReplaceOption = False,
    *,
    output: shared.Output,
) -> None:
    """Build hierarchies from the values of columns by rules, into the database (schema kanon) or a file.

    Rules: intervals:5,10,20[:bottom=18][:top=90][:origin=0]   mask[:right|left][:1,2,3]
    cut:2,3[,letters]   date:day,week,month,quarter,year,decade   round:1,2,3   truncate:1,2
    steps[:from=100]   quantiles:16,8,4   prefixes[:3,1]   prefix:3:FILE   flat
    """
    if out is not None and out.suffix.lower() != ".csv":
        raise UsageError(f"--out writes CSV: give a file whose name ends in .csv, not {out}.")
    writable = out is None and not output.sql
    with _opened(source, arguments, writable=writable) as (opened, rules), output.talk(opened.engine):
        if files := [column for column, rule in rules.items() if isinstance(parse_rule(rule), FileRule)]:
            raise UsageError(f"Column {files[0]!r} is given a file, not a rule: kanon hierarchy load reads files.")
        if out is None:
            shapes = _store(opened, rules, replace=replace, sql=output.sql, dialect=output.dialect)
        else:
            shapes = _write(opened, rules, out, replace=replace, sql=output.sql, dialect=output.dialect)
    if not output.sql:
        show_shapes(shapes, output)


@contextmanager
def _opened(source: str, arguments: list[str], *, writable: bool) -> Iterator[tuple[Source, dict[str, str]]]:
    """Open a source, and separate its table from the assignments that follow it."""
    first, *others = arguments
    table, texts = (None, arguments) if "=" in first else (first, others)
    if not texts:
        raise UsageError("Give at least one COLUMN=FILE or COLUMN=RULE.")
    opened = open_source(source, table, writable=writable)
    with opened.engine:
        rules = assignments(texts, "The hierarchy")
        columns = resolve_columns(rules, opened.columns, opened.name)
        opened.bring(columns)
        yield opened, {column.name: rule for column, rule in zip(columns, rules.values(), strict=True)}


def _store(opened: Source, rules: dict[str, str], *, replace: bool, sql: bool, dialect: str) -> list[Shape]:
    """Put hierarchies into the schema ``kanon``, all or none; or print the statements."""
    if not opened.keeps_tables:
        where = "in no DuckDB file, where it could be kept"
        raise UsageError(f"{opened.name} is {where}: write the hierarchy to a file with kanon hierarchy build --out.")
    engine = opened.engine
    stored = stored_hierarchies(engine)
    taken = [column for column in rules if folded(column) in stored]
    if taken and not replace:
        raise UsageError(f"The database has a hierarchy for column {taken[0]!r} already: --replace it.")
    made = make_hierarchies(opened, _named(opened, rules), Policy(hierarchies=rules))
    if sql:
        for hierarchy in made:
            statements = [lookup_statement(engine, hierarchy), *store_statements(hierarchy, replace=replace)]
            print_sql(script(statements, dialect) + "\n\n")
        return []
    with opened.holder.transaction():
        for hierarchy in made:
            keep_hierarchy(opened, hierarchy, replace=replace)
    return [shape_of_hierarchy(engine, hierarchy) for hierarchy in made]


def _write(opened: Source, rules: dict[str, str], out: Path, *, replace: bool, sql: bool, dialect: str) -> list[Shape]:
    """Write the hierarchy of one column to a file; or print the statement."""
    if len(rules) != 1:
        raise UsageError("--out writes the hierarchy of one column: name one.")
    if out.exists() and not replace and not sql:
        raise UsageError(f"{out} exists already: give another name, or replace it (--replace).")
    require_not_read(out, opened.database, opened.file)
    (hierarchy,) = make_hierarchies(opened, _named(opened, rules), Policy(hierarchies=rules))
    rows = exp.select(*levels_columns(hierarchy.height)).from_(hierarchy.relation.copy())
    settings = [("FORMAT", exp.var("csv")), ("DELIMITER", sql_of.literal(";")), ("HEADER", exp.true())]
    copy = exp.Copy(
        this=exp.Subquery(this=rows.order_by(exp.Ordered(this=sql_of.column("value"), nulls_first=True))),
        kind=False,
        files=[sql_of.literal(str(out))],
        params=[exp.CopyParameter(this=exp.var(name), expression=value) for name, value in settings],
    )
    if sql:
        statements = [*opened.setup, lookup_statement(opened.engine, hierarchy), copy]
        print_sql(script(statements, dialect))
        return []
    opened.engine.run(copy, "write the hierarchy")
    return [replace_dataclass(shape_of_hierarchy(opened.engine, hierarchy), origin=str(out))]


def _named(opened: Source, rules: Iterable[str]) -> list[Column]:
    return resolve_columns(rules, opened.columns, opened.name)


_MOST_ARGUMENTS = 2


@shared.with_output()
def export_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A hierarchy file, ready:NAME, a DuckDB file or a data file.", show_default=False
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE] COLUMN[=...]",
            help="Of a database or data file: the table, if it has several, and the column, with a file or rule unless "
            "its hierarchy is in the database.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The CSV file to write.", show_default=False)
    ] = None,
    null: Annotated[str, option("--null", "TEXT", "What stands for NULL (default: an empty field).")] = "",
    replace: shared.ReplaceOption = False,
    *,
    output: shared.Output,
) -> None:
    """Write a hierarchy as a CSV file of ARX: no header, ; between labels, the value first, the root last."""
    if output.sql:
        if not arguments:
            raise UsageError("A file is exported without SQL: --sql is for a table or a database.")
    elif out is None:
        raise UsageError("Say which file to write: --out FILE.csv.")
    else:
        files = [text.rpartition("=")[2] for text in arguments or []]
        check_csv_target(out, source, *files, replace=replace)
    with output.talk() as talk:
        if not arguments:
            shape, text = file_as_arx(source, null)
        else:
            table, column, rule = _column(source, arguments)
            with exportable(source, table, column, rule, talk.statement) as found:
                if output.sql:
                    print_sql(script([*found.statements, found.query], output.dialect))
                    return
                shape, text = found.shape, found.text(null)
        if out is not None:
            write_whole(out, text, "The hierarchy")
    show_shapes([shape], output)


def _column(source: str, arguments: list[str]) -> tuple[str | None, str, str | None]:
    """Return the table, the column and the rule of the column, whose name may contain an equals sign."""
    *tables, last = arguments
    if len(arguments) > _MOST_ARGUMENTS:
        raise UsageError("Export writes the hierarchy of one column: name one.")
    table = next(iter(tables), None)
    if "=" not in last:
        return table, last, None
    opened = open_source(source, table)
    with opened.engine:
        if find_column(last, opened.columns) is not None:
            return table, last, None
        ((column, rule),) = assignments([last], "The hierarchy").items()
    return table, column, rule
