"""The plan: the ordered, named SQL statements from source to release, as a script that anyone can read and re-run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.dialect import begin, clean_up, rendered
from kanon_sql.dialect import script as as_script
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.build import VALUE, level_name
from kanon_sql.hierarchy.lookup import levels_columns
from kanon_sql.pseudonyms import TITLE
from kanon_sql.publish_boxes import box_statements
from kanon_sql.publish_local import recoding_statements
from kanon_sql.tie_check import leaving_out
from kanon_sql.verify import checks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kanon_sql.engine.base import Engine, Logged
    from kanon_sql.engine.sources import Source
    from kanon_sql.hierarchy.lookup import Hierarchy
    from kanon_sql.publication import Publication


@dataclass(frozen=True)
class Step:
    """A named part of a plan.

    Its name is ``source``, ``hierarchies``, ``pseudonyms``, ``recoding``, ``boxes``, ``release`` or ``verify``.
    """

    name: str
    title: str
    statements: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Plan:
    """The steps from source to release."""

    steps: tuple[Step, ...]

    def statements(self, name: str) -> tuple[exp.Expr, ...]:
        """Return the statements of a step; none if the plan does not have it."""
        return next((step.statements for step in self.steps if step.name == name), ())

    def script(self, dialect: str = "duckdb") -> str:
        """Return the statements in a dialect, each step under its title.

        Raises:
            UsageError: a step has a statement that the dialect cannot say.
        """
        parts = []
        steps = [(title, list(texts)) for title, texts in self._texts(dialect)]
        for number, (title, texts) in enumerate(steps, start=1):
            parts.append(f"-- {number}. {title}\n" + "\n\n".join(f"{text};" for text in texts))
        return "\n\n".join(parts) + "\n"

    def statements_for(self, dialect: str) -> list[tuple[str, str]]:
        """Return the texts that are run in a dialect, one by one and in this order, each with the title of its step.

        Raises:
            UsageError: a step has a statement that the dialect cannot say.
        """
        return [(title, text) for title, texts in self._texts(dialect) for text in texts]

    def _texts(self, dialect: str) -> Iterator[tuple[str, list[str]]]:
        if first := begin(dialect):
            yield "What the script needs", first
        for step in self.steps:
            try:
                texts = [text for statement in step.statements for text in rendered(statement, dialect, pretty=True)]
            except UsageError as error:
                raise UsageError(f"Step {one_line(step.title)!r} cannot be said: {error}") from None
            yield one_line(step.title), texts
        if left := clean_up((statement for step in self.steps for statement in step.statements), dialect):
            yield "Remove the tables that were made on the way", left


def logged_script(statements: Iterable[Logged], dialect: str = "duckdb") -> str:
    """Return statements that were run, each under what it was for, with the values of its placeholders in place.

    Those that a warehouse ran are in its own dialect, and all say which side they were run on. What cannot be said in
    the dialect is left out, and a comment says what and why.
    """
    logs = list(statements)
    two_sides = any(logged.dialect is not None for logged in logs)
    parts = []
    for logged in logs:
        bound = sql.bound(logged.statement, logged.parameters)
        side = "" if not two_sides else " (workbench)" if logged.dialect is None else f" (warehouse, {logged.dialect})"
        try:
            text = as_script([bound], logged.dialect or dialect)
        except UsageError as error:
            parts.append(f"-- {one_line(logged.title)}{side}: left out. {one_line(str(error))}")
            continue
        parts.append(f"-- {one_line(logged.title)}{side}\n{text}")
    return "\n\n".join(parts) + "\n"


def release_plan(
    source: Source,
    publication: Publication,
    make: tuple[exp.Expr, ...],
    output: exp.Expr | None,
    lookups: Mapping[str, exp.Table],
    *,
    title: str = "The release: generalize, leave out classes that are too small, mix the rows",
    stands_alone: bool = False,
    foreign: bool = False,
) -> Plan:
    """Return the plan of a release.

    Args:
        source: what is anonymized; its engine holds the rows of hierarchies that came from files.
        publication: what is published.
        make: the statements that make the release.
        output: the release as the statements that verify it read it; None leaves them out.
        lookups: for each quasi-identifier, the relation that the statements that verify it join.
        title: of the step that makes the release.
        stands_alone: whether the source and all hierarchies are to be found elsewhere than here.
        foreign: whether it is for another engine than that of the source: rules that made hierarchies may mean
            something else there, and their rows are written out.
    """
    steps = []
    if source.setup and not stands_alone:
        steps.append(Step("source", "The source", source.setup))
    needed = [h for h in joined_hierarchies(publication) if h.stored is None or stands_alone]
    if needed:
        made = tuple(lookup_statement(source.engine, hierarchy, literal=foreign) for hierarchy in needed)
        steps.append(Step("hierarchies", "Hierarchies: each value with its label at every level", made))
    if publication.pseudonyms is not None:
        steps.append(Step("pseudonyms", TITLE, publication.pseudonyms.statements()))
        for number in range(publication.pseudonyms.rounds):
            title_of_round = f"People whose combination of classes too few have are left out, round {number + 1}"
            steps.append(Step(f"left_out_{number + 1}", title_of_round, leaving_out(publication, lookups)))
    if recoding := recoding_statements(publication, lookups):
        steps.append(Step("recoding", "Step by step: the combinations of values whose class is large enough", recoding))
    if boxes := box_statements(source.engine, publication):
        steps.append(Step("boxes", "Where the table is cut, and what is published of each box", boxes))
    steps.append(Step("release", title, make))
    if output is not None:
        steps.append(
            Step("verify", "Check the release on its own rows", checks_of(publication, lookups, output).statements())
        )
    return Plan(tuple(steps))


def joined_hierarchies(publication: Publication) -> list[Hierarchy]:
    """Return the hierarchies that the publishing statement and its verification refer to."""
    generalizing = [
        hierarchy
        for number, hierarchy in enumerate(publication.hierarchies)
        if any(publication.recoding.levels_of(number))
    ]
    return [*generalizing, *publication.trees_compared]


def lookup_statement(engine: Engine, hierarchy: Hierarchy, *, literal: bool = False) -> exp.Create:
    """Return the statement that makes a lookup relation: its rule over the source, or its rows.

    Args:
        engine: holds the rows.
        hierarchy: what is looked up.
        literal: whether rows are written out even if a rule made them.
    """
    rule = None if literal else hierarchy.definition
    query = rule or _literal_rows(engine, hierarchy)
    return sql.create_table(hierarchy.relation.copy(), query.copy(), temporary=True)


def one_line(text: str) -> str:
    """Return a text that cannot end the comment it stands in: a column may be called anything."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _literal_rows(engine: Engine, hierarchy: Hierarchy) -> exp.Query:
    names = [VALUE, *(level_name(level) for level in range(1, hierarchy.height + 1))]
    as_text = [
        sql.named(sql.cast(sql.column(VALUE), "VARCHAR"), VALUE),
        *levels_columns(hierarchy.height)[1:],
    ]
    query = exp.select(*as_text).from_(hierarchy.relation.copy()).order_by(sql.column(VALUE, hierarchy.relation.name))
    rows = engine.rows(query, f"rows of the hierarchy of {hierarchy.column.name}")
    values = sql.values("lines", names, rows)
    typed = sql.named(sql.cast(sql.column(VALUE), hierarchy.column.lookup_type), VALUE)
    return exp.select(typed, *levels_columns(hierarchy.height)[1:]).from_(values)
