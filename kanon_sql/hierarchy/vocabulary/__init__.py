"""What the name of a column suggests: its kind (birth date, postcode, diagnosis), and the role of that kind.

1. The kinds of columns in ``words/kinds.json``, with the usual role of each kind.
2. The words of ``words/*.json``, one file per language, and the words of a name: it is split at snake_case, camelCase,
   accents and digits; words without spaces between them are taken apart. The files are JSON because every release reads
   them, and Python reads TOML twenty times as slowly.
3. Matching. The head word decides: an e-mail count is a count, a date of diagnosis is a date. In English, German and
   Chinese that is the last word, in Romance languages the first one. A word for people ("patient") tells only who a
   column is about. A carrier ("name", "code") takes its meaning from the word beside it: the name of a patient is a
   person's name, the name of a drug is a drug.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence


__all__ = ["KINDS", "Role", "is_of_person", "is_person", "kinds_of_name", "role_of_kind", "text_of_kind"]


# 1. Kinds

Role = Literal["identifying", "quasi-identifying", "sensitive", "insensitive"]


def _read(name: str) -> dict[str, Any]:
    path = resources.files("kanon_sql.hierarchy.vocabulary") / "words" / f"{name}.json"
    words: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return words


KINDS: dict[str, tuple[Role, str]] = {
    kind: (role, text)  # type: ignore[misc]  # the file has the four roles
    for role, kinds in _read("kinds").items()
    for kind, text in kinds.items()
}
"""The usual role of each kind of column, and its description."""


def role_of_kind(kind: str) -> Role:
    return KINDS[kind][0]


def text_of_kind(kind: str) -> str:
    return KINDS[kind][1]


# 2. Words

_LONGEST_NAME = 200  # characters that are read
_MOST_WORDS = 24
_LETTERS = str.maketrans(
    {"ß": "ss", "œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[\u3400-\u9fff]+|[^\W\d_]+")
_ONE_WORD = re.compile(r"[a-z]+|[\u3400-\u9fff]+")
_NUMERO = re.compile(r"\b([nN])\s?°")
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b", re.IGNORECASE)  # patient's id
_LINKS = ("", "s", "es", "n", "en", "e")  # letters between the parts of a German compound
_SHORTEST_TAIL = 5  # letters of a known word at the end of a compound with an unknown beginning


def words_of(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a name in lower case, without accents."""
    plain = text[:_LONGEST_NAME]
    if not plain.isascii():
        plain = _NUMERO.sub(r"\1o ", plain)
        plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", plain).translate(_LETTERS))
        plain = "".join(filterfalse(unicodedata.combining, plain))
    if plain.isascii() and plain.islower() and plain.replace(" ", "").isalpha():  # true of most names and phrases
        return tuple(plain.split()[:_MOST_WORDS])
    return tuple(word.casefold() for word in _WORD.findall(_POSSESSIVE.sub("", plain))[:_MOST_WORDS])


def spellings(phrase: str) -> set[tuple[str, ...]]:
    """Return the spellings of a phrase without accents: ``ö`` is ``o`` and also ``oe``."""
    found = {words_of(phrase)}
    if phrase.isascii():
        return found
    if (spelled_out := unicodedata.normalize("NFC", phrase).translate(_UMLAUTS)) != phrase:
        found.add(words_of(spelled_out))
    return found


def _is_chinese(word: str) -> bool:
    return "\u3400" <= word[0] <= "\u9fff"


def _parts_of_chinese(word: str, known: Collection[str]) -> tuple[str, ...]:
    """Split a run of Chinese characters into words: the longest known ones, others character by character."""
    longest = 8
    parts: list[str] = []
    while word:
        end = next((end for end in range(min(longest, len(word)), 1, -1) if word[:end] in known), 1)
        parts.append(word[:end])
        word = word[end:]
    return tuple(parts)


def _parts_of_compound(word: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the parts of a German or Dutch compound; the word alone if its parts are unknown.

    A compound with only a known last part becomes two parts, because the last part is the head.
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
    """Return the known word in a piece of a compound, without its linking letters."""
    for link in _LINKS[:1] if is_last else _LINKS:
        stem = piece.removesuffix(link)
        if piece.endswith(link) and stem in known:
            return stem
    return None


def _parts_around(
    word: str, people: Collection[str], carriers: Collection[str], known: Collection[str]
) -> tuple[str, ...]:
    """Split a person and an attribute, or a thing and its name or number, that are written as one word.

    ``patientid`` is ``patient id`` and ``cityname`` is ``city name``; ``usage`` does not contain an age.
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


class _Phrase(NamedTuple):
    """A phrase of one language for one kind."""

    kind: str  # the kind that it suggests
    # its required place: ``any``, ``whole`` (nothing else but people), ``person`` (the same, with a person), ``start``,
    # or ``compound`` (after another word of compounds, as in ``Behandlungstag``)
    place: str
    head_first: bool  # whether the head word comes first in the language, as in ``date de naissance``


@dataclass(frozen=True)
class Words:
    entries: dict[str, tuple[_Phrase, ...]]
    people: frozenset[str]
    carriers: frozenset[str]
    numbers: frozenset[str]
    keys: frozenset[str]
    empty: frozenset[str]
    compounds: frozenset[str]


_PLACES = {"": "any", "=": "whole", "@": "person", "^": "start", "+": "compound"}
_MARKS = "".join(_PLACES)


@cache
def _all_words() -> Words:
    files = [_read(language) for language in LANGUAGES]
    empty = _folded(word for file in files for word in file["about"]["empty"])
    entries: defaultdict[str, list[_Phrase]] = defaultdict(list)
    compounds: set[str] = set()
    for file in files:
        about = file["about"]
        for section in _SECTIONS:
            for kind, phrases in file.get(section, {}).items():
                places = {mark: _Phrase(kind, place, about["head"] == "first") for mark, place in _PLACES.items()}
                for phrase in phrases:
                    entry = places.get(phrase[0], places[""])
                    for letters in _letters(phrase.lstrip(_MARKS), empty):
                        entries[letters].append(entry)
                        if about.get("compounds"):
                            compounds.add(letters)
        if about.get("compounds"):
            compounds |= _folded([*about["people"], *about["carriers"]])
    said = {
        kind: _folded(word for file in files for word in file["about"].get(kind, ()))
        for kind in ("people", "carriers", "numbers", "keys")
    }
    return Words(
        entries={letters: tuple(dict.fromkeys(found)) for letters, found in entries.items()},
        empty=empty,
        compounds=frozenset(word for word in compounds if _is_chinese(word) or len(word) > 2),  # noqa: PLR2004 - "nr" is in every second word
        **said,
    )


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset("".join(spelled) for word in words for spelled in spellings(word))


def _letters(phrase: str, empty: frozenset[str]) -> set[str]:
    """Return a phrase without spaces, and without its empty words if at least two words remain."""
    if _ONE_WORD.fullmatch(phrase):  # true of most
        return {phrase}
    found = set()
    for words in spellings(phrase):
        kept = [word for word in words if word not in empty]
        found.add("".join(words))
        if len(kept) > 1:
            found.add("".join(kept))
    return found


# 3. Matching

_LONGEST_PHRASE = 6  # words
_OF = {"of", "at", "in", "on", "for", "since"}  # the English words that follow the head word
_WEAK_HEADS = {"category", "amount", "count"}  # the type, cost or number of something sensitive reveals it
_DATED = {"birth_date", "admission_date", "event_date", "hire_date"}  # a number of an admission is not its date
_WHOLE, _HEAD, _STILL_SENSITIVE, _ELSEWHERE = 3, 2, 1, 0


@lru_cache(maxsize=4096)
def kinds_of_name(name: str) -> tuple[str, ...]:
    """Return the kinds of column that a name suggests, best first; empty if inconclusive.

    Names may be English, German, French, Spanish or Chinese, and partly of other languages.
    """
    words = _all_words()
    return _kinds_of(_words_of_name(name, words), words)


def _kinds_of(name_words: tuple[str, ...], words: Words) -> tuple[str, ...]:
    if not name_words:
        return ()
    whole = words.entries.get("".join(name_words), ())
    if _all_people(name_words, words) and not any(entry.place == "any" for entry in whole):  # "kind" is English too
        return ("person_name",)
    ranked: dict[str, tuple[int, int]] = {}
    for tokens in dict.fromkeys([name_words, tuple(word for word in name_words if word not in words.empty)]):
        for kind, rank in _matches(tokens, words):
            ranked[kind] = max(rank, ranked.get(kind, rank))
    found = _with_sensitive_first(ranked)
    if (
        not any(rank[0] >= _STILL_SENSITIVE for rank in ranked.values())
        and {name_words[0], name_words[-1]} & words.numbers
    ):
        return ("reference", *(kind for kind in found if kind != "reference"))
    if found and _is_key_of(found[0], name_words, words):
        return ("reference", *found)
    return found


def _is_key_of(kind: str, name_words: tuple[str, ...], words: Words) -> bool:
    """Return True if a name is a key to something of a kind: a ``drug_id`` is not a drug, but stands for one.

    The key of a town is as public as the town. A phrase such as "national id" contains the word for a key, but is not a
    key to anything.
    """
    if kind not in _DATED and role_of_kind(kind) != "sensitive":
        return False
    if name_words[-1] in words.keys:
        return kind in _kinds_of(name_words[:-1], words)
    return name_words[0] in words.keys and kind in _kinds_of(name_words[1:], words)


@lru_cache(maxsize=4096)
def parts_of_name(name: str) -> tuple[str, ...]:
    """Return the words of a name like ``words_of``, with joined words taken apart."""
    return _words_of_name(name, _all_words())


def is_number(words: Sequence[str]) -> bool:
    """Return True if words are a number or a key, but not of what: ``id``, ``number``, ``key``."""
    return bool(words) and all(word in _all_words().numbers for word in words)


@lru_cache(maxsize=4096)
def is_of_person(name: str) -> bool:
    """Return True if a name mentions a person (patient, customer, employee, student), even inside a word.

    >>> is_of_person("student_id"), is_of_person("Kundennummer"), is_of_person("id")
    (True, True, False)
    """
    words = _all_words()
    return any(
        _parts_around(word, words.people, words.carriers, words.entries)[0] in words.people
        for word in _words_of_name(name, words)
    )


@lru_cache(maxsize=4096)
def is_person(name: str) -> bool:
    """Return True if a name means a person and nothing else.

    >>> is_person("PATIENT"), is_person("patient_age"), is_person("id")
    (True, False, False)
    """
    words = _all_words()
    return _all_people(_words_of_name(name, words), words)


def _all_people(name_words: Sequence[str], words: Words) -> bool:
    said = [word for word in name_words if word not in words.empty]
    return bool(said) and all(word in words.people for word in said)


def _words_of_name(name: str, words: Words) -> tuple[str, ...]:
    """Return the words of a name, with joined words taken apart and without numbers at its end."""
    found: list[str] = []
    for word in words_of(name):
        if word in words.entries or word.isdigit():
            found.append(word)
        elif _is_chinese(word):
            found.extend(_parts_of_chinese(word, words.compounds))
        else:
            parts = _parts_around(word, words.people, words.carriers, words.entries)
            found.extend(parts if len(parts) > 1 else _parts_of_compound(word, words.compounds))
    if "".join(found) not in words.entries:
        while found and found[-1].isdigit():
            found.pop()
    return tuple(found)


def _matches(tokens: Sequence[str], words: Words) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each kind that words of a name suggest, with the quality of the match: their position and length."""
    about = {place for place, word in enumerate(tokens) if word in words.people}
    rest = [place for place in range(len(tokens)) if place not in about and tokens[place] not in words.empty]
    letters = "".join(tokens[place] for place in rest if not tokens[place].isdigit())
    for entry in words.entries.get(letters, ()):
        if entry.place == "whole" or (entry.place == "person" and about):
            yield entry.kind, (_WHOLE, len(letters))
    found: list[tuple[_Phrase, str, int]] = []
    for start in range(len(tokens)):
        for end in range(start + 1, min(len(tokens), start + _LONGEST_PHRASE) + 1):
            phrase = "".join(tokens[start:end])
            for entry in words.entries.get(phrase, ()):
                rank = _rank(entry, tokens, start, end, words)
                if rank is not None:
                    found.append((entry, phrase, rank))
    ends = any(rank == _HEAD and not entry.head_first for entry, _, rank in found)
    for entry, phrase, rank in found:
        # "Admission" is English and French: at the end of a name, where an English head is, it is read as English.
        shared = entry.head_first and any(not other.head_first for other in words.entries[phrase])
        yield entry.kind, (_ELSEWHERE if rank == _HEAD and ends and shared else rank, len(phrase))


def _rank(entry: _Phrase, tokens: Sequence[str], start: int, end: int, words: Words) -> int | None:
    """Return the rank of a phrase's place in a name; None if the place is not allowed."""
    if entry.place in {"whole", "person"}:
        return None
    if entry.place == "compound" and (start == 0 or tokens[start - 1] not in words.compounds):
        return None
    if start == 0 and end == len(tokens):
        return _WHOLE if entry.place == "any" else None
    if entry.place == "start":
        return _HEAD if start == 0 else None
    silent = words.carriers | words.empty | words.people
    if entry.head_first:
        is_head = all(word in silent for word in tokens[:start])
    else:
        last = next((place for place, word in enumerate(tokens) if word in _OF and place >= end > 0), len(tokens))
        is_head = all(word in silent or word.isdigit() for word in tokens[end:last])
        is_short = end - start == 1 and len(tokens[start]) == 1 and _is_chinese(tokens[start])
        if is_short and not (is_head and last == end):
            return None
    return _HEAD if is_head else _ELSEWHERE


def _with_sensitive_first(ranked: dict[str, tuple[int, int]]) -> tuple[str, ...]:
    """Return the kinds, best first; the type, cost or number of something sensitive is also sensitive."""
    best = max(ranked.values(), default=(0, 0))
    heads = {kind for kind, rank in ranked.items() if rank[0] >= _HEAD}
    weak = bool(heads) and heads <= _WEAK_HEADS and best[0] == _HEAD

    def order(kind: str) -> tuple[int, int]:
        place, length = ranked[kind]
        if weak and place == _ELSEWHERE and role_of_kind(kind) == "sensitive":
            return (_WHOLE + 1, length)
        return (place, length)

    return tuple(sorted(ranked, key=order, reverse=True))
