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
    from kanon_sql import dp
    from kanon_sql.anonymizer import anonymize
    from kanon_sql.assessor import risk
    from kanon_sql.attacker import Attacked, attack
    from kanon_sql.bookkeeping.listing import Remembered, forget, ledger
    from kanon_sql.checker import CheckResult, check
    from kanon_sql.comparison import Compared, Comparison
    from kanon_sql.destination import Destination
    from kanon_sql.engine.resources import Resources
    from kanon_sql.errors import (
        BudgetError,
        HierarchyError,
        InUseError,
        JointReleaseError,
        KanonError,
        NoRightError,
        NoRoomError,
        NoSolutionError,
        PolicyError,
        SearchInterruptedError,
        SourceError,
        TimeLimitError,
        UnsuitableError,
        UsageError,
        VerificationError,
    )
    from kanon_sql.hierarchy.suggest import Suggestion, suggest_hierarchies
    from kanon_sql.hierarchy_exporter import export_hierarchy
    from kanon_sql.in_place.clean import Cleaned, clean
    from kanon_sql.initializer import init_policy
    from kanon_sql.measurer import Measured, measure
    from kanon_sql.models.alpha_k_anonymity import AlphaKAnonymity
    from kanon_sql.models.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
    from kanon_sql.models.delta_disclosure import DeltaDisclosure
    from kanon_sql.models.delta_presence import DeltaPresence
    from kanon_sql.models.distinct_l_diversity import DistinctLDiversity
    from kanon_sql.models.entropy_l_diversity import EntropyLDiversity
    from kanon_sql.models.k_anonymity import KAnonymity
    from kanon_sql.models.k_map import KMap
    from kanon_sql.models.recursive_cl_diversity import RecursiveCLDiversity
    from kanon_sql.models.t_closeness import TCloseness
    from kanon_sql.policy import Policy, read_policy, write_policy
    from kanon_sql.prepared_table import PreparedTable, SatisfyingNode, prepare
    from kanon_sql.profiler import profile
    from kanon_sql.profiling.result import ColumnProfile, Profile
    from kanon_sql.progress import Progress
    from kanon_sql.published import InPlace, Published
    from kanon_sql.release import Release
    from kanon_sql.reporting.figures import Report
    from kanon_sql.reporting.reporter import report
    from kanon_sql.risks.assessment import Risk
    from kanon_sql.roles import NamedColumns

_HOME = {
    "anonymize": "anonymizer",
    "attack": "attacker",
    "Attacked": "attacker",
    "check": "checker",
    "CheckResult": "checker",
    "Compared": "comparison",
    "Comparison": "comparison",
    "Published": "published",
    "BudgetError": "errors",
    "HierarchyError": "errors",
    "InUseError": "errors",
    "JointReleaseError": "errors",
    "KanonError": "errors",
    "ledger": "bookkeeping.listing",
    "Cleaned": "in_place.clean",
    "clean": "in_place.clean",
    "InPlace": "published",
    "export_hierarchy": "hierarchy_exporter",
    "forget": "bookkeeping.listing",
    "Remembered": "bookkeeping.listing",
    "NoRightError": "errors",
    "NoRoomError": "errors",
    "NoSolutionError": "errors",
    "PolicyError": "errors",
    "SearchInterruptedError": "errors",
    "SourceError": "errors",
    "TimeLimitError": "errors",
    "UnsuitableError": "errors",
    "UsageError": "errors",
    "VerificationError": "errors",
    "Measured": "measurer",
    "measure": "measurer",
    "KAnonymity": "models.k_anonymity",
    "AlphaKAnonymity": "models.alpha_k_anonymity",
    "BasicBetaLikeness": "models.beta_likeness",
    "EnhancedBetaLikeness": "models.beta_likeness",
    "DeltaDisclosure": "models.delta_disclosure",
    "DeltaPresence": "models.delta_presence",
    "DistinctLDiversity": "models.distinct_l_diversity",
    "EntropyLDiversity": "models.entropy_l_diversity",
    "KMap": "models.k_map",
    "RecursiveCLDiversity": "models.recursive_cl_diversity",
    "TCloseness": "models.t_closeness",
    "Destination": "destination",
    "Policy": "policy",
    "read_policy": "policy",
    "write_policy": "policy",
    "PreparedTable": "prepared_table",
    "SatisfyingNode": "prepared_table",
    "prepare": "prepared_table",
    "Progress": "progress",
    "Release": "release",
    "Report": "reporting.figures",
    "report": "reporting.reporter",
    "Resources": "engine.resources",
    "risk": "assessor",
    "Risk": "risks.assessment",
    "NamedColumns": "roles",
    "init_policy": "initializer",
    "profile": "profiler",
    "ColumnProfile": "profiling.result",
    "Profile": "profiling.result",
    "Suggestion": "hierarchy.suggest",
    "suggest_hierarchies": "hierarchy.suggest",
}

__all__ = [
    "AlphaKAnonymity",
    "Attacked",
    "BasicBetaLikeness",
    "BudgetError",
    "CheckResult",
    "Cleaned",
    "ColumnProfile",
    "Compared",
    "Comparison",
    "DeltaDisclosure",
    "DeltaPresence",
    "Destination",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "HierarchyError",
    "InPlace",
    "InUseError",
    "JointReleaseError",
    "KAnonymity",
    "KMap",
    "KanonError",
    "Measured",
    "NamedColumns",
    "NoRightError",
    "NoRoomError",
    "NoSolutionError",
    "Policy",
    "PolicyError",
    "PreparedTable",
    "Profile",
    "Progress",
    "Published",
    "RecursiveCLDiversity",
    "Release",
    "Remembered",
    "Report",
    "Resources",
    "Risk",
    "SatisfyingNode",
    "SearchInterruptedError",
    "SourceError",
    "Suggestion",
    "TCloseness",
    "TimeLimitError",
    "UnsuitableError",
    "UsageError",
    "VerificationError",
    "__version__",
    "anonymize",
    "attack",
    "check",
    "clean",
    "dp",
    "export_hierarchy",
    "forget",
    "init_policy",
    "ledger",
    "measure",
    "prepare",
    "profile",
    "read_policy",
    "report",
    "risk",
    "suggest_hierarchies",
    "write_policy",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Import a public name from where it lives; ``dp`` is a module of its own."""
    if name == "dp":
        return import_module("kanon_sql.dp")
    if name not in _HOME:
        raise AttributeError(f"module 'kanon_sql' has no attribute {name!r}")
    return getattr(import_module(f"kanon_sql.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
