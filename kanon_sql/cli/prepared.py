"""A table prepared for commands that ask it many times and publish nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.cli.options import assignments, overridden
from kanon_sql.preparation import prepare_source
from kanon_sql.prepared_table import PreparedTable
from kanon_sql.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.cli.diagnostics import Talk
    from kanon_sql.engine.sources import Source
    from kanon_sql.policy import Policy


def prepared_table(
    opened: Source,
    base: Policy,
    talk: Talk,
    *,
    quasi_identifiers: list[str] | None,
    entity: str | None,
    hierarchy: list[str] | None,
    hierarchies: Path | None,
    k: int | None = None,
    settings: dict[str, Any],
) -> PreparedTable:
    """Return an open source prepared under a policy file and what the command line says; other columns do not matter.

    Args:
        opened: the source.
        base: what the file says.
        talk: told of each step.
        quasi_identifiers: texts of ``--qi``.
        entity: the column that names the person.
        hierarchy: texts of ``--hierarchy``.
        hierarchies: the directory of ``--hierarchies``.
        k: the smallest class.
        settings: other settings of the policy; None was not said.
    """
    policy = overridden(
        base,
        opened.columns,
        roles={"quasi_identifiers": quasi_identifiers},
        rest="drop",
        entity=entity,
        k=k,
        hierarchies=assignments(hierarchy, "--hierarchy", opened.columns),
        settings={"hierarchy_directory": hierarchies and hierarchies.absolute(), **settings},
    )
    return PreparedTable(prepare_source(opened, policy, lambda doing: talk(Progress(doing))), policy)
