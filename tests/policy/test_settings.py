"""One table of settings: option, keyword, field, kanon.toml and its page have the same ones, with the same defaults.

A setting is declared at ``Policy``, ``NamedColumns`` or ``Destination``; the other places are compared with these.
Privacy models and algorithms have registries of their own: ``tests/docs/test_architecture.py`` registers one of each.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import tomli_w
import typer
from each import each
from needs import needs

import kanon_sql as kanon
from kanon_sql.cli.main import root
from kanon_sql.cli.options.policy_options import RequestedPolicy
from kanon_sql.engine.base import Column
from kanon_sql.policy.member import BY_COLUMN
from kanon_sql.policy.policy import SECTIONS, make_policy, parse_policy, policy_text
from kanon_sql.policy.policy import SETTINGS as POLICY_SETTINGS
from kanon_sql.policy.requirements import model_settings
from kanon_sql.policy.schema import SHIPPED, schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

FILE = Path("kanon.toml")
PAGE = Path(__file__).parents[2] / "docs" / "policy.md"
COLUMNS = [Column(name, "VARCHAR") for name in ("name", "id", "age", "sex", "disease", "cost")]

# Each setting with a value that is not its default, and with the others that this value needs.
VALUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "identifying": (["name"], {}),
    "quasi_identifiers": (["age", "sex"], {}),
    "sensitive": (["disease"], {}),
    "insensitive": (["cost"], {}),
    "rest": ("drop", {}),
    "entity": ("id", {}),
    "pseudonymize": (["name"], {}),
    "proposed": (["age"], {}),
    "k": (7, {}),
    "count": ("rows", {}),
    "population": ("everybody", {"k_map": 2}),
    "standards": (["wp216", "gbt-42460:public"], {}),
    "algorithm": ("datafly", {}),
    "measure": ("gcp", {}),
    "max_suppressed": (0.1, {}),
    "time_limit": (30.0, {}),
    "sample_rate": (0.5, {"algorithm": "spolg"}),
    "prove": (True, {"algorithm": "local"}),
    "choice": ("greedy", {}),
    "search_on": ("warehouse", {}),
    "choose": ("distinct", {"algorithm": "mondrian"}),
    "cut": ("relaxed", {"algorithm": "mondrian"}),
    "labels": ("set", {"algorithm": "mondrian"}),
    "numbers": ("mean", {"algorithm": "mondrian"}),
    "pairs": (3, {"algorithm": "mondrian-plus"}),
    "into": ("released", {}),
    "as": ("view", {"into": "released"}),
    "out": ("released.csv", {}),
    "in_place": (True, {}),
    "backup": ("before.duckdb", {"in_place": True}),
    "seed": (42, {}),
    "time_zone": ("Asia/Tokyo", {}),
    "replace": (True, {}),
    "key_file": ("pseudonyms.key", {"pseudonymize": ["name"]}),
    "spreadsheet_safe": (True, {"out": "released.csv"}),
    "delimiter": (";", {"out": "released.csv"}),
    "encoding": ("cp1252", {"out": "released.csv"}),
    "decimal": (",", {"out": "released.csv"}),
    "lock": ("kanon.lock", {"into": "released"}),
}
SETTINGS = {
    name: section
    for section, names in SECTIONS.items()
    if section != "source"  # SOURCE and TABLE are arguments everywhere else: test_origin.py
    for name in names - model_settings()
}
DESTINATION = {"kind" if name == "as" else name for name in SETTINGS} & {
    field.name for field in dataclasses.fields(kanon.Destination)
}

# Where a place has another name for a setting, or does without it.
OPTION = {
    "identifying": "--id",
    "quasi_identifiers": "--qi",
    "insensitive": "--keep",
    "k": "-k",
    "encoding": "--out-encoding",
    "decimal": "--out-decimal",
}
WITHOUT_OPTION = {
    "proposed",  # kanon init writes it, and a person takes columns out
    "standards",  # of what judges a release: check, report and init have --standard
}
WITHOUT_KEYWORD = {
    "proposed",
    "standards",  # check(), report() and init_policy() have it
    *(name for name in SETTINGS if name == "as" or name in DESTINATION),
}  # methods of Release
OTHER_OPTIONS = {  # of the run, not of the release
    *(
        "--prepare",
        "--hierarchy",
        "--hierarchies",
        "--policy",
        "--save-policy",
        "--sql",
        "--dialect",
        "--lookups",
        "--format",
    ),
    *("--quiet", "--verbose", "--read", "--memory-limit", "--threads", "--temp-dir", "--report", "--asked-by"),
    *("--dry-run", "--no-backup", "--ignore-ledger", "--encoding", "--decimal"),
    *("--into-schema", "--out-dir", "--file-format"),  # of a policy of several tables: tests/cli/test_several_tables.py
    *("--hold-out", "--control"),  # a policy file does not say which rows were held out: test_hold_out.py
    *("--prepare", "--publish"),  # names of columns, as --hierarchy: test_preparing.py, test_publish_options.py
    *("--levels", "--weight"),  # names of columns too: test_levels.py, test_weights.py
    "--set",  # any of them
}
OTHER_KEYWORDS = {
    *("source", "table", "models", "prepare", "hierarchies", "publish", "policy", "resources", "progress", "hold_out"),
    *("levels", "weights"),
}


def _option(name: str) -> str:
    return OPTION.get(name, f"--{name.replace('_', '-')}")


def _command() -> Any:
    group = root()
    return group.get_command(typer.Context(group), "anonymize")


def _anonymize(*words: str) -> dict[str, Any]:
    """Return what ``kanon anonymize`` reads, by the names of its parameters."""
    found: dict[str, Any] = _command().make_context("anonymize", ["t.csv", *words]).params
    return found


def _options() -> dict[str, Any]:
    """Return the options of ``kanon anonymize``, each by its long name, but for those of privacy models."""
    command = _command()
    of_models = {f"--{name.replace('_', '-')}" for name in model_settings()}
    found = {max(one.opts, key=len): one for one in command.params if one.param_type_name == "option"}
    return {name: option for name, option in found.items() if name not in of_models}


def _keywords() -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(kanon.anonymize).parameters.items()}


def _defaults() -> dict[str, Any]:
    """Return what holds where nothing is given, by the names of settings."""
    policy = kanon.Policy()
    return {
        **vars(policy.columns),
        **vars(policy),
        **{"as" if name == "kind" else name: value for name, value in vars(kanon.Destination()).items()},
        "k": policy.k,
    }


def _in_file(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as a kanon.toml of these is read."""
    document: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        section = next(section for section, names in SECTIONS.items() if name in names and section != "source")
        document.setdefault(section, {})[name] = value
    policy, destination = parse_policy(tomli_w.dumps(document), FILE)
    again = parse_policy(policy_text(policy, destination, FILE.parent), FILE)
    assert again == (policy, destination)  # what is written reads back
    return _by_setting(policy) | {
        "as" if name == "kind" else name: _plain(value) for name, value in vars(destination).items()
    }


def _by_setting(policy: kanon.Policy) -> dict[str, Any]:
    found = {**vars(policy.columns), **vars(policy), "k": policy.k}
    return {name: _plain(value) for name, value in found.items() if name in SETTINGS}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value


def test_each_place_has_every_setting_and_no_other() -> None:
    named = set(SETTINGS)
    fields = {field.name for kind in (kanon.NamedColumns, kanon.Policy) for field in dataclasses.fields(kind)}
    # The sections of BY_COLUMN have names of columns, and [source] what SOURCE and TABLE are
    apart = {"hierarchy_directory", "directory", "origin", *BY_COLUMN}
    assert {name for name in named if name not in WITHOUT_KEYWORD or name in {"proposed", "standards"}} == (
        fields - {"columns", "models", *apart} | {"k"}
    )
    assert {field.name for field in dataclasses.fields(kanon.Destination)} - {"dry_run"} == DESTINATION
    assert set(_options()) == {_option(name) for name in named - WITHOUT_OPTION} | OTHER_OPTIONS
    assert set(_keywords()) == named - WITHOUT_KEYWORD | OTHER_KEYWORDS
    assert set(VALUES) == named
    block = re.search(r"```toml file=kanon.toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert {name for name in {*named, *model_settings()} if not re.search(rf"\b{name}\b", block[1])} == set()


def test_each_place_has_the_same_defaults() -> None:
    defaults = _defaults()
    empty, destination = parse_policy("", FILE)
    assert (empty, destination) == (kanon.Policy(), kanon.Destination())
    assert make_policy(None) == kanon.Policy()
    for name, default in _keywords().items():
        if name not in OTHER_KEYWORDS | {"k", "algorithm"}:  # k is 5, unless models give another
            assert default == defaults[name], name
    fields = {field.name: field.default for field in dataclasses.fields(kanon.Policy)}
    assert _keywords()["algorithm"] == fields["algorithm"]  # it follows from models and choice
    assert defaults["algorithm"] == "optimal"
    for name, option in _options().items():
        if name not in OTHER_OPTIONS:
            assert option.default in {None, False}, name  # what is not given leaves the file as it is
    for name in SETTINGS.keys() - WITHOUT_OPTION:
        if shown := re.search(r"\((?:default: )([\w.]+)\)", _options()[_option(name)].help or ""):
            default = defaults[name]
            # Where the default of a setting is that of its algorithm, the help has what this one does.
            of_algorithm = {"choose": "range", "numbers": "range", "pairs": 1}.get(name, default)
            assert shown[1] == str(of_algorithm if default is None else default), name


MADE_UP = """
import inspect, json, sys
from pathlib import Path
import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.policy.policy import parse_policy, policy_text
from kanon_sql.policy.schema import schema

policy, destination = parse_policy("[search]\\nmade_up = 3\\n", Path("kanon.toml"))
assert policy.made_up == 3
assert "made_up = 3" in policy_text(policy, destination, Path())
assert inspect.signature(kanon.anonymize).parameters["made_up"].default is None
assert inspect.signature(kanon.prepare).parameters["made_up"].default is None
try:
    kanon.Policy(made_up=True)
except kanon.UsageError as error:
    assert str(error) == "made_up must be a whole number. Got True."
for option in (["--made-up", "3"], ["--set", "search.made_up=3"], ["--set", "made_up=3"]):
    asked = ["anonymize", "t.csv", "--qi", "age", "-q", "-k", "2", "--save-policy", "p.toml", "--out", "o.csv"]
    assert run([*asked, "--replace", *option]) == 0
    assert "made_up = 3" in Path("p.toml").read_text()
    Path("p.toml").unlink()
assert run(["settings", "--format", "json"]) == 0
assert schema()["properties"]["search"]["properties"]["made_up"] == {"description": "Made up.", "type": ["integer"]}
sys.path.insert(0, sys.argv[1])
import command_line
assert "| `made_up` |  | Made up. |" in command_line.settings()
"""
"""Run by a copy of the package that declares a setting more."""


@pytest.mark.thorough
def test_a_setting_is_declared_in_one_place(in_tmp: Path) -> None:
    """A made-up field of the policy is a keyword, a key of kanon.toml and --set, and in the schema, lists and pages."""
    root = Path(kanon.__file__).parents[1]
    for name in ("sql", "hierarchies"):
        (in_tmp / name).symlink_to(root / name)
    shutil.copytree(root / "kanon_sql", in_tmp / "kanon_sql", ignore=shutil.ignore_patterns("__pycache__"))
    declared = in_tmp / "kanon_sql" / "policy" / "policy.py"
    before = "    seed: int | None = setting("
    text = declared.read_text(encoding="utf-8")
    assert text.count(before) == 1
    more = '    made_up: int | None = setting("Made up.", "search", int)\n'
    declared.write_text(text.replace(before, more + before), encoding="utf-8")
    (in_tmp / "t.csv").write_text("age\n" + "30\n" * 9, encoding="utf-8")
    ended = subprocess.run(  # noqa: S603 - a program of our own
        [sys.executable, "-c", MADE_UP, str(root / "docs" / "hooks")],
        capture_output=True,
        text=True,
        check=False,
        cwd=in_tmp,
    )
    assert ended.returncode == 0, ended.stderr
    assert '"setting": "search.made_up"' in ended.stdout


def test_the_shipped_schema_is_that_of_the_declarations() -> None:
    """After a change: ``kanon settings --format schema > kanon_sql/policy/kanon.schema.json``."""
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == schema()
    sections = schema()["properties"]
    assert {*sections} == {*SECTIONS, *BY_COLUMN, "tables"}
    of_several = {"into_schema", "out_directory", "km"}
    for section, names in SECTIONS.items():
        assert {*sections[section]["properties"]} - of_several == names


@pytest.mark.thorough
def test_the_schema_takes_what_kanon_takes(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    jsonschema = needs("jsonschema")
    (in_tmp / "t.csv").write_text("name,age\n" + "Ann,30\nBob,31\n" * 9, encoding="utf-8")
    assert kanon("init", "t.csv", "-q").code == 0
    first = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    assert first.startswith("#:schema kanon.schema.json\n")
    block = re.search(r"```toml file=kanon.toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    for text in (first, block[1]):
        jsonschema.validate(tomllib.loads(text), schema())
    for wrong in ("[search]\ncut = 'nod'\n", "[privacy]\nkk = 3\n", "[searching]\n", "[release]\nseed = 'x'\n"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tomllib.loads(wrong), schema())


@each(
    ("text", "says"),
    [
        ("cut", "set is written KEY=VALUE"),
        ("search.cut=", "set is written KEY=VALUE"),
        ("release.cut=node", "There is no setting 'release.cut'. Did you mean search.cut?"),
        ("serach.cut=node", "Did you mean search.cut?"),
        ("beauty=3", "There is no setting 'beauty'. Did you mean privacy.beta?"),
        ("xyz=3", "There is no setting 'xyz'. kanon settings lists all."),
        ("cut=nod", "cut must be strict, relaxed or node. Got 'nod'. Did you mean 'node'?"),
        ("pairs=many", "pairs must be a number of passes, 0 or more. Got 'many'."),
        ("pairs=-1", "pairs must be a number of passes, 0 or more. Got -1."),
        ("prove=yes", "prove must be true or false. Got 'yes'."),
        ("time_limit=0", "time_limit must be a number of seconds above 0. Got 0.0."),
        ("sample_rate=2", "sample_rate must be a share of rows above 0 and at most 1. Got '2'."),
        ("delimiter=x", "delimiter must be comma, semicolon, tab or pipe, or its sign. Got 'x'."),
        ("release.backup=", "set is written KEY=VALUE"),
        ("seed=1.5", "seed must be a whole number. Got '1.5'."),
    ],
)
def test_what_cannot_be_set(text: str, says: str) -> None:
    with pytest.raises(kanon.UsageError) as error:
        _anonymize("--set", text)
    assert says in str(error.value)


@pytest.mark.parametrize("name", [name for name, one in POLICY_SETTINGS.items() if one.default is not None])
def test_none_is_no_value_of_a_setting_with_a_default(name: str) -> None:
    """None of count would have left out that people are counted."""
    with pytest.raises(kanon.UsageError, match=f"{name} must be .* Got None"):
        kanon.Policy(**{name: None})


def test_a_time_zone_is_set_once(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """It holds before the table is opened; fails before: the one of --set was ignored beside the option."""
    (in_tmp / "t.csv").write_text("age\n" + "30\n" * 9, encoding="utf-8")
    asked = ("anonymize", "t.csv", "--qi", "age", "--out", "o.csv", "-q", "--set", "time_zone=Asia/Tokyo")
    twice = kanon(*asked, "--time-zone", "UTC")
    assert (twice.code, "time_zone is given twice" in twice.err) == (2, True)
    assert kanon(*asked, "--save-policy", "p.toml").code == 0
    assert 'time_zone = "Asia/Tokyo"' in (in_tmp / "p.toml").read_text(encoding="utf-8")


def test_what_is_set_is_what_options_give() -> None:
    texts = ["search.cut=node", "max_suppressed=5%", "prove=true", "k=7", "privacy.l=disease=3", "l=id=2", "pairs=2"]
    found = _anonymize(*(word for text in texts for word in ("--set", text)))
    said = {"cut": "node", "max_suppressed": "5%", "prove": True, "k": 7, "pairs": 2, "l": ["disease=3", "id=2"]}
    assert found.items() >= said.items()
    with pytest.raises(kanon.UsageError, match="gives cut twice"):
        _anonymize("--set", "cut=node", "--set", "search.cut=node")


DIVERSE = "[privacy]\nk = 5\nl = { disease = 2 }\n"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "algorithm", "made"),
    [
        ("", "optimal", None),
        ('[search]\nchoice = "greedy"\n', "optimal", None),
        (DIVERSE, "mondrian", "all-or-none"),
        (f'{DIVERSE}[search]\nchoice = "all-or-none"\n', "mondrian", "all-or-none"),
        (f'{DIVERSE}[search]\nchoice = "greedy"\n', "optimal", "greedy"),
        (f'{DIVERSE}[search]\nchoice = "greedy"\nalgorithm = "mondrian"\n', "mondrian", "greedy"),
        (f'{DIVERSE}[search]\nalgorithm = "local"\n', "local", "all-or-none"),
    ],
)
def test_the_algorithm_follows_from_models_and_choice(text: str, algorithm: str, made: str | None) -> None:
    policy, destination = parse_policy(f'[columns]\nsensitive = ["disease"]\n{text}', FILE)
    assert (policy.algorithm, policy.choice_made) == (algorithm, made)
    assert parse_policy(policy_text(policy, destination, FILE.parent), FILE) == (policy, destination)
    again = make_policy(None, sensitive=["disease"], models=policy.models, choice=policy.choice)
    assert again.algorithm == ("mondrian" if made == "all-or-none" else "optimal")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("text", "choice", "algorithm"),
    [
        ("", None, "mondrian"),
        ("", "greedy", "optimal"),
        ('[search]\nchoice = "greedy"\n', None, "optimal"),
        ('[search]\nchoice = "greedy"\n', "all-or-none", "mondrian"),
        (DIVERSE, None, "mondrian"),
        (DIVERSE, "greedy", "optimal"),
        ('[search]\nalgorithm = "local"\n', "greedy", "local"),
        ('[search]\nalgorithm = "optimal"\n', None, "optimal"),  # which the search refuses
    ],
)
def test_it_follows_from_what_the_command_line_adds_to_a_file(text: str, choice: str | None, algorithm: str) -> None:
    policy, _ = parse_policy(f'[columns]\nsensitive = ["disease"]\n{text}', FILE)
    options = dict.fromkeys([*VALUES, "prepare", "hierarchy", "hierarchies", "publish", "levels", "policy_file"])
    asked = RequestedPolicy({**options, "choice": choice}, {"l": ["disease=2"]}, None).over(policy)
    assert [model.letter for model in asked.models] == ["k", "l"]
    assert (asked.algorithm, asked.choice_made) == (algorithm, choice or policy.choice)


def test_standards_of_a_file_stay_without_the_option() -> None:
    """Fails before: typer gives an empty list for an option that is not given."""
    options = dict.fromkeys([*VALUES, "prepare", "hierarchy", "hierarchies", "publish", "levels", "policy_file"])
    file = kanon.Policy(standards=("wp216",))
    assert RequestedPolicy({**options, "standard": ()}, {}, None).over(file).standards == ("wp216",)
    assert RequestedPolicy({**options, "standard": ["cells-11"]}, {}, None).over(file).standards == ("cells-11",)


def test_it_follows_from_what_is_asked_of_a_table_that_was_prepared() -> None:
    frame = pd.DataFrame({"age": [20, 20, 30, 30] * 5, "disease": ["flu", "cough"] * 10})
    models, alone = [kanon.KAnonymity(2), kanon.DistinctLDiversity(2)], (kanon.KAnonymity(2),)
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["disease"], "models": models}
    found = []
    with kanon.prepare(frame, **asked) as table:
        for settings in ({}, {"choice": "greedy"}, {"models": alone}, {"algorithm": "mondrian", "models": alone}):
            with table.anonymize(**settings) as release:
                found.append(release.policy.algorithm)
    assert found == ["mondrian", "optimal", "optimal", "mondrian"]


@each("name", sorted(SETTINGS))
def test_each_place_gives_a_setting_the_same_value(name: str) -> None:
    value, others = VALUES[name]
    assert value != _plain(_defaults()[name])
    in_file = _in_file({name: value, **others})
    assert in_file[name] == value
    if name not in WITHOUT_KEYWORD:
        models = [kanon.KMap(2)] if "k_map" in others else None
        k = {"k": 5} if models else {}
        keywords = {other: given for other, given in others.items() if other not in model_settings()}
        policy = make_policy(None, **{"models": models, **k, name: value, **keywords})
        assert _by_setting(policy)[name] == value
    # --time-zone holds before the table is opened: tests/release/test_time_zones.py
    if name not in WITHOUT_OPTION | DESTINATION | {"as", "population", "time_zone"}:
        options = dict.fromkeys([*VALUES, "prepare", "hierarchy", "hierarchies", "publish", "levels", "policy_file"])
        given = Path(value).absolute() if name == "key_file" else value
        policy = RequestedPolicy({**options, **others, name: given}, {}, None).over(kanon.Policy())
        assert _by_setting(policy)[name] == _plain(given)
