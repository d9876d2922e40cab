"""Privacy models against examples of the papers, against pycanon where it is right, and from the command line."""

from __future__ import annotations

import importlib
import math
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import ADULT_QI

import kanon_sql as kanon
from kanon_sql import read_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from conftest import Ended

# Machanavajjhala et al. 2007, figures 2 and 3: the same twelve patients, 4-anonymous and 3-diverse.
FOUR_ANONYMOUS = [
    *[("130**", "<30", disease) for disease in ("heart", "heart", "viral", "viral")],
    *[("1485*", ">=40", disease) for disease in ("cancer", "heart", "viral", "viral")],
    *[("130**", "3*", disease) for disease in ("cancer", "cancer", "cancer", "cancer")],
]
THREE_DIVERSE = [
    *[("1305*", "<=40", disease) for disease in ("heart", "viral", "cancer", "cancer")],
    *[("1485*", ">40", disease) for disease in ("cancer", "heart", "viral", "viral")],
    *[("1306*", "<=40", disease) for disease in ("heart", "viral", "cancer", "cancer")],
]
# Li et al. 2007, table 3 and the classes of table 5: salaries of 3k to 11k, and diseases.
SALARIES = {"a": [3, 5, 9], "b": [6, 11, 8], "c": [4, 7, 10]}
DISEASES = {
    "a": ["gastric ulcer", "stomach cancer", "pneumonia"],
    "b": ["gastritis", "flu", "bronchitis"],
    "c": ["gastritis", "bronchitis", "stomach cancer"],
}
DISEASE_TREE = """gastric ulcer;stomach;digestive;*
gastritis;stomach;digestive;*
stomach cancer;stomach;digestive;*
flu;respiratory infection;respiratory;*
pneumonia;respiratory infection;respiratory;*
bronchitis;respiratory infection;respiratory;*
pulmonary edema;vascular lung;respiratory;*
colitis;colon;digestive;*
"""


def patients(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["zip", "age", "disease"])


def measured(frame: pd.DataFrame, models: list[Any], **asked: Any) -> list[float]:
    found = kanon.check(
        frame, quasi_identifiers=[c for c in frame.columns if c not in asked["sensitive"]], models=models, **asked
    )
    return [result.measured for result in found.models]


def test_machanavajjhala() -> None:
    models = [
        kanon.KAnonymity(4),
        kanon.DistinctLDiversity(l=3),
        kanon.EntropyLDiversity(l=2.8),
        kanon.RecursiveCLDiversity(c=2, l=3),
        kanon.AlphaKAnonymity(alpha=0.5),
    ]
    # The last class has one disease: the entropy of one value, and nothing is left without the most frequent one.
    assert measured(patients(FOUR_ANONYMOUS), models, sensitive=["disease"]) == [4, 1, 1, math.inf, 1]
    # Counts 2, 1, 1 in every class: entropy 1.5 ln 2, so 2^1.5 values; r_1 = 2 and r_3 = 1.
    k, distinct, entropy, recursive, alpha = measured(patients(THREE_DIVERSE), models, sensitive=["disease"])
    assert (k, distinct, recursive, alpha) == (4, 3, 2, 0.5)
    assert entropy == pytest.approx(2**1.5)
    assert not kanon.check(
        patients(THREE_DIVERSE), quasi_identifiers=["zip", "age"], sensitive=["disease"], models=[models[3]]
    ).holds  # r_1 < c (r_3) is strict: 2 < 2 * 1 does not hold


@pytest.mark.thorough
def test_li(tmp_path: Path) -> None:
    # The paper's own two classes: {3k, 4k, 5k} is 0.375 away from 3k..11k, {6k, 8k, 11k} is 0.167 away.
    ordered = kanon.TCloseness(t=0.2)
    for salaries, distance in (([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)):
        others = [salary for salary in range(3, 12) if salary not in salaries]
        frame = pd.DataFrame({"class": ["x"] * 3 + ["y"] * 6, "salary": [*salaries, *others]})
        found = kanon.check(frame, quasi_identifiers=["class"], sensitive=["salary"], models=[ordered])
        own = {1: distance, 2: distance / 2}  # the six others are as far off as the three, weighted by 3/6
        assert found.models[0].measured == pytest.approx(max(own.values()))
        assert found.models[0].model == "t-closeness, ordered distance"  # of numbers, without being told
    # Table 5: 0.167-close by salary.
    frame = pd.DataFrame(
        [(name, salary) for name, own in SALARIES.items() for salary in own], columns=["class", "salary"]
    )
    assert measured(frame, [ordered], sensitive=["salary"]) == [pytest.approx(1 / 6)]
    # Diseases in a tree of height 3, by hand, for the classes a, b, c: 1/9 of a's rows too many are digestive, and go
    # all the way up (1/9); 2/9 move between stomach diseases and 2/9 between infections, at a third of the way: 7/27.
    # In b it is 2/9 up, and 1/9 in each: 8/27. In c 1/9 up, and 1/9 in each: 5/27. The worst is b.
    rows = [(name, disease) for name, own in DISEASES.items() for disease in own]
    frame = pd.DataFrame(rows, columns=["class", "disease"])
    tree = tmp_path / "disease.csv"
    tree.write_text(DISEASE_TREE)
    for kept, worst in (("abc", 8 / 27), ("a", 7 / 27), ("c", 5 / 27)):
        models = [kanon.TCloseness(t=0.2, distance="hierarchical")]
        own = frame.copy()
        own["class"] = [name if name in kept else "others" for name in own["class"]]
        found = kanon.check(
            own, quasi_identifiers=["class"], sensitive=["disease"], models=models, hierarchies={"disease": tree}
        )
        assert found.models[0].measured == pytest.approx(worst)


def test_null_is_a_value_of_its_own() -> None:
    frame = pd.DataFrame({"age": [None, None, "x", "x"], "disease": ["flu", None, "flu", "flu"]})
    models = [kanon.KAnonymity(2), kanon.DistinctLDiversity(l=2), kanon.AlphaKAnonymity(alpha=0.6)]
    assert measured(frame, models, sensitive=["disease"]) == [2, 1, 1]
    models = [kanon.DistinctLDiversity(l=2), kanon.AlphaKAnonymity(alpha=0.6)]
    assert measured(frame[:2], models, sensitive=["disease"]) == [2, 0.5]


@pytest.mark.thorough
def test_population_models_by_hand(tmp_path: Path) -> None:
    # Of 8, 2 and 5 people in three places 2, 1 and 0 are in the table.
    connection = duckdb.connect()
    for table, counts in (("sample", (2, 1, 0)), ("everybody", (8, 2, 5))):
        rows = [(place,) for place, count in zip("abc", counts, strict=True) for _ in range(count)]
        connection.execute(f'CREATE TABLE "{table}" (place VARCHAR)')
        connection.executemany(f'INSERT INTO "{table}" VALUES (?)', rows)  # noqa: S608 - one of two names
    asked: dict[str, Any] = {"quasi_identifiers": ["place"], "population": "everybody"}
    models = [kanon.KMap(k=3), kanon.DeltaPresence(delta_min=0.1, delta_max=0.4)]
    found = kanon.check(connection, "sample", models=models, **asked)
    assert [(result.measured, result.classes_failing) for result in found.models] == [
        (2, 1),
        (0, 2),
    ]  # b is 0.5, c is 0
    found = kanon.check(connection, "sample", models=[kanon.DeltaPresence(delta_min=0, delta_max=0.4)], **asked)
    assert [(result.measured, result.classes_failing) for result in found.models] == [(0.5, 1)]
    # With a lower bound nothing is suppressed, and only at the root everybody is in a class that has rows: 3 of 15.
    tree = tmp_path / "place.csv"
    tree.write_text("a;ab;*\nb;ab;*\nc;c;*\n")
    for limit in (0, 0.5):
        with kanon.anonymize(
            connection, "sample", models=models, hierarchies={"place": tree}, max_suppressed=limit, **asked
        ) as release:
            assert (release.levels, release.rows_suppressed) == ({"place": 2}, 0)
            assert [result.measured for result in release.verify().models] == [15, 0.2]
    # Without one, a and b together are 3 of 10; alone, b has to be suppressed.
    models = [kanon.KMap(k=3), kanon.DeltaPresence(delta_min=0, delta_max=0.4)]
    for limit, level, suppressed in ((0, 1, 0), (0.5, 0, 1)):
        with kanon.anonymize(
            connection, "sample", models=models, hierarchies={"place": tree}, max_suppressed=limit, **asked
        ) as release:
            assert (release.levels, release.rows_suppressed) == ({"place": level}, suppressed)
            assert [result.measured for result in release.verify().models] == ([10, 0.3] if level else [8, 0.25])
            assert 'FROM "everybody"' in release.sql() or "FROM everybody" in release.sql()
    for algorithm in ("local", "mondrian"):
        with pytest.raises(kanon.UsageError, match="optimal"):
            kanon.anonymize(
                connection, "sample", models=models, hierarchies={"place": tree}, algorithm=algorithm, **asked
            )
    tree.write_text("a;ab;*\nb;ab;*\n")
    with pytest.raises(kanon.HierarchyError, match="In the population"):
        kanon.anonymize(connection, "sample", models=models, hierarchies={"place": tree}, **asked)


@pytest.fixture(scope="session")
def pycanon(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return pycanon.anonymity. It asks for exact versions of pandas and typer, other than ours: so it stands apart."""
    place = tmp_path_factory.mktemp("pycanon")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(place), "pycanon==1.3.6"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - a fixed command
    sys.path.insert(0, str(place))
    try:
        return importlib.import_module("pycanon.anonymity")
    finally:
        sys.path.remove(str(place))


def compare_with_pycanon(
    pycanon: ModuleType, frame: pd.DataFrame, quasi_identifiers: list[str], sensitive: str
) -> None:
    frame = frame.reset_index(drop=True)
    k, distinct, alpha, beta, closeness = (
        result.measured
        for result in kanon.check(
            frame,
            quasi_identifiers=quasi_identifiers,
            sensitive=[sensitive],
            models=[
                kanon.KAnonymity(2),
                kanon.DistinctLDiversity(l=2),
                kanon.AlphaKAnonymity(alpha=0.5),
                kanon.BasicBetaLikeness(beta=1),
                kanon.TCloseness(t=0.5),
            ],
        ).models
    )
    asked = (frame, quasi_identifiers, [sensitive])
    assert k == pycanon.k_anonymity(frame, quasi_identifiers)
    assert distinct == pycanon.l_diversity(*asked)
    assert alpha == pytest.approx(pycanon.alpha_k_anonymity(*asked)[0])
    assert beta == pytest.approx(pycanon.basic_beta_likeness(*asked))
    assert closeness == pytest.approx(pycanon.t_closeness(*asked))


@pytest.mark.thorough
def test_pycanon_agrees_on_random_tables(pycanon: ModuleType) -> None:
    chosen = random.Random(5)  # noqa: S311 - makes tables, not secrets
    for _ in range(6):
        rows = chosen.randint(5, 60)
        frame = pd.DataFrame(
            {
                "sex": [chosen.choice("mf") for _ in range(rows)],
                "age": [chosen.choice([20, 30, 40]) for _ in range(rows)],
                "ill": [chosen.choice(["flu", "cold", "none"]) for _ in range(rows)],
                "pay": [1, 2, *(chosen.randint(1, 9) for _ in range(rows - 2))],
            }
        )
        for sensitive in ("ill", "pay"):
            compare_with_pycanon(pycanon, frame, ["sex", "age"], sensitive)


@pytest.mark.thorough
def test_pycanon_agrees_on_adult(pycanon: ModuleType, adult: Path) -> None:
    frame = pd.read_csv(adult / "adult.csv", sep=";")
    compare_with_pycanon(pycanon, frame, ["sex", "race"], "occupation")
    compare_with_pycanon(pycanon, frame, ["sex", "race", "workclass"], "age")


# From the command line


def test_check_tells_the_worst_classes_and_fails(kanon: Callable[..., Ended], tmp_path: Path) -> None:
    path = tmp_path / "patients.csv"
    patients(FOUR_ANONYMOUS).to_csv(path, index=False)
    asked = ["check", str(path), "--qi", "zip,age", "--sensitive", "disease", "-k", "4", "--l", "2", "--t", "0.5"]
    result = kanon(*asked)
    assert result.code == 1
    assert "distinct l-diversity of disease" in result.out
    assert "DOES NOT HOLD: worst class has 1" in result.out
    assert "cancer" not in result.out + result.err  # no value is ever told
    found = kanon(*asked, "--format", "json").json
    assert [(model["model"], model["measured"], model["holds"]) for model in found["models"]] == [
        ("k-anonymity", 4, True),
        ("distinct l-diversity", 1, False),
        ("t-closeness, equal distance", pytest.approx(7 / 12), False),
    ]
    assert found["worst_classes"][0] == {
        "model": "distinct l-diversity",
        "sensitive": "disease",
        "rows": 4,
        "measured": 1,
    }
    assert kanon(*asked[:-4], "--alpha", "disease=1", "--delta", "disease=9").code == 1  # a value is missing in a class


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--l", "two"], "--l is written L or COLUMN=L"),
        (["--l", "0"], "whole number of at least 1"),
        (["--t", "1.5"], "at most 1"),
        (["--recursive", "3"], "It is written c,l"),
        (["--distance", "ordered"], "give t too"),
        (["--t", "0.2", "--distance", "near"], "equal, ordered, hierarchical"),
        (["--t", "0.2", "--distance", "hierarchical"], "needs a hierarchy of column 'disease'"),
        (["--l", "zip2=3"], "no column 'zip2'"),
        (["--k-map", "3"], "--set privacy.population"),
        (["--population", "patients"], "--set privacy.k_map"),
    ],
)
def test_what_is_asked_wrong_is_said(
    kanon: Callable[..., Ended], tmp_path: Path, options: list[str], said: str
) -> None:
    path = tmp_path / "patients.csv"
    patients(FOUR_ANONYMOUS).to_csv(path, index=False)
    result = kanon("check", str(path), "--qi", "zip,age", "--sensitive", "disease", *options)
    assert result.code == 2
    assert said in " ".join(result.err.split())


@pytest.mark.thorough
@pytest.mark.parametrize("choice", ["all-or-none", "greedy"])
def test_a_policy_file_guards_all_models(kanon: Callable[..., Ended], tmp_path: Path, choice: str) -> None:
    path = tmp_path / "patients.csv"
    patients(THREE_DIVERSE).to_csv(path, index=False)
    saved = tmp_path / "kanon.toml"
    out = tmp_path / "out.csv"
    made = kanon(
        *(
            "anonymize",
            str(path),
            "--qi",
            "zip,age",
            "--sensitive",
            "disease",
            "-k",
            "3",
            "--l",
            "3",
            "--recursive",
            "3,2",
        ),
        *("--entropy-l", "2", "--alpha", "0.5", "--t", "0.4", "--beta", "2", "--enhanced-beta", "2"),
        *("--max-suppressed", "0", "--out", str(out), "--save-policy", str(saved), "--choice", choice),
    )
    assert made.code == 0, made.err
    policy, _ = read_policy(saved)
    assert (policy.choice, policy.algorithm) == (choice, "optimal" if choice == "greedy" else "mondrian")
    assert [model.name for model in policy.models] == [
        "k-anonymity",
        "distinct l-diversity",
        "entropy l-diversity",
        "recursive (c,2)-diversity",
        "(alpha,k)-anonymity",
        "t-closeness",
        "basic beta-likeness",
        "enhanced beta-likeness",
    ]
    assert kanon("check", str(out), "--policy", str(saved)).code == 0
    patients(FOUR_ANONYMOUS).to_csv(out, index=False)
    assert kanon("check", str(out), "--policy", str(saved)).code == 1


DISTINCT, EQUAL = kanon.DistinctLDiversity(l=3), kanon.TCloseness(t=0.2, distance="equal")
OTHERS = [
    kanon.EntropyLDiversity(l=3),
    kanon.RecursiveCLDiversity(c=3, l=3),
    kanon.TCloseness(t=0.2, distance="ordered"),
    kanon.TCloseness(t=0.2, distance="hierarchical"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "choice", "model"),
    [
        *(
            (algorithm, "greedy", model)
            for algorithm in ("optimal", "local", "mondrian")
            for model in (DISTINCT, EQUAL)
        ),
        *(("mondrian", "all-or-none", model) for model in (DISTINCT, EQUAL)),
        *(("optimal", "greedy", model) for model in OTHERS),
    ],
    ids=str,
)
def test_adult(adult: Path, algorithm: str, choice: str, model: Any) -> None:
    """K = 5 and occupation: what is published is measured by another statement, in pandas."""
    quasi_identifiers = [name for name in ADULT_QI if name != "occupation"]
    rules = {name: str(adult / f"adult_hierarchy_{name}.csv") for name in quasi_identifiers}
    if getattr(model, "distance", None) == "hierarchical":
        rules["occupation"] = str(adult / "adult_hierarchy_occupation.csv")
    with kanon.anonymize(
        str(adult / "adult.csv"),
        quasi_identifiers=quasi_identifiers,
        sensitive=["occupation"],
        rest="drop",
        hierarchies=rules,
        models=[kanon.KAnonymity(5), model],
        algorithm=algorithm,
        choice=choice,
    ) as release:
        rows = release.to_pandas()
        verified = release.verify().models[1]
    assert verified.holds
    sizes = rows.groupby(quasi_identifiers, dropna=False)["occupation"]
    assert sizes.size().min() >= 5
    if isinstance(model, kanon.DistinctLDiversity):
        assert sizes.nunique().min() == verified.measured >= 3
    if getattr(model, "distance", None) == "equal":
        whole = pd.read_csv(adult / "adult.csv", sep=";")["occupation"].value_counts(normalize=True)
        shares = sizes.value_counts(normalize=True).unstack(fill_value=0)  # noqa: PD010 - of a series
        distances = (shares.reindex(columns=whole.index, fill_value=0) - whole).abs().sum(axis=1) / 2
        assert distances.max() == pytest.approx(verified.measured)
        assert distances.max() <= 0.2 + 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "choice"), [("optimal", "greedy"), ("mondrian", "greedy"), ("mondrian", "all-or-none")]
)
def test_an_attack_finds_victims_of_k_alone_and_none_of_l(adult: Path, algorithm: str, choice: str) -> None:
    asked: dict[str, Any] = {
        "quasi_identifiers": ["sex", "age", "race", "education"],
        "sensitive": ["occupation"],
    }
    how: dict[str, Any] = {"algorithm": algorithm, "choice": choice, "seed": 1}
    names = asked["quasi_identifiers"]
    asked["hierarchies"] = {name: str(adult / f"adult_hierarchy_{name}.csv") for name in names}
    certain = []
    table = pd.read_csv(adult / "adult.csv", sep=";")
    for models in ([kanon.KAnonymity(5)], [kanon.KAnonymity(5), kanon.DistinctLDiversity(l=3)]):
        with kanon.anonymize(table, rest="drop", models=models, **how, **asked) as release:
            published = release.to_pandas()
        found = kanon.attack(published, original=table, **asked)
        (homogeneity,) = [attack for attack in found.attacks if attack.name == "homogeneity"]
        certain.append((homogeneity.succeeded, homogeneity.figures()["rows_certain"]))
    (victims, how_many), (others, none) = certain
    assert victims
    assert how_many > 0
    assert (others, none) == (False, 0)


# What somebody who wanted to break them found


def flat(directory: Path, name: str, tree: str) -> str:
    path = directory / name
    path.write_text(tree)
    return str(path)


def test_nobody_counts_as_far_as_that() -> None:
    """DuckDB compares counts wrongly with whole numbers of over 128 bits: 1 >= 1e300 is true there."""
    for make in (
        lambda: kanon.KAnonymity(10**60),
        lambda: kanon.DistinctLDiversity(l=10**300),
        lambda: kanon.RecursiveCLDiversity(c=2, l=10**60),
        lambda: kanon.KMap(k=10**40),
    ):
        with pytest.raises(kanon.UsageError, match="more than any table has rows"):
            make()
    largest = 2**62
    for model in (
        kanon.DistinctLDiversity(l=largest),
        kanon.RecursiveCLDiversity(c=2, l=largest),
        kanon.KAnonymity(largest),
    ):
        assert not kanon.check(
            patients(THREE_DIVERSE), quasi_identifiers=["zip"], sensitive=["disease"], models=[model]
        ).holds


def test_people_who_are_not_in_the_table_count(tmp_path: Path) -> None:
    """Half of u is in the table and nobody of v: so v is known not to be there, and both together are too few."""
    table = pd.DataFrame({"q": ["u", "u"]})
    population = tmp_path / "everybody.csv"
    population.write_text("q\n" + "u\n" * 4 + "v\n" * 100)
    tree = flat(tmp_path, "q.csv", "u;A;*\nv;A;*\n")
    models = [kanon.KAnonymity(2), kanon.DeltaPresence(delta_min=0.1, delta_max=1)]
    asked: dict[str, Any] = {
        "quasi_identifiers": ["q"],
        "models": models,
        "population": str(population),
        "hierarchies": {"q": tree},
        "max_suppressed": 0,
    }
    for algorithm in ("optimal", "datafly", "incognito"):
        with pytest.raises(kanon.NoSolutionError):
            kanon.anonymize(table, algorithm=algorithm, **asked)


@pytest.mark.parametrize(
    "model",
    [
        kanon.AlphaKAnonymity(alpha=0.333333333),
        kanon.EntropyLDiversity(l=3.0000000005),
        kanon.EntropyLDiversity(l=math.exp(math.log(3))),
    ],
)
def test_what_holds_by_its_tolerance_is_found(tmp_path: Path, model: Any) -> None:
    rows = [*[("u", value) for value in "abc"], ("v", "a"), *[("w", value) for value in "abc"], ("x", "b")]
    with kanon.anonymize(
        pd.DataFrame(rows, columns=["q", "s"]),
        quasi_identifiers=["q"],
        sensitive=["s"],
        models=[kanon.KAnonymity(1), model],
        hierarchies={"q": flat(tmp_path, "q.csv", "u;A;*\nv;A;*\nw;B;*\nx;B;*\n")},
        max_suppressed=0.3,
        choice="greedy",
    ) as release:
        assert (release.levels, release.rows_suppressed) == ({"q": 0}, 2)


def test_entropy_is_flat_at_its_top(tmp_path: Path) -> None:
    """50,001 and 50,000 rows have an entropy of ln 2 but for 1e-10: they are a class, and 100 rows are suppressed."""
    counted = [("u", "a", 50_001), ("u", "b", 50_000), ("v", "a", 100)]
    rows = [(q, s) for q, s, count in counted for _ in range(count)]
    with kanon.anonymize(
        pd.DataFrame(rows, columns=["q", "s"]),
        quasi_identifiers=["q"],
        sensitive=["s"],
        models=[kanon.KAnonymity(5), kanon.EntropyLDiversity(l=2)],
        hierarchies={"q": flat(tmp_path, "q.csv", "u;*\nv;*\n")},
        max_suppressed="100 rows",
        choice="greedy",
    ) as release:
        assert (release.levels, release.rows_suppressed) == ({"q": 0}, 100)


@pytest.mark.parametrize(
    "options",
    [
        ["--l", "disease=3", "--l", "disease=1"],
        ["--l", "2", "--l", "disease=1"],
        ["--t", "0.2", "--t", "Disease=0.9"],
        ["--delta", "1000"],
        ["--alpha", "1e-320"],
        ["--l", "1e300"],
        ["--k-map", "disease=3"],
        ["--population", "nosuch", "--k-map", "3"],
    ],
)
def test_what_cannot_be_meant_is_refused(kanon: Callable[..., Ended], tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "patients.csv"
    patients(FOUR_ANONYMOUS).to_csv(path, index=False)
    asked = [
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--save-policy",
        tmp_path / "p.toml",
        "--out",
        tmp_path / "o.csv",
    ]
    ended = kanon("anonymize", path, *asked, *options)
    assert ended.code in {2, 3}
    assert "bug" not in ended.err
    assert "kanon_" not in ended.err
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    ("privacy", "said"),
    [
        ("l = true", "privacy.l must be a number"),
        ("l = {}", "privacy.l names no column"),
        ("l = { disease = 2, Disease = 3 }", "twice"),
        ('t = "x"', "privacy.t must be a number"),
        ("recursive = [3]", "It is written c,l"),
        ("k_map = { disease = 3 }", "privacy.k_map names a column"),
        ('t = 0.2\ndistance = "near"', "privacy.distance is equal"),
        ("distance = 5", "privacy.distance is equal"),
        ("l = { nosuch = 3 }", "no column 'nosuch'"),
    ],
)
def test_policies_that_cannot_be_meant(kanon: Callable[..., Ended], tmp_path: Path, privacy: str, said: str) -> None:
    path = tmp_path / "patients.csv"
    patients(FOUR_ANONYMOUS).to_csv(path, index=False)
    policy = tmp_path / "kanon.toml"
    columns = '[columns]\nquasi_identifiers = ["zip", "age"]\nsensitive = ["disease"]\n'
    policy.write_text(f"{columns}[privacy]\n{privacy}\n")
    ended = kanon("check", path, "--policy", policy)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())


def test_distances_are_named_in_any_case(kanon: Callable[..., Ended], tmp_path: Path) -> None:
    path = tmp_path / "patients.csv"
    patients(FOUR_ANONYMOUS).to_csv(path, index=False)
    asked = [
        "check",
        path,
        "--qi",
        "zip,age",
        "--sensitive",
        "disease",
        "--t",
        "Disease=1",
        "--distance",
        "disease=ordered",
    ]
    assert "t-closeness, ordered distance of disease" in kanon(*asked).out
