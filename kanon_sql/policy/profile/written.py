"""The commented kanon.toml that ``kanon init`` writes: every column under its proposed role, with the reason beside it.

As it is written, it publishes quasi-identifiers only, and these generalized. Every column that would be published as it
is stands behind ``# decide:`` until a person takes that away: names and values may mislead the profile, and a column
that is published by oversight is how people get hurt.
"""

from __future__ import annotations

import shlex
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import tomli_w

from kanon_sql.engine.base import written_name
from kanon_sql.errors import counted
from kanon_sql.hierarchy.ready import READY, ready_made
from kanon_sql.policy.policy import K
from kanon_sql.policy.schema import FIRST_LINE
from kanon_sql.policy.standards import values_asked_for
from kanon_sql.policy.tables import OF_TABLES, Through

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.profile.proposals import ProposedRole
    from kanon_sql.policy.profile.result import ColumnProfile, Profile
    from kanon_sql.policy.profile.tables import TableProposal, TablesProposal
    from kanon_sql.policy.settings import Setting

_WIDTH = 116
_SECONDS = 60
_GENERALIZED = "quasi_identifiers"
_ROLES: dict[str, tuple[frozenset[ProposedRole], str]] = {
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
    "mask": "its characters replaced by * one after the other",
    "flat": "the value itself, or *; a file of groups would keep more (kanon hierarchy suggest)",
}
_HEAD = (
    "Written by kanon init: a proposal, made from names and values of columns{also}. It cannot know what others know "
    "about the people in your data. Read each line, and move columns to where they belong. A column behind "
    '"# decide:" is not published. To publish it as it is, take "# decide: " away; if others could know it, move it to '
    "quasi_identifiers instead."
)
_PROPOSED = (
    "Published columns whose role is a proposal: check each, then take it out. Reports are not green before the list "
    "is empty."
)
_LISTS_OF_TABLES = (
    *(f"{name}: {text}" for name, (_, text) in _ROLES.items()),
    f"proposed: {_PROPOSED}",
    "person, key: published as pseudonyms, by which tables join.",
)
_NONE_FOUND = "None was found: name the columns here that others could know, such as age, sex, a town, a date."
_HOW_LARGE = "5 is often asked for known recipients, 10 to 20 for the public; kanon compare shows what each costs."
_LOCAL = '# algorithm = "local"  # rows have levels of their own: keeps more; columns get labels of several levels\n'


def policy_of_table(
    profile: Profile, *, k: int | None, into: str | None, out: str | None, where: Sequence[str], origin: Origin | None
) -> str:
    """Return the policy of one table; see ``Profile.to_toml``."""
    parts = [
        FIRST_LINE,
        *_noted(f"What a release of {profile.table} must be.", _HEAD.format(also="")),
        *_source(origin),
        *_prepared(profile),
        *_columns(profile),
        *_hierarchies(profile, where),
        *_settings("privacy", {"k": K.default if k is None else k}, {"k": K}),
        *_noted(_HOW_LARGE),
        *_models(profile),
        *_search(),
        _LOCAL,
        *_release(into, out),
    ]
    return "".join(parts)


def policy_of_tables(found: TablesProposal, *, k: int, schema: str, origin: Origin | None) -> str:
    """Return the policy of the tables of a database."""
    also = ", from keys, and from references between tables"
    parts = [
        FIRST_LINE,
        *_noted(f"What a release of the tables of {found.source} must be, together.", _HEAD.format(also=also)),
        *_noted(*_LISTS_OF_TABLES),
        *_source(origin),
        *_settings("privacy", {"k": k, "km": OF_TABLES["km"].default}, OF_TABLES),
        *_search(),
        f"\n[release]\n{toml_line('into_schema', schema).rstrip()}",
        '  # a schema in the database; or out = "released.duckdb", or out_directory = "released"\n',
        *(line for one in found.tables for line in _table(one, found.source)),
    ]
    return "".join(parts)


def _noted(*texts: str) -> Iterable[str]:
    """Yield texts as comments."""
    for text in texts:
        yield from (f"# {line}\n" for line in wrap(comment_text(text), _WIDTH, break_long_words=False))


def _settings(section: str, values: Mapping[str, Any], declared: Mapping[str, Setting]) -> Iterable[str]:
    """Yield a section, each setting under its line of help."""
    yield f"\n[{section}]\n"
    for name, value in values.items():
        yield from _noted(declared[name].about)
        yield toml_line(name, value)


def _search() -> Iterable[str]:
    written = {name: one.default for name, one in OF_TABLES.items() if one.section == "search" and one.is_written}
    return _settings("search", {**written, "time_limit": _SECONDS}, OF_TABLES)


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
        rules = toml_value(column.rules[0]) if len(column.rules) == 1 else _list(column.rules)
        yield f"{toml_key(column.name)} = {rules}" + (f"  # {comment_text(column.reason)}\n" if column.reason else "\n")


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(toml_value, texts))}]"


def _columns(profile: Profile, *, alone: bool = True) -> Iterable[str]:
    """Yield the roles of columns; in a policy of several tables, its head explains them."""
    entity = profile.entity
    if alone:
        yield "\n[columns]\n"
    if entity is not None:
        yield "# k counts people, not rows: this column names the person. It is never published.\n"
        yield toml_line("entity", entity)
    for setting, (roles, text) in _ROLES.items():
        columns = [column for column in profile.columns if column.role in roles and column.name != entity]
        if alone:
            yield f"\n# {text}\n"
        if setting == _GENERALIZED and not columns:
            yield from _noted(_NONE_FOUND)
        if alone or columns or setting == _GENERALIZED:
            yield from _array(setting, columns)
    if proposed := [name for name in profile.quasi_identifiers if name not in profile.named]:
        yield from ("\n", *_noted(_PROPOSED)) if alone else ()
        yield toml_line("proposed", proposed)
    yield 'rest = "drop"  # columns that are named nowhere above: "drop" leaves them out, "keep" publishes them\n'


def _array(setting: str, columns: list[ColumnProfile]) -> Iterable[str]:
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


def _hierarchies(profile: Profile, where: Sequence[str], section: str | None = None) -> Iterable[str]:
    """Yield a line for each quasi-identifier; in a table of its own where a column is called like a setting."""
    rules = profile.hierarchies
    own = "hierarchies.columns" if {"directory", "columns"} & set(rules) else "hierarchies"
    yield f"\n[{section or own}]\n"
    yield "# How each quasi-identifier is generalized, step by step: a rule, or a file of groups.\n"
    if not profile.rows:
        yield from _noted(
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
    """Return what a rule makes of a value, level by level."""
    if rule.startswith(READY):
        ready = ready_made(rule.removeprefix(READY))
        return f"{ready.title}: {ready.levels}"
    return _IN_WORDS.get(rule.partition(":")[0], "these steps, then *")


def _models(profile: Profile) -> Iterable[str]:
    """Yield standards and what can be asked for sensitive columns.

    The latter is a comment, unless a standard asks for it and a person named the columns.
    """
    if profile.standards:
        yield "# kanon check and kanon report look at the rules of these, one by one.\n"
        yield f"standards = {_list(profile.standards)}\n"
    sensitive = profile.of_role("sensitive")
    least = values_asked_for(profile.standards)
    published = [name for name in sensitive if name in profile.named]
    if least > 1 and published:
        yield "# Among people who are alike, so many values of a sensitive column: a standard asks for it.\n"
        yield f"l = {{ {', '.join(f'{toml_key(name)} = {least}' for name in published)} }}\n"
    elif sensitive:
        yield "# Among k people who are alike, so many values of a sensitive column (kanon anonymize --help: more).\n"
        wanted = ", ".join(f"{toml_key(name)} = 2" for name in sensitive)
        yield f"# l = {{ {wanted} }}\n" if len(sensitive) > 1 else "# l = 2\n"


def _release(into: str | None, out: str | None) -> Iterable[str]:
    yield "\n[release]\n"
    if into is None and out is None:
        yield '# into = "released"  # a table in the database, or out = "released.csv"\n'
    if into is not None:
        yield f"{toml_line('into', into).rstrip()}  # a table in the database; or out, a file of this name\n"
    if out is not None:
        yield f"{toml_line('out', out).rstrip()}  # a file beside this one: .csv, .parquet or .json\n"


def _table(one: TableProposal, source: str) -> Iterable[str]:
    name, rows, profile = one.table.name, counted(one.table.rows, "row"), one.profile
    yield "\n"
    if profile is None:
        yield from _noted(
            f"{name}: {rows}. No way to a person was found. That is no proof that the rows are about nobody: look at "
            f"the columns ({', '.join(one.table.columns)}).",
            'Decide: rows = "kept" publishes the table as it is, "dropped" leaves it out. Until then, this file is '
            "refused.",
        )
    else:
        are = "one for each person" if one.rows == "people" else "events of people"
        yield from _noted(f"{name}: {rows}, {are}.", *one.notes)
        if one.rows == "undecided":
            yield from _noted(
                'Decide: rows = "events" where both name the same people; else rows = "dropped", without person, key '
                "and roles, and a policy of its own for this table. Until then, this file is refused."
            )
    yield f"[tables.{toml_key(name)}]\n"
    yield toml_line("rows", "" if one.rows == "undecided" else one.rows)
    if profile is None:
        return
    if isinstance(one.person, Through):
        way = ", ".join(f"{key} = {toml_value(value)}" for key, value in one.person.setting().items())
        yield f"person = {{ {way} }}\n"
    elif one.person is not None:
        yield toml_line("person", one.person)
    if one.key is not None:
        yield toml_line("key", one.key)
    yield from _columns(profile, alone=False)
    if profile.quasi_identifiers:
        yield from _hierarchies(profile, (source, name), f"tables.{toml_key(name)}.hierarchies")


def toml_line(name: str, value: Any) -> str:  # noqa: ANN401 - what a TOML file may hold
    return tomli_w.dumps({name: value})


def toml_value(text: str) -> str:
    return toml_line("x", text).partition(" = ")[2].strip()


def toml_key(text: str) -> str:
    return toml_line(text, "").rpartition(" = ")[0]


def comment_text(text: str) -> str:
    """Return a text that stays a comment: on one line, without characters that TOML has no place for."""
    return "".join(character if character.isprintable() else "?" for character in text)
