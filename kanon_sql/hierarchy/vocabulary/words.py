"""The words of ``words/*.toml``, one file per language, read once; and the words that the name of a column is made of.

A name is split at snake_case, camelCase, accents and digits; words without spaces between them are taken apart.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from kanon_sql.hierarchy.vocabulary.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_LONGEST_NAME = 200  # characters that are looked at
_MOST_WORDS = 24
_LETTERS = str.maketrans(
    {"ß": "ss", "œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[\u3400-\u9fff]+|[^\W\d_]+")
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b", re.IGNORECASE)  # patient's id
_LINKS = ("", "s", "es", "n", "en", "e")  # letters between the parts of a German compound
_SHORTEST_TAIL = 5  # letters of a known word at the end of a compound whose beginning is not known


def words_of(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a name in small letters, without accents."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text[:_LONGEST_NAME]).translate(_LETTERS))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return tuple(word.casefold() for word in _WORD.findall(_POSSESSIVE.sub("", plain))[:_MOST_WORDS])


def spellings(phrase: str) -> set[tuple[str, ...]]:
    """Return the words of a phrase as they are written without accents: ``ö`` is ``o``, and ``oe`` too."""
    return {words_of(phrase), words_of(unicodedata.normalize("NFC", phrase).translate(_UMLAUTS))}


def is_chinese(word: str) -> bool:
    """Tell whether a word is written in Chinese characters."""
    return "\u3400" <= word[0] <= "\u9fff"


def parts_of_chinese(word: str, known: Collection[str]) -> tuple[str, ...]:
    """Return a run of Chinese characters in words: the longest known ones, others character by character."""
    longest = 8
    parts: list[str] = []
    while word:
        end = next((end for end in range(min(longest, len(word)), 1, -1) if word[:end] in known), 1)
        parts.append(word[:end])
        word = word[end:]
    return tuple(parts)


def parts_of_compound(word: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the parts of a German or Dutch compound; the word alone, where it is none of known words.

    A compound whose last part alone is known is two parts, because the last part says what it is.
    """
    shortest = 3
    best: dict[int, tuple[str, ...]] = {0: ()}
    for end in range(shortest, len(word) + 1):
        for start in [start for start in best if end - start >= shortest]:
            part = _without_link(word[start:end], known, is_last=end == len(word))
            if part is not None and (end not in best or len(best[start]) + 1 < len(best[end])):
                best[end] = (*best[start], part)
    if len(word) in best:
        return best[len(word)]
    starts = range(shortest, len(word) - _SHORTEST_TAIL + 1)
    return next(((word[:start], word[start:]) for start in starts if word[start:] in known), (word,))


def _without_link(piece: str, known: Collection[str], *, is_last: bool) -> str | None:
    """Return the known word that a piece of a compound is, without the letters that link it to the next one."""
    for link in _LINKS[:1] if is_last else _LINKS:
        stem = piece.removesuffix(link)
        if piece.endswith(link) and stem in known:
            return stem
    return None


def parts_around(
    word: str, people: Collection[str], carriers: Collection[str], known: Collection[str]
) -> tuple[str, ...]:
    """Return a person and what is said of it, or a thing and its name or number, where they are written as one word.

    ``patientid`` is ``patient id`` and ``cityname`` is ``city name``; ``usage`` is no age.
    """
    shortest = 4
    for cut in range(2, len(word) - 1):
        head, tail = word[:cut], word[cut:]
        if head in people and len(head) >= shortest and (tail in carriers or tail in known):
            return (head, tail)
        if tail in carriers and head in known and len(head) >= shortest:
            return (head, tail)
    return (word,)


LANGUAGES = ("english", "german", "french", "spanish", "chinese", "others")
_SECTIONS = ("identifying", "quasi", "sensitive", "insensitive")


@dataclass(frozen=True)
class Phrase:
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

    entries: dict[str, tuple[Phrase, ...]]
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
    entries: dict[str, dict[Phrase, None]] = {}
    compounds: set[str] = set()
    for file in files:
        about = file["about"]
        for section in _SECTIONS:
            for kind, phrases in file.get(section, {}).items():
                _require_kind(kind)
                for phrase in phrases:
                    entry = Phrase(kind, _PLACES.get(phrase[0], "any"), about["head"] == "first")
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
