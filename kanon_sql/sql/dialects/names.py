"""Names of columns and tables: quoted, and refused where a dialect cannot have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from kanon_sql.sql.dialects.capabilities import Capabilities


def national(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a text as one of Unicode, where a text without a mark has the letters of one code page."""
    foreign = isinstance(node, exp.Literal) and node.is_string and not node.this.isascii()
    return exp.National(this=node.this) if foreign and capabilities.sqlglot == "tsql" else node


def named(node: exp.Expr, capabilities: Capabilities) -> exp.Expr:
    """Return a name as a dialect writes it.

    Raises:
        UsageError: no column can be called so there.
    """
    if not isinstance(node, exp.Identifier):
        return node
    name = node.this
    if not name:
        raise UsageError(f"{capabilities.title} has no names of no characters: give the column a name in a view.")
    if any(character in capabilities.not_in_names for character in name):
        raise UsageError(
            f"{capabilities.title} has no column called {name!r}: give it a name of letters, digits and _ in a view."
        )
    return exp.Identifier(this=name, quoted=True) if capabilities.quotes else node
