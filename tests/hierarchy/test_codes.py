"""Prefix codes: two values agree in the bits of a level exactly if they share their label there."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import brute_force
import duckdb
import numpy as np
import pandas as pd
import pytest
from each import each
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import hierarchies, write_hierarchy

import kanon_sql as kanon
from kanon_sql.engine.base import Column
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.hierarchy.check import require_tree
from kanon_sql.hierarchy.given import load_hierarchy
from kanon_sql.hierarchy.lookup_relation import WORD_BITS, code_name, code_words, coded_query
from kanon_sql.hierarchy.spec import FileRule
from kanon_sql.sql.build import relation

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.hierarchy.lookup_relation import Hierarchy


def loaded(path: Path, tree: dict[str, list[str]]) -> tuple[Hierarchy, dict[Any, tuple[list[str], list[int]]]]:
    """Return a hierarchy written to a file and read back: labels and words of code by value."""
    write_hierarchy(path, tree)
    with duckdb.connect() as connection:
        hierarchy = load_hierarchy(
            DuckDBEngine(connection, owned=False), relation("none"), Column("c", "VARCHAR"), FileRule(path)
        )
        rows = connection.table(hierarchy.relation.name).fetchall()
    return hierarchy, {row[0]: (list(row[1 : hierarchy.height + 1]), list(row[hierarchy.height + 1 :])) for row in rows}


@pytest.mark.thorough
@each("written", ["{}", "{:04}"])
@each("kind", ["TINYINT", "INTEGER", "UBIGINT", "HUGEINT"])
def test_whole_numbers_have_codes_in_their_order(kind: str, written: str, tmp_path: Path) -> None:
    """Numbers that are written as DuckDB writes them are put in their order without it; with zeros before, by it."""
    least = 0 if kind == "UBIGINT" else -100
    values = np.random.default_rng(7).permutation(range(least, 120)).tolist()
    path = tmp_path / "numbers.csv"
    path.write_text("".join(f"{written.format(value)};{value % 3};*\n" for value in values), encoding="utf-8")
    with duckdb.connect() as connection:
        hierarchy = load_hierarchy(
            DuckDBEngine(connection, owned=False), relation("none"), Column("c", kind), FileRule(path)
        )
        rows = connection.table(hierarchy.relation.name).fetchall()
    assert {row[0]: row[1] for row in rows} == {None: "*"} | {value: str(value % 3) for value in values}
    # The ordinal of a value among its siblings is in the lowest bits, in the order of numbers.
    for label in {str(value % 3) for value in values}:
        siblings = sorted(row[0] for row in rows if row[1] == label)
        codes = [row[3] for value in siblings for row in rows if row[0] == value]
        assert codes == list(range(codes[0], codes[0] + len(codes)))


def prefixes_are_labels(hierarchy: Hierarchy, rows: dict[Any, tuple[list[str], list[int]]]) -> None:
    for (one, (labels, codes)), (other, (labels_, codes_)) in itertools.combinations(rows.items(), 2):
        for level in range(hierarchy.height + 1):
            masks = [word.mask(level) for word in hierarchy.words]
            same_code = [c & m for c, m in zip(codes, masks, strict=True)] == [
                c & m for c, m in zip(codes_, masks, strict=True)
            ]
            same_label = one == other if level == 0 else labels[level - 1] == labels_[level - 1]
            assert same_code == same_label, (one, other, level)


@given(hierarchies())
@examples(20)
def test_same_prefix_exactly_if_same_label(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, list[str]]
) -> None:
    hierarchy, rows = loaded(tmp_path_factory.mktemp("codes") / "tree.csv", tree)
    assert rows.keys() == tree.keys() | {None}
    prefixes_are_labels(hierarchy, rows)
    for _, codes in rows.values():
        assert all(0 <= code < 2**WORD_BITS for code in codes)


@pytest.mark.thorough
@given(st.permutations(range(-30, 30)), st.sampled_from(["VARCHAR", "INTEGER", "DOUBLE"]), st.integers(0, 60))
@examples(20)
def test_codes_of_a_file_are_those_that_sql_gives(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], kind: str, null: int
) -> None:
    lines = [f"{value};{value // 6 * 2};{value // 12};{value // 36};*" for value in values]
    path = tmp_path_factory.mktemp("codes") / "tree.csv"
    path.write_text("\n".join([*lines[:null], ";2;0;0;*", *lines[null:]]), encoding="utf-8")
    with duckdb.connect() as connection:
        engine = DuckDBEngine(connection, owned=False)
        hierarchy = load_hierarchy(engine, relation("none"), Column("c", kind), FileRule(path))
        children = require_tree(engine, hierarchy.relation, hierarchy.height, "c", "a file")
        expected = engine.rows(coded_query(hierarchy.relation, hierarchy.height, hierarchy.words))
        assert hierarchy.words == code_words(children)
        assert Counter(connection.table(hierarchy.relation.name).fetchall()) == Counter(expected)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40))
@examples(50)
def test_fields_are_wide_enough_and_never_cross_a_word(children: list[int]) -> None:
    words = code_words(tuple(children))
    fields = {field.level: field for word in words for field in word.fields}
    for level, siblings in enumerate(children):
        bits = fields[level].bits if level in fields else 0
        assert siblings <= 2**bits
        assert bits == 0 or siblings > 2 ** (bits - 1)
    for word in words:
        assert word.bits <= WORD_BITS
        assert sum(field.mask for field in word.fields) == 2**word.bits - 1
    assert [code_name(number) for number in range(3)] == ["code", "code_2", "code_3"]


def deep_tree(height: int, children: int) -> dict[str, list[str]]:
    """Return a tree with a spine: at every depth ``children`` leaves hang on it, so that each level needs bits."""
    tree = {}
    for depth in range(height):
        spine = [f"spine {level}" for level in range(depth, 0, -1)]
        for child in range(children):
            own = f"leaf {depth}.{child}"
            tree[own] = [own] * (height - depth - 1) + spine + ["*"]
    return tree


@pytest.mark.thorough
def test_a_hierarchy_of_30_levels_and_more_than_62_bits(tmp_path: Path) -> None:
    hierarchy, rows = loaded(tmp_path / "deep.csv", deep_tree(30, 6))
    assert hierarchy.height == 30
    assert sum(word.bits for word in hierarchy.words) > 62
    prefixes_are_labels(hierarchy, rows)


def optimum_of_many(rows: list[tuple[str, ...]], tree: dict[str, list[str]], k: int, allowed: int) -> Fraction:
    """Return the least loss of all nodes; those that must lose more than the best so far are not looked at.

    A node loses at least what its labels cost if nothing is suppressed: no label costs more than a suppressed cell.
    """
    upwards = {leaf: [leaf, *labels] for leaf, labels in tree.items()}
    height = len(next(iter(tree.values())))
    under = [Counter(upwards[leaf][level] for leaf in tree) for level in range(height + 1)]
    width = len(rows[0])
    costs = [
        [sum(under[level][upwards[row[place]][level]] - 1 for row in rows) for level in range(height + 1)]
        for place in range(width)
    ]

    def least(node: tuple[int, ...]) -> int:
        return sum(costs[place][level] for place, level in enumerate(node))

    best: Fraction | None = None
    for node in sorted(itertools.product(range(height + 1), repeat=width), key=least):
        if best is not None and Fraction(least(node), len(rows) * width * (len(tree) - 1)) >= best:
            break
        classes = Counter(tuple(upwards[value][level] for value, level in zip(row, node, strict=True)) for row in rows)
        if sum(size for size in classes.values() if size < k) <= allowed:
            loss = brute_force.evaluate(rows, [tree] * width, node, k).loss
            best = loss if best is None else min(best, loss)
    assert best is not None
    return best


@pytest.mark.thorough
def test_more_than_124_bits_of_codes_in_one_table(tmp_path: Path) -> None:
    tree = deep_tree(30, 6)
    paths = {}
    for column in ("a", "b", "c"):
        paths[column] = tmp_path / f"{column}.csv"
        write_hierarchy(paths[column], tree)
    values = list(tree)[::-1]  # the deepest leaves first: these meet at low levels already
    rows = [(values[i % 9], values[i // 20], values[i % 9 + 6 * (i // 150)]) for i in range(300)]
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    with kanon.anonymize(
        frame, quasi_identifiers=["a", "b", "c"], hierarchies=paths, models=[kanon.KAnonymity(10)], max_suppressed=0.1
    ) as release:
        bits = sum(word.bits for hierarchy in release.publication.hierarchies for word in hierarchy.words)
        assert bits > 124
        assert release.prepared.frequency.keys >= 3
        assert release.optimal
        out = Counter(release.to_pandas().itertuples(index=False, name=None))
    oracle = brute_force.evaluate(rows, [tree] * 3, tuple(release.levels.values()), 10)
    assert out == oracle.published
    assert release.rows_suppressed == oracle.suppressed <= 30
    assert release.loss == pytest.approx(float(oracle.loss), abs=1e-12)
    assert oracle.loss == optimum_of_many(rows, tree, 10, 30)
    assert 0 < max(release.levels.values()) < 30, release.levels


@pytest.mark.thorough
def test_a_million_distinct_values_in_one_column() -> None:
    n = 1_000_000
    frame = pd.DataFrame({"number": np.arange(n), "group": np.arange(n) % 10})
    with kanon.anonymize(frame, quasi_identifiers=["number", "group"], models=[kanon.KAnonymity(5)]) as release:
        assert release.rows_in == release.prepared.frequency.tuples == n
        assert release.optimal
        # Level 1 of the chosen intervals has 10 classes of 10,000 rows per group. With the numbers as they are every
        # row is alone, and whatever else generalizes them loses more.
        assert release.levels == {"number": 1, "group": 0}
        assert release.counts.worst[0] == 10_000
        assert release.loss == pytest.approx((100_000 - 1) / (n - 1) / 2, abs=1e-12)
