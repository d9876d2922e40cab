"""Count rows of sensitive values side by side: one GROUP BY shows how they are spread over a class.

Without this, classes are made twice: once for each class and value, and then, with ranks, shares or features
joined to them, for each class. Here a tuple adds its rows to a number that has a field of bits for each count::

    pack_0 = SUM(n << (bits * place of the count))

No field overflows into the next: it has room for all rows of the table. The counts are of values, or of the
*features* by which a distance compares them (``kanon_sql.models.t_closeness``): a tuple adds to each feature of its
value.

    kanon_counts(pack, shift, share, values)       position of each count, and the share to compare with it
    kanon_adding(value, pack_0, [pack_1, ...])     what a row of a value adds to each number

This needs numbers of 128 bits, which not every engine adds fast, and a column with few different values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import TUPLES
from kanon_sql.models.base import N, RowModel
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import capabilities_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.engine.base import Engine
    from kanon_sql.models.base import PrivacyModel

_BITS = 126  # of a signed number of 128 bits
_SEVERAL = 50_000  # tuples from which counting takes longer than planning
_MOST = 16  # numbers: each is added up for every tuple


@dataclass(frozen=True)
class ComparedValues:
    """The values of a column, or the features of its values, that some models compare in a class."""

    counts: exp.Table  # for each count, its position and its share of the table
    adding: exp.Table  # what a row of each value adds to each number
    code: str  # the column of the frequency set that has the codes of the values
    packs: tuple[int, int]  # the first of the numbers that hold the counts, and the one after the last
    values: int
    by_features: bool  # whether features are counted, not single values
    total: float
    scale: float  # divisor of a sum of differences of features

    @property
    def names(self) -> list[str]:
        return [_pack_name(number) for number in range(*self.packs)]

    def rows(self, width: int) -> exp.Expr:
        """Return the rows of a class in one count, from the numbers of the class and the position of the count."""
        pack = exp.Case(this=sql.column("pack"))
        for number in range(*self.packs):
            pack = pack.when(sql.literal(number), sql.column(_pack_name(number)))
        whole = pack if len(self.names) > 1 else sql.column(self.names[0])
        shifted = exp.Paren(this=exp.BitwiseRightShift(this=whole, expression=sql.column("shift")))
        return sql.cast(exp.BitwiseAnd(this=shifted, expression=sql.literal((1 << width) - 1)), "BIGINT")


@dataclass(frozen=True)
class Packing:
    """The counts that are stored side by side."""

    width: int
    compared: dict[str, ComparedValues]  # by the relation of the values' shares or features

    @property
    def names(self) -> list[str]:
        """The numbers that hold all counts."""
        return [name for compared in self.compared.values() for name in compared.names]

    def of(self, model: SensitiveModel) -> ComparedValues:
        """Return the values that a model compares."""
        return self.compared[_relation(model).name]

    def drop(self, engine: Engine) -> None:
        """Drop the relations of the positions. Packed counts cannot be used any more."""
        for compared in self.compared.values():
            for relation in (compared.counts, compared.adding):
                engine.run(sql.drop(relation), "drop where counts stand")

    def joined(self, tuples: exp.Select) -> exp.Select:
        """Return a query of tuples of the frequency set (``TUPLES``) joined to the amounts that a row of each adds."""
        for number, compared in enumerate(self.compared.values()):
            adding = f"adding_{number}"
            same = exp.EQ(this=sql.column(compared.code, TUPLES), expression=sql.column("value", adding))
            tuples = tuples.join(sql.aliased(compared.adding, adding), on=same)
        return tuples

    def added(self) -> list[exp.Expr]:
        """Return the amount that a tuple adds to each number, under its name: its rows, in the fields of its value."""
        return [sql.named(_added(name), name) for name in self.names]

    def gathered(self) -> list[exp.Expr]:
        """Return the sums of the amounts of tuples, each number under its name."""
        return [_total(_added(name), name) for name in self.names]

    def summed(self) -> list[exp.Expr]:
        """Return the sums of the numbers of tuples, or of classes, under the same names."""
        return [_total(sql.column(name), name) for name in self.names]


def pack(frequency: FrequencySet, models: Sequence[PrivacyModel]) -> Packing | None:
    """Return the packing of the values of models, or None if counting them one by one is better."""
    about = [model for model in models if isinstance(model, SensitiveModel)]
    # People do not add up over tuples, and a population is joined class by class.
    plain = not frequency.counts_people and all(isinstance(model, SensitiveModel | RowModel) for model in models)
    ranked = any(model.ranks_values for model in about)
    if ranked or not (about and plain and frequency.rows and capabilities_of(frequency.engine.dialect).adds_wide):
        return None
    width = frequency.rows.bit_length()
    in_each = _BITS // width
    found: dict[str, tuple[SensitiveModel, tuple[int, int], tuple[float, float]]] = {}
    packs = 0
    for model in about:
        if _relation(model).name in found:
            continue
        count, total, scale = _features(frequency.engine, model)
        first, packs = packs, packs - (-count // in_each)
        if packs > _MOST:
            return None
        found[_relation(model).name] = model, (first, packs), (total, scale)
    return Packing(width, {name: _compared(frequency.engine, *own, width) for name, own in found.items()})


def pays(models: Sequence[PrivacyModel], tuples: int) -> bool:
    """Return True if packed counts test one node faster, although the statement takes longer to plan.

    They do if the values of a class must be ranked or joined to shares, or if there are so many tuples that planning
    does not matter. For several nodes in one statement they always do.
    """
    compares = any(isinstance(model, SensitiveModel) and model.compares_shares for model in models)
    return compares or tuples >= _SEVERAL


def _compared(
    engine: Engine, model: SensitiveModel, packs: tuple[int, int], sums: tuple[float, float], width: int
) -> ComparedValues:
    """Return the compared values of a model, after creating their relations."""
    facts = model.coding
    by_features = facts.features is not None
    in_each = _BITS // width
    number = exp.Paren(this=exp.Sub(this=sql.column("feature" if by_features else "value"), expression=sql.literal(1)))
    pack = exp.Add(
        this=sql.literal(packs[0]),
        expression=exp.Paren(this=exp.IntDiv(this=number, expression=sql.literal(in_each))),
    )
    place = exp.Paren(this=exp.Mod(this=number.copy(), expression=sql.literal(in_each)))
    shift = sql.cast(exp.Mul(this=place, expression=sql.literal(width)), "INTEGER")
    # 1. The position of each count; a feature has a row for each value that has it.
    standing = [sql.named(pack, "pack"), sql.named(shift, "shift"), sql.column("share")]
    if not by_features:
        standing.append(sql.column("values"))
    counts = engine.temporary_name("kanon_counts")
    query = exp.select(*standing).distinct().from_(_relation(model).copy())
    engine.run(sql.create_table(counts, query, temporary=True), f"counts for {model.name}")
    # 2. The amounts that a row of each value adds.
    one = exp.BitwiseLeftShift(this=sql.cast(sql.literal(1), "HUGEINT"), expression=shift.copy())
    adding = engine.temporary_name("kanon_adding")
    query = exp.select("value").from_(_relation(model).copy()).group_by("value")
    for own in range(*packs):
        here = exp.EQ(this=exp.Paren(this=pack.copy()), expression=sql.literal(own))
        places = exp.Coalesce(this=sql.where(exp.Sum(this=one.copy()), here), expressions=[sql.literal(0)])
        query = query.select(sql.named(sql.cast(places, "HUGEINT"), _pack_name(own)))
    engine.run(sql.create_table(adding, query, temporary=True), f"what a row adds to the counts for {model.name}")
    return ComparedValues(counts, adding, facts.code, packs, facts.values, by_features, *sums)


def _features(engine: Engine, model: SensitiveModel) -> tuple[int, float, float]:
    """Return how many counts a model compares, the sum of their shares, and the divisor of a sum of differences.

    The counts are of values, or of features, numbered from 1.
    """
    features = model.coding.features
    if features is None:
        return model.coding.values, 1.0, 1.0
    most = [exp.Max(this=sql.column(name)) for name in ("feature", "total", "scale")]
    count, total, scale = engine.row(exp.select(*most).from_(features.copy()), f"features for {model.name}")
    return int(count), float(total), float(scale)


def _relation(model: SensitiveModel) -> exp.Table:
    """Return the relation of the values, or features, that a model compares."""
    return model.coding.shares if model.coding.features is None else model.coding.features


def _pack_name(number: int) -> str:
    return f"pack_{number}"


def _added(name: str) -> exp.Expr:
    return exp.Mul(this=sql.column(N), expression=sql.column(name))


def _total(number: exp.Expr, name: str) -> exp.Expr:
    return sql.named(sql.cast(exp.Sum(this=number), "HUGEINT"), name)
