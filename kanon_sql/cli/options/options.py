"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kanon_sql.classes.recoding import Choose, Cut, Numbers, Texts
from kanon_sql.errors import KanonError
from kanon_sql.policy.policy import DEFAULT_MAX_SUPPRESSED, Count, Measure

# What a shell offers behind TAB: the tables of a database, the columns of a table. It only ever reads. What cannot be
# opened offers nothing: a shell has no place for an error, and the command will say it.


def complete_tables(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tables of SOURCE that begin like what was typed."""
    from kanon_sql.engine.sources.addresses import is_remote
    from kanon_sql.engine.sources.open_source import is_database, open_database
    from kanon_sql.sql import build as sql

    source = context.params.get("source")
    if source is None or is_remote(source):
        return []
    try:
        if not is_database(Path(source)):
            return []
        with open_database(Path(source), writable=False) as engine:
            found = [name for _, _, name, _ in engine.rows(sql.statement("catalog/tables"), "tables of the database")]
    except KanonError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def complete_columns(context: typer.Context, incomplete: str) -> list[str]:
    """Return lists of columns of the table that begin like what was typed: ``a``, or ``a,b`` after ``a,``."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    return [f"{before}{comma}{name}" for name in _columns(context) if name.startswith(last) and name not in named]


def complete_column(context: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the table that begin like what was typed."""
    return [name for name in _columns(context) if name.startswith(incomplete)]


def _columns(context: typer.Context) -> list[str]:
    from kanon_sql.engine.sources.addresses import is_remote
    from kanon_sql.engine.sources.open_source import open_source

    # Behind an option that waits for its value, what was typed before stays unread: it is in args.
    unread = [*context.args, None, None]
    source = context.params.get("source") or unread[0]
    if source is None or is_remote(source):
        return []
    try:
        opened = open_source(source, context.params.get("table") or unread[1])
    except KanonError:
        return []
    with opened.engine:
        return [found.name for found in opened.columns]


Format = Literal["table", "json"]
DialectName = Literal[
    "duckdb",
    "postgres",
    "spark",
    "bigquery",
    "snowflake",
    "databricks",
    "trino",
    "clickhouse",
    "tsql",
    "sqlserver",
]

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A DuckDB file; a data file (CSV, Parquet, JSON), or a directory or pattern of several; an SQLite file; "
        "a warehouse: postgresql://, spark:, sc://; or another address: mysql://, duckdb+postgresql://, s3://, gs://, "
        "r2://, az://, abfss://, hf://, https://.",
        show_default=False,
    ),
]
TableArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TABLE",
        help="The table in a database; may be left out where there is one only.",
        show_default=False,
        autocompletion=complete_tables,
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How results are printed on stdout.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing on stderr but errors.")]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Say on stderr which statement is run.")]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL and change nothing.")]
DialectOption = Annotated[
    DialectName,
    typer.Option("--dialect", help="The dialect of the SQL that is printed; tsql and sqlserver are the same."),
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Replace what has that name already.")]
IdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        autocompletion=complete_columns,
        help="Identifying: never published. Repeat it, or separate columns by commas.",
    ),
]
QiOption = Annotated[
    list[str] | None,
    typer.Option(
        "--qi",
        metavar="COLUMN",
        autocompletion=complete_columns,
        help="Quasi-identifying: could tell, together, who a row is about; generalized.",
    ),
]
SensitiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        metavar="COLUMN",
        autocompletion=complete_columns,
        help="Must not be learned about a person; published as it is.",
    ),
]
PseudonymizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pseudonymize",
        metavar="COLUMN",
        autocompletion=complete_columns,
        help="Identifying, and published as pseudonyms: a keyed hash of each value, which ties the rows of a person.",
    ),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The key of pseudonyms, 16 bytes or more; without it a key is drawn for this release alone.",
    ),
]
HierarchyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE",
        help="The hierarchy of a column: a file, or a rule such as intervals:5,10,20  mask  date:month,year  "
        "round:1,2  flat  ready:us_state  prefix:3:FILE.",
    ),
]
HierarchiesOption = Annotated[
    Path | None,
    typer.Option("--hierarchies", metavar="DIR", help="Hierarchy files <column>.csv or *_hierarchy_<column>.csv."),
]
ORIGINAL = typer.Option(
    "--original", metavar="TABLE|FILE", help="What it was made from: a table of the same database, or a file."
)
OriginalOption = Annotated[str | None, ORIGINAL]
OriginalTableOption = Annotated[
    str | None,
    typer.Option("--original-table", metavar="TABLE", help="The table, where --original is another database."),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="A kanon.toml. Roles on the command line add to it (a column named there moves to that role); all other "
        "options go before it.",
    ),
]
KOption = Annotated[
    int | None,
    typer.Option("-k", help="The smallest class that may be published (default: 5).", show_default=False),
]
MaxSuppressedOption = Annotated[
    str | None,
    typer.Option(
        "--max-suppressed",
        metavar="LIMIT",
        help="How much may be left out: a share of the rows (0.05 or 5%), or '25 rows', or 'k rows' "
        f"(default: {DEFAULT_MAX_SUPPRESSED}).",
    ),
]
MeasureOption = Annotated[Measure | None, typer.Option("--measure", help="What to minimize (default: loss).")]
ChooseOption = Annotated[
    Choose | None,
    typer.Option("--choose", help="How mondrian chooses the column that it cuts a part in (default: range)."),
]
CutOption = Annotated[
    Cut | None,
    typer.Option(
        "--cut",
        help="Where mondrian cuts: at the median (strict, the default), in half (relaxed), or at a node of the tree.",
    ),
]
LabelsOption = Annotated[
    Texts | None,
    typer.Option("--labels", help="How mondrian writes the texts of a part (default: their lowest label in the tree)."),
]
NumbersOption = Annotated[
    Numbers | None,
    typer.Option("--numbers", help="How mondrian writes the numbers and dates of a part (default: range)."),
]
PairsOption = Annotated[
    int | None,
    typer.Option(
        "--pairs",
        metavar="PASSES",
        help="How often mondrian-plus goes through pairs of parts at the end, to cut them again together (default: 0).",
    ),
]
EntityOption = Annotated[
    str | None,
    typer.Option(
        "--entity",
        metavar="COLUMN",
        autocompletion=complete_column,
        help="Names the person: k counts people, not rows.",
    ),
]
CountOption = Annotated[
    Count | None,
    typer.Option(
        "--count",
        help="What k counts: people (default), for which a table with several rows of one person needs --entity; or "
        "rows, also where several are of one person.",
    ),
]
