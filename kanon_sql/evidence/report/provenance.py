"""Where a report comes from: the SQL, the versions, fingerprints, the policy, and the commands that make it again."""

from __future__ import annotations

import hashlib
import platform
import shlex
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kanon_sql.evidence.report.proof import compared_columns
from kanon_sql.hierarchy.given import given_rules
from kanon_sql.hierarchy.spec import FileRule
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import policy_text
from kanon_sql.release.ledger.fingerprint import of_file, of_rows
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.release.verify.verify import checks_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.release import Release

ROWS, POLICY = "rows of the release", "policy"
"""Names of fingerprints."""


@dataclass(frozen=True)
class ReportedRelease:
    """What was published of a release.

    Attributes:
        name: of the table, the view or the file.
        kind: which of them.
        source: its rows, in the engine of the original; None where they are not to be had.
        destination: where it is, as a policy says it.
    """

    name: str
    kind: Literal["table", "view", "file", "in place"]
    source: Source | None
    destination: Destination


def versions() -> dict[str, str]:
    """Return the versions of what a report was made with."""
    return {
        "kanon-sql": version("kanon-sql"),
        "DuckDB": version("duckdb"),
        "sqlglot": version("sqlglot"),
        "Python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def sql_of(publication: Publication) -> str:
    """Return the statements that make and check a release, as a script.

    The relations that they read are named only. Hierarchies written out would list values of the original, and so would
    the boxes of Mondrian: those of rows that were left out too.
    """
    lookups = readable_lookups(publication.hierarchies)
    output = sql.relation("kanon_release")
    parts: list[tuple[str, Sequence[exp.Expr]]] = [
        ("The steps of the recoding", statements_for(publication).recoding_statements(lookups)),
        ("The release", [release_query(publication, lookups)]),
        (
            "Its check, kanon_release being the rows of the release",
            checks_of(publication, lookups, output).statements(),
        ),
    ]
    return "\n\n".join(f"-- {title}\n{script(found, 'duckdb')}" for title, found in parts if found) + "\n"


def policy_of(release: Release, published: ReportedRelease | None) -> str:
    """Return the policy as a kanon.toml that lies in the working directory."""
    destination = Destination() if published is None else published.destination
    return policy_text(release.policy, destination, Path())


def policy_fingerprint(release: Release, published: ReportedRelease | None) -> str:
    """Return the fingerprint of the policy, as the report has it."""
    return hashlib.sha256(policy_of(release, published).encode("utf-8")).hexdigest()


def commands_of(release: Release, published: ReportedRelease | None) -> tuple[str, ...]:
    """Return the commands that make the release and the report again, with the policy beside them."""
    source = release.prepared.source
    place = source.database or source.file
    name = "SOURCE" if place is None else place.name
    if source.address is not None:
        name = source.address.shown
    original = shlex.join([name, *([source.name] if source.in_database else [])])
    where = "" if published is not None else " --out release.parquet"
    if published is not None and published.kind == "in place":  # on a copy of the original
        return (f"kanon anonymize {original} --policy kanon.toml --report report.html",)
    return (
        f"kanon anonymize {original} --policy kanon.toml{where}",
        f"kanon report {original} --policy kanon.toml --out report.html",
    )


def fingerprints_of(release: Release, released: Source, published: ReportedRelease | None) -> dict[str, str]:
    """Return fingerprints (SHA-256) of what is public: the output, its file, the policy and files of hierarchies.

    None of the original, nor of hierarchies that were made from its values: who knows all but a few of them could
    try out what the missing ones are.
    """
    names = compared_columns(release.publication)
    found = {ROWS: of_rows(released.engine, released.relation, names, "fingerprint of the release")}
    file = None if published is None or published.source is None else published.source.file
    if file is not None:
        found[f"file {file.name}"] = of_file(file)
    found[POLICY] = policy_fingerprint(release, published)
    rules = given_rules(release.prepared.source, release.publication.roles.quasi_identifiers, release.policy)
    for column, rule in rules.items():
        if isinstance(rule, FileRule):
            found[f"hierarchy of {column}"] = of_file(rule.path)
    return found
