"""``kanon explore`` in a browser: from the first address to a verified release; accessible, by keyboard, on a phone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from needs import needs

needs("starlette")

from kanon_sql.cli.main import run
from kanon_sql.explore.server import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from playwright.sync_api import Page as BrowserPage

PATIENCE = 300_000  # milliseconds
ADULT_POLICY = """
[columns]
quasi_identifiers = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
sensitive = ["salary-class"]
[hierarchies]
directory = "."
"""

# What htmx logs of a request that was under way when its page was left.
_LEFT = re.compile(r"htmx:(sendAbort|afterRequest), \[object HTML\w+\]$")

pytestmark = pytest.mark.xdist_group("explore in a browser")


@contextmanager
def opened(browser: Browser, directory: Path, *arguments: str, **options: Any) -> Iterator[BrowserPage]:
    """Start the command, open the address that it prints, and hand out the page; it must not complain of anything."""
    command = [sys.executable, "-m", "kanon_sql", "explore", *arguments, "--no-browser"]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        assert process.stdout is not None
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        complaints: list[str] = []
        elsewhere: list[str] = []
        try:
            url = next(line.strip() for line in process.stdout if "http://" in line)
            page = context.new_page()
            context.on("console", lambda message: complaints.append(message.text))
            context.on("weberror", lambda error: complaints.append(str(error.error)))
            here = url.partition("/?")[0]
            context.on("request", lambda asked: None if asked.url.startswith(here) else elsewhere.append(asked.url))
            page.goto(url)
            page.get_by_role("heading", name="Which column is what").wait_for()
            yield page
        finally:
            context.close()
            process.terminate()
        assert ([text for text in complaints if not _LEFT.match(text)], elsewhere) == ([], [])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("demo")
    assert run(["demo", "--rows", "2000", "--out", str(directory / "demo.duckdb"), "-q"]) == 0
    return directory


def until(page: BrowserPage, script: str) -> None:
    """Wait until a script is true; Playwright's own wait evaluates a text inside of the page, which it forbids."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(script):
        assert time.monotonic() < end, script
        page.wait_for_timeout(50)


def settled(page: BrowserPage) -> None:
    """Scroll to the end, and wait until nothing is waited for."""
    page.keyboard.press("End")
    until(
        page, "![...document.querySelectorAll('.spinner')].some(one => one.checkVisibility({visibilityProperty: true}))"
    )


def go(page: BrowserPage, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
    page.wait_for_url(f"**/{next(key for key, title in PAGES.items() if title == name)}*")


def released(directory: Path, database: str, table: str) -> list[Any]:
    with duckdb.connect(str(directory / database), read_only=True) as connection:
        return connection.table(table).fetchall()


@pytest.mark.thorough
def test_the_journey_from_columns_to_a_verified_release(
    browser: Browser, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright import sync_api

    with opened(browser, demo, "demo.duckdb", "admissions") as page:
        # 1. Columns: drag one, choose the role of another, confirm the rest.
        page.get_by_role("link", name="I have checked the roles").click()
        page.locator("[data-column]", has_text="diagnosis").drag_to(page.locator("[data-role=sensitive] h3"))
        page.wait_for_url("**role.diagnosis=sensitive*")
        page.get_by_label("Role of department").select_option("left-out")
        page.get_by_role("button", name="Apply").last.click()
        page.wait_for_url("**role.department=left-out*")
        assert "confirmed=1" in page.url
        # 2. Trade-off: choose the release by k = 10.
        go(page, "Trade-off")
        page.get_by_role("link", name="Choose optimal, k = 10, at most 2.00 %").click()
        page.wait_for_url("**k=10*")
        chosen = moved_a_slider(page)
        # 4. Lattice, 5. Risk.
        go(page, "Lattice")
        page.locator(".node.selected").wait_for()
        go(page, "Risk")
        page.get_by_role("heading", name="Attacks on the release").wait_for()
        page.get_by_text("linkage").first.wait_for()
        # 6. Publish.
        go(page, "Publish")
        page.get_by_label("Table in the database").fill("explored")
        page.get_by_role("textbox", name="Report").fill("report.html")
        page.get_by_label("Policy file").focus()
        page.get_by_text('into = "explored"').wait_for()
        command = "kanon anonymize --policy kanon.toml --report report.html"
        sync_api.expect(page.locator("#command")).to_have_text(command, timeout=PATIENCE)
        page.get_by_role("button", name="Publish", exact=True).click()
        page.get_by_text("published and verified").wait_for()
        assert f"$ {command}\n" in page.locator("#outcome pre").inner_text()
    monkeypatch.chdir(demo)
    assert "k = 10" in Path("kanon.toml").read_text(encoding="utf-8")
    assert f"sex = {chosen}" in Path("kanon.toml").read_text(encoding="utf-8")
    assert Path("report.html").is_file()
    assert run(["anonymize", "--policy", "kanon.toml", "--into", "again", "--ignore-ledger", "-q"]) == 0
    assert released(demo, "demo.duckdb", "explored") == released(demo, "demo.duckdb", "again") != []
    assert run(["check", "--policy", "kanon.toml", "-q"]) == 0


def moved_a_slider(page: BrowserPage) -> str:
    """Move a slider by keyboard; go back and forth, reload, and look at another tab. Return the level."""
    from playwright.sync_api import expect

    go(page, "Levels")
    slider = page.get_by_role("slider", name="Level of sex")
    slider.wait_for()
    first = slider.input_value()
    slider.focus()
    page.keyboard.press("ArrowRight" if first == "0" else "ArrowLeft")
    page.wait_for_url("**level.sex=*")
    chosen = "1" if first == "0" else "0"
    page.get_by_text(f"level {chosen} of 1").wait_for()
    expect(slider).to_be_focused()
    page.get_by_text("One level less: loss").first.wait_for()
    page.locator("#hand").get_by_text("levels chosen here").or_(page.locator("#hand [role=alert]")).wait_for()
    # Back and forward, and reload.
    page.go_back()
    expect(slider).to_have_value(first, timeout=PATIENCE)
    page.go_forward()
    expect(slider).to_have_value(chosen, timeout=PATIENCE)
    page.reload()
    page.get_by_text(f"level {chosen} of 1").wait_for()
    # Another tab does not disturb this one.
    other = page.context.new_page()
    other.goto(page.url.replace("k=10", "k=50"))
    other.get_by_role("slider", name="Level of sex").wait_for()
    assert page.get_by_label("k", exact=True).input_value() == "10"
    other.close()
    return chosen


@pytest.mark.thorough
def test_the_journey_on_adult(browser: Browser, adult: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in adult.iterdir():
        if file.suffix == ".csv":
            shutil.copy(file, tmp_path)
    (tmp_path / "adult.toml").write_text(ADULT_POLICY, encoding="utf-8")
    with opened(browser, tmp_path, "adult.csv", "--policy", "adult.toml") as page:
        go(page, "Trade-off")
        page.get_by_role("link", name="Choose datafly, k = 5, at most 2.00 %").click()
        page.wait_for_url("**algorithm=datafly*")
        page.get_by_role("link", name="Choose optimal, k = 5, at most 2.00 %").click()
        go(page, "Levels")
        page.get_by_role("slider", name="Level of age").wait_for()
        page.get_by_text("0.3314").first.wait_for()  # the optimum that ARX proves too
        go(page, "Risk")
        page.get_by_role("heading", name="Attacks on the release").wait_for()
        go(page, "Publish")
        page.get_by_role("textbox", name="File (.csv").fill("released.csv")
        page.get_by_label("Policy file").focus()
        page.get_by_text('out = "released.csv"').wait_for()
        page.get_by_role("button", name="Publish", exact=True).click()
        page.get_by_text("published and verified").wait_for()
    monkeypatch.chdir(tmp_path)
    assert run(["anonymize", "--policy", "kanon.toml", "--out", "again.csv", "-q"]) == 0
    assert Path("released.csv").read_bytes() == Path("again.csv").read_bytes()
    assert run(["check", "--policy", "kanon.toml", "-q"]) == 0


@pytest.mark.thorough
def test_pages_are_accessible_and_fit(browser: Browser, demo: Path) -> None:
    axe = needs("axe_core_python.sync_playwright").Axe()
    with opened(browser, demo, "demo.duckdb", "admissions") as page:
        for name in PAGES.values():
            go(page, name)
            settled(page)
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            for width, scheme in ((1280, "dark"), (400, "light")):
                page.set_viewport_size({"width": width, "height": 900})
                page.emulate_media(color_scheme=scheme)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
                found = axe.run(page)["violations"]
                assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], (name, width, scheme)


@pytest.mark.thorough
def test_the_keyboard_alone_suffices(browser: Browser, demo: Path) -> None:
    """Everything that a mouse can choose is reached by Tab, shows where it is, and is chosen by Enter or arrows."""
    with opened(browser, demo, "demo.duckdb", "admissions") as page:
        go(page, "Trade-off")
        page.get_by_role("link", name="Choose local, k = 5, at most 2.00 %").wait_for()
        for name in PAGES.values():
            go(page, name)
            if name != "Trade-off":  # whose links are renewed as they come
                settled(page)
            unreachable = page.evaluate(
                "[...document.querySelectorAll('a, button, input:not([type=hidden]), select, summary')]"
                ".filter(one => one.tabIndex < 0 || one.onclick).map(one => one.outerHTML)"
            )
            assert unreachable == []
            page.evaluate("document.activeElement.blur(); window.getSelection().removeAllRanges()")
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        go(page, "Lattice")
        page.locator(".lattice a").first.wait_for()
        page.locator(".lattice a").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**/levels?*level.*")
