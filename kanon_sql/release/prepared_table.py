"""``prepare``: a table encoded once and asked many times; another k, limit or algorithm costs no second scan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from kanon_sql.classes.recoding import by_name
from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.policy.make_policy import make_policy
from kanon_sql.release.anonymize import release_of
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.full_domain.incognito import good_nodes, minimal_nodes
from kanon_sql.search.prepare import Prepared, prepare_source, problem_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.policy import Count, Policy
    from kanon_sql.policy.roles import Rest
    from kanon_sql.release.compare import Comparison
    from kanon_sql.release.release import Release


@dataclass(frozen=True)
class SatisfyingNode:
    """A node of the lattice that satisfies a policy.

    Attributes:
        levels: the level of each quasi-identifier.
        rows_suppressed: rows in classes that are too small.
        value: what the policy's measure says of it; None for an average over no classes.
        minimal: whether no node below it satisfies the policy.
    """

    levels: dict[str, int]
    rows_suppressed: int
    value: float | None
    minimal: bool


@dataclass(frozen=True)
class PreparedTable:
    """A table whose frequency set is kept until ``close``, or the end of a ``with`` block.

    Attributes:
        prepared: the table as it is searched.
        policy: roles and hierarchies; the other settings are what is asked for where nothing else is said.
    """

    prepared: Prepared
    policy: Policy

    def anonymize(self, *, progress: Listener | None = None, **settings: Any) -> Release:  # noqa: ANN401 - settings of a Policy, which checks them
        """Return the release that the policy asks for, with some of its settings changed.

        Args:
            progress: called as the work goes on.
            settings: ``models``, ``max_suppressed``, ``algorithm``, ``measure``, ``time_limit``, ``seed``.

        Raises:
            UsageError: a setting is wrong.
            NoSolutionError: no release satisfies the models.
        """
        release = release_of(self.prepared, replace(self.policy, **settings), progress or silent)
        release.keeps_source = False
        return release

    def lattice(
        self,
        *,
        everything: bool = False,
        progress: Listener | None = None,
        **settings: Any,  # noqa: ANN401 - as above
    ) -> list[SatisfyingNode]:
        """Return the nodes that satisfy the policy, found by Incognito, those that lose least first.

        Args:
            everything: whether to return all of them, or only the minimal ones: those above no other.
            progress: called as the work goes on.
            settings: as for ``anonymize``.

        Raises:
            UsageError: a setting is wrong, or the lattice is too large to be listed.
            NoSolutionError: no node satisfies the models.
        """
        policy = replace(self.policy, **settings)
        tell = progress or silent
        problem = problem_of(self.prepared, policy)
        evidence = Evidence(problem)
        evidence.require_top()
        evidence.expect_many()
        good = good_nodes(evidence, lambda tested, *_: tell(Progress("Testing nodes", tested)))
        minimal = minimal_nodes(good)
        found = sorted((evidence.cost(node), node) for node in (good if everything else minimal))
        evidence.roll_ups.drop_all_but(self.prepared.frequency.relation)
        return [
            SatisfyingNode(
                by_name(self.prepared.hierarchies, node),
                evidence.tested[node],
                None if isinstance(cost, float) else problem.objective.value(cost),
                node in minimal,
            )
            for cost, node in found
        ]

    def compare(self, **settings: Any) -> Comparison:  # noqa: ANN401 - those of ``compare.compare``
        """Return releases by several algorithms, with several k and limits of suppression, side by side.

        Args:
            settings: ``algorithms``, ``k``, ``max_suppressed`` (each a list), ``measure``, ``time_limit``,
                ``progress``; see ``kanon_sql.release.compare.compare``.

        Raises:
            UsageError: a setting is wrong.
        """
        from kanon_sql.release.compare import compare

        return compare(self, **settings)

    def close(self) -> None:
        """Let go of the source and drop the temporary tables."""
        self.prepared.source.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def prepare(  # noqa: PLR0913 - the public call: every setting has a name of its own
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
    entity: str | None = None,
    count: Count = "people",
    k: int | None = None,
    models: Sequence[PrivacyModel] | None = None,
    population: str | None = None,
    hierarchies: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
    progress: Listener | None = None,
) -> PreparedTable:
    """Return a table ready to be anonymized in many ways: its hierarchies made, its frequency set counted.

    Args:
        source: as for ``anonymize``, and so are the other settings.
        table: the table in a database.
        quasi_identifiers: columns that together could tell who a row is about.
        identifying: columns that are never published.
        sensitive: columns that must not be learned about a person.
        insensitive: other columns that are published as they are.
        pseudonymize: identifying columns that are published as pseudonyms.
        key_file: the file with the key of pseudonyms; without it, each release has a key of its own.
        rest: what happens to columns that were not named.
        entity: the column that names the person; then every k counts people.
        count: "people", for which a table with several rows of one person needs an entity; or "rows".
        k: the smallest class, where nothing else is said.
        models: what is asked where nothing else is said; the sensitive columns that they are about are counted too.
        population: the table, or the file, that ``KMap`` and ``DeltaPresence`` compare with.
        hierarchies: for columns, a rule or a file; or a directory with hierarchy files.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        resources: what may be taken of the machine; a connection has settings of its own.
        progress: called as the work goes on.

    Raises:
        UsageError: a setting or a column is wrong.
        SourceError: the source or a hierarchy cannot be read.
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
        entity=entity,
        count=count,
        k=k,
        models=models,
        population=population,
        hierarchies=hierarchies,
    )
    tell = progress or silent
    opened = open_source(source, table, resources=resources)
    try:
        return PreparedTable(prepare_source(opened, asked, lambda doing: tell(Progress(doing))), asked)
    except BaseException:
        opened.engine.close()
        raise
