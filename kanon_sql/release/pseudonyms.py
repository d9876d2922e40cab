"""Pseudonyms of identifying columns: a keyed hash of each value (HMAC-SHA256), computed where the table is.

    kanon_pseudonyms       each value once with its pseudonym; the key is bound to the statement, and is not in its text
    kanon_pseudonymized    the columns of the source that are read, with pseudonyms instead of values

All statements that publish and verify read the second one instead of the source, so no other value can slip through.
Equal texts have equal pseudonyms under one key, in any table and column, so joins still work.

The hash is of the value as DuckDB casts it to text, in UTF-8. It must depend only on the value: floating zeros and NaNs
are normalized first, texts are compared by their bytes regardless of the collation, and types are refused if their text
depends on the session or if equal values have several texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Column
from kanon_sql.engine.equality import published
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.keys import Key, Secret
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.roles import Roles

DIGITS = 32
"""Hexadecimal digits of a pseudonym: 128 bits, so that no two values will ever share one by chance."""

PSEUDONYM_TYPE = "VARCHAR"
INNER, OUTER = "kanon_inner_key", "kanon_outer_key"
TITLE = (
    f"Pseudonyms: HMAC-SHA256 of each value. The key is not shown: bind it, padded to 64 bytes, as ${INNER} (each byte "
    f"XOR 0x36) and ${OUTER} (each byte XOR 0x5C)"
)
_VALUE, _PSEUDONYM = "value", "pseudonym"
_WRITTEN_ONE_WAY = {"UUID", "TIME", "BLOB", "BIT", "BIGNUM", '"NULL"'}  # the last one: of a frame without values
_WITH_ZONE = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True)
class Pseudonyms:
    """How identifying columns are published as pseudonyms."""

    columns: tuple[Column, ...]  # in the order of the source, with their types there
    table: exp.Table  # the temporary table of values and their pseudonyms
    view: exp.Table  # the temporary view of the source with pseudonyms instead of values
    origin: exp.Table  # the source itself
    taken: tuple[Column, ...]  # the columns of the source that the view has, in their order
    key: Key
    left_out: exp.Table  # the temporary table of pseudonyms whose rows are suppressed (see ``verify.pseudonyms``)
    rounds: int = 0  # how often pseudonyms are added to it; 0 if none need to be
    people_left_out: int = 0  # the number of pseudonyms in it
    rows_left_out: int = 0  # their rows in the source

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def make(self, engine: Engine) -> None:
        """Make pseudonyms. Raise if profiling is on: the plan in a profile shows the bound key."""
        require_unprofiled(engine)
        table, *others = self.statements()
        engine.rows(table, "pseudonyms of each value, by a key that is not shown", secrets_of(self.key))
        for statement in others:
            engine.run(statement, "the source with pseudonyms in the place of values")

    def forget(self, engine: Engine) -> None:
        """Drop pseudonyms, and their original values."""
        engine.run(sql.drop(self.view, "VIEW"), "drop the source with pseudonyms")
        engine.run(sql.drop(self.table), "drop the pseudonyms of each value")
        if self.rounds:
            engine.run(sql.drop(self.left_out), "drop the pseudonyms that were left out")

    def statements(self) -> tuple[exp.Create, ...]:
        """Return the statement that makes the pseudonyms, with placeholders for the key, and those that use them."""
        nothing = exp.select(sql.named(sql.cast(exp.null(), PSEUDONYM_TYPE), _PSEUDONYM)).limit(0)
        left_out = (sql.create_table(self.left_out.copy(), nothing, temporary=True),) if self.rounds else ()
        pseudonyms = pseudonyms_query(self.columns, self.origin)
        return sql.create_table(self.table.copy(), pseudonyms, temporary=True), *left_out, self._view_statement()

    def _view_statement(self) -> exp.Create:
        query = exp.select().from_(sql.aliased(self.origin, "source"))
        for column in self.taken:
            if column not in self.columns:
                query = query.select(sql.column(column.name, "source"))
                continue
            place = f"pseudonym_{self.columns.index(column) + 1}"
            query = query.select(sql.named(sql.column(_PSEUDONYM, place), column.name))
            same = sql.same(canonical_bytes(column), sql.column(_VALUE, place))
            query = query.join(sql.aliased(self.table, place), on=same)
            if self.rounds:
                there = exp.EQ(this=sql.column(_PSEUDONYM, "left_out"), expression=sql.column(_PSEUDONYM, place))
                found = exp.select("1").from_(sql.aliased(self.left_out, "left_out")).where(there)
                query = query.where(exp.Exists(this=found).not_())
        return sql.create_view(self.view.copy(), query, temporary=True)


def pseudonyms_of(source: Source, roles: Roles, key: Key, origin: exp.Table | None = None) -> Pseudonyms | None:
    """Return how the columns of a source are pseudonymized; None if none are.

    If columns are published by rules, ``origin`` is the view that is read instead of the source.
    """
    if not roles.pseudonymized:
        return None
    source.require("pseudonymize", "--pseudonymize")
    require_canonical(roles.pseudonymized)
    return Pseudonyms(
        columns=roles.pseudonymized,
        table=source.engine.temporary_name("kanon_pseudonyms"),
        view=source.engine.temporary_name("kanon_pseudonymized"),
        origin=origin or source.relation,
        taken=columns_read(source.columns, roles),
        key=key,
        left_out=source.engine.temporary_name("kanon_left_out"),
    )


def columns_read(columns: Sequence[Column], roles: Roles) -> tuple[Column, ...]:
    """Return the columns of a source that publishing and verifying read."""
    read = {column.name for column in (*published_columns(columns, roles), *([roles.entity] if roles.entity else []))}
    return tuple(column for column in columns if column.name in read)


def require_canonical(columns: Sequence[Column]) -> None:
    """Raise unless equal values of hashed columns always have the same text."""
    for column in columns:
        if column.type == _WITH_ZONE or (column.family == "other" and column.type not in _WRITTEN_ONE_WAY):
            raise UsageError(
                f"Column {column.name!r} is of type {column.type.partition('(')[0]}: one value can be written in "
                "several ways and would have several pseudonyms. Cast it to VARCHAR in a view, and anonymize that."
            )


def published_columns(columns: Sequence[Column], roles: Roles) -> tuple[Column, ...]:
    """Return the published columns of a source, in their order; pseudonyms have their own type."""
    names = {column.name for column in (*roles.quasi_identifiers, *roles.sensitive, *roles.insensitive)}
    pseudonymized = {column.name for column in roles.pseudonymized}
    return tuple(
        Column(column.name, PSEUDONYM_TYPE) if column.name in pseudonymized else column
        for column in columns
        if column.name in names | pseudonymized
    )


def secrets_of(key: Key) -> Mapping[str, Secret]:
    return {INNER: key.inner, OUTER: key.outer}


def require_unprofiled(engine: Engine) -> None:
    """Raise if profiling would store the plan of a statement, with the key that is bound to it."""
    profiling = sql.statement("catalog/setting", values={"name": "enable_profiling"})
    if engine.row(profiling, "are statements profiled?") != (None,):
        raise UsageError("The connection profiles its statements, and shows the key: PRAGMA disable_profiling.")


def not_pseudonyms_query(relation: exp.Table, column: str) -> exp.Select:
    """Return the query that counts the values of a column that do not have the form of pseudonyms."""
    return exp.select(sql.where(sql.count_rows(), not_a_pseudonym(sql.column(column)))).from_(relation.copy())


def not_a_pseudonym(value: exp.Expr) -> exp.Expr:
    """Return the condition that a value does not have the form of pseudonyms; NULL for NULL."""
    pattern = sql.literal(f"[0-9a-f]{{{DIGITS}}}")
    written = exp.Anonymous(this="REGEXP_FULL_MATCH", expressions=[sql.cast(value, "VARCHAR"), pattern])
    return sql.negated(written)


def canonical_bytes(column: Column, value: exp.Expr | None = None) -> exp.Expr:
    """Return the hash input of a column's value (by default the value in the source): its text in UTF-8."""
    own = sql.column(column.name, "source") if value is None else value
    return sql.as_bytes(sql.cast(published(own, column), "VARCHAR"))


def pseudonyms_query(columns: Sequence[Column], origin: exp.Table) -> exp.Select:
    """Return the query of each distinct value of some columns, with its pseudonym."""
    values = [
        exp.select(sql.named(canonical_bytes(column), _VALUE)).from_(sql.aliased(origin, "source"))
        for column in columns
    ]
    distinct = sql.union_distinct(values)
    pseudonym = exp.Left(this=keyed_hash(sql.column(_VALUE)), expression=sql.literal(DIGITS))
    return exp.select(sql.column(_VALUE), sql.named(pseudonym, _PSEUDONYM)).from_(distinct.subquery("found"))


def keyed_hash(message: exp.Expr) -> exp.Expr:
    """Return the HMAC-SHA256 of a message in hexadecimal digits, with placeholders for the key."""
    return _hash_of(OUTER, exp.Unhex(this=_hash_of(INNER, message)))


def _hash_of(key: str, message: exp.Expr) -> exp.Expr:
    """Return the SHA-256, in hexadecimal digits, of a padded key and a message."""
    both = sql.concatenated(exp.Placeholder(this=key), message)
    return exp.SHA2(this=both, length=sql.literal(256))
