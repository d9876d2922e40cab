"""Attacks on differentially private answers that once went through: each would tell of one row, for nothing or more.

Neighbouring tables are written by hand here, and what may differ between them is counted by hand.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pytest
from needs import needs

needs("opendp")

import kanon_sql
from kanon_sql.dp.account import delta_of, epsilon_of
from kanon_sql.dp.asking import ask, ask_sql, read_budget, set_budget
from kanon_sql.dp.mechanisms import above_threshold
from kanon_sql.dp.questions.counts import Count, Histogram, MostFrequent
from kanon_sql.dp.questions.numbers import Mean, Quantile, Sum
from kanon_sql.errors import BudgetError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.dp.questions.base import Question

pytestmark = pytest.mark.thorough

SURE = 10_000
"""An epsilon at which noise is 0 but once in e^10000 answers."""


def with_table(*statements: str) -> duckdb.DuckDBPyConnection:
    """Return a connection with a table t that may be asked as much as one likes."""
    connection = duckdb.connect()
    for statement in statements:
        connection.execute(statement)
    set_budget(connection, "t", epsilon=100 * SURE, delta="0.5")
    return connection


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT"])
@pytest.mark.parametrize(
    "question",
    [
        Histogram(epsilon=1, column="name", keys=["a", "b"]),
        Histogram(epsilon=1, column="name", delta="1e-6"),
        MostFrequent(epsilon=1, column="name", keys=["a", "b"]),
    ],
)
def test_a_row_that_names_the_key_of_all_rows_under_a_collation(collation: str, question: Question) -> None:
    # 'A' first and 99 times 'a' were 100 rows of key 'A'; without the first, 99 rows of key 'a': 199 more changes.
    connection = with_table(f"CREATE TABLE t (name VARCHAR COLLATE {collation})", "INSERT INTO t VALUES ('A'), ('a')")
    with pytest.raises(UsageError, match="Column name has a collation"):
        ask(connection, "t", question)
    assert read_budget(connection, "t").spent == ()


def test_a_default_collation_is_one_too() -> None:
    connection = with_table("CREATE TABLE t (name VARCHAR)", "SET default_collation = 'NOCASE'")
    with pytest.raises(UsageError, match="has a collation"):
        ask(connection, "t", Histogram(epsilon=1, column="name", keys=["a"]))


def test_keys_that_differ_behind_a_nul() -> None:
    # OpenDP took both for "a", with the count of the one that came last: one row made 1 of 1,000.
    for counts in ({"a": 1000, "a\0b": 1}, {"a\0b": 1, "a": 1000}):
        kept, *_ = above_threshold(counts, 1, Decimal(SURE), Decimal("0.01"))
        assert kept == {"a": 1000}
    kept, *_ = above_threshold({"a": 1000, "a\0b": 500, "é\U0001f600": 7}, 1, Decimal(SURE), Decimal("0.01"))
    assert kept == {"a": 1000, "a\0b": 500, "é\U0001f600": 7}


@pytest.mark.parametrize("delta", ["0.2", "0.1", "0.05", "1e-6"])
def test_a_key_of_one_row_is_told_with_a_probability_of_delta_at_most(delta: str) -> None:
    # OpenDP keeps what is the threshold itself: of keys of one row, 27 of 100 were told where delta was 0.1.
    rows = {str(key): 1 for key in range(3000)}
    kept, law, least = above_threshold(rows, 1, Decimal(1), Decimal(delta))
    assert all(count >= least for count in kept.values())
    # P(1 + noise >= least) by the two-sided geometric law with a = 1/e: a^(least - 1) / (1 + a)
    assert law.scale == pytest.approx(1)
    assert math.exp(1 - least) / (1 + math.exp(-1)) <= float(delta)


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("kind", "value", "condition"),
    [
        ("INTEGER", "2147483647", "v > 1.000000000000000000000000000000"),
        ("BIGINT", "9223372036854775807", "v IN (1, 999999999999999999.11111111111111111111)"),
        ("HUGEINT", "170141183460469231731687303715884105727", "v <> 1.5"),
        ("UHUGEINT", "340282366920938463463374607431768211455", "v > -1"),
        ("DECIMAL(38, 19)", "9999999999999999999", "v BETWEEN 1.000000000000000000000000000000 AND 2"),
        ("DECIMAL(4, 2)", "99.99", "v < 99999999999999999999999999999999999999"),
        ("FLOAT", "1", "v < 999999999999999999999999999999999999999"),
        ("TIMESTAMP_NS", "'2020-01-01'", "v < TIMESTAMP '9999-01-01'"),
    ],
)
def test_comparisons_that_fail_at_a_value(kind: str, value: str, condition: str) -> None:
    connection = with_table(f"CREATE TABLE t (v {kind}, n INTEGER)", f"INSERT INTO t VALUES ({value}, 1), (NULL, 2)")  # noqa: S608 - values of this file
    counted = ask(connection, "t", Count(epsilon=SURE, where=f"n = 1 AND ({condition} OR n = 1)"))
    assert counted.value == 1


@pytest.mark.parametrize(
    ("kinds", "values"),
    [
        (("BIGINT", "DECIMAL(38, 37)"), "9223372036854775807, 0"),
        (("HUGEINT", "UHUGEINT"), "-1, 340282366920938463463374607431768211455"),
        (("TIMESTAMP", "TIMESTAMP_NS"), "'9999-01-01', '2020-01-01'"),
    ],
)
def test_columns_that_fail_where_they_are_compared(kinds: tuple[str, str], values: str) -> None:
    one, other = kinds
    connection = with_table(f"CREATE TABLE t (a {one}, b {other})", f"INSERT INTO t VALUES ({values})")  # noqa: S608 - values of this file
    assert ask(connection, "t", Count(epsilon=SURE, where="a <> b")).value == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("UUID", "BLOB"), ("TIME", "UUID"), ("BIGNUM", "BLOB"), ("JSON", "TIME"), ("TIMESTAMP", "TIMESTAMPTZ")],
)
def test_columns_of_types_that_no_cast_makes_alike(one: str, other: str) -> None:
    connection = with_table(f"CREATE TABLE t (a {one}, b {other})")
    with pytest.raises(UsageError, match="compare columns of one type"):
        ask(connection, "t", Count(epsilon=1, where="a = b"))


def test_a_number_that_is_none_fails_only_where_a_row_comes_to_it() -> None:
    connection = with_table("CREATE TABLE t (n INTEGER)")
    for number in ("1e400", "1e-400", "-1e999"):
        with pytest.raises(UsageError, match="too large, too small"):
            ask(connection, "t", Count(epsilon=1, where=f"n = 7 AND n < {number}"))


@pytest.mark.parametrize("bounds", [("0", "1e-320"), ("0", "1e309"), ("-1e400", "1"), ("0", "1e5000")])
def test_bounds_that_are_no_floating_point_numbers(bounds: tuple[str, str]) -> None:
    # Steps were 0 and values were divided by it; bounds were cast: the error came only where there were rows.
    with pytest.raises(UsageError, match="A bound is a number from 1e-290"):
        Sum(epsilon=1, column="v", bounds=bounds)


def test_edges_and_steps_that_are_no_floating_point_numbers() -> None:
    connection = with_table("CREATE TABLE t (v DOUBLE)", "INSERT INTO t VALUES (1)")
    with pytest.raises(UsageError, match="An edge of a bin is a number from"):
        ask(connection, "t", Histogram(epsilon=1, column="v", bins=["0", "1e400"]))
    with pytest.raises(UsageError, match="A step is a number from"):
        Quantile(epsilon=1, column="v", bounds=("0", "1e-280"), step="1e-300")


@pytest.mark.parametrize(
    "price",
    [
        "1.0000000000000000000000000000001",
        "123456789.123456789012345678901234",
        "1e-2000000",
        "1e-999999999999",
        "1e-21",
    ],
)
def test_prices_that_the_books_would_round(price: str) -> None:
    # normalize() rounds to 28 digits, and what is too small to 0: what was written down was not what was spent.
    for taken in (epsilon_of, delta_of):
        with pytest.raises(UsageError, match=r"digits after the point|number"):
            taken(price)


def test_a_person_who_counts_with_a_mean_of_whole_numbers() -> None:
    # Each person has a 0 and a 1, whose mean is 0.5; rounded to a whole number it was 1 for everybody.
    connection = with_table("CREATE TABLE t AS SELECT i // 2 AS who, i % 2 AS v FROM range(2000) AS r(i)")
    answer = ask(connection, "t", Mean(epsilon=SURE, column="v", bounds=(0, 1), entity="who"))
    assert float(str(answer.value)) == pytest.approx(0.5, abs=1e-3)
    answer = ask(connection, "t", Sum(epsilon=SURE, column="v", bounds=(0, 1), entity="who"))
    assert float(str(answer.value)) == pytest.approx(500, abs=0.1)


def test_no_comment_of_a_condition_is_in_the_sql() -> None:
    connection = with_table("CREATE TABLE t (n INTEGER)")
    text = ask_sql(connection, "t", Count(epsilon=1, where="n = 1 /* why */ OR n = 2 -- */ OR 1 = 1"))
    assert "why" not in text
    assert "1 = 1" not in text


def test_a_budget_is_found_under_another_name_of_its_file(tmp_path: Path) -> None:
    # The name of the database, which is that of the file, was part of the key for tables of other schemas.
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE SCHEMA s")
        connection.execute("CREATE TABLE s.t AS SELECT 1 AS n")
    set_budget(tmp_path / "a.duckdb", "s.t", epsilon=1)
    ask(tmp_path / "a.duckdb", "s.t", Count(epsilon="0.75"))
    (tmp_path / "a.duckdb").rename(tmp_path / "b.duckdb")
    with pytest.raises(BudgetError, match="has spent epsilon"):
        ask(tmp_path / "b.duckdb", "s.t", Count(epsilon="0.5"))
    with duckdb.connect(str(tmp_path / "b.duckdb")) as connection:
        connection.execute("SET schema = 's'")
        assert len(read_budget(connection, "t").spent) == 1


def test_a_view_of_another_database_is_no_table_for_the_name_of_one_here(tmp_path: Path) -> None:
    connection = with_table("CREATE TABLE t (n INTEGER)")
    connection.execute(f"ATTACH '{tmp_path / 'o.duckdb'}' AS other")
    connection.execute("CREATE VIEW other.t AS SELECT 1 AS n")
    with pytest.raises(UsageError, match="is in another database"):
        set_budget(connection, "other.main.t", epsilon=1)


def test_a_temporary_view_does_not_stand_before_its_table() -> None:
    # The table paid for a count of rows that the view has twice: one row changed it by 2.
    connection = with_table("CREATE TABLE t (n INTEGER)", "INSERT INTO t VALUES (1)")
    connection.execute("CREATE TEMP VIEW t AS SELECT * FROM memory.main.t UNION ALL FROM memory.main.t")
    with pytest.raises(UsageError, match="is temporary"):
        ask(connection, "t", Count(epsilon=SURE))


def test_types_that_are_taken_from_values_are_refused(tmp_path: Path) -> None:
    # With one value 12.5, a sum of whole numbers has other steps: what type a column has is told for nothing.
    for name, written in (("d.csv", "n\n1\n2\n"), ("d.json", '[{"n": 1}]')):
        (tmp_path / name).write_text(written)
        with pytest.raises(UsageError, match="guessed from its values"):
            set_budget(tmp_path / name, epsilon=1, budget=tmp_path / "b.duckdb")
        with pytest.raises(UsageError, match="guessed from its values"):
            ask(tmp_path / name, None, Count(epsilon="0.5"), budget=tmp_path / "b.duckdb")
    assert not (tmp_path / "b.duckdb").exists()


def test_a_budget_is_not_kept_in_a_data_file(tmp_path: Path) -> None:
    # DuckDB opened it as a database in memory: the budget was set, and gone.
    data, table = tmp_path / "d.csv", tmp_path / "t.duckdb"
    data.write_text("n\n1\n")
    with duckdb.connect(str(table)) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
    for kept_in in (data, tmp_path / "new.csv"):
        with pytest.raises(UsageError, match="is no DuckDB file"):
            set_budget(table, "t", epsilon=1, budget=kept_in)
    assert data.read_text() == "n\n1\n"


@pytest.mark.thorough
def test_budgets_outlive_what_is_done_in_place(tmp_path: Path) -> None:
    # They were taken for lookup tables of views that are gone, and dropped: those of all tables.
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS id, i % 3 AS q, 'x' AS s FROM range(300) AS r(i)")
        connection.execute("CREATE TABLE other AS SELECT 1 AS n")
    for table in ("t", "other"):
        set_budget(path, table, epsilon=1)
        ask(path, table, Count(epsilon="0.75"))
    models = [kanon_sql.KAnonymity(3)]
    with kanon_sql.anonymize(
        path, "t", identifying=["id"], quasi_identifiers=["q"], sensitive=["s"], models=models
    ) as release:
        release.in_place(backup=False)
    for table in ("t", "other"):
        assert len(read_budget(path, table).spent) == 1
        with pytest.raises(BudgetError, match="has spent epsilon"):
            ask(path, table, Count(epsilon="0.5"))


def test_more_than_64_bits_is_said_before_anything_is_spent() -> None:
    connection = with_table("CREATE TABLE t (who INTEGER, v DOUBLE)")
    for question in (
        Sum(epsilon=1, column="v", bounds=(0, 10), entity="who", max_rows=10**12),
        Quantile(epsilon=1, column="v", bounds=(0, 10), entity="who", max_rows=10**18),
        Histogram(epsilon=1, delta="0.01", column="who", entity="who", max_rows=10**20),
    ):
        with pytest.raises(UsageError, match=r"max.rows"):
            ask(connection, "t", question)
    with pytest.raises(UsageError, match=r"max.rows"):
        Count(epsilon=1, entity="who", max_rows=1.5)  # type: ignore[arg-type]
