"""The report in a browser: nothing is loaded, nothing complains, axe finds nothing, at every width and on paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import kanon_sql as kanon

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

SCREENS = {"phone": 360, "tablet": 768, "desktop": 1280}
LONG = "a_quasi_identifier_with_a_name_that_is_far_too_long_for_a_phone_and_has_no_place_to_break"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of several kinds: one that is plain, one in which everything goes wrong, one without rows."""
    directory = tmp_path_factory.mktemp("reports")
    ages = [20 + number * 7 % 60 for number in range(200)]
    plain = pd.DataFrame({"age": ages, "sex": list("FM") * 100, "illness": ["flu", "cough", "pox", "gout"] * 50})
    hostile = plain.rename(columns={"age": LONG, "sex": "<img src=http://example.org/x>"})
    hostile["https://example.org/?<b>"] = ["<script>alert(1)</script>" * (number % 2) for number in range(200)]
    reports = {
        "plain": kanon.report(
            plain, quasi_identifiers=["age", "sex"], sensitive=["illness"], max_suppressed=0.1, asked_by="The board"
        ),
        "hostile": kanon.report(
            hostile,
            quasi_identifiers=[name for name in hostile.columns if name != "illness"],
            sensitive=["illness"],
            models=[kanon.KAnonymity(3), kanon.DistinctLDiversity(2), kanon.TCloseness(t=0.9)],
            algorithm="local",
            choice="greedy",
            max_suppressed=0.1,
            standards=["hipaa-safe-harbor", "ema-0070"],
            utility=True,
            target="illness",
            control=hostile.iloc[::8],
        ),
        "empty": kanon.report(
            plain.head(0), quasi_identifiers=["age", "sex"], sensitive=["illness"], standards=["gbt-42460:public"]
        ),
    }
    for name, report in reports.items():
        report.write(directory / f"{name}.html")
    return {name: directory / f"{name}.html" for name in reports}


def opened(browser: Browser, path: Path, width: int, **options: Any) -> tuple[Page, list[str], list[str]]:
    """Return a page, what it complained of, and what it asked for besides itself."""
    page = browser.new_context(viewport={"width": width, "height": 900}, **options).new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    requests.remove(path.as_uri())
    return page, complaints, requests


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "scheme", "screen"),
    [
        ("plain", "light", "desktop"),
        ("plain", "dark", "phone"),
        ("hostile", "light", "phone"),
        ("hostile", "dark", "tablet"),
        ("empty", "dark", "phone"),
    ],
)
def test_a_page_is_quiet_accessible_and_fits(
    browser: Browser, pages: dict[str, Path], name: str, scheme: str, screen: str
) -> None:
    page, complaints, requests = opened(browser, pages[name], SCREENS[screen], color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert (complaints, requests) == ([], [])
    assert page.evaluate("document.documentElement.scrollWidth") <= SCREENS[screen], "the page scrolls sideways"
    assert violations(page) == []
    page.context.close()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_on_paper_nothing_is_cut_off(browser: Browser, pages: dict[str, Path], name: str) -> None:
    """The width of A4 less its margins, 178 mm; what is folded away on the screen is there."""
    page, complaints, requests = opened(browser, pages[name], 673)
    page.emulate_media(media="print")
    assert (complaints, requests) == ([], [])
    assert page.evaluate("document.documentElement.scrollWidth") <= 673
    cut = "[...document.querySelectorAll('table, pre')].filter(one => one.scrollWidth > 673).length"
    assert page.evaluate(cut) == 0
    assert all(
        box is not None and box["height"] > 50 for box in (one.bounding_box() for one in page.locator("pre").all())
    )
    assert violations(page) == []
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
    page.context.close()


@pytest.mark.thorough
def test_nothing_on_the_page_runs(browser: Browser, pages: dict[str, Path]) -> None:
    page, *_ = opened(browser, pages["hostile"], 1280)
    assert page.locator("script, iframe, object, embed, img, link, form, base").count() == 0
    names = page.evaluate("[...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())")
    assert not any(name.startswith("on") for name in names)
    assert page.get_by_text("<script>alert(1)</script>").count() > 0
    page.context.close()


@pytest.mark.thorough
def test_charts_are_described_and_have_their_figures_in_a_table(browser: Browser, pages: dict[str, Path]) -> None:
    page, *_ = opened(browser, pages["plain"], 1280)
    assert page.get_by_role("img", name="Loss over k").count() == 1
    described = page.locator("svg.curve desc").first.text_content() or ""
    assert "Chosen: k = 5" in described
    rows = page.get_by_role("table", name="Releases of the original with another k").get_by_role("row")
    assert rows.count() == 1 + described.count("k = ") - 1
    page.context.close()


def violations(page: Page) -> list[str]:
    """Return what axe finds, as text that says where."""
    from axe_core_python.sync_playwright import Axe

    found = Axe().run(page)["violations"]
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary']}" for one in found for node in one["nodes"]]
