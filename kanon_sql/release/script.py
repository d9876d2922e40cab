"""The plan: the ordered, named SQL statements from source to release, as a script that anyone can read and re-run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError
from kanon_sql.release.pseudonyms import TITLE
from kanon_sql.release.statements import statements_for
from kanon_sql.release.verify.pseudonyms import leaving_out
from kanon_sql.release.verify.verify import checks_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import begin, clean_up, rendered
from kanon_sql.sql.dialects import script as as_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Logged
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.publication import Publication


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

    def held(self) -> dict[str, int]:
        """Return how many values of each column of the table stand in the statements, as they are."""
        held: dict[str, set[str]] = {}
        for rows in (rows for step in self.steps for made in step.statements for rows in made.find_all(exp.Values)):
            for column, values in rows.meta.get(sql.HOLDS, {}).items():
                held.setdefault(column, set()).update(values)
        return {column: len(values) for column, values in held.items() if values}

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
    lookup: Callable[[Hierarchy], exp.Create],
    *,
    title: str = "The release: generalize, leave out classes that are too small, mix the rows",
    stands_alone: bool = False,
) -> Plan:
    """Return the plan of a release.

    Args:
        source: what is anonymized; its engine holds the rows of hierarchies that came from files.
        publication: what is published.
        make: the statements that make the release.
        output: the release as the statements that verify it read it; None leaves them out.
        lookups: for each quasi-identifier, the relation that the statements that verify it join.
        lookup: returns the statement that makes the lookup relation of a hierarchy.
        title: of the step that makes the release.
        stands_alone: whether the source and all hierarchies are to be found elsewhere than here.
    """
    of_recoding, steps = statements_for(publication), []
    if source.setup and not stands_alone:
        steps.append(Step("source", "The source", source.setup))
    needed = [h for h in joined_hierarchies(publication) if h.stored is None or stands_alone]
    if needed:
        made = tuple(lookup(hierarchy) for hierarchy in needed)
        steps.append(Step("hierarchies", "Hierarchies: each value with its label at every level", made))
    if publication.pseudonyms is not None:
        steps.append(Step("pseudonyms", TITLE, publication.pseudonyms.statements()))
        for number in range(publication.pseudonyms.rounds):
            title_of_round = f"People whose combination of classes too few have are left out, round {number + 1}"
            steps.append(Step(f"left_out_{number + 1}", title_of_round, leaving_out(publication, lookups)))
    if recoding := of_recoding.recoding_statements(lookups):
        steps.append(Step("recoding", "Step by step: the combinations of values whose class is large enough", recoding))
    if boxes := of_recoding.box_statements(source.engine, source.tuples):
        steps.append(Step("boxes", "Where the table is cut, and what is published of each box", boxes))
    steps.append(Step("release", title, make))
    if output is not None:
        steps.append(
            Step("verify", "Check the release on its own rows", checks_of(publication, lookups, output).statements())
        )
    return Plan(tuple(steps))


def joined_hierarchies(publication: Publication) -> list[Hierarchy]:
    """Return the hierarchies that the publishing statement and its verification refer to.

    Of a column that is only published as its root, the label is a constant.
    """
    generalizing = [
        hierarchy
        for number, hierarchy in enumerate(publication.hierarchies)
        if _is_joined(publication.recoding.levels_of(number), hierarchy)
    ]
    return [*generalizing, *publication.trees_compared]


def _is_joined(levels: Sequence[int], hierarchy: Hierarchy) -> bool:
    return any(levels) and any(level < hierarchy.height for level in levels)


def levels_joined(publication: Publication) -> dict[str, tuple[int, ...]]:
    """Return, of the quasi-identifiers whose hierarchies are joined, the levels between the values and the root."""
    named = ((n, hierarchy) for n, hierarchy in enumerate(publication.hierarchies))
    return {
        hierarchy.column.name: tuple(level for level in levels if 0 < level < hierarchy.height)
        for number, hierarchy in named
        if _is_joined(levels := publication.recoding.levels_of(number), hierarchy)
    }


def one_line(text: str) -> str:
    """Return a text that cannot end the comment it stands in: a column may be called anything."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
