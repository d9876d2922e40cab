"""The help of every command can be read in a window of 80 columns: what most people need comes first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kanon_sql.cli.commands import COMMANDS, GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

ALGORITHMS = {
    "Algorithms local and spolg": ["--prove"],
    "Algorithm spolg": ["--sample-rate"],
    "Algorithms mondrian and mondrian-plus": ["--choose", "--cut", "--labels", "--numbers", "--pairs"],
}


def panels(shown: str) -> dict[str, list[str]]:
    """Return the options of each panel of a help, in their order; each by its longest name."""
    found: dict[str, list[str]] = {}
    for part in shown.split("\n\n"):
        title, *lines = part.split("\n")
        names = [match for line in lines for match in re.findall(r"^  (?:-\w, )?(--?[a-z-]+)", line)]
        if names and title.endswith(":"):
            found[title.removesuffix(":")] = names
    return found


@pytest.fixture
def shown(kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the help of a command as it is in a window of some width."""

    def call(command: str, width: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        ended = kanon(*command.split(), "--help")
        assert (ended.code, ended.err) == (0, "")
        return ended.out

    return call


@pytest.mark.parametrize("command", ["", *GROUPS, *COMMANDS])
def test_no_line_is_wider_than_80_columns(command: str, shown: Callable[..., str]) -> None:
    """Fails on 0.1.0, where names in narrow columns end in an ellipsis."""
    text = shown(command)
    assert [line for line in text.split("\n") if len(line) > 80] == []
    assert "…" not in text
    assert "<bool>" not in text
    assert "--help" in panels(text)["Output" if command in COMMANDS else "Options"]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_help_is_as_wide_as_the_window_up_to_100_columns(width: int, shown: Callable[..., str]) -> None:
    widest = max(map(len, shown("anonymize", width).split("\n")))
    assert min(width, 100) - 10 <= widest <= min(width, 100)


def test_anonymize_begins_with_the_twelve_options_that_most_people_need(shown: Callable[..., str]) -> None:
    found = panels(shown("anonymize"))
    assert found["Options"] == [
        *("--id", "--qi", "--sensitive", "--rest", "--entity", "-k", "--hierarchy"),
        *("--policy", "--save-policy", "--into", "--out", "--sql"),
    ]
    assert [*found] == [
        "Options",
        "Files",
        "Roles",
        "Privacy",
        "Search",
        *ALGORITHMS,
        "Destination",
        "Output",
        "Machine",
    ]


@pytest.mark.parametrize("command", ["anonymize", "report", "compare"])
def test_options_of_an_algorithm_stand_under_its_name(command: str, shown: Callable[..., str]) -> None:
    found = panels(shown(command))
    for algorithm, options in ALGORITHMS.items():
        assert found.get(algorithm, options) == options
        assert not set(options) & {name for panel, names in found.items() if panel != algorithm for name in names}


def test_choices_are_written_out(shown: Callable[..., str]) -> None:
    """Fails on 0.1.0: "sam|arati" over two lines."""
    text = shown("anonymize")
    assert "\n  --rest keep|drop " in text
    assert "samarati-first," in text


def test_a_group_without_a_command_shows_its_help(kanon: Callable[..., Ended]) -> None:
    for group in ([], ["hierarchy"], ["dp"]):
        ended = kanon(*group)
        assert (ended.code, ended.err) == (2, "")
        assert ended.out.strip() == kanon(*group, "--help").out.strip()
