"""Encodings of text files (CSV, TSV, JSON): stated, or guessed from the bytes of a file that is not UTF-8.

DuckDB reads UTF-8; of what else it reads by itself, it takes UTF-16 wrongly apart where a file is large. So a file in
another encoding is written as UTF-8 into a private directory first. That copy is read in its place, and removed as soon
as it is read.
"""

from __future__ import annotations

import codecs
import csv
import os
import shlex
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kanon_sql.engine.duckdb.connection import in_force, spill_directory
from kanon_sql.engine.files import stamps_of
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from charset_normalizer import CharsetMatch

UTF_8 = "utf-8"
PathLike = TypeVar("PathLike", str, Path)
_BLOCK = 1 << 20
_STATE = "State which it is: --encoding NAME, or encoding under [source] in kanon.toml"


def encoding_named(name: str) -> str:
    """Return the name that Python has for an encoding of text."""
    try:
        b"a".decode(name, "replace")  # refused by codecs that are none of text, such as base64
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        raise UsageError(
            f"{name!r} is not an encoding that Python knows. Known are, among others, utf-8, utf-16, cp1252 (Windows, "
            "Western Europe), latin-1, cp1250, cp1251, gb18030, big5, shift_jis, cp932, euc_jp and cp949."
        ) from None
    return codecs.lookup(name).name


def decimal_sign(name: str) -> str:
    """Return a decimal sign, which may be given by its name."""
    known = {"point": ".", "comma": ",", ".": ".", ",": ","}
    if name not in known:
        raise UsageError(f"The decimal sign of numbers is a point or a comma, not {name!r}.")
    return known[name]


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written, as far as that is stated.

    Attributes:
        encoding: its encoding; None if that is not stated.
        decimal: the decimal sign of its numbers, where it is a CSV file: a point or a comma; None is a point.
    """

    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            object.__setattr__(self, "encoding", encoding_named(self.encoding))
        if self.decimal is not None:
            object.__setattr__(self, "decimal", decimal_sign(self.decimal))

    def over(self, other: TextFormat) -> TextFormat:
        """Return what this one states, and where it states nothing, the other."""
        return replace(other, **{name: value for name, value in vars(self).items() if value is not None})


NOT_STATED = TextFormat()


@dataclass(frozen=True)
class TextFile:
    """A text file (CSV, TSV, TXT, JSON) of which more is stated: it may stand wherever the path of a data file may.

    Attributes:
        path: of the file; or a directory or a pattern, for several in the same encoding.
        encoding: any that Python knows, such as ``"gb18030"``; None guesses it where the file is not UTF-8.
        decimal: the decimal sign of its numbers, where it is a CSV file: ``"."`` (by default) or ``","``.
    """

    path: str | os.PathLike[str]
    encoding: str | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self.format).items():
            object.__setattr__(self, name, value)

    @property
    def format(self) -> TextFormat:
        return TextFormat(self.encoding, self.decimal)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return os.fspath(self.path)


def text_file(path: PathLike, text: TextFormat) -> PathLike | TextFile:
    """Return what opens a path: itself, where nothing is stated of it."""
    return path if text == NOT_STATED else TextFile(path, **vars(text))


def format_of(source: object) -> TextFormat:
    return source.format if isinstance(source, TextFile) else NOT_STATED


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)


_STATED: ContextVar[tuple[TextFormat, Callable[[str], None]]] = ContextVar("kanon_text_format")


@contextmanager
def reading_as(text_format: TextFormat, note: Callable[[str], None]) -> Iterator[None]:
    """Let text files that are opened inside be read so, and guesses be told to ``note``."""
    before = _STATED.set((text_format, note))
    try:
        yield
    finally:
        _STATED.reset(before)


def stated() -> TextFormat:
    return _STATED.get((NOT_STATED, _warn))[0]


def is_utf8(file: Path) -> bool:
    decoder = codecs.getincrementaldecoder(UTF_8)()
    try:
        with file.open("rb") as opened:
            while block := opened.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


# The guess

_SAMPLE = 1 << 18
_LEAST = 256  # bytes of lines that are not ASCII: fewer look well in encodings that are wrong
_MOST_CHAOS = 0.05  # a share of characters that look out of place
_WORSE = 0.1  # by which another encoding must be worse in that
_PREFERRED = (
    *("cp1252", "gb18030", "cp932", "euc_jp", "cp949", "big5", "cp1251", "cp1250", "cp1254", "cp1253", "cp1255"),
    *("cp1257", "koi8_r", "iso8859_2", "mac_roman", "cp850", "cp852", "cp866"),
)
"""Of encodings that read a file as the same text, the one that is named."""
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Those of UTF-32 first: one of them begins as one of UTF-16 does."""


_SIGNS = frozenset("\u00a0\u202f€£§°«»“”„\u2018\u2019\u2013—…ºª¿¡\u00b4")
_ALPHABETS = {
    name: frozenset(letters)
    for name, letters in {
        "German": "äöüßéèàáç",
        "French": "àâæçéèêëîïôœùûüÿ",
        "Spanish": "áéíñóúü",
        "Portuguese": "áàâãçéêíóôõú",
        "Italian": "àèéìíòóù",
        "Swedish, Finnish or Estonian": "åäöõüé",
        "Danish or Norwegian": "åæøéèòô",
        "Icelandic": "áðéíóúýþæö",
        "Polish": "ąćęłńóśźż",
        "Czech or Slovak": "áäčďéěíĺľňóôŕřšťúůýž",
        "Hungarian": "áéíóöőúüű",
        "Slovenian or Croatian": "čćđšž",
        "Romanian": "ăâîșşțţ",
        "Turkish": "çğıöşüâî\u0307",
    }.items()
}
"""Letters of languages beyond ASCII, as they are written in names of people and places too."""


def guessed(path: Path, files: Sequence[Path]) -> str:
    """Return the encoding that files which are not UTF-8 seem to have, and say what the guess rests on.

    Raises:
        SourceError: the bytes do not tell it: they are nearly all UTF-8, or other encodings read them as well.
    """
    with files[0].open("rb") as file:
        head = file.read(4)
    if (marked := next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)) is not None:
        _say(f"{path} is read as {marked}, as its first bytes say.")
        return marked
    sample, line = _sample(files)
    _require_no_damage(path, sample, line)
    from charset_normalizer import from_bytes  # here, as nearly all files are UTF-8

    matches = [] if b"\0" in sample or len(sample) < _LEAST else list(from_bytes(sample))
    best = min(matches, key=lambda match: (match.chaos, -match.coherence), default=None)
    rivals = [] if best is None else [one for one in matches if str(one) != str(best)]
    close = [one for one in rivals if best is not None and _is_close(one, best)]
    spelt = [one for one in [best, *close] if one is not None and close and _spelt_as(str(one))]
    if len({str(one) for one in spelt}) == 1:
        best, close = spelt[0], []
    if best is None or best.chaos > _MOST_CHAOS or close:
        names = [_name(one) for one in [best, *close] if one is not None and close]
        usual = [*(name for name in _PREFERRED if name in names), *(name for name in names if name not in _PREFERRED)]
        which = f": {', '.join(usual[:4])} would all read well, as different texts" if names else ""
        raise SourceError(
            f"{path} is not UTF-8 text, and its bytes do not say what else it is{which}. {_STATE}."
        ) from None
    name = _name(best)
    same = [other for other in best.could_be_from_charset if other != name]
    words = f"as such, {best.chaos:.0%} of the characters look out of place"
    language = _spelt_as(str(best)) or best.language
    words += f", and it seems to be {language}" if language != "Unknown" else ""
    words += f"; {', '.join(same[:4])} would read the same text" if same else ""
    others = [f"{_name(one)} ({one.chaos:.0%})" for one in sorted(rivals, key=lambda one: one.chaos)[:3]]
    words += f"; next would be {', '.join(others)}" if others else ""
    _say(f"{path} is not UTF-8 and is read as {name}, which is a guess: {words}. State it by --encoding.")
    return encoding_named(name)


def _name(match: CharsetMatch) -> str:
    alike = [match.encoding, *match.could_be_from_charset]
    return next((name for name in _PREFERRED if name in alike), match.encoding)


def _is_close(rival: CharsetMatch, best: CharsetMatch) -> bool:
    """Tell whether another encoding may as well be meant: it reads as clean a text, and half as much language."""
    return rival.chaos < best.chaos + _WORSE and rival.coherence >= best.coherence / 2


def _spelt_as(text: str) -> str | None:
    """Return the language that has all letters of a text which are not ASCII; None where none has.

    Encodings of Western, Central and Northern Europe differ in these letters alone: where one has è, another has č.
    """
    letters = {letter for letter in text.lower() if letter > "\x7f"} - _SIGNS
    return next((name for name, alphabet in _ALPHABETS.items() if letters and letters <= alphabet), None)


def _say(text: str) -> None:
    _STATED.get((NOT_STATED, _warn))[1](text)


def _sample(files: Sequence[Path]) -> tuple[bytes, int]:
    """Return lines of files that are not ASCII, and the number of the first one that is not UTF-8."""
    lines: list[bytes] = []
    size = first = 0
    for path in files:
        with path.open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, _BLOCK), b""), start=1):
                is_bad = not first and not _decodes(line)
                first = number if is_bad else first
                if is_bad or (size < _SAMPLE and not line.isascii()):
                    lines.append(line)
                    size += len(line)
                if size >= _SAMPLE and first:
                    break
    return b"".join(lines), first


def _decodes(line: bytes) -> bool:
    try:
        line.decode(UTF_8)
    except UnicodeDecodeError:
        return False
    return True


def _require_no_damage(path: Path, sample: bytes, line: int) -> None:
    """Raise where text is UTF-8 but for a few bytes: another encoding would garble all the rest."""
    text = sample.decode(UTF_8, errors="replace")
    bad = text.count("\ufffd")
    if sum(character > "\x7f" for character in text) > 2 * bad:
        raise SourceError(
            f"{path}, line {line:,} has bytes that are not UTF-8, while the other text is. Mend the line; or, if the "
            "file has another encoding, state it: --encoding NAME."
        ) from None


# The copy


@dataclass(frozen=True)
class Copy:
    """A copy of text files as UTF-8.

    Attributes:
        directory: has it, and will be removed.
        files: that are in it.
        is_latin_1: whether DuckDB reads the original files by itself, as Latin-1.
    """

    directory: Path
    files: list[Path]
    is_latin_1: bool


@contextmanager
def decoded(files: Sequence[Path], encoding: str) -> Iterator[Copy]:
    """Hand out a copy of text files as UTF-8, which is gone afterwards; a SourceError where they are not so encoded.

    Each file keeps its name and its directories in the copy, some of which may be values of a column (year=2024).
    """
    with spill_directory(in_force(None).directory, None) as private:
        copies = [private.path / file.absolute().relative_to(file.absolute().anchor) for file in files]
        latin, before = True, stamps_of(files)
        for file, copy in zip(files, copies, strict=True):
            copy.parent.mkdir(parents=True, exist_ok=True)
            latin &= decode(file, copy, encoding)
        latin &= encoding in {"cp1252", "iso8859-1"}
        if stamps_of(files) != before:
            raise SourceError(f"{files[0]} was changed while it was read. Run it again.")
        try:
            yield Copy(private.path, copies, latin)
        except (SourceError, UsageError) as error:
            for file, copy in zip(files, copies, strict=True):
                error.args = tuple(str(part).replace(str(copy), str(file)) for part in error.args)
            raise


def decode(file: Path, copy: Path, encoding: str) -> bool:
    """Write a file as UTF-8, and tell whether Latin-1 is what it may be: it has no control characters over 127."""
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, is_first, latin = 1, True, True
    try:
        with file.open("rb") as original, copy.open("wb") as new:
            while True:
                block = original.read(_BLOCK)
                try:
                    text = decoder.decode(block, final=not block)
                    written = text.removeprefix("\ufeff" if is_first else "").encode(UTF_8)
                except UnicodeError as error:
                    start = error.start if isinstance(error, UnicodeDecodeError) else 0
                    lines += block[:start].count(b"\n")
                    raise SourceError(f"{file} is not valid {encoding} near line {lines:,}. {_STATE}.") from None
                new.write(written)
                if not block:
                    return latin
                latin = latin and all(one < "\x80" or "\x9f" < one <= "\xff" for one in set(text))
                lines += text.count("\n")
                is_first = is_first and not text
    except OSError as error:
        raise SourceError(f"{error.filename or file} cannot be read as {encoding}: {error.strerror}.") from None


def conversion(path: Path, encoding: str, into: str = UTF_8) -> tuple[str, str]:
    """Return the path of a file in another encoding, and the command that makes it."""
    new = f"{path}.{into.replace('-', '')}{path.suffix}"
    name, target = (shlex.quote(f"./{text}" if text.startswith("-") else text) for text in (str(path), new))
    return new, f"iconv -f {iconv_name(encoding)} -t {iconv_name(into)} {name} > {target}"


def iconv_name(encoding: str) -> str:
    return {"mac-roman": "MACINTOSH", "utf-8-sig": "UTF-8"}.get(encoding, encoding.replace("_", "-").upper())


# What is written


def encode(file: Path, target: Path, encoding: str, delimiter: str) -> None:
    """Write a CSV file of UTF-8 in another encoding; a UsageError where that lacks characters."""
    encoder = codecs.getincrementalencoder(encoding)()
    try:
        with file.open(encoding=UTF_8, newline="") as text, target.open("wb") as new:
            while block := text.read(_BLOCK):
                new.write(encoder.encode(block))
            new.write(encoder.encode("", final=True))
    except UnicodeError:
        raise UsageError(_what_lacks(file, encoding, delimiter)) from None


def _what_lacks(file: Path, encoding: str, delimiter: str) -> str:
    """Return what to say of a file that has characters which an encoding lacks; it quotes none."""
    found: dict[int, int] = {}
    rows = 0
    limit = csv.field_size_limit(1 << 26)
    with file.open(encoding=UTF_8, newline="") as text:
        reader = csv.reader(text, delimiter=delimiter)
        names = next(reader, [])
        for row in (names, *islice(reader, None)):
            lacking = [place for place, value in enumerate(row) if not _has(value, encoding)]
            rows += bool(lacking)
            for place in lacking:
                found[place] = found.get(place, 0) + 1
    csv.field_size_limit(limit)
    columns = ", ".join(repr(names[place]) for place in sorted(found))
    return (
        f"{encoding} lacks characters that the release has, in {len(found)} column{'s' * (len(found) > 1)} ({columns}) "
        f"and {rows:,} line{'s' * (rows > 1)} of it: write it as UTF-8 (--out-encoding utf-8, or encoding = "
        '"utf-8" under [release]), or in another encoding that has them.'
    )


def _has(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeError:
        return False
    return True
