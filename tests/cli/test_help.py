"""The help of every command fits on a screen; other options keep working, and messages recommend them by --set."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import pytest
import typer
from conftest import REPOSITORY
from each import each

from kanon_sql.cli.commands import COMMANDS, EXAMPLES, GROUPS
from kanon_sql.cli.main import root
from kanon_sql.cli.options.keys import BY_NAME, key_of, keys_of, note_hidden, recommended
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Ended

_NAMED = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
VALUES = {
    "--hold-out": "0.2",
    "--sample-rate": "0.2",
    "--time-zone": "Asia/Tokyo",
    "--delimiter": "tab",
    "--encoding": "cp1252",
    "--out-encoding": "cp1252",
    "--decimal": "comma",
    "--out-decimal": "comma",
}
"""Values of hidden options that are more than a text."""


def command(path: str = "anonymize") -> Any:
    group: Any = root()
    for name in path.split():
        group = group.get_command(typer.Context(group), name)
    return group


def hidden(path: str = "anonymize") -> list[Any]:
    return [one for one in command(path).params if one.hidden]


def long(option: Any) -> str:
    return max(option.opts, key=len)


@pytest.fixture
def shown(kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return the help of a command as it is in a window of some width."""

    def call(path: str, width: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        ended = kanon(*path.split(), "--help")
        assert (ended.code, ended.err) == (0, "")
        return ended.out

    return call


@pytest.mark.parametrize("path", ["", *GROUPS, *COMMANDS])
def test_a_help_fits_on_a_screen(path: str, shown: Callable[..., str]) -> None:
    """Fails before, where that of anonymize has 184 lines; on 0.1.0, names in narrow columns end in an ellipsis."""
    text = shown(path)
    assert [line for line in text.split("\n") if len(line) > 80] == []
    assert "…" not in text
    assert "<bool>" not in text
    assert "--help" in text
    wide = shown(path, 100).split("\n")
    assert len(wide) <= 75
    assert max(map(len, wide)) <= 100


def test_anonymize_shows_the_options_that_most_people_need_each_on_a_line(shown: Callable[..., str]) -> None:
    options, _, _ = shown("anonymize", 100).partition("Options:\n")[2].partition("\n\n")
    lines = options.rstrip().split("\n")
    names = [re.findall(r"^  (?:-\w, )?(--?[a-z-]+)", line) for line in lines]
    assert [name for found in names for name in found] == [
        *("--id", "--qi", "--sensitive", "--keep", "--rest", "--entity", "-k", "--l", "--t", "--count"),
        *("--max-suppressed", "--algorithm", "--hierarchy", "--hierarchies", "--levels", "--policy", "--set"),
        *("--into", "--as", "--out", "--in-place", "--backup", "--no-backup", "--dry-run", "--replace"),
        *("--sql", "--dialect", "--format", "--quiet", "--verbose", "--read", "--help"),
    ]
    assert len(lines) == 32


def _given(option: Any) -> str:
    """Return a value for an option."""
    choices = option.type_descriptor.choices
    if long(option) in VALUES or choices:
        return VALUES.get(long(option)) or choices[0]
    return "true" if option.is_flag else "age=3" if "COLUMN=" in str(option.metavar) else "3"


@each("option", [pytest.param(one, id=long(one)) for one in hidden()])
def test_a_hidden_option_and_its_key_give_the_same(option: Any) -> None:
    value, key = _given(option), key_of(long(option))
    by_option = [long(option)] if option.is_flag else [long(option), value]
    by_key = f"{key}.{value}" if key in BY_NAME else f"{key}={value}"
    one, other = (
        command().make_context("anonymize", ["t.csv", *given]).params | {"settings": None}
        for given in (by_option, ["--set", by_key])
    )
    assert one == other
    assert one[option.name] not in (None, False, [])
    with pytest.raises(UsageError, match="is given twice: by its option, and by"):
        command().make_context("anonymize", ["t.csv", *by_option, "--set", by_key])


def test_layout_and_columns_are_keys_too() -> None:
    texts = [
        "source.delim=tab",
        "hierarchies.age=mask",
        "levels.a.b=..2",
        "privacy.k=7",
        "release.as=view",
        "in_place=true",
    ]
    given = [word for text in texts for word in ("--set", text)]
    found = command().make_context("anonymize", given).params
    named = ("read", "hierarchy", "levels", "k", "kind", "in_place")
    assert [found[name] for name in named] == [["delim=tab"], ["age=mask"], ["a.b=..2"], 7, "view", True]


def test_no_backup_is_set_as_kanon_toml_has_it() -> None:
    """``--set release.backup=false`` must not copy the raw rows into a file called false."""
    found = command().make_context("anonymize", ["--set", "in_place=true", "--set", "release.backup=false"]).params
    assert (found["backup"], found["no_backup"], found["in_place"]) == (None, True, True)
    with pytest.raises(UsageError, match="No copy is made without"):
        command("clean").make_context("clean", ["a.duckdb", "--set", "release.backup=false"])


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("name it with --population.", "name it with --set privacy.population=TABLE|FILE."),
        ("use --time-limit 60, or --k-map 3.", "use --set search.time_limit=60, or --set privacy.k_map=3."),
        ("allow more (--memory-limit SIZE).", "allow more (--set run.memory_limit=SIZE)."),
        ("leave --search-on out.", "leave --set search.search_on=workbench|warehouse out."),
        ("or --publish COLUMN=hash (--prove)", "or --set publish.COLUMN=hash (--set search.prove=true)"),
        ("write --out x.csv: -k 3", "write --out x.csv: -k 3"),
        ("next:\n  kanon attack t --control c.csv", "next:\n  kanon attack t --control c.csv"),
        ("by --prepare 'a b=left(c, 3)', or", "by --set 'prepare.a b=left(c, 3)', or"),
        ("--seed was typed", "--seed was typed"),
        ("'--beta', \"--lock x\": use --prove", "'--beta', \"--lock x\": use --set search.prove=true"),
        ("t.csv -> o --report q.csv", "t.csv -> o --report q.csv"),
    ],
)
def test_a_message_recommends_what_the_help_shows(message: str, says: str) -> None:
    note_hidden(command(), ["--seed", "3", "--out", "o --report q.csv"])
    assert recommended(message) == says


def _messages() -> Iterator[tuple[str, str]]:
    """Yield the texts of the package, but for docstrings."""
    for path in sorted((REPOSITORY / "kanon_sql").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
                yield f"{path.name}:{node.lineno}", node.value


@pytest.mark.parametrize("path", ["anonymize", "check", "attack", "report", "compare"])
def test_no_message_recommends_a_hidden_option(path: str) -> None:
    """Whatever a message names is an option of the help, or becomes the key of one that is not there."""
    note_hidden(command(path), [])
    names = {name for one in hidden(path) for name in one.opts}
    texts = [(place, text) for place, text in _messages() if names & {*_NAMED.findall(text)} and " " in text]
    assert path != "anonymize" or len(texts) > 30
    for place, text in texts:
        left = re.sub(r"\bkanon [a-z-]+ [^\n]*", "", recommended(text))
        assert not names & {*_NAMED.findall(left)}, (place, text)
        assert not names & {*_NAMED.findall(" ".join(EXAMPLES[path]))}


def test_every_key_is_of_one_option() -> None:
    for path in COMMANDS:
        options = [one for one in command(path).params if one.param_type_name == "option" and one.name != "settings"]
        assert len(keys_of(command(path))) == len(options)


def test_a_group_without_a_command_shows_its_help(kanon: Callable[..., Ended]) -> None:
    for group in ([], ["hierarchy"], ["dp"]):
        ended = kanon(*group)
        assert (ended.code, ended.err) == (2, "")
        assert ended.out.strip() == kanon(*group, "--help").out.strip()
