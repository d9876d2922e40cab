"""The budget: nobody spends more than it, nor gets back what was spent, whatever happens and however many ask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from needs import needs

needs("opendp")


import kanon_sql as kanon
from kanon_sql import dp
from kanon_sql.dp import asking
from kanon_sql.dp.account import Charge, composed
from kanon_sql.errors import BudgetError, SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

pytestmark = pytest.mark.thorough

ONE = Decimal(1)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE patients AS SELECT i AS id, i // 2 AS unit, i % 3 AS ward, "
            "CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex FROM range(100) n(i)"
        )
        connection.execute("CREATE VIEW women AS SELECT * FROM patients WHERE sex = 'F'")
    return path


def spent_in(path: Path, table: str = "patients", **where: Any) -> Decimal:
    return dp.read_budget(path, table, **where).composed[0]


def test_without_a_budget_nothing_is_asked(clinic: Path) -> None:
    with pytest.raises(BudgetError, match=r"(?s)has no budget.*kanon dp budget"):
        dp.ask(clinic, "patients", dp.Count(epsilon=1))
    with pytest.raises(BudgetError, match="no budget"):
        dp.read_budget(clinic, "patients")


@pytest.mark.thorough
def test_answers_are_paid_for_until_nothing_is_left(clinic: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=1)
    for number in range(10):
        answer = dp.ask(clinic, "patients", dp.Count(epsilon="0.1"))
        assert answer.budget is not None
        assert answer.budget.composed == (Decimal("0.1") * (number + 1), 0)  # tenths add up to one exactly
    for question in (dp.Count(epsilon="1e-20"), dp.Sum(column="id", bounds=(0, 9), epsilon=1)):
        with pytest.raises(BudgetError, match="not given"):
            dp.ask(clinic, "patients", question)
    assert spent_in(clinic) == ONE


@pytest.mark.thorough
def test_delta_is_spent_too(clinic: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=100, delta="2e-6")
    for _ in range(2):
        dp.ask(clinic, "patients", dp.Count(epsilon=1, noise="gaussian", delta="1e-6"))
    with pytest.raises(BudgetError, match="delta"):
        dp.ask(clinic, "patients", dp.Histogram(column="sex", epsilon=1, delta="1e-9"))
    dp.ask(clinic, "patients", dp.Count(epsilon=1))


@pytest.mark.thorough
def test_more_may_be_allowed_and_nothing_is_given_back(clinic: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=1)
    dp.ask(clinic, "patients", dp.Count(epsilon=1))
    dp.set_budget(clinic, "patients", epsilon="0.5")
    assert spent_in(clinic) == ONE
    with pytest.raises(BudgetError):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.1"))
    dp.set_budget(clinic, "patients", epsilon="1.25")
    dp.ask(clinic, "patients", dp.Count(epsilon="0.25"))
    with pytest.raises(BudgetError):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.01"))


@pytest.mark.thorough
def test_groups_of_a_column_cost_what_the_dearest_does(clinic: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=1)
    for ward in ("0", "1", "2"):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.5", group=("ward", ward)))
    assert spent_in(clinic) == Decimal("0.5")
    dp.ask(clinic, "patients", dp.Count(epsilon="0.25", group=("sex", "F")))
    dp.ask(clinic, "patients", dp.Count(epsilon="0.25", group=("SEX", "M")))
    assert spent_in(clinic) == Decimal("0.75")
    with pytest.raises(BudgetError):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.5", group=("ward", "0")))
    dp.ask(clinic, "patients", dp.Count(epsilon="0.25"))
    with pytest.raises(BudgetError):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.01", group=("sex", "M")))


def test_a_person_in_several_groups_pays_in_all_of_them(clinic: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=1)
    for ward in ("0", "1"):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.5", group=("ward", ward), entity="unit"))
    assert spent_in(clinic) == ONE


@pytest.mark.thorough
def test_a_budget_for_people_is_spent_on_people_alone(clinic: Path, kanon: Callable[..., Ended]) -> None:
    """One budget has one meaning: what protects a row does not protect a person with several, and cannot be added."""
    assert kanon("dp", "budget", clinic, "patients", "--epsilon", "2", "--entity", "UNIT").code == 0
    answer = dp.ask(clinic, "patients", dp.Count(epsilon="0.5"))
    assert "one person" in answer.assumes[0]
    assert "GROUP BY" in answer.sql(), "people are counted"
    dp.ask(clinic, "patients", dp.Count(epsilon="0.5", entity="unit"))
    with pytest.raises(UsageError, match="cannot be added up"):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.5", entity="id"))
    ended = kanon(
        "dp", "release", clinic, "patients", "--qi", "ward", "--hierarchy", "ward=flat", "--levels", "ward=1",
        "--epsilon", "1", "-k", "5", "--into", "r",
    )  # fmt: skip
    assert ended.code == 2
    assert "cannot be added up" in ended.err
    assert spent_in(clinic) == ONE
    with pytest.raises(UsageError, match="Leave entity out"):
        dp.set_budget(clinic, "patients", epsilon=3, entity="id")
    budget = dp.set_budget(clinic, "patients", epsilon=3)
    assert (budget.entity, budget.epsilon) == ("unit", 3)
    assert "unit names" in kanon("dp", "budget", clinic, "patients").out
    with pytest.raises(UsageError, match="no column"):
        dp.set_budget(clinic, "patients", epsilon=3, entity="nobody")


GROUPS = st.one_of(st.none(), st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")))


@given(st.lists(st.tuples(GROUPS, st.integers(1, 30)), max_size=8))
def test_what_charges_cost_together_is_what_the_dearest_row_pays(charges: list[tuple[Any, int]]) -> None:
    """By brute force: a row is in one group of each column; it pays for all answers that it is in."""
    rows = [dict(zip("ab", values, strict=True)) for values in product("wxyz", repeat=2)]
    paid = [sum(cost for group, cost in charges if group is None or row[group[0]] == group[1]) for row in rows]
    epsilon, delta = composed(Charge("", Decimal(cost) / 10, Decimal(cost) / 1000, group) for group, cost in charges)
    assert epsilon == Decimal(max(paid)) / 10
    assert delta == Decimal(max(paid)) / 1000


def test_a_view_has_no_budget_of_its_own(clinic: Path) -> None:
    with pytest.raises(UsageError, match="where"):
        dp.set_budget(clinic, "women", epsilon=1)
    with pytest.raises(UsageError, match="where"):
        dp.ask(clinic, "women", dp.Count(epsilon=1))


@pytest.mark.thorough
def test_a_table_has_one_budget_however_it_is_named(clinic: Path, tmp_path: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=1)
    link = tmp_path / "link.duckdb"
    link.symlink_to(clinic)
    for source, table in ((clinic, "PATIENTS"), (link, "main.patients"), (str(clinic), "Main.Patients")):
        dp.ask(source, table, dp.Count(epsilon="0.25"))
    with duckdb.connect(str(clinic)) as connection:
        dp.ask(connection, "patients", dp.Count(epsilon="0.25"))
    with pytest.raises(BudgetError):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.1"))
    with pytest.raises(UsageError, match="leave budget out"):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.1"), budget=tmp_path / "other.duckdb")


@pytest.mark.thorough
def test_what_is_wrong_with_a_question_is_said_before_it_costs(clinic: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=1)
    wrong: list[Callable[[], dp.Question]] = [
        lambda: dp.Sum(column="nothing", bounds=(0, 1), epsilon=1),
        lambda: dp.Sum(column="sex", bounds=(0, 1), epsilon=1),
        lambda: dp.Sum(column="id", bounds=(1, 1), epsilon=1),
        lambda: dp.Count(epsilon=1, where="id IN (SELECT 1)"),
        lambda: dp.Count(epsilon=1, where="random() < 0.5"),
        lambda: dp.Count(epsilon=1, where="id = 'x'"),
        lambda: dp.Count(epsilon=1, entity="nobody"),
        lambda: dp.Count(epsilon=1, max_rows=2),
        lambda: dp.Count(epsilon=1, delta="1e-6"),
        lambda: dp.Count(epsilon=1, noise="gaussian"),
        lambda: dp.Count(epsilon=0),
        lambda: dp.Count(epsilon="nan"),
        lambda: dp.Count(epsilon=-1),
        lambda: dp.Count(epsilon="1e-21"),
        lambda: dp.Histogram(column="sex", epsilon=1),
        lambda: dp.Histogram(column="sex", keys=["F", "F"], epsilon=1),
        lambda: dp.Histogram(column="sex", hierarchy="flat", level=1, epsilon=1),
        lambda: dp.MostFrequent(column="sex", epsilon=1),
        lambda: dp.Quantile(column="id", bounds=(0, 100), share=2, epsilon=1),
        lambda: dp.Quantile(column="id", bounds=(0, 100), step="1e-9", epsilon=1),
        lambda: dp.Histogram(column="sex", delta="1e-20", epsilon="1e-19"),
    ]
    for make in wrong:
        with pytest.raises(UsageError):
            dp.ask(clinic, "patients", make())
    assert spent_in(clinic) == 0


@pytest.mark.thorough
def test_a_file_has_its_budget_in_a_database_that_is_named(clinic: Path, tmp_path: Path) -> None:
    file, keeper = tmp_path / "patients.parquet", tmp_path / "budgets.duckdb"
    with duckdb.connect(str(clinic), read_only=True) as connection:
        connection.sql("FROM patients").write_parquet(str(file))
    with pytest.raises(UsageError, match="budget"):
        dp.set_budget(file, epsilon=1)
    with pytest.raises(SourceError, match="does not exist"):
        dp.ask(file, None, dp.Count(epsilon=1), budget=keeper)
    assert not keeper.exists()
    dp.set_budget(file, epsilon=1, budget=keeper)
    link = tmp_path / "link.parquet"
    link.symlink_to(file)
    for source in (file, link, tmp_path / "." / "patients.parquet", file):
        answer = dp.ask(source, None, dp.Count(epsilon="0.25"), budget=keeper)
        assert abs(answer.value - 100) <= 100  # type: ignore[operator]  # off by more with a probability of e^-25
    with pytest.raises(BudgetError):
        dp.ask(file, None, dp.Count(epsilon="0.25"), budget=keeper)


def test_a_data_frame_has_no_budget() -> None:
    import pandas as pd

    with pytest.raises(UsageError, match="budget"):
        dp.ask(pd.DataFrame({"a": [1]}), None, dp.Count(epsilon=1))


def test_a_transaction_of_somebody_else_cannot_give_a_charge_back(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        dp.set_budget(connection, "patients", epsilon=1)
        connection.begin()
        with pytest.raises(UsageError, match="transaction"):
            dp.ask(connection, "patients", dp.Count(epsilon=1))
        connection.rollback()
        dp.ask(connection, "patients", dp.Count(epsilon=1))
        with pytest.raises(BudgetError):
            dp.ask(connection, "patients", dp.Count(epsilon=1))


@pytest.mark.thorough
def test_threads_with_cursors_of_one_connection_spend_once(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        dp.set_budget(connection, "patients", epsilon=1)
        outcomes: list[str] = []

        def ask(cursor: duckdb.DuckDBPyConnection) -> None:
            for _ in range(5):
                try:
                    dp.ask(cursor, "patients", dp.Count(epsilon="0.1"))
                    outcomes.append("answered")
                except BudgetError:
                    outcomes.append("refused")

        threads = [threading.Thread(target=ask, args=(connection.cursor(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count("answered") == 10
        assert outcomes.count("refused") == 10
        assert dp.read_budget(connection, "patients").composed[0] == ONE


ASKING = """
import sys
import kanon_sql.dp as dp
from kanon_sql.errors import BudgetError
answered = 0
for _ in range(8):
    try:
        dp.ask(sys.argv[1], "patients", dp.Count(epsilon="0.1"))
        answered += 1
    except BudgetError:
        pass
print(answered)
"""


@pytest.mark.thorough
def test_two_processes_at_once_spend_the_budget_once(clinic: Path) -> None:
    dp.set_budget(clinic, "patients", epsilon=1)
    command = [sys.executable, "-c", ASKING, str(clinic)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]  # noqa: S603 - our own
    answered = [int(process.communicate(timeout=300)[0]) for process in running]
    assert sum(answered) == 10
    assert spent_in(clinic) == ONE


def test_the_charge_is_written_before_anything_is_asked(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails after the charge has cost what it would have cost."""
    dp.set_budget(clinic, "patients", epsilon=1)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "_exact", crash)
    with pytest.raises(KeyboardInterrupt):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.75"))
    monkeypatch.undo()
    assert spent_in(clinic) == Decimal("0.75")
    with pytest.raises(BudgetError):
        dp.ask(clinic, "patients", dp.Count(epsilon="0.5"))


KILLED = """
import sys, threading
import kanon_sql.dp as dp
from kanon_sql.errors import BudgetError
print("ready", flush=True)
while True:
    try:
        answer = dp.ask(sys.argv[1], "patients", dp.Count(epsilon="0.001"))
    except BudgetError:
        break
    print("answered", flush=True)
"""


@pytest.mark.thorough
def test_a_kill_gives_nothing_back(clinic: Path) -> None:
    """Killed at some moment: at least as much is spent as there were answers (see release/test_any_moment.py)."""
    dp.set_budget(clinic, "patients", epsilon=1)
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(clinic)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.stdout.readline() == "answered\n"
        time.sleep(0.35)
        os.kill(process.pid, signal.SIGKILL)
        answered = 1 + process.stdout.read().count("answered\n")
    budget = dp.read_budget(clinic, "patients")
    assert budget.composed[0] == Decimal("0.001") * len(budget.spent)
    assert answered <= len(budget.spent) <= answered + 1
    dp.ask(clinic, "patients", dp.Count(epsilon="0.001"))


@pytest.mark.thorough
def test_the_budget_outlives_the_rows(clinic: Path) -> None:
    """In place, the rows become others; what was said of the old ones stays said."""
    dp.set_budget(clinic, "patients", epsilon=1)
    dp.ask(clinic, "patients", dp.Count(epsilon="0.75"))
    with kanon.anonymize(
        clinic, "patients", quasi_identifiers=["ward"], sensitive=["sex"], rest="drop",
        hierarchies={"ward": "flat"}, models=[kanon.KAnonymity(2)],
    ) as release:  # fmt: skip
        release.in_place(backup=False)
    kanon.clean(clinic)
    assert spent_in(clinic) == Decimal("0.75")


def test_tables_of_somebody_else_are_no_budgets(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE SCHEMA kanon")
        connection.execute("CREATE TABLE kanon.dp_budgets AS SELECT 1 AS x")
    with pytest.raises(SourceError, match="cannot be read as budgets"):
        dp.ask(clinic, "patients", dp.Count(epsilon=1))


@pytest.mark.thorough
def test_the_command_shows_and_sets_it(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("dp", "budget", clinic, "patients")
    assert (ended.code, ended.out) == (1, "")
    assert "--epsilon 1" in ended.err
    ended = kanon("dp", "budget", clinic, "patients", "--epsilon", "2", "--delta", "1e-5", "--sql")
    assert ended.code == 0
    assert "CREATE TABLE IF NOT EXISTS kanon.dp_budgets" in ended.out
    assert kanon("dp", "budget", clinic, "patients").code == 1, "--sql changes nothing"
    assert kanon("dp", "budget", clinic, "patients", "--epsilon", "2", "--delta", "1e-5").code == 0
    kanon("dp", "count", clinic, "patients", "--epsilon", "0.5", "--group", "sex=F")
    found = kanon("dp", "budget", clinic, "patients", "--format", "json").json
    assert (found["epsilon"], found["epsilon_spent"], found["epsilon_left"]) == (2, 0.5, 1.5)
    assert found["delta"] == 1e-5
    ((spent,),) = [found["spent"]]
    assert (spent["question"], spent["epsilon"], spent["group"]) == ("count where sex is a given value", 0.5, "sex=F")
    shown = kanon("dp", "budget", clinic, "patients")
    assert "0.5 spent of 2" in shown.out
    assert "sex=F" in shown.out
    ended = kanon("dp", "count", clinic, "patients", "--epsilon", "1.6")
    assert (ended.code, ended.out) == (1, "")
    assert "0.5 of 2" in ended.err
