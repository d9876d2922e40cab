"""The words of ``words/*.toml``, one file per language, read once."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from kanon_sql.hierarchy.vocabulary.kinds import KINDS
from kanon_sql.hierarchy.vocabulary.splitting import is_chinese, spellings

if TYPE_CHECKING:
    from collections.abc import Iterable

LANGUAGES = ("english", "german", "french", "spanish", "chinese", "others")
_SECTIONS = ("identifying", "quasi", "sensitive", "insensitive")


@dataclass(frozen=True)
class Entry:
    """A phrase of one language for one kind.

    Attributes:
        kind: the kind that it suggests.
        place: where it must stand: ``any``, ``whole`` (nothing else but people), ``person`` (the same, with a person)
            or ``start``.
        head_first: whether the language says first what a thing is, as in ``date de naissance``.
    """

    kind: str
    place: str
    head_first: bool


@dataclass(frozen=True)
class Words:
    """All words of all languages.

    Attributes:
        entries: for the letters of a phrase, written without spaces, what it suggests.
        people: words for persons: they say whose a column is, not what it is.
        carriers: words such as "name" and "code", which take their meaning from the word beside them.
        numbers: those of them that number things.
        keys: those of the numbers that stand for a row of a table.
        empty: words without a meaning here.
        compounds: the words that compounds are made of.
    """

    entries: dict[str, tuple[Entry, ...]]
    people: frozenset[str]
    carriers: frozenset[str]
    numbers: frozenset[str]
    keys: frozenset[str]
    empty: frozenset[str]
    compounds: frozenset[str]


_PLACES = {"=": "whole", "@": "person", "^": "start"}


@cache
def all_words() -> Words:
    """Return the words of all languages."""
    files = [_read(language) for language in LANGUAGES]
    empty = _folded(word for file in files for word in file["about"]["empty"])
    entries: dict[str, dict[Entry, None]] = {}
    compounds: set[str] = set()
    for file in files:
        about = file["about"]
        for section in _SECTIONS:
            for kind, phrases in file.get(section, {}).items():
                _require_kind(kind)
                for phrase in phrases:
                    entry = Entry(kind, _PLACES.get(phrase[0], "any"), about["head"] == "first")
                    for letters in _letters(phrase.lstrip("".join(_PLACES)), empty):
                        entries.setdefault(letters, {})[entry] = None
                        if about.get("compounds"):
                            compounds.add(letters)
        if about.get("compounds"):
            compounds |= _folded([*about["people"], *about["carriers"]])
    return Words(
        entries={letters: tuple(found) for letters, found in entries.items()},
        people=_folded(word for file in files for word in file["about"]["people"]),
        carriers=_folded(word for file in files for word in file["about"]["carriers"]),
        numbers=_folded(word for file in files for word in file["about"]["numbers"]),
        keys=_folded(word for file in files for word in file["about"].get("keys", ())),
        empty=empty,
        compounds=frozenset(word for word in compounds if is_chinese(word) or len(word) > 2),  # noqa: PLR2004 - "nr" is in every second word
    )


def _read(language: str) -> dict[str, Any]:
    path = resources.files("kanon_sql.hierarchy.vocabulary") / "words" / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _require_kind(kind: str) -> None:
    if kind not in KINDS:
        raise KeyError(f"the words name a kind {kind!r} that is none")


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset("".join(spelled) for word in words for spelled in spellings(word))


def _letters(phrase: str, empty: frozenset[str]) -> set[str]:
    """Return a phrase without spaces; and without its empty words, where two words or more are left."""
    found = set()
    for words in spellings(phrase):
        kept = [word for word in words if word not in empty]
        found.add("".join(words))
        if len(kept) > 1:
            found.add("".join(kept))
    return found
