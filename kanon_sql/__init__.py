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
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.progress import Progress
    from kanon_sql.engine.sources.layout import DataFile
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
    from kanon_sql.evidence.attack import Attacked, attack
    from kanon_sql.evidence.check import CheckResult, check
    from kanon_sql.evidence.known import KnownColumns, KnownResult, KnownSubset, known
    from kanon_sql.evidence.measure import Measured, measure
    from kanon_sql.evidence.report.reporter import report
    from kanon_sql.evidence.report.tables import TablesReport, report_tables
    from kanon_sql.evidence.report.written import Report
    from kanon_sql.evidence.risk import risk
    from kanon_sql.evidence.tables import TablesAttacked, attack_tables, check_tables
    from kanon_sql.hierarchy.export import export_hierarchy
    from kanon_sql.hierarchy.suggest import Suggestion, suggest_hierarchies
    from kanon_sql.models.alpha_k_anonymity import AlphaKAnonymity
    from kanon_sql.models.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
    from kanon_sql.models.delta_disclosure import DeltaDisclosure
    from kanon_sql.models.k_anonymity import KAnonymity
    from kanon_sql.models.known_subsets import KnownSubsets
    from kanon_sql.models.l_diversity import DistinctLDiversity, EntropyLDiversity, RecursiveCLDiversity
    from kanon_sql.models.population import DeltaPresence, KMap
    from kanon_sql.models.t_closeness import TCloseness
    from kanon_sql.policy.destination import Destination, Origin
    from kanon_sql.policy.policy import Policy, read_policy, write_policy
    from kanon_sql.policy.profile.database import (
        DatabaseProfile,
        TableKey,
        TableProfile,
        TableReference,
        profile_database,
    )
    from kanon_sql.policy.profile.profiler import profile
    from kanon_sql.policy.profile.result import ColumnProfile, Profile
    from kanon_sql.policy.profile.tables import TableProposal, TablesProposal, init_tables_policy
    from kanon_sql.policy.roles import NamedColumns
    from kanon_sql.policy.tables import TablePolicy, TablesPolicy, Through, read_tables_policy, write_tables_policy
    from kanon_sql.release.anonymize import anonymize
    from kanon_sql.release.append.append import Appended, apply
    from kanon_sql.release.in_place.clean import Cleaned, clean
    from kanon_sql.release.ledger.earlier import Remembered, forget, ledger
    from kanon_sql.release.prepared_table import Compared, Comparison, PreparedTable, SatisfyingNode, prepare
    from kanon_sql.release.proposal import init_policy
    from kanon_sql.release.publish.publisher import InPlace, Published
    from kanon_sql.release.release import Release
    from kanon_sql.release.remedies import Remedies, Remedy, remedies
    from kanon_sql.release.tables.anonymize import TablesRelease, anonymize_tables
    from kanon_sql.release.tables.found_people import FoundPeople
    from kanon_sql.release.tables.publish import PublishedTables
    from kanon_sql.release.tables.statements import TableCounts
    from kanon_sql.release.tables.verify import Promise, TablesVerification
    from kanon_sql.risks.estimators.assessment import Risk

_HOME = {
    "anonymize": "release.anonymize",
    "apply": "release.append.append",
    "Appended": "release.append.append",
    "attack": "evidence.attack",
    "Attacked": "evidence.attack",
    "check": "evidence.check",
    "CheckResult": "evidence.check",
    "Compared": "release.prepared_table",
    "Comparison": "release.prepared_table",
    "Published": "release.publish.publisher",
    "BudgetError": "errors",
    "HierarchyError": "errors",
    "InUseError": "errors",
    "JointReleaseError": "errors",
    "KanonError": "errors",
    "ledger": "release.ledger.earlier",
    "Cleaned": "release.in_place.clean",
    "clean": "release.in_place.clean",
    "InPlace": "release.publish.publisher",
    "export_hierarchy": "hierarchy.export",
    "forget": "release.ledger.earlier",
    "Remembered": "release.ledger.earlier",
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
    "KnownColumns": "evidence.known",
    "KnownResult": "evidence.known",
    "KnownSubset": "evidence.known",
    "known": "evidence.known",
    "Measured": "evidence.measure",
    "measure": "evidence.measure",
    "KAnonymity": "models.k_anonymity",
    "AlphaKAnonymity": "models.alpha_k_anonymity",
    "BasicBetaLikeness": "models.beta_likeness",
    "EnhancedBetaLikeness": "models.beta_likeness",
    "DeltaDisclosure": "models.delta_disclosure",
    "DeltaPresence": "models.population",
    "DistinctLDiversity": "models.l_diversity",
    "EntropyLDiversity": "models.l_diversity",
    "KMap": "models.population",
    "KnownSubsets": "models.known_subsets",
    "RecursiveCLDiversity": "models.l_diversity",
    "TCloseness": "models.t_closeness",
    "Destination": "policy.destination",
    "Origin": "policy.destination",
    "Policy": "policy.policy",
    "read_policy": "policy.policy",
    "write_policy": "policy.policy",
    "PreparedTable": "release.prepared_table",
    "SatisfyingNode": "release.prepared_table",
    "prepare": "release.prepared_table",
    "Progress": "engine.progress",
    "Release": "release.release",
    "Report": "evidence.report.written",
    "report": "evidence.report.reporter",
    "report_tables": "evidence.report.tables",
    "TablesReport": "evidence.report.tables",
    "Resources": "engine.duckdb.connection",
    "DataFile": "engine.sources.layout",
    "risk": "evidence.risk",
    "anonymize_tables": "release.tables.anonymize",
    "attack_tables": "evidence.tables",
    "check_tables": "evidence.tables",
    "FoundPeople": "release.tables.found_people",
    "TablesAttacked": "evidence.tables",
    "Promise": "release.tables.verify",
    "PublishedTables": "release.tables.publish",
    "TableCounts": "release.tables.statements",
    "TablesRelease": "release.tables.anonymize",
    "TablesVerification": "release.tables.verify",
    "Risk": "risks.estimators.assessment",
    "NamedColumns": "policy.roles",
    "init_policy": "release.proposal",
    "Remedies": "release.remedies",
    "Remedy": "release.remedies",
    "remedies": "release.remedies",
    "init_tables_policy": "policy.profile.tables",
    "TableProposal": "policy.profile.tables",
    "TablesProposal": "policy.profile.tables",
    "TablePolicy": "policy.tables",
    "TablesPolicy": "policy.tables",
    "Through": "policy.tables",
    "read_tables_policy": "policy.tables",
    "write_tables_policy": "policy.tables",
    "profile": "policy.profile.profiler",
    "profile_database": "policy.profile.database",
    "DatabaseProfile": "policy.profile.database",
    "TableKey": "policy.profile.database",
    "TableReference": "policy.profile.database",
    "TableProfile": "policy.profile.database",
    "ColumnProfile": "policy.profile.result",
    "Profile": "policy.profile.result",
    "Suggestion": "hierarchy.suggest",
    "suggest_hierarchies": "hierarchy.suggest",
}

__all__ = [
    "AlphaKAnonymity",
    "Appended",
    "Attacked",
    "BasicBetaLikeness",
    "BudgetError",
    "CheckResult",
    "Cleaned",
    "ColumnProfile",
    "Compared",
    "Comparison",
    "DataFile",
    "DatabaseProfile",
    "DeltaDisclosure",
    "DeltaPresence",
    "Destination",
    "DistinctLDiversity",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "FoundPeople",
    "HierarchyError",
    "InPlace",
    "InUseError",
    "JointReleaseError",
    "KAnonymity",
    "KMap",
    "KanonError",
    "KnownColumns",
    "KnownResult",
    "KnownSubset",
    "KnownSubsets",
    "Measured",
    "NamedColumns",
    "NoRightError",
    "NoRoomError",
    "NoSolutionError",
    "Origin",
    "Policy",
    "PolicyError",
    "PreparedTable",
    "Profile",
    "Progress",
    "Promise",
    "Published",
    "PublishedTables",
    "RecursiveCLDiversity",
    "Release",
    "Remedies",
    "Remedy",
    "Remembered",
    "Report",
    "Resources",
    "Risk",
    "SatisfyingNode",
    "SearchInterruptedError",
    "SourceError",
    "Suggestion",
    "TCloseness",
    "TableCounts",
    "TableKey",
    "TablePolicy",
    "TableProfile",
    "TableProposal",
    "TableReference",
    "TablesAttacked",
    "TablesPolicy",
    "TablesProposal",
    "TablesRelease",
    "TablesReport",
    "TablesVerification",
    "Through",
    "TimeLimitError",
    "UnsuitableError",
    "UsageError",
    "VerificationError",
    "__version__",
    "anonymize",
    "anonymize_tables",
    "apply",
    "attack",
    "attack_tables",
    "check",
    "check_tables",
    "clean",
    "dp",
    "export_hierarchy",
    "forget",
    "init_policy",
    "init_tables_policy",
    "known",
    "ledger",
    "measure",
    "prepare",
    "profile",
    "profile_database",
    "read_policy",
    "read_tables_policy",
    "remedies",
    "report",
    "report_tables",
    "risk",
    "suggest_hierarchies",
    "write_policy",
    "write_tables_policy",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Import a public name from its module; ``dp`` is a module itself."""
    if name == "dp":
        return import_module("kanon_sql.dp")
    if name not in _HOME:
        raise AttributeError(f"module 'kanon_sql' has no attribute {name!r}")
    return getattr(import_module(f"kanon_sql.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
