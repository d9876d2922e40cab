"""Build the frequency set of a table: distinct tuples of codes and their counts, in one scan.

    kanon_frequency(key_0, [key_1, ...], n)                        members of a class are rows
    kanon_frequency(key_0, [key_1, ...], n, persons, entity)       members of a class are people

and further columns sensitive_0, ... if the privacy models are about sensitive columns: then there is a row for each
tuple and combination of sensitive values.

Each quasi-identifier has its code in a bit field of its own, so a lattice node is a mask on the keys: two
rows are in the same class of the node exactly if their masked keys are equal.

If people are counted, a person whose rows all have the same tuple is counted once, in ``persons`` of that
tuple: people with one tuple add up in every class. Only people with several tuples (they moved, or grew older)
must be distinguished. They have a row for each tuple, with a number for ``entity``.

Sensitive columns have codes too. The frequency set is first made in one scan of the table with the values, and
then from itself with their codes. So the search groups by small numbers, and no sensitive value stays in it.
NULL is a value like any other.

    kanon_sensitive(original, value, share, values)      value is the code
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.check import missing_messages
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.hierarchy.lookup_relation import WORD_BITS, CodeWord, code_name
from kanon_sql.models.base import ENTITY, PERSONS, N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy

TUPLES = "tuples"
"""Alias of a frequency set in joins."""
_WEIGHT = "weight"


@dataclass(frozen=True)
class Placement:
    """Position of a word of a column's codes in the keys of the frequency set."""

    column: int
    number: int  # among the words of the column's codes
    word: CodeWord
    key: int
    shift: int  # its position in the key, in bits

    def mask(self, level: int) -> int:
        """Return the bits of the key that remain of this column at a level."""
        return self.word.mask(level) << self.shift


@dataclass(frozen=True)
class FrequencySet:
    """The frequency set of a table, at the bottom of the lattice or rolled up to a node."""

    engine: Engine
    relation: exp.Table
    placements: tuple[Placement, ...]  # positions of the codes of the columns
    keys: int
    rows: int
    tuples: int  # rows of the frequency set
    counts_people: bool  # whether members of a class are people
    sensitive: tuple[SensitiveColumn, ...] = ()

    @property
    def counted(self) -> list[str]:
        people = [PERSONS, ENTITY] if self.counts_people else []
        return [N, *people, *(column.code for column in self.sensitive)]

    @property
    def has_people_once(self) -> bool:
        """True if the frequency set of a node has each person in a class once: it has no sensitive values."""
        return self.counts_people and not self.sensitive

    def masks(self, node: Node) -> tuple[int, ...]:
        """Return the mask of each key that generalizes to a node."""
        masks = [0] * self.keys
        for placement in self.placements:
            masks[placement.key] |= placement.mask(node[placement.column])
        return tuple(masks)


def key_name(key: int) -> str:
    return f"key_{key}"


def mask_name(key: int) -> str:
    """Return the name of a mask of a key: as a column, or as a placeholder."""
    return f"mask_{key}"


def place_codes(hierarchies: Sequence[Hierarchy]) -> tuple[Placement, ...]:
    """Return the position of each word of codes: in the first key that has room for it."""
    used: list[int] = []
    placements = []
    for column, hierarchy in enumerate(hierarchies):
        for number, word in enumerate(hierarchy.words):
            key = next((key for key, bits in enumerate(used) if bits + word.bits <= WORD_BITS), len(used))
            if key == len(used):
                used.append(0)
            placements.append(Placement(column, number, word, key, used[key]))
            used[key] += word.bits
    return tuple(placements)


def frequency_query(
    source: exp.Table,
    hierarchies: Sequence[Hierarchy],
    placements: Sequence[Placement],
    entity: Column | None,
    sensitive: Sequence[Column] = (),
    weight: exp.Column | None = None,
) -> exp.Query:
    """Return the query that makes the frequency set: all joins to hierarchies, one scan, one grouping.

    Sensitive columns have their values in it. The rows of the source may be tuples, with their number in ``weight``.
    """
    keyed = _keys(placements, lambda own: sql.column(code_name(own.number), _alias(own.column)))
    coded = [sql.named(key, key_name(number)) for number, key in enumerate(keyed)]
    coded += [sql.named(sql.column(own.name, "source"), code_column(number)) for number, own in enumerate(sensitive)]
    keys = [sql.column(key.alias) for key in coded]
    if weight is not None:
        coded.append(sql.named(sql.column(weight.name, "source"), _WEIGHT))
    if entity is not None:
        coded.append(sql.named(sql.column(entity.name, "source"), ENTITY))
    lookups = [
        (sql.aliased(own.relation, alias), sql.same(sql.column(own.column.name, "source"), sql.column(VALUE, alias)))
        for own, alias in ((own, _alias(number)) for number, own in enumerate(hierarchies))
    ]
    rows = sql.count_rows() if weight is None else sql.sum_of(sql.column(_WEIGHT))
    return sql.query(
        "classes/frequency" if entity is None else "classes/frequency_of_people",
        values={"coded": coded, "keys": keys, "rows": rows},
        relations={"source": sql.aliased(source, "source")},
        joins={"hierarchy": lookups},
    )


def build_frequency(
    engine: Engine,
    source: exp.Table,
    hierarchies: Sequence[Hierarchy],
    entity: Column | None,
    sensitive: Sequence[Column] = (),
    *,
    weight: exp.Column | None = None,
) -> FrequencySet:
    """Return the frequency set of a table.

    ``entity``: the column that identifies the person, if people are counted; ``weight``: the column with the number of
    rows that a row of the table stands for; None if each is one.
    """
    placements = place_codes(hierarchies)
    keys = max(placement.key for placement in placements) + 1
    relation = engine.temporary_name("kanon_frequency")
    query = frequency_query(source, hierarchies, placements, entity, sensitive, weight)
    coded: tuple[SensitiveColumn, ...] = ()
    if sensitive:
        staged = engine.temporary_name("kanon_staged")
        engine.run(sql.create_table(staged, query, temporary=True), "frequency set with sensitive values")
        others = [*map(key_name, range(keys)), N, *([PERSONS, ENTITY] if entity is not None else [])]
        coded = code_sensitive(engine, staged, relation, list(sensitive), others, N)
    else:
        engine.run(sql.create_table(relation, query, temporary=True), "frequency set of the quasi-identifiers")
    return _counted(
        engine,
        relation,
        placements,
        lambda: missing_messages(engine, source, hierarchies),
        counts_people=entity is not None,
        sensitive=coded,
    )


def frequency_of_coded(
    engine: Engine,
    coded: exp.Table,
    codes: Sequence[Sequence[str]],
    hierarchies: Sequence[Hierarchy],
    entity: str | None,
    missing: Callable[[], str],
) -> FrequencySet:
    """Return the frequency set of rows that have codes already.

    ``codes``: for each quasi-identifier, the columns that have the words of its codes; ``entity``: the column that has
    the number of the person, if people are counted. Nearly all of them have several tuples, and none is NULL;
    ``missing``: returns the message for values without a code.
    """
    placements = place_codes(hierarchies)
    relation = engine.temporary_name("kanon_frequency")
    keys = _keys(placements, lambda placement: sql.column(codes[placement.column][placement.number]))
    named = [sql.named(key, key_name(number)) for number, key in enumerate(keys)]
    person = [] if entity is None else [sql.column(entity)]
    nobody_else = sql.named(sql.cast(sql.literal(0), "BIGINT"), PERSONS)
    query = sql.query(
        "classes/frequency_of_coded",
        values={
            "keys": named,
            "people": [] if entity is None else [nobody_else, sql.named(sql.column(entity), ENTITY)],
            "grouped": [*(key.copy() for key in keys), *person],
            "sorted": [] if entity is None else [sql.column(key.alias) for key in named],
        },
        relations={"coded_rows": coded},
    )
    engine.run(sql.create_table(relation, query, temporary=True), "frequency set of the quasi-identifiers")
    return _counted(engine, relation, placements, missing, counts_people=entity is not None)


def _counted(
    engine: Engine,
    relation: exp.Table,
    placements: tuple[Placement, ...],
    missing: Callable[[], str],
    *,
    counts_people: bool,
    sensitive: tuple[SensitiveColumn, ...] = (),
) -> FrequencySet:
    keys = max(placement.key for placement in placements) + 1
    any_null = exp.or_(*(sql.column(key_name(key)).is_(exp.null()) for key in range(keys)))
    rows, tuples, without_code = engine.row(
        exp.select(
            sql.named(exp.Coalesce(this=exp.Sum(this=sql.column(N)), expressions=[sql.literal(0)]), "rows_in_table"),
            sql.named(sql.count_rows(), "tuples"),
            sql.named(sql.where(sql.count_rows(), any_null), "tuples_without_code"),
        ).from_(relation.copy()),
        "size of the frequency set",
    )
    if without_code:
        raise HierarchyError(missing())
    return FrequencySet(engine, relation, placements, keys, int(rows), tuples, counts_people, sensitive)


def roll_up_query(
    frequency: FrequencySet,
    relation: exp.Table,
    node: Node,
    counts: Sequence[exp.Expr] | None = None,
    *,
    people_together: bool = False,
) -> exp.Select:
    """Return the frequency set of a node, made from that of a node below it (Incognito's roll-up).

    ``relation``: the frequency set to start from; ``counts``: aggregates that replace the sensitive values;
    ``people_together``: whether all people of a class are counted in ``persons``. Then the result cannot be rolled up
    further.
    """
    masked = [
        sql.named(exp.BitwiseAnd(this=sql.column(key_name(key)), expression=sql.literal(mask)), key_name(key))
        for key, mask in enumerate(frequency.masks(node))
    ]
    codes = [] if counts is not None else [sql.column(own.code) for own in frequency.sensitive]
    person: list[exp.Expr] = [sql.column(ENTITY)] if frequency.counts_people else []
    persons: list[exp.Expr] = [sql.named(sql.sum_of(sql.column(PERSONS)), PERSONS)] if frequency.counts_people else []
    if people_together:
        everybody = exp.Add(this=sql.sum_of(sql.column(PERSONS)), expression=sql.count_distinct(person.pop()))
        persons = [sql.named(everybody, PERSONS), sql.named(sql.cast(exp.null(), "BIGINT"), ENTITY)]
    return sql.select(
        "classes/roll_up",
        values={"masked": masked, "counts": [*persons, *person, *(counts or ()), *codes], "values": [*person, *codes]},
        relations={"kanon_frequency": relation if counts is None else sql.aliased(relation, TUPLES)},
    )


def _alias(column: int) -> str:
    return f"lookup_{column + 1}"


def _keys(placements: Sequence[Placement], code_of: Callable[[Placement], exp.Expr]) -> list[exp.Expr]:
    """Return the keys: the codes of the columns side by side. A value without a code makes its key NULL."""
    parts: dict[int, list[exp.Expr]] = {}
    for placement in placements:
        parts.setdefault(placement.key, []).append(sql.shifted_left(code_of(placement), placement.shift))
    return [sql.combined(parts[key]) for key in sorted(parts)]


@dataclass(frozen=True)
class SensitiveColumn:
    column: Column
    code: str  # the column of the frequency set that holds the codes of its values
    shares: exp.Table  # its values
    values: int
    spellings: int  # number of values after case and surrounding spaces are ignored
    # for each distance of a model, the features that it compares
    features: dict[str, exp.Table] = field(default_factory=dict, repr=False)


def code_column(number: int) -> str:
    return f"sensitive_{number}"


def shares_query(table: exp.Table | exp.Subquery, value: exp.Expr, rows: exp.Expr) -> exp.Select:
    """Return the values of a column with their shares. ``rows`` is an aggregate, the rows of a value."""
    return sql.select("classes/shares", values={"value": value, "rows": rows}, relations={"whole_table": table})


def code_sensitive(
    engine: Engine, staged: exp.Table, relation: exp.Table, columns: list[Column], others: list[str], n: str
) -> tuple[SensitiveColumn, ...]:
    """Make the frequency set from one that still has sensitive values, with their codes instead.

    ``staged``: the frequency set with values, each under the name of its ``code_column``; ``relation``: the table to
    make; ``columns``: the sensitive columns; ``n``: the column with the rows of a tuple, one of ``others``.

    Returns:
        The coding of each column.
    """
    found, lookups = [], []
    for number, column in enumerate(columns):
        code, alias = code_column(number), f"shares_{number + 1}"
        shares = engine.temporary_name(f"kanon_sensitive_{column.name}")
        coded = sql.query(
            "classes/codes_of_values", values={"value": sql.column(code)}, relations={"staged": staged}, names={"n": n}
        )
        engine.run(sql.create_table(shares, coded, temporary=True), f"values of the sensitive column {column.name}")
        spelled: exp.Expr = sql.column("original")
        if column.family == "text":
            spelled = exp.Lower(this=exp.Trim(this=spelled))
        counts = sql.query("classes/spellings", values={"spelled": spelled}, relations={"shares": shares})
        values, spellings = engine.row(counts, f"how many values {column.name} has")
        same = sql.same(sql.column(code, "staged"), sql.column("original", alias))
        lookups.append((sql.aliased(shares, alias), same))
        found.append(SensitiveColumn(column, code, shares, int(values), int(spellings)))
    query = sql.query(
        "classes/sensitive_coded",
        values={
            "others": [sql.column(name, "staged") for name in others],
            "codes": [
                sql.named(sql.column("value", on.alias), own.code) for (on, _), own in zip(lookups, found, strict=True)
            ],
        },
        tables={"staged": staged},
        joins={"shares": lookups},
    )
    engine.run(sql.create_table(relation, query, temporary=True), "frequency set with codes of the sensitive values")
    engine.run(sql.drop(staged), "drop the frequency set with values")
    return tuple(found)
