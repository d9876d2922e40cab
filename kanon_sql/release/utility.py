"""The utility of a release: the columns to compare, and the rows that test predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import find_column, resolve_columns
from kanon_sql.engine.progress import Progress
from kanon_sql.errors import UsageError
from kanon_sql.measures.utility.spread import ComparedColumn, UtilitySettings, checked_spread
from kanon_sql.policy.roles import resolve_quasi_identifiers
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.progress import Listener
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.measures.utility.utility import Utility
    from kanon_sql.policy.policy import Policy
    from kanon_sql.search.prepare import Prepared


@dataclass(frozen=True)
class WantedUtility:
    """The measures of utility that are requested."""

    settings: UtilitySettings
    control: Source | None = None  # people who are not in the release, in the types of the original


def utility_settings(
    *,
    utility: bool,
    target: str | None,
    spread: str | None,
    control: bool = False,
) -> UtilitySettings | None:
    """Return the settings of a call, or None if no utility is requested.

    Args:
        utility: whether to measure utility; the other settings need it.
        target: the column to predict.
        spread: how rows of a label are spread.
        control: whether there are rows to test predictions on.
    """
    if not utility:
        for option, given in (("--target", target), ("--spread", spread), ("--control", control or None)):
            if given is not None:
                raise UsageError(f"{option} says how utility is measured: add --utility, or leave it out.")
        return None
    if control and target is None:
        raise UsageError("--control has rows to test predictions on: name the predicted column with --target.")
    return UtilitySettings(target=target) if spread is None else UtilitySettings(checked_spread(spread), target)


def utility_against(
    original: Source,
    release: Source,
    policy: Policy,
    prepared: Prepared,
    wanted: WantedUtility,
    progress: Listener,
) -> Utility:
    """Return the utility of a release against its original; all tables are in one engine.

    It compares the quasi-identifiers, the target, and the sensitive columns that the release has unchanged.
    """
    from kanon_sql.measures.utility.utility import utility_of  # loads numpy

    settings, control = wanted.settings, wanted.control
    quasi_identifiers = policy.columns.quasi_identifiers
    pairs = zip(
        resolve_quasi_identifiers(quasi_identifiers, original.columns, original.name),
        resolve_quasi_identifiers(quasi_identifiers, release.columns, release.name),
        prepared.places(),
        strict=True,
    )
    columns = [ComparedColumn(own, released, places) for own, released, places in pairs]
    columns += _as_they_were(original, release, policy, settings.target, {column.name for column in columns})
    original.bring([column.original for column in columns])
    release.bring([column.released for column in columns])
    rows = None if control is None else _like_original(control, [column.original for column in columns])
    if settings.target is not None:  # as the original writes its name
        (target,) = resolve_columns([settings.target], original.columns, original.name)
        settings = UtilitySettings(settings.spread, target.name)
    return utility_of(
        original.engine,
        original.relation,
        release.relation,
        columns,
        settings,
        control=rows,
        tell=lambda doing: progress(Progress(doing)),
    )


def _as_they_were(
    original: Source, release: Source, policy: Policy, target: str | None, known: set[str]
) -> list[ComparedColumn]:
    """Return further columns to compare: the target, and sensitive columns that are published unchanged."""
    found: dict[str, ComparedColumn] = {}
    for name in policy.columns.sensitive:
        own, released = find_column(name, original.columns), find_column(name, release.columns)
        if own is not None and released is not None and own.name not in policy.publish:
            found[own.name] = ComparedColumn(own, released)
    if target is not None:
        (own,) = resolve_columns([target], original.columns, original.name)
        (released,) = resolve_columns([target], release.columns, release.name)
        found[own.name] = ComparedColumn(own, released)
    return [column for name, column in found.items() if name not in known]


def require_compared(control: Source, policy: Policy, target: str | None) -> None:
    """Raise if a control group lacks a column that may be compared: of the policy, or the target."""
    named = (*policy.columns.quasi_identifiers, *policy.columns.sensitive, *([] if target is None else [target]))
    if missing := [name for name in dict.fromkeys(named) if find_column(name, control.columns) is None]:
        raise UsageError(
            f"The control group {control.name} has no column {', '.join(map(repr, missing))}: it needs the "
            "quasi-identifiers, the sensitive columns and the target, as the original has them."
        )


def _like_original(control: Source, columns: list[Column]) -> exp.Subquery:
    """Return the rows of a control group, with columns of the original under its names."""
    found = resolve_columns([own.name for own in columns], control.columns, control.name)
    named = [sql.named(sql.column(there.name), own.name) for own, there in zip(columns, found, strict=True)]
    return exp.select(*named).from_(control.relation.copy()).subquery("source")
