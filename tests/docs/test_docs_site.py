"""The site is built without a warning; every page has its place, every link leads somewhere, nothing is foreign."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
from conftest import REPOSITORY
from needs import needs

import kanon_sql
from kanon_sql.cli.main import root
from kanon_sql.policy.member import BY_COLUMN
from kanon_sql.policy.policy import ALL_SETTINGS, SECTIONS

yaml = needs("yaml")

needs("mkdocs")
pytestmark = pytest.mark.thorough

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

DOCS = REPOSITORY / "docs"
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""Attributes that a browser follows by itself."""


class Page(HTMLParser):
    """What a page of the site refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to, and what can be referred to."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADS.get(tag, "") in values and values.get("rel") != "canonical":
            self.loaded.append(values[LOADS[tag]])


def hook(name: str) -> ModuleType:
    """Load a hook as mkdocs does."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nav_pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from nav_pages(inner)


def nav_of_the_site() -> list[dict[str, Any]]:
    text = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    nav: list[dict[str, Any]] = yaml.safe_load(text[text.index("\nnav:") :])["nav"]
    return nav


def build(directory: Path) -> None:
    """Build the site in strict mode: any warning is an error (``--quiet`` would hide them from that, too)."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(directory)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(  # noqa: S603 - our own site
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "WARNING" not in ended.stderr


@pytest.mark.thorough
def test_the_site_is_whole(tmp_path: Path) -> None:
    """One test, so that workers of pytest-xdist do not each build a site."""
    site = tmp_path.resolve() / "site"
    build(site)
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    require_nothing_from_elsewhere(site, pages)
    require_links_that_lead_somewhere(site, pages)
    require_every_public_name(site, pages)
    require_that_blocks_are_blocks(site)


def require_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) > 30
    for path, page in pages.items():
        assert page.loaded, path
        assert [target for target in page.loaded if urlsplit(target).netloc] == [], path
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"@import|url\(\s*[\"']?(?:https?:)?//", text) == [], path


def require_links_that_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    followed = 0
    for path, page in pages.items():
        if path.name == "404.html":  # its links start from the root of a server
            continue
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_relative_to(site), f"{path.relative_to(site)} leads out of the site: {link}"
            assert target.exists(), f"{path.relative_to(site)} links to {link}"
            if parts.fragment and target in pages and not parts.fragment.startswith("__"):
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.relative_to(site)} links to {link}"
            followed += 1
    assert followed > 1000


def require_every_public_name(site: Path, pages: dict[Path, Page]) -> None:
    path = site / "reference/python/index.html"
    names = {name for name in kanon_sql.__all__ if not name.startswith("_")}
    names |= {f"dp.{name}" for name in kanon_sql.dp.__all__}
    assert names - {anchor.removeprefix("kanon_sql.") for anchor in pages[path].anchors} == set()
    text = path.read_text(encoding="utf-8")
    assert "Search for a release of a table by the chosen algorithm and measure." in text
    assert 'id="kanon_sql.Release.to_file"' in text


def require_that_blocks_are_blocks(site: Path) -> None:
    for path in site.rglob("index.html"):
        assert "```" not in path.read_text(encoding="utf-8").replace("<code>```", ""), path
    assert "ward.csv</span>" in (site / "risk/index.html").read_text(encoding="utf-8")


def test_every_page_has_its_place_in_the_nav_once() -> None:
    listed = list(nav_pages(nav_of_the_site()))
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    made = {f"notebooks/{path.stem}.md" for path in DOCS.glob("notebooks/*.ipynb")}
    made |= set(hook("repository_pages").PAGES.values())
    assert sorted(listed) == sorted(written | made)


def test_the_nav_is_in_the_order_of_the_four_kinds() -> None:
    titles = [next(iter(entry)) for entry in nav_of_the_site()]
    assert titles == ["Start", "Tutorials", "How-to", "Explanation", "Reference"]


@pytest.mark.thorough
def test_every_command_has_its_section_with_every_option() -> None:
    text = hook("command_line").reference()
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}

    def all_commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        if not hasattr(command, "commands"):
            yield name, command
        for inner in getattr(command, "commands", ()):
            yield from all_commands(command.get_command(None, inner), f"{name} {inner}")

    shown = {name: command for name, command in all_commands(root(), "kanon") if not command.hidden}
    assert set(sections) == set(shown)
    for name, command in shown.items():
        for parameter in command.params:
            for spelling in parameter.opts if parameter.param_type_name == "option" else [parameter.metavar]:
                # alone, with its other spellings or with what it takes
                start = r"- `[a-z._]+` or `" if parameter.hidden else r"- \*\*`([^`]* )?"
                assert re.search(rf"^{start}{re.escape(spelling)}[ ,`]", sections[name], re.MULTILINE), (name, spelling)
        assert "`-h, --help`" in sections[name]
    assert "[bold]" not in text


def test_the_page_of_settings_has_every_setting() -> None:
    text = hook("command_line").settings()
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}
    for one in ALL_SETTINGS.values():
        assert f"| `{one.key}` |" in sections[one.section]
    assert "| `max_suppressed` | `0.02` |" in sections["search"]
    assert {*sections} == {*SECTIONS, *BY_COLUMN, "run"}


def test_help_texts_are_shown_as_they_are() -> None:
    as_written = hook("command_line")._as_written  # noqa: SLF001 - what a hook does inside
    text = "Files <column>.csv or *_x_<column>.csv; mask[:left], see --sql=all."
    assert as_written(text) == "Files &lt;column>.csv or \\*\\_x\\_&lt;column>.csv; mask\\[:left\\], see `--sql=all`."


def test_the_page_of_pictures_has_the_right_figures() -> None:
    """What each node of six rows costs, in twelfths, and how many rows it leaves out, counted by labels."""
    rows = [("Bachelors", "Bern"), ("Masters", "Bern"), ("Bachelors", "Basel"), ("Masters", "Basel")]
    rows += [("11th", "Basel"), ("11th", "Basel")]
    parent = {"Bachelors": "Higher", "Masters": "Higher", "11th": "School"}
    picture = (DOCS / "explanation/lattice.svg").read_text(encoding="utf-8")
    figures = dict(re.findall(r">(\(\d, \d\))</text>.*?>([^<>]* out)</text>", picture, re.DOTALL))
    expected = {}
    for education in range(3):
        for city in range(2):
            labels = [((value, parent[value], "*")[education], (town, "*")[city]) for value, town in rows]
            costs = [(0, 0.5 if parent[value] == "Higher" else 0, 1)[education] + city for value, _ in rows]
            out = sum(labels.count(label) < 2 for label in labels)
            expected[f"({education}, {city})"] = f"{sum(costs):g}/12, {out} out"
    assert figures == expected


def test_every_message_of_an_error_is_in_the_reference() -> None:
    page = hook("messages").reference()
    for error in (kanon_sql.UsageError, kanon_sql.SourceError, kanon_sql.NoSolutionError, kanon_sql.VerificationError):
        assert f"## {error.__name__}\n\nExit code {error.exit_code}. " in page
    with pytest.raises(kanon_sql.UsageError) as raised:
        kanon_sql.anonymize(pd.DataFrame({"a": [1]}), quasi_identifiers=["a"], hold_out=2)
    listed = [line.replace("\\_", "_").replace("\\*", "*") for line in re.findall(r"(?m)^- (.*)$", page)]
    patterns = [re.escape(message).replace("…", ".*") for message in listed]
    assert any(re.fullmatch(pattern, str(raised.value)) for pattern in patterns), raised.value
