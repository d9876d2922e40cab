"""``anonymize``: from a table and a policy to a release."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.sources import Source, open_source
from kanon_sql.measures.costs import level_costs
from kanon_sql.measures.loss import Loss
from kanon_sql.measures.summary import measure_node
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy import DEFAULT_K, DEFAULT_MAX_SUPPRESSED, Policy, read_policy
from kanon_sql.prepare import Prepared, prepare
from kanon_sql.progress import Listener, Progress, silent
from kanon_sql.publish import Publication
from kanon_sql.recoding import FullDomain
from kanon_sql.release import Release
from kanon_sql.roles import NamedColumns
from kanon_sql.search.base import Problem, SearchResult, rows_allowed
from kanon_sql.search.optimal import search_optimal
from kanon_sql.timing import timed

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.roles import Rest


def anonymize(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    quasi_identifiers: Sequence[str] = (),
    identifying: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    rest: Rest | None = None,
    models: Sequence[PrivacyModel] | None = None,
    hierarchies: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
    max_suppressed: float = DEFAULT_MAX_SUPPRESSED,
    algorithm: str = "optimal",
    measure: str = "loss",
    time_limit: float | None = None,
    seed: int | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    progress: Listener | None = None,
) -> Release:
    """Return the release of a table that loses least.

    Args:
        source: path of a DuckDB, CSV, Parquet or JSON file; a DuckDB connection; a pandas, polars or Arrow table.
        table: the table in a database; may be left out where there is one only.
        quasi_identifiers: columns that together could tell who a row is about; they are generalized.
        identifying: columns that tell who a row is about by themselves; they are never published.
        sensitive: columns that must not be learned about a person; published as they are.
        insensitive: other columns that are published as they are.
        rest: what happens to columns that were not named: "keep" or "drop"; without it they are an error.
        models: what every published class must satisfy; by default ``KAnonymity(5)``.
        hierarchies: for columns, a rule or a file; or a directory with hierarchy files. A column without one gets
            one that is stored in the database, or one chosen by its type.
        max_suppressed: the share of rows that may be suppressed, 0 to 1.
        algorithm: how to search.
        measure: what to lose least of.
        time_limit: seconds after which the best release so far is taken, with its proven gap.
        seed: of the order of rows; drawn when not given.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        progress: called as the work goes on.

    Raises:
        UsageError: a setting or a column is wrong.
        SourceError: the source or a hierarchy cannot be read.
        NoSolutionError: no release satisfies the models.
    """
    if policy is None:
        policy = Policy(
            columns=NamedColumns(
                tuple(identifying), tuple(quasi_identifiers), tuple(sensitive), tuple(insensitive), rest
            ),
            models=tuple(models) if models is not None else (KAnonymity(DEFAULT_K),),
            hierarchies=_rules(hierarchies) if isinstance(hierarchies, Mapping) else {},
            hierarchy_directory=None if hierarchies is None or isinstance(hierarchies, Mapping) else Path(hierarchies),
            max_suppressed=max_suppressed,
            algorithm=algorithm,  # type: ignore[arg-type]  # any text may come in; Policy refuses what is unknown
            measure=measure,  # type: ignore[arg-type]  # likewise
            time_limit=time_limit,
            seed=seed,
        )
    elif not isinstance(policy, Policy):
        policy, _ = read_policy(Path(policy))
    opened = open_source(source, table)
    try:
        return make_release(opened, policy, progress or silent)
    except BaseException:
        opened.engine.close()
        raise


def make_release(source: Source, policy: Policy, progress: Listener) -> Release:
    """Return the best release of an open source under a policy."""
    prepared = prepare(source, policy, lambda doing: progress(Progress(doing)))
    models = policy.models
    seconds = prepared.seconds
    with timed(seconds, "search"):
        result = _search(prepared, policy, progress)
    progress(Progress("Measuring"))
    with timed(seconds, "measure"):
        measures, counts = measure_node(
            prepared.frequency, result.classes, result.node, models, prepared.labels, policy.k
        )
    roles = prepared.roles
    published = {column.name for column in (*roles.quasi_identifiers, *roles.sensitive, *roles.insensitive)}
    publication = Publication(
        source=source.relation,
        columns=tuple(column for column in source.columns if column.name in published),
        roles=roles,
        hierarchies=prepared.hierarchies,
        recoding=FullDomain(result.node),
        models=models,
        seed=secrets.randbits(31) if policy.seed is None else policy.seed,
    )
    return Release(policy, prepared, result, publication, measures, counts, seconds)


def _search(prepared: Prepared, policy: Policy, progress: Listener) -> SearchResult:
    frequency = prepared.frequency
    deadline = None if policy.time_limit is None else time.monotonic() + policy.time_limit
    costs = level_costs(frequency.engine, prepared.labels, Loss(), frequency.rows)
    limit = rows_allowed(policy.max_suppressed, frequency.rows)
    problem = Problem(frequency, prepared.lattice, policy.models, costs, prepared.labels, limit)

    def report(nodes_tested: int, best: int | None, bound: int) -> None:
        loss = None if best is None else costs.value(best)
        progress(Progress("Searching", nodes_tested, loss, costs.value(bound)))

    progress(Progress("Searching"))
    return search_optimal(problem, deadline=deadline, progress=report)


def _rules(hierarchies: Mapping[str, str | os.PathLike[str]]) -> dict[str, str]:
    return {column: str(rule) for column, rule in hierarchies.items()}
