"""kanon-sql: anonymize tables where they live.

    import kanon_sql as kanon

    release = kanon.anonymize("clinic.duckdb", "patients", quasi_identifiers=["age", "zip", "sex"],
                              sensitive=["disease"], rest="drop", models=[kanon.KAnonymity(5)])
    print(release.levels, release.measures)
    print(release.sql())
    release.to_table("patients_k5")

The names below are the public library; each is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kanon_sql.anonymizer import anonymize
    from kanon_sql.attacker import Attacked, attack
    from kanon_sql.checker import CheckResult, check
    from kanon_sql.comparison import Compared, Comparison
    from kanon_sql.destinations import Published
    from kanon_sql.errors import (
        HierarchyError,
        KanonError,
        NoSolutionError,
        PolicyError,
        SearchInterruptedError,
        SourceError,
        UsageError,
        VerificationError,
    )
    from kanon_sql.measurer import Measured, measure
    from kanon_sql.models.k_anonymity import KAnonymity
    from kanon_sql.policy import Destination, Policy, read_policy, write_policy
    from kanon_sql.prepared_table import PreparedTable, SatisfyingNode, prepare
    from kanon_sql.progress import Progress
    from kanon_sql.release import Release
    from kanon_sql.roles import NamedColumns

_HOME = {
    "anonymize": "anonymizer",
    "attack": "attacker",
    "Attacked": "attacker",
    "check": "checker",
    "CheckResult": "checker",
    "Compared": "comparison",
    "Comparison": "comparison",
    "Published": "destinations",
    "HierarchyError": "errors",
    "KanonError": "errors",
    "NoSolutionError": "errors",
    "PolicyError": "errors",
    "SearchInterruptedError": "errors",
    "SourceError": "errors",
    "UsageError": "errors",
    "VerificationError": "errors",
    "Measured": "measurer",
    "measure": "measurer",
    "KAnonymity": "models.k_anonymity",
    "Destination": "policy",
    "Policy": "policy",
    "read_policy": "policy",
    "write_policy": "policy",
    "PreparedTable": "prepared_table",
    "SatisfyingNode": "prepared_table",
    "prepare": "prepared_table",
    "Progress": "progress",
    "Release": "release",
    "NamedColumns": "roles",
}

__all__ = [
    "Attacked",
    "CheckResult",
    "Compared",
    "Comparison",
    "Destination",
    "HierarchyError",
    "KAnonymity",
    "KanonError",
    "Measured",
    "NamedColumns",
    "NoSolutionError",
    "Policy",
    "PolicyError",
    "PreparedTable",
    "Progress",
    "Published",
    "Release",
    "SatisfyingNode",
    "SearchInterruptedError",
    "SourceError",
    "UsageError",
    "VerificationError",
    "__version__",
    "anonymize",
    "attack",
    "check",
    "measure",
    "prepare",
    "read_policy",
    "write_policy",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Import a public name from where it lives."""
    if name not in _HOME:
        raise AttributeError(f"module 'kanon_sql' has no attribute {name!r}")
    return getattr(import_module(f"kanon_sql.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
