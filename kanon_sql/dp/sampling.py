"""Which rows are sampled: each by itself, with a public rate and a key that is not kept.

    kanon_sample    of the rows that are sampled, the columns that are published; nothing else is read

A row has a number (any number, as long as no two have the same), and is sampled if the first 16 hexadecimal digits of
HMAC-SHA256 of its number are below a threshold: with a probability of threshold / 2^64. ``random()`` of an engine can
be predicted from a few of its numbers; this cannot, and is the same whichever threads or order the rows come in.

The key is drawn for one sample, from the random numbers of the operating system. It is bound to the statement, stands
in no text and no log, and is gone afterwards; no seed has a part in it. So the sample is as good as one of true coins
against everybody who cannot tell HMAC-SHA256 under a secret key from them: differential privacy is then a computational
one (Mironov, Pandey, Reingold & Vadhan 2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.dp.safepub import SAMPLED_BITS
from kanon_sql.errors import UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.keys import Key

INNER, OUTER = "kanon_inner_key", "kanon_outer_key"
TITLE = (
    "The sample: each row by a coin of its own, HMAC-SHA256 of its number. Its key is drawn anew each time and is not "
    f"shown: bind it, padded to 64 bytes, as ${INNER} (each byte XOR 0x36) and ${OUTER} (each byte XOR 0x5C)"
)
_DIGITS = SAMPLED_BITS // 4


def copy_rows_statement(copy: exp.Table, source: exp.Table, values: Mapping[str, exp.Expr]) -> exp.Create:
    """Return the statement that copies columns of all rows.

    Args:
        copy: the temporary table that is made.
        source: the table, which values know as ``source``.
        values: by the name that a column gets, what it holds.
    """
    query = exp.select(*_named(values)).from_(sql.aliased(source, "source"))
    return sql.create_table(copy.copy(), query, temporary=True)


def sample_statement(
    sample: exp.Table, source: exp.Table, values: Mapping[str, exp.Expr], threshold: int
) -> exp.Create:
    """Return the statement that copies columns of the sampled rows, with placeholders for the key.

    Args:
        sample: the temporary table that is made.
        source: the table, which values know as ``source``.
        values: by the name that a column gets, what it holds.
        threshold: what the number of 64 bits that a row gets must be below.
    """
    number = unused_name("kanon_row", values)
    numbered = exp.select(*_named(values), sql.named(exp.Window(this=exp.RowNumber()), number))
    rows = numbered.from_(sql.aliased(source, "source")).subquery("numbered")
    query = exp.select(*map(sql.column, values)).from_(rows).where(_is_sampled(sql.column(number), threshold))
    return sql.create_table(sample.copy(), query, temporary=True)


def draw_sample(engine: Engine, statement: exp.Create, key: Key) -> None:
    """Run the statement that samples: the one place where its key is used.

    Raises:
        UsageError: the owner of the connection has profiling on; the plan in a profile shows what is bound.
    """
    if engine.row(sql.statement("catalog/profiling"), "are statements profiled?") != (None,):
        raise UsageError(
            "The connection profiles its statements, and a profile would show which rows were sampled: turn it off "
            "(PRAGMA disable_profiling)."
        )
    engine.rows(statement, "sample, by a key that is not shown", {INNER: key.inner, OUTER: key.outer})


def _named(values: Mapping[str, exp.Expr]) -> list[exp.Alias]:
    return [sql.named(value.copy(), name) for name, value in values.items()]


def _is_sampled(number: exp.Expr, threshold: int) -> exp.Expr:
    """Return whether the number that a key gives to a row is below a threshold; as bytes, which no collation orders."""
    digits = exp.Left(
        this=_hash_of(OUTER, exp.Unhex(this=_hash_of(INNER, _as_bytes(sql.cast(number, "VARCHAR"))))),
        expression=sql.literal(_DIGITS),
    )
    return exp.LT(this=_as_bytes(digits), expression=_as_bytes(sql.literal(f"{threshold:0{_DIGITS}x}")))


def _hash_of(key: str, message: exp.Expr) -> exp.Expr:
    """Return the SHA-256, in hexadecimal digits, of a padded key and a message."""
    both = exp.DPipe(this=exp.Placeholder(this=key), expression=message, safe=True)
    return exp.SHA2(this=both, length=sql.literal(256))


def _as_bytes(text: exp.Expr) -> exp.Expr:
    return exp.Encode(this=text, charset=sql.literal("utf-8"))
