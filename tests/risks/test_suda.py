"""Scores of SUDA2: against a search in plain Python."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import TABLE, Case, cases, load

import kanon_sql as kanon
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conftest import Ended

Row = tuple[Any, ...]


def members_of(rows: Sequence[Row], persons: Sequence[Any] | None, places: Row, row: Row) -> int:
    """Return how many share some values of a row: rows; or people, who are one at least."""
    alike = [at for at, other in enumerate(rows) if all(other[place] == row[place] for place in places)]
    return len(alike) if persons is None else max(1, len({persons[at] for at in alike} - {None}))


def minimal_uniques(rows: Sequence[Row], persons: Sequence[Any] | None, row: Row, most: int) -> list[Row]:
    """Return the sets of up to so many columns by which a row is unique, and by no part of them."""
    found: list[Row] = []
    for size in range(1, most + 1):
        for places in itertools.combinations(range(len(row)), size):
            is_minimal = not any(set(smaller) < set(places) for smaller in found)
            if is_minimal and members_of(rows, persons, places, row) == 1:
                found.append(places)
    return found


@pytest.mark.deeper
@given(cases(), st.integers(1, 4))
@examples(150)
def test_scores_are_those_of_a_search_of_all_subsets(case: Case, asked: int) -> None:
    connection, person = load(case)
    width = len(case.columns)
    call: dict[str, Any] = {"quasi_identifiers": case.columns, "entity": person, "subsets": 0, "suda": asked}
    if width == 1:
        with pytest.raises(UsageError, match="at least 2 quasi-identifiers"):
            kanon.risk(connection, TABLE, **call)
        return
    found = kanon.risk(connection, TABLE, **call)
    most = min(asked, width - 1)
    scores: dict[Row, int] = {}
    by_size, by_column, who = [0] * most, dict.fromkeys(case.columns, 0), defaultdict(set)
    for at, row in enumerate(case.rows):
        if case.persons is not None:
            who[row].add(case.persons[at])
        if row in scores or not (sets := minimal_uniques(case.rows, case.persons, row, most)):
            continue
        added = {places: math.prod(width - i for i in range(len(places), most + 1)) for places in sets}
        scores[row] = sum(added.values())
        for places, score in added.items():
            by_size[len(places) - 1] += 1
            for place in places:
                by_column[case.columns[place]] += score
    everybody = found.everybody
    scored = len(scores)
    if case.persons is not None:
        named = set().union(*(who[row] - {None} for row in scores))
        scored = len(named) + sum(who[row] == {None} for row in scores)
    suda, total = found.suda, sum(scores.values())
    assert suda is not None
    assert (suda.max_columns, suda.scored, suda.highest) == (most, scored, max(scores.values(), default=0))
    assert suda.share_scored == (pytest.approx(scored / everybody) if everybody else None)
    assert suda.average == (pytest.approx(total / found.members) if found.members else None)
    assert list(suda.minimal_uniques) == by_size
    assert suda.contributions == {
        column: pytest.approx(score / total) if total else None for column, score in by_column.items()
    }
    json.dumps(found.summary())
    assert not connection.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone()[0]


WORKED = pd.DataFrame(
    {
        "age": [30, 40, 40, 40, 50, 50],
        "sex": ["F", "F", "M", "M", "F", "F"],
        "zip": [1, 2, 1, 2, 2, 2],
        "job": ["x", "x", "x", "x", "x", "x"],
    }
)
QI = ["age", "sex", "zip", "job"]


def test_a_table_by_hand() -> None:
    """Row 1 is unique by age, and by sex and zip: 6 + 2. Rows 2 to 4 are the only ones of 40 by others."""
    suda = kanon.risk(WORKED, quasi_identifiers=QI, suda=3).suda
    assert suda is not None
    # 2: {age, sex}; 3: {age, zip}, {sex, zip}; 4: {sex, zip} - of two columns each, which add 2
    assert (suda.scored, suda.highest, suda.minimal_uniques) == (4, 8, (1, 5, 0))
    assert suda.average == pytest.approx((8 + 2 + 4 + 2) / 6)
    assert suda.contributions == {
        "age": pytest.approx(10 / 16),
        "sex": pytest.approx(8 / 16),
        "zip": pytest.approx(8 / 16),
        "job": 0,
    }


@pytest.mark.parametrize("wrong", [0, -1, True])
def test_sets_have_a_column_at_least(wrong: int) -> None:
    with pytest.raises(UsageError, match="1 column or more"):
        kanon.risk(WORKED, quasi_identifiers=QI, suda=wrong)


def test_too_many_subsets_are_refused_with_how_many_to_ask_for() -> None:
    frame = pd.DataFrame({f"c{place}": [1] for place in range(60)})
    with pytest.raises(UsageError, match=r"60 columns have 523,685 subsets of up to 4, .*: suda=3 has 36,050\.$"):
        kanon.risk(frame, quasi_identifiers=list(frame), subsets=0, suda=4)


@pytest.mark.thorough
def test_the_command_scores_a_table_and_its_release(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    WORKED.to_csv(in_tmp / "table.csv", index=False)
    WORKED.assign(age="*").to_csv(in_tmp / "released.csv", index=False)
    asked = ("--qi", ",".join(QI), "--subsets", 0)
    for option in ("--suda", "--suda=3"):
        ended = kanon("measure", option, "table.csv", *asked)
        assert ended.code == 0, ended.err
        text = " ".join(ended.out.split())
        assert "scored 4 (66.67%) score, highest 8 score, average 2.6667 minimal uniques of 1 column 1" in text
        assert "scores with age 62.50%" in text
    ended = kanon("measure", "released.csv", "--original", "table.csv", *asked, "--hierarchy", "age=flat", "--suda")
    assert ended.code == 0, ended.err
    assert "suda original release" in " ".join(ended.out.split())
    # by the released labels: M and zip 1 or 2 are unique, and F in zip 1
    assert "minimal uniques of 2 columns 5 3" in " ".join(ended.out.split())
    found = kanon("measure", "table.csv", *asked, "--suda", 2, "--format", "json").json["risk"]["suda"]
    assert found["max_columns"] == 2
    assert kanon("measure", "table.csv", *asked, "--format", "json").json["risk"]["suda"] is None
