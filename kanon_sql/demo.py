"""The sample database of ``kanon demo``: hospital admissions that never happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.engine.duckdb import DuckDBEngine
from kanon_sql.errors import UsageError
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy import Policy
from kanon_sql.roles import NamedColumns

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "admissions"
RELEASE = "admissions_k5"
LARGEST = 100_000_000
QUASI_IDENTIFIERS = ("birth_date", "sex", "zip", "admission_date")
_MARK = "Made by kanon demo: nobody in this table exists."


def demo_policy(k: int) -> Policy:
    """Return the policy that the sample table is anonymized by."""
    return Policy(
        columns=NamedColumns(
            identifying=("name",),
            quasi_identifiers=QUASI_IDENTIFIERS,
            sensitive=("diagnosis",),
            rest="keep",
        ),
        models=(KAnonymity(k),),
        seed=1,
    )


def demo_statement(rows: int) -> exp.Expr:
    """Return the statement that makes the sample table."""
    return sql.statement("demo_admissions", values={"rows": rows})


def make_demo(engine: DuckDBEngine, rows: int) -> None:
    """Make the sample table, marked as ours.

    Raises:
        UsageError: more rows than are offered, or less than none.
    """
    if not 0 <= rows <= LARGEST:
        raise UsageError(f"--rows is a number from 0 to {LARGEST:,}.")
    engine.run(demo_statement(rows), "make the sample table")
    engine.run(exp.Comment(this=sql.relation(TABLE), kind="TABLE", expression=sql.literal(_MARK)), "mark it as ours")


def make_demo_file(path: Path, rows: int) -> None:
    """Make a database with the sample table; one that was made here before is made anew.

    Raises:
        UsageError: there is a file of that name that was not made here.
    """
    if path.exists():
        if not _is_ours(path):
            raise UsageError(f"{path} exists and was not made by kanon demo: give another name with --out.")
        path.unlink()
    engine = DuckDBEngine.from_file(path, writable=True)
    try:
        make_demo(engine, rows)
    except BaseException:
        engine.close()
        path.unlink(missing_ok=True)
        raise
    engine.close()


def _is_ours(path: Path) -> bool:
    engine = DuckDBEngine.from_file(path, writable=False)
    try:
        return bool(engine.rows(sql.statement("made_by_demo", values={"mark": _MARK}), "was it made by kanon demo?"))
    finally:
        engine.close()
