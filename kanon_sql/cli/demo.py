"""``kanon demo``: makes a sample database, anonymizes it, shows what came out and what to type next."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sqlglot import exp

from kanon_sql import sql as sql_of
from kanon_sql.anonymizer import make_release
from kanon_sql.cli.anonymize import SqlOfRelease, print_release, release_script
from kanon_sql.cli.diagnostics import Talk
from kanon_sql.cli.options import DialectOption, FormatOption, QuietOption, VerboseOption
from kanon_sql.cli.output import print_json, print_table, print_text
from kanon_sql.demo import (
    QUASI_IDENTIFIERS,
    RELEASE,
    TABLE,
    demo_policy,
    demo_statement,
    make_demo,
    make_demo_file,
)
from kanon_sql.dialect import render
from kanon_sql.engine.duckdb import DuckDBEngine
from kanon_sql.engine.sources import Source, open_source
from kanon_sql.policy import Destination
from kanon_sql.progress import Progress

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine

_SHOWN = 5


def demo_command(
    rows: Annotated[int, typer.Option("--rows", min=0, help="Rows of the sample table, up to 100,000,000.")] = 50_000,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The database to make.")] = Path(
        "kanon_demo.duckdb"
    ),
    k: Annotated[int, typer.Option("-k", min=1, help="The smallest class that may be published.")] = 5,
    sql: SqlOfRelease = None,
    dialect: DialectOption = "duckdb",
    output_format: FormatOption = "table",
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Make a sample database of hospital admissions, anonymize it, and show what happened."""
    policy = demo_policy(k)
    with Talk(quiet=quiet, verbose=verbose) as talk:
        if sql is not None:
            _print_sql(rows, k, sql, dialect, talk)
            return
        talk(Progress("Making the sample table"))
        make_demo_file(out, rows)
        opened = open_source(str(out), TABLE, writable=True)
        opened.engine.listener = talk.statement
        with opened.engine as engine:
            before = _first_rows(engine, TABLE)
            release = make_release(opened, policy, talk)
            talk(Progress("Publishing"))
            published = release.to_table(RELEASE)
            after = _first_rows(engine, RELEASE)
            summary = release.summary(published)
        talk.end()
    if output_format == "json":
        print_json({**summary, "database": str(out)})
        return
    _explain(out, k, before, after)
    print_release(release, summary)
    _say_what_next(out, k)


def _explain(out: Path, k: int, before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> None:
    print_text(f"{out} has a table of hospital admissions. Nobody in it exists. Its first rows:\n")
    columns = ["name", *QUASI_IDENTIFIERS, "department", "diagnosis", "cost"]
    print_table(columns, before)
    print_text(
        "Who knows a neighbour's birth date, sex, ZIP and when she was in hospital can find her row, and learn her\n"
        "diagnosis, even without the name. So these four were generalized until every row is like at least "
        f"{k - 1} others\nin all of them (k-anonymity with k = {k}), as little as that takes; rows that would still "
        f"be too few were left out.\nThe name is gone. Some rows of {RELEASE}:\n"
    )
    print_table(columns[1:], after)
    print_text("What it took: the level of each column in its hierarchy, 0 being the original value.\n")


def _say_what_next(out: Path, k: int) -> None:
    qi = ",".join(QUASI_IDENTIFIERS)
    kanon = _as_called()
    anonymize = f"{kanon} anonymize {out} {TABLE} --id name --qi {qi} --sensitive diagnosis --rest keep"
    stricter = (
        f"{kanon} anonymize {out} {TABLE} --id name --qi {qi},department --sensitive diagnosis --rest keep \\\n"
        "      --hierarchy department=ready:hospital_department -k 20 --max-suppressed 0.05"
    )
    print_text(
        f"""
The release is the table {RELEASE} in {out}; it was checked by counting its classes anew. What to type next:

  {kanon} check {out} {RELEASE} --qi {qi} -k {k}
      count its classes yourself

  {anonymize} --sql
      read the SQL that makes such a release

  {stricter} --out admissions_k20.parquet
      a stricter release, as a file, that generalizes the department too

  {kanon} anonymize --help
      your own tables
"""
    )


def _as_called() -> str:
    """Return what a person types to call this command: its path where a shell would not find it by its name."""
    called = sys.argv[0]
    return called if Path(called).name == "kanon" and shutil.which("kanon") is None else "kanon"


def _first_rows(engine: Engine, table: str) -> list[tuple[Any, ...]]:
    query = exp.select("*").from_(sql_of.relation(table)).limit(_SHOWN)
    return engine.rows(query, f"first rows of {table}")


def _print_sql(rows: int, k: int, which: str, dialect: str, talk: Talk) -> None:
    """Print the statement of the sample table and the script of its release, made in memory."""
    with DuckDBEngine.in_memory() as engine:
        engine.listener = talk.statement
        make_demo(engine, rows)
        source = Source(engine, sql_of.relation(TABLE), TABLE)
        release = make_release(source, demo_policy(k), talk)
        script = release_script(release, Destination(into=RELEASE), which, dialect)
    print_text(f"-- The sample table\n{render(demo_statement(rows), 'duckdb', pretty=True)};\n\n{script}")
