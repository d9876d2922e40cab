"""The server of ``kanon explore``: it answers one browser on this machine.

1. It listens on 127.0.0.1. A ``Host`` other than this address and port is refused, so the name of another site cannot
   lead here. An ``Origin`` of another site is refused too.
2. The first URL has a token that works once. After that, access needs a cookie that no script can read and no other
   site can send. Browsers send a cookie to all ports of a host. This one is for a random path, so the server of another
   user on another port does not receive it.
3. A form that changes something has its own token, which only pages from this server contain.
4. A page runs only scripts and styles of the package, loads nothing from elsewhere, and is not cached.
"""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from itertools import chain, count, product
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from kanon_sql.engine.files import require_free
from kanon_sql.engine.sources.addresses import shown_source
from kanon_sql.errors import KanonError, SourceError, UsageError, command_line, counted
from kanon_sql.evidence import report
from kanon_sql.evidence.report.words import NOTHING, decimals, four_digits, percentage, printable
from kanon_sql.explore import pictures
from kanon_sql.explore.state import LEFT_OUT, MEASURES, RISKS, ROLES, State
from kanon_sql.explore.workspace import Workspace, base_levels, unforeseen
from kanon_sql.policy.algorithms import ALGORITHMS, algorithms_of
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import policy_text, write_policy
from kanon_sql.policy.weights import stated_weights, weights_said
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from kanon_sql.classes.lattice import Node
    from kanon_sql.explore.workspace import Bench, Found, NodeFigures, Point
    from kanon_sql.policy.policy import Policy
    from kanon_sql.risks.attacks.verdicts import Outcome

ADDRESS = "127.0.0.1"
PAGES = {
    "columns": "Columns",
    "trade-off": "Trade-off",
    "levels": "Levels",
    "lattice": "Lattice",
    "risk": "Risk",
    "publish": "Publish",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = {
    "explore.css": "text/css",
    "report.css": "text/css",
    "explore.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "favicon.svg": "image/svg+xml",
}
_PATIENCE = 1.0  # seconds that the first page waits for the profile
_MOST_BYTES = 1_000_000  # of a form
_DRAWN_WHOLE = 120  # nodes of a lattice that is drawn completely
_FEW_COLUMNS = 5  # columns up to which nodes two steps away are drawn: 20 above
_AT_ONCE = 40  # nodes to test for a picture before it is shown
_OF_LARGE = 500_000  # tuples from which only one node is tested
_FORM_TOKEN = "form_token"  # noqa: S105 - the name of a field
_OF_PUBLISH = ("into", "out", "policy_file", "report_file", "replace")


class Guard:
    """Refuses requests that do not come from the browser that opened the first URL, before anything else."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._host = f"{ADDRESS}:{port}"
        self.cookie_name = f"kanon_explore_{port}"
        self.form_token = secrets.token_urlsafe(32)
        self._key = secrets.token_urlsafe(32)
        self.path = f"/{secrets.token_urlsafe(16)}"
        self._first: str | None = secrets.token_urlsafe(32)

    @property
    def url(self) -> str:
        return f"http://{self._host}/?token={self._first}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        answer = self._answer(scope)
        await (answer or self._app)({**scope, "root_path": self.path}, receive, with_headers)

    def _answer(self, scope: Scope) -> Response | None:
        """Return the refusal of a request; None if the page may be served."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        if headers.get(b"host", []) != [self._host.encode()]:
            return PlainTextResponse(f"kanon explore answers at http://{self._host} only.\n", 403)
        origins = headers.get(b"origin", [])
        changes = scope["method"] not in {"GET", "HEAD"}
        if any(origin != f"http://{self._host}".encode() for origin in origins) or (changes and len(origins) != 1):
            return PlainTextResponse("This request comes from another site.\n", 403)
        if any(site not in {b"same-origin", b"none"} for site in headers.get(b"sec-fetch-site", [])):
            return PlainTextResponse("This request comes from another site.\n", 403)
        if scope["path"] == "/":
            given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
            if given is not None and self._first is not None and _equal(given, self._first):
                self._first = None
                opened = RedirectResponse(f"{self.path}/columns", 303)
                opened.set_cookie(self.cookie_name, self._key, path=self.path, httponly=True, samesite="strict")
                return opened
        is_ours = scope["path"].startswith(f"{self.path}/")
        if not is_ours or not any(_equal(value, self._key) for value in self._cookies(headers.get(b"cookie", []))):
            return PlainTextResponse(
                "This page belongs to the browser that opened the address which kanon explore printed; it opens once, "
                "and goes on in the tab that it was opened in. For another browser, end kanon explore (Ctrl-C) and "
                "start it again.\n",
                403,
            )
        return None

    def _cookies(self, given: Iterable[bytes]) -> list[str]:
        pairs = (part.strip().partition("=") for value in given for part in value.decode("latin-1").split(";"))
        return [value for name, _, value in pairs if name == self.cookie_name]


def _equal(given: str, own: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), own.encode())


@dataclass(frozen=True)
class Publishing:
    """The policy file and the command that a form of Publish requests."""

    policy: Policy
    destination: Destination
    file: Path
    arguments: tuple[str, ...]
    shown: str
    text: str


@dataclass(frozen=True)
class Shown:
    state: State
    policy: Policy
    bench: Bench
    figures: NodeFigures
    limit: int  # rows that may be suppressed
    best: Found | None  # the optimum; None if it is not known yet

    @property
    def said(self) -> tuple[Any, ...]:
        return self.state, self.bench.hierarchies, self.figures, self.bench.rows, self.limit, self.best


class Application:
    def __init__(self, workspace: Workspace, destination: Destination, form_token: str) -> None:
        self.workspace = workspace
        self._destination = destination
        self._form_token = form_token
        self.child: subprocess.Popen[str] | None = None
        self._has_ended = False
        self._starting = Lock()

    def routes(self) -> list[Route]:
        pages: dict[str, Callable[[State, Request], Response]] = {
            "/columns": self.columns,
            "/columns/drawing/{place:int}": self.drawing,
            "/columns/distribution/{place:int}": self.distribution,
            "/trade-off": self.page("trade-off"),
            "/trade-off/points": self.points,
            "/trade-off/remedies": self.remedies,
            "/levels": self.page("levels"),
            "/levels/board": self.board,
            "/levels/figures": self.figures,
            "/levels/lower": self.lower,
            "/lattice": self.page("lattice"),
            "/lattice/picture": self.lattice,
            "/risk": self.page("risk"),
            "/risk/evidence": self.evidence,
            "/publish": self.publish_page,
            "/publish/sql": self.sql,
            "/publish/preview": self.preview,
            "/release": self.release,
        }
        return [
            *(Route(path, self._in_thread(page), methods=["GET"]) for path, page in pages.items()),
            Route("/publish", self._published, methods=["POST"]),
            *(Route(f"/static/{name}", _static(name, kind), methods=["GET"]) for name, kind in _STATIC.items()),
        ]

    def _in_thread(self, page: Callable[[State, Request], Response]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            return await run_in_threadpool(self._answered, page, request)

        return answer

    def _answered(
        self,
        page: Callable[[State, Request], Response],
        request: Request,
        given: Sequence[tuple[str, str]] | None = None,
    ) -> Response:
        """Return a page for the state that a query or a form gives."""
        state = None
        try:
            if not self.workspace.ready(_PATIENCE):
                return _html("wait.j2", workspace=self.workspace, headers={"Refresh": "1"})
            assert self.workspace.base is not None  # noqa: S101 - it is ready
            pairs = request.query_params.multi_items() if given is None else given
            state = State.read(self.workspace.base, [pair for pair in pairs if pair[0] not in _NOT_OF_STATE])
            return page(state, request)
        except KanonError as error:
            return self._problem(state, request, str(error))
        except Exception as error:  # noqa: BLE001 - the last resort: its text may quote data
            return self._problem(state, request, unforeseen(error), 500)

    def _problem(self, state: State | None, request: Request, text: str, code: int = 400) -> Response:
        if "hx-request" in request.headers:  # a part of a page: htmx shows only responses with status 200
            return _part("problem", text)
        return _html("problem.j2", code, **self._context(state, ""), problem=text)

    def _context(self, state: State | None, page: str) -> dict[str, Any]:
        return {"workspace": self.workspace, "state": state, "page": page, "form_token": self._form_token}

    def page(self, name: str) -> Callable[[State, Request], Response]:
        def of(state: State, _: Request) -> Response:
            return _html(f"{name}.j2", **self._context(state, name))

        return of

    # 0. The current release, on every page

    def release(self, state: State, _: Request) -> Response:
        task = self.workspace.found(state.policy())
        return _part("release", state, task)

    # 1. Columns

    def columns(self, state: State, _: Request) -> Response:
        profile = self.workspace.profile
        known = {} if profile is None else {column.name: column for column in profile.columns}
        rules = {} if profile is None else dict(profile.hierarchies)
        named = state.base.policy.hierarchies
        shown = {column.name: state.rules.get(column.name) or named.get(column.name) for column in state.base.columns}
        return _html("columns.j2", **self._context(state, "columns"), known=known, rules=rules, shown=shown)

    def drawing(self, state: State, request: Request) -> Response:
        with self.workspace.bench(state.policy()) as bench:
            place = request.path_params["place"]
            if place >= len(bench.hierarchies):
                raise UsageError("There is no such quasi-identifier.")
            own = bench.hierarchies[place]
            levels = bench.drawing(own.column.name, state.k)
            return _part("drawing", state, place, own, levels, bench.counts_people)

    def distribution(self, state: State, request: Request) -> Response:
        place, names = request.path_params["place"], state.of_role("quasi")
        if place >= len(names):
            raise UsageError("There is no such quasi-identifier.")
        return _part("distribution", state, place, names[place], self.workspace.evidence(state.policy()))

    # 2. Trade-off

    def points(self, state: State, _: Request) -> Response:
        state.policy()  # raises an error for an invalid policy
        tasks = self.workspace.points(state)
        found = [task.result for task in tasks if task.result is not None]
        problem = next((task.problem for task in tasks if task.problem is not None), None)
        return _part("points", state, found, len(tasks), sum(task.is_done for task in tasks), problem)

    def remedies(self, state: State, _: Request) -> Response:
        as_view = self._destination.kind != "table"
        return _part("remedies", state, self.workspace.remedies(state.policy(), as_view=as_view))

    # 3. Levels

    def board(self, state: State, _: Request) -> Response:
        return self._of_node(state, "levels/board", lambda shown: _part("board", *shown.said))

    def figures(self, state: State, request: Request) -> Response:
        found = self._of_node(state, "levels/figures", lambda shown: _part("figures", *shown.said))
        if request.headers.get("hx-trigger-name", "").startswith("level."):  # a person moved a slider
            found.headers["HX-Push-Url"] = state.href("levels")
        return found

    def lower(self, state: State, _: Request) -> Response:
        def answer(shown: Shown) -> Response:
            steps = shown.bench.lower(shown.policy, shown.figures.node)
            if steps is None:  # another node was requested since: the page must not change
                return Response(status_code=204)
            found = _part("lower", *shown.said[:3], steps, *shown.said[3:5])
            found.background = BackgroundTask(self._look_higher, shown.policy, shown.figures.node)
            return found

        return self._of_node(state, "levels/lower", answer)

    def _look_higher(self, policy: Policy, node: Node) -> None:
        with suppress(KanonError), self.workspace.bench(policy) as bench:
            if bench.latest == node:
                bench.look_higher(policy, node)

    def _of_node(self, state: State, url: str, answer: Callable[[Shown], Response]) -> Response:
        """Return the answer about the node of a state; if that is the optimum, after it is found."""
        state = state.by_levels
        task = self.workspace.found(state.searched().policy())
        best: Found | None = task.result
        policy = state.policy()
        with self.workspace.bench(policy) as bench:
            all_chosen = all(hierarchy.column.name in state.levels for hierarchy in bench.hierarchies)
            if best is None and not all_chosen:
                return (
                    _part("looking", state.href(url), task) if task.problem is None else _part("problem", task.problem)
                )
            node = base_levels(state, bench.hierarchies, None if best is None else best.node)
            limit = policy.rows_allowed(bench.rows, policy.k)
            return answer(Shown(state, policy, bench, bench.figures(policy, node), limit, best))

    # 4. Lattice

    def lattice(self, state: State, _: Request) -> Response:
        return self._of_node(state, "lattice/picture", _lattice)

    # 5. Risk

    def evidence(self, state: State, _: Request) -> Response:
        return _part("evidence", state, self.workspace.evidence(state.policy()))

    # 6. Publish

    def publish_page(self, state: State, _: Request) -> Response:
        defaults = self._defaults(state)
        plan = self._plan(state, defaults)
        return _html("publish.j2", **self._context(state, "publish"), plan=plan, form=defaults, outcome=None)

    def sql(self, state: State, _: Request) -> Response:
        return _part("sql", state, self.workspace.found(state.policy()))

    def preview(self, state: State, request: Request) -> Response:
        given = {name: value for name, value in request.query_params.multi_items() if name in _OF_PUBLISH}
        return _part("plan", self._plan(state, given))

    def _defaults(self, state: State) -> dict[str, str]:
        """Return the defaults of the form of Publish: the destination of the given policy, or a free name."""
        given, policy_file = self._destination, str(_free(Path("kanon.toml")))
        report_file, again = "", "1" if given.replace else ""
        into, out = given.into or "", "" if given.out is None else str(given.out)
        if not into and not out:
            plain = "".join(one if one.isalnum() or one in "_-" else "_" for one in Path(self.workspace.name).stem)
            name = f"{plain}_k{state.k}"
            free = unused_name(name, self.workspace.taken), str(_free(Path(f"{name}.csv")))
            into, out = (free[0], "") if self.workspace.in_database else ("", free[1])
        return {"into": into, "out": out, "policy_file": policy_file, "report_file": report_file, "replace": again}

    def _plan(self, state: State, form: Mapping[str, str]) -> Publishing:
        given = {name: form.get(name, "").strip() for name in _OF_PUBLISH}
        if unseen := [name for name, value in given.items() if not value.isprintable()]:
            raise UsageError(f"{unseen[0]} has a character that cannot be seen, as a line end is: leave it out.")
        if bool(given["into"]) == bool(given["out"]):
            raise UsageError("Say where the release should go: a table, or a file; one of the two.")
        if not given["policy_file"]:
            raise UsageError("Say where the policy is written: the command reads it.")
        file = Path(given["policy_file"])
        if file.suffix != ".toml":
            raise UsageError(f"{file} is to be a policy: end its name with .toml.")
        out = Path(given["out"]) if given["out"] else None
        own = self._destination
        same_kind = (own.into is None, own.out is None) == (not given["into"], out is None)
        destination = replace(own if same_kind else Destination(), into=given["into"] or None, out=out, replace=False)
        options = ["--policy", str(file)]
        if given["report_file"]:
            options += ["--report", given["report_file"]]
        if given["replace"]:
            options.append("--replace")
        policy, workspace = state.policy(), self.workspace
        named: list[str] = []
        if policy.origin is None:  # the address in it gives access and is not written to a file
            named = [str(workspace.source), *([workspace.table] if workspace.table is not None else [])]
        shown = [shown_source(named[0]), *named[1:]] if named else []
        arguments = ("anonymize", *options, "--", *named) if named else ("anonymize", *options)
        text = policy_text(policy, destination, file.parent)
        return Publishing(policy, destination, file, arguments, command_line("anonymize", shown, *options), text)

    async def _published(self, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BYTES:
                return PlainTextResponse("The form is too large.\n", 413)
        form = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        if not _equal(dict(form).get(_FORM_TOKEN, ""), self._form_token):
            return PlainTextResponse("This form was not made here; reload the page.\n", 403)
        given = {name: value for name, value in form if name in _OF_PUBLISH}
        return await run_in_threadpool(self._answered, partial(self._publish, given=given), request, form)

    def _publish(self, state: State, request: Request, given: dict[str, str]) -> Response:
        plan = self._plan(state, given)
        outcome = self._run(plan)
        if "hx-request" in request.headers:
            return _part("outcome", plan, outcome)
        return _html("publish.j2", **self._context(state, "publish"), plan=plan, form=given, outcome=outcome)

    def _run(self, plan: Publishing) -> dict[str, Any]:
        """Write the policy and run the command as a shell would; delete the policy if that fails."""
        with self.workspace.let_go():
            _make_new(plan.file)
            code = None
            try:
                write_policy(plan.policy, plan.destination, plan.file)
                child = self._start(plan.arguments)
                said, errors = child.communicate()
                code = child.returncode
                if code == 0 and plan.destination.into is not None:
                    self.workspace.taken.add(plan.destination.into)
            finally:
                self.child = None
                if code != 0:
                    plan.file.unlink(missing_ok=True)
        return {"code": code, "said": said.strip(), "errors": errors.strip()}

    def _start(self, arguments: tuple[str, ...]) -> subprocess.Popen[str]:
        with self._starting:
            if self._has_ended:
                raise UsageError("kanon explore was ended; nothing was published.")
            # -P, like the command itself: no module is imported from the directory of the data.
            self.child = subprocess.Popen(  # noqa: S603 - the program that runs this, with arguments and no shell
                [sys.executable, "-P", "-m", "kanon_sql", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
            return self.child

    def close(self) -> None:
        """Stop the running work, drop waiting work and close the table."""
        with self._starting:
            self._has_ended = True
            child = self.child
        if child is not None:
            child.terminate()
            child.wait()
        self.workspace.close()


_NOT_OF_STATE = {*_OF_PUBLISH, _FORM_TOKEN}


def _lattice(shown: Shown) -> Response:
    """Return the lattice, or the part of it around a node; some of its nodes may not be tested yet."""
    bench, policy, node = shown.bench, shown.policy, shown.figures.node
    lattice = bench.table.prepared.lattice
    whole = lattice.size <= _DRAWN_WHOLE
    steps = 2 if len(node) <= _FEW_COLUMNS else 1
    all_nodes = product(*(range(height + 1) for height in lattice.heights))
    drawn = list(all_nodes) if whole else pictures.around(node, lattice.heights, steps)
    kinds, known, budget = {}, {}, 1 if bench.tuples >= _OF_LARGE else _AT_ONCE
    for one in sorted(drawn, key=lambda other: sum(abs(a - b) for a, b in zip(other, node, strict=True))):
        if not bench.knows(policy, one):
            if not budget:
                kinds[one] = "unknown"
                continue
            budget -= 1
        known[one] = bench.figures(policy, one)
        kinds[one] = "good" if known[one].suppressed <= shown.limit else "refused"
    names = [hierarchy.column.name for hierarchy in bench.hierarchies]
    links = {one: shown.state.href("levels", levels=dict(zip(names, one, strict=True))) for one in kinds}
    drawing = pictures.hasse(kinds)
    return _part("lattice", shown.state, drawing, known, links, node, shown.best, names, whole, lattice.size)


def _free(path: Path) -> Path:
    """Return a free path: ``path``, or one with a number."""
    numbered = (path.with_stem(f"{path.stem}_{number}") for number in count(2))
    return next(one for one in chain([path], numbered) if not one.exists())


def _make_new(path: Path) -> None:
    """Create a file under a free name, even if a broken link has it."""
    require_free(path, replace=False)
    try:
        path.touch(exist_ok=False)
    except OSError as error:
        raise SourceError(f"The policy cannot be written to {path}: {error.strerror}.") from None


def _static(name: str, kind: str) -> Callable[[Request], Response]:
    directory = Path(report.__file__).with_name("templates") if name == "report.css" else _here("static")
    content = (directory / name).read_bytes()

    def answer(_: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


# Formats of pages


def _of_report(name: str) -> Callable[..., Any]:
    """Return a function of the report, imported on use: the first page does not need it."""

    def call(*arguments: Any) -> Any:  # noqa: ANN401 - of any of them
        return getattr(import_module("kanon_sql.evidence.report.render"), name)(*arguments)

    return call


def _tone(outcome: Outcome) -> str:
    from kanon_sql.evidence.report.render import TONES

    return TONES[outcome]


def _ranked(points: Sequence[Point], measure: str) -> list[Point]:
    """Sort releases by a measure, least first, and those without one last."""
    return sorted(points, key=lambda point: ((value := point.measures.get(measure)) is None, value, point.k))


def _here(name: str) -> Path:
    return Path(__file__).with_name(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_here("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else printable(str(value)),
    )
    environment.filters["lines"] = lambda text: Markup("\n").join(printable(line) for line in text.split("\n"))
    environment.globals |= {
        "ALGORITHMS": ALGORITHMS,
        "FULL_DOMAIN": algorithms_of("full-domain"),
        "LEFT_OUT": LEFT_OUT,
        "MEASURES": MEASURES,
        "NOTHING": NOTHING,
        "PAGES": PAGES,
        "RISKS": RISKS,
        "ROLES": ROLES,
        "WIDTH": pictures.ICICLE_WIDTH,
        "bar_width": _of_report("bar_width"),
        "counted": counted,
        "decimals": decimals,
        "four_digits": four_digits,
        "icicle": pictures.icicle,
        "max": max,
        "percentage": percentage,
        "ranked": _ranked,
        "scatter": pictures.scatter,
        "tone": _tone,
        "worst_subsets": _of_report("worst_subsets"),
        "node_text": pictures.node_text,
        "weights_said": lambda weights: weights_said(stated_weights(weights)),
        "zip": zip,
    }
    return environment


def _html(template: str, code: int = 200, headers: dict[str, str] | None = None, **context: Any) -> Response:  # noqa: ANN401 - any argument of a template
    return HTMLResponse(_environment().get_template(template).render(**context), code, headers)


def _part(name: str, *arguments: Any) -> Response:  # noqa: ANN401 - as above
    module: Any = _environment().get_template("parts.j2").module
    return HTMLResponse(str(getattr(module, name)(*arguments)))


def application(workspace: Workspace, port: int, destination: Destination | None = None) -> tuple[Guard, Application]:
    """Return the application behind its guard; ``destination`` is that of the given policy."""
    pages = Application(workspace, destination or Destination(), secrets.token_urlsafe(32))
    app = Starlette(routes=pages.routes())
    app.router.redirect_slashes = False
    return Guard(app, port), pages


def listening(port: int) -> socket.socket:
    """Return a socket that listens only on this machine; port 0 selects a free port."""
    # The protocol is explicit: without it, asyncio does not turn off Nagle's algorithm for responses in two parts.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.bind((ADDRESS, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise SourceError(
            f"Port {port} cannot be listened on ({error.strerror}): name another one, or none, and a free one is taken."
        ) from None
    return found


def serve(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    given: tuple[Policy, Destination] | None,
    port: int,
    begun: Callable[[str], None],
) -> None:
    """Serve a table until Ctrl-C. ``given`` is the content of a policy file; ``begun`` is called with the first URL."""
    import uvicorn

    with listening(port) as own:
        workspace = Workspace(source, table, None if given is None else given[0])
        destination = None if given is None else given[1]
        guard, pages = application(workspace, own.getsockname()[1], destination)
        try:
            config = uvicorn.Config(
                guard,
                log_level="critical",
                access_log=False,
                lifespan="off",
                ws="none",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
            begun(guard.url)
            uvicorn.Server(config).run(sockets=[own])
        except KeyboardInterrupt:
            pass  # the normal end
        finally:
            pages.close()
