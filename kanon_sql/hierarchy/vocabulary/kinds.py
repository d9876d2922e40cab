"""The kinds of columns that the vocabulary knows, and the role that a column of each kind usually has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["identifying", "quasi-identifying", "sensitive", "insensitive"]


@dataclass(frozen=True)
class Kind:
    """What a column can be about.

    Attributes:
        name: how programs call it.
        role: the role that such a column usually has.
        text: how people call it.
    """

    name: str
    role: Role
    text: str


_IDENTIFYING = {
    "person_name": "a person's name",
    "first_name": "a first name",
    "last_name": "a last name",
    "email": "an e-mail address",
    "phone": "a phone number",
    "street_address": "a street address",
    "national_id": "a national identity, tax or insurance number",
    "passport": "the number of a passport or licence",
    "iban": "a bank account number",
    "credit_card": "a payment card number",
    "account": "an account number",
    "username": "a user name",
    "url": "a web address",
    "ip_address": "a network address",
    "mac_address": "a hardware address",
    "vehicle": "a vehicle or its plate",
    "device": "a device",
    "record_id": "the number of a person",
    "visit_id": "the number of a visit or a record",
    "coordinates": "coordinates",
    "photo": "a picture or another trait of the body",
}
_QUASI = {
    "birth_date": "a date of birth",
    "birth_year": "a year of birth",
    "age": "an age",
    "sex": "sex or gender",
    "postcode": "a postcode",
    "city": "a town",
    "region": "a region",
    "us_state": "a state",
    "country": "a country",
    "nationality": "nationality",
    "ethnicity": "ethnic origin",
    "marital_status": "marital status",
    "education": "education",
    "occupation": "an occupation",
    "employer": "an employer or school",
    "insurer": "an insurer",
    "department": "a department or class",
    "admission_date": "a date of admission or discharge",
    "event_date": "the date of an event",
    "hire_date": "the date when somebody began or left",
    "household_size": "the size or kind of a household",
    "language": "a language",
    "height": "body height",
    "weight": "body weight",
    "body": "a trait of the body",
}
_SENSITIVE = {
    "diagnosis": "a diagnosis",
    "icd10": "a diagnosis code",
    "medication": "a medicine",
    "procedure": "a treatment",
    "test_result": "a test result",
    "health": "health or habits",
    "income": "income",
    "salary": "pay",
    "balance": "money that somebody has or owes",
    "credit_score": "a credit rating",
    "grade": "a grade",
    "religion": "religion",
    "politics": "political views or a union",
    "sexual_orientation": "sexual orientation",
    "criminal": "crime or discipline",
    "disability": "a disability",
    "pregnancy": "pregnancy",
    "performance": "how well somebody works",
}
_INSENSITIVE = {
    "count": "a count",
    "amount": "an amount",
    "measurement": "a measurement or a duration",
    "category": "a type, a status or a setting",
    "reference": "a number of something else",
    "notes": "free text",
    "time": "a time of recording",
}

_BY_ROLE: dict[Role, dict[str, str]] = {
    "identifying": _IDENTIFYING,
    "quasi-identifying": _QUASI,
    "sensitive": _SENSITIVE,
    "insensitive": _INSENSITIVE,
}
KINDS: dict[str, Kind] = {
    name: Kind(name, role, text) for role, kinds in _BY_ROLE.items() for name, text in kinds.items()
}


def role_of_kind(kind: str) -> Role:
    """Return the role that a column of a kind usually has.

    Raises:
        KeyError: there is no such kind.
    """
    return KINDS[kind].role


def text_of_kind(kind: str) -> str:
    """Return how people call a kind.

    Raises:
        KeyError: there is no such kind.
    """
    return KINDS[kind].text
