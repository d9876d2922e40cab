r"""What values look like: patterns that a column's distinct values are counted by, in SQL.

Each is asked of the whole value as text, without spaces around it. Regular expressions keep to what DuckDB (RE2),
PostgreSQL and Spark have in common: no look-ahead, no classes such as ``\d``.

Sources: IBAN, ISO 13616 (checked modulo 97 in ``checksums``); card numbers, ISO/IEC 7812 (13 to 19 digits, Luhn); codes
of diagnoses, ICD-10 (a letter, two digits, and after a point up to four more); national numbers: the social security
number of the USA, the National Insurance number of the UK, the resident identity number of China (GB 11643), DNI and
NIE of Spain, NIR of France, the Rentenversicherungsnummer of Germany, the codice fiscale of Italy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.policy.profile import spoken
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column

TEXT = "text"
"""What the values are called, as text, where they are counted by a pattern."""

_DATE = "([0-9]{4}[-/.年][0-9]{1,2}[-/.月][0-9]{1,2}日?([ T].*)?|[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ][0-9]{4})"
_CAPITALIZED = "[A-ZÀ-ÖØ-Þ][^ 0-9@,;:/()&]*"
_TWO_CAPITALIZED = f"{_CAPITALIZED},?( {_CAPITALIZED}){{1,3}}"
_BYTE = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_STATES = (
    "(AL|AK|AZ|AR|CA|CO|CT|DE|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR"
    "|PA|PR|RI|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY)"
)
_SEXES = (
    "(m|f|w|male|female|man|woman|männlich|weiblich|mann|frau|masculin|féminin|homme|femme|h|masculino|femenino|hombre"
    "|mujer|varón|男|女|男性|女性|d|x|divers|other|unknown|maschio|femmina|man|vrouw|non-binary|nonbinary|diverse)"
)
_NATIONAL_NUMBERS = (
    "[0-9]{3}-[0-9]{2}-[0-9]{4}",  # USA
    "[1-9][0-9]{5}(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]",  # China
    "[0-9]{8}-?[A-HJ-NP-TV-Z]|[XYZ][0-9]{7}-?[A-HJ-NP-TV-Z]",  # Spain
    "[12] ?[0-9]{2} ?(0[1-9]|1[0-2]) ?[0-9]{2} ?[0-9]{3} ?[0-9]{3}( ?[0-9]{2})?",  # France
    "[0-9]{8}[A-Z][0-9]{3}|[0-9]{2} ?[0-3][0-9][01][0-9]{3} ?[A-Z] ?[0-9]{3}",  # Germany
    "[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",  # United Kingdom
    "[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]",  # Italy
)
_PHONES = (
    r"(\+|00)[0-9][0-9 ()./-]{6,18}",  # with the code of a country
    r"\(?0[0-9]{1,5}\)?[ ./-]?[0-9][0-9 ./-]{4,14}",  # with the 0 of a trunk line
    r"\(?[0-9]{2,4}\)?[ .-][0-9]{3,4}[ .-][0-9]{3,4}",
    "1[3-9][0-9]{9}",  # mobile phones of China
    "[679][0-9]{2} ?[0-9]{2,3} ?[0-9]{2,3} ?[0-9]{0,2}",  # Spain
)


@dataclass(frozen=True)
class Pattern:
    """A pattern of values.

    Attributes:
        kind: the kind of column that it speaks for.
        text: what the values are, for people.
        regexp: that a whole value matches, in any case.
        in_capitals: whether the case matters.
        alone: whether it is enough by itself; else the name of the column must agree.
    """

    kind: str
    text: str
    regexp: str
    alone: bool = True
    in_capitals: bool = False


PATTERNS: tuple[Pattern, ...] = (
    Pattern("email", "e-mail addresses", r"[^@\s,;]+@[^@\s,;]+\.[a-z]{2,}"),
    Pattern("mac_address", "hardware addresses", "([0-9a-f]{2}[:-]){5}[0-9a-f]{2}"),
    Pattern("url", "web addresses", r"(https?://|www\.)\S+"),
    Pattern(
        "ip_address",
        "network addresses",
        rf"{_BYTE}(\.{_BYTE}){{3}}(/[0-9]{{1,2}})?|([0-9a-f]{{0,4}}:){{3,7}}[0-9a-f]{{1,4}}",
    ),
    Pattern("reference", "UUIDs", "[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"),
    Pattern("iban", "bank account numbers", "[A-Z]{2}[0-9]{2}( ?[0-9A-Z]{4}){2,7}( ?[0-9A-Z]{1,3})?", alone=False),
    Pattern(
        "credit_card", "payment card numbers", "[3-6][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{1,7}", alone=False
    ),
    Pattern("national_id", "national identity or insurance numbers", "|".join(_NATIONAL_NUMBERS)),
    Pattern("phone", "phone numbers", "|".join(_PHONES)),
    Pattern("coordinates", "coordinates", spoken.COORDINATES),
    Pattern("street_address", "addresses", spoken.ADDRESS),
    Pattern("event_date", "dates", _DATE, alone=False),
    Pattern(
        "postcode",
        "postcodes",
        r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]|[0-9]{4} [A-Z]{2}|[0-9]{5}-[0-9]{4}",
    ),
    Pattern("icd10", "diagnosis codes", r"[A-TV-Z][0-9][0-9AB](\.[0-9A-Z]{1,4})?[!*+]?", alone=False),
    Pattern("icd10_with_point", "diagnosis codes", r"[A-TV-Z][0-9][0-9AB]\.[0-9A-Z]{1,4}[!*+]?", alone=False),
    Pattern("sex", "sexes", _SEXES, alone=False),
    Pattern("us_state", "codes of US states", _STATES, alone=False),
    Pattern("notes", "sentences", spoken.SENTENCE, alone=False),
    Pattern("person_name", "names of persons", _TWO_CAPITALIZED, alone=False, in_capitals=True),
    Pattern("given_name", "given names", spoken.GIVEN_NAME, alone=False),
    Pattern("chinese_name", "names of persons", spoken.CHINESE_NAME, alone=False),
)
OF_NUMBERS = Pattern("coordinate", "latitudes or longitudes", spoken.COORDINATE, alone=False)
"""What numbers with decimals may be."""
BY_KIND = {pattern.kind: pattern for pattern in PATTERNS}


def has_patterns(column: Column) -> bool:
    """Tell whether values of a column can look like something: texts and whole numbers, and types of the engine."""
    return column.family in {"text", "integer", "other"} and not is_nested(column) and column.type != "BLOB"


def is_nested(column: Column) -> bool:
    """Tell whether a value of a column has values in it: lists, structs, maps, JSON, variants."""
    kind = column.type.upper()
    return kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "TUPLE", "JSON", "VARIANT"))


def matches(pattern: Pattern) -> exp.Expr:
    """Return whether a value as text is of a pattern as a whole."""
    regexp = f"{'' if pattern.in_capitals else '(?i)'}^({pattern.regexp})$"
    return exp.RegexpLike(this=sql.column(TEXT), expression=sql.literal(regexp))


def year_of_text() -> exp.Expr:
    """Return the year in a date that is written as text."""
    year = exp.RegexpExtract(this=sql.column(TEXT), expression=sql.literal("(18|19|20)[0-9][0-9]"))
    return exp.TryCast(this=year, to=exp.DataType.build("INTEGER", dialect="duckdb"))
