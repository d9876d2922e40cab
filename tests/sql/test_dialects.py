"""Scripts for engines that are not here: read back by sqlglot, and held to what these engines are known to lack."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import sqlglot
from conftest import REPOSITORY, make_clinic
from each import each
from foreign_engines import counted
from needs import needs
from rows import released_rows
from sqlglot import exp
from sqlglot.errors import ErrorLevel
from test_sql import require_approved

import kanon_sql as kanon
from kanon_sql.engine.base import Column
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.rules import ColumnExtremes
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.policy.policy import Destination
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import DIALECTS, capabilities_of, rendered

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conftest import Ended

Row = tuple[Any, ...]
SNAPSHOTS = REPOSITORY / "tests" / "snapshots"
OTHERS = [name for name in DIALECTS if name != "duckdb"]
ALGORITHMS = ["optimal", "local", "mondrian", "known"]
RULES = {"age": "intervals:10,20:top=90", "sex": "flat", "zip": "mask:right:1,3"}
NOT_PARSED = "SET "
"""How a statement begins that sqlglot passes on as text."""
HASHES = {"XXHASH64", "HASH_RECORD_EXTENDED", "FARM_FINGERPRINT"}
"""By which rows are mixed. Each engine has its own."""

BROKEN = [
    *("SELECT a FROM t GROUP BY ALL", "SELECT * EXCLUDE (a) FROM t", "SELECT * EXCEPT (a) FROM t"),
    *("SELECT * REPLACE (1 AS a) FROM t", "QUANTILE_DISC(x, 0.5) OVER (PARTITION BY p)", "MEDIAN(x)"),
    *("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x)", "APPROX_QUANTILE(x, 0.5)", "PERCENTILE_APPROX(x, 0.5)"),
    *(
        "SELECT a FROM t QUALIFY n = 1",
        "GROUP BY GROUPING SETS ((a), (b))",
        "GROUP BY CUBE (a, b)",
        "GROUPING_ID(a, b)",
    ),
    *("COUNT(DISTINCT s) OVER (PARTITION BY p)", "LIST_ELEMENT(levels, 2)", "BIT_COUNT(a)", "XOR(a, b)", "a // b"),
    *("RANDOM()", "RAND()", "RANDCANONICAL()", "FROM t TABLESAMPLE BERNOULLI (10)", "FROM t USING SAMPLE 10%"),
    *("TRY_CAST(a AS INT)", "ENTROPY(a)", "HISTOGRAM(a)", "MODE(a)", "ARG_MAX(a, b)", "MAX_BY(a, b)"),
    *("DATE_DIFF('year', a, b)", "DATEDIFF(YEAR, a, b)", "AGE(a, b)", "COPY (SELECT 1) TO 'f'", "SELECT ROWID FROM t"),
    "FROM a ASOF JOIN b",
]
"""What sqlglot passes through or changes without a word, so that it is an error or something else elsewhere."""
CHANGED = (
    r"GROUP BY ALL|\* *(EXCLUDE|EXCEPT|REPLACE)\b|PERCENTILE|QUANTILE|MEDIAN|QUALIFY|GROUPING|\bCUBE\b"
    r"|COUNT\(DISTINCT [^()]*\) OVER|LIST_ELEMENT|BIT_COUNT|\bXOR\b|//|\bRAND|\bSAMPLE|TABLESAMPLE|TRY_CAST"
    r"|\b(ENTROPY|HISTOGRAM|MODE|AGE)\(|ARG_M|M(AX|IN)_BY|DATE_?DIFF|^COPY|ROWID|\bASOF\b"
)

# What no script of a dialect may have, outside of what stands in quotes.
MISSING = {
    "bigquery": r"FILTER\s*\(|MATERIALIZED|^UPDATE|\bHASH\(|INT128|TEXT\b|VARCHAR",
    "snowflake": r"FILTER\s*\(|MATERIALIZED|^UPDATE|XXHASH|INT128",
    "databricks": r"FILTER\s*\(|MATERIALIZED|^UPDATE|TEMPORARY|INT128",
    "spark": r"MATERIALIZED|^UPDATE",
    "postgres": r"OR REPLACE|MATERIALIZED FROM",
}


@dataclass(frozen=True)
class Scripts:
    """Of one release, for every dialect."""

    clinic: Path
    statements: dict[str, list[str]]
    rows: Counter[Row]


def made(clinic: Path, algorithm: str, columns: Sequence[str] = ("age", "sex", "zip")) -> kanon.Release:
    """Make a release by an algorithm; by "known" that of the optimum under k of any two columns."""
    of_sensitive = kanon.DistinctLDiversity(2, sensitive="disease")
    return kanon.anonymize(
        clinic,
        "patients",
        quasi_identifiers=columns,
        identifying=["name", "id"],
        sensitive=["disease"],
        rest="drop",
        models=[kanon.KAnonymity(5), kanon.KnownSubsets(2) if algorithm == "known" else of_sensitive],
        hierarchies={name: RULES[name] for name in columns},
        max_suppressed=0.2,
        algorithm="optimal" if algorithm == "known" else algorithm,
        choice="greedy",
        seed=1,
    )


def without_texts(text: str) -> str:
    """Return SQL without comments, texts and quoted names."""
    return re.sub(r"--.*|N?'(?:[^'\\]|''|\\.)*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]", "x", text)


@pytest.fixture(scope="module", params=ALGORITHMS)
def scripts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scripts:
    """The statements of a script by its dialect, and the rows of the release that they make."""
    path = make_clinic(tmp_path_factory.mktemp("dialects") / "clinic.duckdb")
    where = Destination(into="released")
    statements: dict[str, list[str]] = {}
    with made(path, request.param) as release:
        rows = counted(released_rows(release))
        for dialect in DIALECTS:
            plan = release.plan(where, stands_alone=True, dialect=dialect)
            statements[dialect] = [text for _, text in plan.statements_for(dialect)]
    return Scripts(path, statements, rows)


@pytest.mark.thorough
def test_no_script_has_what_its_dialect_lacks_or_what_transpiling_breaks(scripts: Scripts) -> None:
    found = []
    for dialect in scripts.statements.keys() & OTHERS:
        for text, pattern in product(scripts.statements[dialect], [MISSING[dialect], CHANGED, "KANON_SHUFFLE"]):
            bare = without_texts(text)
            match = re.search(pattern, bare if pattern == MISSING[dialect] else bare.upper())
            if match is not None:
                found.append((dialect, match[0], text[:60]))
    assert found == []


def test_that_test_sees_every_construct_that_transpiling_breaks() -> None:
    assert [text for text in BROKEN if re.search(CHANGED, without_texts(text)) is None] == []


@pytest.mark.quick("optimal")
def test_every_script_is_read_again_as_what_it_is(scripts: Scripts) -> None:
    """By the parser of its dialect; what this writes is read as an equal tree."""
    changed = []
    for dialect, texts in scripts.statements.items():
        for text in texts:
            if text.startswith(NOT_PARSED):
                continue
            tree = sqlglot.parse_one(text, read=dialect, error_level=ErrorLevel.RAISE)
            if sqlglot.parse_one(tree.sql(dialect), read=dialect) != tree:
                changed.append((dialect, text))
    assert changed == []


@pytest.mark.thorough
def test_postgresql_reads_its_scripts(scripts: Scripts) -> None:
    for text in scripts.statements["postgres"]:
        needs("pglast").parse_sql(text)


@pytest.mark.thorough
def test_postgresql_reads_checks_and_rules(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "people.csv").write_text("a,b\n1,x\n1,x\n", encoding="utf-8")
    asked = [("people.csv", "--qi", "a,b", "-k", 2), (clinic, "patients", "--qi", "age,zip", "-k", 1)]
    texts = [kanon("check", *options, "--sql", "--dialect", "postgres").out for options in asked]
    texts += [text for query in rules_as_queries().values() for text in rendered(query, "postgres")]
    texts += [path.read_text(encoding="utf-8") for path in SNAPSHOTS.glob("*.postgres.sql")]
    for text in texts:
        needs("pglast").parse_sql(text)


@pytest.mark.quick("optimal")
def test_scripts_of_all_dialects_make_the_release_in_duckdb(scripts: Scripts) -> None:
    """What each dialect says, said in DuckDB's words: the same rows, and the same figures of the check."""
    assert scripts.rows.total() > 0
    figures = {}
    for dialect in DIALECTS:
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH '{scripts.clinic}' AS clinic (READ_ONLY)")
            connection.execute("CREATE TABLE patients AS FROM clinic.patients")
            found = []
            for text in scripts.statements[dialect]:
                if text.startswith(NOT_PARSED):
                    continue
                tree = sqlglot.parse_one(text, read=dialect)
                if not isinstance(tree, exp.Cache):  # keeps a view of Spark as it is
                    rows = connection.execute(text if dialect == "duckdb" else in_duckdb(tree)).fetchall()
                    found += [counted(rows)] if isinstance(tree, exp.Query) else []
            assert counted(connection.table("released").fetchall()) == scripts.rows, dialect
        figures[dialect] = found
    assert [dialect for dialect in OTHERS if figures[dialect] != figures["duckdb"]] == []
    assert figures["duckdb"]


def in_duckdb(tree: exp.Expr) -> str:
    """Return a statement of a dialect in DuckDB's words."""
    for node in list(tree.find_all(exp.Func)):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        if name.upper() in HASHES:
            node.replace(exp.Anonymous(this="HASH", expressions=node.expressions[:1]))
    return tree.sql("duckdb").replace("FORMAT('%", "PRINTF('%")


@pytest.mark.parametrize("algorithm", ["local", "known"])
def test_approved_script_of_each_form(clinic: Path, algorithm: str, request: pytest.FixtureRequest) -> None:
    """Without what `release.duckdb.sql` has too. To approve a change: pytest --approve, and read the diff."""
    others = (SNAPSHOTS / "release.duckdb.sql").read_text(encoding="utf-8")
    columns = ["age", "sex"] if algorithm == "local" else ["age", "sex", "zip"]
    with made(clinic, algorithm, columns) as release:
        plan = release.plan(Destination(into="released"), stands_alone=True)
        texts = [text for _, text in plan.statements_for("duckdb") if text not in others]
    require_approved(";\n\n".join(texts) + "\n", f"{algorithm}.duckdb.sql", request)


@pytest.mark.thorough
def test_what_is_made_on_the_way_is_dropped_where_there_are_no_temporary_tables(clinic: Path) -> None:
    with made(clinic, "local") as release:
        script = release.sql("databricks", Destination(into="released"))
    created = set(re.findall(r"CREATE (?:OR REPLACE )?TABLE `(kanon_\w+)", script))
    dropped = set(re.findall(r"DROP TABLE IF EXISTS `(kanon_\w+)", script.rpartition("-- ")[2]))
    assert created == dropped
    assert dropped >= {"kanon_combinations", "kanon_hierarchy_age"}


HOSTILE = ["back\\slash", "it's", 'double"quote', "`tick`", "new\nline", "日本", "", "]bracket[", "%s $1 {x}"]


@each("dialect", OTHERS)
def test_texts_come_back_as_they_are(dialect: str) -> None:
    query = exp.select(*(sql.named(sql.literal(text), f"c{n}") for n, text in enumerate(HOSTILE)))
    (text,) = rendered(query, dialect)
    read = sqlglot.parse_one(text, read=dialect)
    assert [literal.this for literal in read.find_all(exp.Literal)] == HOSTILE


@each("dialect", OTHERS)
@each("name", ["back\\slash", 'double"quote', "`tick`", "日本", "]b[", "Order", "a.b", ""])
def test_names_come_back_as_they_are_or_are_refused(dialect: str, name: str) -> None:
    query = exp.select(sql.column(name, "t")).from_("t")
    if not name or set(name) & set(capabilities_of(dialect).not_in_names):
        with pytest.raises(kanon.UsageError, match="name"):
            rendered(query, dialect)
        return
    (text,) = rendered(query, dialect)
    assert [column.name for column in sqlglot.parse_one(text, read=dialect).find_all(exp.Column)] == [name]


@each(
    ("dialect", "expected"),
    [
        ("bigquery", ["BIGNUMERIC", "DATETIME", "STRING", "BIGNUMERIC", "FLOAT64"]),
        ("snowflake", ["DECIMAL(38, 0)", "TIMESTAMPNTZ", "VARCHAR", "DECIMAL(10, 2)", "DOUBLE"]),
        ("postgres", ["DECIMAL(38, 0)", "TIMESTAMP", "TEXT", "DECIMAL(10, 2)", "DOUBLE PRECISION"]),
        ("spark", ["DECIMAL(38, 0)", "TIMESTAMP_NTZ", "STRING", "DECIMAL(10, 2)", "DOUBLE"]),
    ],
)
def test_types_have_the_names_of_the_dialect(dialect: str, expected: list[str]) -> None:
    kinds = ["HUGEINT", "TIMESTAMP", "VARCHAR", "DECIMAL(10, 2)", "DOUBLE"]
    (text,) = rendered(exp.select(*(sql.cast(sql.column("a"), kind) for kind in kinds)), dialect)
    assert re.findall(r" AS ((?:\w| (?!,))+(?:\([^)]*\))?)\)", text) == expected


def test_a_type_that_there_is_not_is_refused() -> None:
    with pytest.raises(kanon.UsageError, match=r"BigQuery has no type.*INTERVAL"):
        rendered(exp.select(sql.cast(sql.column("a"), "INTERVAL")), "bigquery")


@pytest.mark.thorough
def test_a_view_is_refused_where_its_tables_cannot_have_their_names(clinic: Path) -> None:
    with made(clinic, "optimal") as release:
        assert "CREATE VIEW released" in release.sql("postgres", Destination(into="released", kind="view"))
        with pytest.raises(kanon.UsageError, match=r"Step 'The release' cannot be said.*Spark"):
            release.sql("spark", Destination(into="released", kind="view"))


def test_what_only_duckdb_has_is_an_error_that_names_the_statement(clinic: Path, kanon: Callable[..., Ended]) -> None:
    asked = (clinic, "patients", "--qi", "age,zip")
    ended = kanon("check", *asked, "-k", 1, "--sql", "--dialect", "snowflake")
    assert ended.code == 0
    assert "COUNT(CASE WHEN" in ended.out
    with pytest.raises(UsageError, match="Snowflake cannot say this: it needs list_sort"):
        rendered(exp.select(exp.Anonymous(this="list_sort", expressions=[sql.column("a")])), "snowflake")


def test_a_check_of_a_file_expects_the_table_elsewhere(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "people.csv").write_text("a,b\n1,x\n1,x\n", encoding="utf-8")
    ended = kanon("check", "people.csv", "--qi", "a,b", "-k", 2, "--sql", "--dialect", "postgres")
    assert ended.code == 0
    assert "read_csv" not in ended.out
    sqlglot.parse(ended.out, read="postgres", error_level=ErrorLevel.RAISE)


EACH_RULE = {
    "INTEGER": [
        "intervals:5,10:top=90",
        "intervals:5:origin=1:bottom=10",
        "steps",
        "round:1,2",
        "truncate:1,2",
        "mask:right:1",
        "flat",
    ],
    "DECIMAL(10, 2)": ["intervals:2.5,5", "round:-1,1", "truncate:-1,1", "steps:from=0.1"],
    "DOUBLE": ["intervals:2.5,5", "steps", "truncate:-1,1"],
    "VARCHAR": ["mask:right:1,2", "mask:left:1", "cut:2,3", "prefixes:3,1"],
    "DATE": ["date:day,month,quarter,year,decade", "date:week"],
}


def rules_as_queries() -> dict[tuple[str, str], exp.Select]:
    """Return what builds a hierarchy by each rule, by the type of the column and the rule."""
    facts = ColumnExtremes(Decimal(-3), Decimal(99), 2, 5, 5)
    return {
        (kind, rule): parse_rule(rule).query(Column("a", kind), sql.relation("t"), facts)  # type: ignore[union-attr]
        for kind, rules in EACH_RULE.items()
        for rule in rules
    }


@pytest.mark.thorough
@each("dialect", [*OTHERS, "duckdb"], quick=3)
def test_every_rule_is_an_expression(dialect: str) -> None:
    """Fails on 0.1.0, where rules for DuckDB alone could be rendered."""
    for query in rules_as_queries().values():
        (text,) = rendered(query, dialect)
        sqlglot.parse_one(text, read=dialect, error_level=ErrorLevel.RAISE)
        if dialect != "duckdb":
            assert re.search(r"TRY_CAST|ISFINITE|STRFTIME", without_texts(text)) is None or dialect == "postgres"
