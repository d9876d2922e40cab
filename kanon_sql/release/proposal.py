"""``init_policy``: write a commented kanon.toml from a profile, after trying its release on a sample of the rows.

A trial publishes nothing. It reports the loss of the release, which algorithm loses less, and what each
quasi-identifier costs the others, all with figures of the sample.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import names, resolve_columns
from kanon_sql.engine.files import require_free
from kanon_sql.engine.progress import silent
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.engine.sources.preparing import rules_of
from kanon_sql.errors import KanonError
from kanon_sql.measures.shares import MUCH_LOST, others_lose
from kanon_sql.policy.destination import origin_of
from kanon_sql.policy.policy import parse_policy
from kanon_sql.policy.profile.profiler import POLICY_FILE, proposal_of, rows_to_look_at, write_init
from kanon_sql.policy.profile.result import Trial
from kanon_sql.policy.profile.standards import smallest_class_for
from kanon_sql.policy.standards import standards_named
from kanon_sql.release.anonymize import release_of
from kanon_sql.release.remedies import quality_of, without_column
from kanon_sql.search.prepare import prepare_source

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.profile.result import Profile

MOST_ROWS_TRIED = 20_000
SECONDS_OF_A_SEARCH = 10.0
SECONDS_OF_A_TRIAL = 20.0
"""No column is tried after this time."""


def init_policy(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any,  # noqa: ANN401 - as for ``profile``
    table: str | None = None,
    *,
    out: str | os.PathLike[str] = POLICY_FILE,
    replace: bool = False,
    k: int | None = None,
    standards: Sequence[str] = (),
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    entity: str | None = None,
    sample: int | None = None,
    prepare: Mapping[str, str | Sequence[str]] | None = None,
    resources: Resources | None = None,
) -> Profile:
    """Write a commented policy file from a profile, after a trial on at most 20,000 rows; return the profile.

    Args:
        source: as for ``anonymize``.
        table: the table in a database.
        out: the file.
        replace: whether to replace an existing file.
        k: the smallest class to write into the file. Default: 5, or the requirement of the standards.
        standards: names of standards, such as "hipaa-safe-harbor". Columns that their rules do not allow are left out
            or replaced.
        quasi_identifiers: as for ``profile``.
        sensitive: as for ``profile``; other candidates are written after ``# decide:``, and not published.
        entity: as for ``profile``.
        sample: as for ``profile``.
        prepare: as for ``profile``; all rules are written into the file.
        resources: as for ``profile``.

    Raises:
        UsageError: the file exists, a standard requires a larger k, or as for ``profile``.
        SourceError: the source cannot be read, or the file cannot be written.
    """
    path = Path(out)
    require_free(path, replace=replace)
    standards = standards_named(names(standards))
    smallest = smallest_class_for(k, standards)
    opened = open_source(source, table, resources=resources)
    try:
        known: dict[str, Any] = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "entity": entity}
        opened, found = proposal_of(opened, rules_of(prepare or {}), standards, **known, sample=sample)
        found = with_trial(found, opened, k=smallest)
        return write_init(found, opened, path, origin_of(source, table, opened), k=smallest, replace_existing=replace)
    finally:
        opened.engine.close()


def with_trial(found: Profile, source: Source, *, k: int) -> Profile:
    """Return a profile with the trial of its policy; without one if it has no rows or no quasi-identifiers."""
    if not found.rows or not found.quasi_identifiers:
        return found
    policy, _ = parse_policy(found.to_toml(k=k), Path(POLICY_FILE))
    person = None if found.entity is None else resolve_columns([found.entity], source.columns, source.name)[0]
    relation, sampled = rows_to_look_at(source, person, MOST_ROWS_TRIED)
    tried = replace(source, relation=relation, warehouse=None) if sampled else source
    rows = min(found.rows, MOST_ROWS_TRIED)
    try:
        return replace(found, trial=_trial(tried, policy, sampled=sampled))
    except KanonError as error:
        return replace(found, trial=Trial(rows, sampled=sampled, refused=str(error)))


def _trial(source: Source, policy: Policy, *, sampled: bool) -> Trial:
    """Return the outcome of a policy: its loss by algorithm, and for each column the loss of the others.

    There are two of these: with the column, and without it (pinned at its root). The frequency set is counted once for
    all searches.
    """
    begun = time.monotonic()
    policy = replace(policy, prepare={}, time_limit=SECONDS_OF_A_SEARCH)
    prepared = prepare_source(source, policy, silent)
    columns = [column.name for column in prepared.roles.quasi_identifiers]
    found = release_of(prepared, policy, silent)
    losses, without = {policy.algorithm: found.loss}, dict[str, tuple[float, float]]()
    weights = prepared.weights(policy)
    if policy.choice_made is None:
        if found.loss > MUCH_LOST:
            local = quality_of(prepared, replace(policy, algorithm="local"), time.monotonic() + SECONDS_OF_A_SEARCH)
            if local is not None:
                losses["local"] = local.values["loss"] or 0.0
        for place, (name, height) in enumerate(zip(columns, prepared.lattice.heights, strict=True)):
            if len(columns) > 1 and time.monotonic() - begun < SECONDS_OF_A_TRIAL:
                end = time.monotonic() + SECONDS_OF_A_SEARCH
                pinned = quality_of(prepared, without_column(policy, name, height), end)
                if pinned is not None:
                    lose = [others_lose(each, place, weights) for each in (found.losses, pinned.by_column["loss"])]
                    without[name] = lose[0], lose[1]
    return Trial(prepared.frequency.rows, sampled=sampled, losses=losses, without=without)
