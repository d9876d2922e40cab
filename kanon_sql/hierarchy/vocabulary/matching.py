"""From the name of a column to the kinds of column that it suggests.

The word that says what a thing *is* decides: an e-mail count is a count, a date of diagnosis is a date. In English,
German and Chinese that is the last word, in Romance languages the first one. A person's word ("patient") says whose
a column is, and a carrier ("name", "code") takes its meaning from the word beside it: the name of a patient is a
person's name, the name of a drug is a drug.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kanon_sql.hierarchy.vocabulary.kinds import role_of_kind
from kanon_sql.hierarchy.vocabulary.words import (
    Phrase,
    Words,
    all_words,
    is_chinese,
    parts_around,
    parts_of_chinese,
    parts_of_compound,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONGEST_PHRASE = 6  # words
_OF = {"of", "at", "in", "on", "for", "since"}  # the English words that come after the word that says what a thing is
_WEAK_HEADS = {"category", "amount", "count"}  # the type, the cost or the number of something sensitive tell of it
_DATED = {"birth_date", "admission_date", "event_date", "hire_date"}  # a number of an admission is no date of one
_WHOLE, _HEAD, _STILL_SENSITIVE, _ELSEWHERE = 3, 2, 1, 0


@lru_cache(maxsize=4096)
def kinds_of_name(name: str) -> tuple[str, ...]:
    """Return the kinds of column that a name suggests, best first; none where it says nothing.

    Args:
        name: of a column, in English, German, French, Spanish or Chinese, and partly in other languages.
    """
    words = all_words()
    return _kinds_of(_words_of_name(name, words), words)


def _kinds_of(name_words: tuple[str, ...], words: Words) -> tuple[str, ...]:
    """Return the kinds of column that the words of a name suggest, best first."""
    if not name_words:
        return ()
    if all(word in words.people or word in words.empty for word in name_words) and any(
        word in words.people for word in name_words
    ):
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
    """Tell whether a name is that of a key to what a kind is about: a ``drug_id`` is no drug, but stands for one.

    The key of a town is as well known as the town; a phrase such as "national id" has the word of the key in it, and is
    no key to anything.
    """
    if kind not in _DATED and role_of_kind(kind) != "sensitive":
        return False
    if name_words[-1] in words.keys:
        return kind in _kinds_of(name_words[:-1], words)
    return name_words[0] in words.keys and kind in _kinds_of(name_words[1:], words)


@lru_cache(maxsize=4096)
def is_of_person(name: str) -> bool:
    """Tell whether a name speaks of a person: patient, customer, employee, student."""
    words = all_words()
    return any(word in words.people for word in _words_of_name(name, words))


def _words_of_name(name: str, words: Words) -> tuple[str, ...]:
    """Return the words of a name, with words that are written together taken apart; without numbers at its end."""
    found: list[str] = []
    for word in words_of(name):
        if word in words.entries or word.isdigit():
            found.append(word)
        elif is_chinese(word):
            found.extend(parts_of_chinese(word, words.compounds))
        else:
            parts = parts_around(word, words.people, words.carriers, words.entries)
            found.extend(parts if len(parts) > 1 else parts_of_compound(word, words.compounds))
    if "".join(found) not in words.entries:
        while found and found[-1].isdigit():
            found.pop()
    return tuple(found)


def _matches(tokens: Sequence[str], words: Words) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each kind that words of a name suggest, with how well they do: where they stand, and how long they are."""
    about = {place for place, word in enumerate(tokens) if word in words.people}
    rest = [place for place in range(len(tokens)) if place not in about and tokens[place] not in words.empty]
    letters = "".join(tokens[place] for place in rest if not tokens[place].isdigit())
    for entry in words.entries.get(letters, ()):
        if entry.place == "whole" or (entry.place == "person" and about):
            yield entry.kind, (_WHOLE, len(letters))
    found: list[tuple[Phrase, str, int]] = []
    for start in range(len(tokens)):
        for end in range(start + 1, min(len(tokens), start + _LONGEST_PHRASE) + 1):
            phrase = "".join(tokens[start:end])
            for entry in words.entries.get(phrase, ()):
                rank = _rank(entry, tokens, start, end, words)
                if rank is not None:
                    found.append((entry, phrase, rank))
    ends = any(rank == _HEAD and not entry.head_first for entry, _, rank in found)
    for entry, phrase, rank in found:
        # "Admission" is English and French: where an English word ends the name, it is read as English.
        shared = entry.head_first and any(not other.head_first for other in words.entries[phrase])
        yield entry.kind, (_ELSEWHERE if rank == _HEAD and ends and shared else rank, len(phrase))


def _rank(entry: Phrase, tokens: Sequence[str], start: int, end: int, words: Words) -> int | None:
    """Return how good the place of a phrase in a name is; None where it may not stand there."""
    if entry.place in {"whole", "person"}:
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
        is_short = end - start == 1 and len(tokens[start]) == 1 and is_chinese(tokens[start])
        if is_short and not (is_head and last == end):
            return None
    return _HEAD if is_head else _ELSEWHERE


def _with_sensitive_first(ranked: dict[str, tuple[int, int]]) -> tuple[str, ...]:
    """Return the kinds, best first; the type, the cost or the number of something sensitive are sensitive too."""
    best = max(ranked.values(), default=(0, 0))
    heads = {kind for kind, rank in ranked.items() if rank[0] >= _HEAD}
    weak = bool(heads) and heads <= _WEAK_HEADS and best[0] == _HEAD

    def order(kind: str) -> tuple[int, int]:
        place, length = ranked[kind]
        if weak and place == _ELSEWHERE and role_of_kind(kind) == "sensitive":
            return (_WHOLE + 1, length)
        return (place, length)

    return tuple(sorted(ranked, key=order, reverse=True))
