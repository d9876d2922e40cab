"""``attack``: test what a release reveals to an attacker who knows people in its original.

The attacker knows the quasi-identifier values of a person, which are a row of the original, and that the person is in
the table. The labels of the release and the hierarchies are public. Only the attack on the choice uses the algorithm
that chose the labels, if it is known.

A control group has people who are not in the release. With one, guesses about people are compared with the same guesses
about the control group (see ``kanon_sql.risks.attacks.controlled``), and all attacks leave its people out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from sqlglot import exp

from kanon_sql.classes.frequency import key_name
from kanon_sql.classes.recoding import Local
from kanon_sql.engine.base import find_column, resolve_columns
from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.errors import KanonError, UsageError, VerificationError, counted
from kanon_sql.evidence.case import CaseSettings, Judged, Tables, given_case, takes_case
from kanon_sql.evidence.control_group import (
    refuse_without_control,
    require_control_columns,
    require_one_row_each,
    without_control,
)
from kanon_sql.evidence.report.proof import release_rows, require_same_rows
from kanon_sql.models.base import N
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.models.l_diversity import DistinctLDiversity
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.policy.algorithms import ALGORITHMS, ALL_OR_NONE, GREEDY
from kanon_sql.policy.gate import judge_roles, people_are_counted
from kanon_sql.policy.roles import resolve_quasi_identifiers
from kanon_sql.release.anonymize import release_of
from kanon_sql.release.verify.pseudonyms import signature_query, tied_of
from kanon_sql.risks.attacks.candidates import find_candidates, make_people
from kanon_sql.risks.attacks.choice import MOST_TUPLES, Choice, Tuple, attack_steps
from kanon_sql.risks.attacks.controlled import CONTROLLED, TARGETS, Guessing, controlled_attacks
from kanon_sql.risks.attacks.guesses import guess
from kanon_sql.risks.attacks.joint import InBoth, Side, join, least_values
from kanon_sql.risks.attacks.linkage import link
from kanon_sql.risks.attacks.order import Order, order_of
from kanon_sql.risks.attacks.released import Shared, make_released, people_by_original, people_by_release, persons_of
from kanon_sql.risks.attacks.verdicts import Verdict, Verdicts, verdicts_on
from kanon_sql.search.prepare import prepare_source
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.case import Case
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.release import Release
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.released import ClassPeople, Released
    from kanon_sql.risks.attacks.verdicts import Attack
    from kanon_sql.search.prepare import Prepared


@dataclass(frozen=True)
class Attacked(Verdicts, Judged):
    """The result of attacks on a release.

    ``attacks`` are in the order of ``ATTACKS``; attacks that need a column or a release appear once for each. If the
    release has rows that the original cannot have (``contradicted``), no attack on it is known to fail. ``left_out``
    describes the rows of the original that belong to the control group.
    """

    table: str
    original: str
    rows_in: int
    rows_out: int
    classes: int
    attacks: tuple[Attack, ...]
    findings: tuple[Finding, ...] = ()
    contradicted: bool = False
    control: str | None = None
    left_out: str | None = None

    @property
    def notes(self) -> list[str]:
        return [*super().notes, *([] if self.left_out is None else [self.left_out])]

    @property
    def succeeded(self) -> bool:
        """True if some attack succeeded, whatever its verdict is."""
        return any(attack.succeeded for attack in self.attacks)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each attack, in order."""
        refused = None if self.refusal is None else (self.refusal.text, self.refusal.ways_on)
        return verdicts_on(self.attacks, refused=refused, contradicted=self.contradicted)

    def summary(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("table", "original", "control")},
            "left_out_of_original": self.left_out,
            **{name: getattr(self, name) for name in ("rows_in", "rows_out", "classes")},
            **self.together(),
            "findings": [asdict(finding) for finding in self.findings],
            "attacks": [{"attack": one.name, **one.figures, **one.summary()} for one in self.verdicts],
        }


@takes_case("identifying")
def attack(  # noqa: PLR0913 - the public call: every setting has its own name
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    others: Sequence[Any] = (),
    control: Any = None,  # noqa: ANN401 - as ``original``
    knows: Sequence[Sequence[str]] = (),
    targets: int = TARGETS,
    seed: int = 0,
    algorithm: str | None = None,
    choice: str = ALL_OR_NONE,
    confidence: float = 1,
    ruled_out: int = 1,
    progress: Listener | None = None,
    **case: Unpack[CaseSettings],
) -> Attacked:
    """Attack a release as someone who knows the quasi-identifiers of every row of its original.

    Args:
        source: the release, as for ``anonymize``. Optional if a policy file names the destination.
        table: its name in a database.
        others: further releases of the same original: tables in the database of the release, paths, or data frames.
        control: people who are not in the release: rows of the same table, such as those that ``anonymize`` holds out,
            as a table in the database of the release, a path, or a data frame. Rows of the original that belong to them
            are left out of it. Enables singling out, linkability and inference.
        knows: the columns that an attacker knows about a target of these attacks: one list of names, or two for two
            sources. By default, the up to three quasi-identifiers by which most people are alone, and all of them.
        targets: the maximum number of people to guess about, in the original and in the control group.
        seed: seed for the random choices of these guesses.
        algorithm: the algorithm of the release, if the attacker knows it; by default that of a policy.
        choice: the choice of the release, as for ``anonymize``.
        confidence: the share of one sensitive value among the candidates that counts as known, above 0 and up to 1.
        ruled_out: the maximum number of sensitive values that the attacker can rule out for a person.
        progress: called during the work.
        case: see ``CaseSettings``; an original is required. A row with fewer than ``k`` candidates counts as found;
            with an entity, a row whose candidates are fewer than ``k`` people. If people have several rows and there is
            no entity, rows are counted and linkage is not excluded.

    Raises:
        UsageError: a column does not exist, or labels of a release cannot be read with these hierarchies.
        SourceError: a source or a hierarchy cannot be read.
    """
    guessing = Guessing(tuple(tuple(names) for names in knows), targets, seed)
    tables = Tables(source, table, control=control, others=others)
    with given_case(tables, case, "always", choice=choice) as opened:
        known = algorithm if algorithm is not None or case.get("policy") is None else opened.policy.algorithm
        return attack_release(opened, guessing, confidence, ruled_out, progress or silent, known)


def attack_release(
    case: Case,
    guessing: Guessing,
    confidence: float = 1,
    ruled_out: int = 1,
    progress: Listener = silent,
    algorithm: str | None = None,
    *,
    prepared: Prepared | None = None,
    made: Release | None = None,
) -> Attacked:
    """Attack the release of an open case (see ``attack``).

    ``algorithm`` is None if the attacker does not know it. ``prepared`` is the original, prepared for
    ``policy.of_rows()`` and already without the people of a control group. ``made`` is the release as its policy made
    it, if its rows are known to be the same.
    """
    refuse_without_control(guessing, case.control)
    _require(confidence, ruled_out)
    own = _Attacker(case, guessing, confidence, ruled_out, algorithm, prepared, made, progress)
    attacks: list[Attack] = []
    for step in ATTACKS:
        if step.doing:
            progress(Progress(step.doing))
        attacks += step.run(own)
    original, release, control, candidates = own.original, case.release, case.control, own.candidates
    return Attacked(
        table=release.name_beside(original),
        original=original.name_beside(release),
        rows_in=own.rows_in,
        rows_out=candidates.rows,
        classes=candidates.number,
        attacks=tuple(attacks),
        findings=own.findings,
        contradicted=candidates.contradicted,
        control=None if control is None else control.name,
        left_out=own.left_out,
    )


class _Attacker:
    """The knowledge and results of an attacker in an open case: the state of ``ATTACKS``."""

    candidates: Candidates
    released: Released
    by_original: ClassPeople | None = None

    def __init__(
        self,
        case: Case,
        guessing: Guessing,
        confidence: float,
        ruled_out: int,
        algorithm: str | None,
        prepared: Prepared | None,
        made: Release | None,
        progress: Listener,
    ) -> None:
        self.case, self.guessing, self.confidence, self.ruled_out = case, guessing, confidence, ruled_out
        self.algorithm, self.made, self.progress = algorithm, made, progress
        original, release, control, named = case.original, case.release, case.control, case.policy.columns
        self.left_out: str | None = None
        by_rows = tuple(people_are_counted(original, case.policy))
        self.findings = (*by_rows, *judge_roles(release, case.policy))
        self.no_order = _no_order(original, release)
        if control is not None:
            require_one_row_each(by_rows, original)
            if prepared is None:
                original, self.left_out = without_control(original, control, _person_of(named.entity, original))
        self.original, self.entity = original, _person_of(named.entity, original)
        known = resolve_columns(named.quasi_identifiers, original.columns, original.name)
        self.columns = resolve_quasi_identifiers(named.quasi_identifiers, release.columns, release.name)
        self.shared = _shared(original, release, known, self.columns)
        # From a warehouse, one scan of each table fetches all columns needed.
        original.bring([*known, *(both.original for both in self.shared)], self.entity)
        release.bring([*self.columns, *(both.released for both in self.shared)])
        self.prepared = prepared or prepare_source(original, case.policy.of_rows(), progress)
        self.places = self.prepared.places()
        self.sensitive = _sensitive(named.sensitive, original, release, self.shared, known)
        persons = () if self.entity is None else (self.entity,)
        needed = tuple(dict.fromkeys((*known, *(both.original for both in self.shared), *persons)))
        if control is not None:
            require_control_columns(control, guessing, original, needed, self.entity)
            _require_apart(original, release, control)
        self.people = make_people(original.engine, original.relation, needed, self.places)

    def link(self) -> Iterator[Attack]:
        """Yield the results of linkage, by people if the original or the release names them."""
        release, policy, entity, columns = self.case.release, self.case.policy, self.entity, self.columns
        engine = release.engine
        self.candidates = candidates = find_candidates(engine, self.people, self.places, release.relation, columns)
        found_people = tied = None
        if entity is not None:
            persons, published = persons_of(engine, self.people, entity), find_column(entity.name, release.columns)
            self.by_original = in_classes = people_by_original(candidates, persons, entity)
            if published is not None:
                by_release = people_by_release(candidates, published, persons, in_classes)
                in_classes = by_release or in_classes
                if by_release is not None:
                    names = [published.name]
                    signatures = signature_query(release.relation, columns, names, published.name, policy.k)
                    (tied,) = tied_of(engine, names, [signatures])
            found_people = (persons, in_classes)
        linkage = link(candidates, policy.k, found_people)
        linkage = replace(linkage, of_some=known_subsets_of(policy.models) is not None)
        if tied is not None:
            linkage = replace(linkage, people_tied=tied.failing, fewest_tied=tied.fewest)
        self.rows_in = linkage.rows
        self.released = make_released(candidates, self.shared)
        yield linkage

    def guess(self) -> Iterator[Attack]:
        """Yield the results of inferring each sensitive column from the candidates."""
        for number in self.sensitive:
            self.progress(Progress("Guessing sensitive values"))
            settings = (number, self.confidence, self.ruled_out)
            yield from guess(self.candidates, self.released, *settings, self.by_original)

    def know_choice(self) -> Iterator[Attack]:
        """Yield the results of inferring sensitive columns from the algorithm's choice, if the attacker knows it."""
        if self.algorithm is not None:
            policy = replace(self.case.policy, algorithm=self.algorithm, search_on="workbench")
            about = [self.shared[number].original.name for number in self.sensitive]
            yield from _known_choice(self.original, self.case.release, policy, about, self.made, self.progress)

    def test_order(self) -> Iterator[Attack]:
        yield Order(self.no_order, self.candidates.rows) if self.no_order else order_of(self.candidates, self.released)

    def join(self) -> Iterator[Attack]:
        """Yield the gain from each other release. Quasi-identifiers that it lacks add nothing."""
        policy, original, first = self.case.policy, self.original, Side(self.candidates)
        least = least_values((model.name, model.required, model.sensitive) for model in policy.models)
        for other in self.case.others:
            self.progress(Progress("Joining releases"))
            found = [find_column(own.hierarchy.column.name, other.columns) for own in self.places]
            both = [(own, column) for own, column in zip(self.places, found, strict=True) if column is not None]
            if not both:
                raise UsageError(f"{other.name} has none of the quasi-identifiers: is it a release of {original.name}?")
            places, columns = [own for own, _ in both], [column for _, column in both]
            theirs = [find_column(own.original.name, other.columns) for own in self.shared]
            other.bring([*columns, *(column for column in theirs if column is not None)])
            second = Side(find_candidates(original.engine, self.people, places, other.relation, columns))
            in_both = [
                InBoth(own, None if there is None else Shared(there, own.original), least.get(own.original.name, 2))
                for own, there in zip(self.shared, theirs, strict=True)
            ]
            by = [column for column in in_both if column.second is not None]
            sensitive = [in_both[number] for number in self.sensitive]
            yield join((first, second), sensitive, other.name, policy.k, self.entity, by)
            second.drop()

    def compare(self) -> Iterator[Attack]:
        """Yield guesses about people in the release, compared with guesses about people who are not in it."""
        if self.case.control is not None:
            self.progress(Progress("Comparing with the control group"))
            yield from controlled_attacks(
                self.original,
                self.case.control,
                self.guessing,
                self.candidates,
                self.released,
                self.case.policy.columns.sensitive,
                self.entity,
            )


class AttackStep(NamedTuple):
    """Attacks that run in sequence, and their requirements in addition to the original."""

    attacks: tuple[str, ...]
    needs: str
    run: Callable[[_Attacker], Iterator[Attack]]
    doing: str = ""


ATTACKS = (
    AttackStep(("linkage",), "", _Attacker.link, "Looking people up"),
    AttackStep(("homogeneity", "background knowledge"), "--sensitive", _Attacker.guess),
    AttackStep(("choice",), "--policy, and a model of a sensitive column", _Attacker.know_choice),
    AttackStep(("order",), "rows in order", _Attacker.test_order, "Testing the order"),
    AttackStep(("joint release",), "--other", _Attacker.join),
    AttackStep(CONTROLLED, "--control", _Attacker.compare),
)
"""Every attack, in the order in which they run and are listed."""


def _require_apart(original: Source, release: Source, control: Source) -> None:
    """Raise an error if a release has more rows than the original without the control group: it includes the group."""
    (there,), (rows,) = (
        original.engine.row(sql.select_count(one.relation), f"rows of {one.name}") for one in (original, release)
    )
    if rows > there:
        raise UsageError(
            f"The release {release.name} has {counted(rows, 'row')}, and {original.name} without the control group "
            f"{control.name} has {there:,}. Keep people apart before the release is made: kanon anonymize --hold-out."
        )


def _person_of(entity: str | None, original: Source) -> Column | None:
    """Return the column of an original that names the person. Raises an error if it is missing."""
    column = None if entity is None else find_column(entity, original.columns)
    if entity is not None and column is None:
        raise UsageError(
            f"{original.name} has no column {entity!r} to count people by: name one of its columns, --entity."
        )
    return column


def _known_choice(
    original: Source,
    release: Source,
    policy: Policy,
    wanted: Sequence[str],
    found: Release | None,
    progress: Listener,
) -> Iterator[Choice]:
    """Return what the algorithm's choice reveals about each sensitive column.

    Unless a release by the policy was ``found``, the algorithm runs again. Its choice is known only if it makes the
    same release.
    """
    of_parts = ALGORITHMS[policy.algorithm].kind == "multidimensional"
    choice = policy.choice if of_parts else GREEDY
    columns = {folded(one.sensitive or "") for one in policy.models if isinstance(one, SensitiveModel)}
    if not columns:
        return
    reason = None
    if policy.publish or policy.columns.pseudonymize:
        reason = "columns are published by rules, or as pseudonyms"
    try:
        if reason is None and found is None:
            progress(Progress("Choosing again"))
            found = release_of(prepare_source(original, policy), replace(policy, choice=choice), silent)
            with release_rows(found) as made:
                require_same_rows(found, made.rows, release)
    except VerificationError:
        reason = "the release is not what this policy makes of this original"
    except KanonError as error:
        reason = f"the release cannot be made again: {error}"
    for name in wanted:
        rows = 0 if found is None else found.rows_in
        own = Choice(name, policy.algorithm, rows, all_or_none=choice == ALL_OR_NONE, reason=reason)
        if reason is None and not columns & {"", folded(name)}:
            yield replace(own, uncounted="no model is about this column, and other columns may give it away")
            continue
        yield own if reason is not None or found is None or own.all_or_none else _choice_of_steps(own, found)


def _choice_of_steps(own: Choice, found: Release) -> Choice:
    """Return what the steps of local recoding reveal, if it can be counted."""
    recoding, frequency = found.result.recoding, found.prepared.frequency
    models = [model for model in found.prepared.coded(found.policy.models) if not isinstance(model, KAnonymity)]
    if not isinstance(recoding, Local):
        return replace(own, uncounted="counted of local and spolg alone")
    model = models[0]
    if len(models) > 1 or frequency.counts_people or not isinstance(model, DistinctLDiversity):
        return replace(own, uncounted="counted under one l-diversity alone, of rows")
    if frequency.tuples > MOST_TUPLES:
        return replace(own, uncounted=f"counted for at most {MOST_TUPLES:,} tuples")
    names = [*map(key_name, range(frequency.keys)), model.coding.code, N]
    rows = frequency.engine.rows(exp.select(*map(sql.column, names)).from_(frequency.relation.copy()), "all tuples")
    tuples = [Tuple(tuple(keys), value, n) for *keys, value, n in rows]
    masks = [frequency.masks(node) for node in recoding.steps]
    certain, right, below, held_back = attack_steps(tuples, masks, found.policy.k, model.l)
    return replace(own, rows_certain=certain, rows_certain_right=right, rows_below=below, held_back=held_back)


def _require(confidence: float, ruled_out: int) -> None:
    if isinstance(confidence, bool) or not 0 < confidence <= 1:
        raise UsageError(f"The confidence is a share above 0 and up to 1, not {confidence!r}.")
    if isinstance(ruled_out, bool) or not isinstance(ruled_out, int) or ruled_out < 1:
        raise UsageError(f"The number of values that are ruled out is 1 or more, not {ruled_out!r}.")


def _shared(
    original: Source, release: Source, known: Sequence[Column], columns: Sequence[Column]
) -> tuple[Shared, ...]:
    """Return the columns that a release has unchanged from the original, apart from quasi-identifiers."""
    pairs = ((column, find_column(column.name, original.columns)) for column in release.columns)
    return tuple(
        Shared(released, own)
        for released, own in pairs
        if own is not None and own not in known and released not in columns
    )


def _sensitive(
    names: Sequence[str],
    original: Source,
    release: Source,
    shared: Sequence[Shared],
    quasi_identifiers: Sequence[Column],
) -> list[int]:
    """Return the numbers of the sensitive columns among the shared ones."""
    numbers = []
    resolve_columns(names, release.columns, release.name)
    for column in dict.fromkeys(resolve_columns(names, original.columns, original.name)):
        if column in quasi_identifiers:
            raise UsageError(f"Column {column.name!r} was given two roles: quasi-identifying and sensitive.")
        numbers.append(next(number for number, both in enumerate(shared) if both.original == column))
    return numbers


def _no_order(original: Source, release: Source) -> str | None:
    """Return the reason why the order of the two tables means nothing; None if it may mean something."""
    for source, what in ((release, "the release"), (original, "the original")):
        if (why := source.why_unordered()) is not None:
            return f"{what} {why}"
    return None
