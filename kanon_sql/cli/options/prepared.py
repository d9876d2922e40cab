"""A table prepared for commands that ask it many times and publish nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.cli.options.options import assignments, overridden
from kanon_sql.engine.progress import Progress
from kanon_sql.policy.policy import COUNTS_ROWS, Policy, read_policy
from kanon_sql.release.prepared_table import PreparedTable
from kanon_sql.search.prepare import prepare_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kanon_sql.cli.output.diagnostics import Talk
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.profile.people import RepeatedColumn


def policy_in(policy_file: Path | None) -> Policy:
    """Return the policy of a file; without one, that of someone who asked for nothing yet."""
    return read_policy(policy_file)[0] if policy_file is not None else Policy()


def generalizing_policy(
    opened: Source,
    base: Policy,
    *,
    quasi_identifiers: list[str] | None,
    hierarchy: list[str] | None,
    hierarchies: Path | None,
    sensitive: list[str] | None = None,
    entity: str | None = None,
    k: int | None = None,
    models: Mapping[str, list[str] | str | None] | None = None,
    settings: dict[str, Any] | None = None,
) -> Policy:
    """Return a policy file with what the command line says of quasi-identifiers; other columns do not matter.

    Args:
        opened: the source.
        base: what the file says.
        quasi_identifiers: texts of ``--qi``.
        hierarchy: texts of ``--hierarchy``.
        hierarchies: the directory of ``--hierarchies``.
        sensitive: texts of ``--sensitive``.
        entity: the column that names the person.
        k: the smallest class.
        models: what else is asked of classes.
        settings: other settings of the policy; None was not said.
    """
    return overridden(
        base,
        opened.columns,
        roles={"quasi_identifiers": quasi_identifiers, "sensitive": sensitive},
        rest="drop",
        entity=entity,
        k=k,
        models=models,
        hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
        settings={"hierarchy_directory": hierarchies and hierarchies.absolute(), **(settings or {})},
    )


def prepared_table(
    opened: Source,
    base: Policy,
    talk: Talk,
    *,
    quasi_identifiers: list[str] | None,
    sensitive: list[str] | None,
    entity: str | None,
    models: Mapping[str, list[str] | str | None],
    hierarchy: list[str] | None,
    hierarchies: Path | None,
    k: int | None = None,
    settings: dict[str, Any],
) -> PreparedTable:
    """Return an open source prepared under ``generalizing_policy``; ``talk`` is told of each step."""
    policy = generalizing_policy(
        opened,
        base,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        entity=entity,
        models=models,
        hierarchy=hierarchy,
        hierarchies=hierarchies,
        k=k,
        settings=settings,
    )
    prepared = prepare_source(opened, policy, lambda doing: talk(Progress(doing)))
    if policy.count == "rows":
        talk.note(COUNTS_ROWS)
    note_repeated_columns(prepared.repeated, talk)
    return PreparedTable(prepared, policy)


def note_repeated_columns(repeated: Sequence[RepeatedColumn], talk: Talk) -> None:
    """Say which columns may name people who have several rows."""
    for one in repeated:
        if not one.names_people:
            talk.note(one.note())
