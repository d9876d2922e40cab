"""Views beside released tables that show only these tables: they are queries of the release.

``--in-place`` keeps the views over its tables. A view shows no more than released tables if its query reads nothing
else, at any depth, and adds nothing of its own: no constants, no types or macros of the database. Then its rows are
computed from released rows alone. If a name may refer to another table than it seems to, the view counts as showing
more: a name without a schema, unless the view is in the current one; a step of ``WITH``; a name of another database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Collection

    from kanon_sql.engine.base import Engine

_OF_ITS_OWN = (exp.Literal, exp.National, exp.HexString, exp.BitString, exp.ByteString, exp.RawString, exp.Values)
Place = tuple[str, str]
"""Schema and name of a relation, in comparable form."""


def views_of_release(engine: Engine, released: Collection[Place], current: str) -> set[Place]:
    """Return the views of a DuckDB database that show only released tables; ``current`` is its schema."""
    macros = [folded(name) for name, _ in engine.rows(sql.statement("in_place/macros"), "macros of the database")]
    reads: dict[Place, set[Place]] = {}
    for schema, name, definition, *_ in engine.rows(sql.statement("in_place/views"), "views of the database"):
        found = _read_by(definition, is_current=schema == current)
        if found is not None and not any(macro in folded(definition) for macro in macros):
            reads[folded(schema), folded(name)] = {(db or folded(schema), table) for db, table in found}
    shown: set[Place] = set()
    while more := {view for view, read in reads.items() if read <= {*released, *shown}} - shown:
        shown |= more
    return shown


def _read_by(definition: str, *, is_current: bool) -> set[Place] | None:
    """Return the relations that the query of a view reads; None if it may read, or show, anything else."""
    try:
        parsed = sqlglot.parse_one(definition, read="duckdb")
    except SqlglotError:  # sqlglot cannot parse everything that DuckDB can
        return None
    query = parsed.expression if isinstance(parsed, exp.Create) else None
    if not isinstance(query, exp.Query) or query.find(*_OF_ITS_OWN) is not None:
        return None
    tables = list(query.find_all(exp.Table))
    for table in tables:
        if not isinstance(table.this, exp.Identifier) or table.catalog or not (table.db or is_current):
            return None
    if any(kind.this == exp.DataType.Type.USERDEFINED for kind in query.find_all(exp.DataType)) or not tables:
        return None
    return {(folded(table.db), folded(table.name)) for table in tables}
