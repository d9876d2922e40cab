"""The plan: the ordered, named SQL statements from source to release, as a script that anyone can read and re-run.

Values of the table are in tables that the script writes out, or in files beside it: one file for each such table, all
columns text, which the script loads. It is a CSV file with a header: NULL is empty, everything else is quoted.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.files import require_free, take_name, workspace
from kanon_sql.engine.progress import OPENING
from kanon_sql.engine.sources.layout import EXCEL
from kanon_sql.engine.sources.preparing import TITLE as TITLE_OF_PREPARATION
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.lookup_relation import lookup_statement, rule_query
from kanon_sql.release.pseudonyms import TITLE
from kanon_sql.release.publication import joined_hierarchies, levels_joined
from kanon_sql.release.publish.files import (
    DATABASE,
    check_file,
    copy_statement,
    database_statements,
    for_file,
    reading_back,
)
from kanon_sql.release.publish.publisher import check_target
from kanon_sql.release.published_values import published_values
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.release.statements.view import require_viewable, view_lookups, view_statements
from kanon_sql.release.verify.pseudonyms import leaving_out
from kanon_sql.release.verify.verify import checks_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import NATIVE, clean_up, render, rendered
from kanon_sql.sql.dialects import script as as_script
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Logged
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.policy.destination import Destination
    from kanon_sql.release.publication import Publication
    from kanon_sql.search.prepare import Prepared

_RELEASE = "The release: generalize, leave out classes that are too small, mix the rows"
_RELEASE_OF_BOXES = (
    "The release: write each row as its box says, mix the rows. Boxes are those of the table as it was when they were "
    "made: rows that came or went since are not counted"
)
_TIME_ZONE = "The time zone of labels and texts"
_IN_PLACE = "A new database with the release and all else; verified, its file takes the name of the old one"
_README = "README.txt"
_NOTE = """\
These files hold values of the table that a release is made from, as they are. The script of the release loads them.
Keep them as you keep the table itself, do not hand them out with the release, and delete them when it is made.
"""
_CSV = {
    "duckdb": """(FORMAT csv, HEADER, QUOTE '"', ESCAPE '"', NULLSTR '', ALLOW_QUOTED_NULLS false)""",
    "postgres": "WITH (FORMAT csv, HEADER true)",
    "spark": """'true', multiLine 'true', quote '"', escape '"')""",
}
"""The command with which a dialect reads such a file; other dialects load it with separate tools."""


@dataclass(frozen=True)
class Step:
    """A named part of a plan.

    In the plan of a release, its name is ``time_zone``, ``source``, ``prepare``, ``hierarchies``, ``rules``,
    ``pseudonyms``, ``left_out_1``, ``left_out_2`` and so on, ``boxes``, ``recoding``, ``release`` or ``verify``.
    """

    name: str
    title: str
    statements: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Plan:
    """The steps from source to release."""

    steps: tuple[Step, ...]

    def held(self) -> dict[str, int]:
        """Return how many values of each column of the table the statements contain unchanged."""
        return held_in(made for step in self.steps for made in step.statements)

    def statements(self, name: str) -> tuple[exp.Expr, ...]:
        """Return the statements of a step; none if the plan does not have it."""
        return next((step.statements for step in self.steps if step.name == name), ())

    def script(self, dialect: str = "duckdb") -> str:
        """Return the statements in a dialect, each step under its title."""
        parts = [
            f"-- {number}. {title}\n" + "\n\n".join(f"{text};" for text in texts)
            for number, (title, texts) in enumerate(self._texts(dialect), start=1)
        ]
        return "\n\n".join(parts) + "\n"

    def statements_for(self, dialect: str) -> list[tuple[str, str]]:
        """Return the texts of the statements in a dialect, in order, each with the title of its step."""
        return [(title, text) for title, texts in self._texts(dialect) for text in texts]

    def _texts(self, dialect: str) -> Iterator[tuple[str, list[str]]]:
        for step in self.steps:
            try:
                texts = [text for statement in step.statements for text in rendered(statement, dialect, pretty=True)]
            except UsageError as error:
                raise UsageError(f"Step {one_line(step.title)!r} cannot be said: {error}") from None
            yield one_line(step.title), texts
        if left := clean_up((statement for step in self.steps for statement in step.statements), dialect):
            yield "Remove the tables that were made on the way", left


def after_all(run: str, script: str) -> str:
    """Return a script preceded by all statements that were run to find its release."""
    return f"{run}\n-- The script of the release\n\n{script}"


def held_in(statements: Iterable[exp.Expr]) -> dict[str, int]:
    """Return how many values of each column of a table the statements contain unchanged."""
    held: dict[str, set[str]] = {}
    for rows in (rows for statement in statements for rows in statement.find_all(exp.Values)):
        for column, values in rows.meta.get(sql.HOLDS, {}).items():
            held.setdefault(column, set()).update(values)
    return {column: len(values) for column, values in held.items() if values}


def logged_script(statements: Iterable[Logged], dialect: str = "duckdb") -> str:
    """Return statements that were run, each under its purpose, with the values of its placeholders.

    Statements of a warehouse are in its own dialect, and all name the side on which they ran. A statement that the
    dialect cannot express is left out, and a comment says which and why. The name of a step of the release precedes its
    first statement.
    """
    logs = list(statements)
    two_sides = any(logged.dialect is not None for logged in logs)
    has_steps = any(logged.step != OPENING for logged in logs)
    parts, step = [], ""
    for logged in logs:
        if has_steps and logged.step != step and (logged.step != OPENING or not step):
            step = logged.step
            parts.append(f"-- Step {step.replace('_', ' ')}")
        bound = sql.bound(logged.statement, logged.parameters)
        side = "" if not two_sides else " (workbench)" if logged.dialect is None else f" (warehouse, {logged.dialect})"
        try:
            text = as_script([bound], logged.dialect or dialect)
        except UsageError as error:
            parts.append(f"-- {one_line(logged.title)}{side}: left out. {one_line(str(error))}")
            continue
        parts.append(f"-- {one_line(logged.title)}{side}\n{text}")
    return "\n\n".join(parts) + "\n"


def _plan(
    source: Source,
    publication: Publication,
    make: Step,
    output: exp.Expr | None,
    lookups: Mapping[str, exp.Table],
    lookup: Callable[[Hierarchy], exp.Create],
    *,
    stands_alone: bool,
) -> Plan:
    """Return the whole plan with the step ``make``; ``output`` is read to verify it, unless it is None."""
    of_recoding, steps = statements_for(publication), _steps_before(source, publication, stands_alone=stands_alone)
    needed = [h for h in joined_hierarchies(publication) if h.stored is None or stands_alone]
    if needed:
        made = tuple(lookup(hierarchy) for hierarchy in needed)
        steps.append(Step("hierarchies", "Hierarchies: each value with its label at every level", made))
    if publication.rules is not None:
        steps.append(Step("rules", publication.rules.title, publication.rules.statements()))
    if publication.pseudonyms is not None:
        steps.append(Step("pseudonyms", TITLE, publication.pseudonyms.statements()))
        for number in range(publication.pseudonyms.rounds):
            title_of_round = f"People whose combination of classes too few have are left out, round {number + 1}"
            steps.append(Step(f"left_out_{number + 1}", title_of_round, leaving_out(publication, lookups)))
    if boxes := of_recoding.box_statements(source.engine, source.tuples):
        steps.append(Step("boxes", of_recoding.title_of_boxes, boxes))
    if recoding := of_recoding.recoding_statements(lookups):
        steps.append(Step("recoding", "Step by step: the combinations of values whose class is large enough", recoding))
    steps.append(make)
    if output is not None:
        steps.append(Step("verify", "Check the release on its own rows", _checks(publication, lookups, output)))
    return Plan(tuple(steps))


def _steps_before(source: Source, publication: Publication, *, stands_alone: bool) -> list[Step]:
    """Return the steps that make the table whose columns the other steps read."""
    steps = []
    read = {*publication.quasi_identifiers, *(column.name for column in publication.columns)}
    if any(column.is_zoned and column.name in read for column in source.columns):
        steps.append(Step("time_zone", _TIME_ZONE, (sql.set_time_zone(source.engine.time_zone),)))
    if source.setup and not stands_alone:
        steps.append(Step("source", "The source", source.setup))
    if source.preparation is not None:
        steps.append(Step("prepare", TITLE_OF_PREPARATION, (source.preparation.statement,)))
    return steps


def _checks(publication: Publication, lookups: Mapping[str, exp.Table], output: exp.Expr) -> tuple[exp.Expr, ...]:
    checks = checks_of(publication, lookups, output).statements()
    if publication.kept is None:
        return checks
    for check in checks:  # failing rows are counted by some of the columns
        if isinstance(check, exp.Select):
            selected = [one for one in check.expressions if one.alias not in {"classes_failing", "rows_failing"}]
            check.set("expressions", selected)
    from kanon_sql.release.kept_classes import known_check_query

    by_some = known_check_query(publication, lookups, output)
    return checks if by_some is None else (*checks, by_some)


def one_line(text: str) -> str:
    """Return a text that cannot end the comment that contains it: a column may have any name."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def release_plan_of(
    prepared: Prepared,
    publication: Publication,
    destination: Destination,
    *,
    stands_alone: bool = False,
    dialect: str = "duckdb",
) -> Plan:
    """Return the plan of a release.

    Labels that the dialect cannot compute are written into the script, for values of published rows only.
    """
    # The view with pseudonyms, or with columns published by rules, is made after the hierarchies.
    own = None if (publication.pseudonyms or publication.rules) is not None else publication.source
    keeps_lookups = destination.into is not None and destination.kind != "table"
    levels = {} if keeps_lookups else levels_joined(publication)
    if not keeps_lookups:
        publication = statements_for(publication).read_only_cut(prepared.source.engine)

    def is_written_out(hierarchy: Hierarchy) -> bool:
        is_there = hierarchy.stored is not None and not stands_alone
        return not is_there and rule_query(hierarchy, dialect, levels.get(hierarchy.column.name), own) is None

    joined = [hierarchy.column.name for hierarchy in joined_hierarchies(publication)]
    written = [
        number
        for number, hierarchy in enumerate(publication.hierarchies)
        if hierarchy.column.name in joined and is_written_out(hierarchy)
    ]
    with published_values(prepared, publication, written) as published:

        def lookup(hierarchy: Hierarchy) -> exp.Create:
            name = hierarchy.column.name
            only = published.conditions.get(name)
            return lookup_statement(
                prepared.source.engine, hierarchy, dialect=dialect, levels=levels.get(name), source=own, only=only
            )

        known, source = replace(publication, partial=published.partial), prepared.source
        if prepared.population is not None:
            source = replace(source, setup=(*source.setup, *prepared.population[0].setup))
        return plan_of(source, known, destination, lookup, stands_alone=stands_alone)


def plan_of(
    source: Source,
    publication: Publication,
    destination: Destination,
    lookup: Callable[[Hierarchy], exp.Create],
    *,
    stands_alone: bool = False,
) -> Plan:
    """Return the statements from source to release; without a destination, the last one returns its rows.

    ``lookup`` returns the statement that makes the lookup relation of a hierarchy. A plan that stands alone expects the
    source elsewhere, and makes the hierarchies that are stored in the database.
    """
    if stands_alone:
        trees = {name: replace(tree, stored=None) for name, tree in publication.trees.items()}
        publication = replace(publication, trees=trees)
    lookups = readable_lookups(publication.hierarchies, stored=not stands_alone)
    query = release_query(publication, lookups)
    make: tuple[exp.Expr, ...] = (query,)
    output: exp.Expr | None = None
    title = _RELEASE_OF_BOXES if publication.recoding.is_partition else _RELEASE
    if destination.in_place and not stands_alone:
        from kanon_sql.release.in_place.publish import in_place_statements

        make, output = in_place_statements(source, publication)
        title = _IN_PLACE
    elif destination.out is not None and not stands_alone:
        form = check_file(source, destination.out, replace=True)
        if form == EXCEL:
            raise UsageError(
                f"DuckDB alone does not write {destination.out}: name a .csv, .parquet or .json file for the script."
            )
        if form == DATABASE:
            make, output = database_statements(source, query, destination.out)
        else:
            publication = for_file(publication, source, destination.out, destination)
            copy = copy_statement(query, destination.out, form, publication)
            if publication.encoding is not None:
                copy.comments = [f"After the checks below, convert {destination.out} to {publication.encoding}"]
            make = (copy,)
            output = reading_back(publication, destination.out, form)
    elif destination.into is not None:
        output = check_target(source, destination.into, destination.kind, replace=None)
        make = (sql.create_table(output.copy(), query),)
        if destination.kind != "table":
            require_viewable(publication)
            materialized = destination.kind == "materialized-view"
            make = view_statements(publication, destination.into, output, lookups, materialized=materialized)
            lookups = view_lookups(publication, destination.into)
        if destination.replace and (existing := source.engine.kind_of(output)):
            make = (sql.drop(output, existing), *make)
    step = Step("release", title, make)
    return _plan(source, publication, step, output, lookups, lookup, stands_alone=stands_alone)


# As text, with separate files


@dataclass(frozen=True)
class Script:
    """The script of a release."""

    text: str  # its statements
    held: dict[str, int]  # number of values of each column of the table that the script or its files contain unchanged
    files: tuple[Path, ...] = ()  # files that it loads


def script_of(plan: Plan, dialect: str, directory: Path | None = None, *, replace_files: bool = False) -> Script:
    """Return the script of a plan; with a directory, values of the table are written to files there."""
    held = plan.held()
    if directory is None or not held:
        return Script(plan.script(dialect), held)
    contents: dict[Path, str] = {}
    steps = []
    for step in plan.steps:
        statements = [made for one in step.statements for made in _loaded(one, dialect, directory, contents)]
        steps.append(replace(step, statements=tuple(statements)))
    text = replace(plan, steps=tuple(steps)).script(dialect)
    contents[directory / _README] = _NOTE
    _write(directory, contents, replace_files=replace_files)
    return Script(text, held, tuple(contents))


def _loaded(statement: exp.Expr, dialect: str, directory: Path, contents: dict[Path, str]) -> Iterator[exp.Expr]:
    """Yield the statements that load a table from a file instead of writing out its rows."""
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
    load.meta[NATIVE] = dialect
    return load


def _lines(names: Sequence[str], rows: exp.Values) -> Iterator[str]:
    yield ",".join(map(_quoted, names))
    for row in rows.expressions:
        yield ",".join("" if isinstance(cell, exp.Null) else _quoted(cell.name) for cell in row.expressions)


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _write(directory: Path, contents: dict[Path, str], *, replace_files: bool) -> None:
    """Write files with access for the owner only. After an error, remove the new ones."""
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
        with workspace(directory / _README) as private:
            for path, text in contents.items():
                (private / path.name).touch(mode=0o600)
                (private / path.name).write_text(text, encoding="utf-8", newline="")
            for path in contents:
                take_name(private / path.name, path)
    except BaseException as error:
        with suppress(OSError):
            for path in contents.keys() - before:
                path.unlink(missing_ok=True)
            if made:
                directory.rmdir()
        if isinstance(error, OSError):
            raise SourceError(f"The lookups cannot be written to {directory}: {error.strerror}.") from None
        raise
