"""Prefix codes: two values agree in the bits of a level exactly if they share their label there."""

from __future__ import annotations

import csv
import itertools
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import hierarchies

import kanon_sql as kanon
from kanon_sql.engine.base import Column
from kanon_sql.engine.duckdb import DuckDBEngine
from kanon_sql.hierarchy.code import WORD_BITS, code_name, code_words
from kanon_sql.hierarchy.lookup import Hierarchy, load_hierarchy
from kanon_sql.hierarchy.spec import FileRule

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def loaded(path: Path, tree: dict[str, list[str]]) -> tuple[Hierarchy, dict[Any, tuple[list[str], list[int]]]]:
    """Return a hierarchy written to a file and read back: labels and words of code by value."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows([v, *labels] for v, labels in tree.items())
    with duckdb.connect() as connection:
        hierarchy = load_hierarchy(DuckDBEngine(connection, owned=False), Column("c", "VARCHAR"), FileRule(path))
        rows = connection.table(hierarchy.relation.name).fetchall()
    return hierarchy, {row[0]: (list(row[1 : hierarchy.height + 1]), list(row[hierarchy.height + 1 :])) for row in rows}


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
@settings(max_examples=40)
def test_same_prefix_exactly_if_same_label(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, list[str]]
) -> None:
    hierarchy, rows = loaded(tmp_path_factory.mktemp("codes") / "tree.csv", tree)
    assert rows.keys() == tree.keys() | {None}
    prefixes_are_labels(hierarchy, rows)
    for _, codes in rows.values():
        assert all(0 <= code < 2**WORD_BITS for code in codes)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40))
@settings(max_examples=100)
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


def test_a_hierarchy_of_30_levels_and_more_than_62_bits(tmp_path: Path) -> None:
    hierarchy, rows = loaded(tmp_path / "deep.csv", deep_tree(30, 6))
    assert hierarchy.height == 30
    assert sum(word.bits for word in hierarchy.words) > 62
    prefixes_are_labels(hierarchy, rows)


def test_more_than_124_bits_of_codes_in_one_table(tmp_path: Path) -> None:
    tree = deep_tree(30, 6)
    paths = {}
    for column in ("a", "b", "c"):
        paths[column] = tmp_path / f"{column}.csv"
        with paths[column].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=";").writerows([value, *labels] for value, labels in tree.items())
    values = list(tree)
    rows = [(values[i % 7], values[(i * 5) % 11], values[(i * 3) % 180]) for i in range(300)]
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    with kanon.anonymize(
        frame, quasi_identifiers=["a", "b", "c"], hierarchies=paths, models=[kanon.KAnonymity(10)], max_suppressed=0.1
    ) as release:
        bits = sum(word.bits for hierarchy in release.publication.hierarchies for word in hierarchy.words)
        assert bits > 124
        assert release.prepared.frequency.keys >= 3
        assert release.optimal
        out = release.to_pandas()
    assert out.groupby(["a", "b", "c"], dropna=False).size().min() >= 10
    assert len(out) >= 270


def test_a_million_distinct_values_in_one_column() -> None:
    n = 1_000_000
    frame = pd.DataFrame({"number": np.arange(n), "group": np.arange(n) % 10})
    with kanon.anonymize(frame, quasi_identifiers=["number", "group"], models=[kanon.KAnonymity(5)]) as release:
        assert release.rows_in == release.prepared.frequency.tuples == n
        assert release.optimal
        # Level 1 of the chosen intervals has 10 classes of 100,000 rows per group: k holds, and no node loses less.
        assert release.levels["group"] == 0
        assert release.counts.worst[0] is not None
        assert release.counts.worst[0] >= 5
