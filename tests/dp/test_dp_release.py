"""``kanon dp release``: what is published, what is told, and what the data have no say in."""

from __future__ import annotations

import ast
import hmac
import json
import re
import tempfile
from collections import Counter
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import REPOSITORY, tables_of
from effort import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from needs import needs
from sqlglot import exp

import kanon_sql.dp
from kanon_sql.classes.frequency import build_frequency
from kanon_sql.classes.lattice import Lattice
from kanon_sql.cli.commands import dp_release
from kanon_sql.dp import releaser
from kanon_sql.dp.account import Limits
from kanon_sql.dp.safepub import k_for, parameters_of
from kanon_sql.dp.sampling import (
    MOST_NODES,
    SCALE,
    candidates,
    copied_value,
    copy_rows_statement,
    draw_sample,
    fixed_rules,
    make_fixed,
    sample_statement,
    scores,
    weight,
)
from kanon_sql.engine.keys import padded
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import HierarchyError, KanonError, NoSolutionError, UsageError
from kanon_sql.policy.policy import Policy
from kanon_sql.sql.build import aliased, column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conftest import Ended

    from kanon_sql.engine.sources.open_source import Source

KEY = b"a key that is fixed for the tests"
ROWS = 1997


def sampled(row: int, threshold: int) -> bool:
    """Tell whether KEY samples a row, counted from 1: by Python's own HMAC."""
    return int(hmac.new(KEY, str(row).encode(), "sha256").hexdigest()[:16], 16) < threshold


@pytest.fixture
def charged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Decimal, Decimal]]:
    """What is charged, instead of a budget; and a key that is known."""
    found: list[tuple[Decimal, Decimal]] = []
    monkeypatch.setattr(releaser, "_charge", lambda _source, _kept, epsilon, delta: found.append((epsilon, delta)))
    monkeypatch.setattr(releaser, "draw_key", lambda: padded(KEY, drawn=True))
    monkeypatch.setattr(releaser, "choose", lambda found, _sensitivity, _epsilon, **_: found.index(max(found)))
    monkeypatch.setattr(releaser, "opendp", lambda: None)
    return found


@pytest.fixture
def database(in_tmp: Path) -> Path:
    """A table of 1,997 people, each in one row."""
    path = in_tmp / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT 'Name ' || i AS name, (20 + i % 50)::UTINYINT AS age, "
            "CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex, i * 3 AS income FROM range(?) AS t(i)",
            [ROWS],
        )
    return path


ASKED = ("--qi", "age,sex", "--hierarchy", "age=intervals:10,20", "--hierarchy", "sex=flat", "--epsilon", 1)
LEVELS = ("--levels", "age=1,sex=0")


# What is sampled


def sample_of(rows: int, threshold: int, key: bytes = KEY) -> list[int]:
    """Return which rows of a table are sampled, by the statement itself."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i + 1 AS i FROM range(?) AS r(i)", [rows])
    source = open_source(connection, "t")
    sample = source.engine.temporary_name("kanon_sample")
    statement = sample_statement(sample, source.relation, {"i": column("i", "source")}, threshold)
    draw_sample(source.engine, statement, padded(key, drawn=True))
    return [row for (row,) in source.engine.rows(exp.select("i").from_(sample).order_by("i"))]


def test_a_row_is_sampled_if_its_hash_is_below_the_threshold() -> None:
    threshold = parameters_of(Decimal("0.7"), 5).threshold
    assert sample_of(3000, threshold) == [row for row in range(1, 3001) if sampled(row, threshold)]
    assert sample_of(100, 0) == []
    assert len(sample_of(100, 2**64 - 1)) == 100


@pytest.mark.thorough
def test_rows_are_sampled_with_the_rate_and_independently() -> None:
    """Over 50 keys, with a probability below 1e-9 that true coins would fail here.

    By Hoeffding the share of N = 100,000 coins errs by more than 0.0104 with one of 2 exp(-2 N 0.0104^2) = 8e-10, and
    that of 50,000 pairs of coins by more than 0.0147 as rarely.
    """
    threshold = parameters_of(Decimal(1), 5).threshold
    rate = threshold / 2**64
    keys = [bytes([number]) * 32 for number in range(50)]
    samples = [set(sample_of(2000, threshold, key)) for key in keys]
    assert sum(map(len, samples)) / 100_000 == pytest.approx(rate, abs=0.0104)
    pairs = sum(row in sample and row + 1 in sample for sample in samples for row in range(1, 2001, 2))
    assert pairs / 50_000 == pytest.approx(rate**2, abs=0.0147)
    across = sum(len(one & other) for one, other in zip(samples[::2], samples[1::2], strict=True))
    assert across / 50_000 == pytest.approx(rate**2, abs=0.0147)


@pytest.mark.usefixtures("charged")
def test_only_sampled_rows_are_in_the_release() -> None:
    frame = pd.DataFrame({"id": range(1, 501), "secret": "s"})
    with releaser.release(
        frame, quasi_identifiers=["id"], hierarchies={"id": "flat"}, epsilon="0.5", k=1, levels={"id": 0}
    ) as release:
        found = release.to_pandas()
    threshold = parameters_of(Decimal("0.5"), 1).threshold
    assert list(found.columns) == ["id"]
    assert sorted(found["id"]) == [row for row in range(1, 501) if sampled(row, threshold)]


def test_each_release_has_a_key_of_its_own(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releaser, "_charge", lambda *_: None)
    found = []
    for _ in range(2):
        with releaser.release(
            database, quasi_identifiers=["income"], hierarchies={"income": "flat"}, epsilon=1, k=1, levels={"income": 0}
        ) as release:
            found.append(set(release.to_pandas()["income"]))
    assert found[0] != found[1]


def test_a_profile_would_show_the_key(charged: list[Any]) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS a; PRAGMA enable_profiling")
    with pytest.raises(UsageError, match="profiles"):
        releaser.release(
            connection, quasi_identifiers=["a"], hierarchies={"a": "flat"}, epsilon=1, k=1, levels={"a": 0}
        )
    assert charged


def test_no_other_randomness() -> None:
    """Neither Python's nor the engine's: modules import no generator, and no statement calls one."""
    allowed = {"secrets"}
    for path in [*Path(kanon_sql.dp.__file__).parent.rglob("*.py"), Path(dp_release.__file__)]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        }
        assert not {name for name in imported if "random" in name or name.startswith("numpy")} - allowed, path


@pytest.mark.usefixtures("charged")
def test_no_statement_draws_and_no_log_has_the_key(database: Path) -> None:
    with releaser.release(
        database, quasi_identifiers=["age", "sex"], hierarchies={"age": "intervals:10", "sex": "flat"}, epsilon=1, k=20
    ) as release:
        release.to_pandas()
        logged = release._drawn.source.engine.statements  # noqa: SLF001 - all that was run
        texts = [one.statement.sql(dialect="duckdb").upper() for one in logged]
        for generator in ("RANDOM", "SETSEED", "TABLESAMPLE", "UUID"):
            assert not [text for text in texts if generator in text]
        # HASH orders the rows of the release; no condition is about it
        assert all(" HASH(" not in text.partition(" ORDER BY ")[0] for text in texts)
        assert not [one for one in logged if any(isinstance(value, bytes) for value in one.parameters.values())]
        assert "$KANON_INNER_KEY" in " ".join(texts)


# What is told


@pytest.mark.thorough
def test_a_release_from_the_command_line(
    database: Path, kanon: Callable[..., Ended], charged: list[tuple[Decimal, Decimal]]
) -> None:
    ended = kanon(
        "dp", "release", database, *ASKED, *LEVELS, "--delta", "0.000001", "--into", "released", "--format", "json"
    )
    assert ended.code == 0, ended.err
    assert (ended.json["k"], ended.json["levels"]) == (74, {"age": 1, "sex": 0})
    assert charged == [(Decimal(1), Decimal(str(ended.json["delta"])))]
    assert ended.json["delta"] <= 0.000001
    assert kanon("check", database, "released", "--qi", "age,sex", "-k", 74).code == 0
    threshold = parameters_of(Decimal(1), 74).threshold
    with duckdb.connect(str(database)) as connection:
        rows = connection.table("people").project("name, age, sex").fetchall()
        found = Counter(connection.table("released").fetchall())
    labels = Counter(
        (f"{age // 10 * 10}-{age // 10 * 10 + 9}", sex)
        for number, (_, age, sex) in enumerate(rows, start=1)
        if sampled(number, threshold)
    )
    assert found == Counter({label: n for label, n in labels.items() if n >= 74})
    assert (ended.json["rows_out"], ended.json["classes"]) == (found.total(), len(found))
    assert ended.json["smallest_class"] == min(found.values())


@pytest.mark.thorough
def test_a_column_that_became_the_root_is_warned_of(
    database: Path, kanon: Callable[..., Ended], charged: list[tuple[Decimal, Decimal]]
) -> None:
    """Fails on 0.1.0, which says nothing; ``kanon anonymize`` says it too."""
    said = "Empty columns (every row has the root of the hierarchy): sex."
    warned = kanon("dp", "release", database, *ASKED, "--levels", "age=1,sex=1", "-k", 30, "--into", "released")
    assert warned.code == 0, warned.err
    assert said in warned.err
    not_warned = kanon(
        "dp", "release", database, "people", *ASKED, *LEVELS, "-k", 30, "--into", "released", "--replace"
    )
    assert "Empty columns" not in not_warned.err
    by_k = kanon("anonymize", database, "people", "--qi", "sex", "--hierarchy", "sex=flat", "--rest", "drop",
                 "-k", ROWS, "--into", "by_k")  # fmt: skip
    assert by_k.code == 0, by_k.err
    assert re.search(r"Empty columns \(.*\): sex\.", by_k.err)
    assert len(charged) == 2


@pytest.mark.thorough
def test_nothing_exact_about_the_table_or_the_sample_is_told(
    database: Path, kanon: Callable[..., Ended], charged: list[Any]
) -> None:
    """23 people are too few: how many there are, how many were sampled and left out is told nowhere."""
    with duckdb.connect(str(database)) as connection:
        connection.execute("UPDATE people SET age = 99 WHERE income < 3 * 23")
    before = set(tables_of(database))
    threshold = parameters_of(Decimal(1), 30).threshold
    in_sample = sum(sampled(row, threshold) for row in range(1, ROWS + 1))
    said = ""
    for extra in (("--format", "json"), ("-v",), ("--out", "r.csv"), ("-q", "--out", "r.parquet")):
        into = () if "--out" in extra else ("--into", "released", "--replace")
        ended = kanon("dp", "release", database, "people", *ASKED, *LEVELS, "-k", 30, *into, *extra)
        assert ended.code == 0, ended.err
        said += ended.out + ended.err
        if "json" in extra:
            assert set(ended.json) == {
                *("mechanism", "source", "destination", "epsilon", "epsilon_search", "delta", "k", "beta", "gamma"),
                *("levels", "heights", "hierarchies", "rows_out", "classes", "smallest_class", "assumptions"),
            }
            left_out = in_sample - ended.json["rows_out"]
            assert 0 < left_out < 30
    for secret in (ROWS, in_sample, ROWS - in_sample, left_out, ROWS - ended_rows(database)):
        assert not any(form in said.replace(",", "").split() for form in (f"{secret}", f"{secret}.")), secret
    assert len(charged) == 4
    assert set(tables_of(database)) == {*before, "main.released"}  # no ledger, which would have rows_in
    assert kanon("ledger", database, "--format", "json").json["releases"] == []


def ended_rows(database: Path) -> int:
    return len(tables_of(database)["main.released"])


@pytest.mark.thorough
def test_the_sql_reads_nothing_and_shows_no_key(
    database: Path, kanon: Callable[..., Ended], charged: list[Any]
) -> None:
    before = tables_of(database)
    ended = kanon("dp", "release", database, *ASKED, *LEVELS, "-k", 30, "--into", "released", "--sql")
    assert ended.code == 0, ended.err
    assert charged == []
    assert tables_of(database) == before
    assert "$kanon_inner_key" in ended.out
    assert KEY.decode() not in ended.out
    assert "drawn again each time" in ended.out
    assert str(ROWS) not in ended.out
    assert "name" not in ended.out.split("column_name")[0].split()  # of the person: it is never read
    chosen = kanon("dp", "release", database, *ASKED, "-k", 30, "--sql")
    assert chosen.code == 2
    assert "--levels" in chosen.err
    foreign = kanon("dp", "release", database, *ASKED, *LEVELS, "-k", 30, "--sql", "--dialect", "postgres")
    assert foreign.code == 2


def test_the_sql_makes_the_same_release_with_the_same_key(database: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("dp", "release", database, *ASKED, *LEVELS, "-k", 30, "--into", "by_hand", "--sql")
    key = padded(KEY, drawn=True)
    with duckdb.connect(str(database)) as connection:
        for statement in connection.extract_statements(ended.out):
            bound = {"kanon_inner_key": key.inner.value, "kanon_outer_key": key.outer.value}
            connection.execute(statement, bound if "$kanon_inner_key" in statement.query else None).fetchall()
        threshold = parameters_of(Decimal(1), 30).threshold
        assert 0 < len(connection.table("by_hand")) <= sum(sampled(row, threshold) for row in range(1, ROWS + 1))


@pytest.mark.thorough
def test_an_empty_release_is_none_and_says_nothing_exact(
    database: Path, in_tmp: Path, kanon: Callable[..., Ended], charged: list[Any]
) -> None:
    """Also of a table without rows, or with fewer than k: their messages are the same."""
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE nobody AS FROM people LIMIT 0; CREATE TABLE few AS FROM people LIMIT 7")
    said = {
        kanon("dp", "release", database, table, *ASKED, *LEVELS, "-k", k, "--out", "r.csv").err
        for table, k in (("people", 5000), ("nobody", 5000), ("few", 5000))
    }
    assert len(said) == 1
    assert "5,000 rows" in said.pop()
    assert len(charged) == 3
    assert not (in_tmp / "r.csv").exists()


def test_what_costs_too_much_is_not_sampled(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(releaser, "draw_sample", lambda *_: ran.append("sample"))
    monkeypatch.setattr(releaser, "scores", lambda *_: ran.append("scores"))

    def refuse(*_: object) -> None:
        raise KanonError("too much")

    monkeypatch.setattr(releaser, "_charge", refuse)
    monkeypatch.setattr(releaser, "opendp", lambda: ran.append("OpenDP"))
    for levels in ({"age": 0}, None):
        with pytest.raises(KanonError, match="too much"):
            releaser.release(
                database, quasi_identifiers=["age"], hierarchies={"age": "flat"}, epsilon=1, k=5, levels=levels
            )
    assert ran == ["OpenDP"]  # whether it is there is asked before, and only where levels are to be chosen


@pytest.mark.usefixtures("charged")
def test_a_failure_after_it_was_paid_for_says_no_counts(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise HierarchyError("17 values of 1,997 rows")

    monkeypatch.setattr(releaser, "build_frequency", fail)
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "hierarchies": {"age": "flat"}, "epsilon": 1, "k": 5}
    for levels in ({"age": 0}, None):
        with pytest.raises(HierarchyError, match="is not said") as raised:
            releaser.release(database, **asked, levels=levels)
        assert "17" not in str(raised.value)
        assert raised.value.__suppress_context__


# What is chosen


@pytest.mark.thorough
def test_levels_are_chosen_for_a_part_of_epsilon(
    database: Path, kanon: Callable[..., Ended], charged: list[tuple[Decimal, Decimal]], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[tuple[int, Decimal]] = []

    def choose(found: Sequence[int], sensitivity: int, epsilon: Decimal, *, monotone: bool) -> int:
        assert monotone, "all scores change in the same direction"
        chosen.append((sensitivity, epsilon))
        return len(found) - 2

    monkeypatch.setattr(releaser, "choose", choose)
    ended = kanon("dp", "release", database, *ASKED, "-k", 40, "--out", "r.csv", "--format", "json")
    assert ended.code == 0, ended.err
    assert chosen == [(SCALE, Decimal("0.1"))]
    assert charged == [(Decimal(1), parameters_of(Decimal("0.9"), 40).delta)]
    assert ended.json["levels"] == {"age": 3, "sex": 0}  # the last but one of all combinations
    assert (ended.json["epsilon"], ended.json["epsilon_search"]) == (1, 0.1)
    ended = kanon("dp", "release", database, *ASKED, "-k", 40, "--epsilon-search", "0.25", "--out", "s.csv")
    assert ended.code == 0, ended.err
    assert "of which 0.25 chose the levels" in ended.out
    assert charged[1] == (Decimal(1), parameters_of(Decimal("0.75"), 40).delta)


def frequency_of(rows: Sequence[tuple[Any, ...]]) -> tuple[Any, Lattice]:
    source = source_of(rows, ("age INTEGER", "sex VARCHAR"))
    policy = Policy(hierarchies={"age": "intervals:5,10", "sex": "flat"})
    trees = hierarchies_of(source, policy)
    return build_frequency(source.engine, source.relation, trees, None), Lattice(tuple(tree.height for tree in trees))


def source_of(rows: Sequence[tuple[Any, ...]], columns: Sequence[str]) -> Source:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({', '.join(columns)})")
    if rows:
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    return open_source(connection, "t")


def hierarchies_of(source: Source, policy: Policy) -> tuple[Any, ...]:
    """Return the hierarchies of a table, which is replaced by what is copied of it."""
    rules = fixed_rules(source, source.columns, policy)
    copy = source.engine.temporary_name("kanon_copy")
    values = {column.name: copied_value(column, rules[column.name]) for column in source.columns}
    source.engine.run(copy_rows_statement(copy, source.relation, values))
    trees = make_fixed(source.engine, copy, source.engine.columns(copy), rules)
    source.relation = copy
    return trees


people = st.tuples(st.one_of(st.none(), st.integers(0, 25)), st.sampled_from(["F", "M", None]))


@pytest.mark.thorough
@given(st.lists(people, max_size=14), people, st.integers(1, 5))
@examples(13)
def test_one_row_more_changes_each_score_by_scale_at_most(rows: list[Any], more: Any, least: int) -> None:
    frequency, lattice = frequency_of(rows)
    larger, _ = frequency_of([*rows, more])
    nodes = candidates(lattice)
    before, after = scores(frequency, lattice, nodes, least), scores(larger, lattice, nodes, least)
    assert all(0 <= new - old <= SCALE for old, new in zip(before, after, strict=True))
    for node, score in zip(nodes, before, strict=True):
        sizes = Counter(labels_by_hand(row, node) for row in rows).values()
        assert score == weight(node, lattice) * sum(max(0, n - least + 1) for n in sizes)


def labels_by_hand(row: tuple[int | None, str | None], node: tuple[int, ...]) -> tuple[object, object]:
    """Return the labels of an age in intervals of 5 and 10, and of a sex."""
    age, sex = row
    if node[0] == 3 or (age is None and node[0] > 0):
        shown: object = "*"
    else:
        shown = age if age is None or node[0] == 0 else age // (5 * node[0])
    return shown, "*" if node[1] else sex


def test_candidates_depend_on_heights_alone_and_are_not_too_many() -> None:
    assert candidates(Lattice((1, 2))) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    nodes = candidates(Lattice((20, 20, 20, 1)))
    assert len(nodes) <= MOST_NODES
    assert (20, 20, 20, 1) in nodes
    assert (0, 0, 0, 0) in nodes
    with pytest.raises(UsageError, match="levels"):
        candidates(Lattice((1,) * 11))
    assert [weight(node, Lattice((1, 2))) for node in candidates(Lattice((1, 2)))] == [100, 75, 50, 50, 25, 0]


# What the data have no say in

NUMBERS = st.one_of(
    st.none(),
    st.integers(-40, 130).map(float),
    st.floats(-1e19, 1e19),
    st.sampled_from([float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1e18, -1e18, 9.99e17]),
)
WHOLE = st.one_of(st.none(), st.integers(-40, 130), st.integers(-(2**63), 2**63 - 1))
TEXTS = st.one_of(st.none(), st.text("aAb*1-. ", max_size=6), st.sampled_from(["E11.9", "E10", "X9", "SW1A 1AA"]))
DATES = st.one_of(st.none(), st.dates(), st.dates(date(1990, 1, 1), date(1991, 1, 1)))
RULES: list[tuple[str, Any, str]] = [
    *[("BIGINT", WHOLE, rule) for rule in ("intervals:5,10", "round:1,2", "steps", "flat")],
    ("BIGINT", WHOLE, "intervals:5,10:bottom=3:top=92:origin=1"),
    *[("DOUBLE", NUMBERS, rule) for rule in ("intervals:0.5,10", "round:-1,0,2", "steps:from=10", "flat")],
    *[("VARCHAR", TEXTS, rule) for rule in ("prefixes:3,1", "cut:1,2,letters", "flat", "ready:icd10")],
    *[("DATE", DATES, rule) for rule in ("date:month,quarter,year,decade", "date:day,week")],
    ("VARCHAR", st.one_of(st.none(), st.sampled_from(["Texas", "Ohio", "Atlantis"])), "ready:us_state"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "values", "rule"), RULES, ids=[f"{kind}-{rule}" for kind, _, rule in RULES])
@given(data=st.data())
@examples(8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_labels_depend_on_the_rule_and_the_value_alone(kind: str, values: Any, rule: str, data: st.DataObject) -> None:
    """In two tables that differ in one row: no error, as many levels, and the same labels of each other row."""
    rows = data.draw(st.lists(values, min_size=1, max_size=8))
    more = data.draw(values)
    one, other = labels_of(rows, kind, rule), labels_of([*rows, more], kind, rule)
    assert one == other[: len(rows)]
    assert labels_of([], kind, rule) == []


def labels_of(rows: list[Any], kind: str, rule: str) -> list[tuple[Any, ...]]:
    """Return what is published of each row at each level, by its place."""
    source = source_of([(place, value) for place, value in enumerate(rows)], ("i INTEGER", f"v {kind}"))
    policy = Policy(hierarchies={"i": "flat", "v": rule})
    _, tree = hierarchies_of(source, policy)
    levels = [exp.column(f"level_{level}", "lookup") for level in range(1, tree.height + 1)]
    own = exp.column("v", "copy")
    same = exp.NullSafeEQ(this=own.copy(), expression=exp.column("value", "lookup"))
    query = exp.select(exp.cast(own, "VARCHAR"), *levels).from_(aliased(source.relation, "copy"))
    query = query.join(aliased(tree.relation, "lookup"), on=same).order_by(exp.column("i", "copy"))
    found = source.engine.rows(query)
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize(
    ("rule", "instead"),
    [("mask", "prefixes"), ("mask:right:1,2", "prefixes"), ("prefixes", "prefixes:3,1"), ("quantiles:4,2", "steps")],
)
def test_rules_that_ask_the_data_are_refused(rule: str, instead: str, charged: list[Any]) -> None:
    frame = pd.DataFrame({"zip": ["12345", "54321"]})
    with pytest.raises(UsageError, match=instead):
        releaser.release(frame, quasi_identifiers=["zip"], hierarchies={"zip": rule}, epsilon=1, k=2, levels={"zip": 1})
    assert charged == []


def test_a_column_without_a_hierarchy_is_refused_also_where_one_is_stored(
    database: Path, kanon: Callable[..., Ended], charged: list[Any]
) -> None:
    assert kanon("hierarchy", "build", database, "age=intervals:10").code == 0
    ended = kanon(
        "dp", "release", database, "--qi", "age", "--epsilon", 1, "-k", 5, "--levels", "age=1", "--out", "r.csv"
    )
    assert ended.code == 2
    assert "'age'" in ended.err
    assert charged == []


@pytest.mark.usefixtures("charged")
def test_what_a_file_does_not_list_counts_as_missing(in_tmp: Path) -> None:
    """No error tells that somebody from Atlantis is there: at no level, and in no message."""
    (in_tmp / "c.csv").write_text("a;A;*\nb;A;*\n", encoding="utf-8")
    frame = pd.DataFrame({"c": ["a", "b", "Atlantis", None] * 50})
    for level, expected in ((0, {"a", "b", None}), (1, {"A", "*"}), (2, {"*"})):
        with releaser.release(
            frame, quasi_identifiers=["c"], hierarchies=in_tmp, epsilon=2, k=3, levels={"c": level}
        ) as release:
            found = release.to_pandas()["c"]
        assert {None if pd.isna(value) else value for value in found} == expected


names = st.text(min_size=1, max_size=8).filter(
    lambda name: name.strip() and "\0" not in name and not name.lower().startswith("kanon")
)


@pytest.mark.thorough
@given(
    names,
    st.lists(st.sampled_from(["a", "b", "c", "'; DROP TABLE x; --", None]), max_size=40),
    st.integers(1, 5),
    st.integers(0, 2),
)
@examples(13, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_against_plain_python(charged: list[Any], name: str, values: list[str | None], k: int, level: int) -> None:
    """NULLs, duplicates, no rows, one row, a k above all of them, and names of columns that are anything."""
    tree = {"a": ("a", "A", "*"), "b": ("b", "A", "*"), "c": ("c", "C", "*"), None: (None, "*", "*")}
    assert charged is not None
    connection = duckdb.connect()
    quoted = '"{}"'.format(name.replace('"', '""'))
    connection.execute(f"CREATE TABLE t ({quoted} VARCHAR)")
    if values:
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    threshold = parameters_of(Decimal("0.8"), k).threshold
    kept = [tree.get(value, tree[None])[level] for row, value in enumerate(values, 1) if sampled(row, threshold)]
    expected = Counter({label: n for label, n in Counter(kept).items() if n >= k})
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "tree.csv"
        file.write_text("a;A;*\nb;A;*\nc;C;*\n", encoding="utf-8")
        asked: dict[str, Any] = {"hierarchies": {name: file}, "levels": {name: level}}
        try:
            with releaser.release(connection, "t", quasi_identifiers=[name], epsilon="0.8", k=k, **asked) as release:
                release.to_table("released")
                assert (release.rows_out, release.classes) == (expected.total(), len(expected))
                found = Counter(label for (label,) in connection.table("released").fetchall())
        except NoSolutionError:
            found = Counter()
    assert found == expected


# With the real mechanism, and a real budget


@pytest.mark.thorough
def test_levels_are_chosen_by_opendp(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise has scale 100 / 0.5 = 200; roots and values score 0, the best node over 90,000: e^-450 of a chance."""
    needs("opendp")
    pytest.importorskip("kanon_sql.dp.mechanisms")
    monkeypatch.setattr(releaser, "_charge", lambda *_: None)
    asked: dict[str, Any] = {
        "quasi_identifiers": ["age", "sex"],
        "hierarchies": {"age": "intervals:10,20", "sex": "flat"},
    }
    with releaser.release(database, **asked, epsilon=1, k=30, epsilon_search="0.5") as release:
        assert release.classes > 1
        assert (release.epsilon, release.parameters.epsilon) == (Decimal(1), Decimal("0.5"))


@pytest.mark.thorough
def test_a_release_is_paid_for(database: Path, kanon: Callable[..., Ended]) -> None:
    """Of a budget of epsilon 1 one release is made, and no second one; what it cost is written beside the table."""
    budgets = pytest.importorskip("kanon_sql.dp.budget")
    command = ("dp", "release", database, "people", *ASKED, *LEVELS, "-k", 74, "--out", "r.csv", "--replace")
    ended = kanon(*command)
    assert ended.code == 1
    assert "no budget" in ended.err
    source = open_source(database, writable=True)
    budgets.open_budgets(source, None).set(Limits(Decimal("1.5"), Decimal("0.00001")))
    source.engine.close()
    assert kanon(*command).code == 0
    assert kanon(*command).code == 1
    source = open_source(database, "people", writable=True)
    (spent,) = budgets.open_budgets(source, None).read().spent
    source.engine.close()
    assert (spent.charge.epsilon, spent.charge.delta) == (1, parameters_of(Decimal(1), 74).delta)
    file = database.parent / "people.parquet"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"COPY people TO '{file}'")
    keeper = database.parent / "budgets.duckdb"
    command = ("dp", "release", file, *ASKED, *LEVELS, "-k", 74, "--out", "r.csv", "--replace", "--budget", keeper)
    assert kanon(*command).code != 0
    source = open_source(file)
    with closing(budgets.open_budgets(source, keeper, make=True)) as opened:
        opened.set(Limits(Decimal(1), Decimal("0.00001")))
    source.engine.close()
    assert [kanon(*command).code for _ in range(2)] == [0, 1]


# What is asked


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"delta": None, "k": None}, "delta"),
        ({"delta": "0.000001", "k": 20}, "at least 74"),
        ({"delta": "0"}, "Delta is"),
        ({"epsilon": "many"}, "epsilon is a number"),
        ({"epsilon": "1.1234567890123456789"}, "digits after the point"),
        ({"levels": {"age": 9}}, "levels 0 to 2"),
        ({"levels": {"age": True}}, "levels 0 to 2"),
        ({"levels": {}}, "No level is given"),
        ({"levels": {"age": 1, "sex": 0}}, "does not have"),
        ({"levels": {"nobody": 1}}, "nobody"),
        ({"epsilon_search": "0.1"}, "leave epsilon_search out"),
        ({"levels": None, "epsilon_search": "1"}, "part of epsilon"),
        ({"quasi_identifiers": []}, "No column"),
        ({"hierarchies": {"age": "intervals:5", "sex": "flat"}}, "'sex'"),
        ({"hierarchies": {"age": "date:year"}}, "needs dates"),
    ],
)
def test_what_cannot_be_asked(database: Path, charged: list[Any], wrong: dict[str, Any], says: str) -> None:
    asked = {
        "quasi_identifiers": ["age"],
        "hierarchies": {"age": "intervals:5"},
        "epsilon": 1,
        "delta": "0.000001",
        "levels": {"age": 1},
    }
    with pytest.raises(KanonError, match=says):
        releaser.release(database, **{**asked, **wrong})
    assert charged == []


def test_a_warehouse_is_refused_with_what_to_do(database: Path, charged: list[Any]) -> None:
    source = open_source(database)
    source.warehouse = SimpleNamespace(kind="PostgreSQL", place="there")  # type: ignore[assignment]  # as far as it is asked
    policy = Policy()
    asked = releaser.RequestedRelease.of(policy, 1, delta=None, k=5, levels=None, epsilon_search=None)
    with pytest.raises(UsageError, match="Parquet"):
        releaser.make_dp_release(source, asked, None, lambda _: None)
    source.engine.close()
    assert charged == []


@pytest.mark.parametrize(
    "wrong",
    [
        ("--into", "people", "--replace"),
        ("--into", "x", "--out", "y.csv"),
        (),
        ("--out", "x.csv", "--budget", "x.csv"),
        ("--out", "people.duckdb", "--replace"),
        ("--into", "x", "--levels", "age=one"),
    ],
)
def test_where_it_cannot_go(
    database: Path, kanon: Callable[..., Ended], charged: list[Any], wrong: tuple[str, ...]
) -> None:
    before = tables_of(database)
    levels = () if "--levels" in wrong else LEVELS
    assert kanon("dp", "release", database, *ASKED, *levels, "-k", 20, *wrong).code == 2
    assert charged == []
    assert tables_of(database) == before


def test_the_same_sample_is_published_twice(database: Path, charged: list[Any]) -> None:
    with releaser.release(
        database, quasi_identifiers=["sex", "age"], hierarchies={"sex": "flat", "age": "intervals:10"}, epsilon=1, k=20,
        levels={"sex": 0, "age": 1},
    ) as release:  # fmt: skip
        release.to_table("one")
        release.to_file(database.parent / "two.json")
        frame = release.to_pandas()
        assert "_drawn" not in repr(release)
        assert str(ROWS) not in repr(release) + json.dumps(release.summary())
    with duckdb.connect(str(database)) as connection:
        one = Counter(connection.table("one").fetchall())
        two = Counter(connection.execute("FROM 'two.json'").fetchall())
    assert one == two == Counter(frame.itertuples(index=False, name=None))
    assert list(frame.columns) == ["age", "sex"]  # in the order of the table
    assert len(charged) == 1


@pytest.mark.thorough
def test_the_page_has_the_values_of_k() -> None:
    text = (REPOSITORY / "docs/how-to/dp-release.md").read_text(encoding="utf-8")
    for epsilon in ("0.1", "0.5", "1", "2"):
        ks = [k_for(Decimal(epsilon), Decimal(delta)) for delta in ("0.00001", "0.000001", "0.000000001")]
        assert "| " + " | ".join([epsilon, *map(str, ks)]) + " |" in text
