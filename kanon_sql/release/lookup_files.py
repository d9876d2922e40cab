"""A script whose values stand in files beside it: a table of texts for each, which the script loads.

A file is a CSV file with a header: what is NULL is empty, all else stands in quotes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.files import require_free, take_name, workspace
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import NATIVE, capabilities_of, render
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kanon_sql.release.script import Plan

README = "README.txt"
_NOTE = """\
These files hold values of the table that a release is made from, as they are. The script of the release loads them.
Keep them as you keep the table itself, do not hand them out with the release, and delete them when it is made.
"""
_PRIVATE = 0o600
_CSV = {
    "duckdb": """(FORMAT csv, HEADER, QUOTE '"', ESCAPE '"', NULLSTR '', ALLOW_QUOTED_NULLS false)""",
    "postgres": "WITH (FORMAT csv, HEADER true)",
    "spark": """'true', multiLine 'true', quote '"', escape '"')""",
}
"""How a dialect reads such a file; the others load it with tools of their own."""


@dataclass(frozen=True)
class Script:
    """The script of a release.

    Attributes:
        text: its statements.
        held: how many values of each column of the table stand in it, or in its files, as they are.
        files: that it loads.
    """

    text: str
    held: dict[str, int]
    files: tuple[Path, ...] = ()


def script_of(plan: Plan, dialect: str, directory: Path | None = None, *, replace_files: bool = False) -> Script:
    """Return the script of a plan; with a directory, what it holds of the table is written to files there.

    Raises:
        UsageError: the dialect cannot say a step, or a file is there and may not be replaced.
        SourceError: a file cannot be written.
    """
    held = plan.held()
    if directory is None or not held:
        return Script(plan.script(dialect), held)
    contents: dict[Path, str] = {}
    steps = []
    for step in plan.steps:
        statements = [made for one in step.statements for made in _loaded(one, dialect, directory, contents)]
        steps.append(replace(step, statements=tuple(statements)))
    text = replace(plan, steps=tuple(steps)).script(dialect)
    contents[directory / README] = _NOTE
    _write(directory, contents, replace_files=replace_files)
    return Script(text, held, tuple(contents))


def _loaded(statement: exp.Expr, dialect: str, directory: Path, contents: dict[Path, str]) -> Iterator[exp.Expr]:
    """Give the statements that make a table from a file in the place of rows that are written out."""
    rows = next((rows for rows in statement.find_all(exp.Values) if rows.meta.get(sql.HOLDS)), None)
    if rows is None or not isinstance(statement, exp.Create):
        yield statement
        return
    alias = rows.args["alias"]
    names = [column.name for column in alias.columns]
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in statement.this.name)
    path = directory / f"{unused_name(plain, {file.stem for file in contents})}.csv"
    contents[path] = "".join(f"{line}\n" for line in _lines(names, rows))
    lines = sql.relation(f"{statement.this.name}_lines")
    load = _load(lines, names, path.absolute(), dialect)
    made = statement.copy()
    values = next(rows for rows in made.find_all(exp.Values) if rows.meta.get(sql.HOLDS))
    values.replace(sql.aliased(lines, alias.this.name))
    if dialect == "spark":
        yield load
    else:
        empty = sql.written_out(names, (), ["VARCHAR"] * len(names))
        yield sql.create_table(lines, empty, temporary=True)
        if dialect in _CSV:
            yield load
        else:
            said = f"Before this: load {path.absolute()} (CSV, a header, NULL is an empty field without quotes) into it"
            made.comments = [" ".join(said.split())]
    yield made


def _load(lines: exp.Table, names: Sequence[str], path: Path, dialect: str) -> exp.Command:
    table, file = render(lines, dialect), render(exp.Literal.string(str(path)), dialect)
    if dialect == "spark":
        columns = ", ".join(f"{render(sql.identifier(name), dialect)} STRING" for name in names)
        words = ["OR REPLACE TEMPORARY VIEW", table, f"({columns})", "USING csv OPTIONS (path", f"{file},", "header"]
        load = exp.Command(this="CREATE", expression=" ".join([*words, _CSV[dialect]]))
    else:
        load = exp.Command(this="COPY", expression=" ".join([table, "FROM", file, _CSV.get(dialect, "")]))
    load.meta[NATIVE] = capabilities_of(dialect).name
    return load


def _lines(names: Sequence[str], rows: exp.Values) -> Iterator[str]:
    yield ",".join(map(_quoted, names))
    for row in rows.expressions:
        yield ",".join("" if isinstance(cell, exp.Null) else _quoted(cell.name) for cell in row.expressions)


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _write(directory: Path, contents: dict[Path, str], *, replace_files: bool) -> None:
    """Write files, all of them or none that was not there before, for their owner alone.

    Raises:
        UsageError: one is there and may not be replaced.
        SourceError: one cannot be written.
    """
    if not directory.parent.is_dir():
        raise SourceError(f"The directory {directory.parent} does not exist.")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file: name a directory for the lookups.")
    made = not directory.exists()
    before = set() if made else set(directory.iterdir())
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        for path in contents:
            require_free(path, replace=replace_files)
        _write_all(directory, contents)
    except BaseException as error:
        with suppress(OSError):
            for path in contents:
                if path not in before:
                    path.unlink(missing_ok=True)
            if made:
                directory.rmdir()
        if isinstance(error, OSError):
            raise SourceError(f"The lookups cannot be written to {directory}: {error.strerror}.") from None
        raise


def _write_all(directory: Path, contents: dict[Path, str]) -> None:
    with workspace(directory / README) as private:
        for path, text in contents.items():
            partial = private / path.name
            partial.write_text(text, encoding="utf-8", newline="")
            partial.chmod(_PRIVATE)
        for path in contents:
            take_name(private / path.name, path)
