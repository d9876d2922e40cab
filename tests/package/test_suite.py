"""The suite itself: what it counts on in the programs that run it."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("one_worker")
def test_tests_that_share_something_are_sent_to_one_worker(request: pytest.FixtureRequest) -> None:
    """From pytest 9.2 on, pytest-xdist 3.8 loses the groups: each worker starts Spark, and makes all that is shared."""
    in_groups = getattr(request.config.option, "loadgroup", False)  # of a worker
    assert not in_groups or request.node.nodeid.endswith("@one_worker")
