"""``anonymize``: from a table and a policy to a release."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql import sql
from kanon_sql.engine.addresses import DatabaseAddress
from kanon_sql.engine.sources import Source, open_source
from kanon_sql.errors import NoSolutionError, UsageError
from kanon_sql.keys import draw_key, read_key, require_apart
from kanon_sql.measures.cells import CELL_MEASURES
from kanon_sql.measures.partition import PartTables
from kanon_sql.measures.recoding import measure_recoding
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy import DEFAULT_K, DEFAULT_MAX_SUPPRESSED, Policy, SearchOn, read_policy
from kanon_sql.preparation import Prepared, prepare_source
from kanon_sql.progress import Listener, Progress, silent
from kanon_sql.pseudonyms import pseudonyms_of, published_columns
from kanon_sql.publication import Publication
from kanon_sql.release import Release
from kanon_sql.roles import NamedColumns, names
from kanon_sql.search.base import SAMPLE_RATE, Problem, SearchResult, rows_allowed
from kanon_sql.search.run import search
from kanon_sql.timing import timed

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kanon_sql.engine.resources import Resources
    from kanon_sql.keys import Key
    from kanon_sql.measures.base import Cost
    from kanon_sql.measures.summary import ClassCounts
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
    pseudonymize: Sequence[str] = (),
    key_file: str | os.PathLike[str] | None = None,
    rest: Rest | None = None,
    models: Sequence[PrivacyModel] | None = None,
    population: str | None = None,
    hierarchies: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
    max_suppressed: float | str = DEFAULT_MAX_SUPPRESSED,
    algorithm: str = "optimal",
    measure: str = "loss",
    time_limit: float | None = None,
    sample_rate: float | None = None,
    choose: str | None = None,
    cut: str | None = None,
    labels: str | None = None,
    numbers: str | None = None,
    pairs: int | None = None,
    search_on: SearchOn = "workbench",
    seed: int | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
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
        pseudonymize: identifying columns that are published as pseudonyms, one for each value.
        key_file: the file with the key that makes pseudonyms; without it a key is drawn for this release alone.
        rest: what happens to columns that were not named: "keep" or "drop"; without it they are an error.
        models: what every published class must satisfy; by default ``KAnonymity(5)``.
        population: the table, or the file, that ``KMap`` and ``DeltaPresence`` compare with.
        hierarchies: for columns, a rule or a file; or a directory with hierarchy files. A column without one gets
            one that is stored in the database, or the one that ``init_policy`` would write.
        max_suppressed: the share of rows that may be suppressed, 0 to 1; or a number of them, such as "25 rows", or
            "k rows".
        algorithm: how to search: "optimal", "incognito", "samarati", "samarati-first", "datafly", "local", "spolg",
            "mondrian" or "mondrian-plus".
        measure: what to lose least of: "loss", "gcp", "precision" or "nonuniform_entropy"; or, for full-domain
            recoding, "discernibility" or "average_class_size".
        time_limit: seconds after which the best release so far is taken, with its proven gap.
        sample_rate: the share of rows on which "spolg" chooses its path; 0.01 if not given.
        choose: the column that "mondrian" cuts a part in: "range" (default), "distinct", "loss" or "random".
        cut: where Mondrian cuts it: "strict" (at the median), "relaxed" (in half) or "node" (of a tree).
        labels: how Mondrian writes the texts of a part: "tree" (default), "set" or "range".
        numbers: how it writes numbers and dates: "range" (default), "mean" or "median".
        pairs: how often "mondrian-plus" goes through pairs of parts at the end, to cut them anew together.
        search_on: where the search runs when the table is in PostgreSQL or Spark: on the "workbench", which fetches its
            distinct tuples, or on the "warehouse" itself.
        seed: of the order of rows, and of random choices; drawn when not given.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        resources: what may be taken of the machine; a connection has settings of its own.
        progress: called as the work goes on.

    Raises:
        UsageError: a setting or a column is wrong.
        SourceError: the source or a hierarchy cannot be read.
        NoSolutionError: no release satisfies the models.
    """
    asked = make_policy(
        policy,
        quasi_identifiers=quasi_identifiers,
        identifying=identifying,
        sensitive=sensitive,
        insensitive=insensitive,
        pseudonymize=pseudonymize,
        key_file=key_file,
        rest=rest,
        hierarchies=hierarchies,
        models=models,
        population=population,
        max_suppressed=max_suppressed,
        algorithm=algorithm,
        measure=measure,
        time_limit=time_limit,
        sample_rate=sample_rate,
        choose=choose,
        cut=cut,
        labels=labels,
        numbers=numbers,
        pairs=pairs,
        search_on=search_on,
        seed=seed,
    )
    opened = open_source(source, table, resources=resources)
    try:
        return make_release(opened, asked, progress or silent)
    except BaseException:
        opened.engine.close()
        raise


def make_release(source: Source, policy: Policy, progress: Listener) -> Release:
    """Return the release of an open source that a policy asks for."""
    _key_of(policy, source)  # read again later: the work may be long, and what is wrong with the key is said before it
    prepared = prepare_source(source, policy, lambda doing: progress(Progress(doing)))
    return release_of(prepared, policy, progress)


def release_of(prepared: Prepared, policy: Policy, progress: Listener) -> Release:
    """Return the release of a prepared table that a policy asks for; the table is not read again."""
    if policy.time_limit is not None and prepared.source.engine.in_transaction():
        raise UsageError(
            "The connection has a transaction open, and stopping a statement when time is up would undo it: commit it "
            "or roll it back first, or leave time_limit out."
        )
    key = _key_of(policy, prepared.source)
    seconds = dict(prepared.seconds)
    policy = policy if policy.seed is not None else replace(policy, seed=secrets.randbits(31))
    policy = replace(policy, models=prepared.resolved(policy.models))
    with timed(seconds, "search"):
        result = _search(prepared, policy, progress)
    progress(Progress("Measuring"))
    with timed(seconds, "measure"):
        measures, counts = _measured(prepared, policy, result)
    if prepared.frequency.rows and not counts.rows:
        raise NoSolutionError(
            f"In what {policy.algorithm} found, every class fails what is asked of it: all {prepared.frequency.rows:,} "
            "rows would be suppressed, and an empty table is no release. Ask for less, or let less be suppressed "
            "(--max-suppressed)."
        )
    source, roles = prepared.source, prepared.roles
    pseudonyms = pseudonyms_of(source, roles, key)
    publication = Publication(
        source=source.relation if pseudonyms is None else pseudonyms.view,
        columns=published_columns(source.columns, roles),
        roles=roles,
        hierarchies=prepared.hierarchies,
        recoding=result.recoding,
        models=policy.models,
        seed=policy.seed or 0,
        combinations=source.engine.temporary_name("kanon_combinations"),
        trees=prepared.sensitive_hierarchies,
        population=None if prepared.population is None else prepared.population[0].relation,
        pseudonyms=pseudonyms,
    )
    return Release(policy, prepared, result, publication, measures, counts, seconds)


def _key_of(policy: Policy, source: Source) -> Key:
    """Return the key of a release's pseudonyms: the one in the file, or one that is drawn for it."""
    if policy.key_file is None:
        return draw_key()
    held = source.address.file if isinstance(source.address, DatabaseAddress) else None
    require_apart(policy.key_file, [source.database, source.file, held], "what is anonymized")
    return read_key(policy.key_file)


def _measured(prepared: Prepared, policy: Policy, result: SearchResult) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of what a search found, and drop what it was measured from."""
    frequency, labels = prepared.frequency, prepared.labels
    charges = [prepared.costs_of(name) for name in CELL_MEASURES]
    classes = result.classes
    models = prepared.coded(policy.models)
    found = measure_recoding(frequency, classes, result.recoding, models, labels, charges, policy.k)
    for table in classes.tables if isinstance(classes, PartTables) else (classes,):
        if table != frequency.relation:
            frequency.engine.run(sql.drop(table), "drop what the release was measured from")
    return found


def problem_of(prepared: Prepared, policy: Policy) -> Problem:
    """Return what is to be searched for a policy.

    Raises:
        UsageError: people are to be counted in a table that was prepared to count rows, or the other way round.
    """
    frequency = prepared.frequency
    counting = [model for model in policy.models if isinstance(model, KAnonymity)]
    if counting and any(model.entity is not None for model in counting) != frequency.counts_people:
        raise UsageError("The table was prepared to count other members of a class: give prepare() the same entity.")
    limit = rows_allowed(policy.max_suppressed, frequency.rows, policy.k)
    rate = SAMPLE_RATE if policy.sample_rate is None else policy.sample_rate
    objective = prepared.objective(policy.measure)
    cutting = policy.cutting
    places = () if cutting is None else prepared.places()
    models = prepared.coded(prepared.resolved(policy.models))
    return Problem(frequency, prepared.lattice, models, objective, prepared.labels, limit, rate, cutting, places)


def _search(prepared: Prepared, policy: Policy, progress: Listener) -> SearchResult:
    deadline = None if policy.time_limit is None else time.monotonic() + policy.time_limit
    problem = problem_of(prepared, policy)

    def report(nodes_tested: int, best: Cost | None, bound: Cost | None) -> None:
        value, least = (None if cost is None else problem.objective.value(cost) for cost in (best, bound))
        progress(Progress("Searching", nodes_tested, value, least, policy.measure))

    progress(Progress("Searching"))
    return search(problem, policy.algorithm, deadline=deadline, progress=report)


def make_policy(  # noqa: PLR0913 - the settings of the public calls
    policy: Policy | str | os.PathLike[str] | None,
    *,
    quasi_identifiers: Sequence[str] = (),
    identifying: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    pseudonymize: Sequence[str] = (),
    key_file: str | os.PathLike[str] | None = None,
    rest: Rest | None = None,
    entity: str | None = None,
    hierarchies: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
    models: Sequence[PrivacyModel] | None = None,
    **settings: Any,  # noqa: ANN401 - of a Policy, which refuses what it does not know
) -> Policy:
    """Return the policy that was given, or read from a file, or the one that settings make.

    Raises:
        UsageError: a setting is wrong.
    """
    if isinstance(policy, Policy):
        return policy
    if policy is not None:
        return read_policy(Path(policy))[0]
    in_directory = hierarchies is not None and not isinstance(hierarchies, Mapping)
    columns = NamedColumns(
        names(identifying),
        names(quasi_identifiers),
        names(sensitive),
        names(insensitive),
        rest,
        entity,
        names(pseudonymize),
    )
    return Policy(
        columns=columns,
        models=tuple(models) if models is not None else (KAnonymity(DEFAULT_K),),
        hierarchies=_rules(hierarchies) if isinstance(hierarchies, Mapping) else {},
        hierarchy_directory=Path(hierarchies) if in_directory else None,  # type: ignore[arg-type]  # a path then
        key_file=None if key_file is None else Path(key_file),
        **settings,
    )


def _rules(hierarchies: Mapping[str, str | os.PathLike[str]]) -> dict[str, str]:
    return {column: str(rule) for column, rule in hierarchies.items()}
