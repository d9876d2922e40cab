r"""Patterns that count a column's distinct values in SQL, and statistics on how texts are written.

A pattern must match the whole value as text, without outer spaces. Regular expressions use only syntax that DuckDB
(RE2), PostgreSQL and Spark share: no look-ahead, no classes such as ``\d``.

Sources: IBAN, ISO 13616; card numbers, ISO/IEC 7812 (13 to 19 digits); check digits: ``has_right_digits``. Diagnosis
codes, ICD-10 (a letter, two digits, and after a dot up to four more). National numbers: the social security number of
the USA, the National Insurance number of the UK, the resident identity number of China (GB 11643), DNI and NIE of
Spain, NIR of France, the Rentenversicherungsnummer of Germany, the codice fiscale of Italy. There are no lists of names
or streets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.base import Column

_HAN = "[一-鿿]"

IDENTITY_OF_CHINA = "[1-9][0-9]{5}(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx]"
"""Six digits of a region, eight of the date of birth, a number and a check digit."""

_AXIS = "[nsewo]? ?[-+]?[0-9]{1,3}\\.[0-9]{3,} ?°? ?[nsewo]?"
_DEGREES = "[0-9]{1,3}(\\.[0-9]+)? ?°"
COORDINATES = "|".join(
    (
        f"(point ?)?\\(?{_AXIS}[,;/ ] ?{_AXIS}\\)?",
        f"[nsewo]? ?{_DEGREES}.*[nsewo].*",
        f"[nsewo] ?{_DEGREES}.*",
        "(东经|西经|北纬|南纬).*[0-9].*",
        "[23456789cfghjmpqrvwx]{4,8}\\+[23456789cfghjmpqrvwx]{2,3}",
        "///[^. ]+\\.[^. ]+\\.[^. ]+",
    )
)
"""A latitude and a longitude, or one of them with its direction; an Open Location Code; three words."""

COORDINATE = "-?(1[0-7][0-9]|[1-9][0-9]?)\\.[0-9]{4,}"
"""A number that may be a latitude or a longitude, to about ten metres. Shares do not match: they are below 1."""

SENTENCE = "|".join(
    (
        "(\\S+\\s+){5,}\\S+",
        f".*{_HAN}{{3,}}[，。；！？,;].{{4,}}",
        f"{_HAN}.{{14,}}",
    )
)
"""Six words, or a similar amount of text in characters."""


TEXT = "text"
"""The name of a value as text in queries that count patterns."""

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
_DNI = "[0-9]{8}-?[A-HJ-NP-TV-Z]|[XYZ][0-9]{7}-?[A-HJ-NP-TV-Z]"
"""Spain, with a check letter."""
_NATIONAL_NUMBERS = (
    "[0-9]{3}[-. ][0-9]{2}[-. ][0-9]{4}",  # USA
    IDENTITY_OF_CHINA,
    _DNI,
    "[12] ?[0-9]{2} ?(0[1-9]|1[0-2]) ?[0-9]{2} ?[0-9]{3} ?[0-9]{3}( ?[0-9]{2})?",  # France
    "[0-9]{8}[A-Z][0-9]{3}|[0-9]{2} ?[0-3][0-9][01][0-9]{3} ?[A-Z] ?[0-9]{3}",  # Germany
    "[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]",  # United Kingdom
    "[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]",  # Italy
)
_PHONES_OF_SPAIN = "[679][0-9]{2} ?[0-9]{2,3} ?[0-9]{2,3} ?[0-9]{0,2}"
_PHONES = (
    r"(\+|00)[0-9][0-9 ()./-]{6,18}",  # with a country code
    r"\(?0[0-9]{1,5}\)?[ ./-]?[0-9][0-9 ./-]{4,14}",  # with the trunk prefix 0
    r"\(?[0-9]{2,4}\)?[ ./-][0-9]{3,4}[ .-][0-9]{3,4}|\([0-9]{2,4}\) ?[0-9]{3,4}[ .-]?[0-9]{3,4}",
    "1[3-9][0-9]{9}",  # mobile phones in China
    _PHONES_OF_SPAIN,
)


@dataclass(frozen=True)
class Pattern:
    kind: str
    text: str
    regexp: str  # matches a whole value, ignoring case unless ``in_capitals``
    alone: bool = True  # True if a match is enough; otherwise the name of the column must agree
    in_capitals: bool = False


PATTERNS: tuple[Pattern, ...] = (
    Pattern("email", "e-mail addresses", r"[^@\s,;]+@[^@\s,;]+\.(xn--[a-z0-9-]+|[a-z]{2,}|[^ -~\s]{2,})"),
    Pattern("mac_address", "hardware addresses", r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4}"),
    Pattern("url", "web addresses", r"((https?|ftp)://|www\.)\S+"),
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
    Pattern("coordinates", "coordinates", COORDINATES),
    Pattern("street_address", "addresses", "p\\.? ?o\\.? box [0-9]+.*"),
    Pattern("event_date", "dates", _DATE, alone=False),
    Pattern(
        "postcode",
        "postcodes",
        r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][ABD-HJLNP-UW-Z]{2}|"
        r"[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]|[0-9]{4} [A-Z]{2}|[0-9]{5}-[0-9]{4}",
    ),
    Pattern("icd10", "diagnosis codes", r"[A-TV-Z][0-9][0-9AB](\.[0-9A-Z]{1,4})?[!*+]?", alone=False),
    Pattern("icd10_with_point", "diagnosis codes", r"[A-TV-Z][0-9][0-9AB]\.[0-9A-Z]{1,4}[!*+]?", alone=False),
    Pattern("sex", "sexes", _SEXES, alone=False),
    Pattern("us_state", "codes of US states", _STATES, alone=False),
    Pattern("notes", "sentences", SENTENCE, alone=False),
    Pattern("person_name", "names of persons", _TWO_CAPITALIZED, alone=False, in_capitals=True),
)
OF_NUMBERS = Pattern("coordinate", "latitudes or longitudes", COORDINATE, alone=False)
"""The pattern for numbers with decimals."""
BY_KIND = {pattern.kind: pattern for pattern in PATTERNS}


def has_patterns(column: Column) -> bool:
    """Return True if values of a column can have a pattern: texts, whole numbers and types of the engine."""
    return column.family in {"text", "integer", "other"} and not has_inner_values(column) and column.type != "BLOB"


def has_inner_values(column: Column) -> bool:
    """Return True if values of a column are nested: lists, structs, maps, JSON, variants."""
    kind = column.type.upper()
    return kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "TUPLE", "JSON", "VARIANT"))


def looks_like(pattern: Pattern) -> exp.Expr:
    regexp = f"{'' if pattern.in_capitals else '(?i)'}^({pattern.regexp})$"
    return exp.RegexpLike(this=sql.column(TEXT), expression=sql.literal(regexp))


def is_of_kind(kind: str, value: str) -> bool:
    """Return True if a value has the pattern of a kind and valid check digits."""
    return re.fullmatch(BY_KIND[kind].regexp, value, re.IGNORECASE) is not None and has_right_digits(kind, value)


def has_right_digits(kind: str, value: str) -> bool:
    """Return True if check digits are valid: payment cards by Luhn (ISO/IEC 7812-1), IBAN modulo 97 (ISO 13616), DNI.

    Telephone numbers have none: their number of digits and their separators are checked. Other kinds are always valid.
    """
    if kind == "phone":
        return _is_phone_number(value)
    from stdnum import luhn
    from stdnum.es import dni
    from stdnum.iso7064 import mod_97_10
    from stdnum.util import clean

    number = clean(value, " -").upper()
    if kind == "iban":
        return bool(mod_97_10.is_valid(number[4:] + number[:4]))
    if kind == "credit_card":
        return bool(luhn.is_valid(number))
    if re.fullmatch(_DNI, number) is None:
        return True
    return bool(dni.calc_check_digit(number[:-1].translate(str.maketrans("XYZ", "012"))) == number[-1])


_DIGITS_OF_PHONES = range(10, 16)
_OTHER_NUMBERS = re.compile(
    "[0-9]{1,4}([-/.][0-9]{1,2}){2}( .*)?|[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ][0-9]{2,4}"  # dates
    "|[0-9]{4}-[0-9]{4}-[0-9]{2}|([0-9]{4}-[0-9]{4}|[0-9]{5}-[0-9]{5})"  # drug codes (NDC); two years or times
)


def _is_phone_number(value: str) -> bool:
    """Return True if a value with the pattern of a telephone number is one, and not a date, code or range.

    It has a separator and 10 to 15 digits (E.164), or parentheses; in Spain, 9 digits separated by spaces.

    >>> [_is_phone_number(text) for text in ("0171 5550012", "612 345 678", "0108.2107", "0007-7007-07")]
    [True, True, False, False]
    """
    if value.isdigit() or _OTHER_NUMBERS.fullmatch(value):
        return False
    digits = sum(character.isdigit() for character in value)
    return digits in _DIGITS_OF_PHONES or "(" in value or re.fullmatch(_PHONES_OF_SPAIN, value) is not None


def year_of_text() -> exp.Expr:
    """Return the year in a date that is written as text."""
    year = exp.RegexpExtract(this=sql.column(TEXT), expression=sql.literal("(18|19|20)[0-9][0-9]"))
    return exp.TryCast(this=year, to=exp.DataType.build("INTEGER", dialect="duckdb"))


_ENDS_ANYWHERE = {"email", "url"}
_MORE_DIGITS = "([ ()./-]*[0-9]+)*"  # after a phone number: otherwise a part of a second one would remain
_NO_CHARACTER = 0xFDD0
_NO_BREAK = "\u00a0\u202f\u2011"  # two spaces and a hyphen that word processors put into numbers
_IN_CAPITALS = {"iban"}  # otherwise a short word, a number and more words would match


def redacted(text: exp.Expr, marks: Mapping[str, str]) -> exp.Expr:
    """Replace values of some kinds inside a text by the mark of their kind, in the given order.

    The patterns of ``kanon profile`` match whole values. Here they start where no letter or digit precedes and end at
    the end of a word. Regular expressions treat ``_`` as part of a word, so a character that occurs in no text replaces
    it temporarily. No-break spaces and hyphens become plain ones. DuckDB only.
    """
    stand_in = exp.Chr(expressions=[sql.literal(_NO_CHARACTER)])
    found: exp.Expr = exp.Replace(this=text, expression=sql.literal("_"), replacement=stand_in)
    found = exp.Anonymous(this="TRANSLATE", expressions=[found, sql.literal(_NO_BREAK), sql.literal("  -")])
    for kind, mark in marks.items():
        end = "" if kind in _ENDS_ANYWHERE else rf"{_MORE_DIGITS}\b" if kind == "phone" else r"\b"
        pattern = f"{'' if kind in _IN_CAPITALS else '(?i)'}(^|[^0-9A-Za-z])({BY_KIND[kind].regexp}){end}"
        arguments = [found, *map(sql.literal, (pattern, rf"\1{mark}", "g"))]
        found = exp.func("REGEXP_REPLACE", *arguments, dialect="duckdb")
    return exp.Replace(this=found, expression=stand_in.copy(), replacement=sql.literal("_"))


_DAY, _MONTH = "(0?[1-9]|[12][0-9]|3[01])", "(0?[1-9]|1[0-2])"
_DATES = {
    "dates_with_hyphens": f"[0-9]{{4}}-{_MONTH}-{_DAY}([ T].*)?",
    "dates_with_points": rf"{_DAY}\.{_MONTH}\.[0-9]{{4}}",
    "dates_with_slashes": f"({_DAY}/{_MONTH}|{_MONTH}/{_DAY})/[0-9]{{4}}",
    "dates_year_first": f"[0-9]{{4}}/{_MONTH}/{_DAY}",
    "dates_in_chinese": f"[0-9]{{4}}年{_MONTH}月{_DAY}日",
}
# With a decimal point or comma, and a thousands separator. A code such as 01067 is not a number.
_NUMBER = "[-+]?(0|[1-9][0-9]*|[1-9][0-9]{0,2}([., '][0-9]{3})+)([.,][0-9]+)?"


@dataclass(frozen=True)
class Spelling:
    """How the distinct values of a text column are written."""

    spellings: int = 0
    folded: int = 0  # distinct values if case and outer spaces do not count
    written: int = 0  # distinct values that are not empty
    dates: Mapping[str, int] = field(default_factory=dict)  # values by date format
    numbers: int = 0  # values written like numbers


def spelling_aggregates() -> dict[str, exp.Expr]:
    """Return the aggregates over the distinct values of a text column that make a ``Spelling``, by name."""
    text = sql.column(TEXT)
    filled = text.neq("")
    return {
        "spellings": exp.Count(this=text.copy()),
        "folded": sql.count_distinct(exp.Lower(this=text.copy())),
        "written": sql.where(sql.count_rows(), filled),
        "numbers": sql.where(sql.count_rows(), _like(_NUMBER)),
        **{name: sql.where(sql.count_rows(), _like(pattern)) for name, pattern in _DATES.items()},
    }


def spelling_of(answers: Mapping[str, Any]) -> Spelling:
    if "spellings" not in answers:
        return Spelling()
    spellings, folded, written, numbers = (int(answers[name]) for name in ("spellings", "folded", "written", "numbers"))
    return Spelling(spellings, folded, written, {name: int(answers[name]) for name in _DATES if answers[name]}, numbers)


def _like(pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=sql.column(TEXT), expression=sql.literal(f"^({pattern})$"))
