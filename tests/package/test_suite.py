"""The suite itself: what it counts on in the programs that run it, and in its own helpers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from each import each

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.xdist_group("one_worker")
def test_tests_that_share_something_are_sent_to_one_worker(request: pytest.FixtureRequest) -> None:
    """From pytest 9.2 on, pytest-xdist 3.8 loses the groups: each worker starts Spark, and makes all that is shared."""
    in_groups = getattr(request.config.option, "loadgroup", False)  # of a worker
    assert not in_groups or request.node.nodeid.endswith("@one_worker")


def test_every_row_of_a_table_is_tried_and_each_that_fails_is_named(tmp_path: Path) -> None:
    tried = []

    @each("number", [1, pytest.param(2, id="two"), 3])
    def is_two(tmp_path: Path, number: int) -> None:
        tried.append((number, tmp_path.name))
        if number == 1:
            pytest.fail("one")
        assert number == 2

    with pytest.raises(pytest.fail.Exception, match="2 of 3 rows") as failed:
        is_two(tmp_path=tmp_path)
    assert tried == [(1, "row0"), (2, "row1"), (3, "row2")]
    assert [f"'number': {number}" in str(failed.value) for number in (1, 2, 3)] == [True, False, True]
