"""``kanon explore`` without a browser: what it serves and to whom, what it never sends, and what it publishes."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from brute_force import all_nodes, evaluate
from exploring import HERE, Explorer, Page, explorer
from needs import needs

import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.explore.server import PAGES, _part
from kanon_sql.explore.state import ROLES, Base, State
from kanon_sql.explore.workspace import Task
from kanon_sql.release import remedies

httpx = needs("httpx2")
TestClient = needs("starlette.testclient").TestClient

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough

ROWS = 400
AGES = [20 + 10 * (number % 4) for number in range(ROWS)]
TOWNS = [f"town {number % 3}" for number in range(ROWS)]
POLICY = """
[columns]
identifying = ["name"]
quasi_identifiers = ["age", "town"]
sensitive = ["illness"]
rest = "drop"
[hierarchies]
age = "intervals:20,40"
town = "flat"
[privacy]
k = 5
[search]
max_suppressed = 0.02
[release]
seed = 1
"""


def people(path: Path, extra: str = "") -> Path:
    """Write a table of people of whom all but one are alike, and a policy for it beside it."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE people (name TEXT, age INTEGER, town TEXT, illness TEXT, secret TEXT)")
        rows = [
            (f"NAME{number}", age, town, "flu", "SECRET")
            for number, (age, town) in enumerate(zip(AGES, TOWNS, strict=True))
        ]
        rows.append(("NAMEofone", 7919, "RARETOWN", "ILLNESSofone", "SECRET"))
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        if extra:
            connection.execute(extra)
    path.with_suffix(".toml").write_text(POLICY, encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return people(tmp_path / "people.duckdb")


@pytest.fixture
def explored(table: Path) -> Iterator[Explorer]:
    with explorer(table, "people", kanon.read_policy(table.with_suffix(".toml"))[0]) as found:
        yield found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """One that is only looked at."""
    table = people(tmp_path_factory.mktemp("explore") / "people.duckdb")
    with explorer(table, "people", kanon.read_policy(table.with_suffix(".toml"))[0]) as found:
        yield found


def test_pages_say_which_weights_made_the_loss(table: Path) -> None:
    policy, _ = kanon.read_policy(table.with_suffix(".toml"))
    policy = replace(policy, weights={"AGE": 3})
    with kanon.anonymize(table, "people", policy=policy) as release:
        figure = f"<dd>{release.loss:.4f}".rstrip("0")
    with explorer(table, "people", policy) as explored:
        for page in ("/levels", "/trade-off"):
            text = explored.whole(page)
            assert "<dt>weights</dt><dd>AGE 3; 1 for all others</dd>" in text
            assert figure in text
        assert "<dt>weights</dt>" not in explored.whole("/levels?role.age=left-out")


# To whom it is served


@pytest.mark.thorough
def test_the_first_address_opens_once_and_its_cookie_is_out_of_reach(explored: Explorer) -> None:
    cookie = explored.opened.headers["set-cookie"]
    assert re.search("; HttpOnly;.*SameSite=strict$", cookie)
    assert "token" not in explored.opened.headers["location"]
    assert explored.client.get("/columns").status_code == 200
    path = explored.guard.path
    assert f"; Path={path};" in cookie  # drawn for each run: no server on another port is sent the cookie
    assert len(path) > 20
    assert explored.client.get(f"{HERE}/columns").status_code == 403
    other = TestClient(explored.guard, base_url=HERE, follow_redirects=False)
    for url in (
        "/",
        "/?token=",
        "/?token=x",
        f"/?token={'0' * 43}",
        *explored.opened.request.url.raw_path.decode().split(),
    ):
        assert other.get(url).status_code == 403, url  # also the token itself, which was used
    for page in (*PAGES, "release", "static/htmx.min.js", "nothing"):
        for url in (f"/{page}", f"{path}/{page}"):
            answer = other.get(url)
            assert (answer.status_code, "people" in answer.text) == (403, False)
    other.cookies.set(explored.guard.cookie_name, "wrong")
    assert other.get(f"{path}/columns").status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
        {"host": "localhost:4242"},
        {"host": "127.0.0.1:4242.evil.example"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:4243"},
        {"origin": "https://127.0.0.1:4242"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_site_gets_nothing_and_starts_nothing(
    shared: Explorer, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("something was started"))
    for page in (*PAGES, "release", "static/explore.js"):
        answer = shared.client.get(f"/{page}", headers=headers)
        assert (answer.status_code, "admissions" in answer.text) == (403, False)
    form = {"into": "stolen", "policy_file": "kanon.toml", "form_token": form_token(shared)}
    assert shared.post(form, **headers).status_code == 403
    assert not Path("kanon.toml").exists()


def test_a_form_that_was_not_made_here_starts_nothing(shared: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("something was started"))
    form = {"into": "stolen", "policy_file": "kanon.toml"}
    assert shared.post(form).status_code == 403
    assert shared.post({**form, "form_token": "x"}).status_code == 403
    right = {**form, "form_token": form_token(shared)}
    assert shared.client.post("/publish", data=right).status_code == 403  # a browser sends its Origin
    assert shared.client.post("/columns", data=right, headers={"origin": HERE}).status_code == 405
    assert shared.post({**right, "policy_file": "x" * 1_100_000}).status_code == 413
    assert not Path("kanon.toml").exists()


def test_every_answer_has_the_headers_that_keep_it_here(shared: Explorer) -> None:
    answers = [
        shared.client.get(url) for url in ("/columns/", "/columns", "/static/explore.css", "/nothing", "/levels?k=x")
    ]
    answers.append(shared.client.get("/columns", headers={"host": "evil.example"}))
    assert [answer.status_code for answer in answers] == [404, 200, 200, 404, 400, 403]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


def form_token(explored: Explorer) -> str:
    return next(str(own["value"]) for _, own in explored.get("/publish").elements if own.get("name") == "form_token")


# What is never sent

HOSTILE = [
    "<script>alert(1)</script>",
    '"\' onclick=alert(1) x="',
    "a&b=c;d",
    "select",
    "{{ 70009 * 7 }}",
    "日本 \u202e",
]


@pytest.mark.thorough
def test_hostile_names_and_labels_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    label = "<img src=x onerror=alert(1)>"
    rows = [[label if number % 2 else "'\"&"] * 3 + [f"v{number % 7}"] * 3 for number in range(200)]
    frame = pd.DataFrame(rows, columns=HOSTILE)
    with duckdb.connect("hostile.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute('CREATE TABLE "<b>t" AS FROM frame')
    policy = kanon.Policy(
        columns=kanon.NamedColumns(quasi_identifiers=tuple(HOSTILE[:3]), sensitive=("select",), rest="keep"),
        count="rows",
    )
    with explorer(tmp_path / "hostile.duckdb", "<b>t", policy) as explored:
        found = explored.everything()
        assert all("alert" in found[page] for page in ("columns", "levels", "lattice", "risk", "publish"))
        # A state that names such columns comes back as it was.
        assert explored.workspace.base is not None
        state = State.read(explored.workspace.base, [(f"role.{HOSTILE[0]}", "sensitive"), (f"level.{HOSTILE[1]}", "1")])
        again = Page(explored.whole(state.href("columns")))
        assert ("select", "sensitive") in [
            (tag, "sensitive") for tag, own in again.elements if own.get("name") == f"role.{HOSTILE[0]}"
        ]
        for text in explored.bodies:
            for tag, own in Page(text).elements:
                assert tag not in {"img", "b", "iframe", "style", "base"}
                assert tag != "script" or (own.get("src") or "").startswith("static/")
                assert not [name for name in own if name.startswith("on") or name == "style"]
                for name in ("href", "src", "action", "hx-get", "hx-post"):
                    assert re.match(r"(#|[a-z][a-z0-9/.-]*(\?|$))", own.get(name) or "#")
            assert "490063" not in text


def test_a_name_with_characters_that_cannot_be_seen_comes_back_in_a_form(tmp_path: Path) -> None:
    names = ["age\nx", "zip\u200b", "a\rb"]
    with duckdb.connect(str(tmp_path / "odd.duckdb")) as connection:
        frame = pd.DataFrame([[number % 3] * 3 for number in range(30)], columns=names)
        connection.register("frame", frame)
        connection.execute("CREATE TABLE odd AS FROM frame")
    policy = kanon.Policy(columns=kanon.NamedColumns(quasi_identifiers=tuple(names), rest="drop"), count="rows")
    with explorer(tmp_path / "odd.duckdb", "odd", policy) as explored:
        fields = [
            str(own["name"]) for tag, own in explored.get("/columns").elements if tag == "select" and "name" in own
        ]
        assert {f"role.{name}" for name in names[:2]} <= set(fields)
        sent = [(re.sub("\r\n|\r|\n", "\r\n", field), "sensitive") for field in fields if field.startswith("role.")]
        assert explored.workspace.base is not None
        state = State.read(explored.workspace.base, sent)  # as a browser sends them
        assert state.roles == dict.fromkeys(names, "sensitive")


@pytest.mark.thorough
def test_no_value_that_fewer_than_k_share_is_ever_sent(table: Path) -> None:
    """Names, columns that are dropped, the suppressed row, sensitive values: none; labels of k rows are there."""
    with explorer(table, "people", kanon.read_policy(table.with_suffix(".toml"))[0]) as explored:
        found = explored.everything()
        assert "town 1" in found["columns"]
        assert "20-39" in found["columns"]
        chosen = "?level.age=0&level.town=0"
        for query in (chosen, "?k=2&limit=0.5", "?algorithm=local", "?role.secret=quasi", "?role.name=sensitive"):
            for page in ("columns", "levels", "lattice", "risk", "publish"):  # all but the trade-off
                explored.whole(f"/{page}{query}")
        sent = "\n".join(explored.bodies)
        assert "1 other label" in sent
        for marker in ("RARETOWN", "7919", "NAME0", "NAMEofone", "ILLNESSofone"):
            assert marker not in sent, marker
        assert not re.search("SECRET", "\n".join(found.values()))


@pytest.mark.thorough
def test_a_label_of_many_rows_of_few_people_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("visits.duckdb") as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS person, 'common' AS ward FROM range(50) r(i)")
        connection.execute("INSERT INTO visits SELECT 1, 'MANYROWS' FROM range(30)")
    columns = kanon.NamedColumns(quasi_identifiers=("ward",), entity="person", rest="drop")
    policy = kanon.Policy(columns=columns, hierarchies={"ward": "flat"}, max_suppressed=0.5)
    with explorer(tmp_path / "visits.duckdb", "visits", policy) as explored:
        explored.everything()
        sent = "\n".join(explored.bodies)
        assert "common" in sent
        assert "MANYROWS" not in sent


# What it shows is so


def test_a_node_has_the_figures_of_its_definition(shared: Explorer) -> None:
    def upwards(width: int) -> dict[Any, list[str]]:
        return {age: [f"{age // width * width}", f"{age // 40 * 40}b", "*"] for age in {*AGES, 7919}}

    ages = upwards(20)
    towns = {town: ["*"] for town in {*TOWNS, "RARETOWN"}}
    rows = [*zip(AGES, TOWNS, strict=True), (7919, "RARETOWN")]
    assert shared.workspace.base is not None
    for k in (2, 5, 40):
        policy = State.read(shared.workspace.base, [("k", str(k))]).policy()
        with shared.workspace.bench(policy) as bench:
            for node in all_nodes([ages, towns]):
                expected, found = evaluate(rows, [ages, towns], node, k), bench.figures(policy, node)
                assert found.suppressed == expected.suppressed
                if expected.suppressed < len(rows):
                    assert found.value == pytest.approx(float(expected.loss), abs=1e-12)
                else:
                    assert found.value is None
            middle = (1, 1)
            bench.figures(policy, middle)
            lower = bench.lower(policy, middle)
            assert lower is not None
            assert [step and step.suppressed for step in lower] == [
                evaluate(rows, [ages, towns], step, k).suppressed for step in ((0, 1), (1, 0))
            ]
            bench.look_higher(policy, middle)
            assert bench.knows(policy, (2, 1))


@pytest.mark.thorough
def test_a_level_that_was_chosen_is_in_the_page_the_policy_and_the_release(shared: Explorer) -> None:
    found = shared.everything("?level.age=2&level.town=0")
    assert "level 2 of 3" in found["levels"]
    assert "level 0 of 1" in found["levels"]
    assert re.search(r"\[levels\]\nage = 2\ntown = 0", found["publish"])
    assert re.search("node good selected.*\n*.*2·0", found["lattice"])
    assert "2·0" in found["trade-off"].partition("</main>")[2]  # the release in hand
    pinned = shared.whole("/levels?most.age=0")
    assert "level 0 of 3, as the optimum" in pinned
    too_low = shared.whole("/publish?level.age=0&level.town=0&limit=0")
    assert "At the highest levels that --levels allows" in too_low or "would be suppressed" in too_low


def test_what_is_not_proven_is_not_called_the_optimum(shared: Explorer) -> None:
    for algorithm, title in (("optimal", "the optimum"), ("datafly", "the best that datafly found")):
        found = {page: shared.whole(f"/{page}?algorithm={algorithm}") for page in ("levels", "lattice")}
        assert f"loss of {title}</dt>" in found["levels"]
        assert f", as {title}</p>" in found["levels"]
        assert f"▲</span> {title}</li>" in found["lattice"]
        text = "\n".join(text.partition("<main")[2] for text in found.values())
        assert ("the optimum" in text) == (algorithm == "optimal")
        unproven = "<dt>distance from the best</dt><dd>not known</dd>"
        said = "<dt>proven</dt><dd>optimal</dd>" if algorithm == "optimal" else unproven
        assert said in found["levels"]
    assert shared.workspace.base is not None
    start = shared.workspace.base.start
    unproven = replace(shared.workspace.found(start.policy()).result, optimal=False, gap=0.25, stopped="time limit")
    said = bytes(_part("release", start, Task(lambda _: None, result=unproven)).body).decode()
    assert "<dt>levels</dt><dd>" in said
    assert "<dt>from the optimum, at most</dt><dd>25" in said
    assert "The search was ended (time limit): this is the best release until then" in said


def test_an_algorithm_without_levels_has_none(shared: Explorer) -> None:
    assert shared.workspace.base is not None
    state = State.read(shared.workspace.base, [("algorithm", "local"), ("level.age", "1"), ("most.town", "0")])
    assert (state.levels, state.most) == ({}, {})
    for page in ("levels", "lattice"):
        found = shared.whole(f"/{page}?algorithm=local&level.age=1")
        assert "local gives no level to a column. Shown here is full-domain recoding (optimal)." in found
    assert "use --algorithm optimal" not in shared.whole("/publish?algorithm=local&level.age=1")


@pytest.mark.thorough
def test_pages_are_of_the_files_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hierarchy that was edited, and rows that were added, are what the next page is of; a notice says so."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{number % 4},{'x' if number % 2 else 'y'}" for number in range(40)]
    Path("rows.csv").write_text("\n".join(["a,b", *lines]) + "\n", encoding="utf-8")
    Path("b.csv").write_text("x;LEFT;*\ny;LEFT;*\n", encoding="utf-8")
    columns = kanon.NamedColumns(quasi_identifiers=("a", "b"), rest="drop")
    policy = kanon.Policy(columns=columns, hierarchies={"b": "b.csv"}, count="rows")
    notice = "The file of the table is another one than when kanon explore began"
    with explorer(tmp_path / "rows.csv", None, policy) as explored:
        before = explored.everything()
        assert "LEFT" in before["columns"]
        assert "on the 40 rows" in before["risk"]
        Path("b.csv").write_text("x;RIGHT;*\ny;RIGHT;*\n", encoding="utf-8")
        drawn = explored.whole("/columns")
        assert ("LEFT" in drawn, "RIGHT" in drawn, notice in drawn) == (False, True, False)
        Path("rows.csv").write_text("\n".join(["a,b", *lines, *lines]) + "\n", encoding="utf-8")
        after = explored.everything()
        assert "on the 80 rows" in after["risk"]
        assert all(notice in text for text in after.values())


def test_a_person_whose_column_is_published_as_a_pseudonym_keeps_it(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT i AS patient_id, 'w' AS ward FROM range(70) r(i)")
    columns = kanon.NamedColumns(
        quasi_identifiers=("ward",), entity="patient_id", pseudonymize=("patient_id",), rest="drop"
    )
    given = kanon.Policy(columns=columns, key_file=tmp_path / "key")
    with explorer(tmp_path / "visits.duckdb", "visits", given) as own:
        assert own.workspace.base is not None
        policy = own.workspace.base.start.policy()
        assert (policy.columns.entity, policy.columns.pseudonymize) == ("patient_id", ("patient_id",))
        assert policy.key_file == given.key_file
        assert "names the person, published as a pseudonym" in own.get("/columns").text


def test_the_drawing_of_a_hierarchy_counts_every_row_under_its_parent(shared: Explorer) -> None:
    assert shared.workspace.base is not None
    policy = shared.workspace.base.start.policy()
    with shared.workspace.bench(policy) as bench:
        levels = bench.drawing("age", 5)
    assert [sum(block.rows for block in blocks) for blocks in levels] == [ROWS + 1] * 4
    assert all(blocks[-1].start + blocks[-1].width == pytest.approx(1) for blocks in levels)
    assert {block.label for block in levels[-1]} == {"20", "30", "40", "50", None}
    assert [(block.label, block.rows) for block in levels[1]] == [("0-39", 200), ("40-79", 200), (None, 1)]
    edges = [{round(block.start, 9) for block in blocks} for blocks in levels]
    assert edges[0] <= edges[1] <= edges[2] <= edges[3]


@pytest.mark.thorough
def test_points_of_the_trade_off_are_those_of_the_library(explored: Explorer, table: Path) -> None:
    explored.whole("/trade-off")
    assert explored.workspace.base is not None
    points = {
        (p.algorithm, p.k, p.limit): p
        for p in (task.result for task in explored.workspace.points(explored.workspace.base.start))
    }
    assert {("optimal", 2, "0.02"), ("local", 5, "0.02"), ("optimal", 5, "0.0")} <= set(points)
    for algorithm, k in (("optimal", 50), ("local", 5)):
        with kanon.anonymize(
            str(table),
            "people",
            quasi_identifiers=["age", "town"],
            hierarchies={"age": "intervals:20,40", "town": "flat"},
            k=k,
            algorithm=algorithm,
            rest="drop",
            seed=1,
        ) as release:
            frame = release.to_pandas()
            point = points[algorithm, k, "0.02"]
            assert point.measures == release.measures
            sizes = frame.groupby(["age", "town"], dropna=False).size()
            assert point.risks["highest"] == pytest.approx(1 / sizes.min())
            assert point.risks["average"] == pytest.approx(len(sizes) / len(frame))
            assert point.share_suppressed == pytest.approx(1 - len(frame) / (ROWS + 1))


@pytest.mark.thorough
def test_two_tabs_do_not_disturb_each_other(shared: Explorer) -> None:
    one, other = "/levels?k=5&level.age=2&level.town=1", "/levels?k=40&level.age=1&level.town=0"
    first = [shared.whole(url) for url in (one, other)]
    again = [shared.whole(url) for url in (one, other, one)]
    assert figures_of(again[0]) == figures_of(again[2]) == figures_of(first[0])
    assert figures_of(again[1]) == figures_of(first[1]) != figures_of(first[0])


def figures_of(text: str) -> list[str]:
    return re.findall("<dd>(.*?)</dd>", text.rpartition('id="figures"')[2])[:2]


# The state, and errors in the words of the command line


def test_a_state_is_its_url(shared: Explorer) -> None:
    assert shared.workspace.base is not None
    base: Base = shared.workspace.base
    given = [
        *(("role.name", "person"), ("role.secret", "kept"), ("rule.age", "intervals:10"), ("level.age", "1")),
        *(("most.town", "1"), ("k", "7"), ("limit", "25 rows"), ("algorithm", "datafly"), ("confirmed", "1")),
        *(("measure", "precision"), ("risk", "share")),
    ]
    state = State.read(base, given)
    assert State.read(base, state.parameters()) == state
    assert State.read(base, base.start.parameters()) == base.start
    policy = state.policy()
    assert policy.columns == kanon.NamedColumns(
        quasi_identifiers=("age", "town"), sensitive=("illness",), insensitive=("secret",), rest="drop", entity="name"
    )
    assert (policy.k, policy.max_suppressed, policy.algorithm) == (7, "25 rows", "datafly")
    assert policy.levels == {"age": "1", "town": "..1"}
    assert policy.hierarchies == {"age": "intervals:10", "town": "flat"}
    for role in ROLES:
        assert dict(State.read(base, [("role.age", role)]).roles)["age"] == role


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("k=1", "k is a whole number from 2 to 999,999,999, not &#39;1&#39;."),
        ("k=many", "k is a whole number from 2"),
        ("limit=2", "max_suppressed must be between 0 and 1"),
        ("algorithm=magic", "There is no algorithm &#39;magic&#39;"),
        ("role.age=king", "There is no role &#39;king&#39;"),
        ("role.height=quasi", "There is no column &#39;height&#39; in the table."),
        ("what=this", "There is no setting &#39;what&#39;"),
        ("level.age=-1", "A level is a whole number from 0"),
        (f"k={'9' * 4400}", "k is a whole number from 2"),
        (f"level.age={'9' * 4400}", "A level is a whole number from 0"),
        (f"limit={'9' * 4400} rows", "max_suppressed must be between 0 and 1"),
    ],
)
def test_what_cannot_be_meant_is_said_in_the_page(shared: Explorer, query: str, said: str) -> None:
    assert said in shared.get(f"/columns?{query}", code=400).text


def test_errors_are_those_of_the_command_line(shared: Explorer) -> None:
    run_as_command_line = shared.whole("/levels?role.age=left-out&role.town=left-out")
    assert "No quasi-identifier was named" in run_as_command_line
    assert "Column &#39;age&#39; has levels 0 to 3, not 9." in shared.whole("/levels?level.age=9&level.town=0")
    assert (
        "There is no hierarchy file" in shared.whole("/levels?rule.age=nothing.csv")
        or "nothing.csv" in shared.bodies[-1]
    )
    assert "has a NUL, which no file name has" in shared.whole("/levels?rule.age=%00.csv")


def test_that_rows_are_counted_instead_of_people_is_said(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT 'P' || (i // 7) AS patient_id, 'w' AS ward FROM range(70) r(i)"
        )
    columns = kanon.NamedColumns(quasi_identifiers=("ward",), entity="patient_id", rest="drop")
    with explorer(
        tmp_path / "visits.duckdb", "visits", kanon.Policy(columns=columns, models=(kanon.KAnonymity(5),))
    ) as own:
        notice = "k counts rows here, where the policy that this began with counts people"
        assert notice not in own.get("/columns").text
        assert notice not in own.get("/columns?count=rows").text  # a column names the person
        assert notice in own.get("/columns?count=rows&role.patient_id=left-out").text
        assert "several rows are of one person" in own.whole("/levels?k=7&role.patient_id=identifying")


# Publishing


@pytest.mark.thorough
def test_what_is_published_is_what_the_printed_command_makes(explored: Explorer, table: Path) -> None:
    page = explored.get("/publish?level.age=1&level.town=0")
    form = {
        str(own["name"]): str(own.get("value") or "")
        for tag, own in page.elements
        if tag == "input" and own.get("type") != "checkbox" and str(own.get("name")) not in {"k", "limit"}
    }
    answer = explored.post({**form, "into": "released", "report_file": "report.html"})
    assert answer.status_code == 200
    assert "published and verified" in answer.text
    assert "kanon anonymize --policy kanon.toml --report report.html" in answer.text
    assert Path("report.html").is_file()
    assert run(["anonymize", "--policy", "kanon.toml", "--into", "again", "--ignore-ledger", "-q"]) == 0
    with duckdb.connect(str(table), read_only=True) as connection:
        released, again = (connection.sql(f"FROM {name}").fetchall() for name in ("released", "again"))
    assert len(released) == ROWS
    assert released == again
    assert run(["check", "--policy", "kanon.toml", "-q"]) == 0
    assert {one.entry.name for one in kanon.ledger(str(table))} == {"again", "released"}
    # The pages go on: the table was opened again.
    assert "level 1 of 3" in explored.whole("/levels?level.age=1&level.town=0")
    taken = explored.post({**form, "into": "released"})
    assert "kanon.toml exists already" in taken.text


@pytest.mark.thorough
def test_where_a_policy_publishes_to_is_where_the_form_begins(table: Path) -> None:
    text = table.with_suffix(".toml").read_text(encoding="utf-8")
    table.with_suffix(".toml").write_text(
        f'{text}out = "there.csv"\ndelimiter = ";"\nreplace = true\n', encoding="utf-8"
    )
    policy, destination = kanon.read_policy(table.with_suffix(".toml"))
    with explorer(table, "people", policy, destination) as explored:
        fields = {own.get("name"): own for _, own in explored.get("/publish").elements}
        assert (fields["into"]["value"], Path(str(fields["out"]["value"])).name) == ("", "there.csv")
        assert "checked" in fields["replace"]
        assert 'delimiter = ";"' in explored.bodies[-1].replace("&#34;", '"')
        other = explored.get("/publish/preview?out=&into=released&policy_file=kanon.toml")
        assert "delimiter" not in other.text
        assert "into = " in other.text


@pytest.mark.thorough
def test_what_is_refused_leaves_nothing_behind(explored: Explorer, table: Path) -> None:
    before = there()
    token = form_token(explored)
    form = {
        "form_token": token,
        "policy_file": "kanon.toml",
        "into": "released",
        "limit": "0",
        "level.age": "0",
        "level.town": "0",
    }
    answer = explored.post(form, **{"hx-request": "true"})
    assert "nothing was published" in answer.text
    assert "exit code 4" in answer.text
    assert "At the highest levels that --levels allows, 1 of the 401 rows would be suppressed" in answer.text
    for wrong, said in (
        ({"out": "x.csv"}, "one of the two"),
        ({"into": ""}, "one of the two"),
        ({"policy_file": ""}, "Say where the policy is written"),
        ({"policy_file": "no/where.toml"}, "The directory no does not exist"),
    ):
        assert said in explored.post({**form, **wrong}).text
    assert there() == before
    with duckdb.connect(str(table), read_only=True) as connection:
        assert [name for (name,) in connection.sql("SHOW TABLES").fetchall()] == ["people"]


def there() -> list[str]:
    """Return the files in the directory, but for what an open connection may spill to."""
    return sorted(path.name for path in Path().iterdir() if not path.name.startswith(".kanon-"))


@pytest.mark.thorough
def test_no_module_beside_the_data_is_imported(explored: Explorer) -> None:
    """As kanon itself imports none of the directory that it runs in, and python -m would."""
    for name in ("random", "duckdb", "tomllib", "kanon_sql"):
        Path(f"{name}.py").write_text('open("ran", "w").close()\n', encoding="utf-8")
    form = {"form_token": form_token(explored), "policy_file": "kanon.toml", "into": "released"}
    assert "published and verified" in explored.post(form).text
    assert "ran" not in there()


@pytest.mark.thorough
def test_a_policy_file_is_of_one_release(explored: Explorer) -> None:
    """Of forms that are sent at once with the same policy file one is published; the file is its policy."""
    form = {"form_token": form_token(explored), "policy_file": "kanon.toml"}
    with ThreadPoolExecutor() as threads:
        answers = [one.text for one in threads.map(lambda name: explored.post({**form, "out": f"{name}.csv"}), "abc")]
    assert sorted("published and verified" in text for text in answers) == [False, False, True]
    assert sum("kanon.toml exists already" in text for text in answers) == 2
    (name,) = (name for name in "abc" if Path(f"{name}.csv").exists())
    assert f'out = "{name}.csv"' in Path("kanon.toml").read_text(encoding="utf-8")


def test_no_file_of_another_is_written_over(explored: Explorer) -> None:
    form = {"form_token": form_token(explored), "out": "a.csv", "policy_file": "a.csv", "replace": "1"}
    assert "a.csv is to be a policy: end its name with .toml" in explored.post(form).text
    Path("link.toml").symlink_to("nowhere.toml")
    assert "link.toml: File exists" in explored.post({**form, "policy_file": "link.toml"}).text
    for wrong in ("kanon\n.toml", "kanon\0.toml", "\u202ekanon.toml"):
        assert "has a character that cannot be seen" in explored.post({**form, "policy_file": wrong}).text
    assert Path("link.toml").is_symlink()
    assert there() == ["link.toml", "people.duckdb", "people.toml"]


@pytest.mark.thorough
def test_what_waits_when_it_ends_does_not_begin(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with explorer(table, "people", kanon.read_policy(table.with_suffix(".toml"))[0]) as explored:
        form = {"form_token": form_token(explored), "policy_file": "kanon.toml", "into": "released"}
        explored.pages.close()
        monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("something was started"))
        assert "kanon explore was ended; nothing was published" in explored.post(form).text
        assert not Path("kanon.toml").exists()


# The process


@contextmanager
def started(*arguments: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "kanon_sql", "explore", *arguments, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options) as process:  # noqa: S603 - our own program
        assert process.stdout is not None
        try:
            yield process, next(line.strip() for line in process.stdout if "http://" in line)
        finally:
            process.kill()


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_ends_at_once_and_leaves_nothing_behind(
    table: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = sorted(tmp_path.iterdir())
    own = started("people.duckdb", "people", env={**os.environ, "TMPDIR": str(temporary)})
    with own as (process, url), httpx.Client(follow_redirects=True) as client:
        page = client.get(url)
        assert page.status_code == 200
        while "Refresh" in page.headers:
            time.sleep(0.2)
            page = client.get(str(page.url))
        client.get(page.url.join("trade-off/points"))  # work goes on in the background
        process.send_signal(number)
        assert process.wait(20) == code
    with pytest.raises(httpx.ConnectError):
        httpx.get(page.url)
    assert list(temporary.iterdir()) == []
    assert sorted(tmp_path.iterdir()) == before
    with duckdb.connect(str(table)) as connection:  # for writing: nobody has it
        connection.execute("CREATE TABLE free AS SELECT 1")


def test_a_port_that_is_taken_is_said(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["explore", str(table), "people", "--port", str(port), "--no-browser"]) == 3
    assert f"Port {port} cannot be listened on" in capsys.readouterr().err


def test_it_listens_on_this_machine_alone() -> None:
    from kanon_sql.explore.server import listening

    with listening(0) as own:
        assert own.getsockname()[0] == "127.0.0.1"


def test_what_is_missing_is_said(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["explore", "nothing.duckdb", "--no-browser"]) != 0
    assert "nothing.duckdb" in capsys.readouterr().err
    monkeypatch.setattr("kanon_sql.cli.commands.explore.find_spec", lambda _: None)
    assert run(["explore", str(table), "people"]) == 2
    assert "pip install 'kanon-sql[explore]'" in capsys.readouterr().err


@pytest.mark.thorough
def test_the_trade_off_shows_what_would_lose_less_as_the_library_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remedies, "_LEAST_SECONDS", 600.0)
    columns = ["a", "b", "c"]
    rows = [f"{number % 2},{number % 3},{number % 2}" for number in range(80)]
    rows += [f"{number},{number},{number}" for number in range(10, 18)]  # alone, so that one level of all is too high
    (tmp_path / "t.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")
    policy = kanon.Policy(
        columns=kanon.NamedColumns(quasi_identifiers=tuple(columns)),
        hierarchies=dict.fromkeys(columns, "flat"),
        models=(kanon.KAnonymity(5),),
        max_suppressed=0.0,
        seed=1,
    )
    with kanon.anonymize(tmp_path / "t.csv", policy=policy) as release:
        expected = remedies.remedies(release)
    assert {one.options[0] for one in expected.best} == {"--max-suppressed", "--algorithm"}
    with explorer(tmp_path / "t.csv", None, policy) as shown:
        page = shown.whole("/trade-off").partition("What would lose less")[2]
    for one in expected.best:
        assert f'<td class="number">{one.loss:.4f}</td><td class="number">{one.instead_of:.4f}</td>' in page
        assert one.means in page
    for changed in ("algorithm=local", "limit=10%25"):
        assert f'href="trade-off?{changed}"' in page
