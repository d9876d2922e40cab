"""Releases in which k is required of any m columns: against fixed points and an exhaustive search in plain Python."""

from __future__ import annotations

import itertools
import json
import random
import tempfile
import time
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brute_force
import duckdb
import numpy as np
import pandas as pd
import pytest
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import TABLE, Case, cases, load

import kanon_sql
from kanon_sql.classes.known_classes import Classes, shared_members
from kanon_sql.models.known_subsets import KnownSubsets
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import parse_policy, policy_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Ended

INTO = Destination(into="released")


def members(rows: Sequence[tuple[Any, ...]], numbers: Sequence[int], persons: Sequence[Any] | None) -> Counter[Any]:
    """Return the rows, or the distinct people who are named, of each combination of values."""
    found: defaultdict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for number in numbers:
        found[rows[number]].add(number if persons is None else persons[number])
    return Counter({values: len(own - {None} if persons is not None else own) for values, own in found.items()})


def classes_by(
    rows: Sequence[tuple[Any, ...]], numbers: Sequence[int], m: int, persons: Sequence[Any] | None
) -> dict[tuple[int, ...], Counter[Any]]:
    """Return the members of each class by every choice of m columns, or of all if there are fewer."""
    width = len(rows[0]) if rows else 0
    found = {}
    for chosen in itertools.combinations(range(width), min(m, width)):
        found[chosen] = members([tuple(row[place] for place in chosen) for row in rows], numbers, persons)
    return found


def valid_rows(rows: Sequence[tuple[Any, ...]], k: int, m: int, persons: Sequence[Any] | None = None) -> list[int]:
    """Return the greatest set of rows in which each class by m columns has k members: they are taken out one by one."""
    left = list(range(len(rows)))
    while True:
        sizes = classes_by(rows, left, m, persons)
        small = (
            number
            for number in left
            for chosen, own in sizes.items()
            if own[tuple(rows[number][place] for place in chosen)] < k
        )
        gone = next(small, None)
        if gone is None:
            return left
        left.remove(gone)


tables = st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=14)


@st.composite
def people(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[int | None] | None]:
    """Draw a table, and who its rows are about, if people are counted."""
    rows = draw(tables)
    persons = draw(st.lists(st.sampled_from([0, 1, 2, 3, None]), min_size=len(rows), max_size=len(rows)))
    return rows, persons if draw(st.booleans()) else None


@given(people(), st.integers(1, 4), st.integers(1, 4))
@examples(150)
def test_what_is_left_is_the_greatest_valid_set(
    drawn: tuple[list[tuple[int, ...]], list[int | None] | None], k: int, m: int
) -> None:
    rows, persons = drawn
    counted = Counter(rows)
    distinct = list(counted)
    codes = [np.array([one[place] for one in distinct], dtype=np.int64) for place in range(3)]
    n = np.array([counted[one] for one in distinct], dtype=np.int64)
    own = Classes(codes, n, n)
    if persons is not None:
        named = [(distinct.index(row), who) for row, who in zip(rows, persons, strict=True) if who is not None]
        movers = np.array(named, dtype=np.int64).reshape(-1, 2).T
        own = Classes(codes, n, np.zeros_like(n), (movers[0], movers[1]))
    shared = shared_members(own, m, k)
    left = valid_rows(rows, k, m, persons)
    assert {one for one, by in zip(distinct, shared, strict=True) if by} == {rows[number] for number in left}
    sizes = classes_by(rows, left, m, persons)
    for one, by in zip(distinct, shared, strict=True):
        if by:
            assert by == min(found[tuple(one[place] for place in chosen)] for chosen, found in sizes.items()) >= k


@given(tables, st.integers(2, 4), st.integers(1, 2))
@examples(40)
def test_no_valid_set_of_rows_is_larger(rows: list[tuple[int, ...]], k: int, m: int) -> None:
    """Every set of rows of a small table that is valid is part of what is left."""
    rows = rows[:8]
    left = set(valid_rows(rows, k, m))
    for size in range(len(rows) + 1):
        for chosen in itertools.combinations(range(len(rows)), size):
            if len(valid_rows([rows[number] for number in chosen], k, m)) == size:
                assert set(chosen) <= left


def released(case: Case, m: int, **settings: Any) -> tuple[kanon_sql.Release, duckdb.DuckDBPyConnection]:
    connection, person = load(case)
    with tempfile.TemporaryDirectory() as directory:
        release = kanon_sql.anonymize(
            connection,
            TABLE,
            quasi_identifiers=case.columns,
            rest="drop",
            entity=person,
            count="people" if person else "rows",
            k=case.k,
            models=[kanon_sql.KnownSubsets(m)],
            hierarchies=case.write_hierarchies(Path(directory)),
            max_suppressed=case.max_suppressed,
            **settings,
        )
    return release, connection


@given(cases(max_rows=12), st.integers(1, 4), st.sampled_from(["optimal", "samarati", "incognito", "datafly"]))
@examples(60)
def test_a_release_is_the_best_there_is_and_holds_on_its_rows(case: Case, m: int, algorithm: str) -> None:
    """And so are its rows, those of its script, and what ``check`` says of it."""
    allowed = int(Fraction(str(case.max_suppressed)) * len(case.rows))
    allowed = min(allowed, max(0, len(case.rows) - 1))
    leaves = [set(h) - {None} | {row[i] for row in case.rows if row[i] is None} for i, h in enumerate(case.hierarchies)]
    costs: dict[tuple[int, ...], tuple[list[tuple[Any, ...]], Fraction]] = {}
    for node in brute_force.all_nodes(case.hierarchies):
        labels = [brute_force.label_of(case.hierarchies, row, node) for row in case.rows]
        left = valid_rows(labels, case.k, m, case.persons)
        if len(labels) - len(left) > allowed:
            continue
        cost = Fraction(0)
        for number, label in enumerate(labels):
            own = zip(case.hierarchies, leaves, node, label, strict=True)
            cells = [
                brute_force.cell_cost(h, some, level, cell) if number in set(left) else Fraction(len(some) > 1)
                for h, some, level, cell in own
            ]
            cost += sum(cells, Fraction(0))
        costs[node] = ([labels[number] for number in left], cost)
    if not costs:
        with pytest.raises(kanon_sql.NoSolutionError):
            released(case, m, algorithm=algorithm)
        return
    try:
        release, connection = released(case, m, algorithm=algorithm)
    except kanon_sql.NoSolutionError:
        top = tuple(len(next(iter(h.values()))) for h in case.hierarchies)
        labels = [brute_force.label_of(case.hierarchies, row, top) for row in case.rows]
        assert len(valid_rows(labels, case.k, m, case.persons)) < len(labels)  # the table has fewer than k members
        return
    levels = release.levels
    assert levels is not None
    rows, cost = costs[tuple(levels[name] for name in case.columns)]
    if algorithm == "optimal":
        assert release.optimal
        assert cost == min(each for _, each in costs.values())
    script = release.sql("duckdb", INTO)
    release.to_table("released")
    assert Counter(connection.execute("SELECT * FROM released").fetchall()) == Counter(rows)
    if case.persons is None:
        found = kanon_sql.check(
            connection,
            "released",
            quasi_identifiers=case.columns,
            k=case.k,
            models=[kanon_sql.KnownSubsets(m)],
            count="rows",
        )
        assert found.holds
    again, _ = load(case)
    again.execute(script)
    assert Counter(again.execute("SELECT * FROM released").fetchall()) == Counter(rows)
    release.close()


@pytest.mark.thorough
@given(cases(max_rows=12), st.integers(1, 3), st.sampled_from(["local", "local by price", "spolg"]))
@examples(60)
def test_each_step_publishes_the_greatest_valid_set_of_what_is_left(case: Case, m: int, algorithm: str) -> None:
    """And the rows of the output, of its script, and what ``check`` says of it, are those of all steps together."""
    try:
        with pytest.MonkeyPatch.context() as patch:
            if algorithm == "local by price":
                patch.setattr("kanon_sql.search.local.known_remaining._WORK", 0)
            release, connection = released(case, m, algorithm=algorithm.split(maxsplit=1)[0])
    except kanon_sql.NoSolutionError:
        top = tuple(len(next(iter(h.values()))) for h in case.hierarchies)
        labels = [brute_force.label_of(case.hierarchies, row, top) for row in case.rows]
        assert len(valid_rows(labels, case.k, m, case.persons)) < len(labels)
        return
    left, rows, persons = list(range(len(case.rows))), [], []
    for step in release.steps or []:
        node = tuple(step["levels"][name] for name in case.columns)
        labels = [brute_force.label_of(case.hierarchies, case.rows[number], node) for number in left]
        own = None if case.persons is None else [case.persons[number] for number in left]
        stay = valid_rows(labels, case.k, m, own)
        assert step["rows"] == len(stay) > 0
        rows += [labels[place] for place in stay]
        persons += [] if own is None else [own[place] for place in stay]
        left = [number for place, number in enumerate(left) if place not in set(stay)]
    assert release.rows_suppressed == len(left)
    sizes = classes_by(rows, range(len(rows)), m, persons if case.persons is not None else None)
    smallest = min((size for own in sizes.values() for size in own.values()), default=None)
    assert release.verify().models[0].measured == smallest
    assert release.counts.worst == (smallest,)
    assert smallest is None or smallest >= case.k
    script = release.sql("duckdb", INTO)
    release.to_table("released")
    assert Counter(connection.execute("SELECT * FROM released").fetchall()) == Counter(rows)
    if case.persons is None:
        asked: dict[str, Any] = {"quasi_identifiers": case.columns, "k": case.k, "count": "rows"}
        assert kanon_sql.check(connection, "released", models=[kanon_sql.KnownSubsets(m)], **asked).holds
    again, _ = load(case)
    again.execute(script)
    assert Counter(again.execute("SELECT * FROM released").fetchall()) == Counter(rows)
    release.close()


NAMELESS = Case(
    list("abcd"),
    [("a", "a", "a", "a")] * 7 + [("a", "a", "a", None), ("a", "d", "a", None)],
    [{value: ["*"] for value in "ad"}] * 4,
    1,
    0.0,
    [0] * 7 + [None, 0],
)
"""Each class by one column has a person, and one by all columns has none."""


@pytest.mark.thorough
@example(NAMELESS, 1)
@given(cases(max_rows=14), st.integers(1, 3))
@examples(60)
def test_check_says_of_a_raw_table_what_counting_says(case: Case, m: int) -> None:
    connection, person = load(case)
    found = kanon_sql.check(
        connection,
        TABLE,
        quasi_identifiers=case.columns,
        entity=person,
        k=case.k,
        models=[kanon_sql.KnownSubsets(m)],
        count="people" if person else "rows",
    )
    holds = valid_rows(case.rows, case.k, m, case.persons) == list(range(len(case.rows)))
    known = kanon_sql.known(
        connection,
        TABLE,
        quasi_identifiers=case.columns,
        entity=person,
        k=case.k,
        max_columns=m,
        count="people" if person else "rows",
    )
    assert found.holds is holds is known.holds
    assert found.k == (min(members(case.rows, range(len(case.rows)), case.persons).values(), default=None))


def correlated(rows: int, names: str = "abcdef") -> dict[str, list[int]]:
    """Return a table in which rows are alike by few columns, and alone by all."""
    draw = random.Random(1)  # noqa: S311 - the same table each time
    persons = [draw.randrange(8) for _ in range(rows)]
    return {name: [min(7, max(0, own + draw.choice((-2, -1, 0, 0, 1, 2)))) for own in persons] for name in names}


def write(path: Path, columns: dict[str, list[int]]) -> None:
    pd.DataFrame(columns).to_csv(path, index=False)


ASKED = ["--qi", "a,b,c,d,e,f", "-k", "5"]


@pytest.mark.thorough
def test_it_loses_far_less_than_k_of_all_columns(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    write(in_tmp / "t.csv", correlated(800))
    losses = {}
    for m in (1, 2, 3, 6):
        known = [] if m == 6 else ["--known", m]
        ended = kanon("anonymize", "t.csv", *ASKED, *known, "--out", "out.csv", "--replace", "--format", "json")
        losses[m] = json.loads(ended.out)["measures"]["loss"]
        made = [tuple(row) for row in pd.read_csv("out.csv", dtype=str, keep_default_na=False).to_numpy()]
        assert min(min(own.values()) for own in classes_by(made, range(len(made)), m, None).values()) >= 5
    assert losses[1] <= losses[2] < losses[3] < losses[6]
    assert losses[2] < losses[6] / 2


@pytest.mark.thorough
@pytest.mark.parametrize(("names", "limit"), [("abcdef", []), ("abcdefghijklmnop", ["--time-limit", 12])])
def test_steps_lose_no_more_than_one_node_in_the_same_time(
    kanon: Callable[..., Ended], in_tmp: Path, names: str, limit: list[Any]
) -> None:
    write(in_tmp / "t.csv", correlated(800, names))
    asked = ["anonymize", "t.csv", "--qi", ",".join(names), "-k", 5, "--known", 2, "--max-suppressed", 1, *limit]
    losses = {}
    for algorithm in ("optimal", "local"):
        begun = time.monotonic()
        ended = kanon(*asked, "--algorithm", algorithm, "--out", "out.csv", "--replace", "--format", "json")
        assert not limit or time.monotonic() - begun < 3 * limit[1]
        losses[algorithm] = json.loads(ended.out)["measures"]["loss"]
        made = [tuple(row) for row in pd.read_csv("out.csv", dtype=str, keep_default_na=False).to_numpy()]
        assert min(min(own.values()) for own in classes_by(made, range(len(made)), 2, None).values()) >= 5
    assert losses["local"] < losses["optimal"]


@pytest.mark.thorough
def test_what_is_printed_promises_nothing_of_more_columns(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    write(in_tmp / "t.csv", correlated(800))
    ended = kanon("anonymize", "t.csv", *ASKED, "--known", 2, "--out", "out.csv")
    assert "k-anonymity of any 2 columns  k = 5 holds in the output: smallest class by so many has" in ended.out
    said = " ".join(ended.out.split())
    assert "by all columns smallest class has 1 row: no promise holds where more columns are known" in said
    assert kanon("check", "out.csv", *ASKED, "--known", 2).code == 0
    assert kanon("known", "out.csv", *ASKED, "--max-columns", 2).code == 0
    assert kanon("check", "out.csv", *ASKED).code == 1
    failing = kanon("check", "out.csv", *ASKED, "--known", 4)
    assert failing.code == 1
    assert "k-anonymity of any 4 columns  k = 5 DOES NOT HOLD: smallest class by so many has" in failing.out


@pytest.mark.thorough
def test_a_report_reads_as_it_is(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    write(in_tmp / "t.csv", correlated(800))
    assert kanon("report", "t.csv", *ASKED, "--known", 2, "--out", "r.md").code == 0
    report = " ".join(Path("r.md").read_text(encoding="utf-8").split())
    assert "until every row is like enough others in any 2 columns." in report
    assert "Some rows are like no other: whoever knows these columns of such a person finds the row." in report
    assert "| k-anonymity of any 2 columns | **holds** | k = 5 | " in report


@pytest.mark.thorough
def test_a_policy_file_says_the_same(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    write(in_tmp / "t.csv", correlated(800))
    kanon("anonymize", "t.csv", *ASKED, "--known", 2, "--out", "one.csv", "--seed", 1, "--save-policy", "kanon.toml")
    text = Path("kanon.toml").read_text(encoding="utf-8")
    assert "known = 2" in text
    assert "k = 5" in text
    policy, destination = parse_policy(text, in_tmp / "kanon.toml")
    assert policy.models == (KnownSubsets(2, 5),)
    assert parse_policy(policy_text(policy, destination, in_tmp), in_tmp / "kanon.toml")[0] == policy
    kanon("anonymize", "--policy", "kanon.toml", "--out", "two.csv")
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    assert "any 2 columns of 6 known" in kanon("known", "two.csv", "--policy", "kanon.toml").out
    assert kanon("check", "two.csv", "--policy", "kanon.toml").code == 0
    # The command line goes before the file, each for itself.
    assert "k-anonymity of any 2 columns  k = 9" in kanon("check", "two.csv", "--policy", "kanon.toml", "-k", 9).out
    assert "k-anonymity of any 1 column  k = 5" in kanon("check", "two.csv", "--policy", "kanon.toml", "--known", 1).out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--l", "sick=2", "--sensitive", "sick"], "stands alone: leave distinct l-diversity out"),
        (["--algorithm", "mondrian"], "mondrian makes each class by itself"),
        (["--algorithm", "mondrian-plus"], "mondrian-plus makes each class by itself"),
        (["--algorithm", "local", "--prove"], "may lose less than that: leave --prove out, or --known"),
        (["--measure", "discernibility"], "of which k-anonymity of any 2 columns requires none: use --measure loss"),
        (["--pseudonymize", "name"], "leave --pseudonymize out, or --known"),
        (["--known", "0"], "must be a whole number of at least 1, not 0"),
        (["--known", "a=2"], "is not about a column"),
        (["--known", "two"], "--known is written M, not 'two'."),
    ],
)
def test_what_it_does_not_go_with_is_refused(
    kanon: Callable[..., Ended], in_tmp: Path, more: list[str], said: str
) -> None:
    columns: dict[str, Any] = {**correlated(50), "sick": [1, 2] * 25, "name": [f"n{n}" for n in range(50)]}
    write(in_tmp / "t.csv", columns)
    ended = kanon("anonymize", "t.csv", *ASKED, "--rest", "drop", "--known", 2, "--out", "out.csv", *more)
    assert ended.code == 2
    assert said in ended.err
    assert not Path("out.csv").exists()


def database(path: Path) -> Path:
    pd.DataFrame(correlated(800)).to_csv(path / "t.csv", index=False)
    with duckdb.connect(path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS FROM read_csv('t.csv')")
    return path / "t.duckdb"


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", [[], ["--algorithm", "spolg"]])
def test_a_second_release_is_refused_since_it_cannot_be_compared(
    kanon: Callable[..., Ended], in_tmp: Path, algorithm: list[str]
) -> None:
    database(in_tmp)
    in_t = ["t.duckdb", "t", *ASKED]
    assert kanon("anonymize", *in_t, "--known", 2, "--into", "few", *algorithm).code == 0
    assert "k-anonymity of any 2 columns 5" in kanon("ledger", "t.duckdb").out
    for models in ([], ["--known", 2, "--max-suppressed", 0]):
        ended = kanon("anonymize", *in_t, *models, "--into", "more")
        assert ended.code == 1
        assert "k is required of some columns, and classes by all columns are compared" in ended.err
        assert "Make one release of the table only" in ended.err
    assert kanon("anonymize", *in_t, "--into", "more", "--ignore-ledger").code == 0
    # Where nothing is left out, and the one is made of the other, a second one says nothing new.
    assert kanon("ledger", "t.duckdb", "--forget", "few").code == 0
    assert kanon("ledger", "t.duckdb", "--forget", "more").code == 0
    assert kanon("anonymize", *in_t, "--known", 2, "--into", "one").code == 0
    assert kanon("anonymize", *in_t, "--known", 2, "--out", "one.csv").code == 0  # the same levels


@pytest.mark.thorough
def test_a_release_further_down_promises_no_less_than_the_first(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    """Found by an adversary: nothing is left out, so that the second one is all there is to know, and it is weaker."""
    database(in_tmp)
    in_t = ["anonymize", "t.duckdb", "t", *ASKED, "--max-suppressed", 0]
    assert kanon(*in_t, "--into", "all").code == 0
    refused = kanon(*in_t, "--known", 1, "--into", "one")
    assert refused.code == 1
    assert "classes by all columns are compared" in refused.err
    assert kanon("ledger", "t.duckdb", "--forget", "all").code == 0
    assert kanon(*in_t, "--known", 1, "--into", "one").code == 0
    assert kanon(*in_t, "--known", 2, "--into", "two").code == 0  # further up: it is made of the first
    assert kanon(*in_t, "--into", "again").code == 0


@pytest.mark.thorough
def test_a_script_on_other_rows_says_that_k_does_not_hold(in_tmp: Path) -> None:
    """Found by an adversary: the classes that stay are a list, and a script may be run on fewer rows."""
    path = database(in_tmp)
    asked: dict[str, Any] = {"quasi_identifiers": list("abcdef"), "k": 5, "models": [KnownSubsets(2)]}
    with kanon_sql.anonymize(path, "t", **asked) as release:
        *_, classes, by_some = [text for name, text in release.plan(INTO).statements_for("duckdb") if "Check" in name]
        assert "FALSE" not in classes
        script = release.sql("duckdb", INTO)
    assert "in the rows of today: run it on these rows only" in script
    for rows, holds in ((800, True), (300, False)):
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t AS FROM read_csv('t.csv') LIMIT ?", [rows])
            connection.execute(script)
            _, smallest, failing = connection.execute(by_some).fetchall()[0]
        assert (failing == 0) is (smallest >= 5) is holds


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_figures_of_people_are_people(kanon: Callable[..., Ended]) -> None:
    """Found by an adversary: two rows of each of 60 people, all alike by each column and alone by both."""
    rows = [(person, person % 6, person % 10) for person in range(60) for _ in range(2)]
    pd.DataFrame(rows, columns=["who", "a", "b"]).to_csv("t.csv", index=False)
    asked = ["--qi", "a,b", "--entity", "who", "-k", 2, "--known", 1]
    found = json.loads(kanon("anonymize", "t.csv", *asked, "--out", "out.csv", "--format", "json").out)
    assert (found["k"], found["smallest_class"], found["smallest_class_people"]) == (2, 4, 2)
    with kanon_sql.anonymize(
        "t.csv", quasi_identifiers=["a", "b"], entity="who", k=2, models=[KnownSubsets(1)]
    ) as made:
        assert made.summary()["k"] is None  # until they are counted
    checked = json.loads(kanon("check", "out.csv", *asked, "--original", "t.csv", "--format", "json").out)
    assert (checked["k"], checked["smallest_class_people"], checked["holds"]) == (2, 2, True)
    assert "smallest class has 2 people: no promise holds" in kanon(
        "anonymize", "t.csv", *asked, "--out", "two.csv"
    ).out.replace("\n", " ")


@pytest.mark.thorough
def test_limits_hold_of_a_prepared_table_too(in_tmp: Path) -> None:
    """Found by an adversary: models may be given later than the columns."""
    columns = {f"c{number}": [0, 1] * 10 for number in range(30)} | {"name": list(range(20))}
    write(in_tmp / "t.csv", columns)
    few = ["c0", "c1"]
    with (
        kanon_sql.prepare("t.csv", quasi_identifiers=few, pseudonymize=["name"], rest="drop", k=2) as prepared,
        pytest.raises(kanon_sql.UnsuitableError, match="leave pseudonymize out, or KnownSubsets"),
    ):
        prepared.anonymize(models=[KnownSubsets(1)])
    with kanon_sql.prepare("t.csv", quasi_identifiers=list(columns)[:-1], rest="drop", k=2) as prepared:
        with pytest.raises(kanon_sql.UnsuitableError, match="593,775 subsets of 6 columns"):
            prepared.anonymize(models=[KnownSubsets(6)])
        with pytest.raises(kanon_sql.UnsuitableError, match="is made from sizes of classes by all columns"):
            prepared.lattice(models=[KnownSubsets(1)], measure="discernibility")


@pytest.mark.thorough
def test_an_attack_that_knows_all_columns_says_what_would_stop_it(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    write(in_tmp / "t.csv", correlated(800))
    kanon("anonymize", "t.csv", *ASKED, "--known", 2, "--out", "out.csv", "--save-policy", "kanon.toml")
    ended = kanon("attack", "out.csv", "--original", "t.csv", "--policy", "kanon.toml")
    assert ended.code == 1
    assert "every such column in --qi, and no --known;" in " ".join(ended.out.split())


@pytest.mark.thorough
def test_views_and_locks_are_refused_and_a_table_in_place_is_not(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    database(in_tmp)
    in_t = ["anonymize", "t.duckdb", "t", *ASKED, "--known", 2]
    assert "a view shows later rows too" in kanon(*in_t, "--into", "v", "--as", "view").err
    assert "cannot be a view" in kanon(*in_t, "--algorithm", "spolg", "--into", "v", "--as", "view").err
    assert "compares a class with rows outside of it" in kanon(*in_t, "--into", "l", "--lock", "t.lock").err
    assert kanon(*in_t, "--algorithm", "spolg", "--out", "out.csv").code == 0
    assert kanon("check", "out.csv", *ASKED, "--known", 2).code == 0
    assert kanon(*in_t, "--in-place", "--no-backup", "--ignore-ledger").code == 0
    assert kanon("check", "t.duckdb", "t", *ASKED, "--known", 2).code == 0


@pytest.mark.thorough
def test_prepared_tables_and_comparisons_know_it(in_tmp: Path) -> None:
    write(in_tmp / "t.csv", correlated(800))
    with kanon_sql.prepare("t.csv", quasi_identifiers=list("abcdef"), k=5, models=[KnownSubsets(2)]) as prepared:
        first = prepared.anonymize()
        losses = {k: prepared.anonymize(models=[KnownSubsets(2, k)]).loss for k in (2, 5, 20)}
        assert losses[2] <= losses[5] == first.loss <= losses[20]
        compared = prepared.compare(algorithms=["optimal", "datafly"], k=[5, 20])
        found = {(one.algorithm, one.k): one.loss for one in compared.results}
        assert found["optimal", 5] == losses[5]
        assert found["optimal", 20] == losses[20]
        assert first.verify().models[0].measured == 5
        assert {one.smallest for one in compared.results} == {1}  # by all columns, as its heading says
        steps = prepared.anonymize(algorithm="local")
        in_steps = prepared.compare(algorithms=["local"], k=[5]).results[0]
        assert steps.loss == in_steps.loss < first.loss
        suppressed = {tuple(node.levels.values()): node.rows_suppressed for node in prepared.lattice()}
        assert first.levels is not None
        assert suppressed[tuple(first.levels.values())] == first.rows_suppressed


def test_too_many_subsets_are_refused(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    columns = {f"c{number}": [0, 1] * 10 for number in range(30)}
    write(in_tmp / "t.csv", columns)
    ended = kanon("anonymize", "t.csv", "--qi", ",".join(columns), "--known", 5, "--out", "out.csv")
    assert ended.code == 2
    assert "142,506 subsets of 5 columns" in ended.err
    assert "--known 3" in ended.err
