"""The checks that every path passes: what publishes a table, and what judges one.

A check returns findings. A refused one stops a publication, and keeps a verdict from being green; the others are notes.

1. Before the search (``pass_before``): roles are confirmed, nothing kept is made of what is hidden, people are counted.
2. When levels are known (``require_nothing_tells``): nothing kept tells the value of a generalized column.
3. Of a table that is judged (``judge``): roles are confirmed, people are counted.

A person who names a column in a role has decided about it. Without that, a column is published because of ``--rest
keep``, or of a role that ``kanon init`` proposed: these columns are meant by "without a role" here.
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import find_column
from kanon_sql.engine.equality import written
from kanon_sql.engine.progress import Tell, silent
from kanon_sql.errors import UnsuitableError, UsageError, counted
from kanon_sql.hierarchy.expressions import NUMBERS
from kanon_sql.hierarchy.vocabulary import is_of_person, is_person, kinds_of_name, role_of_kind, text_of_kind
from kanon_sql.measures.shares import in_percent
from kanon_sql.policy.profile.copies import copies_among
from kanon_sql.policy.profile.patterns import BY_KIND, TEXT, has_right_digits, is_phone_number
from kanon_sql.policy.profile.people import (
    FEWEST_PEOPLE,
    counts_query,
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
    from collections.abc import Callable, Iterator, Sequence

    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.roles import NamedColumns, Roles

    Ask = Callable[[exp.Expr, str], Sequence[Sequence[Any]]]

ROLES, COPIES, PEOPLE, TOLD = (
    "roles are confirmed",
    "nothing kept is made of a hidden column",
    "people are counted",
    "nothing kept tells a generalized column",
)
_FIRST_ROWS, _MOST_VALUES = 100_000, 1_000
"""Rows, and different values of them, that are compared with patterns."""
_LOOK_ALIKE = 0.5
"""The share of values that have to match a pattern."""
_DECIMALS = re.compile(r"\.0+$")
_YES_OR_NO = 2
"""Values of a column that is called after people, such as "insured": so few number none."""
_TELLS = 0.5
"""The share of rows, of those that chance leaves, whose value a column may tell."""
_NO_CHANCE_LEFT = 1e-9


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        check: its name.
        columns: that it is about.
        refused: whether it stops a publication, and keeps a verdict from being green.
        text: what was found.
        ways_on: what decides it.
    """

    check: str
    columns: tuple[str, ...]
    refused: bool
    text: str
    ways_on: str

    def note(self) -> str:
        """Return it as sentences."""
        return f"{self.text}. {self.ways_on}"

    def said(self, table: str) -> str:
        """Return it as sentences about a table."""
        return f"{table}: {self.note()}"

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, for ``--format json``."""
        return {**asdict(self), "columns": list(self.columns)}


def _refused(check: str, columns: tuple[str, ...], text: str, ways_on: str) -> Finding:
    return Finding(check, columns, refused=True, text=text, ways_on=ways_on)


def _note(check: str, columns: tuple[str, ...], text: str, ways_on: str) -> Finding:
    return Finding(check, columns, refused=False, text=text, ways_on=ways_on)


def refused_of(findings: Sequence[Finding], check: str | None = None) -> Finding | None:
    """Return the first finding that stops a publication: of one check, if that is named."""
    return next((one for one in findings if one.refused and check in {None, one.check}), None)


def pass_before(source: Source, policy: Policy, roles: Roles, tell: Tell = silent) -> list[Finding]:
    """Return notes on a table that is to be published, by the checks that come before the search.

    Raises:
        UsageError: a check refused it.
    """
    kept = without_role(policy.columns, roles)
    findings = [*roles_are_confirmed(source, policy, roles.sensitive, kept)]
    findings += nothing_is_made_of(source, policy, roles)
    if policy.count == "people" and refused_of(findings) is None:
        tell("Looking for people with several rows")
        findings += people_are_counted(source, policy)
    if (refused := refused_of(findings)) is not None:
        raise UsageError(refused.said(source.name))
    return findings


def judge(source: Source, policy: Policy) -> tuple[Finding, ...]:
    """Return what keeps a verdict on a table that is handed out from being green, and notes.

    Columns that the policy names and the table does not have are of no interest.
    """
    return (*judge_people(source, policy), *judge_roles(source, policy))


def judge_people(source: Source, policy: Policy) -> tuple[Finding, ...]:
    """Return what is found of the people of a table: all that is judged of an original."""
    return tuple(people_are_counted(source, policy))


def judge_roles(source: Source, policy: Policy) -> tuple[Finding, ...]:
    """Return what is found of the roles of the columns of a table that is handed out."""
    named = policy.columns
    own = (*named.quasi_identifiers, *named.pseudonymize, *policy.publish, named.entity or "")
    decided = {*_published_by_decision(named), *map(folded, own)}
    shown = tuple(one.name for one in _there(source, named.identifying) if folded(one.name) not in decided)
    kept = [one for one in source.columns if folded(one.name) not in decided and one.name not in shown]
    found = [*roles_are_confirmed(source, policy, _there(source, named.sensitive), kept)]
    if shown:
        text = f"{', '.join(shown)}: identifying by the policy, which is never published"
        found.append(_refused(ROLES, shown, text, f"Leave out, or publish as it is: --keep {_listed(shown)}."))
    return tuple(found)


def without_role(named: NamedColumns, roles: Roles) -> list[Column]:
    """Return the columns that are published as they are, and that no person gave a role."""
    given = _published_by_decision(named)
    return [column for column in (*roles.sensitive, *roles.insensitive) if folded(column.name) not in given]


def _published_by_decision(named: NamedColumns) -> set[str]:
    """Return the names, folded, of columns that are published as they are since a person gave them a role."""
    return {folded(name) for name in (*named.sensitive, *named.insensitive)} - set(map(folded, named.proposed))


# 1. Roles are confirmed


def roles_are_confirmed(
    source: Source, policy: Policy, sensitive: Sequence[Column], kept: Sequence[Column]
) -> Iterator[Finding]:
    """Yield columns that are published as they are though they may identify people.

    1. Those without a role, if their name says that they identify people, alone or together; or at least half of their
       values look like e-mail addresses, telephone numbers, or numbers with check digits. Up to 1,000 different values
       of the first 100,000 rows are looked at.
    2. Sensitive ones, if their name says that they identify people by themselves: ``--keep`` confirms that they are to
       be published.
    """
    ruled = {folded(name) for name in policy.publish}
    confirmed = {folded(name) for name in policy.columns.insensitive} | ruled
    for column in [column for column in sensitive if column not in kept]:
        says = _says(source, column)
        if says and says != "visit_id" and role_of_kind(says) == "identifying" and folded(column.name) not in confirmed:
            text = f"{column.name} is sensitive, so it is published as it is, and its name says {text_of_kind(says)}"
            yes = f"if it is to be published, confirm that with --keep {shlex.quote(column.name)} too"
            yield _refused(ROLES, (column.name,), text, f"Leave it out with --id; {yes}.")
    unnamed = [column for column in kept if folded(column.name) not in ruled]
    found = {
        column.name: f"its name says {text_of_kind(says)}" if says else _looks_like(source, column)
        for column in unnamed
        for says in [_says(source, column)]
    }
    if open_ones := tuple(name for name, what in found.items() if what):
        why = ", ".join(f"{name} ({found[name]})" for name in open_ones)
        them = "it would be published as it is" if len(open_ones) == 1 else "they would be published as they are"
        text = f"columns without a role may identify people: {why}. Without a role, {them}"
        yield _refused(ROLES, open_ones, text, _roles(*open_ones))


def _roles(*names: str) -> str:
    """Return how to decide about columns without a role."""
    listed = _listed(names)
    return f"Publish as it is: --keep {listed}; leave out: --id {listed}; or give another role: --qi, --sensitive."


def _listed(names: Sequence[str]) -> str:
    """Return names as one value of an option."""
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in names))


def _identifies(column: Column) -> str | None:
    """Return the kind that the name of a column says, if that identifies people; a boolean names nobody."""
    # The key of a date of birth is as well known as the date.
    kind = next((kind for kind in kinds_of_name(column.name) if kind != "reference"), None)
    if kind is None or role_of_kind(kind) not in {"identifying", "quasi-identifying"} or column.family == "boolean":
        return None
    return kind


def _says(source: Source, column: Column) -> str | None:
    """Return the same of a table; a column that is called after people, such as "insured", may be yes or no."""
    kind = _identifies(column)
    if kind is None or not is_person(column.name):
        return kind
    own = sql.column(column.name)
    values = exp.select(own).distinct().from_(source.relation.copy()).where(own.is_(exp.null()).not_())
    found = source.holder.rows(values.limit(_YES_OR_NO + 1), f"is {column.name} yes or no?")
    return kind if len(found) > _YES_OR_NO else None


def _looks_like(source: Source, column: Column) -> str | None:
    """Return what at least half of the values of a text or a number look like, if that identifies people."""
    if column.family not in {"text", *NUMBERS}:
        return None
    first = exp.select(sql.named(sql.column(column.name), TEXT)).from_(source.relation.copy()).limit(_FIRST_ROWS)
    query = exp.select(TEXT).distinct().from_(first.subquery("first_rows")).limit(_MOST_VALUES)
    values = [str(value).strip() for (value,) in source.holder.rows(query, f"what {column.name} looks like") if value]
    numbers = column.family in NUMBERS
    kinds = [_kind_of_value(_DECIMALS.sub("", value) if numbers else value) for value in values]
    found = [kind for kind in kinds if kind == "credit_card" or (kind and not numbers)]  # numbers look like much
    if found and len(found) >= _LOOK_ALIKE * len(values):
        listed = " and ".join(BY_KIND[kind].text for kind in dict.fromkeys(found))
        return f"{in_percent(len(found) / len(values))} of its values look like {listed}"
    return None


def _kind_of_value(value: str) -> str | None:
    """Return the kind of number or address that a text is."""
    for kind in ("email", "phone", "national_id", "iban", "credit_card"):
        if re.fullmatch(BY_KIND[kind].regexp, value, re.IGNORECASE) is not None and (
            is_phone_number(value) if kind == "phone" else has_right_digits(kind, value)
        ):
            return kind
    return None


# 2. Nothing kept is made of what is hidden


def nothing_is_made_of(source: Source, policy: Policy, roles: Roles) -> Iterator[Finding]:
    """Yield columns without a role that may be made of a column that is not published as it is, or are copies of one.

    1. All of a view, and generated columns: what they are computed from is not read.
    2. Those that ``[prepare]`` makes of a column that is not published as it is.
    """
    changed = (*roles.identifying, *roles.dropped, *roles.pseudonymized, *roles.quasi_identifiers, roles.entity)
    hidden = {folded(column.name) for column in changed if column is not None} | set(map(folded, policy.publish))
    kept = [column for column in without_role(policy.columns, roles) if folded(column.name) not in hidden]
    if not kept:
        return
    is_named = bool(source.table.name) and source.frame_kind is None  # a file is not, and a frame by us
    computed = source.holder.computed(source.table) if is_named else set()
    if names := tuple(column.name for column in kept if column.name in computed):
        text = f"a view computes its columns, and a table its generated ones; without a role: {', '.join(names)}"
        yield _refused(COPIES, names, text, _roles(*names))
    originals = [column for column in source.columns if folded(column.name) in hidden]
    for column in kept:
        own = _prepared_of(source, column)
        if shown := next((one.name for one in originals if own & _prepared_of(source, one)), None):
            text = f"{column.name} has no role and is made of {shown}, which is not published as it is"
            yield _refused(COPIES, (column.name, shown), text, _roles(column.name))
    yield from copies_in(source.holder.rows, source.relation, kept, originals)


def _prepared_of(source: Source, column: Column) -> set[str]:
    """Return the names, folded, of a column and of the columns that ``[prepare]`` makes it of, at any depth."""
    reads = (
        {} if source.preparation is None else {folded(name): read for name, read in source.preparation.reads.items()}
    )
    found, left = set[str](), [column.name]
    while left:
        if (name := folded(left.pop())) not in found:
            found.add(name)
            left += reads.get(name, ())
    return found


def copies_in(
    ask: Ask, relation: exp.Table | exp.Subquery, kept: Sequence[Column], originals: Sequence[Column]
) -> Iterator[Finding]:
    """Yield the columns that have the values of one of others in the first rows."""
    for copy in copies_among(ask, relation, kept, originals):
        text = f"{copy.name} has no role, and the values of {copy.of} in each of the first {copy.rows:,} rows"
        yield _refused(COPIES, (copy.name, copy.of), text, _roles(copy.name))


# 3. People are counted


def people_are_counted(source: Source, policy: Policy) -> Iterator[Finding]:
    """Yield what keeps k from counting people, and notes on columns that may say so (``policy/profile/people.py``).

    Nothing of a table whose rows are to be counted. One scan, of the columns that may number people.
    """
    named = policy.columns
    if named.entity is not None:
        entity = find_column(named.entity, source.columns)
        yield from () if entity is None else entity_names_people(source, named, entity)
        return
    if policy.count == "rows":
        return
    pseudonymized = _there(source, named.pseudonymize)
    people = [column for column in source.columns if column in pseudonymized or numbers_people(column)]
    quasi = _there(source, named.quasi_identifiers)
    others = known_by(source.columns, _there(source, named.identifying))
    others = [columns for columns in others if not any(column in (*people, *quasi) for column in columns)]
    asked = [*((column,) for column in people), *others]
    if not asked:
        return
    query = counts_query(source.relation, [sql.literal(1), *map(value_of, asked)])
    ((rows, _, *counts),) = source.holder.rows(query, "do columns that number people repeat?")
    found = [
        (columns, int(known), int(values))
        for columns, known, values in zip(asked, counts[::2], counts[1::2], strict=True)
    ]
    one_each = any(is_one_each(column, values, int(rows)) for (column, *_), _, values in found if column in people)
    found = [one for one in found if one[2] < one[1] and not _is_category(one[0][0], one[2], named)]
    repeated = [one for one in found if one[0][0] in (pseudonymized if one_each else people)]
    for (column, *_), known, values in sorted(repeated, key=lambda one: order_of_people(one[0][0], one[2])):
        why = "it is pseudonymized" if column in pseudonymized else "its name says that it numbers people"
        text = f"several rows are of one person: {_repeats(column.name, values, known)}, and {why}"
        yield _refused(PEOPLE, (column.name,), text, _count_people(column.name))
    noted = [] if repeated else [one for one in found if not one_each or one[0][0] in people]
    for columns, known, values in noted:
        names = tuple(column.name for column in columns)
        ways_on = (
            "They are taken for different people; if rows of one person repeat, name the column that numbers people "
            "with --entity."
        )
        yield _note(PEOPLE, names, _repeats(" and ".join(names), values, known), ways_on)


def _is_category(column: Column, values: int, named: NamedColumns) -> bool:
    """Return True if a column is called after people and has so few values that they number none.

    These are two values (insured or not), and fewer than five if a person gave the column a role of its own.
    """
    given = {folded(name) for name in (*named.quasi_identifiers, *named.sensitive, *named.insensitive)}
    most = FEWEST_PEOPLE - 1 if folded(column.name) in given else _YES_OR_NO
    return is_person(column.name) and values <= most


def entity_names_people(source: Source, named: NamedColumns, entity: Column) -> Iterator[Finding]:
    """Yield why the column that people are counted by does not name people, or not each by one value.

    1. Its name says that it numbers events.
    2. Its name does not speak of people, and another column numbers people and repeats more often.
    3. A note: texts are blank, or differ in case or in outer spaces alone; numbers are NaN.
    """
    people = [column for column in source.columns if column != entity and numbers_people(column)]
    others = [] if is_of_person(entity.name) else people
    if numbers_events(entity):
        text = f"people are to be counted by {entity.name}, and its name says that it numbers events or rows"
        name = "" if not people else f" {shlex.join(['--entity', people[0].name])}"
        ways_on = (
            f"Name the column that numbers people:{name or ' --entity COLUMN'} (entity = ...). If that is "
            f'{entity.name}, give it another name in a view; where rows are meant, --count rows (count = "rows").'
        )
        yield _refused(PEOPLE, (entity.name,), text, ways_on)
        return
    value = value_of([entity])
    blank, what = {"text": ("", "blank"), "float": ("nan", "NaN")}.get(entity.family, (None, ""))
    if blank is None and not others:
        return
    spelled = exp.Lower(this=exp.Trim(this=value.copy())) if blank is not None else value
    nameless = exp.EQ(this=spelled.copy(), expression=sql.literal(blank)) if blank is not None else exp.false()
    blanks = exp.Case().when(nameless, value.copy()) if blank is not None else value
    query = counts_query(source.relation, [value, spelled, blanks, *(value_of([one]) for one in others)])
    title = "do columns that number people repeat?"
    ((rows, people, _, alike, in_rows, _, *counts),) = source.holder.rows(query, title)
    for other, known, values in zip(others, counts[::2], counts[1::2], strict=True):
        if int(values) * int(rows) < int(people) * int(known) and not _is_category(other, int(values), named):
            text = (
                f"people are to be counted by {entity.name}, which has {int(people):,} values in {int(rows):,} rows, "
                f"and {_repeats(other.name, int(values), int(known))} and a name that says that it numbers people"
            )
            view = f" If {entity.name} numbers people, give it a name that says so in a view."
            yield _refused(PEOPLE, (entity.name, other.name), text, _count_people(other.name) + view)
            return
    if blank is not None and int(in_rows):
        text = f"{entity.name} is {what} in {counted(int(in_rows), 'row')}"
        way = f"{'A blank' if what == 'blank' else what} is counted as a person: write NULL where no one is named."
        yield _note(PEOPLE, (entity.name,), text, way)
    elif int(alike) < int(people):
        spellings = f"{int(people):,} for {int(alike):,} values"
        text = f"{entity.name} has values that differ in case or in spaces around them alone ({spellings})"
        way = "They are taken for different people; if they are the same people, write them in one way."
        yield _note(PEOPLE, (entity.name,), text, way)


def _repeats(name: str, values: int, rows: int) -> str:
    has = "together have" if " and " in name else "has"
    return f"{name} {has} repeated values ({values:,} in {rows:,} rows)"


def _count_people(name: str) -> str:
    return (
        f"Count people with {shlex.join(['--entity', name])} (entity = ...); or, where rows are meant, with --count "
        'rows (count = "rows").'
    )


def _there(source: Source, names: Sequence[str]) -> list[Column]:
    return [column for name in names if (column := find_column(name, source.columns)) is not None]


# 4. Nothing kept tells the value of a generalized column


def require_nothing_tells(source: Source, named: NamedColumns, roles: Roles, recoding: Recoding) -> None:
    """Raise if a column without a role tells the value of a quasi-identifier that a recoding generalizes.

    A recoding that cuts the table into parts may generalize each of them.

    Raises:
        UnsuitableError: naming both, and the option that decides; a recoding that does not generalize it may pass.
    """
    columns = roles.quasi_identifiers
    generalized = [one for at, one in enumerate(columns) if not recoding.nodes or any(recoding.levels_of(at))]
    found = columns_that_tell(source.holder.rows, source.relation, without_role(named, roles), generalized)
    if (first := next(found, None)) is not None:
        raise UnsuitableError(first.said(source.name))


def columns_that_tell(
    ask: Ask, relation: sql.Relation, kept: Sequence[Column], generalized: Sequence[Column]
) -> Iterator[Finding]:
    """Yield the columns that tell the value of a generalized column, by the rows of a table.

    A column tells what its values in at least 3 rows always go with: such rows are a share s of all. If the column were
    shuffled, a share c of the rows would be so by chance, as is expected. It tells the other one if (s - c) / (1 - c)
    is at least one half. Values that stand in one or two rows are not looked at: of them, nothing can be told apart
    from chance.
    """
    if not kept or not generalized:
        return
    ((rows,),) = ask(exp.select(exp.Count(this=exp.Star())).from_(sql.aliased(relation, "source")), "rows of the table")
    sizes = {column: ask(_sizes(relation, column), f"values of {column.name}") for column in generalized}
    for column in kept:
        told = ask(_told(relation, column, generalized), f"what {column.name} tells of generalized columns")
        for place, other in enumerate(generalized):
            by_size = [(int(row[0]), int(row[1]), int(row[2 + place] or 0)) for row in told]
            share = sum(size * alone for size, _, alone in by_size) / (rows or 1)
            chance = _by_chance(int(rows), [row[:2] for row in by_size], sizes[other])
            left = 1 - chance
            if left > _NO_CHANCE_LEFT and (share - chance) / left >= _TELLS:
                text = (
                    f"{column.name} has no role and would be published as it is, and tells the value of {other.name}, "
                    f"which is generalized, in {in_percent(share)} of the rows ({in_percent(chance)} by chance)"
                )
                yield _refused(TOLD, (column.name, other.name), text, _roles(column.name))


def _by_chance(rows: int, by_size: Sequence[Sequence[int]], others: Sequence[Sequence[Any]]) -> float:
    """Return the share of rows that a shuffled column is expected to tell another one in.

    Of n rows drawn without replacement out of N, all have one value of those with N_q rows with probability
    ``sum over q of (N_q)_n / (N)_n``, with falling factorials.

    >>> round(_by_chance(4, [(2, 2)], [(2, 2)]), 4)  # two pairs, of two values with two rows each
    0.3333
    """
    expected = 0.0
    for size, number in by_size:
        every = math.lgamma(rows + 1) - math.lgamma(rows - size + 1)
        alike = sum(
            int(values) * math.exp(math.lgamma(int(own) + 1) - math.lgamma(int(own) - size + 1) - every)
            for own, values in others
            if int(own) >= size
        )
        expected += size * number * alike
    return expected / (rows or 1)


def _sizes(relation: sql.Relation, column: Column) -> exp.Expr:
    value = written(sql.column(column.name, "source"), column)
    return sql.statement("gate/sizes", values={"column": value}, relations={"source": sql.aliased(relation, "source")})


def _told(relation: sql.Relation, column: Column, others: Sequence[Column]) -> exp.Expr:
    values, alone, told = [], [], []
    for place, other in enumerate(others):
        values.append(sql.named(written(sql.column(other.name, "source"), other), f"other_{place}"))
        value = sql.column(f"other_{place}", "found")
        one = exp.EQ(this=exp.Min(this=value), expression=exp.Max(this=value.copy()))
        full = exp.EQ(this=exp.Count(this=value.copy()), expression=sql.count_rows())
        none = exp.EQ(this=exp.Count(this=value.copy()), expression=sql.literal(0))
        alone.append(sql.named(exp.or_(exp.and_(one, full), none), f"alone_{place}"))
        yes = exp.Case().when(sql.column(f"alone_{place}", "sizes"), sql.literal(1)).else_(sql.literal(0))
        told.append(sql.named(sql.sum_of(yes), f"told_{place}"))
    own = written(sql.column(column.name, "source"), column)
    return sql.statement(
        "gate/determined",
        values={"alone": alone, "told": told, "column": own, "others": values},
        relations={"source": sql.aliased(relation, "source")},
    )
