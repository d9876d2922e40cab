"""Settings by the names that the reader uses: options in commands, keywords in Python; and shares in percent."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import kanon_sql as kanon
from kanon_sql import dp
from kanon_sql.errors import PYTHON_NAMES, UsageError, in_python
from kanon_sql.release.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

PACKAGE = Path(kanon.__file__).parent
PEOPLE = pd.DataFrame({"sex": ["F"] * 6 + ["M"] * 6, "age": [30] * 12, "disease": ["flu", "cold"] * 6})


def _keywords() -> set[str]:
    public = [getattr(kanon, name) for name in kanon.__all__] + [getattr(dp, name) for name in dp.__all__]
    methods = [method for _, method in inspect.getmembers(Release, inspect.isfunction)]
    named = {*kanon.__all__, *dp.__all__, *(f"{method.__name__}()" for method in methods)}
    for call in (*public, *methods, kanon.PreparedTable.compare, kanon.PreparedTable.anonymize):
        if callable(call) and not (inspect.isclass(call) and issubclass(call, Exception)):
            named |= set(inspect.signature(call).parameters)
    return named


def _messages_with_options() -> list[tuple[str, str]]:
    """Return the texts of the library, outside of docstrings and the command line, that name options."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "cli" in path.parts or path.name in {"option_names.py", "demo.py"}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        raised = (
            text
            for node in ast.walk(tree)
            if isinstance(node, ast.Raise)
            for text in ast.walk(node)
            if isinstance(text, ast.Constant) and isinstance(text.value, str)
        )
        found += [(path.name, text.value) for text in raised if re.search(r"--[a-z]", text.value)]
    return found


@pytest.mark.thorough
def test_python_has_the_names_that_its_errors_show() -> None:
    """Fails on 0.1.0, where errors of the library name options of the command line."""
    keywords = _keywords()
    messages = _messages_with_options()
    assert len(messages) > 50
    for place, text in messages:
        shown = in_python(text)
        options = re.findall(r"(?<![\w-])--([a-z-]+)", text)
        commands = re.findall(r"(?<![\w-])--([a-z-]+)", shown)  # of a command that is to be typed
        assert set(commands) <= set(options)
        for option in set(options) - set(commands):
            names = {called for given, called in PYTHON_NAMES.items() if given.split(" ")[0] == option}
            assert (names or {option.replace("-", "_")}) & {
                *keywords,
                *(f"{keyword}={value}" for keyword in keywords for value in (True, False)),
            }, (
                place,
                option,
                shown,
            )


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("--rest drop leaves them out, --rest keep publishes", "rest='drop' leaves them out, rest='keep' publishes"),
        ("give one of --into, --out and --in-place.", "give one of to_table(), to_file() and in_place()."),
        ("Say: --into NAME, --out FILE or --in-place.", "Say: to_table(NAME), to_file(FILE) or in_place()."),
        ("use --algorithm optimal, or --max-suppressed 0.", "use algorithm='optimal', or max_suppressed=0."),
        ("with --qi and -k, without", "with quasi_identifiers and k, without"),
        ("(--keys F,M, --bins 0,18,65, or more)", "(keys=['F', 'M'], bins=[0, 18, 65], or more)"),
        ("--hierarchy FILE --level 1.", "hierarchy=FILE level=1."),
        ("Set one: kanon dp budget a.duckdb t --epsilon 1", "Set one: kanon dp budget a.duckdb t --epsilon 1"),
        (
            "Type kanon ledger a.duckdb --forget t. Or --replace.",
            "Type kanon ledger a.duckdb --forget t. Or replace=True.",
        ),
        ("well-known -- and a-k stay", "well-known -- and a-k stay"),
    ],
)
def test_options_are_shown_as_keywords_and_commands_as_they_are_typed(message: str, shown: str) -> None:
    assert in_python(message) == shown


def test_an_error_names_keywords_in_python_and_options_in_a_command(
    kanon: Callable[..., Ended], tmp_path: Path
) -> None:
    """Fails on 0.1.0, where both name options."""
    import kanon_sql

    with pytest.raises(UsageError, match="rest='drop' leaves them out"):
        kanon_sql.anonymize(PEOPLE, quasi_identifiers=["sex"])
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    ended = kanon("anonymize", str(tmp_path / "people.csv"), "--qi", "sex", "--out", str(tmp_path / "out.csv"))
    assert ended.code == 2
    assert "--rest drop leaves them out" in ended.err


@pytest.mark.thorough
def test_k_and_entity_are_keywords() -> None:
    """Fails on 0.1.0: TypeError, unexpected keyword argument 'k'."""
    with kanon.anonymize(PEOPLE, quasi_identifiers=["sex"], rest="drop", k=6) as release:
        assert release.levels == {"sex": 0}
    with kanon.anonymize(PEOPLE, quasi_identifiers=["sex"], rest="drop", k=7) as release:
        assert release.levels == {"sex": 1}
    diverse = [kanon.DistinctLDiversity(2)]
    asked: dict[str, Any] = {"quasi_identifiers": ["sex"], "sensitive": ["disease"], "rest": "drop", "choice": "greedy"}
    with kanon.anonymize(PEOPLE, k=6, models=diverse, **asked) as release:
        assert [model.required for model in release.verify().models] == [6, 2]
    visits = PEOPLE.assign(person=[1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6])
    with kanon.anonymize(visits, quasi_identifiers=["sex"], rest="drop", entity="person", k=4) as release:
        assert release.levels == {"sex": 1}  # three people of each sex
    assert kanon.check(PEOPLE, quasi_identifiers=["sex"], insensitive=["age"], k=6).holds
    assert not kanon.check(PEOPLE, quasi_identifiers=["sex"], insensitive=["age"], k=7).holds
    with kanon.prepare(PEOPLE, quasi_identifiers=["sex"], rest="drop", k=7) as table, table.anonymize() as release:
        assert release.levels == {"sex": 1}


def test_k_is_given_once() -> None:
    with pytest.raises(UsageError, match="k is given twice"):
        kanon.anonymize(PEOPLE, quasi_identifiers=["sex"], rest="drop", k=6, models=[kanon.KAnonymity(5)])


@pytest.mark.parametrize("written", ["25%", " 25 % ", "0.25"])
def test_a_limit_of_suppression_in_percent(written: str) -> None:
    """Fails on 0.1.0, which takes no percent."""
    rows = pd.DataFrame({"sex": ["F"] * 9 + ["M"] * 3})
    with kanon.anonymize(rows, quasi_identifiers=["sex"], k=5, max_suppressed=written) as release:
        assert (release.levels, release.rows_suppressed) == ({"sex": 0}, 3)  # 3 of 12 rows are 25 %
    with kanon.anonymize(rows, quasi_identifiers=["sex"], k=5, max_suppressed="24%") as release:
        assert (release.levels, release.rows_suppressed) == ({"sex": 1}, 0)


@pytest.mark.thorough
def test_shares_of_commands_in_percent(kanon: Callable[..., Ended], tmp_path: Path) -> None:
    """Fails on 0.1.0, which takes no percent."""
    path = tmp_path / "people.csv"
    PEOPLE.to_csv(path, index=False)
    asked = [str(path), "--qi", "sex", "--sensitive", "disease", "--keep", "age"]
    assert kanon("check", *asked, "-k", "6", "--alpha", "50%").code == 0
    assert kanon("check", *asked, "-k", "6", "--alpha", "49%").code == 1
    for percent, share in (("20%", "0.2"), ("10%", "0.1")):
        figures = [
            kanon("measure", str(path), "--qi", "sex", "--threshold", given, "--format", "json").out
            for given in (percent, share)
        ]
        assert figures[0].replace(percent, share) == figures[1]
    assert kanon("measure", str(path), "--qi", "sex", "--sampling-fraction", "10%").code == 0
    attacks = [
        kanon("attack", str(path), "--original", str(path), *asked[1:], "--confidence", given).out
        for given in ("50%", "0.5", "51%")
    ]
    assert attacks[0] == attacks[1] != attacks[2]
    spolg = ["--algorithm", "spolg", "--sample-rate", "100%", "--rest", "drop", "--out", str(tmp_path / "out.csv")]
    assert kanon("anonymize", str(path), "--qi", "sex", *spolg).code == 0
    wrong = kanon("anonymize", str(path), "--qi", "sex", *spolg[:3], "half", *spolg[4:])
    assert (wrong.code, "sample_rate must be a share of rows above 0" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-k", "abc"], "-k takes a whole number, not 'abc'."),
        (["-k", "2.5"], "-k takes a whole number, not '2.5'."),
        (["--seed", "x\x1b[2J"], r"--seed takes a whole number, not 'x\x1b[2J'."),
        (["--time-limit", "soon"], "--time-limit takes a number, not 'soon'."),
    ],
)
def test_wrong_values_are_described_in_our_words(kanon: Callable[..., Ended], options: list[str], says: str) -> None:
    """Fails on 0.1.0: "Input should be a valid integer, unable to parse string as an integer"."""
    ended = kanon("anonymize", "people.csv", "--qi", "sex", *options)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {says}\n")


def test_help_shows_no_type_for_flags(kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0, which shows ``--replace <bool>``."""
    for command in ([], ["anonymize"], ["check"], ["dp", "count"], ["hierarchy", "load"], ["demo"]):
        shown = kanon(*command, "--help").out
        assert "--help" in shown
        assert "<bool>" not in shown
