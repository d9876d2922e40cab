"""A policy from the settings of a call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import names
from kanon_sql.policy.policy import Policy, models_with_k, read_policy
from kanon_sql.policy.roles import NamedColumns

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.roles import Rest


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
    k: int | None = None,
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
        models=models_with_k(models, k),
        hierarchies=_rules(hierarchies) if isinstance(hierarchies, Mapping) else {},
        hierarchy_directory=Path(hierarchies) if in_directory else None,  # type: ignore[arg-type]  # a path then
        key_file=None if key_file is None else Path(key_file),
        **settings,
    )


def _rules(hierarchies: Mapping[str, str | os.PathLike[str]]) -> dict[str, str]:
    return {column: str(rule) for column, rule in hierarchies.items()}
