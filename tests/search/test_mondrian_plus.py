"""mondrian-plus against a plain version that goes through all cuts, and its passes over pairs of parts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, product
from math import isnan
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import ADULT_QI
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from plain_mondrian import Row, alike, parts_of, plain_rows, released, tables
from test_scripts import paste

import kanon_sql as kanon
from kanon_sql.engine.progress import silent
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.release.anonymize import release_of
from kanon_sql.search.mondrian import best_cuts
from kanon_sql.search.prepare import prepare_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Ended
    from plain_mondrian import Column, Table

    from kanon_sql.engine.base import Logged

NAN = float("nan")
_ASKED = st.fixed_dictionaries(
    {"cut": st.sampled_from(["strict", "node"]), "labels": st.sampled_from(["tree", "set", "range"])}
)


def share(column: Column, values: set[Any], labels: str) -> float:
    """Return what the label of some values loses, 0 to 1: leaves under it but one, of all leaves but one."""
    leaves = len(column.place)
    if leaves == 1:
        return 0.0
    places = [column.place[value] for value in values]
    if column.tree is None or labels == "range":
        return (max(places) - min(places)) / (leaves - 1)
    if labels == "set":
        return (len(values) - 1) / (leaves - 1)
    level = column.level(values)
    if level == column.height:
        return 1.0 if len(values) > 1 else 0.0
    own = column.above[next(iter(values))][level]
    return (sum(column.above[leaf][level] == own for leaf in column.leaves) - 1) / (leaves - 1)


def lost(columns: list[Column], part: list[Row], labels: str) -> float:
    """Return what the rows of a part lose."""
    return len(part) * sum(share(column, {row[n] for row in part}, labels) for n, column in enumerate(columns))


Cut = tuple[float, int, int, int, list[Row], list[Row]]
"""What both sides lose, the column, the places from low to high in it, and the sides."""


def cuts(columns: list[Column], number: int, part: list[Row], asked: dict[str, str], k: int) -> Iterator[Cut]:
    """Return every cut of a part in a column that leaves k rows on both sides."""
    column = columns[number]
    values = {row[number] for row in part}
    groups = [(0, column.place[w], {v for v in values if column.place[v] <= column.place[w]}) for w in values]
    if column.tree is not None:
        own = values & {None}
        levels = [0]
        if asked["cut"] == "node":
            own, levels, groups = values, list(range(column.height)), []
        for w, level in product(own, levels):
            under = [
                column.place[leaf] for leaf in column.leaves if column.above[leaf][level] == column.above[w][level]
            ]
            group = {v for v in values if column.above[v][level] == column.above[w][level]}
            groups.append((min(under), max(under), group))
    for low, high, group in groups:
        inside = [row for row in part if row[number] in group]
        outside = [row for row in part if row[number] not in group]
        if min(len(inside), len(outside)) >= k:
            loses = lost(columns, inside, asked["labels"]) + lost(columns, outside, asked["labels"])
            yield loses, number, low, high, inside, outside


def greedy(
    columns: list[Column], part: list[Row], asked: dict[str, str], k: int, allows: Callable[[list[Row]], bool]
) -> list[list[Row]]:
    """Return the parts of a part: cut where that saves most, in the first column whose best cut is allowed."""
    of_columns = [min(cuts(columns, number, part, asked, k), default=None, key=itemgetter(0, 2, 3))
                  for number in range(len(columns))]  # fmt: skip
    for *_, inside, outside in sorted(filter(None, of_columns), key=itemgetter(0, 1)):
        if allows(inside) and allows(outside):
            return [leaf for side in (inside, outside) for leaf in greedy(columns, side, asked, k, allows)]
    return [part]


@pytest.mark.thorough
def test_a_table_without_rows() -> None:
    empty = pd.DataFrame({"x": pd.Series([], dtype="int64"), "y": pd.Series([], dtype="string")})
    for pairs in (0, 1, 3):
        asked = {"quasi_identifiers": ["x", "y"], "k": 5, "algorithm": "mondrian-plus", "pairs": pairs, "count": "rows"}
        with kanon.anonymize(empty, **asked) as release:
            assert len(release.to_pandas()) == 0


@pytest.mark.thorough
@given(tables(), _ASKED)
@examples(40)
def test_the_table_is_parted_as_the_plain_version_parts_it(table: Table, asked: dict[str, str]) -> None:
    # NaN is one value, though each NaN of Python's is another one.
    rows = [tuple(NAN if isinstance(value, float) and isnan(value) else value for value in row) for row in table.rows]
    table = replace(table, rows=rows)
    with released(table, table.connection(), algorithm="mondrian-plus", pairs=0, **asked) as release:
        ours = [part.rows for part in parts_of(release, table.names, table.rows)]
    assert alike(ours) == alike(greedy(table.columns(), table.rows, asked, table.k, table.plain().allows))


@pytest.mark.thorough
@given(tables(), _ASKED, st.integers(1, 3))
@examples(20)
def test_pairs_that_are_cut_anew_lose_no_more_and_stay_large(table: Table, asked: dict[str, str], passes: int) -> None:
    table = replace(table, k=min(table.k, 2))
    columns, connection = table.columns(), table.connection()
    with released(table, connection, algorithm="mondrian-plus", **asked) as release:
        before = [part.rows for part in parts_of(release, table.names, table.rows)]
    with table.anonymize(connection, algorithm="mondrian-plus", pairs=passes, seed=1, **asked) as release:
        after = [part.rows for part in parts_of(release, table.names, table.rows)]
        rows = plain_rows(release)
        script = release.sql()
    oracle = table.plain()
    assert all(oracle.allows(part) for part in after)
    assert sorted(map(str, chain(*after))) == sorted(map(str, table.rows))
    assert sum(lost(columns, part, asked["labels"]) for part in after) <= (
        sum(lost(columns, part, asked["labels"]) for part in before) + 1e-6
    )
    assert list(map(str, paste(connection, script))) == list(map(str, rows))


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [("--labels", "set", "--measure", "gcp"), ()])
def test_passes_over_pairs_on_adult(
    adult: Path, in_tmp: Path, kanon: Callable[..., Ended], asked: tuple[str, ...]
) -> None:
    """Two passes save more than a twentieth of what is lost; what is published is what is measured."""
    command = ("anonymize", adult / "adult.csv", "--qi", ",".join(ADULT_QI), "--rest", "drop", "--hierarchies", adult,
               "-k", 10, "--algorithm", "mondrian-plus", *asked, "--out", "r.csv", "--replace", "--format",
               "json")  # fmt: skip
    without, with_pairs = (kanon(*command, "--pairs", passes).json for passes in (0, 2))
    measure = without["measure"]
    assert with_pairs["measures"][measure] < 0.95 * without["measures"][measure]
    assert with_pairs["k"] >= 10
    assert with_pairs["cutting"]["pairs"] == 2
    found = kanon("measure", in_tmp / "r.csv", "--original", adult / "adult.csv", "--qi", ",".join(ADULT_QI),
                  "--hierarchies", adult, "--format", "json").json  # fmt: skip
    for name in ("gcp", "precision", "discernibility", "ambiguity"):
        assert found["measures"][name] == pytest.approx(with_pairs["measures"][name], abs=1e-6), name
    counts = Counter(duckdb.read_csv(str(in_tmp / "r.csv")).fetchall())
    assert min(counts.values()) >= 10


@pytest.mark.thorough
def test_blocks_give_away_little(monkeypatch: pytest.MonkeyPatch, adult: Path) -> None:
    """With neighbours in blocks of 512, a pass saves at least two thirds of what it saves with all pairs."""
    asked: dict[str, Any] = {
        "quasi_identifiers": ADULT_QI, "rest": "drop", "hierarchies": adult, "models": [kanon.KAnonymity(25)],
        "algorithm": "mondrian-plus", "labels": "set", "measure": "gcp",
    }  # fmt: skip
    with kanon.prepare(adult / "adult.csv", quasi_identifiers=ADULT_QI, rest="drop", hierarchies=adult) as table:
        del asked["quasi_identifiers"], asked["rest"], asked["hierarchies"]
        values = [table.anonymize(**asked, pairs=passes).measures["gcp"] or 0 for passes in (0, 1)]
        monkeypatch.setattr(best_cuts, "BLOCK", 100_000)
        values.append(table.anonymize(**asked, pairs=1).measures["gcp"] or 0)
    without, in_blocks, of_all = values
    assert without - in_blocks > 2 / 3 * (without - of_all) > 0


_OF_PEOPLE = {
    "algorithm": "mondrian-plus", "labels": "set", "pairs": 2, "models": (kanon.KAnonymity(3, entity="id"),),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [{}, {"cut": "relaxed"}, _OF_PEOPLE])
def test_stopped_before_any_statement_the_parts_so_far_are_a_release(clinic: Path, asked: dict[str, Any]) -> None:
    """Ctrl-C is pressed just before the first, the 42nd, the 83rd ... statement of the search."""
    named = NamedColumns(quasi_identifiers=("age", "sex", "zip"), rest="drop")
    policy = kanon.Policy(**{"columns": named, "models": (kanon.KAnonymity(3),), "algorithm": "mondrian", **asked})
    stopped = set()
    for pressed in range(0, 10_000, 41):
        source = open_source(clinic, "patients")
        with source.engine:
            prepared = prepare_source(source, policy)
            prepared.places()
            left = [pressed]

            def press(logged: Logged, left: list[int] = left) -> None:
                left[0] -= logged.title != "is a transaction open?"
                if left[0] == -1:
                    raise KeyboardInterrupt

            source.engine.listener = press
            try:
                release = release_of(prepared, policy, silent)
            except KeyboardInterrupt:  # before the first part, or after the last one
                continue
            source.engine.listener = None
            found = release.verify()
            assert (found.rows, found.classes_failing) == (60, 0)
            assert found.smallest_class is not None
            assert found.smallest_class >= 3
            stopped.add(release.result.stopped)
            if left[0] >= 0:
                break
    assert stopped == {"interrupt", None}


@pytest.mark.thorough
def test_arrays_that_are_stopped_leave_the_parts_so_far(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is pressed at every fourth column of all rounds, blocks of pairs among them."""
    looks, losses = 0, []
    for pressed in range(0, 10_000, 4):
        looks = 0

        def look(_: str, last: int = pressed) -> None:
            nonlocal looks
            looks += 1
            if looks > last:
                raise KeyboardInterrupt

        monkeypatch.setattr(best_cuts, "check_deadline", look)
        asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex", "zip"], "rest": "drop", "pairs": 2}
        with kanon.anonymize(clinic, "patients", **asked, k=3, algorithm="mondrian-plus") as release:
            found = release.verify()
            losses.append(release.measures["loss"] or 0)
            ended = release.result.stopped
        assert (found.rows, found.classes_failing) == (60, 0)
        assert (found.smallest_class or 0) >= 3
        if ended is None:
            break
        assert ended == "interrupt"
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1]


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-plus"])
@pytest.mark.parametrize("cut", ["strict", "node"])
def test_numbers_by_their_tree_are_what_texts_are(tmp_path: Path, algorithm: str, cut: str) -> None:
    """Two digits stand in one order as numbers and as texts, so that both are cut and written alike."""
    random = Random(f"{algorithm} {cut}")  # noqa: S311 - rows of a test
    tree = "".join(f"{value};{value // 5 * 5}-;{value // 20 * 20}--;*\n" for value in range(10, 60))
    (tmp_path / "age.csv").write_text(f"{tree};*;*;*\n", encoding="utf-8")
    rows = [(random.choice([None, *range(10, 60, 3)]), random.choice("abc")) for _ in range(80)]
    found = []
    for kind in ("INTEGER", "VARCHAR"):
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE t (age {kind}, town VARCHAR)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
            named: dict[str, Any] = {
                "quasi_identifiers": ["age", "town"], "hierarchies": {"age": tmp_path / "age.csv", "town": "flat"},
            }  # fmt: skip
            with kanon.anonymize(
                connection, "t", **named, k=4, algorithm=algorithm, cut=cut, numbers="tree", seed=1
            ) as release:
                release.to_table("r")
                measured = dict(release.measures)
                script = release.sql()
            by_labels = kanon.measure(connection, "r", original="t", **named)
            assert by_labels.smallest_class is not None
            assert by_labels.smallest_class >= 4
            for name in ("loss", "gcp", "precision", "ambiguity"):
                assert by_labels.measures[name] == pytest.approx(measured[name]), name
            labels = connection.table("r").order("age, town").fetchall()
            assert {label for label, _ in labels} <= {None, *chain(*(line.split(";") for line in tree.split()))}
            assert sorted(map(str, paste(connection, script))) == sorted(map(str, labels))
        found.append((labels, by_labels.measures["loss"], by_labels.rows_suppressed))
    assert found[0] == found[1]


def test_numbers_by_their_tree_go_with_labels_of_the_tree_and_with_loss(clinic: Path) -> None:
    for asked in ({"labels": "set"}, {"measure": "gcp"}):
        with pytest.raises(kanon.UsageError, match="by their tree"):
            kanon.anonymize(
                clinic, "patients", quasi_identifiers=["age"], algorithm="mondrian-plus", numbers="tree", **asked
            )
