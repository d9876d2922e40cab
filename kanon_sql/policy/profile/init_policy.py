"""``init_policy``: a commented kanon.toml from the profile of a table, ready to edit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import names
from kanon_sql.engine.files import require_free, write_whole
from kanon_sql.engine.sources.addresses import DatabaseAddress
from kanon_sql.engine.sources.open_source import Source, open_source
from kanon_sql.policy.policy import DEFAULT_K, parse_policy
from kanon_sql.policy.profile.profiler import profile_of
from kanon_sql.policy.profile.words import notes_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.policy.profile.result import Profile

POLICY_FILE = "kanon.toml"
_SUFFIXES = frozenset({".csv", ".parquet", ".json"})  # of files that a release can be written to


def init_policy(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any,  # noqa: ANN401 - as for ``profile``
    table: str | None = None,
    *,
    out: str | os.PathLike[str] = POLICY_FILE,
    replace: bool = False,
    k: int = DEFAULT_K,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    entity: str | None = None,
    sample: int | None = None,
    resources: Resources | None = None,
) -> Profile:
    """Write a commented policy file from a profile; return the profile.

    Args:
        source: as for ``anonymize``.
        table: the table in a database.
        out: the file.
        replace: whether a file of that name is replaced.
        k: the smallest class that is written into it.
        quasi_identifiers: as for ``profile``.
        sensitive: as for ``profile``; those that are not named are written behind ``# decide:``, and not published.
        entity: as for ``profile``.
        sample: as for ``profile``.
        resources: as for ``profile``.

    Raises:
        UsageError: the file is there already, or as for ``profile``.
        SourceError: the source cannot be read, or the file cannot be written.
    """
    path = Path(out)
    require_free(path, replace=replace)
    opened = open_source(source, table, resources=resources)
    try:
        found = profile_of(
            opened,
            quasi_identifiers=names(quasi_identifiers),
            sensitive=names(sensitive),
            entity=entity,
            sample=sample,
        )
        return write_init(found, opened, path, k=k, replace=replace)
    finally:
        opened.engine.close()


def write_init(found: Profile, source: Source, path: Path, *, k: int, replace: bool) -> Profile:
    """Write the policy file of a profile: whole, and one that reads back, or not at all.

    Returns:
        The profile, with notes that say what to change in the file.

    Raises:
        UsageError: the file is there already.
        SourceError: it cannot be written.
    """
    require_free(path, replace=replace)
    text = found.to_toml(k=k, **_destination(source, k, path.parent), where=_where(source))
    parse_policy(text, path)  # what is written reads back
    write_whole(path, text, "The policy")
    return dataclasses.replace(found, notes=notes_of(found, str(path)))


def _where(source: Source) -> tuple[str, ...]:
    """Return how a table is named on the command line."""
    if source.database is not None:
        return (str(source.database), source.name)
    if source.address is not None:
        table = (source.name,) if isinstance(source.address, DatabaseAddress) else ()
        return (source.address.shown, *table)
    return ("SOURCE",) if source.file is None else (str(source.file),)


def _destination(source: Source, k: int, directory: Path) -> Mapping[str, str]:
    """Return where a release of a source goes, under a name that is free: a table beside it, or a file of its kind."""
    if source.database is not None:
        taken = (row[2] for row in source.engine.rows(sql.statement("catalog/tables"), "names that are taken"))
        return {"into": unused_name(f"{source.name}_k{k}", taken)}
    if source.file is not None or source.address is not None:
        name = Path(source.name) if source.file is None else source.file
        kind = name.suffix.lower()
        suffix = kind if kind in _SUFFIXES else ".csv"
        plain = "".join(character for character in name.stem if character not in "*?[]") or "released"
        taken = (path.name.removesuffix(suffix) for path in directory.iterdir() if path.name.endswith(suffix))
        return {"out": unused_name(f"{plain}_k{k}", taken) + suffix}
    return {}
