"""The file of each privacy model is the statement that verifies a table by this model alone, as it is run."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from conftest import REPOSITORY
from sqlglot import exp
from test_models_sql import MODELS

import kanon_sql as kanon
from kanon_sql.engine.base import Column
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.release.verify.classes import ClassCheck
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render

if TYPE_CHECKING:
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.models.base import PrivacyModel

ALL = {**MODELS, "k": kanon.KAnonymity(3), "recursive": kanon.RecursiveCLDiversity(c=3, l=3)}
ALL["presence"] = kanon.DeltaPresence(delta_min=0, delta_max=0.9)  # without classes that the release lacks
COLUMNS = [Column("age", "BIGINT"), Column("sex", "VARCHAR")]
TREE = SimpleNamespace(readable=sql.relation("hierarchy"), height=1, column=Column("disease", "VARCHAR"))


def run(model: PrivacyModel) -> exp.Select:
    """Return the statement of a check, without what it says of single models once more."""
    query = ClassCheck(
        sql.relation("ward"),
        COLUMNS,
        (model,),
        whole=sql.relation("ward"),
        trees={"disease": cast("Hierarchy", TREE)},
        everybody=exp.select("*").from_("everybody") if isinstance(model, PopulationModel) else None,
    ).query()
    query.set("expressions", query.selects[:-2])
    return query


def in_file(model: PrivacyModel) -> exp.Select:
    """Return the statement in a model's file, about the same table."""

    def labels(step: str | None = None) -> list[exp.Expr]:
        return [sql.column(column.name, step) for column in COLUMNS]

    of_population = isinstance(model, PopulationModel)
    places = {f"class_{step}": labels(step) for step in ("counted", "weighed", "in_population")}
    pairs = zip(labels("classes_of_rows"), labels("population"), strict=True)
    named = [sql.named(sql.column(column.name), column.name) for column in COLUMNS]
    values: dict[str, Any] = {
        "labels": labels() if isinstance(model, kanon.KAnonymity) else named,
        "class": labels("classes_of_rows") if of_population else labels(),
        **places,
        "sensitive": [sql.column("disease")],
        "same_class": sql.all_of(sql.same(one, other) for one, other in pairs),
        "level": 0,
        "label": sql.column("value", "lookup"),
        "height": 1,
        "twice_height": 2,
        **{name: value for name, value in vars(model).items() if isinstance(value, int | float)},
    }
    everybody = exp.select("*").from_("everybody").subquery("everybody")
    return sql.select(
        model.file,
        values=values,
        relations={"release": sql.relation("ward"), "whole_table": sql.relation("ward"), "everybody": everybody},
        names={"measure": "measure_0", "worst": "worst_0"},
    )


def as_one_number(text: str) -> str:
    """Return a statement with a threshold and its tolerance as one number."""
    tolerance = re.compile(r"([\d.]+) ([+-]) 1e-9")
    signs = {"+": 1, "-": -1}
    return tolerance.sub(lambda found: render(sql.double(float(found[1]) + signs[found[2]] * 1e-9), "duckdb"), text)


@pytest.mark.parametrize("name", ALL)
def test_the_file_of_a_model_is_the_statement_of_its_check(name: str) -> None:
    model = ALL[name]
    if isinstance(model, SensitiveModel):
        model = model.about("disease")
    ran, file = run(model), in_file(model)
    steps = {step.alias for step in file.ctes}
    # A step that a model does not need is made for all models, and numbered since there may be several.
    ran.args["with_"].set("expressions", [one for one in ran.ctes if re.sub(r"_\d$", "", one.alias) in steps])
    text = re.sub(r"\b(shares|features)_\d( AS \1)?\b", r"\1", render(ran, "duckdb", pretty=True))
    assert as_one_number(render(file, "duckdb", pretty=True)) == text


def test_every_model_has_a_file_and_every_file_a_model() -> None:
    files = {model.file for model in ALL.values()}
    assert files == {f"models/{path.stem}" for path in (REPOSITORY / "sql" / "models").glob("*.sql")}
