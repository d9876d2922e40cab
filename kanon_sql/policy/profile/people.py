"""The column that names the person, where rows of one person repeat; and whether rows of one person repeat at all."""

from __future__ import annotations

import math
import shlex
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.errors import counted
from kanon_sql.hierarchy.vocabulary import is_of_person, kinds_of_name, role_of_kind, words_of
from kanon_sql.measures.shares import in_percent
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.policy.profile.figures import ColumnFigures
    from kanon_sql.policy.profile.proposals import Proposal

_KINDS = ("record_id", "national_id", "passport")
Naming = Literal["person", "something else", "attribute", "unknown"]
"""What a column names, as far as its name and type say. An attribute, such as a date of birth, names nothing: rows that
share it agree in other attributes without being of one person."""

_NUMBERS_OF_PERSONS = frozenset(_KINDS)
_ALSO_IF_IDENTIFYING = frozenset({"username", "credit_card"})
_WORDS_IF_IDENTIFYING = frozenset({"cid"})  # of a citizen, a client or a customer; but also the ICD in Portuguese
_NAMES = frozenset({"person_name", "first_name", "last_name"})
_OFTEN_OF_PERSONS = frozenset({"person_name", "email", "phone", "username", "device", "account", "iban", "credit_card"})
"""Kinds that name a person also where the column was not called identifying, if repeated rows agree."""
_EVENTS = frozenset({"visit", "encounter", "admission", "stay", "hadm", "household", "record", "application", "row"})
_STAFF = frozenset(
    {
        *("doctor", "physician", "nurse", "surgeon", "provider", "practitioner", "clinician", "therapist", "attending"),
        *("staff", "agent", "manager", "supervisor", "tutor", "teacher", "seller", "author", "driver", "operator"),
        *("arzt", "arztin", "pfleger", "lehrer", "medecin", "infirmier", "medico", "enfermera", "医生", "护士"),
    }
)
"""Persons that a row is not about: each has rows of many others."""

_TRAITS: tuple[tuple[frozenset[str], float], ...] = (
    (frozenset({"birth_date"}), 0.1),
    (frozenset({"birth_year", "age"}), 0.1),
    (
        frozenset(
            {
                *("sex", "nationality", "ethnicity", "language"),
                *("height", "weight", "body", "marital_status", "education", "occupation"),
            }
        ),
        0.5,
    ),
)
"""Kinds of columns that belong to a person, those that say most first, each with the share of repeats that must agree
beyond chance. The place where a person lives is none: rows of one hospital agree in it too."""
_TOLD_BY_NAMES = frozenset({"sex", "nationality", "ethnicity", "language"})  # of people of one name, by their name
_TOLD_BY_HOUSEHOLD = frozenset({"nationality", "ethnicity", "language", "marital_status"})  # of who share a telephone
_UNKNOWN_TRAIT = 0.5
_LN_OF_CHANCE = math.log(100)  # once in a hundred tables
_MOST_TRAITS = 8


@dataclass(frozen=True)
class RepeatedColumn:
    """A column that may name people, or several that do so together, with values that stand on several rows.

    Attributes:
        columns: their names.
        values: different values.
        rows: rows that have a value.
        names_people: whether the repeated rows are taken to be of one person.
        reason: why: its ``name``, its ``type``, or ``traits`` in which they agree; None where nothing says so. Or
            ``spelling``: values of the entity, of which ``rows`` differ, and ``values`` without case and outer spaces.
            Or ``blank``: the entity has ``values`` different texts without anything but spaces, in ``rows`` rows. Or
            ``nan``: it is NaN in so many.
        trait: the column in which repeated rows agree most beyond chance; None where none was looked at.
        agreeing: the share of repeated rows that agree in it.
        by_chance: the share of other rows that do.
    """

    columns: tuple[str, ...]
    values: int
    rows: int
    names_people: bool
    reason: Literal["name", "type", "traits", "spelling", "blank", "nan"] | None = None
    trait: str | None = None
    agreeing: float | None = None
    by_chance: float | None = None

    @property
    def listed(self) -> str:
        return " and ".join(self.columns)

    def found(self) -> str:
        """Return what was found, as a part of a sentence."""
        has = "has" if len(self.columns) == 1 else "together have"
        if self.reason in {"blank", "nan"}:
            return f"{self.listed} is {'blank' if self.reason == 'blank' else 'NaN'} in {counted(self.rows, 'row')}"
        if self.reason == "spelling":
            spellings = f"{self.rows:,} for {self.values:,} values"
            return f"{self.listed} {has} values that differ in case or in spaces around them alone ({spellings})"
        text = f"{self.listed} {has} repeated values ({self.values:,} in {self.rows:,} rows)"
        if self.reason == "name":
            return f"{text}, and its name says that it names people"
        if self.reason == "type":
            return f"{text}, and its type says that it names people"
        if self.agreeing is None or self.by_chance is None:
            return text
        share, chance = in_percent(self.agreeing), in_percent(self.by_chance)
        return f"{text}, and {share} of the rows that share one agree in {self.trait} ({chance} of other rows do)"

    def note(self) -> str:
        """Return what is said of values that are taken for different people."""
        way = "if rows of one person repeat, name the column that names the person with --entity"
        if self.reason == "spelling":
            way = "if they are the same people, write them in one way"
        if self.reason in {"blank", "nan"}:
            what = "A blank" if self.reason == "blank" else "NaN"
            return f"{self.found()}. {what} is counted as a person: write NULL where no one is named."
        return f"{self.found()}. They are taken for different people; {way}."

    def ways_on(self) -> str:
        """Return how to say what is to be counted, where it names people."""
        entity = self.columns[0] if self.reason == "name" and len(self.columns) == 1 else "COLUMN"
        which = "" if entity != "COLUMN" else ", where COLUMN names the person"
        return (
            f"Count people with {shlex.join(['--entity', entity])} (entity = ...){which}; or, where rows are meant, "
            'with --count rows (count = "rows").'
        )

    def summary(self) -> dict[str, Any]:
        return {**asdict(self), "columns": list(self.columns)}


def proposed_entity(
    columns: Sequence[Column], proposals: Mapping[str, Proposal], figures: Mapping[str, ColumnFigures]
) -> Column | None:
    """Return the column that people should be counted by; None where no person has several rows, or none is named.

    It is a number of persons that stands on several rows. A row without one counts for no one.
    """
    repeated = [
        column
        for column in columns
        if proposals[column.name].role == "identifying"
        and proposals[column.name].kind in _KINDS
        and _says(column, identifying=True) == "person"
        and 0 < figures[column.name].distinct < figures[column.name].rows - figures[column.name].nulls
    ]
    return min(repeated, key=lambda column: _rank(column, proposals, figures), default=None)


def _rank(
    column: Column, proposals: Mapping[str, Proposal], figures: Mapping[str, ColumnFigures]
) -> tuple[bool, int, int]:
    kind = proposals[column.name].kind or ""
    return not is_of_person(column.name), _KINDS.index(kind), figures[column.name].distinct


@dataclass(frozen=True)
class _Candidate:
    """A column that may name people, or several that do so together, with what their names and types say."""

    columns: tuple[Column, ...]
    says: Naming
    identifying: bool

    @property
    def value(self) -> exp.Expr:
        """The name that it gives a person; NULL where one of the columns is."""
        first, *others = [written(sql.column(column.name, "source"), column) for column in self.columns]
        if not others:
            return first
        whole: exp.Expr = sql.cast(first, "VARCHAR")
        for other in others:
            ended = exp.DPipe(this=whole, expression=sql.literal("\n"), safe=True)
            whole = exp.DPipe(this=ended, expression=sql.cast(other, "VARCHAR"), safe=True)
        return whole

    def repeated(self, values: int, distinct: int) -> RepeatedColumn:
        names = tuple(column.name for column in self.columns)
        if self.says != "person":
            return RepeatedColumn(names, distinct, values, names_people=False)
        by_name = _says(self.columns[0], identifying=True) == "person"
        return RepeatedColumn(names, distinct, values, names_people=True, reason="name" if by_name else "type")


def repeated_columns(
    ask: Callable[[exp.Expr, str], Sequence[Sequence[Any]]],
    table: exp.Table,
    columns: Sequence[Column],
    identifying: Sequence[Column],
    quasi_identifiers: Sequence[Column],
) -> tuple[RepeatedColumn, ...]:
    """Return the columns that may name people and have repeated values, those first that do name people.

    1. A column that was called identifying, whatever its name and its type; any column whose name says that it is the
       number of a person; and any column whose name says that it is what a person is reached or known by (a name, an
       e-mail address, a telephone number, a user name, a device, an account). Nothing is read where there is none. A
       first name and a last name are looked at together.
    2. One scan counts their values. A column without repeated values is of no interest.
    3. A repeated column names people if its name, as that of a number of a person, or its type says so.
    4. Else its repeated rows are compared in columns that belong to a person: the date of birth; else year of birth and
       age; else sex, height, occupation and the like; else, if it was called identifying, quasi-identifiers whose names
       say nothing. One scan for each of these. A column that is an attribute of a person itself is not compared.
    """
    candidates = _candidates(columns, identifying, quasi_identifiers)
    if not candidates:
        return ()
    ((rows, *counts),) = ask(
        _repeats_query(table, [one.value for one in candidates]), "do columns that name people repeat?"
    )
    repeated = [
        (candidate, candidate.repeated(int(values), int(distinct)))
        for candidate, values, distinct in zip(candidates, counts[::2], counts[1::2], strict=True)
        if int(distinct) < int(values)
    ]
    if people := [found for _, found in repeated if found.names_people]:
        return tuple(sorted(people, key=lambda found: (not is_of_person(found.columns[0]), found.values)))
    traits = _Traits(ask, table, columns, quasi_identifiers)
    compared = [(candidate, traits.compared(found, candidate)) for candidate, found in repeated]
    # Where each row has a number of a person of its own, people of one name are different people.
    numbered = any(
        candidate.says == "person" and is_of_person(candidate.columns[0].name) and distinct == rows
        for candidate, distinct in zip(candidates, counts[1::2], strict=True)
    )
    worth_saying = [found for _, found in compared if found.names_people or not numbered]
    return tuple(sorted(worth_saying, key=lambda found: not found.names_people))


def entity_of_rows(
    ask: Callable[[exp.Expr, str], Sequence[Sequence[Any]]], table: exp.Table, columns: Sequence[Column], entity: Column
) -> RepeatedColumn | None:
    """Return what is to be said of the column that is to name people; None where that is nothing.

    1. Another column whose name says that it names people, with several rows each, where the entity has one row each.
       A number of a visit or a record has so as soon as it has more values than the other column.
    2. The entity itself, where texts are blank, or differ in case or in spaces around them alone; or numbers are NaN.

    One scan; none where no other column has such a name, and the entity is neither a text nor a float.
    """
    others = [column for column in columns if column != entity and column.family != "boolean"]
    persons = [one for one in others if _says(one, identifying=False) == "person"]
    candidates = [_Candidate((one,), "person", identifying=False) for one in persons]
    of_no_person: dict[str, tuple[str, Literal["blank", "nan"]]] = {"text": ("", "blank"), "float": ("nan", "nan")}
    if not candidates and entity.family not in of_no_person:
        return None
    spelled = named = written(sql.column(entity.name, "source"), entity)
    blank, (text, reason) = named, of_no_person.get(entity.family, ("", "blank"))
    if entity.family in of_no_person:
        spelled = exp.Lower(this=exp.Trim(this=named.copy()))
        blank = exp.Case().when(exp.EQ(this=spelled.copy(), expression=sql.literal(text)), named.copy())
    query = _repeats_query(table, [named, spelled, blank, *(one.value for one in candidates)])
    ((_, rows, people, _, spelled_alike, blanks, of_blanks, *counts),) = ask(
        query, "do columns that name people repeat?"
    )
    is_event = _kind(entity) == "visit_id" or not _EVENTS.isdisjoint(words_of(entity.name))
    found = [
        candidate.repeated(int(values), int(distinct))
        for candidate, values, distinct in zip(candidates, counts[::2], counts[1::2], strict=True)
        if int(distinct) < int(values) and (int(people) == int(rows) or (is_event and int(distinct) < int(people)))
    ]
    if found:
        return min(found, key=lambda one: (not is_of_person(one.columns[0]), one.values))
    if entity.family in of_no_person and blanks:
        return RepeatedColumn((entity.name,), int(of_blanks), int(blanks), names_people=False, reason=reason)
    if int(spelled_alike) == int(people):
        return None
    return RepeatedColumn((entity.name,), int(spelled_alike), int(people), names_people=False, reason="spelling")


def _repeats_query(table: exp.Table, values: Sequence[exp.Expr]) -> exp.Select:
    """Return the query for the rows, and for how many values there are of each kind and how many different ones."""
    counts = [count for value in values for count in (exp.Count(this=value), sql.count_distinct(value.copy()))]
    return exp.select(sql.count_rows(), *counts).from_(sql.aliased(table, "source"))


def _candidates(
    columns: Sequence[Column], identifying: Sequence[Column], quasi_identifiers: Sequence[Column]
) -> list[_Candidate]:
    parts = [column for column in columns if _kind(column) in {"first_name", "last_name"} and not _is_staff(column)]
    parts = [column for column in parts if column not in quasi_identifiers]
    both = len({_kind(column) for column in parts}) > 1
    together = [_Candidate(tuple(parts), "unknown", all(one in identifying for one in parts))] if both else []
    apart = [column for column in columns if not together or column not in parts]
    found = [
        _Candidate((column,), _naming(column, identifying=column in identifying), column in identifying)
        for column in apart
        if column in identifying or _names_by_itself(column, generalized=column in quasi_identifiers)
    ]
    return [*(one for one in found if one.columns[0].family != "boolean"), *together]


def _names_by_itself(column: Column, *, generalized: bool) -> bool:
    """Tell whether a column may name people though it was not called identifying."""
    if _says(column, identifying=False) == "person":
        return True
    often = _kind(column) in _OFTEN_OF_PERSONS and not _is_staff(column) and not generalized
    return often and not column.type.upper().startswith("JSON")


def _naming(column: Column, *, identifying: bool) -> Naming:
    says = _says(column, identifying=identifying)
    return "person" if says == "unknown" and identifying and column.type == "UUID" else says


def _is_staff(column: Column) -> bool:
    return not _STAFF.isdisjoint(words_of(column.name))


def _says(column: Column, *, identifying: bool) -> Naming:
    words, kinds = set(words_of(column.name)), kinds_of_name(column.name)
    first = _kind(column)
    if words & _STAFF:
        return "something else"
    if first in _NUMBERS_OF_PERSONS or (identifying and first in _ALSO_IF_IDENTIFYING):
        also = [kind for kind in kinds[1:] if kind != "reference" and role_of_kind(kind) != "identifying"]
        return "something else" if first == "record_id" and (also or words & _EVENTS) else "person"
    if identifying and words & _WORDS_IF_IDENTIFYING:
        return "person"
    if first is None:
        return "unknown"
    # Who calls a column identifying whose name is that of something sensitive means something else by the name.
    by_role: dict[str, Naming] = {"insensitive": "something else", "quasi-identifying": "attribute"}
    return by_role.get(role_of_kind(first), "unknown")


def numbers_people(column: Column) -> bool:
    """Tell whether a column is the number of a person, by its name alone."""
    return is_of_person(column.name) and _naming(column, identifying=False) == "person"


def _kind(column: Column) -> str | None:
    return next(iter(kinds_of_name(column.name)), None)


@dataclass(frozen=True)
class _Agreement:
    """How often rows with one name agree in a trait (see ``sql/profile/agreement.sql``)."""

    trait: Column
    rows: float
    agreeing: float
    others: float
    others_alike: float

    @property
    def share(self) -> float:
        return self.agreeing / self.rows

    @property
    def by_chance(self) -> float:
        return self.others_alike / self.others if self.others else 0.0

    @property
    def beyond_chance(self) -> float:
        return (self.share - self.by_chance) / (1 - self.by_chance) if self.by_chance < 1 else 0.0

    @property
    def is_no_accident(self) -> bool:
        """Whether so many agree by chance in fewer than one of a hundred tables (Chernoff's bound)."""
        pairs = self.agreeing / 2
        expected = self.rows / 2 * (self.others_alike + 1) / (self.others + 1)
        return pairs > expected and pairs * math.log(pairs / expected) - pairs + expected > _LN_OF_CHANCE


class _Traits:
    """The columns of a table that belong to a person."""

    def __init__(
        self,
        ask: Callable[[exp.Expr, str], Sequence[Sequence[Any]]],
        table: exp.Table,
        columns: Sequence[Column],
        quasi_identifiers: Sequence[Column],
    ) -> None:
        self._ask, self._table = ask, table
        self._columns, self._quasi_identifiers = columns, quasi_identifiers

    def compared(self, found: RepeatedColumn, candidate: _Candidate) -> RepeatedColumn:
        """Return a repeated column with what its repeated rows have in common."""
        for traits, needed, fewest in () if candidate.says == "attribute" else self._by_weight(candidate):
            agreements = [agreement for trait in traits if (agreement := self._agreement(candidate, trait)) is not None]
            if not agreements:
                continue
            enough = [one for one in agreements if one.beyond_chance >= needed and one.is_no_accident]
            most = max(enough or agreements, key=lambda one: one.beyond_chance)
            people = bool(enough) and len(enough) >= fewest * len(agreements)
            return replace(
                found,
                names_people=people,
                reason="traits" if people else None,
                trait=most.trait.name,
                agreeing=most.share,
                by_chance=most.by_chance,
            )
        return found

    def _by_weight(self, candidate: _Candidate) -> Iterator[tuple[list[Column], float, float]]:
        """Yield traits that say equally much, with the share of repeats and the share of traits that must agree."""
        named = any(_kind(column) in _NAMES for column in candidate.columns)
        shared = not named and any(_kind(column) in _OFTEN_OF_PERSONS for column in candidate.columns)
        told = _TOLD_BY_NAMES if named else _TOLD_BY_HOUSEHOLD if shared else frozenset()
        usable = [column for column in self._columns if column not in candidate.columns]
        for kinds, needed in _TRAITS:
            traits = [column for column in usable if _kind(column) in kinds - told]
            if traits:
                yield traits[:_MOST_TRAITS], needed, 0.0
        if candidate.says == "unknown" and candidate.identifying:
            unnamed = [column for column in self._quasi_identifiers if _kind(column) is None and column in usable]
            yield unnamed[:_MOST_TRAITS], _UNKNOWN_TRAIT, 0.5

    def _agreement(self, candidate: _Candidate, trait: Column) -> _Agreement | None:
        """Return how often rows with one name agree in a trait; None where no two rows have one name."""
        named = " and ".join(column.name for column in candidate.columns)
        query = agreement_query(self._table, candidate.value, trait)
        ((rows, agreeing, others, alike),) = self._ask(query, f"do rows with one {named} agree in {trait.name}?")
        return _Agreement(trait, float(rows), float(agreeing), float(others), float(alike)) if rows else None


def agreement_query(table: exp.Table, name: exp.Expr, trait: Column) -> exp.Expr:
    """Return the query of how often rows with one name agree in a trait; the table is called ``source`` in the name."""
    value = written(sql.column(trait.name, "source"), trait)
    return sql.statement("profile/agreement", values={"name": name, "trait": value}, tables={"source": table})
