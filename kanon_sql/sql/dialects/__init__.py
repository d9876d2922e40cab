"""Render expressions for each dialect: tables and small rules for what sqlglot does not know.

Statements are written once, with DuckDB's semantics. If a dialect lacks a form, a rule rewrites the tree before sqlglot
renders it. One statement may become several.
"""

from __future__ import annotations

from kanon_sql.sql.dialects.capabilities import (
    CAPABILITIES,
    capabilities_of,
    require_materialized_views,
    require_views,
)
from kanon_sql.sql.dialects.expressions import shuffled, sum_of_largest
from kanon_sql.sql.dialects.rendering import NATIVE, clean_up, render, rendered, script

__all__ = [
    "DIALECTS",
    "NATIVE",
    "capabilities_of",
    "clean_up",
    "render",
    "rendered",
    "require_materialized_views",
    "require_views",
    "script",
    "shuffled",
    "sum_of_largest",
]

DIALECTS = tuple(CAPABILITIES)
"""Dialects that statements can be rendered in."""
