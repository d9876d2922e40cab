"""Checks on every path that publishes or judges a table.

1. Before the search (``pass_before``): roles are confirmed, no kept column is derived from a hidden one, and k counts
   people.
2. Once levels are known (``require_nothing_tells``): no kept column reveals the value of a generalized column.
3. For a table that is judged (``judge``): roles are confirmed and k counts people.

A column "without a role" is published because of ``--rest keep`` or because of a role that ``kanon init`` proposed: no
person has confirmed it.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import find_column, find_columns, written_name
from kanon_sql.engine.progress import Tell, silent
from kanon_sql.errors import UnsuitableError, UsageError, in_policy_file
from kanon_sql.hierarchy.expressions import NUMBERS
from kanon_sql.hierarchy.vocabulary import is_of_person, is_person, kinds_of_name, role_of_kind, text_of_kind
from kanon_sql.measures.shares import in_percent
from kanon_sql.policy.profile.patterns import BY_KIND, TEXT, is_of_kind
from kanon_sql.policy.profile.people import (
    FEWEST_PEOPLE,
    is_one_each,
    known_by,
    numbers_events,
    numbers_people,
    order_of_people,
    value_of,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.member import MemberPolicy
    from kanon_sql.policy.roles import NamedColumns, Roles

    Ask = Callable[[exp.Expr, str], Sequence[Sequence[Any]]]

ROLES, COPIES, PEOPLE, TOLD = (
    "roles are confirmed",
    "no kept column is made of a hidden one",
    "people are counted",
    "no kept column reveals a generalized one",
)
_FIRST_ROWS, _MOST_VALUES, _LOOK_ALIKE = 100_000, 1_000, 0.5
"""Rows and distinct values to compare with patterns; the share of these values that must match."""
_ROWS_OF_COPIES, _LONGEST, _BITS_OF_COPIES = 1_000, 100, 20
"""Rows and characters to compare; the bits that the values of a copy need at least. Fewer can match by chance."""
_YES_OR_NO = 2
"""Maximum distinct values of a column named after people, such as "insured", that cannot number them."""
_DO_PEOPLE_REPEAT = "do columns that number people repeat?"
_MAY_BE_ONE_PERSON = (
    "They count as different people; if rows of one person repeat, name the column of people with --entity."
)
_FEWEST_ROWS, _TELLS, _NO_CHANCE_LEFT = 3, 0.5, 1e-9
"""Minimum rows of a value that determines another one; the share of rows, beyond chance, that must be determined."""


@dataclass(frozen=True)
class Finding:
    """The result of a check and the options that resolve it: a note, or a reason to refuse to publish or verify."""

    check: str
    columns: tuple[str, ...]
    refused: bool = field(default=True, kw_only=True)
    text: str
    ways_on: str

    def note(self) -> str:
        return f"{self.text}. {self.ways_on}"

    def said(self, table: str) -> str:
        return f"{table}: {self.note()}"

    def said_of_member(self, table: str) -> str:
        """Return the message for a table of a set. Only its policy file can resolve it."""
        return in_policy_file(self.said(table))


def refused_of(findings: Iterable[Finding], check: str | None = None) -> Finding | None:
    """Return the first finding that stops a publication, of one check if ``check`` is given."""
    return next((one for one in findings if one.refused and check in {None, one.check}), None)


def pass_before(source: Source, policy: MemberPolicy, roles: Roles, tell: Tell = silent) -> list[Finding]:
    """Run the checks before the search and return their notes. Raises a UsageError if one refuses the table."""
    ruled = set(map(folded, policy.publish))
    shown = [one for one in (*roles.sensitive, *roles.insensitive) if folded(one.name) not in ruled]
    kept = [column for column in roles.without_role if column in shown]
    findings = [*roles_are_confirmed(source, policy, roles.sensitive, kept)]
    findings += nothing_is_made_of(source, policy, roles, kept, [one for one in source.columns if one not in shown])
    if (policy.counts_people or policy.entity is not None) and refused_of(findings) is None:
        tell("Looking for people with several rows")
        findings += people_are_counted(source, policy)
    if (refused := refused_of(findings)) is not None:
        raise UsageError(refused.said(source.name))
    return findings


def judge(source: Source, policy: MemberPolicy) -> tuple[Finding, ...]:
    """Return notes and findings that keep a release from passing. Columns that it lacks do not matter."""
    return (*people_are_counted(source, policy), *judge_roles(source, policy))


def judge_roles(source: Source, policy: MemberPolicy) -> Iterator[Finding]:
    """Yield problems with the columns of a release: identifying columns and columns without a role."""
    named = policy.named
    decided = set(map(folded, (*named.sensitive, *named.insensitive))) - set(map(folded, named.proposed))
    decided.update(map(folded, (*named.quasi_identifiers, *named.pseudonymize, *policy.publish, policy.entity or "")))
    open_ones = [column for column in source.columns if folded(column.name) not in decided]
    identifying = find_columns(named.identifying, source.columns)
    kept = [column for column in open_ones if column not in identifying]
    yield from roles_are_confirmed(source, policy, find_columns(named.sensitive, source.columns), kept)
    if shown := tuple(column.name for column in identifying if column in open_ones):
        text = f"{', '.join(shown)}: identifying by the policy, which is never published"
        yield Finding(ROLES, shown, text, f"Leave out, or publish as it is: --keep {_listed(shown)}.")


def _roles(*names: str) -> str:
    """Return the options that decide about columns without a role."""
    listed = _listed(names)
    return f"Publish as it is: --keep {listed}; leave out: --id {listed}; or give another role: --qi, --sensitive."


def _listed(names: Sequence[str]) -> str:
    """Return names as one value of an option."""
    return shlex.quote(",".join(map(written_name, names)))


def roles_are_confirmed(
    source: Source, policy: MemberPolicy, sensitive: Sequence[Column], kept: Sequence[Column]
) -> Iterator[Finding]:
    """Yield columns that are published unchanged although they may identify people.

    1. Sensitive columns whose name says that they identify people by themselves, unless ``--keep`` confirms them.
    2. Columns without a role whose name or values suggest that they identify people, alone or together.
    """
    confirmed = set(map(folded, (*policy.publish, *policy.columns.insensitive)))
    for column in sensitive:
        says = None if column in kept or folded(column.name) in confirmed else _says(source, column)
        if says and says != "visit_id" and role_of_kind(says) == "identifying":
            text = f"{column.name} is sensitive, so it is published as it is, and its name says {text_of_kind(says)}"
            yes = f"if it is to be published, confirm that with --keep {shlex.quote(column.name)} too"
            yield Finding(ROLES, (column.name,), text, f"Leave it out with --id; {yes}.")
    whys = {}
    for column in kept:
        says = _says(source, column)
        whys[column.name] = f"its name says {text_of_kind(says)}" if says else _looks_like(source, column)
    if names := tuple(name for name, why in whys.items() if why):
        why = ", ".join(f"{name} ({whys[name]})" for name in names)
        text = f"columns that would be published without a role may identify people: {why}"
        yield Finding(ROLES, names, text, _roles(*names))


def _says(source: Source, column: Column) -> str | None:
    """Return the kind that the name of a column suggests, if that kind identifies people.

    Boolean columns never do. Nor does a column of two values that is named after people, such as "insured".
    """
    # The key of a date of birth is as well known as the date.
    kind = next((kind for kind in kinds_of_name(column.name) if kind != "reference"), None)
    if kind is None or role_of_kind(kind) not in {"identifying", "quasi-identifying"} or column.family == "boolean":
        return None
    if is_person(column.name):
        own = sql.column(column.name)
        values = exp.select(own).distinct().from_(source.relation.copy()).where(own.is_(exp.null()).not_())
        found = source.holder.rows(values.limit(_YES_OR_NO + 1), f"is {column.name} yes or no?")
        return kind if len(found) > _YES_OR_NO else None
    return kind


def _looks_like(source: Source, column: Column) -> str | None:
    """Return the kind that at least half of the values (texts or numbers) look like, if it identifies people."""
    if column.family not in {"text", *NUMBERS}:
        return None
    first = exp.select(sql.named(sql.column(column.name), TEXT)).from_(source.relation.copy()).limit(_FIRST_ROWS)
    query = exp.select(TEXT).distinct().from_(first.subquery("first_rows")).limit(_MOST_VALUES)
    rows = source.holder.rows(query, f"what {column.name} looks like")
    values = [_plain(str(value)) for (value,) in rows if value]
    kinds = ("email", "phone", "national_id", "iban", "credit_card")
    alike = (next((one for one in kinds if is_of_kind(one, value)), None) for value in values)
    is_number = column.family in NUMBERS  # numbers look like many kinds
    found = [one for one in alike if one is not None and (one == "credit_card" or not is_number)]
    if found and len(found) >= _LOOK_ALIKE * len(values):
        listed = " and ".join(BY_KIND[kind].text for kind in dict.fromkeys(found))
        return f"{in_percent(len(found) / len(values))} of its values look like {listed}"
    return None


def _unguarded(kept: Sequence[Column], policy: MemberPolicy, roles: Roles) -> Sequence[Column]:
    """Return the columns without guarded ones: a passed check must not reveal a value that a privacy model protects."""
    return [one for one in kept if one not in roles.sensitive or not policy.guards_sensitive]


def nothing_is_made_of(
    source: Source, policy: MemberPolicy, roles: Roles, kept: Sequence[Column], hidden: Sequence[Column]
) -> Iterator[Finding]:
    """Yield kept columns that may be derived from a hidden one, or copy one.

    1. All columns of a view, and generated columns: their expressions are not read.
    2. Columns that ``[prepare]`` derives from a hidden column.
    3. Copies in the first rows. Guarded columns are not compared with quasi-identifiers.
    """
    is_named = bool(source.table.name) and source.frame_kind is None  # not a file, nor a data frame, whose name is ours
    computed = source.holder.computed(source.table) if is_named and kept else set()
    if names := tuple(column.name for column in kept if column.name in computed):
        text = f"a view computes its columns, and a table its generated ones; without a role: {', '.join(names)}"
        yield Finding(COPIES, names, text, _roles(*names))
    reads = {} if source.preparation is None else source.preparation.reads
    made_of = {column.name: {column.name, *reads.get(column.name, ())} for column in source.columns}
    for name in (column.name for column in kept):
        if original := next((one.name for one in hidden if made_of[name] & made_of[one.name]), None):
            text = f"{name} has no role and is made of {original}, which is not published as it is"
            yield Finding(COPIES, (name, original), text, _roles(name))
    unguarded, others = _unguarded(kept, policy, roles), [one for one in hidden if one not in roles.quasi_identifiers]
    yield from copies_in(source.holder.rows, source.relation, unguarded, hidden)
    yield from copies_in(source.holder.rows, source.relation, [one for one in kept if one not in unguarded], others)


def copies_in(
    ask: Ask, relation: exp.Table | exp.Subquery, kept: Sequence[Column], originals: Sequence[Column]
) -> Iterator[Finding]:
    """Yield the kept columns that copy an original in each of the first rows, except for spaces and case.

    A few rows with few distinct values may match by chance.
    """
    if not kept or not originals:
        return
    texts = [sql.cast(sql.column(one.name), "VARCHAR") for one in (*kept, *originals)]
    cut = [exp.Left(this=text, expression=sql.literal(_LONGEST)) for text in texts]
    query = exp.select(*(sql.named(text, f"text_{place}") for place, text in enumerate(cut)))
    rows = ask(query.from_(relation.copy()).limit(_ROWS_OF_COPIES), "the first rows, where columns may be copies")
    values = [tuple(value if value is None else _plain(value) for value in row) for row in zip(*rows, strict=True)]
    by_values = dict(zip(values[len(kept) :], originals, strict=False))
    for column, own in zip(kept, values, strict=False):
        bits = len(rows) * math.log2(len({*own} - {None}) or 1)
        if (original := by_values.get(own)) is not None and bits >= _BITS_OF_COPIES:
            same = f"the values of {original.name} in each of the first {len(rows):,} rows"
            text = f"{column.name} has no role, and {same}"
            yield Finding(COPIES, (column.name, original.name), text, _roles(column.name))


def _plain(value: str) -> str:
    """Return a text in lower case, without outer spaces and trailing zeros of decimals: 7 for 7.0."""
    text = value.strip().casefold()
    return text.rstrip("0").rstrip(".") if "." in text else text


def people_are_counted(source: Source, policy: MemberPolicy) -> Iterator[Finding]:
    """Yield reasons why k may not count people, and notes on columns that may number them.

    See ``policy/profile/people.py``. Scans the columns that may number people once, or not at all if k counts rows.
    """
    named = policy.columns
    if policy.entity is not None:
        entity = find_column(policy.entity, source.columns)
        yield from () if entity is None else _entity_names_people(source, policy, entity)
        return
    if not policy.counts_people:
        return
    pseudonymized = find_columns(named.pseudonymize, source.columns)
    people = [column for column in source.columns if column in pseudonymized or numbers_people(column)]
    apart = [*people, *find_columns(named.quasi_identifiers, source.columns)]
    others = known_by(source.columns, find_columns(named.identifying, source.columns))
    asked = [*((column,) for column in people), *(one for one in others if not any(own in apart for own in one))]
    if not asked:
        return
    query = sql.select_counts(source.relation, map(value_of, asked))
    ((rows, *counts),) = source.holder.rows(query, _DO_PEOPLE_REPEAT)
    found = list(zip(asked, counts[::2], counts[1::2], strict=True))
    one_each = any(is_one_each(column, values, rows) for (column, *_), _, values in found if column in people)
    found = [one for one in found if one[2] < one[1] and not _is_category(one[0][0], one[2], named)]
    repeated = [one for one in found if one[0][0] in (pseudonymized if one_each else people)]
    noted = [] if repeated else [one for one in found if not one_each or one[0][0] in people]
    for columns, known, values in sorted(repeated, key=lambda one: order_of_people(one[0][0], one[2])) or noted:
        names = tuple(column.name for column in columns)
        text, way = _repeats(" and ".join(names), values, known), _MAY_BE_ONE_PERSON
        if repeated:
            why = "it is pseudonymized" if columns[0] in pseudonymized else "its name says that it numbers people"
            text, way = f"several rows are of one person: {text}, and {why}", _count_people(policy, *names)
        yield Finding(PEOPLE, names, text, way, refused=bool(repeated))


def _is_category(column: Column, values: int, named: NamedColumns) -> bool:
    """Return True if a column is named after people but has too few values to number them.

    That is two values (insured or not), or fewer than five if a person gave the column a role.
    """
    given = {folded(name) for name in (*named.quasi_identifiers, *named.sensitive, *named.insensitive)}
    most = FEWEST_PEOPLE - 1 if folded(column.name) in given else _YES_OR_NO
    return is_person(column.name) and values <= most


def _entity_names_people(source: Source, policy: MemberPolicy, entity: Column) -> Iterator[Finding]:
    """Yield reasons why the entity column may not name people, or not each person by one value.

    1. Its name says that it numbers events.
    2. Its name does not suggest people, and another column numbers people and repeats more often.
    3. A note: some values are blank or NaN, or differ only in case or outer spaces.
    """
    people = [column for column in source.columns if column != entity and numbers_people(column)]
    view = f" If {entity.name} numbers people, give it a name that says so in a view."
    counted_by = f"people are to be counted by {entity.name}"
    if numbers_events(entity):
        text = f"{counted_by}, and its name says that it numbers events or rows"
        ways_on = _count_people(policy, people[0].name if people else "COLUMN") + view
        yield Finding(PEOPLE, (entity.name,), text, ways_on)
        return
    others = [] if is_of_person(entity.name) else people
    if entity.family not in {"text", "float"} and not others:  # values of other types have one spelling
        return
    plain = exp.Lower(this=exp.Trim(this=sql.cast(value_of([entity]), "VARCHAR")))
    spelled = exp.Case().when(plain.isin("", "nan").not_(), plain.copy())
    asked = [value_of([entity]), spelled, *(value_of([one]) for one in others)]
    query = sql.select_counts(source.relation, asked)
    ((_, rows, people_in, _, alike, *counts),) = source.holder.rows(query, _DO_PEOPLE_REPEAT)
    for other, known, values in zip(others, counts[::2], counts[1::2], strict=True):
        if values * rows < people_in * known and not _is_category(other, values, policy.columns):
            text = (
                f"{counted_by}, which has {people_in:,} values in {rows:,} rows, and "
                f"{_repeats(other.name, values, known)} and a name that says that it numbers people"
            )
            yield Finding(PEOPLE, (entity.name, other.name), text, _count_people(policy, other.name) + view)
            return
    if alike < people_in:
        text = f"{entity.name} has {people_in:,} values, {alike:,} if case, outer spaces, blanks and NaN do not count"
        way = "Each counts as a person: write one person in one way, and NULL where no one is named."
        yield Finding(PEOPLE, (entity.name,), text, way, refused=False)


def _repeats(name: str, values: int, rows: int) -> str:
    has = "together have" if " and " in name else "has"
    return f"{name} {has} repeated values ({values:,} in {rows:,} rows)"


def _count_people(policy: MemberPolicy, name: str) -> str:
    return policy.how_to_count.format(option=shlex.join(["--entity", name]))


def require_nothing_tells(source: Source, policy: MemberPolicy, roles: Roles, recoding: Recoding) -> None:
    """Raise an UnsuitableError if a column without a role reveals a quasi-identifier that is generalized or cut.

    A recoding that does not generalize that quasi-identifier may pass.
    """
    columns = roles.quasi_identifiers
    generalized = [one for at, one in enumerate(columns) if not recoding.nodes or any(recoding.levels_of(at))]
    kept = _unguarded(roles.without_role, policy, roles)
    found = columns_that_tell(source.holder.rows, source.relation, kept, generalized)
    if (first := next(found, None)) is not None:
        raise UnsuitableError(first.said(source.name))


def columns_that_tell(
    ask: Ask, relation: sql.Relation, kept: Sequence[Column], generalized: Sequence[Column]
) -> Iterator[Finding]:
    """Yield the columns that reveal the value of a generalized column in the rows of a table.

    Values with at least 3 rows that always occur with one value of the other column cover a share s of the rows. If the
    column were shuffled, the expected share would be c. It reveals the other column if (s - c) / (1 - c) is at least
    1/2.
    """
    if not kept or not generalized:
        return
    sizes = [ask(_values_by_rows(relation, one, []), f"values of {one.name}") for one in generalized]
    rows = sum(size * number for size, number in sizes[0])
    for column in kept:
        query = _values_by_rows(relation, column, generalized)
        found = ask(query, f"what {column.name} tells of generalized columns")
        told = [row for row in found if row[0] >= _FEWEST_ROWS]
        for place, other in enumerate(generalized):
            share = sum(row[0] * row[2 + place] for row in told) / (rows or 1)
            chance = _by_chance(rows, [row[:2] for row in told], sizes[place])
            left = 1 - chance
            if left > _NO_CHANCE_LEFT and (share - chance) / left >= _TELLS:
                text = (
                    f"{column.name} has no role and would be published as it is, and tells the value of {other.name}, "
                    f"which is generalized, in {in_percent(share)} of the rows ({in_percent(chance)} by chance)"
                )
                yield Finding(TOLD, (column.name, other.name), text, _roles(column.name))


def _by_chance(rows: int, by_size: Sequence[Sequence[int]], others: Sequence[Sequence[int]]) -> float:
    """Return the share of rows in which a shuffled column is expected to determine another one.

    Of n rows drawn without replacement from N, all have the same value, among values with N_q rows, with probability
    ``sum over q of (N_q)_n / (N)_n``, where ``(x)_n`` is the falling factorial.

    >>> round(_by_chance(4, [(2, 2)], [(2, 2)]), 4)  # two pairs, of two values with two rows each
    0.3333
    """

    def falling(number: int, size: int) -> float:  # logarithm
        return math.lgamma(number + 1) - math.lgamma(number - size + 1)

    expected = 0.0
    for size, number in by_size:
        alike = (values * math.exp(falling(own, size) - falling(rows, size)) for own, values in others if own >= size)
        expected += size * number * sum(alike)
    return expected / (rows or 1)


def _values_by_rows(relation: sql.Relation, column: Column, others: Sequence[Column]) -> exp.Expr:
    """Return the query of ``gate/values_by_rows``. NULL counts as a value unless the column may reveal others."""
    values, alone, told = [], [], []
    for place, other in enumerate(others):
        name = f"other_{place}"
        # PostgreSQL has no MIN for these types.
        text = sql.cast(value_of([other]), "VARCHAR") if other.family in {"boolean", "other"} else value_of([other])
        values.append(sql.named(text, name))
        value = sql.column(name, "found")
        one = sql.same(exp.Min(this=value), exp.Max(this=value.copy()))
        all_or_none = exp.Count(this=value.copy()).isin(0, sql.count_rows())
        alone.append(sql.named(exp.and_(one, all_or_none), name))
        told.append(sql.where(sql.count_rows(), sql.column(name, "sizes")))
    is_counted = sql.column("value", "found").is_(exp.null()).not_() if others else exp.true()
    return sql.statement(
        "gate/values_by_rows",
        values={"alone": alone, "told": told, "column": value_of([column]), "others": values, "counted": is_counted},
        relations={"source": sql.aliased(relation, "source")},
    )
