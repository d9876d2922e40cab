"""The attacker's knowledge, and the classes of a release that each person can be in: their candidates.

The attacker knows the quasi-identifier values of every row of the original. Tuples are looked up instead of rows,
because equal rows find the same classes.

    kanon_original(column_1, column_2, ...)             the columns that are needed, in the order of the original
    kanon_people(position, tuple)                       each row: its position in the original, and its tuple
    kanon_tuples(tuple, place_1, ..., n)                each distinct tuple, and how many rows have it

A person can be in a class if each of its labels covers their value, and if the class has room for them.

    kanon_classes(class, label_1, ..., n)               classes of the release; label i is its number (see ``covers``)
    kanon_pairs(tuple, class)                           the classes that each tuple of the original finds
    kanon_found(tuple, n, classes, size, fewest, found) how many these are, and how many rows they have together
    kanon_sets(found, class)                            the same, once for all tuples that find the same single class

Tuples are matched with classes, not rows with rows. In a column where no value has two labels, the lookup is an
equality join; a full-domain release needs nothing else. If labels overlap, each class has a bit: 62 of them in a word,
with classes of similar labels adjacent. A value has a word of the classes whose label in its column covers it: the sum
of the bits of spans that started before it and have not ended. The candidates of a tuple are the intersection of its
values' words, column by column; words without a bit are removed at once. So the work is bounded by tuples times words
at the first overlapping column (the one whose labels cover the least), and by the number of candidates: tuples times
classes if every class covers everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.measures.labels import LABEL, NUMBER, place_name
from kanon_sql.measures.released_labels import (
    PLACE,
    Covers,
    label_name,
    make_covers,
    number_labels,
    published_classes_query,
    spans_of,
)
from kanon_sql.models.base import N
from kanon_sql.risks.attacks.settled import Settled, settle
from kanon_sql.risks.temporary import TemporaryTables
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.measures.labels import Places
    from kanon_sql.risks.temporary import Joins, Values


TUPLE, POSITION, CLASS, FOUND = "tuple", "position", "class", "found"
SIZE, FEWEST, CLASSES = "size", "fewest", "classes"
_ROWID, _BLOCK = "rowid", "block"


@dataclass(frozen=True)
class OriginalRows:
    """The attacker's knowledge: ``kanon_original`` (``copy``), ``kanon_people``, ``kanon_tuples``.

    The first of ``columns`` is ``column_1`` of the copy.
    """

    copy: exp.Table
    columns: tuple[Column, ...]
    relation: exp.Table
    tuples: exp.Table

    def value(self, column: Column, table: str | None = None) -> exp.Column:
        return sql.column(copied_name(self.columns.index(column)), table)


def copied_name(number: int) -> str:
    return f"column_{number + 1}"


def position(table: str | None = None) -> exp.Column:
    """Return the position of a row in a copy: the engine numbers rows in the order in which they were inserted."""
    return exp.column(_ROWID, table=table)


def copy_of(engine: Engine, relation: exp.Table, columns: Sequence[exp.Expr], wanted: str, title: str) -> exp.Table:
    """Return a temporary table with columns of a relation under new names, and its rows in the same order."""
    named = [sql.named(column, copied_name(number)) for number, column in enumerate(columns)]
    return make_table(engine, wanted, exp.select(*named).from_(relation.copy()), title)


def same_in(names: Iterable[str], one: str, other: str) -> exp.Expr:
    """Return the condition that columns of two tables, which are never NULL, are equal."""
    return sql.all_of(exp.EQ(this=sql.column(name, one), expression=sql.column(name, other)) for name in names)


def make_people(engine: Engine, source: exp.Table, columns: Sequence[Column], places: Sequence[Places]) -> OriginalRows:
    values = [sql.column(column.name) for column in columns]
    copy = copy_of(engine, source, values, "kanon_original", "the original, in its order")
    tables = TemporaryTables(engine, source=copy)
    names = [copied_name(columns.index(own.hierarchy.column)) for own in places]
    selected, joins = places_of(places, names)
    tables.make("attacks/candidates/placed", "places of the values of each row", {"places": selected}, joins)
    names = [own.place for own in places]
    selected = [sql.column(name) for name in names]
    tuples = tables.make("attacks/candidates/tuples", "tuples of quasi-identifiers", {"places": selected})
    same = same_in(names, "tuples", "placed")
    people = tables.make("attacks/candidates/people", "the tuple of each row", {"same": same})
    tables.drop("placed")
    return OriginalRows(copy, tuple(columns), people, tuples)


def places_of(places: Sequence[Places], names: Sequence[str]) -> tuple[list[exp.Expr], Joins]:
    """Return the places of columns of ``source``, and the joins with their lookup relations."""
    selected: list[exp.Expr] = []
    joins = []
    for own, name in zip(places, names, strict=True):
        alias = f"lookup_{own.number + 1}"
        selected.append(sql.named(sql.column(PLACE, alias), own.place))
        is_value = sql.same(sql.column(name, "source"), sql.column(VALUE, alias))
        joins.append((sql.aliased(own.relation, alias), is_value))
    return selected, {"lookup": joins}


def labels_of(labels: Mapping[int, exp.Table], texts: Iterable[exp.Expr]) -> tuple[list[exp.Expr], Joins]:
    """Return the numbers of labels given as texts, and the joins with the relations of labels."""
    selected: list[exp.Expr] = []
    joins = []
    for (number, own), text in zip(labels.items(), texts, strict=True):
        alias = f"labels_{number + 1}"
        selected.append(sql.named(sql.column(NUMBER, alias), label_name(number)))
        joins.append((sql.aliased(own, alias), sql.same(sql.column(LABEL, alias), text)))
    return selected, {"labels": joins}


@dataclass(frozen=True)
class Candidates(Settled):
    """The classes of a release that people can be in: the tables ``kanon_pairs``, ``kanon_found`` and so on.

    Attributes:
        columns: the quasi-identifiers that the release has, in the order of ``places``.
        labels: for each quasi-identifier, by its number, the numbers of its labels.
        assumed: whether labels were read on one level that could be on others too.
        believed: whether that applies only to labels that are nested (see ``covers``), in a release where no value has
            two labels.
        number, rows: of the classes of the release.
    """

    engine: Engine
    people: OriginalRows
    places: Sequence[Places]
    release: exp.Table
    columns: Sequence[Column]
    classes: exp.Table
    found: exp.Table
    sets: exp.Table
    labels: dict[int, exp.Table]
    assumed: bool
    believed: bool
    number: int
    rows: int

    def drop(self) -> None:
        for table in (self.classes, self.pairs, self.found, self.sets, *self.labels.values()):
            self.engine.run(sql.drop(table), "drop the values that were looked up")


def find_candidates(
    engine: Engine, people: OriginalRows, places: Sequence[Places], release: exp.Table, columns: Sequence[Column]
) -> Candidates:
    """Return the classes that people can be in.

    Labels are read on one level if all labels of a column can be on it (see ``covers``). If the classes of the release
    then have more rows than this original has for them, labels are read on any level.
    """
    # 1. Classes, with numbers for their labels.
    tables = TemporaryTables(engine, tuples=people.tuples)
    of_places = {own.number: column for own, column in zip(places, columns, strict=True)}
    written = tables.keep("written", published_classes_query(release, of_places), "classes of the release")
    labels = {own.number: number_labels(engine, written, own.number, own.hierarchy.column.name) for own in places}
    numbers, joins = labels_of(labels, [sql.column(label_name(number), "written") for number in labels])
    numbered = tables.make("attacks/candidates/numbered", "classes and their labels", {"labels": numbers}, joins)
    tables.drop("written")
    covers = [make_covers(engine, labels[own.number], own, one_level=True) for own in places]
    classes, covers = number_classes(engine, people.tuples, numbered, covers)
    # 2. The tuples that can be in them.
    settled = _settled(engine, people, classes, covers)
    assumed = any(own.assumed for own in covers)
    believed = all(own.functional and own.nested for own in covers)
    if assumed and settled.contradicted:
        engine.run(sql.drop(settled.pairs), "drop the classes by labels on one level")
        settled, assumed = on_any_level(engine, people, places, classes, labels), False
    # 3. The classes that each tuple finds.
    tables.known |= {"classes": classes, "pairs": settled.pairs}
    found = tables.make("attacks/candidates/found", "what each tuple finds", {"exact": settled.exact})
    sets = tables.make("attacks/candidates/sets", "the classes that are found together")
    counts = exp.select(sql.count_rows(), sql.sum_of(sql.column(N))).from_(classes.copy())
    number, rows = engine.row(counts, "size of the release")
    return Candidates(
        **vars(settled),
        engine=engine,
        people=people,
        places=places,
        release=release,
        columns=columns,
        classes=classes,
        found=found,
        sets=sets,
        labels=labels,
        assumed=assumed,
        believed=believed,
        number=number,
        rows=rows or 0,
    )


def on_any_level(
    engine: Engine, people: OriginalRows, places: Sequence[Places], classes: exp.Table, labels: Mapping[int, exp.Table]
) -> Settled:
    """Return the tuples and the classes that they can be in, whichever level each label is on."""
    covers = [make_covers(engine, labels[own.number], own, one_level=False) for own in places]
    return _settled(engine, people, classes, _by_spread(engine, people.tuples, classes, covers))


def _settled(engine: Engine, people: OriginalRows, classes: exp.Table, covers: Sequence[Covers]) -> Settled:
    """Return the pairs of a tuple and a class that it can be in; the tables of covers are dropped."""
    settled = settle(engine, people.tuples, classes, find_pairs(engine, people.tuples, classes, covers))
    for own in covers:
        own.drop(engine)
    return settled


def number_classes(
    engine: Engine, tuples: exp.Table, numbered: exp.Table, covers: Sequence[Covers]
) -> tuple[exp.Table, list[Covers]]:
    """Number the classes by their labels, which are dropped, with a bit for each; return them and the ordered covers.

    Columns where no value has two labels come first, then the others, the narrowest first.
    """
    ordered = _by_spread(engine, tuples, numbered, covers)
    labels = [sql.column(label_name(own.number)) for own in ordered]
    tables = TemporaryTables(engine, numbered=numbered)
    classes = tables.make("attacks/candidates/classes", "classes, numbered", {"labels": labels, "order": labels})
    tables.drop("numbered")
    return classes, ordered


def _by_spread(engine: Engine, tuples: exp.Table, classes: exp.Table, covers: Sequence[Covers]) -> list[Covers]:
    return sorted(
        covers, key=lambda own: (0, 0) if own.functional else (1 + _spread(engine, tuples, classes, own), own.number)
    )


def _spread(engine: Engine, looked_up: exp.Table, numbered: exp.Table, own: Covers) -> int:
    """Return how many pairs of a tuple and a class a column allows by itself."""
    query = sql.query(
        "attacks/covers/spread",
        values={"place": sql.column(place_name(own.number)), "label": sql.column(label_name(own.number))},
        tables={**spans_of(own), "looked_up": looked_up, "worded": numbered},
    )
    (pairs,) = engine.row(query, f"how much labels of column {own.number + 1} let through")
    return int(pairs)


def find_pairs(engine: Engine, tuples: exp.Table, classes: exp.Table, covers: Sequence[Covers]) -> exp.Table:
    """Return the relation of all pairs of a tuple and a class that covers it, column by column.

    ``tuples`` are ``(tuple, place_1, ...)``; ``classes`` and ``covers`` are those of ``number_classes``.
    """
    exact, wide = [own for own in covers if own.functional], [own for own in covers if not own.functional]
    tables = TemporaryTables(engine, tuples=tuples, classes=classes)
    if not wide:
        given = _looked_up(exact, [sql.column(CLASS, "relation")])
        return tables.make("attacks/candidates/looked_up", "the class of each tuple", *given, relation=classes)
    _make_first_words(tables, exact, wide[0])
    for own in wide[1:]:
        _make_mask(tables, own, classes)
        title, place = f"classes that are left after column {own.number + 1}", place_name(own.number)
        left = tables.make("attacks/candidates/narrowed", title, {"place": sql.column(place, "tuples")})
        tables.drop("mask", "words")
        tables.known["words"] = left
    pairs = tables.make("attacks/candidates/pairs", "the classes of each tuple")
    tables.drop("words")
    return pairs


def _looked_up(exact: Sequence[Covers], wanted: Sequence[exp.Expr]) -> tuple[Values, Joins]:
    """Return the joins that look a relation up by its labels in columns where a value has one label."""
    joins, same = [], []
    for own in exact:
        alias, place, label = f"covers_{own.number + 1}", place_name(own.number), label_name(own.number)
        is_place = exp.EQ(this=sql.column(PLACE, alias), expression=sql.column(place, "tuples"))
        joins.append((sql.aliased(own.relation, alias), is_place))
        same.append(exp.EQ(this=sql.column(LABEL, alias), expression=sql.column(label, "relation")))
    return {"wanted": [*wanted], "same": sql.all_of(same)}, {"covers": joins}


def _make_first_words(tables: TemporaryTables, exact: Sequence[Covers], own: Covers) -> None:
    """Make the words of classes of each tuple, by the columns without overlaps and the first of the others.

    Classes with the same labels in the columns without overlaps are a block; a tuple finds at most one. Both are done
    at once, because all words of a block may be far more than those with a remaining bit.
    """
    names = [label_name(each.number) for each in exact]
    labels = {"labels": [sql.column(name) for name in names]}
    in_blocks = tables.make("attacks/candidates/in_blocks", "classes in blocks", labels)
    distinct = exp.select(*names, _BLOCK).distinct().from_(in_blocks.copy())
    tables.keep("relation", distinct, "blocks of classes")
    _make_mask(tables, own, in_blocks, sql.column(_BLOCK))
    wanted = [sql.named(sql.column(place_name(own.number), "tuples"), PLACE), sql.column(_BLOCK, "relation")]
    looked_up = tables.query("attacks/candidates/looked_up", *_looked_up(exact, wanted))
    query = sql.query(
        "attacks/candidates/words", tables=tables.known, relations={"looked_up": looked_up.subquery("looked_up")}
    )
    tables.keep("words", query, "classes by the columns without overlaps, and one more")
    tables.drop("in_blocks", "relation", "mask")


def _make_mask(tables: TemporaryTables, own: Covers, classes: exp.Table, block: exp.Expr | None = None) -> None:
    """Make the classes that cover each value of a column, as bits of words."""
    values: Values = {"label": sql.column(label_name(own.number)), "block": sql.literal(0) if block is None else block}
    title = f"classes that cover values of column {own.number + 1}"
    tables.make("attacks/covers/mask", title, values, **spans_of(own), worded=classes)
