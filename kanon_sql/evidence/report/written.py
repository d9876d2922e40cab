"""A report: all figures of a release, written as HTML, Markdown or JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from kanon_sql.engine.files import require_free, write_whole
from kanon_sql.errors import UsageError, counted
from kanon_sql.measures.shares import finite
from kanon_sql.models.known_subsets import columns_named
from kanon_sql.risks.attacks.controlled import CONTROLLED
from kanon_sql.risks.attacks.verdicts import tally

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from kanon_sql.evidence.report.figures import (
        Attribute,
        CurvePoint,
        Pseudonymized,
        ReportedRequirement,
        Search,
    )
    from kanon_sql.evidence.standards.judge import CheckedStandard
    from kanon_sql.measures.utility.utility import Utility
    from kanon_sql.policy.policy import Count
    from kanon_sql.risks.attacks.verdicts import Verdict
    from kanon_sql.risks.estimators.assessment import Risk

SECTIONS = {
    "summary": "Summary",
    "asked": "The request",
    "measured": "What was measured on the output",
    "attributes": "Quasi-identifiers one by one",
    "risk": "Risk of re-identification",
    "compared": "Compared with people who are not in the release",
    "standards": "Standards, rule by rule",
    "purpose": "What the output is still good for",
    "trade-off": "Trade-off between privacy and utility",
    "sql": "The SQL that makes the release",
    "origin": "Provenance, and how to make it again",
    "limits": "What is not promised",
}
FORMATS = (".html", ".md", ".json")


class WrittenReport(ABC):
    """Base class of reports: it writes its figures as HTML, Markdown or JSON with its ``template``."""

    template: ClassVar[str]
    attacks: tuple[Verdict, ...]

    @property
    @abstractmethod
    def titles(self) -> Mapping[str, str]:
        """The titles of the sections that the report has, by their anchors."""

    @property
    def succeeded(self) -> tuple[Verdict, ...]:
        """The attacks that succeeded."""
        return tuple(attack for attack in self.attacks if attack.succeeded)

    @property
    def endangering(self) -> tuple[Verdict, ...]:
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
        """Return the report as JSON. JSON has no infinite numbers: they are the text "Infinity"."""
        return json.dumps(finite(self.summary()), indent=2, ensure_ascii=False) + "\n"

    def to_html(self) -> str:
        """Return the report as one HTML page that loads nothing and runs nothing."""
        return self._rendered("html.j2")

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        return self._rendered("markdown.j2")

    def _rendered(self, elements: str) -> str:
        from kanon_sql.evidence.report.render import rendered  # loads Jinja

        return rendered(self.template, elements, self.titles, self)

    def write(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the report to a .html, .md or .json file, atomically.

        Raises:
            UsageError: the suffix is unknown, or the file exists and may not be replaced.
            SourceError: it cannot be written.
        """
        target = Path(path)
        check_report(target, replace=replace)
        text = {".html": self.to_html, ".md": self.to_markdown}.get(target.suffix.lower(), self.to_json)()
        write_whole(target, text, "The report")


@dataclass(frozen=True)
class Report(WrittenReport):
    """The evidence for a release.

    Attributes:
        k: numbers of rows of the original below it are not shown.
        smallest_class: its rows; ``smallest_class_people`` is None if no column names people.
        sql, commands: that make and check the release, and make it and this report again.
        proposed: published columns whose role ``kanon init`` proposed and no person has confirmed.
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
    attacks: tuple[Verdict, ...]
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
        """True if the output satisfies all requirements."""
        return all(requirement.holds for requirement in self.requirements)

    @property
    def titles(self) -> Mapping[str, str]:
        optional = {"standards": self.standards, "purpose": self.utility, "trade-off": self.curve}
        without = {name for name, found in {**optional, "compared": self.compared}.items() if not found}
        return {anchor: title for anchor, title in SECTIONS.items() if anchor not in without}

    @property
    def of_some(self) -> str | None:
        """The columns that k is required for, as "any 3 columns", if it is not required for all."""
        columns = (columns_named(requirement.model) for requirement in self.requirements)
        return next((f"any {counted(m, 'column')}" for m in columns if m is not None), None)

    @property
    def counts_people(self) -> bool:
        """True if the members of classes are people: the original names the person of each row."""
        return self.risk_after.people is not None

    @property
    def smallest(self) -> int | None:
        """Members of the smallest class: people if they are counted, otherwise rows."""
        return self.risk_after.smallest_class if self.counts_people else self.smallest_class

    @property
    def compared(self) -> tuple[Verdict, ...]:
        """The attacks whose guesses were compared with guesses about a control group."""
        return tuple(attack for attack in self.attacks if attack.name in CONTROLLED)

    @property
    def quasi_identifiers(self) -> tuple[Attribute, ...]:
        """The columns that were generalized."""
        return tuple(attribute for attribute in self.attributes if attribute.role == "quasi-identifier")

    def summary(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("requirements", "attributes", "curve"):
            plain[name] = [asdict(one) for one in plain[name]]
        plain["attacks"] = [attack.stated() for attack in self.attacks]
        plain |= {name: plain[name].summary() for name in ("risk_before", "risk_after")}
        plain["standards"] = [standard.summary() for standard in self.standards]
        plain["utility"] = self.utility and self.utility.summary()
        plain |= {"search": asdict(self.search), "pseudonyms": self.pseudonyms and asdict(self.pseudonyms)}
        return {"holds": self.holds, **plain}


def check_report(path: Path, *, replace: bool) -> None:
    """Raise an error for an invalid report file before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"The format of {path} is not known by its suffix. Known are {', '.join(FORMATS)}.")
    require_free(path, replace=replace)
