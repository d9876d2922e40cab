"""The pictures of docs/tutorials/explore.md: kanon explore on the table of the tutorial, in the Chromium of the system.

    python benchmarks/explore_pictures.py                # writes docs/tutorials/explore-*.png
    python benchmarks/explore_pictures.py --docs /tmp

They are of what the pages are now; nothing in them is drawn by hand.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

COLOURS = 96
WIDTH, HEIGHT = 1000, 760
PATIENCE = 90_000  # milliseconds


def pictures(page: Page) -> Iterator[tuple[str, bytes]]:
    """Go the way of the tutorial, and return a picture at each page."""
    page.get_by_role("heading", name="Which column is what").wait_for()
    page.get_by_role("link", name="I have checked the roles").click()
    page.get_by_label("Role of diagnosis").select_option("sensitive")
    page.get_by_role("button", name="Apply").last.click()
    page.get_by_text("proven", exact=True).wait_for()
    yield "columns", page.screenshot()
    page.locator("[aria-labelledby=drawing-title-2]").scroll_into_view_if_needed()
    page.locator("[aria-label='Rows by label of zip'] tbody tr").first.wait_for()
    page.wait_for_timeout(500)
    yield "hierarchy", page.locator("[aria-labelledby=drawing-title-2]").screenshot()
    open_page(page, "Trade-off")
    page.get_by_text("tried.").wait_for()
    while page.locator("#points .spinner").count():
        page.wait_for_timeout(300)
    yield "trade-off", page.locator("[aria-labelledby=trade-title]").screenshot()
    open_page(page, "Levels")
    page.get_by_role("slider", name="Level of zip").press("ArrowLeft")
    page.wait_for_url("**level.zip*")
    page.get_by_text("One level less: loss").first.wait_for()
    page.wait_for_timeout(1500)
    yield "levels", page.screenshot(full_page=True)
    page.get_by_role("link", name="Back to the best").click()
    open_page(page, "Lattice")
    page.locator(".node.selected").wait_for()
    while page.locator("main .spinner").count():
        page.wait_for_timeout(300)
    yield "lattice", page.locator("[aria-labelledby=lattice-title]").screenshot()
    open_page(page, "Risk")
    page.get_by_role("heading", name="Attacks on the release").wait_for()
    yield "risk", page.locator("[aria-labelledby=classes-title]").screenshot()
    open_page(page, "Publish")
    page.get_by_role("textbox", name="Report").fill("report.html")
    page.get_by_label("Policy file").focus()
    page.get_by_text("--report report.html").wait_for()
    page.get_by_role("button", name="Publish", exact=True).click()
    page.get_by_text("published and verified").wait_for()
    yield "publish", page.locator("#outcome").screenshot()


def open_page(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()


def small(picture: bytes) -> Image.Image:
    """Return a picture of few colours, which takes a quarter of the bytes."""
    return Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, default=Path(__file__).parents[1] / "docs" / "tutorials")
    arguments = parser.parse_args()
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = next(filter(None, map(shutil.which, names)))
    kanon = [sys.executable, "-m", "kanon_sql"]
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        subprocess.run([*kanon, "demo", "--rows", "5000", "-q"], cwd=directory, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own program
        command = [*kanon, "explore", "kanon_demo.duckdb", "admissions", "--no-browser"]
        process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own program
        try:
            assert process.stdout is not None  # noqa: S101
            url = next(line.strip() for line in process.stdout if "http://" in line)
            window = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = window.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.set_default_timeout(PATIENCE)
            page.goto(url)
            for name, picture in pictures(page):
                small(picture).save(arguments.docs / f"explore-{name}.png", optimize=True)
                print(f"explore-{name}.png", flush=True)
            window.close()
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
