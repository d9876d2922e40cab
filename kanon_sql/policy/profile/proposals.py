"""The proposed role of a column and its reason.

A column is a quasi-identifier only if its name or its values suggest that others could know them; "everything is a
quasi-identifier" is never proposed. Columns with a distinct value in nearly every row are identifying: each value leads
to one row. A column is undecided, never insensitive, if neither name nor values suggest a role: only a person knows.

The first rule that applies decides:

1. values that cannot be inspected (nested values, bytes): identifying;
2. one value in all rows: insensitive, unless its kind identifies people;
3. values with a known pattern (e-mail addresses, dates of birth, diagnosis codes ...): the role of that kind;
4. the name: the role of its kind, unless type or values contradict;
5. a distinct value in nearly every row, or long free text: identifying;
6. all else: undecided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kanon_sql.hierarchy.vocabulary import Role, is_number, kinds_of_name, role_of_kind, text_of_kind, words_of
from kanon_sql.policy.profile.patterns import BY_KIND, OF_NUMBERS, has_inner_values

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column
    from kanon_sql.policy.profile.figures import ColumnFigures

_MOST = 0.8  # minimum share of values with a pattern that decides a column
_SOME = 0.3  # minimum share of values that is enough for sentences, or if the name agrees
_NEARLY_UNIQUE = 0.9  # distinct values divided by rows
_MANY = 0.5  # distinct values divided by rows; from there, numbers of a thing lead to single rows
_ENOUGH = 20  # minimum rows for distinctness to be meaningful
_MANY_ROWS = 100
_FEW = 20  # distinct values of a column that is a choice, not a number
_LONG = 40  # characters of a free text
_MANY_NAMES = 100  # distinct values that are written like names of persons
_CODES = 15  # minimum distinct codes of states that cannot be chance
_SPREAD, _OLD = 30, 0.3  # dates of birth: years from first to last, share that is at least 18 years old
_SEXES = range(2, 7)

# Words for these kinds also describe choices ("account: basic"): with few distinct values, the column is a choice.
_ALSO_CHOICES = frozenset({"account", "device", "vehicle", "url", "username", "notes", "photo"})
_NEVER_CHOICES = frozenset({"record_id", "person_name", "first_name", "last_name"})
_FREE_TEXT = "free text may name people"


ProposedRole = Role | Literal["undecided"]
"""A role, or undecided: a person must name it."""


@dataclass(frozen=True)
class Proposal:
    """A proposed role, the detected kind if there is one, and the reason in words without a value."""

    role: ProposedRole
    kind: str | None
    reason: str


def propose_role(column: Column, figures: ColumnFigures) -> Proposal:
    named = kinds_of_name(column.name)
    if has_inner_values(column):
        return Proposal("identifying", None, "nested values may hold anything: take columns out of it that you need")
    if column.type == "BLOB":
        return Proposal("identifying", None, "bytes cannot be looked into")
    found = (
        _constant(figures, named)
        or _by_values(column, figures, named)
        or _by_name(column, figures, named)
        or _by_distinctness(column, figures)
    )
    if found is not None:
        return found
    if named:
        return Proposal("insensitive", named[0], f"the name says {text_of_kind(named[0])}, which others seldom know")
    return Proposal("undecided", None, "neither its name nor its values give its meaning")


def _constant(figures: ColumnFigures, named: tuple[str, ...]) -> Proposal | None:
    alone = figures.rows == 1 and figures.distinct
    if not figures.rows or alone or (named and role_of_kind(named[0]) == "identifying"):
        return None
    if figures.distinct == 0:
        return Proposal("insensitive", next(iter(named), None), "it has no values")
    if figures.distinct == 1 and not figures.nulls:
        return Proposal("insensitive", next(iter(named), None), "the same in every row")
    return None


def _by_values(column: Column, figures: ColumnFigures, named: tuple[str, ...]) -> Proposal | None:
    """Return the proposal by the patterns of values, if enough values match."""
    shares = figures.shares
    for kind, pattern in BY_KIND.items():
        needed = _SOME if kind in named else _MOST
        if pattern.alone and kind != "reference" and shares.get(kind, 0) >= needed and _may_be(kind, column, named):
            return _seen(kind, pattern.text, shares[kind], named)
    for kind in ("iban", "credit_card"):
        if shares.get(kind, 0) >= _MOST and (column.family == "text" or kind in named):
            return _seen(kind, f"{BY_KIND[kind].text} with right check digits", shares[kind], named)
    for kind in ("icd10", "sex", "us_state"):
        if _is_code(kind, figures) and (kind == "icd10" or not _says_otherwise(named, kind)):
            return _seen(kind, BY_KIND[kind].text, shares[kind], named)
    if not named and figures.distinct >= _ENOUGH and shares.get(OF_NUMBERS.kind, 0) >= _MOST:
        return Proposal("identifying", "coordinates", f"numbers with many decimals, as {OF_NUMBERS.text} have")
    if _like_births(column, figures) and not named:
        return Proposal("quasi-identifying", "birth_date", "dates that spread like dates of birth")
    return None


def _is_code(kind: str, figures: ColumnFigures) -> bool:
    """Return True if values are codes of a kind. Short codes match by chance and need more evidence."""
    share = figures.shares.get(kind, 0)
    if kind == "icd10":
        return share >= _MOST and figures.shares.get("icd10_with_point", 0) >= _SOME
    if kind == "sex":
        return share == 1 and figures.distinct in _SEXES
    return share >= _MOST and figures.distinct >= _CODES


def _may_be(kind: str, column: Column, named: tuple[str, ...]) -> bool:
    """Return True if values with the pattern of a kind can be of it. Whole numbers match many patterns."""
    if kind == "phone":
        return not _says_otherwise(named, "phone") and (column.family == "text" or kind in named)
    if kind in {"national_id", "postcode"}:
        return column.family == "text" or kind in named
    return True


def _says_otherwise(named: tuple[str, ...], kind: str) -> bool:
    """Return True if a name suggests another kind that is not a number of a thing."""
    return bool(named) and kind not in named and named[0] != "reference"


def _seen(kind: str, text: str, share: float, named: tuple[str, ...]) -> Proposal:
    part = "values look" if share > 0.995 else f"{share:.0%} of the values look"  # noqa: PLR2004 - printed as 100 %
    if kind in named[:1]:
        return Proposal(role_of_kind(kind), kind, f"the name says {text_of_kind(kind)}, and {part} like it")
    return Proposal(role_of_kind(kind), kind, f"{part} like {text}")


def _like_births(column: Column, figures: ColumnFigures) -> bool:
    is_date = column.family in {"date", "timestamp"} or figures.shares.get("event_date", 0) >= _MOST
    years = figures.years
    return is_date and years.plausible >= _MOST and years.spread >= _SPREAD and years.long_ago >= _OLD


def _by_name(column: Column, figures: ColumnFigures, named: tuple[str, ...]) -> Proposal | None:
    """Return the proposal by the name, unless type or values contradict."""
    if not named:
        return None
    kind = named[0]
    says = f"the name says {text_of_kind(kind)}"
    if kind == "record_id" and is_number(words_of(column.name)):
        says = "the name says a number or a key, and not of what: of a person, perhaps"
    role = role_of_kind(kind)
    if role == "identifying" and (column.family == "boolean" or _is_choice(kind, figures)):
        return Proposal("insensitive", None, f"{says}, but there are {figures.distinct} values only: a choice")
    if kind == "notes":
        is_text = column.family == "text" and not _is_choice(kind, figures)
        return Proposal("identifying", kind, f"{says}: {_FREE_TEXT}") if is_text else None
    if kind == "reference":
        return _of_reference(figures, named)
    if role == "insensitive":
        return _by_distinctness(column, figures) if column.family == "text" else None
    is_text = column.family == "text" and figures.distinctness >= _MANY and _is_free_text(figures)
    if role == "sensitive" and is_text:
        role, says = "identifying", f"{says}, in long texts: {_FREE_TEXT}"
    return Proposal(role, kind, says)


def _is_choice(kind: str, figures: ColumnFigures) -> bool:
    """Return True if a column is a choice among few values, whatever its name is."""
    most = 0 if kind in _NEVER_CHOICES else _FEW if kind in _ALSO_CHOICES else 2
    return figures.rows >= _MANY_ROWS and 1 < figures.distinct <= most


def _of_reference(figures: ColumnFigures, named: tuple[str, ...]) -> Proposal:
    says = f"the name says {text_of_kind('reference')}"
    if figures.distinctness >= _MANY and figures.distinct > _FEW:
        return Proposal("identifying", "reference", f"{says}, and it leads to single rows of it")
    stands_for = next((kind for kind in named[1:2] if role_of_kind(kind) == "sensitive"), None)
    if stands_for is not None:
        return Proposal("sensitive", stands_for, f"the name says the key of {text_of_kind(stands_for)}")
    return Proposal("insensitive", "reference", f"{says} that many rows share")


def _by_distinctness(column: Column, figures: ColumnFigures) -> Proposal | None:
    if figures.rows - figures.nulls < _ENOUGH:
        return None
    if column.family == "text" and figures.distinct >= _MANY_NAMES and figures.shares.get("person_name", 0) >= _MOST:
        return Proposal("identifying", "person_name", "many values of two capitalized words, as names are written")
    if column.family == "text" and _is_free_text(figures):
        return Proposal("identifying", "notes", f"long texts: {_FREE_TEXT}")
    if column.family in {"text", "other"} and figures.distinctness >= _NEARLY_UNIQUE:
        return Proposal("identifying", None, f"nearly every row has a value of its own ({figures.distinctness:.0%})")
    is_number = column.family == "integer" and figures.rows >= _MANY_ROWS
    if is_number and figures.distinct == figures.rows:
        return Proposal("identifying", None, "a whole number of its own in each row")
    return None


def _is_free_text(figures: ColumnFigures) -> bool:
    long = figures.average_length >= _LONG or figures.shares.get("notes", 0) >= _SOME
    return figures.distinct > _FEW and long
