"""``kanon dp`` as a person types it, and the conditions that it takes."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import sqlglot
from needs import needs
from sqlglot import exp

needs("opendp")


from kanon_sql import dp
from kanon_sql.dp.condition import condition
from kanon_sql.engine.base import Column
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

pytestmark = pytest.mark.thorough

QUESTIONS = {
    "count": ["count"],
    "sum": ["sum", "--column", "cost", "--bounds", "0,50"],
    "mean": ["mean", "--column", "cost", "--bounds", "0,50"],
    "quantile": ["quantile", "--column", "cost", "--bounds", "0,50", "--quantile", "0.9"],
    "histogram": ["histogram", "--column", "sex", "--keys", "F,M"],
    "frequent keys": ["histogram", "--column", "sex", "--delta", "1e-6"],
    "bins": ["histogram", "--column", "cost", "--bins", "0,10,50"],
    "most frequent": ["most-frequent", "--column", "sex", "--keys", "F,M"],
}
SECRET = "s3cr3t-town"  # noqa: S105 - a value of a cell
WAYS: list[list[str]] = [[], ["--entity", "unit", "--max-rows", "2"], ["--where", "cost > 3"], ["--group", "sex=F"]]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """2,000 rows: half F and half M, costs 0 to 39, one town that is a secret."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            f"CREATE TABLE patients AS SELECT i // 2 AS unit, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex, "  # noqa: S608 - our own
            f"CAST(i % 40 AS DOUBLE) AS cost, '{SECRET}' AS town FROM range(2000) n(i)"
        )
    dp.set_budget(path, "patients", epsilon=1000, delta="0.01")
    return path


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(way) or "all")
def test_each_question_is_answered_shown_and_paid_for(
    clinic: Path, kanon: Callable[..., Ended], name: str, way: list[str]
) -> None:
    verb, *rest = QUESTIONS[name]
    command = ["dp", verb, clinic, "patients", *rest, *way]
    shown = kanon(*command, "--epsilon", "5")
    assert shown.code == 0, shown.err
    for word in (
        "accuracy",
        "mechanism",
        "cost",
        "epsilon 5",
        "budget",
        "assumes",
        "Neighbouring tables",
    ):
        assert word in shown.out, word
    found = kanon(*command, "--epsilon", "5", "--format", "json").json
    assert (found["epsilon"], found["confidence"], found["table"]) == (5, 0.95, "patients")
    assert found["delta"] == (1e-6 if name == "frequent keys" else 0)
    assert found["scale"] > 0
    assert (found["expected_error"] is None) == (name in {"quantile", "most frequent"})
    assert dp.read_budget(clinic, "patients").composed[0] == found["budget"]["epsilon_spent"] == 10
    assert SECRET not in shown.out + shown.err


# Off by more than 40 times the scale with a probability of e^-40; the exact numbers are those of the fixture.
@pytest.mark.thorough
def test_answers_are_near_what_is_exact(clinic: Path, kanon: Callable[..., Ended]) -> None:
    def answer(*command: str) -> Any:
        verb, *rest = command
        return kanon("dp", verb, clinic, "patients", *rest, "--epsilon", "10", "--format", "json").json["answer"]

    assert abs(answer("count") - 2000) <= 4
    assert abs(answer("count", "--where", "cost < 10 AND sex = 'F'") - 250) <= 4
    assert abs(answer("count", "--group", "sex=M") - 1000) <= 4
    assert abs(answer("count", "--entity", "unit") - 1000) <= 4
    assert abs(answer("sum", "--column", "cost", "--bounds", "0,50") - 39_000) <= 200
    assert abs(answer("sum", "--column", "cost", "--bounds", "0,10") - 50 * (45 + 300)) <= 40  # cut to 10
    assert abs(answer("mean", "--column", "cost", "--bounds", "0,50") - 19.5) <= 0.2
    assert abs(answer("quantile", "--column", "cost", "--bounds", "0,50", "--quantile", "0.9") - 36) <= 1
    histogram = {each["key"]: each["answer"] for each in answer("histogram", "--column", "sex", "--keys", "F,x")}
    assert abs(histogram["F"] - 1000) <= 4
    assert abs(histogram["x"]) <= 4
    assert abs(histogram[None] - 1000) <= 4
    bins = answer("histogram", "--column", "cost", "--bins", "0,10,30")
    assert [each["key"] for each in bins] == ["[0, 10)", "[10, 30)", None]
    assert all(abs(each["answer"] - n) <= 4 for each, n in zip(bins, (500, 1000, 500), strict=True))
    assert answer("most-frequent", "--column", "town", "--keys", f"{SECRET},other") == SECRET


def test_keys_are_the_labels_of_a_hierarchy(clinic: Path, kanon: Callable[..., Ended], tmp_path: Path) -> None:
    file = tmp_path / "sex.csv"
    file.write_text("F;known;*\nM;known;*\nX;unknown;*\n", encoding="utf-8")
    ended = kanon(
        "dp", "histogram", clinic, "patients", "--column", "sex", "--hierarchy", file, "--level", 1, "--epsilon", 10,
        "--format", "json",
    )  # fmt: skip
    found = {each["key"]: each["answer"] for each in ended.json["answer"]}
    assert found.keys() == {"known", "unknown", None}, "also the label that no row has"
    assert abs(found["known"] - 2000) <= 4
    ended = kanon(
        "dp", "histogram", clinic, "patients", "--column", "sex", "--hierarchy", "mask", "--level", 1, "--epsilon", 1
    )
    assert ended.code == 2
    assert "depend on the values in the table" in ended.err


@pytest.mark.quick(6)
@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(way) or "all")
def test_sql_is_shown_and_nothing_spent(clinic: Path, kanon: Callable[..., Ended], name: str, way: list[str]) -> None:
    """The plan: one statement, without chance; DuckDB finds with it what the answer is made from."""
    verb, *rest = QUESTIONS[name]
    ended = kanon("dp", verb, clinic, "patients", *rest, *way, "--epsilon", "5", "--sql")
    assert ended.code == 0, ended.err
    (statement,) = sqlglot.parse(ended.out.rstrip().rstrip(";"), read="duckdb")
    assert statement is not None
    called = {
        (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).upper()
        for node in statement.find_all(exp.Func)
    }
    chance = {"RANDOM", "RAND", "RANDN", "UUID", "HASH", "SETSEED", "NOW", "CURRENT_TIMESTAMP", "NEXTVAL"}
    assert not called & chance
    assert not list(statement.find_all(exp.TableSample))
    assert len(list(statement.find_all(exp.Table))) == 1, "the table is read once"
    with duckdb.connect(str(clinic), read_only=True) as connection:
        connection.execute(ended.out)
        assert connection.execute("SELECT COUNT(*) FROM kanon.dp_spent").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count"], "--epsilon"),
        (["count", "--epsilon", "0"], "above 0"),
        (["count", "--epsilon", "much"], "is a number"),
        (["count", "--epsilon", "1", "--delta", "1e-6"], "Delta is for"),
        (["count", "--epsilon", "1", "--noise", "gaussian"], "needs a delta"),
        (["count", "--epsilon", "1", "--max-rows", "3"], "--entity"),
        (["count", "--epsilon", "1", "--group", "sex"], "--group sex=F"),
        (["count", "--epsilon", "1", "--group", "cost=1"], "cannot make groups"),
        (["count", "--epsilon", "1", "--where", "cost > (SELECT AVG(cost) FROM patients)"], "one row at a time"),
        (["sum", "--epsilon", "1", "--column", "sex", "--bounds", "0,1"], "has no numbers"),
        (["sum", "--epsilon", "1", "--column", "cost", "--bounds", "9"], "two numbers"),
        (["sum", "--epsilon", "1", "--column", "cost", "--bounds", "9,1"], "no interval"),
        (["sum", "--epsilon", "1", "--column", "coast", "--bounds", "0,1"], "Did you mean 'cost'"),
        (["histogram", "--epsilon", "1", "--column", "sex"], "--keys"),
        (["histogram", "--epsilon", "1", "--column", "cost", "--keys", "1"], "--bins"),
        (["histogram", "--epsilon", "1", "--column", "cost", "--bins", "1"], "edges that rise"),
        (["histogram", "--epsilon", "1", "--column", "sex", "--keys", "F", "--bins", "1,2"], "in one way"),
        (["histogram", "--epsilon", "1", "--column", "sex", "--keys", "F", "--delta", "1e-6"], "leave it out"),
        ([*QUESTIONS["quantile"], "--epsilon", "1", "--noise", "gaussian", "--delta", "1e-6"], "exponential mechanism"),
        (["count", "--epsilon", "1", "--dialect", "postgres"], "--sql"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value),
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_line_and_costs_nothing(
    clinic: Path, kanon: Callable[..., Ended], arguments: list[str], message: str
) -> None:
    verb, *rest = arguments
    ended = kanon("dp", verb, clinic, "patients", *rest)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert dp.read_budget(clinic, "patients").spent == ()


def test_a_statement_that_is_run_is_told_without_its_result(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("dp", "count", clinic, "patients", "--epsilon", "1", "-v")
    assert "exact numbers, to which noise is added" in ended.err
    assert "2,000" not in ended.err
    assert "2000" not in ended.err


def test_without_opendp_it_is_said_how_to_get_it(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kanon_sql.errors import SourceError

    for name in [name for name in sys.modules if name.partition(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(SourceError, match=r"pip install 'kanon-sql\[dp\]'"):
        dp.ask(clinic, "patients", dp.Count(epsilon=1))
    assert dp.read_budget(clinic, "patients").spent == ()


def test_importing_kanon_sql_does_not_import_opendp() -> None:
    text = "import sys, kanon_sql; kanon_sql.dp; assert not {'opendp', 'duckdb', 'sqlglot'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)  # noqa: S603 - our own


COLUMNS = (
    Column("age", "INTEGER"), Column("sex", "VARCHAR"), Column("d", "DATE"), Column("select", "BOOLEAN"),
    Column("x y", "DOUBLE"),
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "age > 5 AND sex = 'F'", "d >= '2020-01-01'", "d IN ('2020-01-01')",
        "age BETWEEN 5 AND 10", "age NOT BETWEEN 5 AND 10", "sex IN ('F', 'O''Brien')",
        "sex NOT IN ('F')", "NOT age < -3 OR d >= DATE '2020-01-01'", '"select"', 'NOT "select"', '"x y" IS NOT NULL',
        "sex LIKE 'F%'", "sex NOT LIKE 'F%'", "sex NOT ILIKE 'f_'", "age IS NULL AND (sex IS DISTINCT FROM 'M')",
        "age = 1.5e1", 'age <= "x y"', "TRUE", '"select" IS NOT TRUE', "age <> 5", "5 < age",
        "NOT (age > 5 AND (sex = 'F' OR sex = 'M')) OR age = 7",
    ],
)  # fmt: skip
def test_a_condition_means_what_duckdb_means_by_it(text: str) -> None:
    """Each is made anew from its parts: the rows that it takes are those that DuckDB takes by the text itself."""
    made = condition(text, COLUMNS, "t").sql("duckdb")
    with duckdb.connect() as connection:
        connection.execute(
            'CREATE TABLE t AS SELECT a AS age, s AS sex, d::DATE AS d, b AS "select", x AS "x y" '
            "FROM (VALUES (NULL), (-4), (5), (7), (15)) v(a), (VALUES (NULL), ('F'), ('M'), ('O''Brien')) w(s), "
            "(VALUES (NULL), ('2020-01-01'), ('2019-12-31')) y(d), (VALUES (NULL), (TRUE), (FALSE)) z(b), "
            "(VALUES (NULL), (6.5)) u(x)"
        )
        expected = connection.execute(f"SELECT * FROM t AS source WHERE {text} ORDER BY ALL").fetchall()  # noqa: S608 - our own
        found = connection.execute(f"SELECT * FROM t AS source WHERE {made} ORDER BY ALL").fetchall()  # noqa: S608 - our own
    assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "age", "age +", "age > 5; DROP TABLE t", "age IN (SELECT 1)", "EXISTS (SELECT 1)", "random() < 0.5",
        "COUNT(*) > 1", "age + 1 > 3", "age = '5'", "sex = 5", "sex IN ('F', 3)", "age::VARCHAR = '5'",
        "CAST(sex AS INTEGER) = 5", "d = DATE 'never'", "sex LIKE 'a\\'", "sex LIKE sex", "sex LIKE 'a' ESCAPE 'b'",
        "age BETWEEN SYMMETRIC 5 AND 1", "CASE WHEN age = 1 THEN TRUE END", "foo = 1", "other.age = 1", "1 / age = 1",
        "ROW_NUMBER() OVER () = 1", "sex SIMILAR TO 'F'", "sex ~ 'F'", "age = ANY ([1, 2])", "ERROR('x')", "$x = 1",
        "age > 5 --", "sex = 'F' COLLATE NOCASE", "sex GLOB 'F*'", "age IS NOT DISTINCT FROM 'x'",
    ],
)  # fmt: skip
def test_a_condition_that_could_do_more_is_refused(text: str) -> None:
    if text == "age > 5 --":  # a comment says nothing
        assert condition(text, COLUMNS, "t").sql("duckdb") == "source.age > 5"
        return
    with pytest.raises(UsageError):
        condition(text, COLUMNS, "t")


@pytest.mark.thorough
def test_the_library_answers_with_exact_decimals(clinic: Path) -> None:
    answer = dp.ask(clinic, "patients", dp.Sum(column="cost", bounds=(0, 50), epsilon=1))
    assert isinstance(answer.value, Decimal)
    assert answer.figures[0].low < answer.value < answer.figures[0].high  # type: ignore[operator]  # it has an interval
    assert "SUM" in answer.sql()
    histogram = dp.ask(clinic, "patients", dp.Histogram(column="sex", keys=["F", "M"], epsilon=1))
    assert histogram.value is None
    assert histogram.values.keys() == {"F", "M", None}
    assert dp.ask(clinic, "patients", dp.MostFrequent(column="town", keys=[SECRET, "x"], epsilon=1)).value == SECRET
