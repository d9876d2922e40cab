"""Of which tables a statement reads all columns, whatever these are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator


def tables_read_whole(statement: exp.Expr) -> Iterator[exp.Table]:
    """Yield the tables of which a statement reads all columns: those that a query with ``*`` names itself.

    Of a subquery with a ``*`` around it, the columns are those that it names: no identifier is fetched for it.
    """
    for star in statement.find_all(exp.Star):
        query = star.find_ancestor(exp.Select)
        if isinstance(star.parent, exp.Count) or query is None or _is_named_around(query):
            continue
        for part in (query.args.get("from_"), *(query.args.get("joins") or [])):
            if part is not None and isinstance(part.this, exp.Table):
                yield part.this


def _is_named_around(query: exp.Select) -> bool:
    """Tell whether a query stands in the FROM of another one that names each column that it takes of it."""
    around, place = query.parent_select, query.parent
    if around is None or query.args.get("distinct") or not isinstance(place, exp.Subquery):
        return False
    if not isinstance(place.parent, exp.From | exp.Join):
        return False
    takes_all = any(isinstance(value, exp.Star) or value.is_star for value in around.expressions)
    return not takes_all or _is_named_around(around)
