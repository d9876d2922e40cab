"""The application without a server: a client that opened the first URL, and what a browser would load of each page."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from needs import needs

TestClient = needs("starlette.testclient").TestClient

from kanon_sql.explore.server import PAGES, application
from kanon_sql.explore.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import kanon_sql as kanon
    from kanon_sql.explore.server import Application, Guard

PORT = 4242
HERE = f"http://127.0.0.1:{PORT}"


class Page(HTMLParser):
    """What a page has: elements with their attributes, and what htmx would load of it by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = text
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    @property
    def loads(self) -> list[str]:
        """What is loaded without a person: of what waits for an input, nothing."""
        return [
            str(own["hx-get"]) for _, own in self.elements if re.match("load|revealed", own.get("hx-trigger") or "")
        ]


class Explorer:
    """A browser that opened the first URL, without its scripts."""

    def __init__(self, workspace: Workspace, guard: Guard, pages: Application) -> None:
        self.workspace, self.guard, self.pages = workspace, guard, pages
        self.client = TestClient(guard, base_url=HERE, follow_redirects=False, raise_server_exceptions=False)
        self.bodies: list[str] = []
        token = guard.url.partition("token=")[2]
        self.opened = self.client.get("/", params={"token": token})
        assert self.opened.status_code == 303
        self.client.base_url = f"{HERE}{guard.path}"

    def get(self, url: str, *, code: int = 200) -> Page:
        response = self.client.get(
            url, headers={"hx-request": "true"} if "/" in url.strip("/") or url.startswith("release") else {}
        )
        assert response.status_code == code, response.text
        self.bodies.append(response.text)
        return Page(response.text)

    def whole(self, url: str, seconds: float = 60) -> str:
        """Return a page with all of its parts, after what they wait for has come; each answer is kept."""
        end = time.monotonic() + seconds
        page = self.get(url)
        texts, waiting = [page.text], page.loads
        while waiting:
            part = self.get(waiting.pop(0))
            if "spinner" in part.text:
                assert time.monotonic() < end, f"{url} waits for ever: {part.text}"
                time.sleep(0.05)
            texts.append(part.text)
            waiting += part.loads
        return "\n".join(texts)

    def everything(self, query: str = "") -> dict[str, str]:
        return {page: self.whole(f"/{page}{query}") for page in PAGES}

    def post(self, form: dict[str, Any], **headers: str) -> Any:
        return self.client.post("/publish", data=form, headers={"origin": HERE, **headers})


@contextmanager
def explorer(
    source: Path,
    table: str | None = None,
    policy: kanon.Policy | None = None,
    destination: kanon.Destination | None = None,
) -> Iterator[Explorer]:
    workspace = Workspace(str(source), table, policy)
    guard, pages = application(workspace, PORT, destination)
    try:
        assert workspace.ready(30)
        yield Explorer(workspace, guard, pages)
    finally:
        pages.close()
