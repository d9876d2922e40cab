"""Colour where a person looks at a terminal: verdicts green or red, headings bold. None in pipes, nor with NO_COLOR."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_VERDICTS = {
    "green": re.compile(
        r"\bholds\b|\bsatisfies the policy\b|\bproven optimal\b|\bnone of [\d,]+ attacks? succeeds(?!;)|\bfails(?=:)"
    ),
    "bold red": re.compile(
        r"\bDOES NOT HOLD\b|\bIS NOT VERIFIED\b|\bSUCCEEDS?\b|\bNOT EXCLUDED\b|\bDOES NOT SATISFY\b|^error(?=:)"
    ),
}
_ANSWERS = {"yes": "green", "no": "yellow"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_ASCII = "#"


def is_window(stream: TextIO) -> bool:
    """Tell whether a person looks at what is written."""
    return stream.isatty()


def console(stream: TextIO) -> Console:
    """Return a console that writes colours to terminals; the environment may say otherwise (NO_COLOR)."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def write(text: str, stream: TextIO) -> None:
    """Write a text, line ends and all, with its verdicts in colour on a terminal."""
    if not is_window(stream):
        stream.write(text)
        return
    console(stream).print(coloured(text), end="", soft_wrap=True)


def coloured(text: str) -> Text:
    """Return a text with its verdicts in colour."""
    from rich.text import Text

    marked = Text(text, style=_ANSWERS.get(text, ""))
    for style, pattern in _VERDICTS.items():
        marked.highlight_regex(pattern, style)
    return marked


def drawn(share: float, width: int, encoding: str) -> str:
    """Return a bar that is as long as a share of a width: in eighths of a character where they can be written.

    Args:
        share: 0 to 1. What is more than nothing is never drawn as nothing.
        width: of the bar of share 1, in characters.
        encoding: of the stream that it is for.
    """
    try:
        _EIGHTHS.encode(encoding)
    except UnicodeEncodeError:
        return _ASCII * (max(1, round(share * width)) if share > 0 else 0)
    eighths = max(1, round(share * width * 8)) if share > 0 else 0
    whole, rest = divmod(eighths, 8)
    return _EIGHTHS[-1] * whole + (_EIGHTHS[rest] if rest else "")
