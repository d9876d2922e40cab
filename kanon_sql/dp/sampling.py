"""The three steps of SafePub on a table: labels independent of the data, levels, and the sample.

1. Hierarchies that do not depend on the data: a label is a function of the rule and of the value, and of nothing else.
   If one more row could change the labels of others, the available levels, or whether there is a release at all, no
   sampling would hide that row.

   - Rules that read the data are refused: quantiles, masks (as long as the longest value), prefixes without lengths,
     hierarchies that are not given, and those in the database, whose origin is unknown.
   - The least and the greatest number of a column, which rules need, come from its type. So intervals of a signed type
     are written [20, 25), even if no number is negative.
   - Values without a label count as missing, at every level: values that a file does not list, numbers of 10^18 and
     more, infinity, and years before 1 and after 9999. An error would reveal that such a value exists.

2. The levels of a release, by the exponential mechanism: better ones are more probable, none is certain.

       score(node) = weight(node) * (rows of the table beyond the first T - 1 of their class)

   - ``weight`` is how much the labels of a node keep: 1 less the mean of level / height (Sweeney's precision), in
     hundredths. Levels and heights come from rules, which are independent of the data.
   - ``T = ceil(k / beta)`` is how many rows a class needs so that about k of them are sampled.

   Adding or removing one row changes one class, and its rows beyond T - 1 by at most one: each score changes by at most
   ``SCALE``, and all of them in the same direction. The more obvious score, all rows of classes of at least T (the
   release, but for the sample), would change by T when a class reaches that size, and need T times the noise. The T - 1
   rows not counted in each class make finer nodes look a little worse than they are; the errors of the sample do the
   same.

3. The sample: each row is drawn independently, with a public rate and a key that is not kept.

       kanon_sample    the published columns of the sampled rows; nothing else is read

   Each row has a unique number (any number will do), and is sampled if the first 16 hexadecimal digits of HMAC-SHA256
   of its number are below a threshold: with a probability of threshold / 2^64. ``random()`` of an engine can be
   predicted from a few of its numbers; this cannot, and does not depend on threads or the order of rows.

   The key is drawn for one sample, from the random numbers of the operating system. It is bound to the statement as a
   parameter, appears in no text and no log, and is discarded afterwards; it does not depend on any seed. So the sample
   is as good as true coins against anyone who cannot distinguish them from HMAC-SHA256 under a secret key: the
   differential privacy is then computational (Mironov, Pandey, Reingold & Vadhan 2009).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.of_node import classes_query
from kanon_sql.dp.safepub import SAMPLED_BITS
from kanon_sql.engine.equality import published
from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.expressions import VALUE, number_literal
from kanon_sql.hierarchy.given import build_hierarchy, given_rules, load_hierarchy
from kanon_sql.hierarchy.rules import ColumnExtremes
from kanon_sql.hierarchy.rules.bounds import QuantileRule, StepRule
from kanon_sql.hierarchy.rules.dates import DateRule
from kanon_sql.hierarchy.rules.intervals import IntervalRule, RoundRule
from kanon_sql.hierarchy.rules.texts import MaskRule, PrefixesRule
from kanon_sql.hierarchy.spec import FromFile
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.lattice import Lattice, Node
    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.keys import Key
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.hierarchy.spec import Rule
    from kanon_sql.policy.policy import Policy


# 1. Hierarchies

_MOST_DIGITS = 18  # digits before the point: with as many after it, no step of a rule overflows
_MOST = Decimal(10) ** _MOST_DIGITS
_DIGITS = {
    "TINYINT": 3,
    "UTINYINT": 3,
    "SMALLINT": 5,
    "USMALLINT": 5,
    "INTEGER": 10,
    "UINTEGER": 10,
}
_INSTEAD = {
    MaskRule: "masks are as long as the longest value of the table: use prefixes:3,1 or cut:1,2",
    QuantileRule: "the data say its bounds: use intervals:5,10 or steps",
    PrefixesRule: "the data say how long its prefixes are: give their lengths, as in prefixes:3,1",
}


def fixed_rules(source: Source, columns: Sequence[Column], policy: Policy) -> dict[str, Rule]:
    """Return the rules that a policy gives, by column; none of them depends on the data."""
    rules = given_rules(source, columns, policy)
    for column in columns:
        rule = rules.get(column.name)
        if rule is None:
            raise UsageError(
                f"Column {column.name!r} was given no hierarchy, and one that is chosen here, or is in the database, "
                "may say something of the data: give a rule or a file, as in --hierarchy "
                f"{column.name}={'intervals:5,10,20' if column.is_numeric else 'flat'}."
            )
        if type(rule) in _INSTEAD and not (isinstance(rule, PrefixesRule) and rule.lengths):
            raise UsageError(
                f"The hierarchy of column {column.name!r} ({rule}) depends on the data, so that one row more could "
                f"change the labels of others: {_INSTEAD[type(rule)]}."
            )
        if not isinstance(rule, FromFile):
            rule.require_fit(column)
        _require_room(column, rule)
    return rules


def copied_value(column: Column, rule: Rule) -> exp.Expr:
    """Return a value of ``source`` as published; NULL if its rule has no label for it."""
    value = sql.column(column.name, "source")
    kept = published(value, column)
    known = _has_label(column, rule, value)
    return kept if known is None else exp.Case().when(known, kept).else_(exp.null())


def make_fixed(
    engine: Engine, copy: exp.Table, columns: Sequence[Column], rules: Mapping[str, Rule]
) -> tuple[Hierarchy, ...]:
    """Return the hierarchies of a copy (see ``copied_value``); values that they do not list become NULL in it."""
    hierarchies = []
    for column in columns:
        rule = rules[column.name]
        if isinstance(rule, FromFile):
            hierarchies.append(load_hierarchy(engine, copy, column, rule))
        else:
            extremes = ColumnExtremes(Decimal(0) if column.type.startswith("U") else -_MOST, _MOST)  # of its type
            hierarchies.append(build_hierarchy(engine, copy, column, rule, extremes))
    for hierarchy in hierarchies:
        if isinstance(rules[hierarchy.column.name], FromFile):
            engine.run(unlisted_statement(copy, hierarchy), f"unlisted values of {hierarchy.column.name}")
    return tuple(hierarchies)


def unlisted_statement(copy: exp.Table, hierarchy: Hierarchy) -> exp.Update:
    name = hierarchy.column.name
    value = sql.same(sql.column(VALUE, "listed"), sql.column(name, copy.name))
    listed = exp.Exists(this=exp.select("1").from_(sql.aliased(hierarchy.relation, "listed")).where(value))
    becomes = exp.EQ(this=sql.column(name), expression=exp.null())
    return exp.Update(this=copy.copy(), expressions=[becomes], where=exp.Where(this=listed.not_()))


def _has_label(column: Column, rule: Rule, value: exp.Expr) -> exp.Expr | None:
    """Return the condition that a rule has a label for a value; None if it has one for all values of the type."""
    if isinstance(rule, IntervalRule | RoundRule | StepRule) and _digits(column) > _MOST_DIGITS:
        kind = "DOUBLE" if column.family == "float" else "BIGINT"
        low, high = (sql.cast(number_literal(bound), kind) for bound in (-_MOST, _MOST))
        above = exp.GT(this=value.copy(), expression=low)
        return exp.and_(above, exp.LT(this=value.copy(), expression=high))
    if isinstance(rule, DateRule):
        year = exp.Extract(this=exp.var("year"), expression=value.copy())
        return exp.Between(this=year, low=sql.literal(1), high=sql.literal(9999))
    return None


def _digits(column: Column) -> int:
    """Return the most digits before the point that numbers of a column can have."""
    if column.family == "decimal":
        width, places = _decimal_digits(column)
        return width - places
    return _DIGITS.get(column.type, _MOST_DIGITS + 1)  # for other types, more than any table needs


def _require_room(column: Column, rule: Rule) -> None:
    """Raise if steps of a rule could overflow for some values of a type: such an error would reveal a value."""
    if not isinstance(rule, IntervalRule | RoundRule | StepRule) or column.family != "decimal":
        return
    if _decimal_digits(column)[1] > _MOST_DIGITS:
        raise HierarchyError(
            f"The hierarchy of column {column.name!r} ({rule}) is for numbers of up to {_MOST_DIGITS} decimal places, "
            f"but the column is {column.type}: round it in a view."
        )


def _decimal_digits(column: Column) -> tuple[int, int]:
    parameters = exp.DataType.build(column.type, dialect="duckdb").expressions
    width, places = (int(parameter.name) for parameter in parameters) if parameters else (18, 3)
    return width, places


# 2. Levels

SCALE = 100
"""Weight of the unchanged table: the most by which a score can change when one row is added or removed."""
MOST_NODES = 2_000
"""Most nodes to choose from: each is scored by a statement."""


def candidates(lattice: Lattice) -> list[Node]:
    """Return the nodes to choose from: all, or in a large lattice those at some levels of each column.

    The choice depends on heights alone. Until the nodes are few enough, levels are left out of the column that has most
    of them, the lowest ones last but never the root.
    """
    kept = [height + 1 for height in lattice.heights]
    while math.prod(kept) > MOST_NODES:
        largest = max(range(len(kept)), key=lambda column: kept[column])
        if kept[largest] <= 2:  # noqa: PLR2004 - the root and one below it: with less there is nothing to choose
            raise UsageError(
                f"There are too many combinations of levels of {len(kept)} columns to choose from: say which levels "
                "(--levels), or name fewer columns."
            )
        kept[largest] -= 1
    levels = [_spread(height, number) for height, number in zip(lattice.heights, kept, strict=True)]
    return list(product(*levels))


def weight(node: Node, lattice: Lattice) -> int:
    """Return how much of the table the labels of a node keep, from 0 (roots) to ``SCALE`` (unchanged values)."""
    shares = [Fraction(level, height) for level, height in zip(node, lattice.heights, strict=True)]
    return int(SCALE * (1 - sum(shares) / len(shares)))


def scores(frequency: FrequencySet, lattice: Lattice, nodes: Sequence[Node], least: int) -> list[int]:
    found = []
    for node in nodes:
        kept = weight(node, lattice)
        rows = frequency.engine.row(_rows_beyond(frequency, node, least), "score levels")[0] if kept else 0
        found.append(kept * int(rows))
    return found


def _rows_beyond(frequency: FrequencySet, node: Node, least: int) -> exp.Select:
    """Return the query of the number of rows beyond the first ``least - 1`` of each class."""
    classes = classes_query(frequency.relation, frequency.masks(node), ()).subquery("classes")
    first = sql.literal(least - 1)
    beyond = exp.Sum(this=exp.Sub(this=sql.column(N), expression=first))
    enough = exp.GT(this=sql.column(N), expression=first.copy())
    return exp.select(exp.Coalesce(this=beyond, expressions=[sql.literal(0)])).from_(classes).where(enough)


def _spread(height: int, number: int) -> list[int]:
    """Return some levels, as far apart as possible, from the root down."""
    if number > height:
        return list(range(height + 1))
    return sorted({height - height * place // (number - 1) for place in range(number)})


# 3. The sample

INNER, OUTER = "kanon_inner_key", "kanon_outer_key"
TITLE = (
    "The sample: each row by a coin of its own, HMAC-SHA256 of its number. Its key is drawn again each time and is not "
    f"shown: bind it, padded to 64 bytes, as ${INNER} (each byte XOR 0x36) and ${OUTER} (each byte XOR 0x5C)"
)
_HEX_DIGITS = SAMPLED_BITS // 4


def copy_rows_statement(copy: exp.Table, source: exp.Table, values: Mapping[str, exp.Expr]) -> exp.Create:
    query = exp.select(*_named(values)).from_(sql.aliased(source, "source"))
    return sql.create_table(copy.copy(), query, temporary=True)


def sample_statement(
    sample: exp.Table, source: exp.Table, values: Mapping[str, exp.Expr], threshold: int
) -> exp.Create:
    """Return the statement that copies columns of the sampled rows, with placeholders for the key.

    A row is sampled if its 64-bit number is below ``threshold``. ``values`` maps the name of a column to its expression
    on the table ``source``.
    """
    number = unused_name("kanon_row", values)
    numbered = exp.select(*_named(values), sql.named(exp.Window(this=exp.RowNumber()), number))
    rows = numbered.from_(sql.aliased(source, "source")).subquery("numbered")
    query = exp.select(*map(sql.column, values)).from_(rows).where(_is_sampled(sql.column(number), threshold))
    return sql.create_table(sample.copy(), query, temporary=True)


def draw_sample(engine: Engine, statement: exp.Create, key: Key) -> None:
    """Run the statement that samples. The key is used only here."""
    profiling = sql.statement("catalog/setting", values={"name": "enable_profiling"})
    if engine.row(profiling, "are statements profiled?") != (None,):
        raise UsageError(
            "The connection profiles its statements, and a profile would show which rows were sampled: turn it off "
            "(PRAGMA disable_profiling)."
        )
    engine.rows(statement, "sample, by a key that is not shown", {INNER: key.inner, OUTER: key.outer})


def _named(values: Mapping[str, exp.Expr]) -> list[exp.Alias]:
    return [sql.named(value.copy(), name) for name, value in values.items()]


def _is_sampled(number: exp.Expr, threshold: int) -> exp.Expr:
    """Return whether a row's number under the key is below a threshold; bytes are compared, without collation."""
    digits = exp.Left(
        this=_hash_of(OUTER, exp.Unhex(this=_hash_of(INNER, sql.as_bytes(sql.cast(number, "VARCHAR"))))),
        expression=sql.literal(_HEX_DIGITS),
    )
    return exp.LT(this=sql.as_bytes(digits), expression=sql.as_bytes(sql.literal(f"{threshold:0{_HEX_DIGITS}x}")))


def _hash_of(key: str, message: exp.Expr) -> exp.Expr:
    both = sql.concatenated(exp.Placeholder(this=key), message)
    return exp.SHA2(this=both, length=sql.literal(256))
