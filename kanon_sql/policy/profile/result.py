"""What a profile says."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.engine.base import written_name
from kanon_sql.hierarchy.ready import READY, ready_made
from kanon_sql.hierarchy.rules import FlatRule
from kanon_sql.hierarchy.rules.dates import DateRule
from kanon_sql.hierarchy.rules.intervals import IntervalRule
from kanon_sql.hierarchy.rules.texts import MaskRule
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.policy.schema import FIRST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kanon_sql.engine.sources.preparing import Rules
    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.profile.figures import Dependency
    from kanon_sql.policy.profile.proposals import ProposedRole
    from kanon_sql.risks.estimators.subsets import SubsetRisk, Subsets


@dataclass(frozen=True)
class NearlyFitting:
    """A ready-made hierarchy that has most values of a column, but not all.

    Attributes:
        rule: how to ask for it.
        missing: distinct values of the column that it does not have.
        distinct: distinct values of the column.
    """

    rule: str
    missing: int
    distinct: int


@dataclass(frozen=True)
class ColumnProfile:
    """One column: its figures, and the role that is proposed for it.

    Attributes:
        name: of the column.
        type: as the engine writes it.
        distinct: distinct values in the table, without NULL.
        nulls: rows without a value.
        null_share: their share of the rows.
        distinctness: distinct values by rows that have a value.
        separation: the share of pairs of rows that differ in it; None if there is no pair.
        uniques: rows that are alone with their value, of those that were looked at.
        kind: what it is taken to be, a kind of ``kanon_sql.hierarchy.vocabulary``; None if nothing says it.
        role: that is proposed, or was named; ``undecided`` where neither name nor values say one.
        reason: why, in words.
        named: whether a person named the role.
        hints: what to do about it before it is published, in words.
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
        """Whether it would be published as it is, and no person said so: ``kanon init`` does not publish it."""
        return self.role in {"sensitive", "insensitive", "undecided"} and not self.named


@dataclass(frozen=True)
class PreparedColumn:
    """A column that is prepared before all else.

    Attributes:
        name: of the column.
        rules: in their order.
        reason: why, in words; None if a person gave the rules.
    """

    name: str
    rules: Rules
    reason: str | None


@dataclass(frozen=True)
class ToPrepare:
    """What was found of a table: columns to prepare, and notes about those that a person has to decide about."""

    columns: tuple[PreparedColumn, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """What the columns of a table are, and how many rows they single out.

    Attributes:
        table: what was looked at.
        rows: of the table.
        rows_looked_at: those of them that figures on uniqueness, separation and patterns are of.
        sampled: whether these are a sample, on which more are unique than in the table.
        entity: the column that names the person, named or proposed; people are counted by it.
        entity_proposed: whether it was proposed.
        counted: what the members of a class are.
        members: rows or people that were looked at.
        columns: in the order of the table.
        subsets: classes by the quasi-identifiers, by every pair and triple of them; None if there are none.
        dependencies: columns that tell each other.
        hierarchies: for each quasi-identifier without a hierarchy in the database a rule, as ``kanon init`` writes it;
            none for a table without rows, of whose values nothing is known.
        nearly_fitting: for those that get a rule by their types, the ready-made hierarchy that has most of the values.
        prepared: the columns that are prepared before all else, and so are their figures and roles.
        standards: whose rules the roles take into account.
        undecided: of columns that can be read in two ways, what a person has to decide.
        notes: what else a person should know, in sentences.
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

    def of_role(self, role: ProposedRole) -> tuple[str, ...]:
        """Return the names of the columns of a role, in the order of the table."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that could tell, together, who a row is about."""
        return self.of_role("quasi-identifying")

    @property
    def named(self) -> tuple[str, ...]:
        """The columns whose role a person named."""
        return tuple(column.name for column in self.columns if column.named)

    @property
    def awaiting_decision(self) -> tuple[str, ...]:
        """The columns that would be published as they are, and that ``kanon init`` leaves to a person."""
        return tuple(column.name for column in self.columns if column.awaits_decision)

    def worst(self, size: int) -> tuple[SubsetRisk, ...]:
        """Return the classes by so many quasi-identifiers, those first that single out most."""
        found = () if self.subsets is None else self.subsets.found
        return tuple(subset for subset in found if len(subset.columns) == size)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: what ``--format json`` prints."""
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
            into: the name of a table for the release.
            out: the name of a file for the release.
            where: how the table is named in commands that are shown: its file, or a database and a table.
            origin: the table, as the file names it; without it, commands have to.
        """
        from kanon_sql.policy.policy import DEFAULT_K

        return _commented_policy(self, k=DEFAULT_K if k is None else k, into=into, out=out, where=where, origin=origin)


# A commented ``kanon.toml`` from a profile: every column under its proposed role, with the reason beside it.
#
# As it is written, it publishes quasi-identifiers only, and these generalized. Every column that would be published as
# it is stands behind ``# decide:`` until a person takes that away: names and values may mislead the profile, and a
# column that is published by oversight is how people get hurt.

ROLE_SETTINGS: tuple[tuple[str, frozenset[ProposedRole], str], ...] = (
    ("identifying", frozenset({"identifying"}), "Never published."),
    (
        "quasi_identifiers",
        frozenset({"quasi-identifying"}),
        "Others could know them: generalized until at least k are alike in all of them.",
    ),
    ("sensitive", frozenset({"sensitive"}), "What must not be learned about a person. Published as they are."),
    ("insensitive", frozenset({"insensitive", "undecided"}), "Published as they are."),
)
_GENERALIZED = "quasi_identifiers"
_DECIDE = "# decide: "
_HEAD = """\
# What a release of {table} must be. Written by kanon init: a proposal, made from names and values of the columns.
# It cannot know what others know about the people in your table. Read each line, and move columns to where they belong.
# A column behind "# decide:" is not published. To publish it as it is, take "# decide: " away; if others could know
# it, move it to quasi_identifiers instead.
"""
_PROPOSED = """
# Published columns whose role is a proposal. As long as one stands here, reports say so and are not green: check
# each, then take it out of this list. When the list is empty, the roles are yours.
"""
_PRIVACY = """
[privacy]
# Whoever looks for a person finds k, or nobody. 5 is often asked of data for known recipients, 10 to 20 for the public;
# kanon compare shows what each costs.
k = {k}
"""
_SEARCH = """
[search]
max_suppressed = 0.02               # the share of rows that may be left out
time_limit = 60                     # seconds; then the best so far is taken, with its proven gap
# algorithm = "local"               # rows have levels of their own: keeps more; columns get labels of several levels
"""


def _commented_policy(
    profile: Profile, *, k: int, into: str | None, out: str | None, where: Sequence[str], origin: Origin | None
) -> str:
    parts = [
        FIRST_LINE + _HEAD.format(table=comment_text(profile.table)),
        *_source(origin),
        *_prepared(profile),
        *_columns(profile),
        *hierarchy_lines(profile, where),
    ]
    parts += [_PRIVACY.format(k=k), *_standards(profile), *_models(profile), _SEARCH, *_release(into, out)]
    return "".join(parts)


def _source(origin: Origin | None) -> Iterable[str]:
    if origin is not None:
        yield "\n[source]\n"
        yield toml_line("from", origin.source)
        if origin.table is not None:
            yield toml_line("table", origin.table)
        yield from (toml_line(name, value) for name, value in origin.layout.stated.items())


def _prepared(profile: Profile) -> Iterable[str]:
    if not profile.prepared:
        return
    yield "\n[prepare]\n"
    yield "# What is done to a column before all else; the other lines follow from it.\n"
    for column in profile.prepared:
        rules = column.rules[0] if len(column.rules) == 1 else list(column.rules)
        line = f"{toml_key(column.name)} = {_list(column.rules) if isinstance(rules, list) else toml_value(rules)}"
        yield line + ("\n" if column.reason is None else f"  # {comment_text(column.reason)}\n")


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(toml_value, texts))}]"


def _columns(profile: Profile) -> Iterable[str]:
    yield "\n[columns]\n"
    entity = profile.entity
    if entity is not None:
        yield "# k counts people, not rows: this column names the person. It is never published.\n"
        yield toml_line("entity", entity)
    for setting, roles, text in ROLE_SETTINGS:
        columns = [column for column in profile.columns if column.role in roles and column.name != entity]
        yield f"\n# {text}\n"
        if setting == _GENERALIZED and not columns:
            yield "# None was found: name the columns here that others could know, such as age, sex, a town, a date.\n"
        yield from array_lines(setting, columns)
    if proposed := [name for name in profile.quasi_identifiers if name not in profile.named]:
        yield _PROPOSED
        yield toml_line("proposed", proposed)
    yield '\n# Columns that are named nowhere above: "drop" leaves them out, "keep" publishes them.\nrest = "drop"\n'


def array_lines(setting: str, columns: list[ColumnProfile]) -> Iterable[str]:
    """Yield an array of names, one on a line with the reason as a comment."""
    if not columns:
        yield f"{setting} = []\n"
        return
    names = [f"    {_DECIDE if column.awaits_decision else ''}{toml_value(column.name)}," for column in columns]
    widest = min(max(len(name) for name in names), 40)
    yield f"{setting} = [\n"
    for name, column in zip(names, columns, strict=True):
        yield f"{name:<{widest}}  # {comment_text(column.reason)}\n"
        for hint in column.hints:
            yield f"{'':<{widest}}  # ! {comment_text(hint)}\n"
    yield "]\n"


def hierarchy_lines(profile: Profile, where: Sequence[str], section: str | None = None) -> Iterable[str]:
    """Yield a line for each quasi-identifier; in a table of its own where a column is called like a setting."""
    rules = profile.hierarchies
    inside = {"directory", "columns"} & set(rules)
    yield f"\n[{section or ('hierarchies.columns' if inside else 'hierarchies')}]\n"
    yield "# How each quasi-identifier is generalized, step by step: a rule, or a file of groups.\n"
    if not profile.rows:
        yield "# None is written: the table has no rows, and nothing is known of its values. kanon anonymize chooses\n"
        yield "# each; or write this file anew when there are rows.\n"
        return
    for name in profile.quasi_identifiers:
        if name not in rules:
            yield f"# {comment_text(name)} has a hierarchy in the database, which is taken.\n"
    for name, rule in rules.items():
        yield f"{toml_line(name, rule).rstrip()}  # {comment_text(_in_words(rule))}\n"
        if (near := profile.nearly_fitting.get(name)) and name not in {column.name for column in profile.prepared}:
            values = f"{near.missing:,} of {near.distinct:,} values"
            command = shlex.join(["kanon", "hierarchy", "suggest", *where, "--qi", written_name(name)])
            yield f"#   {near.rule} fits but for {values}: {comment_text(command)} tells how to list them\n"


def _in_words(rule: str) -> str:
    """Return what a rule makes of a value, level by level."""
    if rule.startswith(READY):
        ready = ready_made(rule.removeprefix(READY))
        return f"{ready.title}: {ready.levels}"
    match parse_rule(rule):
        case IntervalRule(widths=widths):
            return f"intervals of {', '.join(format(width, 'f') for width in widths)}, then *"
        case DateRule(units=units):
            return f"{', '.join(units)}, then *"
        case MaskRule():
            return "its characters replaced by * one after the other"
        case FlatRule():
            return "the value itself, or *; a file of groups would keep more (kanon hierarchy suggest)"
        case other:
            return str(other)


def _standards(profile: Profile) -> Iterable[str]:
    if profile.standards:
        yield "# kanon check and kanon report look at the rules of these, one by one.\n"
        yield f"standards = {_list(profile.standards)}\n"


def _models(profile: Profile) -> Iterable[str]:
    """Yield what can be asked for sensitive columns, as comments: the person decides.

    What a standard asks for is no comment for columns that are published, as a person named them.
    """
    from kanon_sql.policy.standards import values_asked_for

    sensitive = profile.of_role("sensitive")
    if not sensitive:
        return
    least = values_asked_for(profile.standards)
    if least > 1 and (published := [name for name in sensitive if name in profile.named]):
        yield "# Among people who are alike, so many values of a sensitive column: a standard asks for it.\n"
        yield f"l = {{ {', '.join(f'{toml_key(name)} = {least}' for name in published)} }}\n"
        return
    yield "# Among k people who are alike, so many values of a sensitive column (kanon anonymize --help: more).\n"
    wanted = ", ".join(f"{toml_key(name)} = 2" for name in sensitive)
    yield f"# l = {{ {wanted} }}\n" if len(sensitive) > 1 else "# l = 2\n"


def _release(into: str | None, out: str | None) -> Iterable[str]:
    yield "\n[release]\n"
    if into is None and out is None:
        yield '# into = "released"                # a table in the database, or out = "released.csv"\n'
    if into is not None:
        yield f"{toml_line('into', into).rstrip()}  # a table in the database; or out, a file of this name\n"
    if out is not None:
        yield f"{toml_line('out', out).rstrip()}  # a file beside this one: .csv, .parquet or .json\n"


def toml_line(name: str, value: str | list[str]) -> str:
    import tomli_w

    return tomli_w.dumps({name: value})


def toml_value(text: str) -> str:
    return toml_line("x", text).partition(" = ")[2].strip()


def toml_key(text: str) -> str:
    return toml_line(text, "").rpartition(" = ")[0]


def comment_text(text: str) -> str:
    """Return a text that stays a comment: on one line, without characters that TOML has no place for."""
    return "".join(character if character.isprintable() else "?" for character in text)
