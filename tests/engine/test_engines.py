"""The shared suite: what is said of a table and made of it is the same whichever engine has it."""

from __future__ import annotations

import csv
import datetime as dt
import json
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import ADULT_QI
from engines import BESIDE_DUCKDB, PLACES, Place, duckdb_place, same

import kanon_sql as kanon_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Ended

PEOPLE = {
    "id": "BIGINT", "name": "VARCHAR", "age": "INTEGER", "sex": "VARCHAR", "zip": "VARCHAR", "seen": "DATE",
    "weight": "DOUBLE", "cost": "DECIMAL(10,2)", "well": "BOOLEAN", "disease": "VARCHAR",
}  # fmt: skip
"""Columns of the table that most tests are about: one of each kind."""

DISEASES = ["flu", "cough", "cold", "asthma"]
TREE = "disease;kind;any\nflu;viral;any\ncold;viral;any\ncough;sign;any\nasthma;chronic;any\n"

NOT_THE_SAME = (
    *("seconds", "database", "type", "made_at", "fingerprint", "path_share", "commands"),
    *("remedies", "remedies_untried"),
)
"""What two engines need not agree about: times, what there was time for, and how they name types and places."""


def people(number: int, first: int = 0) -> list[tuple[Any, ...]]:
    """Return rows with NULLs, duplicates and a few who are like nobody else."""
    return [
        (
            i,
            None if i % 41 == 0 else f"person {i // 2}",
            95 + i % 3 if i % 61 == 0 else 20 + (i * 7) % 40,
            None if i % 13 == 0 else ("F", "M")[i * 5 % 7 % 2],
            str(10000 + 10 * (i % 4) + i % 3),
            dt.date(2020, 1, 1) + dt.timedelta(days=i * 11 % 200),
            (i % 5) / 4,
            f"{i % 9}.50",
            i % 2 == 0,
            DISEASES[i * i % 11 % 4],
        )
        for i in range(first, first + number)
    ]


@dataclass
class Pair:
    """An engine, and a DuckDB file with the same tables."""

    here: Place
    there: Place
    directory: Path

    def load(self, table: str, types: dict[str, str], rows: list[tuple[Any, ...]]) -> None:
        """Make a table on both sides."""
        for place in (self.here, self.there):
            place.load(table, types, rows)


@pytest.fixture(scope="module", params=BESIDE_DUCKDB)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """An engine and its reference, with the tables ``people`` and ``everybody``, of whom people are a part."""
    directory = tmp_path_factory.mktemp(request.param)
    (directory / "reference").mkdir()
    with ExitStack() as stack:
        here = stack.enter_context(PLACES[request.param](request, directory))
        there = stack.enter_context(duckdb_place(request, directory / "reference"))
        pair = Pair(here, there, directory)
        pair.load("people", PEOPLE, people(150))
        pair.load("everybody", PEOPLE, people(450))
        (directory / "disease.csv").write_text(TREE)
        yield pair


@pytest.fixture
def both(
    engine: Pair, kanon: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Ended, Ended]]:
    """Run a command on both engines; ``SOURCE`` stands for what a person types."""
    if engine.here.typed is None:
        pytest.skip(f"{engine.here.name} has nothing to type on a command line")

    def call(*arguments: object) -> tuple[Ended, Ended]:
        ended = []
        for place in (engine.here, engine.there):
            directory = tmp_path / ("here" if place is engine.here else "there")
            directory.mkdir(exist_ok=True)
            monkeypatch.chdir(directory)
            ended.append(kanon(*(place.typed if word == "SOURCE" else word for word in arguments)))
        return ended[0], ended[1]

    return call


QI = ("--qi", "age,sex,zip,seen")
ROLES = ("--id", "id,name", *QI, "--sensitive", "disease", "--keep", "weight", "--rest", "keep", "--seed", 1)
FEW = ("--id", "id,name", "--qi", "age,sex", "--sensitive", "disease", "--rest", "drop", "--seed", 1)
TREES = ("--hierarchy", "zip=mask:right:1,2,4", "--hierarchy", "age=intervals:5,10,20,40")

ALGORITHMS = {
    "postgres": ("optimal", "datafly", "local", "mondrian", "mondrian-plus"),
    "spark": ("local",),  # test_spark.py has levels and boxes
}
"""By engine, those that publish in another way: by levels, by combinations, by boxes."""


def alike(ended: tuple[Ended, Ended], *but: str, code: int = 0) -> Any:
    """Require that both ended alike; return what the engine said."""
    here, there = ended
    assert there.code == code, there.err
    assert here.code == code, here.err
    assert same(comparable(here.json), comparable(there.json), but=(*NOT_THE_SAME, *but)) == []
    return here.json


def comparable(said: Any) -> Any:
    """Return what was said without what is another matter on each engine.

    Rows of a warehouse have no order to be attacked by; equal outcomes are listed by the time that they took; and
    the schema that a bare name is in has another name.
    """
    if isinstance(said, dict):
        if "results" in said:
            said = {**said, "results": sorted(said["results"], key=lambda result: (result["algorithm"], result["k"]))}
        return {
            key: [each for each in value if each.get("attack", each.get("name")) != "order"]
            if key == "attacks"
            else comparable(value)
            for key, value in said.items()
            if not (key == "said" and "attacks" in said)  # it counts the attack by order
        }
    if isinstance(said, list):
        return [comparable(each) for each in said]
    return said.removeprefix("public.").removeprefix("suite.") if isinstance(said, str) else said


def rows_alike(engine: Pair, name: str) -> None:
    """Require that a release has the same rows on both."""
    found = [sorted(map(repr, place.rows(name))) for place in (engine.here, engine.there)]
    assert found[0] == found[1]


def test_each_form_makes_the_same_table(engine: Pair, both: Callable[..., Any]) -> None:
    for algorithm in ALGORITHMS[engine.here.name]:
        name = f"by_{algorithm.replace('-', '_')}"
        more = ("--pairs", 1) if algorithm == "mondrian-plus" else ()
        asked = (*ROLES, *TREES, "--algorithm", algorithm, *more, "--ignore-ledger", "--format", "json")
        found = alike(both("anonymize", "SOURCE", "people", *asked, "--into", name))
        assert found["k"] >= 5
        rows_alike(engine, name)


def test_it_counts_people_in_a_population(engine: Pair, both: Callable[..., Any]) -> None:
    """By the names of people, and by the rows of another table, which stay where they are."""
    of_people = ("--qi", "age,sex", "--rest", "drop", "--seed", 1, "--entity", "name", "--id", "id")
    of_others = (*FEW, "--k-map", 10, "--presence", "0.01,0.95", "--population", "everybody", "--max-suppressed", 0.9)
    asked = (
        {"of_others": of_others} if engine.here.name == "spark" else {"of_others": of_others, "of_people": of_people}
    )
    for name, more in asked.items():
        found = both("anonymize", "SOURCE", "people", *more, "--ignore-ledger", "--format", "json", "--into", name)
        assert all(each["holds"] for each in alike(found)["models"])
        rows_alike(engine, name)


@pytest.fixture(scope="module")
def released(engine: Pair) -> Pair:
    """Both with a table ``released``, made of ``people`` by the library."""
    for place in (engine.here, engine.there):
        with kanon_of.anonymize(
            place.source,
            "people",
            identifying=["id", "name"],
            quasi_identifiers=["age", "sex", "zip"],
            sensitive=["disease"],
            rest="drop",
            hierarchies={"zip": "mask:right:1,2,4", "age": "intervals:5,10,20,40"},
            seed=1,
        ) as release:
            release.to_table("released", ignore_ledger=True)
    return engine


RELEASED = ("--qi", "age,sex,zip", *TREES)
VERBS: dict[str, tuple[int, tuple[object, ...]]] = {
    "profile": (0, ("SOURCE", "people", "--entity", "name")),
    "check that fails": (
        1,
        ("SOURCE", "people", *QI, "--sensitive", "disease", "-k", 5, "--l", 2, "--t", 0.4, "--alpha", 0.8, "--beta", 3),
    ),
    "check of people": (1, ("SOURCE", "people", *QI, "--entity", "name", "-k", 3)),
    "check that holds": (0, ("SOURCE", "released", "--qi", "age,sex,zip", "--sensitive", "disease", "-k", 5)),
    "known": (1, ("SOURCE", "people", "--qi", "age,sex,zip", "--max-columns", 2, "-k", 5)),
    "known of people by the original": (
        0,
        ("SOURCE", "released", *RELEASED, "--original", "people", "--entity", "id", "-k", 5),
    ),
    "measure alone": (
        0,
        ("SOURCE", "people", "--qi", "age,sex,zip", "--subsets", 2, "--suda", "--record-weight", "age"),
    ),
    "measure people by weights": (
        0,
        ("SOURCE", "people", "--qi", "sex,zip", "--entity", "id", "--record-weight", "age"),
    ),
    "measure": (0, ("SOURCE", "released", *RELEASED, "--original", "people")),
    "measure people in a population": (
        0,
        ("SOURCE", "people", "--qi", "age,sex", "--entity", "name", "--population", "everybody"),
    ),
    "attack": (0, ("SOURCE", "released", *RELEASED, "--original", "people", "--sensitive", "disease")),
    "compare": (0, ("SOURCE", "people", *RELEASED, "-k", "2,5", "--algorithm", "optimal,datafly")),
    "lattice": (0, ("SOURCE", "people", *RELEASED, "-k", 5)),
    "ledger": (0, ("SOURCE",)),
    "report": (0, ("SOURCE", "people", *RELEASED, "--sensitive", "disease", "--rest", "drop", "--seed", 1)),
    "hierarchy check": (0, ("SOURCE", "people", *TREES)),
    "hierarchy suggest": (0, ("SOURCE", "people")),
    "hierarchy list": (0, ("SOURCE",)),
}
"""By what is done, how it ends and what is said after the verb."""


OF_SPARK = ("profile", "known of people by the original", "ledger", "hierarchy list")
"""What reads a table of Spark in another way; the rest is said of what was read so."""


@pytest.mark.usefixtures("released")
def test_each_verb_says_the_same(engine: Pair, both: Callable[..., Any]) -> None:
    for verb in OF_SPARK if engine.here.name == "spark" else VERBS:
        code, arguments = VERBS[verb]
        words = next(words for words in (verb.split()[:2], verb.split()[:1]) if " ".join(words) in _NAMES)
        alike(both(*words, *arguments, "--format", "json"), code=code)


_NAMES = {
    *("profile", "check", "known", "measure", "attack", "compare", "lattice", "ledger", "report"),
    *("hierarchy check", "hierarchy suggest", "hierarchy list"),
}


def test_files_and_frames_have_the_same_rows(engine: Pair, tmp_path: Path) -> None:
    frames, files = [], []
    for place in (engine.here, engine.there):
        with kanon_of.anonymize(
            place.source, "people", identifying=["id", "name"], quasi_identifiers=["age", "sex", "seen"],
            insensitive=["zip", "weight"], rest="keep", seed=1,
        ) as release:  # fmt: skip
            frames.append(release.to_pandas())
            path = tmp_path / f"{place.name}.parquet"
            release.to_file(path, ignore_ledger=True)
            files.append(sorted(map(repr, duckdb.sql(f"FROM '{path}'").fetchall())))
    assert files[0] == files[1]
    assert list(frames[0].columns) == list(frames[1].columns)
    assert list(frames[0].dtypes) == list(frames[1].dtypes)
    # The order says nothing, and each engine has another one.
    found = [sorted(map(repr, frame.itertuples(index=False, name=None))) for frame in frames]
    assert found[0] == found[1]
    assert len(found[0]) == len(files[0]) > 0


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)  # test_spark.py has a view with the rows of a table
def test_views_have_the_same_rows(engine: Pair, both: Callable[..., Any]) -> None:
    asked = (*ROLES, *TREES, "--ignore-ledger", "--format", "json", "--into")
    for kind in engine.here.kinds[1:]:
        name = f"viewed_{kind.replace('-', '_')}"
        here = engine.here
        for place, how in ((here, kind), (engine.there, "view")):
            with kanon_of.anonymize(
                place.source, "people", identifying=["id", "name"], quasi_identifiers=["age", "sex", "zip"],
                sensitive=["disease"], insensitive=["weight"], rest="keep", seed=1,
                hierarchies={"zip": "mask:right:1,2,4"},
            ) as release:  # fmt: skip
                release.to_view(name, materialized=how == "materialized-view", ignore_ledger=True)
        rows_alike(engine, name)
    alike(both("anonymize", "SOURCE", "people", *asked, "by_command", "--as", "view"))


def test_hierarchies_stand_in_the_database(engine: Pair, both: Callable[..., Any]) -> None:
    file = f"disease={engine.directory / 'disease.csv'}"
    alike(both("hierarchy", "load", "SOURCE", "people", file, "--format", "json"))
    alike(both("hierarchy", "build", "SOURCE", "people", "cost=intervals:2,4", "--format", "json"))
    assert {"kanon.hierarchy_disease", "kanon.hierarchy_cost"} <= engine.here.tables()
    found = alike(both("hierarchy", "list", "SOURCE", "--format", "json"))
    assert "disease" in json.dumps(found)
    alike(both("hierarchy", "show", "SOURCE", "cost", "--format", "json"))
    asked = ("--qi", "cost,disease", "--rest", "drop", "--seed", 1, "--ignore-ledger", "--format", "json")
    alike(both("anonymize", "SOURCE", "people", *asked, "--into", "by_stored"))
    rows_alike(engine, "by_stored")


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_adult_is_the_same_everywhere(engine: Pair, adult: Path) -> None:
    k = 10
    with (adult / "adult.csv").open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file, delimiter=";")
    if "adult" not in engine.here.tables():
        engine.load("adult", dict.fromkeys(names, "VARCHAR"), [tuple(row) for row in rows])
    found = []
    for place in (engine.here, engine.there):
        with kanon_of.anonymize(
            place.source, "adult", quasi_identifiers=ADULT_QI, rest="drop", hierarchies=adult, seed=1,
            models=[kanon_of.KAnonymity(k)],
        ) as release:  # fmt: skip
            published = release.to_table(f"adult_{k}", ignore_ledger=True)
            summary = release.summary(published)
            found.append(
                {name: summary[name] for name in ("levels", "measures", "rows_in", "rows_out", "classes", "k")}
            )
    assert same(*found) == []
    assert found[0]["k"] >= k
