"""``anonymize``: from a table and a policy to a release."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kanon_sql.classes.frequency import build_frequency
from kanon_sql.classes.recoding import Local
from kanon_sql.engine.base import closed_on_error
from kanon_sql.engine.duckdb.connection import waited
from kanon_sql.engine.keys import key_from, require_apart
from kanon_sql.engine.progress import Listener, Progress, TimedStep, allow_to_finish, silent, within
from kanon_sql.engine.sources.addresses import DatabaseAddress
from kanon_sql.engine.sources.open_source import Source, open_source
from kanon_sql.engine.sources.preparing import with_prepared
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import NoSolutionError, UsageError
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.policy.algorithms import algorithms_of
from kanon_sql.policy.destination import named_table, origin_of
from kanon_sql.policy.gate import require_nothing_tells
from kanon_sql.policy.policy import Policy, make_policy, with_settings
from kanon_sql.policy.profile.preparing import with_dates
from kanon_sql.release.pseudonyms import pseudonyms_of, published_columns
from kanon_sql.release.publication import Publication, with_replaced
from kanon_sql.release.release import Release, with_seed
from kanon_sql.release.statements.release import readable_lookups
from kanon_sql.release.verify.pseudonyms import k_of_rows, leave_out
from kanon_sql.search.prepare import Prepared, prepare_source, problem_of
from kanon_sql.search.problem import LISTABLE, SharedTests, end_of_search
from kanon_sql.search.run import search
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.keys import Key
    from kanon_sql.hierarchy.spec import Hierarchies
    from kanon_sql.measures.class_measures import Cost
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.roles import Rest
    from kanon_sql.release.pseudonyms import Pseudonyms


_FINISHING = 1.5  # seconds for measuring, publishing and verifying, for each second of preparing
_FINISHING_PARTS = 2.0  # the same for recodings other than full-domain
_FINISHING_STEPS = 1.5  # extra seconds for these, whose statements are long; at most half of the time
_FINISHING_SUBSET = 0.003  # seconds for each subset of columns whose classes are counted
_ROW_GROUP = 122_880  # rows that DuckDB gives one thread at a time
_FEW_TUPLES = 1 << 15  # testing several nodes at once is fast up to this number of tuples


@with_settings
def anonymize(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; see open_source
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
    weights: Mapping[str, float | Fraction | str] | None = None,
    hold_out: float | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
    progress: Listener | None = None,
    **settings: Any,  # noqa: ANN401 - each has its own type, which the policy checks
) -> Release:
    """Search for a release of a table by the chosen algorithm and measure.

    Args:
        source: path of a DuckDB, CSV, Parquet, JSON or Excel file; a DuckDB connection; a pandas, polars or Arrow
            table. Not needed if the policy names it.
        table: the table in a database. Not needed if the database has only one.
        quasi_identifiers: columns that could identify a person in combination; they are generalized.
        identifying: columns that identify a person directly; they are never published.
        sensitive: columns that must not be learned about a person; published unchanged.
        insensitive: other columns that are published unchanged.
        pseudonymize: identifying columns that are published as pseudonyms, one for each value.
        rest: "keep" or "drop" columns that were not named; without it they are an error.
        k: the smallest class that may be published. Default: 5, unless ``models`` has a k.
        models: requirements of every published class besides ``k``, such as ``[DistinctLDiversity(3)]``.
        entity: the column that names the person of a row. k counts people by it; its values are never published (at
            most pseudonyms of them).
        population: the table or file that ``KMap`` and ``DeltaPresence`` compare with.
        hierarchies: by column, a rule, a file, a mapping from a value to its label or list of labels, or a data frame
            with the value first; or a directory of hierarchy files. Default for a column: its hierarchy in the
            database, or the rule that ``init_policy`` would write.
        prepare: by column, a rule or a list of rules to apply first, such as ``"decimal:,"``; for a new column, an
            expression over the others (see ``kanon_sql.engine.sources.preparing``).
        publish: for kept columns, the rule or rules by which they are published, such as "round:100".
        levels: for quasi-identifiers, the level that full-domain recoding may choose, or a range: 2, "..2", "1..".
        weights: for quasi-identifiers, the weight of their loss, such as 3, 0.5 or "1/3". Default: 1. With weight 0,
            any generalization is equally good.
        hold_out: the share of people (or rows, if rows are counted) to keep apart as a control group for ``attack``.
            The rest is released; ``Release.held_out_to_file`` writes the control group.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        resources: resource limits of the run; a connection has its own settings.
        progress: called with the progress.
        settings: the settings that ``kanon settings`` lists, such as ``algorithm`` and ``time_limit``.

    Raises:
        UsageError: a setting or a column is wrong; or a person has several rows, and there is no entity.
        SourceError: the source or a hierarchy cannot be read.
        NoSolutionError: no release satisfies the models.
        TimeLimitError: the time limit ended before a release was found.
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
        weights=weights,
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
    """Open and prepare the table of a call; return it, and the policy with its origin and with rules for its dates."""
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
    """Return the release of an open source, whose time limit started at ``begun``.

    ``shared_tests`` caches node tests for further searches with other k.
    """
    begun = time.monotonic() if begun is None else begun
    with within(policy.time_limit, begun):
        if policy.publish:
            from kanon_sql.release.published_rules import refuse_in_warehouse

            refuse_in_warehouse(source, policy)
        _key_of(policy, source)  # it is read again later; errors should come before the work, which may be long
        prepared = prepare_source(source, policy, progress)
        return release_of(replace(prepared, shared_tests=shared_tests), policy, progress, begun)


def release_of(prepared: Prepared, policy: Policy, progress: Listener, begun: float | None = None) -> Release:
    """Return the release of a prepared table under a policy; the table is not read again."""
    begun = time.monotonic() if begun is None else begun
    with within(policy.time_limit, begun):
        if policy.time_limit is not None and prepared.source.engine.in_transaction():
            raise UsageError(
                "The connection has a transaction open, which the end of a time limit would undo: commit it or roll it "
                "back first, or leave time_limit out."
            )
        key = _key_of(policy, prepared.source)
        policy = replace(with_seed(policy), models=prepared.resolved(policy.models))
        release = Release(
            policy=policy, prepared=prepared, key=key, progress=progress, begun=begun, seconds=dict(prepared.seconds)
        )
        release.take(SEARCH)
        if release.publication.pseudonyms is not None:
            suppressed, allowed = release.rows_suppressed, policy.rows_allowed(release.rows_in, policy.k)
            release.take(PSEUDONYMS)
            if release.rows_suppressed > allowed and suppressed:
                # People with rare signatures may need the rows that small classes use up.
                release.policy = policy.suppressing("0 rows")
                release.take((*SEARCH, *PSEUDONYMS))
                release.policy = policy
            if release.rows_suppressed > allowed:
                raise NoSolutionError(_too_many_tied(release, release.publication.pseudonyms, allowed))
        release.spent = time.monotonic() - begun
        return release


def _search(release: Release) -> None:
    """Search until the remaining time is needed to finish the release.

    Finishing reads the table about as often as preparing, and builds statements that are as long. Without a time limit,
    a search for the optimum in a lattice that is too large to list is limited too, except in a transaction of the
    caller, which stopping would undo.
    """
    prepared, policy = release.prepared, release.policy
    engine, problem = prepared.source.engine, problem_of(prepared, policy)
    few = prepared.frequency.rows <= _ROW_GROUP and prepared.frequency.tuples <= _FEW_TUPLES
    engine.work_alone(alone=few and prepared.population is None)
    is_full_domain = policy.algorithm in algorithms_of("full-domain")
    finishing = (_FINISHING if is_full_domain else _FINISHING_PARTS) * sum(prepared.seconds.values())
    if (known := known_subsets_of(policy.models)) is not None:
        finishing += _FINISHING_SUBSET * known.subsets(len(prepared.roles.quasi_identifiers))
    end = end_of_search(
        policy.time_limit,
        release.begun,
        finishing,
        0.0 if is_full_domain else _FINISHING_STEPS,
        is_endless=policy.algorithm == "optimal" and problem.lattice.size > LISTABLE and not engine.in_transaction(),
    )

    def report(nodes_tested: int, best: Cost | None, bound: Cost | None) -> None:
        value, least = (None if cost is None else problem.objective.value(cost) for cost in (best, bound))
        release.progress(Progress("Searching", nodes_tested, value, least, policy.measure))

    release.result = search(problem, policy.algorithm, deadline=end, progress=report)
    allow_to_finish(policy.time_limit, release.begun)


def _measure(release: Release) -> None:
    result = release.result
    found = release.prepared.measured(release.policy, result.recoding, result.classes, result.models)
    release.measures, release.counts, release.losses = found.values, found.counts, found.by_column["loss"]


def _pass_gate(release: Release) -> None:
    prepared, policy, recoding = release.prepared, release.policy, release.result.recoding
    require_nothing_tells(prepared.source, policy, prepared.roles, recoding)
    release.publication = publication_of(prepared, policy, recoding, release.key)
    if (known := known_subsets_of(policy.models)) is not None:
        from kanon_sql.release.kept_classes import make_kept

        kept = make_kept(prepared.source.engine, release.publication, known)
        release.publication = replace(release.publication, kept=kept)


def publication_of(prepared: Prepared, policy: Policy, recoding: Recoding, key: Key) -> Publication:
    """Return the publication of a prepared table by a recoding, with pseudonyms and rules made with a key."""
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


def _leave_out_tied(release: Release) -> None:
    """Leave out people if fewer than k people share their combination of classes (their *signature*).

    See ``verify.pseudonyms``.

    1. Make the release; leave out all rows of the people with a rare signature. Repeat until there are none, because
       leaving some out may make others rare.
    2. Count the frequency set of the remaining rows, recode it as before, and measure it against the whole table.

    After Mondrian, no people are left out, because that would take rows from its boxes; nor with models other than k,
    which do not limit what several rows reveal together. These releases are only verified.
    """
    publication, prepared, engine = release.publication, release.prepared, release.prepared.source.engine
    recoding, models = publication.recoding, publication.models
    beyond_k = any(not isinstance(model, KAnonymity) for model in models)
    if publication.pseudonyms is None or recoding.is_partition or beyond_k:
        return
    # 1. Leave out people, round by round.
    looking = replace(publication, pseudonyms=replace(publication.pseudonyms, rounds=1))
    with with_replaced(engine, looking):
        lookups = readable_lookups(publication.hierarchies)
        rounds = people = 0
        while found := leave_out(engine, looking, lookups):
            rounds, people = rounds + 1, people + found
        if not rounds:
            return
        # 2. Measure the remaining rows.
        from kanon_sql.search.local.remaining import Remaining

        frequency = build_frequency(engine, publication.source, prepared.hierarchies, prepared.roles.entity)
        remaining = Remaining(replace(problem_of(prepared, release.policy), frequency=frequency))
        changed = [bool(remaining.publish(node)) for node in recoding.nodes]
        of_steps = iter(remaining.published)
        found_now = prepared.measured(
            release.policy, Local(tuple(remaining.steps)), remaining.relation, prepared.coded(models)
        )
        measures, counts, losses = found_now.values, found_now.counts, found_now.by_column["loss"]
        remaining.close()
        engine.run(sql.drop(frequency.relation), "drop the tables that the release was measured from")
    if release.levels is None:  # a local recoding
        published = tuple(next(of_steps) if some else 0 for some in changed)
    else:
        published = release.result.published
        measures["distortion"] = release.measures["distortion"]
        counts = replace(counts, labels=release.counts.labels)
    gone = prepared.frequency.rows - frequency.rows
    without = replace(publication.pseudonyms, rounds=rounds, people_left_out=people, rows_left_out=gone)
    release.publication = replace(publication, pseudonyms=without)
    release.measures, release.counts, release.losses = measures, counts, losses
    # Nothing is proven about a release without some people: other nodes were not searched for rare signatures.
    release.result = replace(release.result, suppressed=counts.suppressed, cost=None, bound=None, published=published)


SEARCH = (
    TimedStep("search", _search, "Searching"),
    TimedStep("measure", _measure, "Measuring"),
    TimedStep("gate", _pass_gate),
)
"""The steps from a prepared table to a release; ``kanon_sql.search.prepare`` has the steps before."""
PSEUDONYMS = (TimedStep("pseudonyms", _leave_out_tied),)


def _too_many_tied(release: Release, pseudonyms: Pseudonyms, allowed: int) -> str:
    """Return the error message if leaving out people with rare signatures suppresses too much."""
    rows, suppressed = release.rows_in, release.rows_suppressed
    share = math.ceil(suppressed / rows * 10_000) / 10_000
    more = f"allow more (--max-suppressed {share:g}), " if suppressed < rows and share < 1 else ""
    return (
        f"{pseudonyms.people_left_out:,} pseudonyms of column {' and '.join(map(repr, pseudonyms.names))} tie rows to "
        f"a combination of classes that fewer than {k_of_rows(release.publication.models)} pseudonyms have. Without "
        f"these people {suppressed:,} of {rows:,} rows are suppressed, and {allowed:,} may be: {more}make one row of "
        "each person, generalize what differs between the rows of a person, or leave the pseudonyms out. Nothing was "
        "written."
    )


def _key_of(policy: Policy, source: Source) -> Key:
    """Return the key of pseudonyms: from the key file, or a random one for this release."""
    held = source.address.file if isinstance(source.address, DatabaseAddress) else None
    require_apart(policy.key_file, [source.database, source.file, held], "what is anonymized")
    return key_from(policy.key_file)
