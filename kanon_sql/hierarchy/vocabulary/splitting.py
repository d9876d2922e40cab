"""From the name of a column to its words: snake_case, camelCase, words without spaces, accents and digits."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

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
