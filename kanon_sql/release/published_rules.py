"""Kept columns that are published by a rule of ``[publish]`` (see ``kanon_sql.policy.publish_rules``).

    kanon_hashed             distinct values of columns with the rule hash, with their pseudonyms
    kanon_shifted            each person with the number of days by which their dates are shifted
    kanon_microaggregated    values of a column, each with the mean of its group; a table for each column
    kanon_ruled              the columns of the source that are read, columns with a rule in their published form

All statements that publish and verify, and the view of pseudonyms, read the last one instead of the source, so no other
value can slip through. The search reads the source, because it does not use these columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import Column, bounds_of, find_column
from kanon_sql.engine.equality import as_text, published
from kanon_sql.errors import UsageError
from kanon_sql.policy.profile.patterns import redacted
from kanon_sql.policy.publish_rules import (
    KEYED,
    NUMBERS,
    PURPOSES,
    RuledColumn,
    as_written,
    parse_publish_rules,
    ruled_columns,
)
from kanon_sql.release.pseudonyms import (
    PSEUDONYM_TYPE,
    TITLE,
    canonical_bytes,
    columns_read,
    keyed_hash,
    not_a_pseudonym,
    pseudonyms_query,
    require_canonical,
    require_unprofiled,
    secrets_of,
)
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.keys import Key
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import Warehouse
    from kanon_sql.engine.warehouse.workbench import Workbench
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.roles import Roles

_VALUE = "value"
_SHIFTS, _MEANS = "shift-dates", "microaggregate"
_NOT_A_PSEUDONYM = "00" + _SHIFTS.encode().hex()
"""Prefix of the person in the hashed message: without it, a published pseudonym of the person would reveal the days.
Only a table with texts that start with a zero byte could collide."""
_REDACTED = {
    "email": "e-mail",
    "mac_address": "hardware address",
    "url": "web address",
    "ip_address": "network address",
    "reference": "UUID",
    "iban": "bank account",
    "credit_card": "payment card",
    "national_id": "national number",
    "phone": "phone",
}
"""By kind of pattern, the text in brackets; in the order of the search."""


@dataclass(frozen=True)
class PublishedRules:
    """How kept columns are published by rules."""

    columns: tuple[RuledColumn, ...]  # in the order of the source
    view: exp.Table  # the temporary view of the source with their new values
    origin: exp.Table  # the source itself
    taken: tuple[Column, ...]  # the columns of the source that the view has, in their order
    entity: Column | None
    key: Key
    tables: dict[str, exp.Table]  # by column, the temporary table in which its values are looked up, if it needs one
    groups: dict[str, str]  # by microaggregated column, the positions where its groups start
    lost: dict[str, float]  # by microaggregated column, the share of its variance that is lost
    bench: Workbench | None = None  # the workbench of the warehouse that has the source; None without a warehouse
    values: dict[str, exp.Table] = field(default_factory=dict)  # by microaggregated column, where its values are read
    unshifted: tuple[str, ...] = ()  # dates that are published unchanged beside shifted dates

    def holder(self, engine: Engine) -> Engine | Warehouse:
        return engine if self.bench is None else self.bench.warehouse

    @property
    def names(self) -> list[str]:
        return [ruled.column.name for ruled in self.columns]

    @property
    def keyed(self) -> list[str]:
        """Names of the columns whose values are made with the key."""
        return [ruled.column.name for ruled in self.columns if ruled.is_keyed]

    @property
    def cannot_be_repeated(self) -> bool:
        """True if the release cannot be repeated because its key is not stored."""
        return bool(self.keyed) and self.key.drawn

    @property
    def title(self) -> str:
        made = "Columns that are published by a rule, and a view of the source with their values"
        return f"{made}. {TITLE}" if self.keyed else made

    def typed(self, columns: Sequence[Column]) -> tuple[Column, ...]:
        """Return columns with the types in which they are published."""
        types = {ruled.column.name: _published_type(ruled) for ruled in self.columns}
        return tuple(Column(column.name, types.get(column.name, column.type)) for column in columns)

    def statements(self) -> tuple[exp.Create, ...]:
        """Return the statements that make the tables, with placeholders for the key, and the view."""
        made: dict[exp.Table, exp.Query] = {}
        for ruled in self.columns:
            if (table := self.tables.get(ruled.column.name)) is not None and table not in made:
                made[table] = self._lookup_query(ruled)
        tables = (sql.create_table(table.copy(), query, temporary=True) for table, query in made.items())
        return (*tables, self._view_statement())

    def make(self, engine: Engine) -> None:
        if self.keyed:
            require_unprofiled(engine)
        *tables, view = self.statements()
        title = "values of columns that are published by a rule"
        for table in tables:
            is_keyed = next(table.find_all(exp.Placeholder), None) is not None
            engine.rows(table, title, secrets_of(self.key) if is_keyed else None)
            if self.bench is not None:
                self.bench.send(table.this, self.origin, None, title)
        self.holder(engine).run(view, "the source with columns published by rules")

    def forget(self, engine: Engine) -> None:
        """Drop the view and the replaced values."""
        self.holder(engine).run(sql.drop(self.view, "VIEW"), "drop the source with columns published by rules")
        for table in dict.fromkeys(self.tables.values()):
            engine.run(sql.drop(table), "drop the values of columns that are published by a rule")

    def summary(self) -> list[dict[str, Any]]:
        beside = f"dates that are not shifted may tell by how many days: {', '.join(self.unshifted)}"
        beside_shifts = [beside] if self.unshifted else []
        return [
            {
                "column": ruled.column.name,
                "rule": ruled.text,
                "purpose": "; ".join(
                    [*(PURPOSES[rule.kind] for rule in ruled.rules), *(beside_shifts if ruled.kind == _SHIFTS else [])]
                ),
                "key": self.key.origin if ruled.is_keyed else None,
                "sse_sst": self.lost.get(ruled.column.name),
            }
            for ruled in self.columns
        ]

    def _lookup_query(self, ruled: RuledColumn) -> exp.Query:
        if ruled.kind == "hash":
            return pseudonyms_query([one.column for one in self.columns if one.kind == "hash"], self.origin)
        if ruled.kind == _SHIFTS:
            message = sql.concatenated(exp.Unhex(this=sql.literal(_NOT_A_PSEUDONYM)), sql.column(_VALUE))
            return sql.query(
                "release/date_shifts",
                values={
                    "person": canonical_bytes(_known(self.entity)),
                    "days": int(ruled.rules[0].number),
                    "hash": keyed_hash(message),
                },
                relations={"source": sql.aliased(self.origin, "source")},
            )
        name = ruled.column.name
        return sql.query(
            "release/microaggregated",
            values={"value": _value(ruled.column), "groups": self.groups[name], "size": int(ruled.rules[0].number)},
            relations={"source": sql.aliased(self.values[name], "source")},
        )

    def _view_statement(self) -> exp.Create:
        query = exp.select().from_(sql.aliased(self.origin, "source"))
        by_name = {ruled.column.name: ruled for ruled in self.columns}
        for column in self.taken:
            ruled = by_name.get(column.name)
            if ruled is None:
                query = query.select(sql.column(column.name, "source"))
                continue
            place = f"rule_{self.names.index(column.name) + 1}"
            query = query.select(sql.named(_expression(ruled, place), column.name))
            if (table := self.tables.get(column.name)) is not None:
                own = {"hash": column, _SHIFTS: self.entity}.get(ruled.kind)
                family = column.family if own is None else None
                sought = _value(column) if own is None else canonical_bytes(own)
                same = sql.same(sought, sql.column(_VALUE, place), family)
                query = query.join(sql.aliased(table, place), on=same, join_type="left")
        return sql.create_view(self.view.copy(), query, temporary=True)


def published_rules_of(source: Source, policy: Policy, roles: Roles, key: Key) -> PublishedRules:
    """Return how the columns of a source are published by the rules of a policy that has rules.

    Values that a rule cannot handle are counted here, and values to be microaggregated are put into groups.
    """
    columns = ruled_columns(policy.publish, roles, source.columns, source.name)
    refuse_in_warehouse(source, policy)
    hashed = [ruled.column for ruled in columns if ruled.kind == "hash"]
    shifts = [ruled for ruled in columns if ruled.kind == _SHIFTS]
    require_canonical([*hashed, *([_known(roles.entity)] if shifts else [])])
    engine, tables, values = source.engine, {}, {}
    groups: dict[str, str] = {}
    lost: dict[str, float] = {}
    shared = {
        "hash": engine.temporary_name("kanon_hashed") if hashed else None,
        _SHIFTS: engine.temporary_name("kanon_shifted") if shifts else None,
    }
    for ruled in columns:
        name = ruled.column.name
        if (table := shared.get(ruled.kind)) is not None:
            tables[name] = table
        if ruled.kind == _MEANS:
            values[name] = source.relation
            if source.in_warehouse:
                values[name] = source.workbench.values_of(source.relation, [ruled.column])
            groups[name], lost[name] = _groups(engine, values[name], ruled)
            tables[name] = engine.temporary_name("kanon_microaggregated")
        if ruled.kind == "round":
            _require_room(source, ruled)
    return PublishedRules(
        columns=columns,
        view=_unused_view(source),
        origin=source.relation,
        taken=columns_read(source.columns, roles),
        entity=roles.entity,
        key=key,
        tables=tables,
        groups=groups,
        lost=lost,
        bench=source.workbench if source.in_warehouse else None,
        values=values,
        unshifted=tuple(
            column.name
            for column in (*roles.sensitive, *roles.insensitive)
            if shifts and column.family in {"date", "timestamp"} and column not in [ruled.column for ruled in columns]
        ),
    )


def _unused_view(source: Source) -> exp.Table:
    """Return a name for a temporary view that shadows no relation, even one that appears in the warehouse later."""
    if source.warehouse is None:
        return source.engine.temporary_name("kanon_ruled")
    return sql.relation(f"kanon_ruled_{token_hex(8)}", source.warehouse.temporary_schema)


def refuse_in_warehouse(source: Source, policy: Policy) -> None:
    """Raise if a table is in a warehouse and a rule cannot be used there."""
    for name, texts in policy.publish.items():
        for rule in parse_publish_rules(name, texts):
            if rule.kind in {*KEYED, "redact"}:
                row = "publish: redact" if rule.kind == "redact" else "publish: hash, shift-dates"
                source.require(row, f"The rule {rule.text} of column {name!r}")


# The value of a column by its rule


def _published_type(ruled: RuledColumn) -> str:
    if ruled.kind in {"round", _SHIFTS}:
        return ruled.column.type
    return "DOUBLE" if ruled.kind == _MEANS else PSEUDONYM_TYPE


def rule_check_query(rules: PublishedRules, output: exp.Expr) -> tuple[list[RuledColumn], exp.Select | None]:
    """Return the columns whose rule can be checked on the released values, and the query that counts violations.

    Shifted dates and redacted texts cannot be checked.
    """
    found = ((ruled, _not_made_by(ruled, rules.tables)) for ruled in rules.columns)
    wrong = {ruled: condition for ruled, condition in found if condition is not None}
    counts = [
        sql.named(sql.where(sql.count_rows(), condition), f"not_by_rule_{number}")
        for number, condition in enumerate(wrong.values(), start=1)
    ]
    return list(wrong), exp.select(*counts).from_(output.copy()) if counts else None


def values_not_by_rule(source: Source, publish: Mapping[str, Sequence[str]]) -> tuple[dict[str, int], list[str]]:
    """Check a table that should be a release: return the number of values by column that their rule does not make.

    Also return the columns that the table alone cannot check: means, shifted dates and redacted texts.
    """
    found: dict[str, int] = {}
    unknown = []
    for name, texts in publish.items():
        if (column := find_column(name, source.columns)) is None:
            continue
        rules = parse_publish_rules(name, texts)
        # The type of the values before they were coded is unknown.
        ruled = RuledColumn(column, rules)
        is_exact = column.family == "integer" or (column.family == "decimal" and ruled.kind == "round")
        if not is_exact or ruled.decimals > column.decimals:
            ruled = RuledColumn(Column(column.name, "DOUBLE"), rules)
        condition = _not_made_by(ruled, {})
        if condition is None:
            unknown.append(column.name)
            continue
        if rules[0].kind == "round" and column.family not in NUMBERS:
            condition = _text_not_rounded(ruled)
        source.bring([column])
        query = exp.select(sql.where(sql.count_rows(), condition)).from_(source.relation.copy())
        (found[column.name],) = source.engine.row(query, f"values of {column.name} that its rule does not make")
    return {name: count for name, count in found.items() if count}, unknown


def _text_not_rounded(ruled: RuledColumn) -> exp.Expr:
    """Return the condition that a number written as text, as in a CSV file, is not one that a rule makes."""
    text = sql.column(ruled.column.name)
    number = exp.TryCast(this=text.copy(), to=sql.cast(exp.null(), ruled.column.type).to)
    other = exp.NEQ(this=sql.cast(_rounded(ruled, number), ruled.column.type), expression=number.copy())
    is_none = exp.or_(number.copy().is_(exp.null()), other)
    return exp.and_(text.is_(exp.null()).not_(), is_none)


def _not_made_by(ruled: RuledColumn, tables: dict[str, exp.Table]) -> exp.Expr | None:
    """Return the condition that a rule does not make a published value; it may be NULL for NULL."""
    column, value = ruled.column, sql.column(ruled.column.name)
    text = sql.cast(value.copy(), "VARCHAR")
    if ruled.kind == "round":
        return exp.NEQ(this=sql.cast(_rounded(ruled, value), column.type), expression=value.copy())
    if ruled.kind == "hash":
        return not_a_pseudonym(value)
    if ruled.kind == _MEANS and column.name in tables:
        means = exp.select(sql.column("mean")).from_(tables[column.name].copy())
        means = means.where(sql.column("mean").is_(exp.null()).not_())
        there = value.copy().is_(exp.null()).not_()
        return exp.and_(there, exp.Not(this=exp.In(this=value, query=means.subquery())))
    if ruled.kind in {"top", "bottom", "bins"}:
        number = exp.TryCast(this=value.copy(), to=sql.cast(exp.null(), column.type).to)
        conditions, codes = zip(*_codes(ruled, number), strict=True)
        is_none = exp.Not(this=exp.In(this=text, expressions=[*map(sql.literal, codes)]))
        if ruled.kind == "bins":
            return is_none
        return exp.and_(is_none, exp.Coalesce(this=exp.Paren(this=exp.or_(*conditions)), expressions=[exp.true()]))
    return None


def _value(column: Column) -> exp.Expr:
    """Return a value of the source, in one form for all equal values."""
    return published(sql.column(column.name, "source"), column)


def _expression(ruled: RuledColumn, place: str) -> exp.Expr:
    """Return the published value of a row; ``place`` is the alias of its lookup table."""
    column = ruled.column
    if ruled.kind == "round":
        return sql.cast(_rounded(ruled, _value(column)), column.type)
    if ruled.kind in {"top", "bottom", "bins"}:
        coded = exp.Case()
        for condition, text in _codes(ruled, _value(column)):
            coded = coded.when(condition, sql.literal(text))
        return coded if ruled.kind == "bins" else coded.else_(as_text(sql.column(column.name, "source"), column))
    if ruled.kind == "redact":
        return redacted(_value(column), {kind: f"[{name}]" for kind, name in _REDACTED.items()})
    if ruled.kind == _SHIFTS:
        days = exp.Anonymous(this="TO_DAYS", expressions=[sql.column("days", place)])
        return sql.cast(exp.Add(this=_value(column), expression=days), column.type)
    return sql.column("mean" if ruled.kind == _MEANS else "pseudonym", place)


def _rounded(ruled: RuledColumn, value: exp.Expr) -> exp.Expr:
    """Return the nearest multiple, halves away from zero; in a type that can hold it."""
    column, base = ruled.column, ruled.rules[0].number
    if column.family == "float":
        number: exp.Expr = sql.cast(value, "DOUBLE")
        times = sql.rounded(exp.Div(this=number, expression=sql.double(float(base)), typed=False, safe=False))
        # Write a decimal base as a fraction, so the multiple is rounded only once: 3 * 1 / 10 is 0.3, 3 * 0.1 is not.
        parts, whole = (float(part) for part in base.as_integer_ratio())
        multiple: exp.Expr = exp.Mul(this=times, expression=sql.double(parts))
        if whole > 1:
            multiple = exp.Div(this=multiple, expression=sql.double(whole), typed=False, safe=False)
        small = exp.LT(this=exp.Abs(this=number.copy()), expression=sql.double(_LARGE))
        return (
            exp.Case().when(small, exp.Add(this=exp.paren(multiple), expression=sql.double(0.0))).else_(number.copy())
        )
    wide = "HUGEINT" if column.family == "integer" else "DECIMAL({},{})".format(*_digits_of(ruled))
    number, step = sql.cast(value, wide), sql.cast(_number(base), wide)
    rest = exp.Mod(this=number, expression=step)
    twice = exp.Abs(this=exp.Paren(this=exp.Add(this=rest.copy(), expression=rest.copy())))
    up = exp.Case().when(exp.LT(this=number.copy(), expression=sql.literal(0)), exp.Neg(this=step.copy()))
    carried = exp.Case().when(exp.GTE(this=twice, expression=step.copy()), up.else_(step.copy()))
    return exp.Add(
        this=exp.Sub(this=number.copy(), expression=exp.Paren(this=rest)),
        expression=carried.else_(sql.cast(sql.literal(0), wide)),
    )


def _digits_of(ruled: RuledColumn) -> tuple[int, int]:
    """Return the digits and decimals of the DECIMAL for rounding, which can hold the base and sums."""
    digits, scale = map(int, re.findall("[0-9]+", ruled.column.type))
    return min(38, max(digits, len(as_written(ruled.rules[0].number).partition(".")[0]) + scale) + 3), scale


_LARGE = 1e290
"""Larger numbers, infinity and NaN stay unchanged: dividing by a base below 1 may exceed a DOUBLE."""


def _codes(ruled: RuledColumn, value: exp.Expr) -> list[tuple[exp.Expr, str]]:
    """Return the conditions under which a value is coded, by a bin or at the top and bottom, each with its text."""
    codes: list[tuple[exp.Expr, str]] = []
    for rule in ruled.rules:
        if rule.kind == "bins":
            bounds = [_bound(ruled.column, number, ROUND_CEILING) for number in rule.numbers]
            texts = [as_written(number) for number in rule.numbers]
            between = [f"[{one},{other})" for one, other in pairwise(texts)]
            below = [exp.LT(this=value.copy(), expression=bound) for bound in bounds]
            codes += zip(below, [f"<{texts[0]}", *between], strict=True)
            codes.append((exp.GTE(this=value.copy(), expression=bounds[-1].copy()), f">={texts[-1]}"))
        elif rule.kind == "top":
            bound = _bound(ruled.column, rule.number, ROUND_CEILING)
            codes.append((exp.GTE(this=value.copy(), expression=bound), f"{as_written(rule.number)}+"))
        else:
            bound = _bound(ruled.column, rule.number, ROUND_FLOOR)
            codes.append((exp.LTE(this=value.copy(), expression=bound), f"<={as_written(rule.number)}"))
    return codes


def _bound(column: Column, bound: Decimal, rounding: str) -> exp.Expr:
    """Return the bound that values of a column are compared with.

    For integer columns, it is rounded to a whole number: up for ``top`` and ``bins``, down for ``bottom``.
    """
    if column.family == "float":
        return sql.double(float(bound))
    return _number(bound.to_integral_value(rounding) if column.family == "integer" else bound)


def _number(number: Decimal) -> exp.Expr:
    literal = exp.Literal.number(as_written(abs(number)))
    return exp.Neg(this=literal) if number < 0 else literal


# Requirements of a rule for its column


def _groups(engine: Engine, origin: exp.Table, ruled: RuledColumn) -> tuple[str, float]:
    """Return the positions where the groups of a column start, as SQL, and SSE/SST."""
    from kanon_sql.release.microaggregation import group_starts, lost_share  # with numpy

    column, size = ruled.column, int(ruled.rules[0].number)
    if column.family == "float":
        infinite = exp.Not(this=sql.finite(sql.column(column.name), "float"))
        query = exp.select(sql.where(sql.count_rows(), infinite)).from_(origin.copy())
        (found,) = engine.row(query, f"values of {column.name} that have no mean")
        if found:
            raise UsageError(f"Column {column.name!r} has NaN or infinity in {found:,} rows: make them NULL in a view.")
    query = exp.select(sql.named(_value(column), _VALUE), sql.count_rows())
    query = query.from_(sql.aliased(origin, "source")).where(sql.column(column.name, "source").is_(exp.null()).not_())
    query = query.group_by(_value(column)).order_by(sql.column(_VALUE))
    values = [(value, n) for value, n in engine.rows(query, f"values of {column.name}")]
    if not values:
        return "1", 0.0
    if (rows := sum(n for _, n in values)) < size:
        raise UsageError(
            f"Column {column.name!r} has values in {rows:,} rows, and {ruled.text} makes groups of {size} rows: give "
            "a smaller number, or drop the column."
        )
    starts = group_starts(values, size)
    return ",".join(str(start + 1) for start in starts), lost_share(values, starts)


_SPARK_KEEPS, _SPARK_ADDS = 6, 36  # decimals that are always kept, and digits up to which all are kept


def _require_room(source: Source, ruled: RuledColumn) -> None:
    """Raise if some value is rounded to one that the type of its column cannot hold."""
    column = ruled.column
    if column.family == "decimal" and source.in_warehouse and source.holder.dialect == "spark":
        digits, scale = _digits_of(ruled)
        if scale > _SPARK_KEEPS and digits > _SPARK_ADDS:
            raise UsageError(
                f"In Spark, sums of numbers such as those of column {column.name!r}, {column.kind}, lose decimals: "
                f"cast it to fewer digits in a view there, or leave {ruled.text} out."
            )
    if (bounds := bounds_of(column)) is None:
        return
    least, most = map(exp.Literal.number, bounds)
    lost: exp.Expr = exp.Not(this=exp.Between(this=exp.paren(_rounded(ruled, _value(column))), low=least, high=most))
    if column.family == "float":
        lost = exp.and_(sql.finite(sql.column(column.name, "source"), "float"), lost)
    query = exp.select(sql.where(sql.count_rows(), lost)).from_(sql.aliased(source.relation, "source"))
    title = f"values of {column.name} that are rounded to what its type does not have"
    ((found,),) = source.holder.rows(query, title)
    if found:
        raise UsageError(
            f"{ruled.text} rounds {found:,} values of column {column.name!r} to numbers that its type, {column.kind}, "
            "does not have: cast it to a wider one in a view, and anonymize that."
        )


def _known(entity: Column | None) -> Column:
    if entity is None:
        raise TypeError("No column names the person")
    return entity
