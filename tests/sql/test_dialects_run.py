"""Scripts for PostgreSQL and Spark on the same rows: the same release, and the same figures.

All run in DuckDB, as sqlglot reads them back; a few on the engines, one for each form and for what they compute.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from foreign_engines import DuckDB, Postgres, Spark, Transpiled, counted, is_query
from needs import needs
from rows import released_rows
from sqlglot import exp
from test_dialects import made

import kanon_sql as kanon
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.hierarchy.rules import column_facts
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.policy.policy import Destination
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render, rendered

psycopg = needs("psycopg")

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASED = "released"


@pytest.fixture(scope="module")
def postgres_session(postgres: str) -> Iterator[Postgres]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield Postgres(connection)


@pytest.fixture(scope="module")
def spark_session_of_module(spark: Any) -> Spark:
    # A session beside the suite's own: a temporary view hides a table of its name from all who share the session.
    return Spark(spark.newSession())


@pytest.fixture(params=["as postgres", "as spark"])
def transpiled(request: pytest.FixtureRequest) -> Transpiled:
    """DuckDB that runs what was rendered for another engine."""
    return Transpiled(request.param.removeprefix("as "))


@pytest.fixture(params=["postgres", "spark"])
def foreign(request: pytest.FixtureRequest) -> Any:
    """An engine that is not DuckDB."""
    name = "postgres_session" if request.param == "postgres" else "spark_session_of_module"
    return request.getfixturevalue(name)


PEOPLE = """
CREATE TABLE people AS
SELECT
  i AS id,
  CASE WHEN i % 11 = 0 THEN NULL ELSE CAST(20 + (i * 7) % 50 AS INTEGER) END AS age,
  CASE WHEN i % 13 = 0 THEN NULL WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
  CASE WHEN i < 97 THEN CAST(10000 + 10 * (i % 6) + i % 3 AS VARCHAR) ELSE '77777' END AS zip,
  CAST(i // 2 AS BIGINT) AS person,
  CASE WHEN i % 17 = 0 THEN NULL WHEN i % 5 = 0 THEN 'flu' WHEN i % 3 = 0 THEN 'asthma' ELSE 'cough' END AS disease,
  CAST((i * 37) % 9 AS INTEGER) AS pay
FROM range(100) AS numbers(i)
"""


def require_same(foreign: Any, connection: duckdb.DuckDBPyConnection, table: str, **asked: Any) -> None:
    """Anonymize in DuckDB; run both scripts, each where it belongs; compare the rows and the figures."""
    quoted = '"{}"'.format(table.replace('"', '""'))
    columns = [(name, kind) for name, kind, *_ in connection.execute(f"DESCRIBE {quoted}").fetchall()]
    rows = connection.execute(f"FROM {quoted}").fetchall()
    with kanon.anonymize(connection, table, seed=1, **asked) as release:
        where = Destination(into=RELEASED)
        expected = counted(released_rows(release))
        plain_script = release.plan(where, stands_alone=True).statements_for("duckdb")
        elsewhere = release.plan(where, stands_alone=True, dialect=foreign.dialect).statements_for(foreign.dialect)
    with duckdb.connect() as other:
        other.register("rows_of_table", connection.sql(f"FROM {quoted}").to_arrow_table())
        other.execute(f"CREATE TABLE {quoted} AS FROM rows_of_table")
        figures = [DuckDB(other).run(text) for _, text in plain_script]
        checked = [found for (_, text), found in zip(plain_script, figures, strict=True) if is_query(text, "duckdb")]
    foreign.load(table, columns, rows)
    drop = f"DROP TABLE IF EXISTS {RELEASED}"
    foreign.run(drop)
    found = []
    for _, text in elsewhere:
        result = foreign.run(text)
        if is_query(text, foreign.dialect):
            found.append(result)
    released = foreign.run(exp.select("*").from_(RELEASED).sql(foreign.dialect))
    foreign.run(drop)
    assert counted(released) == expected
    assert [counted(rows) for rows in found] == [counted(rows) for rows in checked]
    assert sum(expected.values()) > 0


@pytest.fixture
def people() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(PEOPLE)
        yield connection


ASKED: dict[str, Any] = {
    "quasi_identifiers": ["age", "sex", "zip"],
    "sensitive": ["disease"],
    "identifying": ["id", "person"],
    "rest": "keep",
    "count": "rows",
    "models": [kanon.KAnonymity(4)],
    # With another tree of sex, relaxed cuts part rows that are alike, which each engine orders by its own hash.
    "hierarchies": {"age": "intervals:5,10,20", "sex": "flat", "zip": "mask:right:1,2,3"},
    "max_suppressed": 0.1,
}


def about(model: type[Any], *thresholds: float, column: str = "disease", **more: Any) -> Any:
    return model(*thresholds, sensitive=column, **more)


PEOPLE_3, ROWS_4 = kanon.KAnonymity(3, entity="person"), kanon.KAnonymity(4)
OF_ROWS = [
    ROWS_4,
    about(kanon.DistinctLDiversity, 2),
    about(kanon.RecursiveCLDiversity, 4.0, 2),
    about(kanon.TCloseness, 0.6),
    about(kanon.TCloseness, 0.5, column="pay", distance="ordered"),
    about(kanon.AlphaKAnonymity, 0.8),
    about(kanon.BasicBetaLikeness, 6.0),
    about(kanon.EnhancedBetaLikeness, 6.0),
    about(kanon.DeltaDisclosure, 4.0),
]
OF_PEOPLE = [
    PEOPLE_3,
    about(kanon.EntropyLDiversity, 1.5),
    about(kanon.TCloseness, 0.6, distance="hierarchical"),
]
CUTTINGS = {
    "relaxed": {"cut": "relaxed", "labels": "set", "numbers": "mean"},
    "node": {"cut": "node"},
    "range": {"labels": "range", "numbers": "median"},
}


def of_models(models: list[Any], directory: Path) -> dict[str, Any]:
    """Return what is asked for models of disease and pay, with a tree of diseases."""
    tree = directory / "disease.csv"
    tree.write_text("flu;breath;*\ncough;breath;*\nasthma;chronic;*\n", encoding="utf-8")
    trees = {**ASKED["hierarchies"], **({"disease": str(tree)} if models is OF_PEOPLE else {})}
    count = "people" if models is OF_PEOPLE else "rows"
    return {
        **ASKED,
        "count": count,
        "models": models,
        "sensitive": ["disease", "pay"],
        "max_suppressed": 0.5,
        "hierarchies": trees,
        "choice": "greedy",
    }


HOSTILE = ['a"b`c', "select", "日本 語", "it's \\ x", "source", "generalized", "n", "Value"]
HOSTILE_TABLE = "the \"table` \\ of 'all"


def hostile(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Make a table of names and values that must be quoted; return what is asked for it."""
    texts = ["it's", "back\\slash", 'dou"ble', "new\nline", "", "日本", None, "%s", "\\' --"]
    columns = ", ".join('"{}" VARCHAR'.format(name.replace('"', '""')) for name in HOSTILE)
    table = '"{}"'.format(HOSTILE_TABLE.replace('"', '""'))
    connection.execute(f"CREATE TABLE {table} ({columns})")
    for i in range(72):
        row = [texts[(i * (place + 1) + i // 9) % len(texts)] if place < 3 else texts[i % 2] for place in range(6)]
        row += [texts[i // 2 % 2]] * 2  # kept, and no copies of quasi-identifiers
        connection.table(table).insert(row)
    qi = HOSTILE[:6]
    asked = {"quasi_identifiers": qi, "rest": "keep", "models": [kanon.KAnonymity(3)], "max_suppressed": 0.3}
    return {**asked, "hierarchies": dict.fromkeys(qi, "flat") | {qi[0]: "mask:right:1,2"}}


TYPED = """
CREATE TABLE typed AS
SELECT
  CAST(i % 5 AS TINYINT) AS tiny,
  CAST(CASE WHEN i % 7 = 0 THEN NULL ELSE i % 6 * 1.5 END AS DOUBLE) AS weight,
  CAST(CASE WHEN i % 10 = 0 THEN 1e17 WHEN i % 9 = 0 THEN 0.00012 WHEN i % 8 = 0 THEN 12345678 WHEN i % 7 = 0 THEN 'nan'
    WHEN i % 6 = 0 THEN 2e15 WHEN i % 5 = 0 THEN -0.0 WHEN i % 4 = 0 THEN 3e-6 ELSE i % 3 END AS DOUBLE) AS far,
  CAST(i % 4 / 10 AS DECIMAL(10, 3)) AS price,
  DATE '1999-12-30' + CAST(i % 6 * 40 AS INTEGER) AS born,
  TIMESTAMP '2001-02-03 04:05:06.5' + INTERVAL (i % 5 * 1000) HOUR AS seen,
  i % 3 = 0 AS flag,
  CAST(i % 4 AS UBIGINT) AS large,
  'x' || (i % 8) AS code
FROM range(96) AS numbers(i)
"""
RULES: dict[str, str] = {
    "tiny": "round:1",
    "weight": "intervals:2.5,5",
    "far": "quantiles:3",
    "price": "intervals:0.2",
    "born": "date:month,year,decade",
    "seen": "date:day,week",
    "flag": "flat",
    "large": "flat",
    "code": "mask:left:1",
}


def typed(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Make a table with a column of every type; return what is asked for it."""
    connection.execute(TYPED)
    asked = {"quasi_identifiers": [*RULES], "rest": "keep", "models": [kanon.KAnonymity(3)], "max_suppressed": 0.2}
    return {**asked, "hierarchies": RULES}


def require_case(foreign: Any, case: str, directory: Path) -> None:
    """Require the same of one of ``CASES``: what is asked, and after a dash how."""
    name, _, how = case.rpartition("-")
    with duckdb.connect() as connection:
        if name == "hostile":
            require_same(foreign, connection, HOSTILE_TABLE, **hostile(connection), algorithm=how)
        elif name == "types":
            require_same(foreign, connection, "typed", **typed(connection), algorithm=how)
        else:
            connection.execute(PEOPLE)
            asked = of_models(OF_ROWS if name == "rows" else OF_PEOPLE, directory) if name != "cut" else ASKED
            cut = CUTTINGS[how] if name == "cut" else {}
            require_same(foreign, connection, "people", **{**asked, "algorithm": "mondrian" if cut else how}, **cut)


CASES = [
    *(f"{name}-{algorithm}" for name in ("rows", "people") for algorithm in ("optimal", "local", "mondrian")),
    *(f"cut-{how}" for how in CUTTINGS),
    *(f"{name}-{algorithm}" for name in ("hostile", "types") for algorithm in ("local", "mondrian")),
]


@pytest.mark.quick(2)
@pytest.mark.parametrize("case", CASES)
def test_what_is_rendered_for_others_says_the_same(transpiled: Transpiled, tmp_path: Path, case: str) -> None:
    require_case(transpiled, case, tmp_path)


@pytest.mark.parametrize(
    "case", ["rows-optimal", "people-local", "cut-relaxed", "cut-range", "hostile-local", "types-mondrian"]
)
def test_postgresql_runs_it(postgres_session: Postgres, tmp_path: Path, case: str) -> None:
    require_case(postgres_session, case, tmp_path)


@pytest.mark.parametrize("case", ["rows-optimal", "hostile-local", "types-mondrian"])
def test_spark_runs_it(spark_session_of_module: Spark, tmp_path: Path, case: str) -> None:
    require_case(spark_session_of_module, case, tmp_path)


@pytest.mark.quick(2)
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian", "known"])
def test_the_scripts_mean_the_same(transpiled: Transpiled, clinic: Path, algorithm: str) -> None:
    require_script(transpiled, clinic, algorithm)


def test_a_script_runs(foreign: Any, clinic: Path) -> None:
    require_script(foreign, clinic, "known")


def require_script(foreign: Any, clinic: Path, algorithm: str) -> None:
    """Run a script of test_dialects.py as a file has it; its verification finds no unknown label."""
    with duckdb.connect(str(clinic), read_only=True) as connection:
        columns = [(name, kind) for name, kind, *_ in connection.execute("DESCRIBE patients").fetchall()]
        foreign.load("patients", columns, connection.execute("FROM patients").fetchall())
    foreign.run(f"DROP TABLE IF EXISTS {RELEASED}")
    with made(clinic, algorithm) as release:
        script = release.sql(foreign.dialect, Destination(into=RELEASED))
    found = []
    for text in script.removesuffix(";\n").split(";\n"):
        rows = foreign.run(text)
        if is_query(text, foreign.dialect):
            found.append(rows)
    (classes,), labels, *others = found
    assert classes[1] == foreign.run(exp.select("COUNT(*)").from_(RELEASED).sql(foreign.dialect))[0][0] > 0
    (failing,) = others[-1] if algorithm == "known" else found[0]  # by two columns, or by all
    assert failing[2 if algorithm == "known" else 3] == 0
    assert all(foreign_labels == 0 for _, foreign_labels in labels)
    foreign.run(f"DROP TABLE IF EXISTS {RELEASED}")


RULED = """
CREATE TABLE ruled AS
SELECT
  CAST(CASE WHEN i % 11 = 0 THEN NULL ELSE i * 37 % 61 - 12 END AS INTEGER) AS whole,
  CAST(CASE WHEN i % 13 = 0 THEN NULL ELSE i * 31 % 47 / 4.0 - 3 END AS DECIMAL(10, 2)) AS fixed,
  CAST(CASE i % 17 WHEN 0 THEN 'nan' WHEN 1 THEN 'inf' WHEN 2 THEN '-inf' WHEN 3 THEN '1e300' WHEN 4 THEN '-0.0'
    WHEN 5 THEN '2.4999999999999996' WHEN 6 THEN NULL
    ELSE CAST(i * 29 % 23 / 2.0 - 4 AS VARCHAR) END AS DOUBLE) AS near,
  DATE '1999-11-28' + CAST(i * 41 % 1500 AS INTEGER) AS born,
  TIMESTAMP '2019-12-29 23:59:59.5' + INTERVAL (i * 7) HOUR AS seen,
  CASE WHEN i % 10 = 0 THEN NULL WHEN i % 9 = 0 THEN ''
    ELSE substr('abc', 1 + i % 3, 1) || '-' || i * 7 % 12 || '日.x' END AS code
FROM range(120) AS numbers(i)
"""
EACH_RULE = [
    {"whole": "intervals:5,10:top=40", "fixed": "intervals:0.5,2.5,5", "code": "mask:right:1,3"},
    {"whole": "intervals:10:origin=3:bottom=0", "near": "intervals:2.5,5", "code": "mask:left:2"},
    {"whole": "steps", "fixed": "round:-1,1", "near": "steps:from=0.1"},
    {"whole": "round:1,2", "near": "quantiles:4,2", "code": "prefixes:3,1"},
    {"born": "date:month,quarter,year,decade", "seen": "date:day,week", "code": "cut:1,2,letters"},
    {"born": "date:week", "seen": "mask:right:6,9,12,15", "fixed": "mask:left:1,2"},
    {"whole": "truncate:1,2", "fixed": "truncate:-1,1", "near": "truncate:-1,1"},
]


@pytest.mark.quick(1)
@pytest.mark.parametrize("rules", EACH_RULE[1::2], ids=lambda rules: " ".join(rules.values()))
def test_rules_are_computed_alike(transpiled: Transpiled, rules: dict[str, str]) -> None:
    """Fails on 0.1.0, whose scripts had every value of every column written out."""
    with duckdb.connect() as connection:
        connection.execute(RULED)
        asked = {
            "quasi_identifiers": list(rules),
            "rest": "drop",
            "models": [kanon.KAnonymity(2)],
            "hierarchies": rules,
        }
        asked |= {"max_suppressed": 0.5, "algorithm": "local"}
        with kanon.anonymize(connection, "ruled", seed=1, **asked) as release:
            assert "77" not in release.sql(transpiled.dialect).partition("combinations")[0]
            assert release.script(transpiled.dialect).held == {}
        require_same(transpiled, connection, "ruled", **asked)


def test_every_level_of_every_rule_means_the_same(transpiled: Transpiled) -> None:
    require_levels(transpiled)


def test_each_engine_computes_every_level_of_every_rule(foreign: Any) -> None:
    require_levels(foreign)


def require_levels(foreign: Any) -> None:
    """Require of each value of a column what DuckDB makes of it at each level of a rule."""
    with duckdb.connect() as connection:
        connection.execute(RULED)
        columns = [(name, kind) for name, kind, *_ in connection.execute("DESCRIBE ruled").fetchall()]
        foreign.load("ruled", columns, connection.execute("FROM ruled").fetchall())
        source = open_source(connection, "ruled")
        for rules in EACH_RULE:
            for column in (each for each in source.columns if each.name in rules):
                parsed: Any = parse_rule(rules[column.name])
                facts = column_facts(source.engine, source.relation, [(column, parsed)])[column.name]
                rule, _, _ = parsed.bind(source.engine, source.relation, column, facts)
                query = rule.query(column, sql.relation("ruled"), facts)
                *before, text = rendered(query, foreign.dialect)
                for statement in before:
                    foreign.run(statement)
                expected = counted(connection.execute(render(query, "duckdb")).fetchall())
                assert len(expected) > 5
                assert counted(foreign.run(text)) == expected, (column.name, rules[column.name])


@pytest.mark.thorough
def test_lookups_are_loaded(foreign: Any, people: duckdb.DuckDBPyConnection) -> None:
    """PostgreSQL reads the files itself, and so must be able to."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        asked = {**ASKED, "algorithm": "mondrian"}
        with kanon.anonymize(people, "people", seed=1, **asked) as release:
            script = release.script(foreign.dialect, Destination(into=RELEASED), lookups=Path(directory) / "lookups")
            expected = counted(released_rows(release))
        assert script.held
        for path in (Path(directory) / "lookups", *script.files):
            path.chmod(0o755)
        columns = [(name, kind) for name, kind, *_ in people.execute("DESCRIBE people").fetchall()]
        foreign.load("people", columns, people.execute("FROM people").fetchall())
        foreign.run(f"DROP TABLE IF EXISTS {RELEASED}")
        for text in script.text.removesuffix(";\n").split(";\n"):
            foreign.run(text)
        found = foreign.run(exp.select("*").from_(RELEASED).sql(foreign.dialect))
        foreign.run(f"DROP TABLE IF EXISTS {RELEASED}")
    assert counted(found) == expected
    assert sum(expected.values()) > 0
