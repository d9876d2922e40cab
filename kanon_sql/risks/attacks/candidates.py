"""What an attacker knows, and the classes of a release where she can look: the candidates of each person.

What the attacker knows: the quasi-identifier values of every row of the original. Tuples are what is looked up, for
rows that are alike find the same classes.

    kanon_original(column_1, column_2, ...)             the columns that are needed, in the order of the original
    kanon_people(position, tuple)                       each row: where it stands in the original, and its tuple
    kanon_tuples(tuple, place_1, ..., n)                each different tuple, and how many rows have it

Where she looks: a person can be in the classes whose every label covers her values, and that have room for her.

    kanon_classes(class, label_1, ..., n)               classes of the release; label i is its number (see ``covers``)
    kanon_candidates(tuple, class)                      the classes that each tuple of the original finds
    kanon_found(tuple, n, classes, size, fewest, found) how many these are, and how many rows they have together
    kanon_found_classes(found, class)                   the same, once for all tuples that find the same single class

Tuples are matched with classes, not rows with rows. In a column where no value has two labels, to look a value up is an
equality join; of a full-domain release that is all. Where labels overlap, a bit stands for each class: 62 of them in a
word, classes with like labels side by side. A value has a word of those classes whose label in its column covers it:
the sum of the bits of spans that have begun before it and have not ended. A tuple's candidates are what its values'
words have in common, column after column, and words without a bit are left out at once. So the work is bounded by
tuples times words at the first overlapping column (the one whose labels cover the least), and by the candidates that
come out: tuples times classes where every class covers everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.measures.labels import LABEL, NUMBER, place_name
from kanon_sql.measures.released_labels import PLACE, Covers, label_name, make_covers, number_labels, spans_of
from kanon_sql.measures.sets_and_ranges import text_of
from kanon_sql.models.base import N
from kanon_sql.risks.attacks.settled import Settled, settle
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.measures.labels import Places


TUPLE = "tuple"
POSITION = "position"
_ROWID = "rowid"


@dataclass(frozen=True)
class OriginalRows:
    """What the attacker knows: ``kanon_original`` (``copy``), ``kanon_people``, ``kanon_tuples``.

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
    """Return the place of a row in a copy: the engine numbers rows as they came in."""
    return exp.column(_ROWID, table=table)


def copy_of(engine: Engine, relation: exp.Table, columns: Sequence[exp.Expr], wanted: str, title: str) -> exp.Table:
    """Return a temporary table with columns of a relation under names of our own, its rows in the same order."""
    named = [sql.named(column, copied_name(number)) for number, column in enumerate(columns)]
    return make_table(engine, wanted, exp.select(*named).from_(relation.copy()), title)


def make_people(engine: Engine, source: exp.Table, columns: Sequence[Column], places: Sequence[Places]) -> OriginalRows:
    values = [sql.column(column.name) for column in columns]
    copy = copy_of(engine, source, values, "kanon_original", "the original, in its order")
    # 1. Each value as its place.
    query = exp.select(sql.named(position("source"), POSITION)).from_(sql.aliased(copy, "source"))
    for own in places:
        alias, number = f"lookup_{own.number + 1}", columns.index(own.hierarchy.column)
        same = sql.same(sql.column(copied_name(number), "source"), sql.column(VALUE, alias))
        query = query.select(sql.named(sql.column("place", alias), own.place), copy=False)
        query = query.join(sql.aliased(own.relation, alias), on=same, copy=False)
    placed = make_table(engine, "kanon_placed", query, "places of the values of each row")
    # 2. Different tuples.
    names = [own.place for own in places]
    distinct = exp.select(*names, sql.named(sql.count_rows(), N)).from_(placed.copy()).group_by(*names)
    numbered = exp.select(sql.named(exp.Window(this=exp.RowNumber()), TUPLE), *names, N)
    query = numbered.from_(distinct.subquery("distinct_tuples"))
    tuples = make_table(engine, "kanon_tuples", query, "tuples of quasi-identifiers")
    # 3. Which row has which.
    same = sql.all_of(exp.EQ(this=sql.column(name, "tuples"), expression=sql.column(name, "placed")) for name in names)
    query = exp.select(sql.column(POSITION, "placed"), sql.column(TUPLE, "tuples"))
    query = query.from_(sql.aliased(placed, "placed")).join(sql.aliased(tuples, "tuples"), on=same)
    people = make_table(engine, "kanon_people", query, "the tuple of each row")
    engine.run(sql.drop(placed), "drop places of the values of each row")
    return OriginalRows(copy, tuple(columns), people, tuples)


CLASS = "class"
FOUND = "found"
SIZE = "size"
FEWEST = "fewest"
CLASSES = "classes"
_WORD, _BIT, _BITS, _BLOCK = "word", "bit", "bits", "block"
_BITS_IN_WORD = 62


@dataclass(frozen=True)
class Candidates:
    """The classes that people can be in.

    Attributes:
        pairs, found, sets: the tables ``kanon_candidates``, ``kanon_found``, ``kanon_found_classes``.
        labels: for each quasi-identifier, by its number, the numbers of its labels.
        full_domain: whether no person finds two classes.
        exact: whether every person can be in each class that they find. Else some may still be ruled out, and
            ``fewest`` in ``found`` is smaller than ``size``: the rows of the smallest class alone.
        assumed: whether labels were read on one level that could be on others too.
        believed: whether that is so only for labels that are nested (see ``covers``), in a release where no value has
            two labels.
        contradicted: whether the rows of the release cannot all be rows of this original, as far as that was seen.
    """

    classes: exp.Table
    pairs: exp.Table
    found: exp.Table
    sets: exp.Table
    labels: dict[int, exp.Table]
    full_domain: bool
    exact: bool
    assumed: bool
    believed: bool
    contradicted: bool
    number: int
    rows: int


def find_candidates(
    engine: Engine, people: OriginalRows, places: Sequence[Places], release: exp.Table, columns: Sequence[Column]
) -> Candidates:
    """Return the classes that people can be in.

    Labels are read on one level where all of a column can be (see ``covers``); on any level if the release has more
    rows in its classes then than this original has for them.
    """
    # 1. Classes, with numbers for their labels.
    query = _written_query(release, columns, places)
    written = make_table(engine, "kanon_published", query, "classes of the release")
    labels = {own.number: number_labels(engine, written, own.number, own.hierarchy.column.name) for own in places}
    numbered = make_table(engine, "kanon_numbered", _numbered_query(written, labels), "classes and their labels")
    engine.run(sql.drop(written), "drop the classes as they are written")
    covers = [make_covers(engine, labels[own.number], own, one_level=True) for own in places]
    query = numbered_classes(numbered, list(labels), by_spread(engine, people.tuples, numbered, covers))
    classes = make_table(engine, "kanon_classes", query, "classes of the release, numbered")
    engine.run(sql.drop(numbered), "drop the classes and their labels")
    # 2. Who can be in them.
    settled = _settled(engine, people, classes, covers)
    assumed = any(own.assumed for own in covers)
    believed = all(own.functional and own.nested for own in covers)
    if assumed and settled.contradicted:
        engine.run(sql.drop(settled.pairs), "drop the classes by labels on one level")
        settled, assumed = on_any_level(engine, people, places, classes, labels), False
    # 3. What each tuple finds.
    query = _found_query(people, settled.pairs, classes, exact=settled.exact)
    found = make_table(engine, "kanon_found", query, "what each tuple finds")
    same = sql.column(TUPLE, "pairs").eq(sql.column(TUPLE, "found"))
    query = exp.select(sql.column(FOUND, "found"), sql.column(CLASS, "pairs")).distinct()
    query = query.from_(sql.aliased(found, "found")).join(sql.aliased(settled.pairs, "pairs"), on=same)
    sets = make_table(engine, "kanon_found_classes", query, "the classes that are found together")
    counts = exp.select(sql.count_rows(), sql.sum_of(sql.column(N))).from_(classes.copy())
    number, rows = engine.row(counts, "size of the release")
    return Candidates(
        classes,
        settled.pairs,
        found,
        sets,
        labels,
        settled.certain,
        settled.exact,
        assumed,
        believed,
        settled.contradicted,
        number,
        rows or 0,
    )


def on_any_level(
    engine: Engine, people: OriginalRows, places: Sequence[Places], classes: exp.Table, labels: Mapping[int, exp.Table]
) -> Settled:
    """Return the tuples and the classes that they can be in, whichever level each label is on."""
    covers = [make_covers(engine, labels[own.number], own, one_level=False) for own in places]
    return _settled(engine, people, classes, covers)


def _settled(engine: Engine, people: OriginalRows, classes: exp.Table, covers: Sequence[Covers]) -> Settled:
    """Return the pairs of a tuple and a class that it can be in; what labels cover is dropped."""
    covered = find_pairs(engine, people.tuples, classes, by_spread(engine, people.tuples, classes, covers))
    settled = settle(engine, people.tuples, classes, covered)
    for own in covers:
        own.drop(engine)
    return settled


def by_spread(engine: Engine, tuples: exp.Table, classes: exp.Table, covers: Sequence[Covers]) -> list[Covers]:
    """Return the columns where no value has two labels, and then the others, the narrowest first."""
    return sorted(
        covers, key=lambda own: (0, 0) if own.functional else (1 + _spread(engine, tuples, classes, own), own.number)
    )


def _written_query(release: exp.Table, columns: Sequence[Column], places: Sequence[Places]) -> exp.Select:
    """Return the query of the classes of a release: labels as text, named by the numbers of their columns, and rows."""
    labels = [text_of(sql.column(column.name), column) for column in columns]
    named = [sql.named(label, label_name(own.number)) for label, own in zip(labels, places, strict=True)]
    query = exp.select(*named, sql.named(sql.count_rows(), N)).from_(release.copy())
    return query.group_by(*(label.copy() for label in labels))


def _numbered_query(written: exp.Table, labels: Mapping[int, exp.Table]) -> exp.Select:
    """Return the query of the classes with numbers for labels."""
    numbered = exp.select(sql.column(N, "written")).from_(sql.aliased(written, "written"))
    for number, own in labels.items():
        name, alias = label_name(number), f"labels_{number + 1}"
        numbered = numbered.select(sql.named(sql.column(NUMBER, alias), name), copy=False).join(
            sql.aliased(own, alias), on=sql.same(sql.column(LABEL, alias), sql.column(name, "written")), copy=False
        )
    return numbered


def _spread(engine: Engine, looked_up: exp.Table, numbered: exp.Table, own: Covers) -> int:
    """Return how many pairs of a tuple and a class a column lets through by itself."""
    query = sql.query(
        "attacks/covers/spread",
        values={"place": sql.column(place_name(own.number)), "label": sql.column(label_name(own.number))},
        tables={**spans_of(own), "looked_up": looked_up, "worded": numbered},
    )
    (pairs,) = engine.row(query, f"how much labels of column {own.number + 1} let through")
    return int(pairs)


def numbered_classes(numbered: exp.Table, numbers: Sequence[int], order: Sequence[Covers]) -> exp.Select:
    """Return the query of the classes with a bit in a word for each, like ones side by side."""
    names = [label_name(number) for number in numbers]
    by = exp.Order(expressions=[exp.Ordered(this=sql.column(label_name(own.number))) for own in order])
    number = exp.Sub(this=exp.Window(this=exp.RowNumber(), order=by), expression=sql.literal(1))
    counted = exp.select(sql.named(number, CLASS), *names, N).from_(numbered.copy())
    quotient = exp.Div(this=sql.column(CLASS), expression=sql.literal(float(_BITS_IN_WORD)))
    word = sql.cast(exp.Floor(this=quotient), "BIGINT")
    before = exp.Mul(this=sql.column(_WORD), expression=sql.literal(_BITS_IN_WORD))
    place = exp.Sub(this=sql.column(CLASS), expression=before)
    bit = exp.BitwiseLeftShift(this=sql.cast(sql.literal(1), "BIGINT"), expression=exp.Paren(this=place))
    worded = exp.select(CLASS, *names, N, sql.named(word, _WORD)).from_(counted.subquery("counted"))
    return exp.select("*", sql.named(bit, _BIT)).from_(worded.subquery("worded"))


def find_pairs(engine: Engine, tuples: exp.Table, classes: exp.Table, covers: Sequence[Covers]) -> exp.Table:
    """Return the relation of all pairs of a tuple and a class that covers it, column by column (``by_spread``).

    ``tuples`` are ``(tuple, place_1, ...)``; ``classes`` are those of ``numbered_classes``.
    """
    exact = [own for own in covers if own.functional]
    wide = [own for own in covers if not own.functional]
    if not wide:
        query = _looked_up(tuples, exact, [CLASS], classes)
        return make_table(engine, "kanon_candidates", query, "the class of each tuple")
    words = _first_words(engine, tuples, classes, exact, wide[0])
    for own in wide[1:]:
        words = _narrowed(engine, tuples, classes, own, words)
    pairs = make_table(engine, "kanon_candidates", _pairs_query(words, classes), "the classes of each tuple")
    engine.run(sql.drop(words), "drop the words of classes")
    return pairs


def _looked_up(tuples: exp.Table, exact: Sequence[Covers], wanted: Sequence[str], relation: exp.Table) -> exp.Select:
    """Return the query of tuples and what a relation has for their labels, in columns where a value has one label."""
    query = exp.select(sql.column(TUPLE, "tuples"), *(sql.column(name, "relation") for name in wanted))
    query = query.from_(sql.aliased(tuples, "tuples"), copy=False)
    same = []
    for own in exact:
        alias, name = f"covers_{own.number + 1}", label_name(own.number)
        here = exp.EQ(this=sql.column(PLACE, alias), expression=sql.column(place_name(own.number), "tuples"))
        query = query.join(sql.aliased(own.relation, alias), on=here, copy=False)
        same.append(exp.EQ(this=sql.column(LABEL, alias), expression=sql.column(name, "relation")))
    return query.join(sql.aliased(relation, "relation"), on=sql.all_of(same))


def _first_words(
    engine: Engine, tuples: exp.Table, classes: exp.Table, exact: Sequence[Covers], own: Covers
) -> exp.Table:
    """Return the words of classes of each tuple, by the columns without overlaps and the first of the others.

    Classes with the same labels in the columns without overlaps are a block, of which a tuple finds one at most. Both
    at once, for all words of a block may be many times those that have a bit left.
    """
    query = exp.select(sql.column(TUPLE, "tuples"), sql.column(_WORD, "mask"), sql.column(_BITS, "mask"))
    query = query.from_(sql.aliased(tuples, "tuples"), copy=False)
    same = exp.EQ(this=sql.column(PLACE, "mask"), expression=sql.column(place_name(own.number), "tuples"))
    if not exact:
        mask = _mask(engine, classes, own)
        query = query.join(sql.aliased(mask, "mask"), on=same, copy=False)
        words = make_table(engine, "kanon_words", query, f"classes by column {own.number + 1}")
    else:
        names = [label_name(each.number) for each in exact]
        numbered = exp.select(*names, sql.named(exp.Window(this=exp.RowNumber()), _BLOCK)).from_(classes.copy())
        blocks = make_table(engine, "kanon_blocks", numbered.group_by(*names), "blocks of classes")
        alike = [exp.EQ(this=sql.column(name, "blocks"), expression=sql.column(name, "classes")) for name in names]
        in_blocks = exp.select("classes.*", sql.column(_BLOCK, "blocks")).from_(sql.aliased(classes, "classes"))
        in_blocks = in_blocks.join(sql.aliased(blocks, "blocks"), on=sql.all_of(alike))
        mask = _mask(engine, in_blocks.subquery("worded"), own, sql.column(_BLOCK))
        looked_up = _looked_up(tuples, exact, [_BLOCK], blocks).subquery("looked_up")
        same_tuple = exp.EQ(this=sql.column(TUPLE, "looked_up"), expression=sql.column(TUPLE, "tuples"))
        same_block = exp.EQ(this=sql.column(_BLOCK, "mask"), expression=sql.column(_BLOCK, "looked_up"))
        query = query.join(looked_up, on=same_tuple, copy=False)
        query = query.join(sql.aliased(mask, "mask"), on=exp.and_(same, same_block), copy=False)
        words = make_table(engine, "kanon_words", query, "classes by the columns without overlaps, and one more")
        engine.run(sql.drop(blocks), "drop blocks of classes")
    engine.run(sql.drop(mask), "drop the classes that cover values")
    return words


def _mask(engine: Engine, classes: exp.Expr, own: Covers, block: exp.Expr | None = None) -> exp.Table:
    """Return the classes that cover each value of a column, as bits of words."""
    query = sql.query(
        "attacks/covers/mask",
        values={"label": sql.column(label_name(own.number)), "block": sql.literal(0) if block is None else block},
        tables=spans_of(own),
        relations={"worded": classes},
    )
    return make_table(engine, "kanon_mask", query, f"classes that cover values of column {own.number + 1}")


def _narrowed(engine: Engine, tuples: exp.Table, classes: exp.Table, own: Covers, words: exp.Table) -> exp.Table:
    """Return the words of classes of each tuple that are left after one more column; the words before are dropped."""
    mask = _mask(engine, classes, own)
    same_tuple = exp.EQ(this=sql.column(TUPLE, "tuples"), expression=sql.column(TUPLE, "words"))
    same_place = exp.EQ(this=sql.column(PLACE, "mask"), expression=sql.column(place_name(own.number), "tuples"))
    same_word = exp.EQ(this=sql.column(_WORD, "mask"), expression=sql.column(_WORD, "words"))
    bits = exp.Paren(this=exp.BitwiseAnd(this=sql.column(_BITS, "words"), expression=sql.column(_BITS, "mask")))
    query = exp.select(sql.column(TUPLE, "tuples"), sql.column(_WORD, "mask"), sql.named(bits, _BITS))
    query = query.from_(sql.aliased(words, "words"), copy=False)
    query = query.join(sql.aliased(tuples, "tuples"), on=same_tuple, copy=False)
    query = query.join(sql.aliased(mask, "mask"), on=exp.and_(same_place, same_word), copy=False)
    query = query.where(exp.NEQ(this=bits.copy(), expression=sql.literal(0)))
    left = make_table(engine, "kanon_words", query, f"classes that are left after column {own.number + 1}")
    for table in (mask, words):
        engine.run(sql.drop(table), "drop the words before")
    return left


def _pairs_query(words: exp.Table, classes: exp.Table) -> exp.Select:
    common = exp.Paren(this=exp.BitwiseAnd(this=sql.column(_BITS, "words"), expression=sql.column(_BIT, "classes")))
    same_word = exp.EQ(this=sql.column(_WORD, "words"), expression=sql.column(_WORD, "classes"))
    has_bit = exp.NEQ(this=common, expression=sql.literal(0))
    query = exp.select(sql.column(TUPLE, "words"), sql.column(CLASS, "classes")).from_(sql.aliased(words, "words"))
    return query.join(sql.aliased(classes, "classes"), on=exp.and_(same_word, has_bit))


def _found_query(people: OriginalRows, pairs: exp.Table, classes: exp.Table, *, exact: bool) -> exp.Select:
    """Return the query of what each tuple finds: a single class by its own number, several by that of the tuple."""
    counted = exp.Count(this=sql.column(CLASS, "pairs"))
    one, none = (exp.EQ(this=counted.copy(), expression=sql.literal(number)) for number in (1, 0))
    several = exp.Neg(this=sql.column(TUPLE, "tuples"))
    found = exp.Case().when(none, exp.null()).when(one, exp.Min(this=sql.column(CLASS, "pairs"))).else_(several)
    size = exp.Coalesce(this=sql.sum_of(sql.column(N, "classes")), expressions=[sql.literal(0)])
    smallest = exp.Coalesce(this=exp.Min(this=sql.column(N, "classes")), expressions=[sql.literal(0)])
    query = exp.select(
        sql.column(TUPLE, "tuples"),
        sql.column(N, "tuples"),
        sql.named(counted, CLASSES),
        sql.named(size, SIZE),
        sql.named(size.copy() if exact else smallest, FEWEST),
        sql.named(found, FOUND),
    ).from_(sql.aliased(people.tuples, "tuples"))
    for alias, relation, key, other in (("pairs", pairs, TUPLE, "tuples"), ("classes", classes, CLASS, "pairs")):
        same = exp.EQ(this=sql.column(key, alias), expression=sql.column(key, other))
        query = query.join(sql.aliased(relation, alias), on=same, join_type="left", copy=False)
    return query.group_by(sql.column(TUPLE, "tuples"), sql.column(N, "tuples"))
