"""Hierarchies that are looked up by the first characters of a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from each import each

from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.given import load_hierarchy
from kanon_sql.hierarchy.report import rows_query
from kanon_sql.hierarchy.spec import PrefixRule, parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

    from kanon_sql.hierarchy.lookup_relation import Hierarchy

GROUPS = "e11;Diabetes;Endocrine;*\nE-12;Diabetes;Endocrine;*\nI21;Heart;Circulatory;*\n"
CODES = "(VALUES ('E11.9'), ('e119'), ('E12'), ('I 21.0'), (NULL), ('I21.0')) AS codes(code)"


def lookup(values: str, rule: str, directory: Path) -> list[tuple[str | None, ...]]:
    """Return the rows of the hierarchy of the only column of a relation."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS FROM " + values)
        source = open_source(connection, "t")
        parsed = parse_rule(rule, directory)
        assert isinstance(parsed, PrefixRule)
        made: Hierarchy = load_hierarchy(source.engine, source.relation, source.columns[0], parsed)
        return source.engine.rows(rows_query(made.relation, made.height, None))


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    (tmp_path / "groups.csv").write_text(GROUPS, encoding="utf-8")
    return tmp_path


def test_a_value_gets_its_prefix_and_the_levels_of_the_prefix(groups: Path) -> None:
    diabetes, heart = ("Diabetes", "Endocrine", "*"), ("Heart", "Circulatory", "*")
    assert lookup(CODES, "prefix:3:groups.csv", groups) == [
        (None, "*", "*", "*", "*"),
        ("E11.9", "E11", *diabetes),
        ("E12", "E12", *diabetes),
        ("I 21.0", "I21", *heart),
        ("I21.0", "I21", *heart),
        ("e119", "E11", *diabetes),
    ]


def test_prefixes_can_be_hidden_and_there_can_be_several(groups: Path) -> None:
    assert lookup("(VALUES ('I21.0')) AS codes(code)", "prefix:3:hide:groups.csv", groups) == [
        (None, "*", "*", "*"),
        ("I21.0", "Heart", "Circulatory", "*"),
    ]
    (groups / "two.csv").write_text("20;Corse;*\n75;Paris;*\n", encoding="utf-8")
    assert lookup("(VALUES ('20190'), ('75013')) AS codes(code)", "prefix:4,3,2:two.csv", groups) == [
        (None, "*", "*", "*", "*", "*"),
        ("20190", "2019", "201", "20", "Corse", "*"),
        ("75013", "7501", "750", "75", "Paris", "*"),
    ]


def test_null_may_have_a_row_of_its_own(groups: Path) -> None:
    (groups / "null.csv").write_text(";Not known;Not known;*\nE11;Diabetes;Endocrine;*\n", encoding="utf-8")
    found = lookup("(VALUES ('E11'), (NULL)) AS codes(code)", "prefix:3:null.csv", groups)
    assert found == [
        (None, "Not known", "Not known", "Not known", "*"),
        ("E11", "E11", "Diabetes", "Endocrine", "*"),
    ]


def test_values_without_a_known_prefix_are_counted(groups: Path, kanon: Callable[..., Ended]) -> None:
    (groups / "t.csv").write_text("code,n\nE11.9,1\nX99,2\nX99,3\n,4\nE1,5\nI21.4,6\n", encoding="utf-8")
    ended = kanon("hierarchy", "check", groups / "t.csv", "--hierarchy", f"code=prefix:3:{groups / 'groups.csv'}")
    assert ended.code == 1
    assert "has no row for 2 values of the column (3 rows of the table)" in " ".join(ended.out.split())
    assert "X99" not in ended.out + ended.err
    arguments = ("--qi", "code", "--rest", "drop", "-k", "2", "--out", groups / "o.csv")
    refused = kanon("anonymize", groups / "t.csv", *arguments, "--hierarchy", f"code=prefix:3:{groups / 'groups.csv'}")
    assert refused.code == 3
    assert not (groups / "o.csv").exists()


@pytest.mark.thorough
def test_the_script_stands_alone_and_holds_no_value_of_the_table(groups: Path, kanon: Callable[..., Ended]) -> None:
    (groups / "t.csv").write_text("code,n\nE11.987,1\nE12.1,2\nI21.4,3\nI21.5,4\n", encoding="utf-8")
    options = ("--qi", "code", "--rest", "drop", "--sql", "-k", "2")
    rule = f"code=prefix:3:{groups / 'groups.csv'}"
    ended = kanon("anonymize", groups / "t.csv", *options, "--hierarchy", rule)
    assert ended.code == 0, ended.err
    assert "987" not in ended.out
    with duckdb.connect() as connection:
        connection.execute(ended.out)
    for dialect in ("postgres", "spark"):
        assert (
            "Diabetes" in kanon("anonymize", groups / "t.csv", *options, "--hierarchy", rule, "--dialect", dialect).out
        )


@each(
    ("rule", "says"),
    [
        ("prefix", "needs a number of characters and a file"),
        ("prefix:3", "needs a number of characters and a file"),
        ("prefix:x:a.csv", "needs a number of characters and a file"),
        ("prefix:2,3:a.csv", "must fall"),
        ("prefix:0:a.csv", "must fall"),
        ("prefix:3,2:hide:a.csv", "have one length"),
    ],
)
def test_rules_that_are_written_wrong(rule: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_rule(rule)


def test_a_rule_reads_back_as_it_is_written() -> None:
    for rule in ("prefix:3,2:a.csv", "prefix:3:hide:a.csv", "ready:icd10"):
        assert str(parse_rule(rule)) == rule


def test_files_and_columns_that_do_not_fit(groups: Path) -> None:
    with pytest.raises(HierarchyError, match="3 of its 3 values do not have 2 characters"):
        lookup(CODES, "prefix:2:groups.csv", groups)
    with pytest.raises(HierarchyError, match="needs text, but the column is INTEGER"):
        lookup("(VALUES (1)) AS codes(code)", "prefix:3:groups.csv", groups)
    (groups / "twice.csv").write_text("E11;a;*\ne11;b;*\n", encoding="utf-8")
    with pytest.raises(HierarchyError, match="more than one row"):
        lookup(CODES, "prefix:3:twice.csv", groups)


def test_a_zip_code_without_its_zero_is_not_taken_for_another(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    (tmp_path / "z.csv").write_text("zip,n\n3601,1\n94110,2\n941101234,3\n", encoding="utf-8")  # read as numbers
    ended = kanon("hierarchy", "check", tmp_path / "z.csv", "--hierarchy", "zip=ready:hipaa_zip", "--format", "json")
    assert (ended.code, ended.json[0]["values_missing"]) == (1, 1)


def test_a_policy_keeps_the_rule_from_wherever_it_is_read(
    groups: Path, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    (in_tmp / "t.csv").write_text("code,n\nE11.9,1\nI21.4,2\n", encoding="utf-8")
    (in_tmp / "groups.csv").write_text(GROUPS, encoding="utf-8")
    options = ("--qi", "code", "--rest", "drop", "-k", "2", "--out", "o.csv", "--save-policy", groups / "p.toml")
    assert kanon("anonymize", "t.csv", *options, "--hierarchy", "code=prefix:3:groups.csv").code == 0
    again = kanon("anonymize", "t.csv", "--policy", groups / "p.toml", "--out", "again.csv", "--format", "json")
    assert again.code == 0, again.err
    assert again.json["levels"] == {"code": 4}


def test_it_is_built_into_the_database(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "zips.csv").write_text("801;Zurich;*\n802;Zurich;*\n", encoding="utf-8")
    built = kanon("hierarchy", "build", clinic, "zip=prefix:3:zips.csv", "--format", "json")
    assert built.code == 0, built.err
    assert (built.json[0]["levels"], built.json[0]["origin"]) == (3, "prefix:3:zips.csv")


def test_codes_are_cut_from_the_right_and_down_to_their_letters(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    (tmp_path / "p.csv").write_text("p,n\nSW1A 1AA,1\nsw1a2aa,2\nM1 1AE,3\nM60 1NW,4\n1,5\n,6\n", encoding="utf-8")
    built = kanon("hierarchy", "build", tmp_path / "p.csv", "p=cut:2,3,letters", "--out", tmp_path / "o.csv")
    assert built.code == 0, built.err
    assert (tmp_path / "o.csv").read_text(encoding="utf-8").split("\n")[1:-1] == [
        ";*;*;*;*",
        "1;*;*;*;*",
        "M1 1AE;M11;M1;M;*",
        "M60 1NW;M601;M60;M;*",
        "SW1A 1AA;SW1A1;SW1A;SW;*",
        "sw1a2aa;SW1A2;SW1A;SW;*",
    ]
    assert str(parse_rule("cut:2,3,letters")) == "cut:2,3,letters"
    for rule in ("cut", "cut:letters", "cut:3,2", "cut:0", "cut:x", "cut:2:3"):
        with pytest.raises(UsageError):
            parse_rule(rule)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_the_ledger_sees_a_file_of_prefixes_that_was_changed(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(in_tmp / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'E1' || (i % 3) || '.' || i AS code FROM range(40) AS r(i)")
    options = ("anonymize", "a.duckdb", "t", "--qi", "code", "--rest", "drop", "--hierarchy", "code=prefix:3:g.csv")
    (in_tmp / "g.csv").write_text("E10;a;*\nE11;a;*\nE12;b;*\n", encoding="utf-8")
    assert kanon(*options, "-k", "5", "--into", "r1").code == 0
    assert kanon(*options, "-k", "6", "--into", "r2").code == 0
    (in_tmp / "g.csv").write_text("E10;a;*\nE11;b;*\nE12;b;*\n", encoding="utf-8")
    changed = kanon(*options, "-k", "7", "--into", "r3")
    assert changed.code != 0
    said = f"the hierarchy of its column 'code' (prefix:3:{in_tmp / 'g.csv'}) is another one now"
    assert said in changed.err.replace("\n", " ")
