"""``measure``: the risk and utility of a published table, by itself and against its original."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

from kanon_sql.engine.base import find_column
from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.errors import UsageError
from kanon_sql.evidence.case import CaseSettings, Judged, Tables, given_case, takes_case
from kanon_sql.evidence.people import named_by
from kanon_sql.evidence.risk import require_entity, require_weights, risk_of
from kanon_sql.measures.class_measures import average_class_size, average_rows
from kanon_sql.measures.quality import measure_published
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.gate import judge, judge_roles, people_are_counted
from kanon_sql.policy.roles import resolve_quasi_identifiers
from kanon_sql.policy.weights import in_json, stated_weights
from kanon_sql.release.utility import WantedUtility, require_compared, utility_against, utility_settings
from kanon_sql.release.verify.classes import ClassCheck, read_verification
from kanon_sql.risks.estimators.assessment import DEFAULT_THRESHOLD, RiskSettings, threshold_of
from kanon_sql.search.prepare import prepare_source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.case import Case
    from kanon_sql.measures.quality import Quality
    from kanon_sql.measures.utility.spread import Spread, UtilitySettings
    from kanon_sql.measures.utility.utility import Utility
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Policy
    from kanon_sql.risks.estimators.assessment import Risk
    from kanon_sql.search.prepare import Prepared


@dataclass(frozen=True)
class MeasuredPeople:
    """Numbers of people in the classes of a table; None if neither the table nor an original names them.

    ``settled`` is True if the people of each class are known. If not, the risk assumes the fewest people that each
    class can have. A person in two classes may then be two people, and shares of people are not known.
    """

    entity: str
    smallest_class: int | None
    smallest_class_at_most: int | None
    settled: bool


@dataclass(frozen=True)
class Measured(Judged):
    """Measures of a table; those that need an original are None without one.

    ``levels`` are None for columns with labels on several levels; ``losses`` are those of each quasi-identifier alone;
    ``weights`` of columns are 1 if not given.
    """

    table: str
    original: str | None
    rows_in: int | None
    rows_out: int
    classes: int
    smallest_class: int | None
    levels: dict[str, int | None] | None
    measures: dict[str, float | None]
    risk: Risk
    risk_before: Risk | None = None
    people: MeasuredPeople | None = None
    findings: tuple[Finding, ...] = ()
    losses: dict[str, float] | None = None
    weights: Mapping[str, int | str] = field(default_factory=dict)
    utility: Utility | None = None

    @property
    def rows_suppressed(self) -> int | None:
        """Rows of the original that the table does not have."""
        return None if self.rows_in is None else self.rows_in - self.rows_out

    def summary(self) -> dict[str, Any]:
        names = ("table", "original", "rows_in", "rows_out", "rows_suppressed", "classes", "smallest_class")
        risk = self.risk.summary()
        return {
            **{name: getattr(self, name) for name in names},
            "people": self.people and vars(self.people),
            "levels": self.levels,
            "measures": self.measures,
            **in_json(self.weights),
            "risk": risk if self.risk_before is None else {"before": self.risk_before.summary(), "after": risk},
            "findings": [asdict(finding) for finding in self.findings],
            **({} if self.utility is None else {"utility": self.utility.summary()}),
        }


@takes_case("identifying", "sensitive")
def measure(  # noqa: PLR0913 - the public call: every setting has its own name
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    threshold: str | float = DEFAULT_THRESHOLD,
    subsets: int | None = None,
    sampling_fraction: float | None = None,
    population: Any = None,  # noqa: ANN401 - as for original
    population_table: str | None = None,
    suda: int | None = None,
    record_weight: str | None = None,
    utility: bool = False,
    target: str | None = None,
    spread: Spread | None = None,
    weights: Mapping[str, float | Fraction | str] | None = None,
    control: Any = None,  # noqa: ANN401 - as for original
    progress: Listener | None = None,
    **case: Unpack[CaseSettings],
) -> Measured:
    """Measure the risk of a published table, and how much of its original it keeps.

    ``measure`` does not know how the table was made: it looks up each label in the hierarchies.

    Args:
        source: the published table, as for ``anonymize``. Optional if a policy file names the table and the destination
            of its release: then the release is measured against that table.
        table: its name in a database.
        threshold: the risk above which rows are counted, as for ``risk``.
        subsets: maximum number of columns in subsets of quasi-identifiers, as for ``risk``.
        sampling_fraction: the share of the population that the original has; without an original, the table.
        population: all people that the rows of the published table could be about, as for ``risk``.
        population_table: the name of the population, if ``population`` is a database.
        suda: score rows by SUDA2, as for ``risk``.
        record_weight: the column of weights in the table or its original, as for ``risk``.
        utility: measure the utility of the table: marginals, queries, models trained on it.
        target: a column for models to predict, from the table and from the original.
        spread: how rows of a label are spread over the values that it stands for: "even", the default, or "marginal",
            as frequent as in the original.
        weights: weights of the columns in the loss, as for ``anonymize``.
        control: people who are not in the table, as for ``attack``: predictions are tested on their rows, and the
            original is measured without them.
        progress: called during the work.
        case: see ``CaseSettings``. If rows of one person repeat and there is no entity, no threshold is known to be
            met.

    Raises:
        UsageError: a column does not exist, or the table is not a release of the original under these hierarchies.
        SourceError: a source or a hierarchy cannot be read.
    """
    settings = RiskSettings(threshold_of(threshold), subsets, sampling_fraction, suda, record_weight)
    tables = Tables(source, table, control=control, population=population, population_table=population_table)
    good_for = utility_settings(utility=utility, target=target, spread=spread, control=control is not None)
    with given_case(tables, case, "if unnamed", weights=weights) as opened:
        return measure_case(opened, case.get("entity"), settings, good_for, progress or silent)


def measure_case(
    case: Case, entity: str | None, settings: RiskSettings, utility: UtilitySettings | None, progress: Listener
) -> Measured:
    """Measure an open case; ``entity`` is the column of people that the call names."""
    tables = [one for one in (case.beside, case.release) if one is not None]
    require_entity(entity, *tables)
    require_weights(settings.record_weight, *tables)
    if case.beside is not None:
        wanted = None if utility is None else WantedUtility(utility, case.control)
        return measure_against(case, progress, settings, utility=wanted)
    if utility is not None:
        raise UsageError("Utility is measured against the table that a release was made from: name it with --original.")
    return measure_alone(case.release, case.policy, settings, case.population)


def measure_alone(
    source: Source, policy: Policy, settings: RiskSettings | None = None, population: Source | None = None
) -> Measured:
    """Measure a published table without its original: the sizes of its classes, and its risk."""
    columns = resolve_quasi_identifiers(policy.columns.quasi_identifiers, source.columns, source.name)
    findings = judge(source, policy)
    models = (KAnonymity(policy.k),)
    source.bring(columns, find_column(policy.columns.entity or "", source.columns))
    query = ClassCheck(source.relation, columns, models).query()
    found = read_verification(source.engine.row(query, "sizes of the classes"), models)
    of_classes = {
        "average_class_size": average_class_size(found.rows, found.classes, policy.k),
        "average_rows_per_class": average_rows(found.rows, found.classes),
    }
    risk = risk_of(source, policy, settings or RiskSettings(), population, findings=findings)
    return Measured(
        source.name,
        None,
        None,
        found.rows,
        found.classes,
        found.smallest_class,
        None,
        of_classes,
        risk,
        people=_people(policy, risk),
        findings=findings,
    )


def _people(policy: Policy, risk: Risk) -> MeasuredPeople | None:
    """Return the people of the smallest class, if the table names people itself."""
    entity = policy.columns.entity
    if entity is None:
        return None
    named = risk.counted == "people"
    smallest = risk.smallest_class if named else None
    return MeasuredPeople(entity, smallest, smallest, named)


def measure_against(
    case: Case,
    progress: Listener = silent,
    settings: RiskSettings | None = None,
    prepared: Prepared | None = None,
    utility: WantedUtility | None = None,
) -> Measured:
    """Measure a published table against its original, and the risk of both.

    People of a control group are left out of the original. ``prepared`` is the original, prepared for
    ``policy.of_rows()``; None prepares it.
    """
    original, release, policy, settings = case.original, case.release, case.policy, settings or RiskSettings()
    if utility is not None and utility.control is not None:
        from kanon_sql.evidence.control_group import without_control  # loads the attacks

        require_compared(utility.control, policy, utility.settings.target)
        entity = find_column(policy.columns.entity or "", original.columns)
        original, _ = without_control(original, utility.control, entity)
    # Findings about the original apply to its release: the rows belong to the same people.
    before = tuple(people_are_counted(original, policy))
    findings = (*(before or people_are_counted(release, policy)), *judge_roles(release, policy))
    prepared, found = quality_against(original, release, policy, progress, prepared)
    good_for = None
    if utility is not None:
        good_for = utility_against(original, release, policy, prepared, utility, progress)
    progress(Progress("Risk of the original"))
    risk_before = risk_of(original, policy, settings, findings=before)
    progress(Progress("Risk of the release"))
    # Both are samples of one population, with the same number of rows if the release names no people.
    counted, people = _with_people(prepared, release, policy)
    if people is not None and not people.settled:  # the minimum of each class gives none for united classes
        settings = replace(settings, subsets=0, suda=None, record_weight=None)
    of_people = (
        risk_before.counted == "people" and find_column(policy.columns.entity or "", counted.columns) is not None
    )
    size = settings.population_of(risk_before.members if of_people else prepared.frequency.rows)
    if risk_before.weighted is not None and (of_people or risk_before.people is None):
        size = round(risk_before.weighted.population)
    weighed = None
    if counted is not release:  # the original names its people
        has_own = find_column(settings.record_weight or "", release.columns) is not None
        weighed = release if has_own and risk_before.people == prepared.frequency.rows else original
    risk = risk_of(counted, policy, settings, case.population, size, findings=findings, weighed=weighed)
    if people is not None and not people.settled:
        risk = risk.of_fewest(risk_before.people or 0)
    names = [hierarchy.column.name for hierarchy in prepared.hierarchies]
    return Measured(
        release.name_beside(original),
        original.name_beside(release),
        prepared.frequency.rows,
        found.counts.rows,
        found.counts.published,
        found.counts.smallest,
        dict(zip(names, found.levels, strict=True)),
        found.values,
        risk,
        risk_before,
        people or _people(policy, risk),
        findings,
        dict(zip(names, found.by_column["loss"], strict=True)),
        stated_weights(policy.weights),
        good_for,
    )


def _with_people(prepared: Prepared, release: Source, policy: Policy) -> tuple[Source, MeasuredPeople | None]:
    """Return a release with the column that names people, taken from its original if the release lacks it."""
    entity = policy.columns.entity
    person = find_column(entity or "", prepared.source.columns)
    if entity is None or person is None:
        return release, None
    columns = resolve_quasi_identifiers(policy.columns.quasi_identifiers, release.columns, release.name)
    named, found = named_by(prepared, release, policy, person, list(columns))
    if found is None:
        return release, None
    return named, MeasuredPeople(entity, found.smallest, found.smallest_at_most, found.settled or found.one_row_each)


def quality_against(
    original: Source,
    release: Source,
    policy: Policy,
    progress: Listener = silent,
    prepared: Prepared | None = None,
) -> tuple[Prepared, Quality]:
    """Return every measure of a published table against its original, and the original as prepared for that."""
    columns = resolve_quasi_identifiers(policy.columns.quasi_identifiers, release.columns, release.name)
    # One scan of each side answers everything; the risk counts people if they are named.
    for side in (original, release):
        named = resolve_quasi_identifiers(policy.columns.quasi_identifiers, side.columns, side.name)
        side.bring(named, find_column(policy.columns.entity or "", side.columns))
    # Only quasi-identifiers are needed, and measures count rows.
    prepared = prepared or prepare_source(original, policy.of_rows(), progress)
    progress(Progress("Measuring"))
    return prepared, measure_published(prepared.as_original(policy), release.relation, columns)
