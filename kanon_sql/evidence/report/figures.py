"""A report: every figure of a release, as plain data. No value that is not in the release is in it."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from kanon_sql.engine.files import require_free, write_whole
from kanon_sql.errors import UsageError, counted
from kanon_sql.models.known_subsets import columns_named
from kanon_sql.risks.attacks.controlled import CONTROLLED
from kanon_sql.risks.attacks.verdicts import tally

if TYPE_CHECKING:
    import os

    from kanon_sql.evidence.standards.judge import CheckedStandard
    from kanon_sql.measures.utility.utility import Utility
    from kanon_sql.policy.policy import Count
    from kanon_sql.risks.attacks.verdicts import Outcome
    from kanon_sql.risks.estimators.assessment import Risk

FORMATS = (".html", ".md", ".json")


class WrittenReport(ABC):
    """What every report has and does: it writes its figures as HTML, Markdown or JSON, by its ``template``."""

    template: ClassVar[str]
    attacks: tuple[ReportedAttack, ...]

    @property
    def succeeded(self) -> tuple[ReportedAttack, ...]:
        """The attacks that succeeded."""
        return tuple(attack for attack in self.attacks if attack.succeeded)

    @property
    def endangering(self) -> tuple[ReportedAttack, ...]:
        """The attacks that succeeded, or are not known to fail."""
        return tuple(attack for attack in self.attacks if attack.endangers)

    @property
    def attacks_said(self) -> str:
        """How many attacks succeed, in the words of ``kanon attack``."""
        return tally([attack.outcome for attack in self.attacks])

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return the report as plain values."""

    def to_json(self) -> str:
        """Return the report as JSON; infinite numbers, which JSON does not have, are the text "Infinity"."""
        return json.dumps(_finite(self.summary()), indent=2, ensure_ascii=False) + "\n"

    def to_html(self) -> str:
        """Return the report as one HTML page that loads nothing and runs nothing."""
        return self._rendered("html.j2")

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        return self._rendered("markdown.j2")

    def _rendered(self, elements: str) -> str:
        from kanon_sql.evidence.report.render import rendered  # loads Jinja; it reads this module

        return rendered(self, elements)

    def write(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the report to a .html, .md or .json file: whole, or not at all.

        Raises:
            UsageError: the suffix is not known, or the file exists and may not be replaced.
            SourceError: it cannot be written.
        """
        target = Path(path)
        check_report(target, replace=replace)
        text = {".html": self.to_html, ".md": self.to_markdown}.get(target.suffix.lower(), self.to_json)()
        write_whole(target, text, "The report")


@dataclass(frozen=True)
class ReportedRequirement:
    """What was required of every class, and the measure of the worst class of the output; None if it has no rows.

    ``entity`` is the column that names people, if people are counted.
    """

    model: str
    letter: str
    sensitive: str | None
    entity: str | None
    required: float
    measured: float | None
    holds: bool


@dataclass(frozen=True)
class LabelCount:
    """How many rows have a label, in the output and before (see ``attributes``).

    Attributes:
        kind: ``label``, ``others`` for labels that are counted together, or ``left out`` for rows whose label is not
            in the output.
        label: as the output has it; None for NULL, and for the other kinds.
        rows_in: rows of the original; None if that is not shown.
    """

    kind: Literal["label", "others", "left out"]
    label: str | None
    rows_out: int
    rows_in: int | None


@dataclass(frozen=True)
class DescribedColumn:
    """A column of the original, and what became of it.

    Attributes:
        hierarchy: by which a quasi-identifier was generalized; ``chosen`` here if none was given.
        level: its level in the output, of ``height``; None if cells have several.
    """

    name: str
    type: str
    role: str
    published: str
    hierarchy: str | None = None
    chosen: bool = False
    height: int | None = None
    level: int | None = None


@dataclass(frozen=True)
class Attribute(DescribedColumn):
    """A column of a table that was released by itself.

    Attributes:
        labels: different labels in the output.
        loss: what was measured of this column alone, 0 to 1; None if that cannot be.
        hidden: whether the original's rows by label are not shown, or not all of them.
        rule: by which a column that is kept is published; None if it is published as it is.
        rows_alone: of a column that is published as it is, or by a rule without a key, rows of the output that no other
            row is like in it and in the labels of all quasi-identifiers; None of other columns.
    """

    labels: int | None = None
    loss: float | None = None
    distribution: tuple[LabelCount, ...] = ()
    hidden: bool = False
    rows_alone: int | None = None
    rule: str | None = None


@dataclass(frozen=True)
class ReportedAttack:
    """What an attack found, in words and in ``figures`` (see ``kanon_sql.risks.attacks.verdicts.Verdict``)."""

    name: str
    about: str | None
    outcome: Outcome
    succeeded: bool | None
    found: str
    stopped_by: str
    figures: dict[str, Any]

    @property
    def endangers(self) -> bool:
        """Whether it succeeds, or is not known to fail."""
        return self.outcome in {"succeeds", "not excluded"}


@dataclass(frozen=True)
class CurvePoint:
    """The release that another k would give; its figures are None if there is none. ``chosen`` is this release."""

    k: int
    chosen: bool
    loss: float | None
    rows_suppressed: int | None
    share_suppressed: float | None
    classes: int | None


@dataclass(frozen=True)
class Search:
    """How the release was searched for.

    Attributes:
        time_limit: in seconds.
        optimal: whether it is proven that no release of its kind is better.
        gap: how much less any could cost, as a share; None if that is not known.
        steps: of a local recoding.
        rounds: of cuts.
        seed: of the order of rows, and of random choices.
        time_zone: of labels and texts; None if no column has one.
    """

    algorithm: str
    measure: str
    max_suppressed: float | str
    time_limit: float | None
    optimal: bool
    gap: float | None
    stopped: str | None
    nodes_tested: int
    lattice_size: int
    steps: int | None
    rounds: int | None
    seed: int
    time_zone: str | None

    @property
    def is_of_parts(self) -> bool:
        """Whether labels of one column may be of several levels: a local or multidimensional recoding."""
        return self.steps is not None or self.rounds is not None


@dataclass(frozen=True)
class Pseudonymized:
    """Identifying columns that are published as pseudonyms, by a key that was ``drawn`` or is from a ``key file``.

    ``fewest_alike``: for each column, how many pseudonyms at least are tied to rows alike; None if none stand for any.
    """

    columns: tuple[str, ...]
    key: str
    fewest_alike: dict[str, int | None]


@dataclass(frozen=True)
class Report(WrittenReport):
    """The evidence for a release.

    Attributes:
        published: name of the release; None if it is not published yet.
        k: below which numbers of rows of the original are not shown.
        smallest_class: its rows.
        smallest_class_people: people of the one of fewest people; None if no column names them.
        count: what classes are counted in.
        measures: the quality of the output, by measure; None if it cannot be measured.
        curve: what another k would cost.
        publish: columns that are kept and published by a rule, and what each rule is for.
        utility: what the output is still good for; None if that was not wanted, or cannot be measured.
        control: the control group, people who are not in the release; None if there is none.
        sql: the statements that make and check the release.
        fingerprints: by which what was used is known again.
        policy: as a kanon.toml.
        commands: those that make the release and this report again.
        proposed: published columns whose role ``kanon init`` proposed, and no person has confirmed.
        notes: what else must be known, in sentences.
        choice: how models of sensitive values decided about classes; None if there are no such models.
    """

    template: ClassVar[str] = "report.j2"

    made_at: str
    source: str
    published: str | None
    kind: Literal["table", "view", "file", "in place", "nothing"]
    asked_by: str | None
    k: int
    rows_in: int
    rows_out: int
    rows_suppressed: int
    classes: int
    smallest_class: int | None
    requirements: tuple[ReportedRequirement, ...]
    attributes: tuple[Attribute, ...]
    measures: dict[str, float | None] | None
    risk_before: Risk
    risk_after: Risk
    attacks: tuple[ReportedAttack, ...]
    curve: tuple[CurvePoint, ...]
    search: Search
    pseudonyms: Pseudonymized | None
    sql: str
    versions: dict[str, str]
    fingerprints: dict[str, str]
    policy: str
    commands: tuple[str, ...]
    proposed: tuple[str, ...] = ()
    smallest_class_people: int | None = None
    count: Count = "people"
    notes: tuple[str, ...] = ()
    publish: tuple[dict[str, Any], ...] = ()
    standards: tuple[CheckedStandard, ...] = ()
    utility: Utility | None = None
    control: str | None = None
    choice: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the output satisfies everything that was required."""
        return all(requirement.holds for requirement in self.requirements)

    @property
    def of_some(self) -> str | None:
        """Which columns k is required of, as "any 3 columns", where it is not required of all."""
        columns = (columns_named(requirement.model) for requirement in self.requirements)
        return next((f"any {counted(m, 'column')}" for m in columns if m is not None), None)

    @property
    def counts_people(self) -> bool:
        """Whether the members of classes are people: where the original says who each row is about."""
        return self.risk_after.people is not None

    @property
    def smallest(self) -> int | None:
        """Members of the smallest class: people where they are counted, otherwise rows."""
        return self.risk_after.smallest_class if self.counts_people else self.smallest_class

    @property
    def compared(self) -> tuple[ReportedAttack, ...]:
        """The attacks whose guesses were compared with guesses about a control group."""
        return tuple(attack for attack in self.attacks if attack.name in CONTROLLED)

    @property
    def quasi_identifiers(self) -> tuple[Attribute, ...]:
        """The columns that were generalized."""
        return tuple(attribute for attribute in self.attributes if attribute.role == "quasi-identifier")

    def summary(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("requirements", "attributes", "attacks", "curve"):
            plain[name] = [asdict(one) for one in plain[name]]
        plain |= {name: plain[name].summary() for name in ("risk_before", "risk_after")}
        plain["standards"] = [standard.summary() for standard in self.standards]
        plain["utility"] = self.utility and self.utility.summary()
        plain |= {"search": asdict(self.search), "pseudonyms": self.pseudonyms and asdict(self.pseudonyms)}
        return {"holds": self.holds, **plain}


def check_report(path: Path, *, replace: bool) -> None:
    """Refuse a file for a report before any work is done for it."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"The format of {path} is not known by its suffix. Known are {', '.join(FORMATS)}.")
    require_free(path, replace=replace)


def _finite(value: Any) -> Any:  # noqa: ANN401 - any plain value
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return str(value).replace("inf", "Infinity") if isinstance(value, float) and math.isinf(value) else value
