"""Reports from releases: everything is measured on the rows of the release, not taken from the search.

The report also documents the origin of the release: the SQL, the versions, fingerprints, the policy, and the commands
that make it again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import platform
import shlex
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.engine.sources.open_source import Source
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.evidence.attack import attack_release
from kanon_sql.evidence.case import Case
from kanon_sql.evidence.check import check_source
from kanon_sql.evidence.measure import measure_against
from kanon_sql.evidence.report.attributes import attributes_of
from kanon_sql.evidence.report.figures import (
    CurvePoint,
    Pseudonymized,
    ReportedRequirement,
    Search,
)
from kanon_sql.evidence.report.proof import ReleaseRows, compared_columns, release_rows, require_same_rows
from kanon_sql.evidence.report.written import Report
from kanon_sql.evidence.risk import risk_of
from kanon_sql.hierarchy.given import given_rules
from kanon_sql.hierarchy.spec import FileRule
from kanon_sql.policy.algorithms import ALL_OR_NONE, GREEDY
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import CHOICE_IS_GREEDY, COUNTS_ROWS, policy_text
from kanon_sql.release.ledger.fingerprint import of_file, of_rows
from kanon_sql.release.prepared_table import PreparedTable
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.release.utility import WantedUtility, utility_against
from kanon_sql.release.verify.verify import checks_of
from kanon_sql.risks.attacks.controlled import Guessing
from kanon_sql.risks.attacks.verdicts import Verdict, verdicts_on
from kanon_sql.risks.estimators.assessment import RiskSettings, assess
from kanon_sql.search.prepare import by_rows
from kanon_sql.search.problem import SharedTests
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.evidence.measure import Measured
    from kanon_sql.evidence.standards.judge import CheckedStandard
    from kanon_sql.measures.utility.spread import UtilitySettings
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.release import Release
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.risks.estimators.assessment import Risk
    from kanon_sql.search.prepare import Prepared

CURVE = (2, 3, 5, 10, 20, 50, 100)
"""The k to compare a release with."""
_FEW = 5
"""The number below which rows are few if no k is required."""

ROWS, POLICY = "rows of the release", "policy"
"""Names of fingerprints."""


@dataclass(frozen=True)
class ReportedRelease:
    """The published form of a release and its place; ``source`` are its rows, if they can be read."""

    name: str
    kind: Literal["table", "view", "file", "in place"]
    source: Source | None
    destination: Destination


@dataclass(frozen=True)
class KeptApart:
    """People who were held out of the release, and a description of the original's rows left out because of them."""

    control: Source
    said: str


def require_nothing_certain(policy: Policy, *, utility: bool, control: bool) -> None:
    """Raise an error if figures of a report could make a sensitive value certain against the promise of the choice."""
    if policy.choice_made != ALL_OR_NONE or not (utility or control):
        return
    option, command, figures = (
        ("--utility", "measure", "compare the original with the release, sensitive values included")
        if utility
        else ("--control", "attack", "count right guesses about people in the release")
    )
    raise UsageError(
        f"A report of an all-or-none release has no {option}: the figures {figures}, and could make a person's value "
        f"certain. To see them: kanon {command} {option}. To have them in the report: --choice greedy."
    )


def report_of(
    release: Release,
    published: ReportedRelease | None = None,
    *,
    asked_by: str | None = None,
    utility: UtilitySettings | None = None,
    apart: KeptApart | None = None,
    curve: Sequence[int] = CURVE,
    progress: Listener = silent,
) -> Report:
    """Return the report of a release and of its published form, if any, in the same engine.

    ``curve`` are the k to compare it with.
    """
    require_nothing_certain(release.policy, utility=utility is not None, control=apart is not None)
    policy, original, publication = release.policy, release.prepared.source, release.publication
    original.require_rows()
    control = None if apart is None else apart.control
    k = policy.k if policy.k > 1 else _FEW
    progress(Progress("Making the release"))
    with release_rows(release) as of_release:
        handed_out = released = Source(original.engine, of_release.rows, f"the release of {original.name}")
        if published is not None and published.source is not None:
            handed_out = published.source
            progress(Progress("Comparing with the published table"))
            require_same_rows(release, of_release.rows, handed_out)
        verification = of_release.verification
        # Repeated people were checked when the release was prepared: the check is not repeated.
        settled = policy if policy.columns.entity is not None else replace(policy, count="rows")
        rows_alone = by_rows(release.prepared, settled, progress)
        case = Case(settled, handed_out, original, control)
        measured, unmeasured = _measured(case, rows_alone, progress)
        good_for = None
        if utility is not None and measured is not None:
            wanted = WantedUtility(utility, None if utility.target is None else control)
            good_for = utility_against(original, handed_out, settled, rows_alone, wanted, progress).rounded()
        risks = _risks(release, settled, of_release, handed_out, measured)
        attacks = _attacks(case, release, rows_alone, progress)
        progress(Progress("Attributes one by one"))
        attributes = attributes_of(release, released, handed_out, measured, k)
        if any(one.hidden for one in attributes):  # a number of unique rows is a number of rows by label too
            risks = (_of_several_columns(risks[0]), _of_several_columns(risks[1]))
        return Report(
            made_at=dt.datetime.now(tz=dt.UTC).date().isoformat(),
            source=original.name,
            published=None if published is None else published.name,
            kind="nothing" if published is None else published.kind,
            asked_by=asked_by,
            k=k,
            rows_in=release.rows_in,
            rows_out=verification.rows,
            rows_suppressed=release.rows_in - verification.rows,
            classes=verification.classes,
            smallest_class=verification.smallest_class,
            requirements=tuple(
                ReportedRequirement(**result.stated(model.entity))
                for result, model in zip(verification.models, publication.models, strict=True)
            ),
            attributes=attributes,
            measures=None if measured is None else _rounded(measured.measures),
            risk_before=risks[0],
            risk_after=risks[1],
            attacks=attacks,
            curve=_curve(release, verification.classes, curve, progress),
            search=_search(release),
            pseudonyms=_pseudonymized(release, verification),
            sql=sql_of(publication),
            versions=versions(),
            fingerprints=_fingerprints_of(release, released, published),
            policy=policy_of(release, published),
            commands=commands_of(release, published, utility, apart),
            proposed=tuple(column.name for column in publication.roles.proposed),
            smallest_class_people=risks[1].smallest_class if risks[1].people is not None else None,
            count=policy.count,
            choice=policy.choice_made,
            publish=() if publication.rules is None else tuple(publication.rules.summary()),
            standards=_standards(original, handed_out, policy),
            utility=good_for,
            control=None if control is None else control.name,
            notes=(
                *([COUNTS_ROWS] if policy.count == "rows" else []),
                *([CHOICE_IS_GREEDY] if policy.choice_made == GREEDY else []),
                *(finding.note() for finding in release.prepared.findings),
                *([unmeasured] if unmeasured is not None else []),
                *([apart.said] if apart is not None else []),
            ),
        )


def _rounded(measures: dict[str, float | None]) -> dict[str, float | None]:
    """Return measures with four digits: more would reveal the values of a row that was left out."""
    return {
        name: value if value is None or isinstance(value, int) else float(f"{value:.4g}")
        for name, value in measures.items()
    }


def _measured(case: Case, prepared: Prepared, progress: Listener) -> tuple[Measured | None, str | None]:
    """Return the measures of the output, or None and the reason why it cannot be measured."""
    try:
        return measure_against(case, progress, prepared=prepared), None
    except UsageError as error:
        return None, f"How much of the original the output keeps could not be measured: {error}"


def _risks(
    release: Release, policy: Policy, of_release: ReleaseRows, handed_out: Source, measured: Measured | None
) -> tuple[Risk, Risk]:
    """Return the risk of the original and of the release; both count people if people are counted."""
    original, settings = release.prepared.source, RiskSettings()
    before = None if measured is None else measured.risk_before
    if before is None:
        before = risk_of(original, policy, settings)
    publication, entity = release.publication, release.publication.roles.entity
    if of_release.people is not None and entity is not None:
        person = replace(entity, name=publication.entity_name)
        columns = publication.published_quasi_identifiers
        return before, assess(original.engine, of_release.people, columns, settings, entity=person)
    return before, risk_of(handed_out, policy, settings) if measured is None else measured.risk


def _of_several_columns(risk: Risk) -> Risk:
    """Return a risk without the results for single columns."""
    found = tuple(subset for subset in risk.subsets.found if len(subset.columns) > 1)
    return replace(risk, subsets=replace(risk.subsets, found=found))


def _attacks(case: Case, release: Release, prepared: Prepared, progress: Listener) -> tuple[Verdict, ...]:
    algorithm = case.policy.algorithm
    try:
        found = attack_release(
            case, Guessing(), progress=progress, algorithm=algorithm, prepared=prepared, made=release
        )
    except UsageError as error:
        return (Verdict("all attacks", None, "not tested", f"Could not be tested: {error}", ""),)
    return tuple(verdict.in_report() for verdict in verdicts_on(found.attacks, with_original=False))


def _standards(original: Source, released: Source, policy: Policy) -> tuple[CheckedStandard, ...]:
    """Check the output against the rules of standards; the original names its people."""
    if not policy.standards:
        return ()
    return check_source(released, policy, None if policy.columns.entity is None else original).standards


def _curve(release: Release, classes: int, curve: Sequence[int], progress: Listener) -> tuple[CurvePoint, ...]:
    """Return the cost of other k, all else being the same; none if no k is required.

    The release, with its ``classes``, is the point of its own k.
    """
    policy, rows = release.policy, release.rows_in
    if policy.k == 1 or not rows or policy.choice_made == ALL_OR_NONE:  # other k would reveal further divisions
        return ()
    others = tuple(k for k in curve if k <= rows and k != policy.k)
    shared = release.prepared.shared_tests or SharedTests(others)
    table = PreparedTable(replace(release.prepared, shared_tests=shared), policy)
    points = [_point(policy.k, rows, release.loss, release.rows_suppressed, classes, chosen=True)]
    # The largest first: its release is also allowed with a smaller k, which bounds the cost of that one.
    for k in reversed(others):
        try:
            (found,) = table.compare(algorithms=[policy.algorithm], k=[k], progress=progress).results
        except VerificationError:  # pseudonyms may tie more together than this k allows
            points.append(_point(k, rows, None, None, None))
            continue
        points.append(_point(k, table.prepared.frequency.rows, found.loss, found.rows_suppressed, found.classes))
    return tuple(sorted(points, key=lambda point: point.k))


def _point(
    k: int, rows: int, loss: float | None, suppressed: int | None, classes: int | None, *, chosen: bool = False
) -> CurvePoint:
    return CurvePoint(k, chosen, loss, suppressed, None if suppressed is None else suppressed / rows, classes)


def _search(release: Release) -> Search:
    policy, result = release.policy, release.result
    return Search(
        **policy.asked,
        time_limit=policy.time_limit,
        optimal=release.optimal,
        gap=None if release.gap is None else math.ceil(release.gap * 10_000) / 10_000,  # claims no more than is proven
        stopped=result.stopped,
        nodes_tested=result.nodes_tested,
        lattice_size=release.prepared.lattice.size,
        steps=None if release.steps is None else len(release.steps),
        rounds=None if release.cutting is None else release.cutting["rounds"],
        seed=release.publication.seed,
        time_zone=release.prepared.source.time_zone,
    )


def _pseudonymized(release: Release, verification: Verification) -> Pseudonymized | None:
    pseudonyms = release.publication.pseudonyms
    if pseudonyms is None:
        return None
    alike = {tied.column: tied.fewest for tied in verification.pseudonyms}
    return Pseudonymized(tuple(pseudonyms.names), pseudonyms.key.origin, alike)


# Where a report comes from


def versions() -> dict[str, str]:
    return {
        "kanon-sql": version("kanon-sql"),
        "DuckDB": version("duckdb"),
        "sqlglot": version("sqlglot"),
        "Python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def sql_of(publication: Publication) -> str:
    """Return the statements that make and check a release, as a script.

    The relations that they read appear by name only. The contents of hierarchies would list values of the original, and
    so would the boxes of Mondrian, even those of rows that were left out.
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
    """Return the policy as a kanon.toml for the working directory, without the place of the original."""
    destination = Destination() if published is None else published.destination
    return policy_text(replace(release.policy, origin=None), destination, Path())


def policy_fingerprint(release: Release, published: ReportedRelease | None) -> str:
    return hashlib.sha256(policy_of(release, published).encode("utf-8")).hexdigest()


def commands_of(
    release: Release,
    published: ReportedRelease | None,
    utility: UtilitySettings | None = None,
    apart: KeptApart | None = None,
) -> tuple[str, ...]:
    """Return the commands that make the release and the report again, with the policy beside them.

    If people were held out, a release of the whole table would be another one: only the second command is returned.
    """
    source = release.prepared.source
    place = source.database or source.file
    name = "SOURCE" if place is None else place.name
    if source.address is not None:
        name = source.address.shown
    original = shlex.join([name, *([source.written_name] if source.in_database else [])])
    where = "" if published is not None else " --out release.parquet"
    if published is not None and published.kind == "in place":  # on a copy of the original
        return (f"kanon anonymize {original} --policy kanon.toml --report report.html",)
    beside = "" if apart is None else f" --control {shlex.quote(apart.control.name)}"
    measured = ""
    if utility is not None:
        spread = [] if utility.spread == "even" else ["--spread", utility.spread]
        target = [] if utility.target is None else ["--target", utility.target]
        measured = f" {shlex.join(['--utility', *spread, *target])}"
    reported = f"kanon report {original} --policy kanon.toml --out report.html{measured}{beside}"
    return (reported,) if apart is not None else (f"kanon anonymize {original} --policy kanon.toml{where}", reported)


def _fingerprints_of(release: Release, released: Source, published: ReportedRelease | None) -> dict[str, str]:
    """Return fingerprints (SHA-256) of everything public: the output, its file, the policy and hierarchy files.

    The original has none, nor have hierarchies made from its values: someone who knows all but a few values could find
    the missing ones by trial.
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
