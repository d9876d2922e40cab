"""Control groups for ``attack``: people who are not in the release, and the original without them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import find_column, make_table, resolve_columns
from kanon_sql.engine.sources.open_source import Source
from kanon_sql.errors import UsageError, counted
from kanon_sql.measures.released_labels import read_as
from kanon_sql.measures.sets_and_ranges import text_of
from kanon_sql.policy.gate import PEOPLE, refused_of
from kanon_sql.risks.attacks.controlled import Guessing
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name, unused_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.policy.gate import Finding


def refuse_without_control(guessing: Guessing, control: object) -> None:
    """Raise an error if settings for guesses are given without a control group to guess about."""
    if control is None and guessing != Guessing():
        raise UsageError(
            "--knows, --targets and --seed are for guesses compared with a control group: add --control FILE."
        )


def control_group(original: Source, control: Source) -> Source:
    """Return a control group with the columns and unprepared types of its original, in its engine."""
    for one in (original, control):
        one.require("a control group (--control)", "A control group")
    pairs = [(column, find_column(column.name, control.columns)) for column in original.columns]
    both = [(column, own) for column, own in pairs if own is not None]
    if not both:
        raise UsageError(f"The control group {control.name} has no column that {original.name} has.")
    selected, lost = [], []
    for column, own in both:
        value: exp.Expr = sql.column(own.name)
        if own.type != column.type:
            value, _ = read_as(text_of(value, own), column)
            value = sql.cast(value, column.type) if column.type != column.lookup_type else value
        selected.append(sql.named(value, column.name))
        lost.append(
            exp.Sub(this=exp.Count(this=sql.column(own.name)), expression=exp.Count(this=value.copy())),
        )
    engine = original.engine
    counts = exp.select(sql.count_rows(), *lost).from_(control.relation.copy())
    rows, *unread = engine.row(counts, "rows of the control group")
    if not rows:
        raise UsageError(f"The control group {control.name} has no rows.")
    for (column, _), number in zip(both, unread, strict=True):
        if number:
            raise UsageError(
                f"Column {column.name!r} of the control group {control.name}: {counted(number, 'value')} in "
                f"{counted(rows, 'row')} cannot be read as {column.type}, which it is in {original.name}."
            )
    query = exp.select(*selected).from_(control.relation.copy())
    relation = make_table(engine, "kanon_control", query, "the control group")
    return Source(engine, relation, control.name)


def without_control(original: Source, control: Source, entity: Column | None) -> tuple[Source, str]:
    """Return an original without the people of a control group, and a description of the rows left out.

    With a column of people, all of their rows are left out; rows without a person follow the next rule. Without such a
    column, rows that equal rows of the control group are left out, one for one, if the original has all of them. If it
    does not, the control group is not a part of it, and equal rows belong to people who agree in all columns.
    """
    engine, columns = original.engine, original.columns
    (rows,) = engine.row(sql.select_count(original.relation), "rows of the original")
    if entity is not None:
        person = find_column(entity.name, control.columns)
        if person is None:
            raise UsageError(f"The control group {control.name} has no column of people, {entity.name!r}.")
        same = exp.EQ(this=sql.column(entity.name, "original"), expression=sql.column(person.name, "control"))
        name = unused_name("kanon_position", [column.name for column in columns])
        query = sql.query(
            "attacks/control/other_people",
            values={"columns": [sql.column(column.name, "original") for column in columns], "same_person": same},
            tables={"original": original.relation, "control": control.relation},
            names={"kanon_position": name},
        )
        nameless = exp.select("*").from_(control.relation.copy()).where(sql.column(person.name).is_(exp.null()))
        of_nameless = replace(control, relation=make_table(engine, "kanon_nameless", nameless, "rows without a person"))
        others = make_table(engine, "kanon_others", query, "rows of other people")
        original_others = replace(original, relation=others)
        alike, of = _alike(original_others, of_nameless)
        query = _subtracted(original_others, of_nameless) if alike == of else exp.select("*").from_(others.copy())
    else:
        alike, of = _alike(original, control)
        if alike < of:
            no_part = f"The control group {control.name} is no part of {original.name}, of which nothing is left out."
            equal = (
                f" {alike:,} of its {counted(of, 'row')} equal rows of {original.name}: if these are the same people, "
                "the risk is understated. Then name their column, --entity, or take them out of the control group."
            )
            return original, no_part + (equal if alike else "")
        query = _subtracted(original, control)
    relation = make_table(engine, "kanon_scope", query, "the original without the control group")
    (left,) = engine.row(sql.select_count(relation), "rows of the original that are left")
    if not left:
        raise UsageError(f"All people of {original.name} are in the control group {control.name}: nobody is left.")
    gone = counted(rows - left, "row")
    said = f"{gone} of {original.name} {'is' if rows - left == 1 else 'are'} of the control group {control.name}"
    rest = replace(original, relation=relation, columns=engine.columns(relation), preparation=None)
    return rest, f"{said}: the attacks are on the {left:,} others."


def _common(original: Source, control: Source) -> list[str]:
    return [column.name for column in original.columns if find_column(column.name, control.columns) is not None]


def _alike(original: Source, control: Source) -> tuple[int, int]:
    """Count the rows of a control group that the original has, with repetitions, and all of its rows."""
    values = {"keys": [sql.column(name) for name in _common(original, control)]}
    tables = {"original": original.relation, "control": control.relation}
    query = sql.query("attacks/control/alike", values=values, tables=tables)
    alike, of = original.engine.row(query, "rows of the control group beside the original")
    return alike, of


def _subtracted(original: Source, control: Source) -> exp.Query:
    names = _common(original, control)
    ours = ["kanon_position", "kanon_copy", "kanon_held_out"]
    own = unused_names(ours, [column.name for column in original.columns])
    return sql.query(
        "attacks/control/scope",
        values={
            "keys": [sql.column(name) for name in names],
            "columns": [sql.column(column.name) for column in original.columns],
            "copied": [sql.column(column.name, "copies") for column in original.columns],
            "same": sql.all_of(sql.same(sql.column(name, "copies"), sql.column(name, "held_out")) for name in names),
        },
        tables={"original": original.relation, "control": control.relation},
        names=dict(zip(ours, own, strict=True)),
    )


def require_one_row_each(findings: Sequence[Finding], original: Source) -> None:
    """Raise an error if rows are counted and one person has several: they could be on both sides."""
    if (people := refused_of(findings, PEOPLE)) is not None:
        raise UsageError(
            f"{original.name}: {people.text}. Some of them could be in the control group and others in the release. "
            f"{people.ways_on}"
        )


def require_control_columns(
    control: Source, guessing: Guessing, original: Source, published: Sequence[Column], entity: Column | None
) -> None:
    """Raise an error if a control group lacks a published column, or an attacker knows an unpublished one.

    ``published`` are the columns of the original that the release has.
    """
    wanted = [column for column in published if column != entity]
    if missing := [column.name for column in wanted if find_column(column.name, control.columns) is None]:
        raise UsageError(f"The control group {control.name} has no column {_listed(missing)}, which the release has.")
    known = [name for names in guessing.knows for name in names]
    found = resolve_columns(known, original.columns, original.name)
    if unpublished := [column.name for column in found if column not in wanted]:
        shown = ", ".join(column.name for column in wanted)
        raise UsageError(f"--knows takes published columns that name nobody ({shown}). Got {_listed(unpublished)}.")
    if len(set(found)) < len(found):
        raise UsageError("--knows names a column twice: two sources know different columns.")


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns))
