"""Is what was named as the original the release? Then every figure of a report would be of the wrong table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import find_column
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.expressions import ROOT
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.destination import Destination
    from kanon_sql.policy.policy import Policy


def require_original(opened: Source, policy: Policy, in_file: Destination) -> None:
    """Raise if a source looks like the release of its policy, and not like the original.

    Raises:
        UsageError: it is the file that the policy publishes to; or it has the quasi-identifiers, but no column that
            names people; or all that a quasi-identifier has is the label that stands for everything.
    """
    if why := _why_a_release(opened, policy, in_file):
        raise UsageError(
            f"{opened.name} looks like the release: {why}. Name the original, and the release with --release: "
            f"kanon report ORIGINAL --release {opened.name}."
        )


def _why_a_release(opened: Source, policy: Policy, in_file: Destination) -> str | None:
    if in_file.out is not None and opened.file is not None and in_file.out.resolve() == opened.file.resolve():
        return "it is the file that the policy publishes to"
    named = policy.columns
    naming = list(dict.fromkeys([*named.identifying, *([named.entity] if named.entity is not None else [])]))
    quasi = [find_column(name, opened.columns) for name in named.quasi_identifiers]
    found = [column for column in quasi if column is not None]
    if len(found) < len(quasi) or not found:
        return None
    if naming and not any(find_column(name, opened.columns) for name in naming):
        return f"it has the quasi-identifiers, but not the identifying columns of the policy ({', '.join(naming)})"
    texts = [column.name for column in found if column.family == "text"]
    hidden = [name for name in texts if _has_only_roots(opened, name)]
    return f"{', '.join(hidden)} has no value but the label {ROOT}" if hidden else None


def _has_only_roots(opened: Source, name: str) -> bool:
    own = sql.column(name)
    is_root = exp.EQ(this=own, expression=sql.literal(ROOT))
    query = exp.select(sql.count_rows(), sql.where(sql.count_rows(), is_root)).from_(opened.relation.copy())
    rows, roots = opened.engine.row(query, f"is {name} a column of labels?")
    return bool(rows) and bool(rows == roots)
