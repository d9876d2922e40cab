"""A profile, and the commented kanon.toml that ``kanon init`` makes from it: each column under its proposed role.

The file publishes only quasi-identifiers, generalized. Every column that would be published unchanged is behind ``#
decide:`` until a person deletes that. Names and values can mislead the profile, and a column published by oversight
harms people.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import tomli_w

from kanon_sql.engine.base import written_name
from kanon_sql.hierarchy.ready import READY, ready_made
from kanon_sql.measures.shares import WORTH_SAYING
from kanon_sql.policy.policy import K
from kanon_sql.policy.schema import FIRST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kanon_sql.engine.sources.preparing import Rules
    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.profile.figures import Dependency
    from kanon_sql.policy.profile.proposals import ProposedRole
    from kanon_sql.policy.settings import Setting
    from kanon_sql.risks.estimators.subsets import SubsetRisk, Subsets

_WIDTH = 116
_SECONDS = 60
_GENERALIZED = "quasi_identifiers"
ROLES: dict[str, tuple[frozenset[ProposedRole], str]] = {
    "identifying": (frozenset({"identifying"}), "Never published."),
    _GENERALIZED: (
        frozenset({"quasi-identifying"}),
        "Others could know them: generalized until at least k are alike in all of them.",
    ),
    "sensitive": (frozenset({"sensitive"}), "What must not be learned about a person. Published as they are."),
    "insensitive": (frozenset({"insensitive", "undecided"}), "Published as they are."),
}
_DECIDE = "# decide: "
_IN_WORDS = {
    "date": "month, quarter, year, decade, then *; of times the day first",
    "mask": "its characters replaced by * one after the other",
    "flat": "the value itself, or *; a file of your groups (lines child,parent) would keep more",
}
HEAD = (
    "Written by kanon init: a proposal, made from names and values of columns{also}. It cannot know what others know "
    "about the people in your data. Read each line, and move columns to where they belong. A column behind "
    '"# decide:" is not published. To publish it as it is, take "# decide: " away; if others could know it, move it to '
    "quasi_identifiers instead."
)
PROPOSED = (
    "Published columns whose role is a proposal: check each, then take it out. Reports are not green before the list "
    "is empty."
)
_NONE_FOUND = "None was found: name the columns here that others could know, such as age, sex, a town, a date."
_HOW_LARGE = (
    "5 is often asked for known recipients, 10 to 20 for the public; kanon compare -k 5,10,20 shows what each costs."
)
_LOCAL = 'algorithm = "local"  # each row has its own levels: keeps more, but a column mixes labels of several levels\n'
_CANNOT_BE_CHECKED = (
    "local is not chosen, since several rows are about one person: its classes overlap, so kanon check could not count "
    "people by the labels."
)
_IF_PUBLISHED = (
    "If you publish a sensitive column, take algorithm out, and require a model for the column (l): small classes "
    "reveal more of its values."
)
_SMALL_CLASSES = (
    "local is not chosen, since sensitive columns are published: its small classes give more of their values away. "
    "Require a model for them first, such as l."
)


@dataclass(frozen=True)
class NearlyFitting:
    """A ready-made hierarchy that has most, but not all, distinct values of a column."""

    rule: str
    missing: int
    distinct: int


@dataclass(frozen=True)
class ColumnProfile:
    """Statistics and proposed role of one column.

    Attributes:
        distinct: distinct values in the table, without NULL.
        distinctness: distinct values divided by rows that have a value.
        separation: the share of pairs of rows that differ in the column; None if there is no pair.
        uniques: profiled rows whose value no other row has.
        kind: a kind of ``kanon_sql.hierarchy.vocabulary``; None if neither name nor values suggest one.
        role: the proposed or named role; ``undecided`` if neither name nor values suggest one.
        named: True if a person named the role.
        hints: suggestions for the column before it is published.
    """

    name: str
    type: str
    distinct: int
    nulls: int
    null_share: float
    distinctness: float
    separation: float | None
    uniques: int
    kind: str | None
    role: ProposedRole
    reason: str
    named: bool = False
    hints: tuple[str, ...] = ()

    @property
    def awaits_decision(self) -> bool:
        """True if it would be published unchanged and no person confirmed that: ``kanon init`` does not publish it."""
        return self.role in {"sensitive", "insensitive", "undecided"} and not self.named


@dataclass(frozen=True)
class PreparedColumn:
    """A column that is prepared before all else; the reason is None if a person gave the rules."""

    name: str
    rules: Rules
    reason: str | None


@dataclass(frozen=True)
class ToPrepare:
    """Columns to prepare, and notes on columns that need a person's decision."""

    columns: tuple[PreparedColumn, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """The result of a policy on a sample of the rows of its table. Nothing was published.

    Attributes:
        rows: rows of the sample, or of the table if it is no larger.
        losses: by algorithm, the loss of its best release, from 0 to 1.
        without: by quasi-identifier, the loss of the others with it, and without it.
        refused: the reason why there is no release; None if there is one.
    """

    rows: int
    sampled: bool
    losses: Mapping[str, float] = field(default_factory=dict)
    without: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    refused: str | None = None

    def lost_less_without(self, name: str) -> str:
        """Return the saving from leaving out a quasi-identifier, as a comment; nothing if it is small."""
        before, after = self.without.get(name, (1.0, 1.0))
        return (
            f"; left out, the other columns lose {after:.2f} instead of {before:.2f}"
            if after < before - WORTH_SAYING
            else ""
        )


@dataclass(frozen=True)
class Profile:
    """Statistics and roles of the columns of a table, and how many rows they identify.

    Attributes:
        rows_looked_at: rows that figures on uniqueness, separation and patterns describe.
        sampled: True if these rows are a sample, in which more are unique than in the table.
        entity: the column that names the person, named or proposed; people are counted by it.
        members: rows or people that were profiled.
        subsets: classes by the quasi-identifiers, and by every pair and triple of them; None if there are none.
        hierarchies: a rule for each quasi-identifier without a hierarchy in the database, as ``kanon init`` writes it;
            empty for a table without rows, whose values are unknown.
        nearly_fitting: for columns that get a rule by their types, the ready-made hierarchy with most of the values.
        prepared: the columns that are prepared before figures and roles.
        standards: standards whose rules the roles take into account.
        undecided: questions about columns that can be read in two ways.
        trial: the result of the policy on some rows; None if it was not tried.
    """

    table: str
    rows: int
    rows_looked_at: int
    sampled: bool
    entity: str | None
    entity_proposed: bool
    counted: Literal["rows", "people"]
    members: int
    columns: tuple[ColumnProfile, ...]
    subsets: Subsets | None
    dependencies: tuple[Dependency, ...] = ()
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    nearly_fitting: Mapping[str, NearlyFitting] = field(default_factory=dict)
    prepared: tuple[PreparedColumn, ...] = ()
    standards: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trial: Trial | None = None

    def of_role(self, role: ProposedRole) -> tuple[str, ...]:
        """Return the names of the columns of a role, in table order."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that could identify the person of a row together."""
        return self.of_role("quasi-identifying")

    @property
    def named(self) -> tuple[str, ...]:
        """The columns whose role a person named."""
        return tuple(column.name for column in self.columns if column.named)

    @property
    def awaiting_decision(self) -> tuple[str, ...]:
        """The columns that would be published unchanged, and that ``kanon init`` leaves to a person."""
        return tuple(column.name for column in self.columns if column.awaits_decision)

    def worst(self, size: int) -> tuple[SubsetRisk, ...]:
        """Return the classes by subsets of ``size`` quasi-identifiers, those with the most unique rows first."""
        found = () if self.subsets is None else self.subsets.found
        return tuple(subset for subset in found if len(subset.columns) == size)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: the output of ``--format json``."""
        plain = asdict(self)
        if self.subsets is not None:
            for subset in plain["subsets"]["found"]:
                subset["columns"] = list(subset["columns"])
        return plain

    def to_toml(
        self,
        *,
        k: int | None = None,
        into: str | None = None,
        out: str | None = None,
        where: Sequence[str] = ("SOURCE",),
        origin: Origin | None = None,
    ) -> str:
        """Return a commented ``kanon.toml`` with the proposed roles, ready to edit.

        Args:
            k: the smallest class; by default 5.
            into: name of a table for the release.
            out: name of a file for the release.
            where: the table in the commands shown: its file, or a database and a table.
            origin: the table that the file names; if None, commands have to name it.
        """
        parts = [
            FIRST_LINE,
            *commented(f"What a release of {self.table} must be.", HEAD.format(also="")),
            *source_lines(origin),
            *_prepared(self),
            *column_lines(self),
            *hierarchy_lines(self, where),
            *section_lines("privacy", {"k": K.default if k is None else k}, {"k": K}),
            *commented(_HOW_LARGE),
            *_models(self),
            *search_lines(),
            *_algorithm(self),
            *_release(into, out),
        ]
        return "".join(parts)


def _prepared(profile: Profile) -> Iterable[str]:
    if not profile.prepared:
        return
    yield "\n[prepare]\n"
    yield "# Prepared columns: this comes first, and the other lines follow from it.\n"
    for column in profile.prepared:
        rules = toml_value(column.rules[0]) if len(column.rules) == 1 else _list(column.rules)
        yield f"{toml_key(column.name)} = {rules}" + (f"  # {comment_text(column.reason)}\n" if column.reason else "\n")


def column_lines(profile: Profile, *, alone: bool = True) -> Iterable[str]:
    """Yield the roles of columns; in a policy of several tables, its head explains them."""
    entity = profile.entity
    if alone:
        yield "\n[columns]\n"
    if entity is not None:
        yield "# k counts people, not rows: this column names the person. It is never published.\n"
        yield toml_line("entity", entity)
    for setting, (roles, text) in ROLES.items():
        columns = [column for column in profile.columns if column.role in roles and column.name != entity]
        if alone:
            yield f"\n# {text}\n"
        if setting == _GENERALIZED and not columns:
            yield from commented(_NONE_FOUND)
        if alone or columns or setting == _GENERALIZED:
            yield from _array(setting, columns, profile.trial)
    if proposed := [name for name in profile.quasi_identifiers if name not in profile.named]:
        yield from ("\n", *commented(PROPOSED)) if alone else ()
        yield toml_line("proposed", proposed)
    yield 'rest = "drop"  # columns that are named nowhere above: "drop" leaves them out, "keep" publishes them\n'


def _array(setting: str, columns: list[ColumnProfile], trial: Trial | None) -> Iterable[str]:
    """Yield an array of names, one per line with its reason and the saving from leaving it out as a comment."""
    if not columns:
        yield f"{setting} = []\n"
        return
    names = [f"    {_DECIDE if column.awaits_decision else ''}{toml_value(column.name)}," for column in columns]
    widest = min(max(len(name) for name in names), 40)
    yield f"{setting} = [\n"
    for name, column in zip(names, columns, strict=True):
        saved = "" if trial is None else trial.lost_less_without(column.name)
        yield f"{name:<{widest}}  # {comment_text(column.reason)}{saved}\n"
        for hint in column.hints:
            yield f"{'':<{widest}}  # ! {comment_text(hint)}\n"
    yield "]\n"


def hierarchy_lines(profile: Profile, where: Sequence[str], section: str = "") -> Iterable[str]:
    """Yield a line for each quasi-identifier; in a separate table if a column has the name of a setting."""
    rules = profile.hierarchies
    apart = ".columns" if {"directory", "columns"} & set(rules) else ""
    yield f"\n[{section}hierarchies{apart}]\n"
    yield "# How each quasi-identifier is generalized, step by step: a rule, or a file of groups.\n"
    if not profile.rows:
        yield from commented(
            "None is written: the table has no rows, and nothing is known of its values. kanon anonymize chooses each; "
            "or write this file again when there are rows."
        )
        return
    for name in profile.quasi_identifiers:
        if name not in rules:
            yield f"# {comment_text(name)} has a hierarchy in the database, which is taken.\n"
    for name, rule in rules.items():
        yield f"{toml_line(name, rule).rstrip()}  # {comment_text(_in_words(rule))}\n"
        if (near := profile.nearly_fitting.get(name)) and name not in {column.name for column in profile.prepared}:
            command = comment_text(shlex.join(["kanon", "hierarchy", "suggest", *where, "--qi", written_name(name)]))
            values = f"{near.missing:,} of {near.distinct:,} values"
            yield f"#   {near.rule} fits but for {values}: {command} tells how to list them\n"


def _in_words(rule: str) -> str:
    """Describe the result of a rule for a value, level by level."""
    if rule.startswith(READY):
        ready = ready_made(rule.removeprefix(READY))
        return f"{ready.title}: {ready.levels}"
    return _IN_WORDS.get(rule.partition(":")[0], "these steps, then *")


def _models(profile: Profile) -> Iterable[str]:
    """Yield standards and possible models for sensitive columns.

    The models are comments, unless a standard requires them and a person named the columns.
    """
    if profile.standards:
        yield "# kanon check and kanon report look at the rules of these, one by one.\n"
        yield f"standards = {_list(profile.standards)}\n"
    sensitive = profile.of_role("sensitive")
    from kanon_sql.policy.standards import values_asked_for

    least = values_asked_for(profile.standards)
    published = [name for name in sensitive if name in profile.named]
    if least > 1 and published:
        yield "# Each class must have so many different values of a sensitive column: a standard asks for it.\n"
        yield f"l = {{ {', '.join(f'{toml_key(name)} = {least}' for name in published)} }}\n"
    elif sensitive:
        yield "# Each class must have so many different values of a sensitive column (kanon anonymize --help: more).\n"
        wanted = ", ".join(f"{toml_key(name)} = 2" for name in sensitive)
        yield f"# l = {{ {wanted} }}\n" if len(sensitive) > 1 else "# l = 2\n"


def commented(*texts: str) -> Iterable[str]:
    for text in texts:
        yield from (f"# {line}\n" for line in wrap(comment_text(text), _WIDTH, break_long_words=False))


def section_lines(section: str, values: Mapping[str, Any], declared: Mapping[str, Setting]) -> Iterable[str]:
    """Yield a section, each setting under its line of help."""
    yield f"\n[{section}]\n"
    for name, value in values.items():
        yield from commented(declared[name].about)
        yield toml_line(name, value)


def search_lines() -> Iterable[str]:
    from kanon_sql.policy.tables import OF_TABLES  # here, because each run of kanon anonymize imports this module

    written = {name: one.default for name, one in OF_TABLES.items() if one.section == "search" and one.is_written}
    return section_lines("search", {**written, "time_limit": _SECONDS}, OF_TABLES)


def _algorithm(profile: Profile) -> Iterable[str]:
    """Yield the algorithm with the least loss in the trial, and the losses of all algorithms tried."""
    trial = profile.trial
    is_better = trial is not None and min(trial.losses, key=trial.losses.__getitem__, default="") == "local"
    against = None
    if profile.entity is not None:
        against = _CANNOT_BE_CHECKED
    elif not set(profile.of_role("sensitive")).isdisjoint(profile.named):
        against = _SMALL_CLASSES
    if trial is not None and trial.losses:
        lost = ", ".join(f"{name} loses {loss:.2f}" for name, loss in trial.losses.items())
        rows = f"a sample of {trial.rows:,} rows" if trial.sampled else f"all {trial.rows:,} rows"
        yield from commented(f"On {rows}, {lost} (0: nothing, 1: all that quasi-identifiers say).")
    if is_better and against:
        yield from commented(against)
    yield _LOCAL if is_better and not against else f"# {_LOCAL}"
    if is_better and not against and profile.of_role("sensitive"):
        yield from commented(_IF_PUBLISHED)


def source_lines(origin: Origin | None) -> Iterable[str]:
    if origin is not None:
        yield "\n[source]\n"
        yield toml_line("from", origin.source)
        if origin.table is not None:
            yield toml_line("table", origin.table)
        yield from (toml_line(name, value) for name, value in origin.layout.stated.items())


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(toml_value, texts))}]"


def _release(into: str | None, out: str | None) -> Iterable[str]:
    yield "\n[release]\n"
    if into is None and out is None:
        yield '# into = "released"  # a table in the database, or out = "released.csv"\n'
    if into is not None:
        yield f"{toml_line('into', into).rstrip()}  # a table in the database; or out, a file of this name\n"
    if out is not None:
        yield f"{toml_line('out', out).rstrip()}  # a file beside this one: .csv, .parquet or .json\n"


def toml_line(name: str, value: Any) -> str:  # noqa: ANN401 - any TOML value
    return tomli_w.dumps({name: value})


def toml_value(text: str) -> str:
    return toml_line("x", text).partition(" = ")[2].strip()


def toml_key(text: str) -> str:
    return toml_line(text, "").rpartition(" = ")[0]


def comment_text(text: str) -> str:
    """Return a text that stays a comment: on one line, without characters that TOML does not allow."""
    return "".join(character if character.isprintable() else "?" for character in text)
