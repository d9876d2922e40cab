"""Texts that users read are plain English: few phrases that must be read twice.

The patterns are a rough measure with a wide margin; the judges are readers.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPOSITORY = Path(__file__).parents[2]
PATTERNS = (
    r"\bNone where\b",
    r"\bTells? (whether|what|by|how|which)\b",
    r"\bof (which|whom)\b",
    r"\b[Ww]hat (is|was|are|were|it|they|has|had)\b",
    r"\b(she|her|hers)\b",
    r"\b(is|are|was|were) (said|told|asked|looked at|taken for|spoken|given away)\b",
    r"\b(anew|in vain|to and fro|hands? out|mend(s|ed)?|ways? on|go(es)? before|begins? with|comes? to|told)\b",
    r"\b(is|are) (none|no) (that|of|[a-z]+ that)\b",
)
"""Phrases that read as a translation. "Published as it is" is none: the guide counts it where it says nothing."""
PER_1000_WORDS = 2.0


def pages() -> Iterator[str]:
    """Yield the README and the pages of the documentation, without what commands print there."""
    for path in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]:
        yield re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def messages() -> Iterator[str]:
    """Yield the strings of the package that are sentences: messages, help, notes and titles."""
    for path in sorted((REPOSITORY / "kanon_sql").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if len(text.split()) > 2 and id(node) not in described:
                yield text


def templates() -> Iterator[str]:
    """Yield the pages of reports and of the explorer."""
    for path in sorted((REPOSITORY / "kanon_sql").rglob("*.j2")):
        yield path.read_text(encoding="utf-8")


@pytest.mark.parametrize("texts", [pages, messages, templates], ids=lambda texts: texts.__name__)
def test_texts_are_plain(texts: Callable[[], Iterator[str]]) -> None:
    found, words = [], 0
    for text in texts():
        words += len(text.split())
        found += [match for pattern in PATTERNS for match in re.finditer(pattern, text)]
    shown = [" ".join(match.string[max(0, match.start() - 40) : match.end() + 40].split()) for match in found]
    assert len(found) <= words * PER_1000_WORDS / 1000, "\n".join([f"{len(found)} in {words:,} words", *shown])
