"""``anonymize``: from a table and a policy to a release."""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kanon_sql.classes.frequency import build_frequency
from kanon_sql.classes.recoding import Local
from kanon_sql.engine.base import closed_on_error
from kanon_sql.engine.duckdb.connection import waited
from kanon_sql.engine.keys import draw_key, read_key, require_apart
from kanon_sql.engine.progress import Listener, Progress, allow_to_finish, silent, timed, within
from kanon_sql.engine.sources.addresses import DatabaseAddress
from kanon_sql.engine.sources.open_source import Source, open_source
from kanon_sql.engine.sources.preparing import with_prepared
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import NoSolutionError, UsageError
from kanon_sql.measures.cell_measures import CELL_MEASURES
from kanon_sql.measures.quality import PartTables, measure_recoding
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.models.population import KMap
from kanon_sql.policy.algorithms import algorithms_of
from kanon_sql.policy.destination import named_table, origin_of
from kanon_sql.policy.gate import require_nothing_tells
from kanon_sql.policy.policy import Policy, make_policy, with_settings
from kanon_sql.policy.profile.preparing import with_dates
from kanon_sql.release.pseudonyms import pseudonyms_of, published_columns
from kanon_sql.release.publication import Publication, forget_replaced, make_replaced
from kanon_sql.release.release import Release
from kanon_sql.release.statements.release import readable_lookups
from kanon_sql.release.verify.pseudonyms import k_of_rows, leave_out
from kanon_sql.search.prepare import Prepared, prepare_source, problem_of
from kanon_sql.search.problem import LISTABLE, UNLISTED_SECONDS, SearchResult, SharedTests, rows_allowed_by
from kanon_sql.search.run import search
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.keys import Key
    from kanon_sql.hierarchy.spec import Hierarchies
    from kanon_sql.measures.base import Cost
    from kanon_sql.measures.quality import ClassCounts
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.roles import Rest
    from kanon_sql.search.problem import Problem


_FINISHING = 1.5  # seconds that measuring, publishing and verifying take, for each second of preparing
_FINISHING_PARTS = 2.0  # the same of other than full-domain recodings
_FINISHING_STEPS = 1.5  # further seconds for these, whose statements are long; half of the time at most
_FINISHING_SUBSET = 0.003  # for each subset of columns whose classes are counted
_MOST_FOR_FINISHING = 0.8  # of the time that is left when the search begins
_ROW_GROUP = 122_880  # rows that DuckDB gives to one thread at a time
_FEW_TUPLES = 1 << 15  # of which a test of several nodes at once is soon done


@with_settings
def anonymize(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    quasi_identifiers: Sequence[str] = (),
    identifying: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    pseudonymize: Sequence[str] = (),
    rest: Rest | None = None,
    entity: str | None = None,
    k: int | None = None,
    models: Sequence[PrivacyModel] | None = None,
    population: str | None = None,
    hierarchies: Hierarchies | None = None,
    prepare: Mapping[str, str | Sequence[str]] | None = None,
    publish: Mapping[str, str | Sequence[str]] | None = None,
    levels: Mapping[str, str | int] | None = None,
    hold_out: float | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
    progress: Listener | None = None,
    **settings: Any,  # noqa: ANN401 - each of its own kind, which the policy checks
) -> Release:
    """Return the release of a table that loses least.

    Args:
        source: path of a DuckDB, CSV, Parquet, JSON or Excel file; a DuckDB connection; a pandas, polars or Arrow
            table. May be left out where the policy names it.
        table: the table in a database; may be left out where there is one only.
        quasi_identifiers: columns that together could tell who a row is about; they are generalized.
        identifying: columns that tell who a row is about by themselves; they are never published.
        sensitive: columns that must not be learned about a person; published as they are.
        insensitive: other columns that are published as they are.
        pseudonymize: identifying columns that are published as pseudonyms, one for each value.
        rest: what happens to columns that were not named: "keep" or "drop"; without it they are an error.
        k: the smallest class that may be published; 5 if neither this nor ``models`` says so.
        models: what every published class must satisfy, such as ``[DistinctLDiversity(3)]``, beside ``k``.
        entity: the column that names the person that a row is about; k counts people by it, and it is never published.
        population: the table, or the file, that ``KMap`` and ``DeltaPresence`` compare with.
        hierarchies: for columns, a rule, a file, a mapping from a value to its label or its list of labels, or a data
            frame with the value first; or a directory with hierarchy files. A column without one gets
            one that is stored in the database, or the one that ``init_policy`` would write.
        prepare: by column, a rule or a list of rules that come before all else, such as ``"decimal:,"``; by the name
            of a new column, an expression over the others (see ``kanon_sql.engine.sources.preparing``).
        publish: for columns that are kept, the rule by which they are published, such as "round:100"; or several.
        levels: for quasi-identifiers, the level that full-domain recoding may choose, or a range: 2, "..2", "1..".
        hold_out: the share of people (of rows, where rows are counted) that are kept apart as a control group for
            ``attack``; the release is made of the rest, and ``Release.held_out_to_file`` writes them.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        resources: what may be taken of the machine; a connection has settings of its own.
        progress: called as the work goes on.
        settings: those of ``kanon settings`` by their names, such as ``max_suppressed`` and ``algorithm``.

    Raises:
        UsageError: a setting or a column is wrong; or several rows are of one person, and there is no entity.
        SourceError: the source or a hierarchy cannot be read.
        NoSolutionError: no release satisfies the models.
        TimeLimitError: the time limit ended before there was a release.
    """
    requested = make_policy(
        policy,
        quasi_identifiers=quasi_identifiers,
        identifying=identifying,
        sensitive=sensitive,
        insensitive=insensitive,
        pseudonymize=pseudonymize,
        rest=rest,
        entity=entity,
        hierarchies=hierarchies,
        prepare=prepare,
        publish=publish,
        levels=levels,
        k=k,
        models=models,
        population=population,
        **settings,
    )
    begun = time.monotonic()
    with within(requested.time_limit, begun), computing_in(requested.time_zone):
        opened, requested = open_requested(source, table, requested, resources)
        with closed_on_error(opened.engine):
            if hold_out is not None:
                from kanon_sql.release.hold_out import held_out

                opened = held_out(opened, requested, hold_out)
            return make_release(opened, requested, progress or silent, begun)


def open_requested(
    source: Any,  # noqa: ANN401 - as for ``anonymize``
    table: str | None,
    policy: Policy,
    resources: Resources | None,
) -> tuple[Source, Policy]:
    """Open and prepare the table of a call, and return the policy with the rules for its dates and its origin."""
    source, table = named_table(source, table, policy.origin)
    opened = waited(lambda: open_source(source, table, resources=resources))
    with closed_on_error(opened.engine):
        opened, policy = with_dates(with_prepared(opened, policy.prepare), policy)
        return opened, replace(policy, origin=origin_of(source, table, opened))


def make_release(
    source: Source,
    policy: Policy,
    progress: Listener,
    begun: float | None = None,
    shared_tests: SharedTests | None = None,
) -> Release:
    """Return the release of an open source, whose time limit began at ``begun``.

    ``shared_tests`` keep node tests for further searches with other k.
    """
    begun = time.monotonic() if begun is None else begun
    with within(policy.time_limit, begun):
        if policy.publish:
            from kanon_sql.release.published_rules import refuse_in_warehouse

            refuse_in_warehouse(source, policy)
        _key_of(policy, source)  # read again later: the work may be long, and what is wrong with it is said before it
        prepared = prepare_source(source, policy, lambda doing: progress(Progress(doing)))
        return release_of(replace(prepared, shared_tests=shared_tests), policy, progress, begun)


def release_of(prepared: Prepared, policy: Policy, progress: Listener, begun: float | None = None) -> Release:
    """Return the release of a prepared table under a policy; the table is not read again."""
    begun = time.monotonic() if begun is None else begun
    with within(policy.time_limit, begun):
        if policy.time_limit is not None and prepared.source.engine.in_transaction():
            raise UsageError(
                "The connection has a transaction open, and stopping a statement when time is up would undo it: commit "
                "it or roll it back first, or leave time_limit out."
            )
        key = _key_of(policy, prepared.source)
        seconds = dict(prepared.seconds)
        policy = policy if policy.seed is not None else replace(policy, seed=secrets.randbits(31))
        policy = replace(policy, models=prepared.resolved(policy.models))
        release = _searched(prepared, policy, key, progress, seconds, begun)
        if release.publication.pseudonyms is None:
            return release
        allowed = rows_allowed_by(policy, prepared.frequency.rows)
        with timed(seconds, "pseudonyms"):
            settled = _leave_out_tied(release)
        if settled.rows_suppressed > allowed and release.rows_suppressed:
            # What classes that are too small use up may be what people tied too closely need.
            strict = _searched(prepared, replace(policy, max_suppressed="0 rows"), key, progress, seconds, begun)
            with timed(seconds, "pseudonyms"):
                settled = replace(_leave_out_tied(strict), policy=policy)
        if settled.rows_suppressed > allowed:
            raise NoSolutionError(_too_many_tied(settled, allowed))
        return replace(settled, spent=time.monotonic() - begun)


def _searched(
    prepared: Prepared,
    policy: Policy,
    key: Key,
    progress: Listener,
    seconds: dict[str, float],
    begun: float,
) -> Release:
    """Return the release that a search finds, with pseudonyms, before it is checked what these tie together."""
    with timed(seconds, "search"):
        result = _search(prepared, policy, progress, begun)
    if policy.time_limit is not None:
        allow_to_finish(policy.time_limit, begun)
    progress(Progress("Measuring"))
    with timed(seconds, "measure"):
        measures, counts = measured(prepared, policy, result.recoding, result.classes, result.models)
    with timed(seconds, "gate"):
        require_nothing_tells(prepared.source, policy, prepared.roles, result.recoding)
    publication = publication_of(prepared, policy, result.recoding, key)
    if (known := known_subsets_of(policy.models)) is not None:
        from kanon_sql.release.kept_classes import make_kept

        publication = replace(publication, kept=make_kept(prepared.source.engine, publication, known))
    spent = time.monotonic() - begun
    return Release(policy, prepared, result, publication, measures, counts, seconds, spent)


def publication_of(prepared: Prepared, policy: Policy, recoding: Recoding, key: Key) -> Publication:
    """Return what is published of a prepared table by a recoding, with pseudonyms and rules made with a key."""
    source, roles = prepared.source, prepared.roles
    rules = None
    if policy.publish:
        from kanon_sql.release.published_rules import published_rules_of

        rules = published_rules_of(source, policy, roles, key)
    pseudonyms = pseudonyms_of(source, roles, key, None if rules is None else rules.view)
    columns = published_columns(source.columns, roles)
    replaced = None if source.in_warehouse else pseudonyms or rules
    return Publication(
        source=source.relation if replaced is None else replaced.view,
        columns=columns if rules is None else rules.typed(columns),
        roles=roles,
        hierarchies=prepared.hierarchies,
        recoding=recoding,
        models=policy.models,
        seed=policy.seed or 0,
        combinations=source.engine.temporary_name("kanon_combinations"),
        trees=prepared.sensitive_hierarchies,
        population=None if prepared.population is None else prepared.population[0].relation,
        pseudonyms=pseudonyms,
        rules=rules,
    )


def _leave_out_tied(release: Release) -> Release:
    """Return a release without the people whose combination of classes fewer than k have (see ``verify.pseudonyms``).

    1. Make the release; leave out the pseudonyms that it ties too closely, all rows of each; and so on, until there are
       none: without these, others may be among too few.
    2. Count the frequency set of the rows that are left, recode it as before, and measure it against the whole table.

    Nothing is left out of a table in parts, whose boxes would lose rows, nor under models beyond k, which bound nothing
    that several rows tell together: these releases are verified as they are.
    """
    publication, prepared, engine = release.publication, release.prepared, release.prepared.source.engine
    recoding, models = publication.recoding, publication.models
    beyond_k = any(not isinstance(model, KAnonymity) for model in models)
    if publication.pseudonyms is None or recoding.is_partition or beyond_k:
        return release
    # 1. Leave out, round by round.
    looking = replace(publication, pseudonyms=replace(publication.pseudonyms, rounds=1))
    make_replaced(engine, looking)
    try:
        lookups = readable_lookups(publication.hierarchies)
        rounds = people = 0
        while found := leave_out(engine, looking, lookups):
            rounds, people = rounds + 1, people + found
        if not rounds:
            return release
        # 2. Measure what is left.
        from kanon_sql.search.local.remaining import Remaining

        view, roles = publication.source, prepared.roles
        frequency = build_frequency(engine, view, prepared.hierarchies, roles.entity)
        remaining = Remaining(replace(problem_of(prepared, release.policy), frequency=frequency))
        changed = [bool(remaining.publish(node)) for node in recoding.nodes]
        of_steps = iter(remaining.published)
        measures, counts = measure_recoding(
            prepared.frequency,
            remaining.relation,
            Local(tuple(remaining.steps)),
            prepared.coded(models),
            prepared.hierarchies,
            prepared.labels,
            [prepared.costs_of(name) for name in CELL_MEASURES],
            release.policy.k,
        )
        remaining.close()
        for table in (remaining.relation, frequency.relation):
            engine.run(sql.drop(table), "drop what the release was measured from")
    finally:
        forget_replaced(engine, looking)
    if release.levels is None:  # a local recoding
        published = tuple(next(of_steps) if some else 0 for some in changed)
    else:
        published = release.result.published
        measures["distortion"] = release.measures["distortion"]
        counts = replace(counts, labels=release.counts.labels)
    gone = prepared.frequency.rows - frequency.rows
    without = replace(publication.pseudonyms, rounds=rounds, people_left_out=people, rows_left_out=gone)
    # Nothing is proven of a release without some people: other nodes were not searched for what they tie together.
    result = replace(release.result, suppressed=counts.suppressed, cost=None, bound=None, published=published)
    return replace(
        release, result=result, publication=replace(publication, pseudonyms=without), measures=measures, counts=counts
    )


def _too_many_tied(release: Release, allowed: int) -> str:
    """Return the message: without the people whose classes reveal them, a release suppresses too much."""
    pseudonyms, rows, suppressed = release.publication.pseudonyms, release.rows_in, release.rows_suppressed
    if pseudonyms is None:
        raise TypeError("The release has no pseudonyms")
    k = k_of_rows(release.publication.models)
    columns = " and ".join(map(repr, pseudonyms.names))
    found = (
        f"{pseudonyms.people_left_out:,} pseudonyms of column {columns} tie rows to a combination of classes that "
        f"fewer than {k} pseudonyms have. Without these people {suppressed:,} of {rows:,} rows are suppressed, and "
        f"{allowed:,} may be: "
    )
    share = math.ceil(suppressed / rows * 10_000) / 10_000
    more = f"allow more (--max-suppressed {share:g}), " if suppressed < rows and share < 1 else ""
    return (
        f"{found}{more}make one row of each person, generalize what differs between the rows of a person, or leave the "
        "pseudonyms out. Nothing was written."
    )


def _key_of(policy: Policy, source: Source) -> Key:
    """Return the key of pseudonyms: that of the file, or one that is drawn for this release."""
    if policy.key_file is None:
        return draw_key()
    held = source.address.file if isinstance(source.address, DatabaseAddress) else None
    require_apart(policy.key_file, [source.database, source.file, held], "what is anonymized")
    return read_key(policy.key_file)


def measured(
    prepared: Prepared,
    policy: Policy,
    recoding: Recoding,
    classes: exp.Table | PartTables,
    models: Sequence[PrivacyModel] | None = None,
) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of a recoding, and drop what it was measured from (see ``SearchResult``).

    ``models`` are those of the policy as conditions on the classes of a node, where they are not by themselves.
    """
    of_node = [model.population for model in models or () if isinstance(model, KMap) and model.population is not None]
    frequency, labels = prepared.frequency, prepared.labels
    charges = [prepared.costs_of(name) for name in CELL_MEASURES]
    models = prepared.coded(policy.models) if models is None else models
    hierarchies = prepared.hierarchies
    found = measure_recoding(frequency, classes, recoding, models, hierarchies, labels, charges, policy.k)
    for table in (*(classes.tables if isinstance(classes, PartTables) else (classes,)), *of_node):
        if table != frequency.relation:
            frequency.engine.run(sql.drop(table), "drop what the release was measured from")
    return found


def _search(prepared: Prepared, policy: Policy, progress: Listener, begun: float) -> SearchResult:
    problem = problem_of(prepared, policy)
    few = prepared.frequency.rows <= _ROW_GROUP and prepared.frequency.tuples <= _FEW_TUPLES
    prepared.source.engine.work_alone(alone=few and prepared.population is None)
    if policy.time_limit is None:
        deadline = _default_end(prepared, policy, problem)
    else:
        deadline = _search_until(prepared, policy, policy.time_limit, begun)

    def report(nodes_tested: int, best: Cost | None, bound: Cost | None) -> None:
        value, least = (None if cost is None else problem.objective.value(cost) for cost in (best, bound))
        progress(Progress("Searching", nodes_tested, value, least, policy.measure))

    progress(Progress("Searching"))
    return search(problem, policy.algorithm, deadline=deadline, progress=report)


def _default_end(prepared: Prepared, policy: Policy, problem: Problem) -> float | None:
    """Return when a search for the optimum ends without a time limit: a lattice that cannot be listed may take years.

    A transaction of the caller is not stopped: it would be lost.
    """
    endless = policy.algorithm == "optimal" and problem.lattice.size > LISTABLE
    return time.monotonic() + UNLISTED_SECONDS if endless and not prepared.source.engine.in_transaction() else None


def _search_until(prepared: Prepared, policy: Policy, limit: float, begun: float) -> float:
    """Return when the search ends so that what it found can be measured, published and verified within the limit.

    That reads the table about as often as preparing it did, and builds statements as long; so the time that is left for
    it goes by what preparing took, but is no more than the greater part of what remains.
    """
    is_full_domain = policy.algorithm in algorithms_of("full-domain")
    now = time.monotonic()
    left = begun + limit - now
    finishing = (_FINISHING if is_full_domain else _FINISHING_PARTS) * sum(prepared.seconds.values())
    if (known := known_subsets_of(policy.models)) is not None:
        finishing += _FINISHING_SUBSET * known.subsets(len(prepared.roles.quasi_identifiers))
    if not is_full_domain:
        finishing += min(_FINISHING_STEPS, left / 2)
    return now + left - min(finishing, _MOST_FOR_FINISHING * left)
