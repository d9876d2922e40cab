"""``check``: does an existing table satisfy a policy?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

from sqlglot import exp

from kanon_sql.engine.base import find_column, find_columns, names
from kanon_sql.engine.equality import require_identity, written
from kanon_sql.errors import UsageError, counted
from kanon_sql.evidence.case import CaseSettings, Judged, Tables, as_lists, given_case, takes_case
from kanon_sql.evidence.known import known_source
from kanon_sql.evidence.people import columns_of, findings_on, models_of, source_with_people
from kanon_sql.hierarchy.lookup_relation import lookup_statement
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets, known_subsets_of
from kanon_sql.models.l_diversity import DistinctLDiversity
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.policy.gate import PEOPLE, refused_of
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import resolve_quasi_identifiers
from kanon_sql.policy.standards import standard_named
from kanon_sql.release.pseudonyms import not_pseudonyms_query
from kanon_sql.release.published_rules import values_not_by_rule
from kanon_sql.release.statements.view import hidden_rows
from kanon_sql.release.verify.classes import (
    ClassCheck,
    ModelResult,
    Tied,
    k_of,
    read_verification,
)
from kanon_sql.release.verify.pseudonyms import signature_query, tied_of
from kanon_sql.search.prepare import open_population
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.known import KnownResult
    from kanon_sql.evidence.standards.judge import CheckedStandard, Facts
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.gate import Finding
    from kanon_sql.risks.attacks.released import ClassPeople


WORST = 5
"""Number of classes to report for each model that fails."""


@dataclass(frozen=True)
class WorstClass:
    """A class that fails a model (for a sensitive column), by its rows and its measure, without its values."""

    model: str
    sensitive: str | None
    rows: int
    measured: int | float


@dataclass(frozen=True)
class CheckResult(Judged):
    """Result of a check of a table against a policy.

    Attributes:
        classes: None if no quasi-identifiers were named, and only standards were checked.
        original: the table by which people were counted; None if the checked table names them itself.
        smallest_class_people: a lower bound for the people of the class with the fewest; None if it is not known.
        pseudonyms: for each pseudonymized column, how many pseudonyms link equal rows.
        hidden_rows: for a view made by kanon, rows of its table that it leaves out because their values came later;
            None for anything else, and if that table may not be read.
        not_by_rule: for columns published by a rule, the number of values that the rule cannot produce.
        rules_not_checked: columns whose rule cannot be checked from the table.
    """

    table: str
    rows: int
    classes: int | None
    smallest_class: int | None
    models: tuple[ModelResult, ...]
    classes_failing: int
    rows_failing: int
    identifying: tuple[str, ...]
    entity: str | None = None
    worst: tuple[WorstClass, ...] = ()
    pseudonyms: tuple[Tied, ...] = ()
    hidden_rows: int | None = None
    original: str | None = None
    smallest_class_people: int | None = None
    smallest_class_people_at_most: int | None = None
    findings: tuple[Finding, ...] = ()
    not_by_rule: dict[str, int] = field(default_factory=dict)
    rules_not_checked: tuple[str, ...] = ()
    standards: tuple[CheckedStandard, ...] = ()

    @property
    def verified(self) -> bool:
        """True if every model has a known result and no check refused the table."""
        return self.refusal is None and all(model.verified for model in self.models)

    @property
    def fails(self) -> bool:
        """True if the table is known to violate the policy."""
        models = any(model.verified and not model.holds for model in self.models)
        tied = any(tied.failing for tied in self.pseudonyms)
        return models or tied or bool(self.identifying or self.not_by_rule)

    @property
    def holds(self) -> bool:
        """True if the table satisfies the policy and every rule of standards that can be checked holds."""
        return self.satisfies_policy and all(standard.holds for standard in self.standards)

    @property
    def satisfies_policy(self) -> bool:
        """True if every model is verified to hold, nothing else fails and no check refused the table."""
        return all(model.holds for model in self.models) and not self.fails and self.refusal is None

    @property
    def k(self) -> int | float | None:
        """The measure of k-anonymity: people if they are counted, otherwise rows; None if it is not known."""
        if self.counts_people and self.smallest_class_people is None:
            return None
        return k_of(self.models, self.smallest_class)

    def summary(self) -> dict[str, Any]:
        verdicts = {name: getattr(self, name) for name in ("table", "holds", "satisfies_policy", "verified", "k")}
        plain = verdicts | asdict(self)
        plain |= {"identifying_columns": plain.pop("identifying"), "worst_classes": plain.pop("worst")}
        plain["pseudonyms"] = [tied.stated() for tied in self.pseudonyms]
        plain["standards"] = [standard.summary() for standard in self.standards]
        return as_lists(plain)


@takes_case()
def check(
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    population: str | None = None,
    standards: Sequence[str] = (),
    **case: Unpack[CaseSettings],
) -> CheckResult:
    """Check an existing table against a policy and the rules of standards. Nothing is changed.

    Models that compare a class with the whole table compare it with this table. It lacks the values of suppressed rows,
    which were part of the comparison when the release was made.

    Args:
        source: as for ``anonymize``. Optional if a policy file names the table and the destination of its release: then
            the release is checked, and its people are counted by that table.
        table: the table in a database.
        population: the table or file that ``KMap`` and ``DeltaPresence`` compare with; its values must be written like
            those of the table.
        standards: names of standards, such as "hipaa-safe-harbor", whose rules are checked too; by default those of a
            policy file. Without quasi-identifiers, only standards are checked.
        case: see ``CaseSettings``. If neither the table nor the original has the entity, k is not verified and does not
            hold. Without an original, ``hierarchies`` are those of sensitive columns, for the hierarchical distance of
            t-closeness.

    Raises:
        UsageError: a quasi-identifier does not exist, none is named, or a standard is unknown.
        SourceError: the source cannot be read.
    """
    with given_case(Tables(source, table), case, "for people", population=population) as opened:
        policy = replace(opened.policy, standards=names(standards)) if standards else opened.policy
        return check_source(opened.release, policy, opened.beside)


def check_source(source: Source, policy: Policy, original: Source | None = None) -> CheckResult:
    """Check an open source against a policy; the original, if given, must be in the same engine."""
    found = _of_standards_alone(source, policy) or _of_policy(source, policy, original)
    if not policy.standards:
        return found
    from kanon_sql.evidence.standards.judge import check_standards

    return replace(found, standards=check_standards(source, policy.standards, _facts(source, policy, original, found)))


def _of_standards_alone(source: Source, policy: Policy) -> CheckResult | None:
    """Return a result without classes if only standards are to be checked; otherwise None."""
    named = policy.columns
    if not policy.standards or named.quasi_identifiers or named.sensitive or policy.models != Policy().models:
        return None
    ((rows,),) = source.holder.rows(sql.select_count(source.relation), "rows of the table")
    identifying = _identifying(source, policy, None)
    return CheckResult(source.name, int(rows), None, None, (), 0, 0, identifying, hidden_rows=hidden_rows(source))


def _facts(source: Source, policy: Policy, original: Source | None, found: CheckResult) -> Facts:
    from kanon_sql.evidence.standards.judge import Facts

    person = () if policy.columns.entity is None else (policy.columns.entity,)
    named = (*policy.columns.identifying, *policy.columns.pseudonymize, *person)
    naming = tuple(column.name for column in find_columns(named, source.columns))
    if found.classes is None:
        return Facts(found.rows, unknown="no quasi-identifiers were named (--qi)", naming=naming)
    people = found.smallest_class_people is not None
    by_rows = found.smallest_class if found.k is not None else None
    known = "of how many people classes are is not known" if found.entity is None else f"{found.entity} is not there"
    return Facts(
        rows=found.rows,
        smallest=found.smallest_class_people if people else by_rows,
        at_most=found.smallest_class_people_at_most if people else None,
        members="people" if people else "rows",
        unknown=known,
        rows_by_choice=policy.count == "rows",
        fewest_values=_fewest_values(source, policy, original, found.rows),
        policy=found.satisfies_policy,
        naming=naming,
        classes=True,
    )


def _fewest_values(source: Source, policy: Policy, original: Source | None, rows: int) -> dict[str, int | None] | None:
    """Return, by sensitive column, the fewest distinct values in any class, if a standard limits them."""
    wanted = any(rule.check == "distinct" for name in policy.standards for rule in standard_named(name).rules)
    about = [model.sensitive for model in policy.models if isinstance(model, SensitiveModel) and model.sensitive]
    columns = list(dict.fromkeys((*policy.columns.sensitive, *about)))
    if not wanted or not columns or not rows:
        return None
    models = tuple(DistinctLDiversity(1, sensitive=column) for column in columns)
    measured = _of_policy(source, replace(policy, models=models, standards=(), population=None), original)
    return {
        result.sensitive or "": None if result.measured is None else int(result.measured) for result in measured.models
    }


def _of_policy(source: Source, policy: Policy, original: Source | None) -> CheckResult:
    """Check a source against a policy, ignoring its standards."""
    known = known_subsets_of(policy.models)
    if known is not None:
        by_all = replace(policy, models=(KAnonymity(1, known.entity),))
        return _with_known(_of_policy(source, by_all, original), known_source(source, policy, known.m, original), known)
    findings = findings_on(source, policy, original)
    identifying = _identifying(source, policy, original)
    named, people = source_with_people(source, policy, original)
    required = _required(source, policy, named)
    if required.everybody is not None:
        _require_in_population(source, policy, required.quasi_identifiers, required.everybody)
    not_by_rule, not_checked = values_not_by_rule(source, policy.publish)
    found = read_verification(source.engine.row(required.query(), "check the classes of the table"), required.models)
    repeated = refused_of(findings, PEOPLE)
    models = tuple(
        # If a table has several rows of one person, people must be counted.
        _known(result, model if repeated is None else model.counting(repeated.columns[0]), required, people)
        for result, model in zip(found.models, required.models, strict=True)
    )
    smallest = next(
        (
            int(result.measured)
            for result, model in zip(models, required.models, strict=True)
            if model.entity is not None and result.measured is not None
        ),
        None,
    )
    return CheckResult(
        table=source.name,
        rows=found.rows,
        classes=found.classes,
        smallest_class=found.smallest_class,
        models=models,
        classes_failing=found.classes_failing,
        rows_failing=found.rows_failing,
        identifying=identifying,
        entity=policy.columns.entity,
        original=None if original is None or people is None else original.name,
        smallest_class_people=smallest,
        smallest_class_people_at_most=smallest if people is None else people.smallest_at_most,
        worst=tuple(
            WorstClass(result.model, result.sensitive, int(rows), measured)
            for number, result in enumerate(found.models)
            if not result.holds
            for rows, measured in source.engine.rows(required.worst(number, WORST), f"worst classes, {result.model}")
        ),
        pseudonyms=_ties(source, policy, required),
        hidden_rows=hidden_rows(source),
        findings=findings,
        not_by_rule=not_by_rule,
        rules_not_checked=tuple(not_checked),
    )


def _with_known(by_all: CheckResult, found: KnownResult, model: KnownSubsets) -> CheckResult:
    """Merge results for classes by all columns with those for classes by some columns, for which k is required."""
    last = found.by_number[-1]
    result = ModelResult(
        model.name,
        model.required,
        found.smallest_class if found.people_known and not found.nameless else None,
        bool(found.holds),
        model.letter,
        classes_failing=sum(one.too_small for one in found.subsets if len(one.columns) == last.columns),
        rows_failing=last.in_too_small,
        verified=found.verified,
    )
    return replace(
        by_all,
        # No k is required for all columns together.
        models=(*(replace(one, required=0, holds=True, verified=True) for one in by_all.models), result),
        classes_failing=result.classes_failing,
        rows_failing=result.rows_failing,
    )


def _known(result: ModelResult, model: PrivacyModel, required: ClassCheck, people: ClassPeople | None) -> ModelResult:
    """Return the measure of a model, and a verdict only if it can be known: people may have no column."""
    if model.entity is None or (required.entity is not None and people is None):
        return result
    if people is None:  # rows were measured: a class of too few rows has too few people
        fails = not result.holds
        return replace(result, holds=False, measured=None, verified=fails)
    fails = people.smallest_at_most is not None and people.smallest_at_most < result.required
    return replace(result, verified=result.holds or fails)


def _required(source: Source, policy: Policy, counted: Source | None = None) -> ClassCheck:
    """Return the requirements of a policy on a table; ``counted`` is the table with the column that names people."""
    named = policy.columns
    columns = resolve_quasi_identifiers(named.quasi_identifiers, source.columns, source.name)
    require_identity(source.engine, source.relation, columns)
    counted = counted or source
    person = find_column(named.entity or "", counted.columns)
    entity = None if person is None else person.name
    models, trees = models_of(source, policy)
    source.bring([*columns, *columns_of(source, models, policy)], person if counted is source else None)
    everybody = None
    if policy.population is not None:
        population = open_population(source, policy.population_path, columns, as_text=True)
        everybody = exp.select("*").from_(population.relation.copy())
    return ClassCheck(counted.relation, tuple(columns), models, entity, trees=trees, everybody=everybody)


def _require_in_population(source: Source, policy: Policy, columns: Sequence[Column], everybody: exp.Query) -> None:
    """Raise if a class of the release is not in the population, which then cannot be compared with it."""
    labels = [written(sql.column(column.name), column) for column in columns]
    query = sql.query(
        "verify/not_in_population",
        values={"labels": labels},
        relations={"release": source.relation, "everybody": everybody.subquery("everybody")},
    )
    absent = int(source.engine.row(query, "classes that are not in the population")[0])
    if absent:
        raise UsageError(
            f"{policy.population_path} does not contain the table: it lacks {counted(absent, 'class', 'classes')} of "
            "the table. A population has everybody, and its values are written like those of the release: "
            "generalize it to the same levels (kanon anonymize -k 1 --levels COLUMN=LEVEL), and name the result with "
            "--population."
        )


def check_sql(source: Source, policy: Policy, dialect: str = "duckdb") -> str:
    """Return the SQL of a check, preceded by the statements that make the source if a script needs them."""
    if known_subsets_of(policy.models) is not None:
        raise UsageError("Classes by some of the columns are counted subset by subset: kanon known --sql prints how.")
    required = _required(source, policy)
    foreign = dialect != source.engine.dialect
    needed = [tree for tree in (required.trees or {}).values() if tree.stored is None]
    trees = [lookup_statement(source.engine, tree, dialect=dialect) for tree in needed]
    # Elsewhere the source must exist.
    statements = [*(() if foreign else source.setup), *trees, required.query()]
    return script(statements, dialect) + "\n"


def _identifying(source: Source, policy: Policy, original: Source | None) -> tuple[str, ...]:
    """Return the identifying columns of the policy that the table has, without those that hold only pseudonyms.

    The column that counts people must be there, but a release must not name people as its original does.
    """
    named = policy.columns
    replaced, found = (find_columns(names, source.columns) for names in (named.pseudonymize, named.identifying))
    person = find_column(named.entity or "", source.columns)
    others = [column for column in found if column != person and column not in replaced]
    raw = [
        column
        for column in replaced
        if source.engine.row(not_pseudonyms_query(source.relation, column.name), "values that are no pseudonyms")[0]
    ]
    if original is not None and person is not None and person not in raw and _names_people(source, original, person):
        raw.append(person)
    return tuple(dict.fromkeys(column.name for column in (*others, *raw)))


def _ties(source: Source, policy: Policy, required: ClassCheck) -> tuple[Tied, ...]:
    """Check how many pseudonyms link equal rows, for each pseudonymized column of the table."""
    names = list(dict.fromkeys(column.name for column in find_columns(policy.columns.pseudonymize, source.columns)))
    queries = [signature_query(source.relation, required.quasi_identifiers, names, name, policy.k) for name in names]
    return tied_of(source.engine, names, queries)


def _names_people(source: Source, original: Source, person: Column) -> bool:
    """Return True if a column of a release names people as the same column of its original does."""
    column = find_column(person.name, original.columns)
    if column is None:
        return False
    original.bring([column])
    source.bring([person])
    query = sql.query(
        "verify/raw_people",
        values={"published": sql.column(person.name, "release"), "person": sql.column(column.name, "original")},
        tables={"release": source.relation, "original": original.relation},
    )
    return bool(source.engine.row(query, "does it name people as its original does?")[0])
