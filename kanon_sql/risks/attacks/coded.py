"""The rows of an original, a control group and a release as codes: the input of every attack with a control group.

    kanon_sides(record, is_control, person, place_1, ...)    rows of the original, then of the control group
    kanon_targets(is_control, person, rank, record)         each person with one of their rows, in random order
    kanon_coded(record, label_1, ...)                        rows of the release, numbered from 1
    covers (label, place)                                 which labels cover which values, for each column

Columns are numbered: first the quasi-identifiers, in their order, then the other columns that both the release and the
original have. The place of a quasi-identifier's value is that of ``measures.labels``, and its labels are those that
``candidates`` numbered. Values of the control group that the original does not have get the labels of the hierarchy.
The value of another column is compared as text (see ``released``): its place and its label are the number of that text
in the release, and 0 stands for a text that the release does not have.

A person is a row, or all rows with the same value of the column of people; a row without a name is a separate person.
The row of a person, and the order of people, are drawn by MD5 of the seed and the number of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import build_frequency
from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.given import for_other_rows
from kanon_sql.measures.labels import make_labels, make_places, place_name
from kanon_sql.measures.released_labels import Covers, label_name, make_covers
from kanon_sql.risks.attacks.candidates import places_of
from kanon_sql.risks.attacks.released import shared_name, truth
from kanon_sql.risks.temporary import TemporaryTables
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kanon_sql.engine.base import Column
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.released import Released

RECORD = "record"


@dataclass(frozen=True)
class Coded:
    """The tables above. ``columns`` and ``covers`` are numbered; the first ``quasi_identifiers`` are these."""

    tables: TemporaryTables
    columns: tuple[str, ...]
    quasi_identifiers: int
    covers: tuple[Covers, ...]
    people: int
    control_people: int
    rows: int
    seed: int


def code_tables(
    original: exp.Table,
    control: exp.Table,
    candidates: Candidates,
    released: Released,
    entity: Column | None,
    seed: int,
) -> Coded:
    """Return the codes of an original, a control group with the same columns, and a release.

    ``entity`` is None if each row is a person. If the release has the entity column, it is not coded.

    Raises:
        HierarchyError: a hierarchy has no row for a value of the control group.
    """
    engine, hierarchies = candidates.engine, [own.hierarchy for own in candidates.places]
    known = [hierarchy.column for hierarchy in hierarchies]
    others = {n: both.original for n, both in enumerate(released.shared) if both.original != entity}
    numbers = range(len(known), len(known) + len(others))
    # 1. The rows of both sides, and their places.
    needed = dict.fromkeys([*known, *others.values(), *([] if entity is None else [entity])])
    flag = {"kanon_is_control": unused_name("kanon_is_control", [column.name for column in needed])}
    tables = TemporaryTables(engine, released=released.relation, classes=candidates.classes)
    query = sql.query(
        "attacks/control/both_sides",
        values={"columns": [sql.column(column.name) for column in needed]},
        tables={"original": original, "control": control},
        names=flag,
    )
    both = tables.keep("source", query, "the original and the control group")
    own = [for_other_rows(engine, hierarchy, both) for hierarchy in hierarchies]
    try:
        frequency = build_frequency(engine, both, own, None)
    except HierarchyError as error:
        raise HierarchyError(f"{error} These are values of the original and of the control group together.") from None
    places = make_places(frequency, own, make_labels(frequency, own))
    # 2. The other columns: every text of the release gets a number.
    texts = []
    for number, column in others.items():
        title = f"values of {column.name} in the release"
        texts.append(tables.make("attacks/control/texts", title, {"value": sql.column(shared_name(number))}))
    aliases = [f"texts_{number + 1}" for number in numbers]

    def text_joins(values: Iterable[exp.Expr]) -> list[tuple[exp.Expr, exp.Expr]]:
        return [
            (sql.aliased(text, alias), exp.EQ(this=sql.column("text", alias), expression=value))
            for text, alias, value in zip(texts, aliases, values, strict=True)
        ]

    # 3. Rows as codes.
    selected, joins = places_of(places, [column.name for column in known])
    for number, alias in zip(numbers, aliases, strict=True):
        code = exp.Coalesce(this=sql.column("place", alias), expressions=[sql.literal(0)])
        selected.append(sql.named(code, place_name(number)))
    true = text_joins(truth(sql.column(column.name, "source"), column) for column in others.values())
    query = sql.query(
        "attacks/control/sides",
        values={"places": selected, "person": exp.null() if entity is None else sql.column(entity.name, "source")},
        tables=tables.known,
        joins={**joins, "texts": true},
        names=flag,
    )
    tables.keep("sides", query, "rows of the original and of the control group, as codes")
    tables.make("attacks/control/targets", "people in drawn order, each with one row", {"seed": str(seed)})
    labels: list[exp.Expr] = [sql.column(label_name(number), "classes") for number in range(len(known))]
    labels += [sql.named(sql.column("label", alias), label_name(n)) for n, alias in zip(numbers, aliases, strict=True)]
    shown = text_joins(sql.column(shared_name(number), "released") for number in others)
    tables.make("attacks/control/coded", "the release as codes", {"labels": labels}, {"texts": shown})
    # 4. The values that labels cover.
    covers = [
        make_covers(engine, candidates.labels[found.number], found, one_level=candidates.assumed) for found in places
    ]
    covers += [
        Covers(number, text, functional=True, assumed=False, nested=True)
        for number, text in zip(numbers, texts, strict=True)
    ]
    people, control_people, rows = tables.row("attacks/control/sizes", "how many people and rows there are")
    tables.drop("source")
    columns = tuple(column.name for column in (*known, *others.values()))
    return Coded(tables, columns, len(known), tuple(covers), people, control_people, rows, seed)
