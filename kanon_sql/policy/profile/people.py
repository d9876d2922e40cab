"""Columns that number people, by rules about their names and types only.

1. A column numbers people if its name suggests it (``patient_id``, ``PATIENT``, ``ssn``), or if it is pseudonymized.
2. A column numbers events if its name suggests visit, stay, record, order or the like. It never distinguishes people.
3. Numbers of staff, relatives, households and places do not distinguish the people that rows are about.
4. Names of persons, e-mail addresses, telephone numbers and the like may repeat by chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.engine.equality import written
from kanon_sql.hierarchy.vocabulary import is_of_person, is_person, kinds_of_name, parts_of_name, role_of_kind
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Column
    from kanon_sql.policy.profile.figures import ColumnFigures

_NUMBERS = frozenset({"record_id", "national_id", "passport"})
_KNOWN_BY = frozenset({"person_name", "email", "phone", "username", "device", "account", "iban", "credit_card"})
_NAME_PARTS = frozenset({"first_name", "last_name"})
_EVENTS = frozenset(
    """
    visit encounter admission stay hadm record row index order event episode transaction claim prescription sample
    specimen application besuch aufnahme aufenthalt fall zeile bestellung visite sejour commande ligne visita ingreso
    pedido fila
    """.split()  # noqa: SIM905 - a block of words can be read, a list of quoted ones cannot
)
_OTHERS = frozenset(
    """
    doctor physician nurse surgeon provider practitioner clinician therapist attending staff agent manager supervisor
    tutor teacher seller author driver operator arzt arztin pfleger lehrer medecin infirmier medico enfermera 医生 护士
    mother father parent guardian spouse partner child contact relative sibling mutter vater eltern kind madre padre
    mere pere household family
    """.split()  # noqa: SIM905 - as above
)
"""Words for people that a row is not about."""
_NO_NUMBERS = frozenset({"case", "people", "personen", "personnel", "personal"})
"""Words that mean yes or no, or a count, if they stand alone; a case_id is a number."""
FEWEST_PEOPLE = 5
"""Minimum distinct values of a column proposed to count people."""


def numbers_people(column: Column) -> bool:
    """Return True if a column numbers the people that rows are about, by its name.

    >>> from kanon_sql.engine.base import Column
    >>> [numbers_people(Column(name, "VARCHAR")) for name in ("PATIENT", "patient_id", "patient_age", "doctor_id")]
    [True, True, False, False]
    """
    words, kinds = set(parts_of_name(column.name)), kinds_of_name(column.name)
    if column.family == "boolean" or words & _OTHERS or numbers_events(column):
        return False
    if _kind(column) in _NUMBERS:
        also = [kind for kind in kinds[1:] if kind != "reference" and role_of_kind(kind) != "identifying"]
        return kinds[0] != "record_id" or not also  # a hospital_no is the number of a hospital
    return is_person(column.name) and not words <= _NO_NUMBERS


def numbers_events(column: Column) -> bool:
    """Return True if a column numbers events or rows, by its name.

    >>> from kanon_sql.engine.base import Column
    >>> [numbers_events(Column(name, "VARCHAR")) for name in ("ENCOUNTER", "record_id", "medical_record_number")]
    [True, True, False]
    """
    kinds, words = kinds_of_name(column.name), parts_of_name(column.name)
    last = next((word for word in reversed(words) if word in _EVENTS or is_of_person(word)), "")
    of_events = last in _EVENTS and "national_id" not in kinds
    return of_events or "visit_id" in kinds[:1]


def known_by(columns: Sequence[Column], identifying: Sequence[Column]) -> list[tuple[Column, ...]]:
    """Return other columns that people may be known by: identifying ones, and names, addresses and accounts.

    First and last names form one group. Numbers of people and events are excluded.
    """
    asked = [column for column in columns if column.family != "boolean" and not numbers_events(column)]
    asked = [one for one in asked if _OTHERS.isdisjoint(parts_of_name(one.name)) and not numbers_people(one)]
    parts = tuple(column for column in asked if _kind(column) in _NAME_PARTS)
    together = {_kind(column) for column in parts} == _NAME_PARTS
    alone = [one for one in asked if one in identifying or _kind(one) in _KNOWN_BY]
    return [*((one,) for one in alone if not (together and one in parts)), *([parts] if together else [])]


def proposed_entity(columns: Sequence[Column], figures: Mapping[str, ColumnFigures]) -> Column | None:
    """Return the column to count people by: one that numbers people and repeats; None if there is none."""
    found = {column: figures[column.name] for column in columns if numbers_people(column)}
    if any(is_one_each(column, own.distinct, own.rows) for column, own in found.items()):
        return None
    repeated = [column for column, own in found.items() if FEWEST_PEOPLE <= own.distinct < own.rows - own.nulls]
    return min(repeated, key=lambda column: order_of_people(column, found[column].distinct), default=None)


def is_one_each(column: Column, values: int, rows: int) -> bool:
    """Return True if each row is one person, by a column that numbers people. A case or a row may be anyone's."""
    return values == rows and is_of_person(column.name) and _NO_NUMBERS.isdisjoint(parts_of_name(column.name))


def order_of_people(column: Column, values: int) -> tuple[bool, bool, bool, int]:
    """Return the sort key of columns that number people: ``student_id`` before ``id`` and ``subject``."""
    return (not is_of_person(column.name), is_person(column.name), values < FEWEST_PEOPLE, values)


def value_of(columns: Sequence[Column]) -> exp.Expr:
    """Return the combined value of columns in a row of ``source``; NULL if one of them is NULL."""
    return sql.concatenated(*(written(sql.column(one.name, "source"), one) for one in columns), by="\n")


def _kind(column: Column) -> str | None:
    return next(iter(kinds_of_name(column.name)), None)
