"""The SQL of privacy models: what is shown is what is run, and other engines can parse it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from needs import needs
from test_sql import require_approved

import kanon_sql as kanon
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.evidence.check import check_sql

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.models.base import PrivacyModel

MODELS: dict[str, PrivacyModel] = {
    "distinct-l": kanon.DistinctLDiversity(l=2),
    "entropy-l": kanon.EntropyLDiversity(l=1.5),
    "recursive": kanon.RecursiveCLDiversity(c=3, l=2),
    "alpha": kanon.AlphaKAnonymity(alpha=0.8),
    "t-equal": kanon.TCloseness(t=0.4),
    "t-ordered": kanon.TCloseness(t=0.4, distance="ordered"),
    "t-hierarchical": kanon.TCloseness(t=0.4, distance="hierarchical"),
    "basic-beta": kanon.BasicBetaLikeness(beta=3),
    "enhanced-beta": kanon.EnhancedBetaLikeness(beta=3),
    "delta": kanon.DeltaDisclosure(delta=2),
    "k-map": kanon.KMap(k=3),
    "presence": kanon.DeltaPresence(delta_min=0.01, delta_max=0.9),
}
ROWS = """
    SELECT 20 + i % 7 AS age, CASE WHEN i % 3 = 0 THEN 'm' END AS sex,
           ['flu', 'cold', NULL, 'cough'][1 + i * i % 4] AS disease
    FROM range(80) AS numbers(i)
"""


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """A database with 80 patients, a population of 240, and the hierarchies of the columns."""
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE ward AS {ROWS}")
        connection.execute("CREATE TABLE everybody AS FROM ward UNION ALL FROM ward UNION ALL FROM ward")
    (tmp_path / "disease.csv").write_text("flu;lung;*\ncough;lung;*\ncold;head;*\n;*;*\n")
    return path


def asked(model: PrivacyModel, place: Path) -> dict[str, object]:
    of_population = isinstance(model, kanon.KMap | kanon.DeltaPresence)
    tree = {"disease": place / "disease.csv"} if getattr(model, "distance", None) == "hierarchical" else {}
    return {
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["disease"],
        "models": [kanon.KAnonymity(3), model],
        "population": "everybody" if of_population else None,
        "hierarchies": {"age": "intervals:2,4", **tree},
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_the_script_makes_the_same_release(ward: Path, name: str) -> None:
    model = MODELS[name]
    ways = [("optimal", "greedy"), ("local", "greedy"), ("mondrian", "greedy"), ("mondrian", "all-or-none")]
    for algorithm, choice in ways[:1] if name in {"k-map", "presence"} else ways:
        settings = {**asked(model, ward.parent), "choice": choice}
        with kanon.anonymize(ward, "ward", max_suppressed=0.5, seed=1, algorithm=algorithm, **settings) as release:
            made = sorted(map(str, release.to_pandas().itertuples(index=False)))
            script = release.sql(destination=kanon.Destination(into="released"))
            assert len(made) == release.rows_out > 0
            postgres = release.sql("postgres")
        with duckdb.connect(ward) as connection:
            for statement in duckdb.extract_statements(script):
                connection.execute(statement)
            again = connection.execute("FROM released").df()
            connection.execute("DROP TABLE released")
        assert sorted(map(str, again.itertuples(index=False))) == made
        needs("pglast").parse_sql(postgres)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "choice"), [("optimal", "greedy"), ("mondrian", "greedy"), ("mondrian", "all-or-none")]
)
@pytest.mark.parametrize("name", [name for name in MODELS if name not in {"k-map", "presence"}])
def test_a_view_keeps_to_its_models_when_the_table_changes(ward: Path, name: str, algorithm: str, choice: str) -> None:
    model = MODELS[name]
    how: dict[str, Any] = {"max_suppressed": 0.5, "algorithm": algorithm, "choice": choice}
    with kanon.anonymize(ward, "ward", **how, **asked(model, ward.parent)) as release:
        release.to_view("shown")
        rows = release.rows_out
    with duckdb.connect(ward) as connection:
        assert connection.execute("SELECT count(*) FROM shown").fetchone() == (rows,)
        connection.execute(
            "DELETE FROM ward WHERE disease IS DISTINCT FROM 'flu' AND age < 24"
        )  # nothing but flu is left
        connection.execute("INSERT INTO ward SELECT 25, 'm', 'flu' FROM range(40)")
    found = kanon.check(
        ward,
        "shown",
        quasi_identifiers=["age", "sex"],
        models=[kanon.KAnonymity(3), kanon.AlphaKAnonymity(alpha=1, sensitive="disease"), _unless_compared(model)],
    )
    assert found.holds


def _unless_compared(model: PrivacyModel) -> PrivacyModel:
    """Return a model that a view can be asked for by itself: others compare with suppressed rows too."""
    compares = isinstance(
        model, kanon.TCloseness | kanon.BasicBetaLikeness | kanon.EnhancedBetaLikeness | kanon.DeltaDisclosure
    )
    return kanon.DistinctLDiversity(l=1, sensitive="disease") if compares else replace(model, sensitive="disease")


def test_a_population_is_no_part_of_a_view(ward: Path) -> None:
    with (
        kanon.anonymize(ward, "ward", **asked(MODELS["k-map"], ward.parent)) as release,
        pytest.raises(kanon.UsageError, match="population"),
    ):
        release.to_view("shown")


def policy_of(name: str, ward: Path) -> kanon.Policy:
    """Return the policy of a check of one of the models."""
    settings = asked(MODELS[name], ward.parent)
    tree = {column: str(rule) for column, rule in settings["hierarchies"].items() if column == "disease"}
    return kanon.Policy(
        columns=kanon.NamedColumns(quasi_identifiers=("age", "sex"), sensitive=("disease",)),
        models=tuple(settings["models"]),
        population=settings["population"],
        hierarchies=tree,
    )


@pytest.mark.quick(12)
@pytest.mark.parametrize("name", MODELS)
def test_the_statement_of_a_check(ward: Path, name: str, request: pytest.FixtureRequest) -> None:
    with (source := open_source(str(ward), "ward")).engine:
        require_approved(check_sql(source, policy_of(name, ward)), f"check.{name}.duckdb.sql", request)


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_postgresql_parses_the_statement_of_a_check(ward: Path, name: str) -> None:
    with (source := open_source(str(ward), "ward")).engine:
        needs("pglast").parse_sql(check_sql(source, policy_of(name, ward), "postgres"))
