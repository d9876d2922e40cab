"""Each algorithm against a worked example of its source, and against a short plain version on random small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import brute_force
import pandas as pd
import pytest
from brute_force import all_nodes, evaluate
from conftest import ADULT_QI
from effort import examples
from hypothesis import given
from rows import released_rows
from strategies import TABLE, Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.policy.algorithms import algorithms_of
from kanon_sql.policy.policy import rows_allowed

if TYPE_CHECKING:
    from pathlib import Path

    from brute_force import Node

# Plain versions: definitions to the letter.


def suppressed(case: Case, node: Node) -> int:
    return evaluate(case.rows, case.hierarchies, node, case.k, case.persons).suppressed


def good(case: Case, allowed: int) -> set[Node]:
    return {node for node in all_nodes(case.hierarchies) if suppressed(case, node) <= allowed}


def plain_datafly(case: Case, allowed: int) -> Node:
    node = list(all_nodes(case.hierarchies)[0])
    while suppressed(case, tuple(node)) > allowed:
        distinct = [
            len({brute_force.labels(tree, row[column])[node[column]] for row in case.rows})
            if node[column] < len(next(iter(tree.values())))
            else -1
            for column, tree in enumerate(case.hierarchies)
        ]
        node[distinct.index(max(distinct))] += 1
    return tuple(node)


def plain_lowest_height(case: Case, allowed: int) -> list[Node]:
    """Return the good nodes of the lowest height that has any, in the order of their levels."""
    nodes = sorted(good(case, allowed))
    return [node for node in nodes if sum(node) == min(map(sum, nodes))]


def node_of(release: kanon.Release) -> Node:
    return tuple(release.levels.values())


@pytest.mark.thorough
@given(cases(max_rows=15))
@examples(20)
def test_every_algorithm_takes_the_node_that_its_definition_says(case: Case) -> None:
    connection, person = load(case)
    allowed = rows_allowed(case.max_suppressed, len(case.rows))
    top = all_nodes(case.hierarchies)[-1]
    if case.rows and suppressed(case, top):
        for algorithm in algorithms_of("full-domain"):
            with pytest.raises(kanon.NoSolutionError):
                anonymize(case, connection, person, algorithm=algorithm)
        return
    best = brute_force.best(case.rows, case.hierarchies, case.k, allowed, case.persons)
    assert best is not None
    lowest = plain_lowest_height(case, allowed)
    for algorithm in algorithms_of("full-domain"):
        with anonymize(case, connection, person, algorithm=algorithm) as release:
            node = node_of(release)
            ours = evaluate(case.rows, case.hierarchies, node, case.k, case.persons)
            assert ours.suppressed == release.rows_suppressed <= allowed
            assert release.loss == pytest.approx(float(ours.loss), abs=1e-12)
            # The output, read as it came out: no class below k.
            assert len(released_rows(release)) == len(case.rows) - ours.suppressed
            if algorithm in {"optimal", "incognito"}:
                assert release.optimal
                assert ours.loss == best.loss
            elif algorithm == "datafly":
                assert not release.optimal or ours.loss == best.loss
                assert node == plain_datafly(case, allowed)
            elif algorithm == "samarati":
                losses = [evaluate(case.rows, case.hierarchies, n, case.k, case.persons).loss for n in lowest]
                assert node in lowest
                assert ours.loss == min(losses)
            else:
                assert node == lowest[0]


@pytest.mark.thorough
@given(cases(max_rows=15))
@examples(20)
def test_the_nodes_that_incognito_lists_are_those_of_the_exhaustive_search(case: Case) -> None:
    connection, person = load(case)
    with anonymized_table(case, connection, person) as table:
        asked: dict[str, Any] = {
            "models": (kanon.KAnonymity(case.k, entity=person),),
            "max_suppressed": case.max_suppressed,
        }
        try:
            found = table.lattice(everything=True, **asked)
            minimal = table.lattice(**asked)
        except kanon.NoSolutionError:
            assert suppressed(case, all_nodes(case.hierarchies)[-1])
            return
    expected = good(case, rows_allowed(case.max_suppressed, len(case.rows)))
    by_node = {tuple(node.levels.values()): node for node in found}
    assert by_node.keys() == expected
    for node, ours in by_node.items():
        outcome = evaluate(case.rows, case.hierarchies, node, case.k, case.persons)
        assert ours.rows_suppressed == outcome.suppressed
        assert ours.value == pytest.approx(float(outcome.loss), abs=1e-12)
        below = [n for n in expected if n != node and all(a <= b for a, b in zip(n, node, strict=True))]
        assert ours.minimal == (not below)
    assert [node for node in found if node.minimal] == minimal
    assert [node.value for node in found] == sorted(node.value for node in found)


def anonymized_table(case: Case, connection: Any, person: str | None) -> kanon.PreparedTable:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as directory:
        return kanon.prepare(
            connection,
            TABLE,
            quasi_identifiers=case.columns,
            entity=person,
            hierarchies=case.write_hierarchies(Path(directory)),
        )


# Worked examples


SWEENEY = pd.DataFrame(
    [
        ("black", "1965-09-20", "male", "02141"),
        ("black", "1965-02-14", "male", "02141"),
        ("black", "1965-10-23", "female", "02138"),
        ("black", "1965-08-24", "female", "02138"),
        ("black", "1964-11-07", "female", "02138"),
        ("black", "1964-12-01", "female", "02138"),
        ("white", "1964-10-23", "male", "02138"),
        ("white", "1965-03-15", "female", "02139"),
        ("white", "1964-08-13", "male", "02139"),
        ("white", "1964-05-05", "male", "02139"),
        ("white", "1967-02-13", "male", "02138"),
        ("white", "1967-03-21", "male", "02138"),
    ],
    columns=["race", "birth", "gender", "zip"],
)


def test_datafly_on_the_example_of_its_paper() -> None:
    """Sweeney (2002), "Achieving k-anonymity privacy protection ...", the Datafly example, k = 2.

    By hand: all 12 rows differ in birth, which has the most distinct values (12; ZIP has 3), so it becomes the year
    (3 values). Now the classes are: black 1965 male 02141 twice, black 1965 female 02138 twice, black 1964 female
    02138 twice, white 1964 male 02139 twice, white 1967 male 02138 twice; and alone: white 1964 male 02138, white 1965
    female 02139. Two rows stand out, which is no more than k: they are suppressed, and that is all.
    """
    frame = SWEENEY.assign(birth=SWEENEY.birth.str[:4] + "-" + SWEENEY.birth.str[5:])
    with kanon.anonymize(
        frame,
        quasi_identifiers=list(frame.columns),
        hierarchies={"race": "flat", "birth": "mask:right:6", "gender": "flat", "zip": "mask:right:1,2,3"},
        models=[kanon.KAnonymity(2)],
        algorithm="datafly",
        max_suppressed="k rows",
    ) as release:
        assert release.levels == {"race": 0, "birth": 1, "gender": 0, "zip": 0}
        assert release.rows_suppressed == 2
        counts = release.to_pandas().value_counts()
    assert len(counts) == 5
    assert set(counts) == {2}


RACE_AND_ZIP = pd.DataFrame(
    [(race, f"021{end}") for race in ("asian", "black", "white") for end in ("38", "39", "41", "42")],
    columns=["race", "zip"],
)


@pytest.mark.parametrize(
    ("k", "best", "first"),
    [(2, {(1, 0), (0, 1)}, (0, 1)), (3, {(1, 0)}, (1, 0)), (4, {(0, 2)}, (0, 2)), (6, {(1, 1)}, (1, 1))],
)
def test_samarati_on_race_and_zip(k: int, best: set[Node], first: Node) -> None:
    """Samarati (2001): races {asian, black, white}, ZIPs 02138, 02139, 02141, 02142, one row each.

    By hand: with the race at the root each ZIP has 3 rows; with one digit masked each race has 2 rows in 0213* and 2
    in 0214*; with two, 4 in 021**. Height 1 therefore serves k = 2 (both nodes) and k = 3 (race at the root); height 2
    serves k = 4 ((0, 2) with 4, (1, 1) with 6 rows a class, (0, 2) losing less) and k = 6 ((1, 1) alone).
    """
    asked: dict[str, Any] = {
        "quasi_identifiers": ["race", "zip"],
        "hierarchies": {"race": "flat", "zip": "mask:right:1,2"},
        "models": [kanon.KAnonymity(k)],
        "max_suppressed": 0,
    }
    with kanon.anonymize(RACE_AND_ZIP, **asked, algorithm="samarati") as release:
        assert node_of(release) in best
    with kanon.anonymize(RACE_AND_ZIP, **asked, algorithm="samarati-first") as release:
        assert node_of(release) == first


def test_incognito_on_the_patients_of_its_paper(tmp_path: Path) -> None:
    """LeFevre, DeWitt & Ramakrishnan (2005), table Patients, k = 2, nothing suppressed.

    By hand: ZIPs alone (B1, S1, Z0) are 2 each: good. Sex with a ZIP below the root has one man in 5371*: (B1, S0, Z1)
    is not good, (B1, S0, Z2) with 3 men and 3 women is. Births are 2 each with all else at the root: (B0, S1, Z2) is
    good; with Z1 the two of 1/21/76 part (5371*, 5370*), with S0 the two of 2/28/76 do.
    """
    patients = pd.DataFrame(
        {
            "birth": ["1/21/76", "4/13/86", "2/28/76", "1/21/76", "4/13/86", "2/28/76"],
            "sex": ["Male", "Female", "Male", "Male", "Female", "Female"],
            "zip": ["53715", "53715", "53703", "53703", "53706", "53706"],
        }
    )
    zips = tmp_path / "zip.csv"
    zips.write_text("".join(f"537{e};537{e[0]}*;537**\n" for e in ("15", "10", "06", "03")), encoding="utf-8")
    rules = {"birth": "flat", "sex": "flat", "zip": zips}
    with kanon.prepare(patients, quasi_identifiers=["birth", "sex", "zip"], hierarchies=rules) as table:
        nodes = table.lattice(models=(kanon.KAnonymity(2),), max_suppressed=0)
    assert {tuple(node.levels.values()) for node in nodes} == {(1, 1, 0), (1, 0, 2), (0, 1, 2)}


# Answers on which independent implementations agree (PEERS.md)


@pytest.mark.parametrize(
    ("max_suppressed", "levels", "rows", "classes", "discernibility"),
    [(0, (0, 4, 0, 1), 0, 20, 222_882_126), (0.05, (0, 1, 0, 0), 973, 209, None)],
)
def test_datafly_on_adult_as_others_have_it(
    adult: Path, max_suppressed: float, levels: Node, rows: int, classes: int, discernibility: int | None
) -> None:
    with kanon.anonymize(
        adult / "adult.csv",
        quasi_identifiers=ADULT_QI[:4],
        rest="drop",
        hierarchies=adult,
        models=[kanon.KAnonymity(10)],
        max_suppressed=max_suppressed,
        algorithm="datafly",
    ) as release:
        assert node_of(release) == levels
        assert (release.rows_suppressed, release.classes) == (rows, classes)
        assert discernibility in {None, release.measures["discernibility"]}


@pytest.mark.thorough
def test_one_frequency_set_serves_many_releases(adult: Path) -> None:
    with kanon.prepare(adult / "adult.csv", quasi_identifiers=ADULT_QI, rest="drop", hierarchies=adult) as table:
        statements = table.prepared.source.engine.statements
        prepared = len(statements)
        for limit, rows, loss in ((0, 0, 0.660842), (0.05, 1248, 0.261757), (1, 3049, 0.227062)):
            for algorithm in ("optimal", "incognito"):
                release = table.anonymize(max_suppressed=limit, algorithm=algorithm)
                assert release.optimal
                assert (release.rows_suppressed, round(release.loss, 6)) == (rows, loss)
                release.close()
        release = table.anonymize(measure="gcp", max_suppressed=0.05)
        assert release.optimal
        source = table.prepared.source.relation.name
        assert not any(source in logged.statement.sql() for logged in statements[prepared:])
        temporary = table.prepared.source.engine.connection.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE temporary"
        ).fetchall()
        assert temporary == [(1 + len(ADULT_QI) + 1 + 1,)]  # the source, lookups, labels of all columns, frequency set
        assert release.to_pandas().groupby(ADULT_QI).size().min() >= 5


@pytest.mark.thorough
@pytest.mark.parametrize("measure", ["gcp", "precision"])
@pytest.mark.parametrize("limit", [0, 0.05, 1])
def test_another_measure_is_minimized_as_incognito_finds_it(adult: Path, measure: str, limit: float) -> None:
    """Incognito lists all good nodes and takes the best: it does not prune by intervals."""
    with kanon.prepare(adult / "adult.csv", quasi_identifiers=ADULT_QI[:5], rest="drop", hierarchies=adult) as table:
        nodes = table.lattice(everything=True, measure=measure, max_suppressed=limit)
        release = table.anonymize(measure=measure, max_suppressed=limit)
        best = max(nodes, key=lambda n: n.value) if measure == "precision" else min(nodes, key=lambda n: n.value)
        assert release.optimal
        assert release.bound == release.measures[measure] == pytest.approx(best.value)


def test_a_prepared_table_takes_another_k_beside_its_other_models() -> None:
    frame = pd.DataFrame({"q": [row % 4 for row in range(24)], "s": [row % 3 for row in range(24)]})
    models = [kanon.KAnonymity(2), kanon.DistinctLDiversity(3)]
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "sensitive": ["s"], "hierarchies": {"q": "flat"}}
    with kanon.prepare(frame, models=models, choice="greedy", algorithm="optimal", **asked) as table:
        for k, level in ((6, 0), (7, 1)):
            with table.anonymize(k=k) as release:
                assert release.levels == {"q": level}
                assert [(model.name, model.required) for model in release.policy.models] == [
                    ("k-anonymity", k), ("distinct l-diversity", 3)
                ]  # fmt: skip


def test_what_a_prepared_table_cannot_give_is_refused() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "who": [1, 2, 3, 4]})
    with kanon.prepare(frame, quasi_identifiers=["a"], rest="drop") as table:
        with pytest.raises(kanon.UsageError, match="prepared to count other members"):
            table.anonymize(models=(kanon.KAnonymity(2, entity="who"),))
        with pytest.raises(kanon.UsageError, match="algorithm must be"):
            table.anonymize(algorithm="magic")
        assert table.anonymize(models=(kanon.KAnonymity(2),)).to_pandas().a.tolist() in ([1, 1, 2, 2], [2, 2, 1, 1])


@pytest.mark.parametrize("algorithm", [*algorithms_of("full-domain"), *algorithms_of("local")])
def test_models_of_sensitive_values_need_an_algorithm_that_decides_for_all_or_none(algorithm: str) -> None:
    """Of others, what is left undone tells sensitive values: refused, unless the choice is greedy. K reads none."""
    frame = pd.DataFrame({"a": [1, 1, 2, 2] * 3, "s": ["x", "y"] * 6})
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "sensitive": ["s"], "algorithm": algorithm, "k": 2}
    diverse = [kanon.DistinctLDiversity(2), kanon.EntropyLDiversity(1.5)]
    for choice in ({}, {"choice": "all-or-none"}):
        with pytest.raises(kanon.UnsuitableError, match=f"{algorithm} decides class by class .* mondrian"):
            kanon.anonymize(frame, models=diverse, **asked, **choice)
        with kanon.anonymize(frame, **asked, **choice) as release:
            assert release.rows_out == 12
    with kanon.anonymize(frame, models=diverse, choice="greedy", **asked) as release:
        assert release.loss == 0
        assert [model.holds for model in release.verify().models] == [True] * 3
    with pytest.raises(kanon.UsageError, match=r"choice must be all-or-none or greedy\. Got 'both'"):
        kanon.anonymize(frame, choice="both", **asked)


@pytest.mark.thorough
def test_a_lattice_too_large_to_be_listed_is_refused() -> None:
    frame = pd.DataFrame({f"c{n}": range(40) for n in range(12)})
    rules = dict.fromkeys(frame.columns, "intervals:2,4,8,16")
    for algorithm in ("incognito", "samarati"):
        with pytest.raises(kanon.UsageError, match="lists nodes of the lattice"):
            kanon.anonymize(frame, quasi_identifiers=list(frame.columns), hierarchies=rules, algorithm=algorithm)


@pytest.mark.quick(5)
@pytest.mark.parametrize("algorithm", algorithms_of("full-domain"))
@pytest.mark.parametrize("measure", ["loss", "discernibility", "average_class_size"])
def test_a_release_that_publishes_is_found_where_all_may_be_suppressed(algorithm: str, measure: str) -> None:
    """Six different values, k = 5, all may be suppressed: the root publishes all six, every other node none.

    An empty table costs as much (discernibility: 6 * 6 either way) or is met first, and is no release. Fails on 0.1.0:
    "no solution", or "Stopped before a first release was found".
    """
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "algorithm": algorithm, "models": [kanon.KAnonymity(5)]}
    asked |= {"measure": measure, "max_suppressed": 1, "hierarchies": {"a": "intervals:2,4"}}
    with kanon.anonymize(pd.DataFrame({"a": range(6)}), **asked) as release:
        assert release.to_pandas()["a"].tolist() == ["*"] * 6
        assert release.rows_suppressed == 0


def test_a_time_limit_that_ends_before_a_release_is_no_interruption() -> None:
    """The whole table has too little entropy, the rows of a = 0 have enough: the root is no first release.

    Fails on 0.1.0: SearchInterruptedError, "Stopped before a first release was found", the exit code of Ctrl-C.
    """
    frame = pd.DataFrame({"a": [0] * 4 + [1] * 6, "s": ["x", "x", "y", "y", *["x"] * 6]})
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "sensitive": ["s"], "max_suppressed": 0.6, "choice": "greedy"}
    asked["models"] = [kanon.KAnonymity(2), kanon.EntropyLDiversity(2, sensitive="s")]
    with kanon.anonymize(frame, **asked) as release:
        assert release.rows_out == 4
    with pytest.raises(kanon.TimeLimitError, match="time limit"):  # on a busy machine, of a step before the search
        kanon.anonymize(frame, **asked, time_limit=1e-9)


@pytest.mark.quick(4)
@pytest.mark.parametrize("algorithm", algorithms_of("full-domain"))
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row(algorithm: str, rows: int) -> None:
    frame = pd.DataFrame({"a": pd.Series([1] * rows, dtype="int64")})
    asked: dict[str, Any] = {"quasi_identifiers": ["a"], "algorithm": algorithm, "models": [kanon.KAnonymity(2)]}
    if rows:
        with pytest.raises(kanon.NoSolutionError):
            kanon.anonymize(frame, **asked)
    else:
        with kanon.anonymize(frame, **asked) as release:
            assert len(release.to_pandas()) == 0


@pytest.mark.parametrize(
    ("given", "rows", "k", "allowed"),
    [("25 rows", 100, 5, 25), ("1row", 100, 5, 1), ("k rows", 100, 5, 5), ("0.05", 100, 5, 5), (1, 100, 5, 99)],
)
def test_limits_of_suppression(given: float | str, rows: int, k: int, allowed: int) -> None:
    policy = kanon.Policy(max_suppressed=given)
    assert rows_allowed(policy.max_suppressed, rows, k) == allowed


@pytest.mark.parametrize("given", ["rows", "-1 rows", "5 percent", "1.5", 2, -0.1, float("nan"), "", True])
def test_what_is_no_limit_of_suppression(given: Any) -> None:
    with pytest.raises(kanon.UsageError, match="between 0 and 1"):
        kanon.Policy(max_suppressed=given)
