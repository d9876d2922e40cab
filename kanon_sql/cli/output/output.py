"""stdout: results, as a table for people or as JSON for programs.

On a terminal, verdicts are green or red and headings bold; not in pipes, nor with NO_COLOR.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import sys
import textwrap
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from kanon_sql.cli.options.keys import recommended
from kanon_sql.errors import SourceError, command_line
from kanon_sql.measures.shares import finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from kanon_sql.engine.sources.open_source import Source

_WIDTH_OF_PROSE = 110  # characters: longer lines are hard to read, however wide the window is
_NARROWEST = 20
_NARROWEST_PROSE = 24
_BAR_WIDTH = 16  # characters of the longest bar in a table
_AS_WIDE_AS_IT_IS = 100_000
_VERDICTS = {
    "green": re.compile(
        r"\bholds\b|\bsatisfies the policy\b|\bproven optimal\b|\bnone of [\d,]+ attacks? succeeds(?!;)"
    ),
    "bold red": re.compile(
        r"\bDOES NOT HOLD\b|\bFAILS\b|\bNOT KNOWN\b|\bIS NOT VERIFIED\b|\bSUCCEEDS?\b|\bNOT EXCLUDED\b"
        r"|\bDOES NOT SATISFY\b|^error(?=:)"
    ),
}
_ANSWERS = {"yes": "green", "no": "yellow"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII = "#"
_WITHOUT_A_PICTURE = {"Cc", "Cs", "Zl", "Zp"}  # Unicode categories: controls, surrogates, line ends
_TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # change the direction of the following text


@dataclass(frozen=True)
class Share:
    """A cell of a table drawn as a bar, 0 to 1; columns of bars are left out unless stdout is a terminal."""

    of_longest: float


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def write(text: str, stream: TextIO) -> None:
    """Write a text including its line ends, with its verdicts in colour on a terminal."""
    if not stream.isatty():
        stream.write(text)
        return
    _console(stream).print(_coloured(text), end="", soft_wrap=True)


def _coloured(text: str) -> Text:
    from rich.text import Text

    marked = Text(text, style=_ANSWERS.get(text, ""))
    for style, pattern in _VERDICTS.items():
        marked.highlight_regex(pattern, style)
    return marked


def drawn_bar(share: float, width: int, encoding: str) -> str:
    """Return a bar for a share of a width, in eighths of a character if the encoding has them.

    A share above 0 is never drawn as nothing.
    """
    try:
        _EIGHTHS.encode(encoding)
    except UnicodeEncodeError:
        return _ASCII * (max(1, round(share * width)) if share > 0 else 0)
    eighths = max(1, round(share * width * 8)) if share > 0 else 0
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[-1] * whole + (_EIGHTHS[rest] if rest else "")


def print_json(value: Any) -> None:  # noqa: ANN401 - any plain value
    """Print a value as JSON, in ASCII if stdout cannot encode every character."""
    encoding = (sys.stdout.encoding or "utf-8").lower()
    text = json.dumps(finite(value), indent=2, ensure_ascii=not encoding.startswith("utf"), default=str)
    sys.stdout.write(f"{text}\n")


def print_sql(text: str) -> None:
    """Print SQL unchanged. An encoding that lacks a character is an error, because it would change the script."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError as error:
        raise SourceError(
            f"The SQL has characters that stdout cannot hold in its encoding, {error.encoding}: "
            "set PYTHONIOENCODING=utf-8."
        ) from None
    print_text(text)


def print_text(text: str) -> None:
    """Print a text unchanged, with its verdicts in colour on a terminal."""
    write(text if text.endswith("\n") else f"{text}\n", sys.stdout)


def print_prose(text: str) -> None:
    """Print a text for people: each line is a paragraph, wrapped to the width of the window."""
    width = min(_width() or _WIDTH_OF_PROSE, _WIDTH_OF_PROSE)
    for paragraph in recommended(text).splitlines():
        print_text(_wrapped(visible(paragraph), width))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, prose: str | None = None, spare: Sequence[str] = ()
) -> None:
    """Print rows under column names; numbers are right-aligned.

    In a narrow window the sentences of the column ``prose`` take several lines. If that is not enough, ``spare``
    columns are left out, starting with the first. As a last resort, each row becomes a list of the cells of all
    columns.
    """
    if not sys.stdout.isatty():
        places = {place for row in rows for place, value in enumerate(row) if isinstance(value, Share)}
        bars = {columns[place] for place in places}
        columns, rows = _without(bars, columns, rows)
    console = _console(sys.stdout)
    console.size = (_AS_WIDE_AS_IT_IS, 1)  # rich accepts a width for a dumb terminal only together with a height
    available = _width()
    for left_out in range(len(spare) + 1):
        kept = _without({*spare[:left_out]}, columns, rows)
        table = _table(*kept, prose)
        widest = console.measure(table).maximum
        if available is None or widest - _slack(*kept, prose) <= available:
            console.width = min(widest, available or widest)
            console.print(table)
            return
    _print_records(columns, rows, available or _AS_WIDE_AS_IT_IS)


def _slack(columns: Sequence[str], rows: Sequence[Sequence[object]], prose: str | None) -> int:
    """Return by how much the column of sentences can be narrower than its longest one; other cells are never cut.

    The minimum of a table in rich allows it to cut every cell of several words.
    """
    from rich.cells import cell_len

    if prose is None or prose not in columns:
        return 0
    place = columns.index(prose)
    padding = 2 - (place == 0) - (place == len(columns) - 1)
    texts = [visible(columns[place]), *(_cell(row[place]) for row in rows)]
    longest = max(map(cell_len, texts))
    word = max((cell_len(word) for text in texts for word in text.split()), default=0)
    return max(longest + padding, _NARROWEST_PROSE + 2) - max(word, _NARROWEST_PROSE) - padding


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]], prose: str | None) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    drawn = [[_drawn(value) if isinstance(value, Share) else _coloured(_cell(value)) for value in row] for row in rows]
    for place, column in enumerate(columns):
        head = Text(visible(column))
        numeric = all(isinstance(row[place], int | float) for row in rows if row[place] is not None) and bool(rows)
        justify: Literal["right", "left"] = "right" if numeric else "left"
        width = _NARROWEST_PROSE if column == prose else None
        table.add_column(head, justify=justify, no_wrap=column != prose, min_width=width)
    for cells in drawn:
        table.add_row(*cells)
    return table


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    shown = [(visible(name), visible(value)) for name, value in pairs]
    widest = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        print_text(_wrapped(f"{name:<{widest}}  {value}", _width(), " " * (widest + 2)))


def visible(text: str) -> str:
    r"""Spell out characters of a text that would move the cursor or change the writing direction, as in ``\x1b``."""
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if character in _TURNING or unicodedata.category(character) in _WITHOUT_A_PICTURE
        else character
        for character in text
    )


def about(model: str, column: str | None) -> str:
    """Return the name of a privacy model with its sensitive column."""
    return model if column is None else f"{model} of {visible(column)}"


_LARGE = 1000  # figures from here on have one decimal


def figure(value: float | None) -> str:
    """Return a measure as text: a whole number unchanged, a share with four decimals, a large number with one."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" if abs(value) >= _LARGE else f"{value:.4f}"


def bound_figure(bound: float, measure: str) -> str:
    """Return a proven bound as text, rounded so that it claims no more than was proven."""
    rounded = math.ceil if measure == "precision" else math.floor
    shown = 10 if abs(bound) >= _LARGE else 10_000
    return figure(bound if isinstance(bound, int) else rounded(bound * shown) / shown)


def _width() -> int | None:
    """Return the width of the terminal; None if stdout is a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _wrapped(line: str, width: int | None, indent: str = "") -> str:
    if width is None or len(line) <= width:
        return line
    return textwrap.fill(
        line,
        max(width, len(indent) + _NARROWEST),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def _without(
    names: set[str], columns: Sequence[str], rows: Sequence[Sequence[object]]
) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    kept = [place for place, column in enumerate(columns) if column not in names]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _print_records(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> None:
    """Print each row as lines of ``column: value``, with an empty line before each."""
    for row in rows:
        print_text("")
        for column, value in zip(columns, row, strict=True):
            print_text(_wrapped(f"{visible(column)}: {_cell(value)}", width, "  "))
    print_text("")


def _drawn(share: Share) -> Text:
    from rich.text import Text

    return Text(drawn_bar(share.of_longest, _BAR_WIDTH, sys.stdout.encoding or "utf-8"), "cyan")


def _cell(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4f}"
        case Share():
            return _drawn(value).plain
        case _:
            return visible(str(value))


# Commands to type next: each is on its own line, unwrapped and quoted for a shell. Text after a command would be typed
# too, and a wrapped line would be two commands.


def command(verb: str, source: str | None, opened: Source, *options: str) -> str:
    """Return a command on an open source with its table: there may be several when the command is typed.

    Without a source, the options name a policy file that names it.
    """
    from kanon_sql.engine.sources.addresses import shown_source

    named = [] if source is None else [shown_source(source), *([opened.written_name] if opened.in_database else [])]
    if source is not None:
        layout = replace(opened.read.layout, sheet=None)
        options = (*options, *(word for text in layout.texts for word in ("--read", text)))
    return as_called() + command_line(verb, named, *options).removeprefix("kanon")


def as_called() -> str:
    """Return the name of this program for a shell: its path if the name alone would not find it."""
    called = sys.argv[0]
    return shlex.quote(called) if Path(called).name == "kanon" and shutil.which("kanon") is None else "kanon"


def print_command(text: str) -> None:
    print_text(f"  {visible(text)}")


def free_name(path: Path) -> Path:
    """Return a path that a command can write: ``path``, or one with a number if it exists."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}_{number}")
    return found
