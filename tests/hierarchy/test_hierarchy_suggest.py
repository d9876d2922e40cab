"""kanon hierarchy suggest: the right hierarchy first, and what is missing, in several languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import REPOSITORY, files_in, tables_of
from each import each

import kanon_sql as kanon_library
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.suggest import suggestions_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.suggest import Suggestion

ADULT = REPOSITORY.parent / "shared/data/adult/adult.csv"

ENGLISH = """age,sex,zip,state,country,marital_status,icd_code,birth_date
34,Male,02139,MA,US,married,E11.9,1980-05-06
71,Female,94110,CA,DE,widowed,I21.4,1951-01-02
52,F,10001-1234,NY,FR,Single,Z99,1972-11-30
"""
GERMAN = """Alter;Geschlecht;PLZ;Herkunftsland;Familienstand;Diagnose;Geburtsdatum;Bildung
34;männlich;01067;Deutschland;ledig;E119;1980-05-06;Abitur
71;weiblich;80331;Österreich;verwitwet;I21.4;1951-01-02;Realschulabschluss
52;divers;20095;Schweiz;geschieden;Z99.8;1972-11-30;Promotion
"""
FRENCH = """âge,sexe,code_postal,pays,situation_familiale,date_de_naissance
34,homme,75013,Allemagne,célibataire,1980-05-06
71,femme,13001,Côte d'Ivoire,veuve,1951-01-02
"""
SPANISH = """edad,sexo,código_postal,país,estado_civil,fecha_de_nacimiento
34,hombre,08001,Alemania,soltero,1980-05-06
71,mujer,41004,Perú,viuda,1951-01-02
"""
CHINESE = """年龄,性别,国家,婚姻状况,学历,出生日期,邮编,行政区划代码,籍贯,城市
34,男,中国,未婚,本科,1980-05-06,100871,110108,浙江省杭州市,北京
71,女,日本,已婚,初中,1951-01-02,200433,310110,四川,上海
"""
FIRST = {
    ENGLISH: "age sex postcode_us us_state country marital_status icd10 date",
    GERMAN: "age sex postcode_de country_name marital_status icd10 date education_name",
    FRENCH: "age sex postcode_fr country_name marital_status date",
    SPANISH: "age sex postcode_es country_name marital_status date",
    CHINESE: "age sex country_name marital_status education_name date postcode_cn division_cn division_cn_name "
    "division_cn_name",
}


def columns_of(text: str) -> list[str]:
    header = text.split("\n", 1)[0]
    return header.split(";" if ";" in header else ",")


@pytest.mark.parametrize("text", FIRST, ids=["English", "German", "French", "Spanish", "Chinese"])
def test_the_first_suggestion_is_the_right_one(text: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text.replace("10001-1234", "10001"), encoding="utf-8")
    found = kanon_library.suggest_hierarchies(path)
    assert {name: listed[0].rule for name, listed in found.items()} == {
        name: f"ready:{rule}" for name, rule in zip(columns_of(text), FIRST[text].split(), strict=True)
    }
    assert all(listed[0].covers and listed[0].by_name for listed in found.values())


@pytest.mark.thorough
def test_what_is_suggested_first_can_be_used(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    for text in FIRST:
        path = tmp_path / "people.csv"
        path.write_text(text.replace("10001-1234", "10001"), encoding="utf-8")
        found = kanon_library.suggest_hierarchies(path)
        for name, listed in found.items():
            for suggestion in listed:
                ended = kanon(
                    "hierarchy", "check", path, "--hierarchy", f"{name}={suggestion.rule}", "--format", "json"
                )
                assert (ended.code == 0) == suggestion.covers, (name, suggestion.rule, ended.err)
                (fit,) = ended.json
                assert (fit["values_missing"], fit["rows_missing"]) == (
                    suggestion.values_missing,
                    suggestion.rows_missing,
                )


def table(values: str, column: str = "x") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    name = '"' + column.replace('"', '""') + '"'
    connection.execute("CREATE TABLE t AS FROM (VALUES " + values + ") AS v(" + name + ")")
    return connection


@pytest.mark.thorough
@each("values", ["('110108'), ('110102'), ('130322')", "(110108), (110102), (130322)"])
def test_codes_of_chinese_divisions(values: str) -> None:
    """Haidian and Xicheng are districts of Beijing, Changli is a county of Qinhuangdao in Hebei."""
    codes = table(values, "code")
    asked: dict[str, Any] = {"quasi_identifiers": ["code"], "hierarchies": {"code": "ready:division_cn"}}
    for k, allowed, expected in ((3, 0, ["华北"] * 3), (2, "1 row", ["1101"] * 2)):
        release = kanon_library.anonymize(codes, "t", **asked, k=k, max_suppressed=allowed)
        assert release.to_pandas()["code"].tolist() == expected


def suggestions(source: Source) -> tuple[Suggestion, ...]:
    """Return what is suggested for the first column."""
    column = source.columns[0]
    return suggestions_for(source, [column])[column.name]


def rules(connection: duckdb.DuckDBPyConnection) -> list[str]:
    source = open_source(connection, "t")
    return [suggestion.rule for suggestion in suggestions(source)]


def test_a_rule_for_numbers_is_for_numbers_alone() -> None:
    """``kanon init`` wrote ready:money for a VARCHAR, which then could not be made; for numbers, it was never there."""
    assert rules(table("('c1'), ('c20')", "cost_centre")) == ["flat"]
    assert rules(table("(100), (2500)", "salary"))[0] == "ready:money"


@pytest.mark.thorough
def test_values_speak_where_the_name_says_nothing() -> None:
    assert rules(table("('Texas'), ('Ohio'), ('Maine')")) == ["ready:us_state_name", "flat"]
    assert rules(table("('E11.9'), ('I21'), ('C50.1')"))[0] == "ready:icd10"
    assert rules(table("('DEU'), ('FRA'), ('USA')"))[0] == "ready:country_alpha3"
    assert rules(table("('TX'), ('NY'), ('CA')"))[0] == "ready:us_state"
    assert rules(table("('Private'), ('State-gov'), ('?')"))[0] == "ready:adult_workclass"


def test_values_do_not_speak_against_the_name() -> None:
    """Practices of the NHS (B86014) are written like diagnoses without their point."""
    practices = "('B86014'), ('B86025'), ('C81001'), ('B86031')"
    assert rules(table(practices, "x"))[0] == "ready:icd10"
    assert rules(table(practices, "GP Practice")) == ["mask:right"]
    assert rules(table("('Texas'), ('Ohio'), ('Maine')", "Ward")) == ["flat"]


@pytest.mark.thorough
def test_values_that_all_get_one_label_at_once_say_nothing() -> None:
    assert rules(table("('B86014'), ('B86025'), ('B86031')")) == ["mask:right"], "B86 is all that would be left"
    assert rules(table("('DEU'), ('FRA'), ('AUT')")) == ["mask:right"], "western Europe, all of them"
    assert rules(table("('m'), ('f')"))[0] == "ready:sex", "there is nothing but the root"


@each("values", ["('春天'), ('夏天'), ('秋天')", "('Köln'), ('Bonn'), ('Jena')"])
def test_names_of_equal_length_are_no_codes(values: str) -> None:
    assert rules(table(values)) == ["flat"]


@pytest.mark.thorough
def test_values_that_say_little_need_the_name() -> None:
    assert rules(table("(0), (1), (2)")) == ["flat"]
    assert rules(table("(0), (1), (2)", "sex"))[0] == "ready:sex_code"
    assert rules(table("(0), (1), (2)", "education")) == ["flat"], "a scale of any kind"
    assert rules(table("(0), (1), (2)", "isced_level"))[0] == "ready:education"
    assert rules(table("('12345'), ('23456')")) == ["mask:right"]
    assert rules(table("('Texas')")) == ["mask:right"], "one value alone says little"


def test_a_british_postcode_needs_its_name_and_its_form() -> None:
    assert rules(table("('SW1A 1AA'), ('m11ae'), ('B33-8TH')", "postcode"))[0] == "ready:postcode_gb"
    assert "ready:postcode_gb" not in rules(table("('12345'), ('23456')", "postcode"))


def test_five_digits_need_the_country_of_the_postcode() -> None:
    """``kanon init`` took ZIP codes for German postal codes, the first of a list by name."""
    for name, first in (("Postal Code", "mask:right"), ("plz", "ready:postcode_de"), ("zip", "ready:postcode_us")):
        assert rules(table("('10024'), ('90049')", name))[0] == first
        assert rules(table("(10024), (90049)", name))[0] == first
    assert rules(table("(8001), (10024)", "postcode")) == ["intervals:200,400,800,1600"], "a digit may be lost"


def test_a_timestamp_has_the_hierarchy_of_a_date_after_its_day() -> None:
    for name in ("x", "admission_date"):
        for kind, first in (("DATE", "date:"), ("TIMESTAMP", "date:day,")):
            days = table(f"({kind} '2020-01-01'), ({kind} '2020-01-02')", name)
            release = kanon_library.anonymize(days, "t", quasi_identifiers=[name], k=2)
            assert release.summary()["hierarchies"][name]["origin"] == f"{first}month,quarter,year,decade"


def test_a_name_alone_says_little() -> None:
    assert rules(table("('north'), ('southern')", "country")) == ["flat"]
    assert rules(table("('one'), ('three')", "icd10")) == ["flat"]
    assert rules(table("('03/04/1980'), ('05/06/1990')", "birth_date")) == ["mask:right"], "dates as text"


def test_what_is_missing_is_counted() -> None:
    values = "('Male'), ('Male'), ('Female'), ('Sie'), ('Sie'), ('Er'), (NULL)"
    with table(values, "sex") as connection:
        source = open_source(connection, "t")
        first, *_ = suggestions(source)
    assert (first.rule, first.covers, first.by_name) == ("ready:sex", False, True)
    assert (first.distinct, first.values_missing, first.rows_missing) == (4, 2, 3)
    assert first.reason == "the name of the column, and it has 2 of the 4 values"


@pytest.mark.thorough
@each(
    ("kind", "name", "first"),
    [
        ("VARCHAR", "sex", "ready:sex"),
        ("INTEGER", "age", "ready:age"),
        ("DOUBLE", "age", "ready:age"),
        ("DATE", "birth_date", "ready:date"),
        ("TIMESTAMP", "admission_date", "ready:date"),
        ("INTEGER[]", "age", "flat"),
        ("BOOLEAN", "sex", "flat"),
        ("DATE", "select", "date"),
    ],
)
def test_a_table_without_rows_or_with_nulls_only(kind: str, name: str, first: str) -> None:
    for rows in ("", "INSERT INTO t VALUES (NULL), (NULL)"):
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t (" + f'"{name}" {kind}' + ")").execute(rows or "SELECT 1")
            source = open_source(connection, "t")
            found = suggestions(source)
            assert found[0].rule == first
            assert all(suggestion.covers for suggestion in found)


def test_hostile_names_and_values(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    with table("('Male'), (''), ('''; DROP TABLE t; --')", 'sex "of" person; --') as connection:
        source = open_source(connection, "t")
        first, *_ = suggestions(source)
        assert first.values_missing in {0, 2}
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (3,)
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'Male' AS sex UNION ALL SELECT 'zebra_7'")
        connection.execute("CREATE VIEW v AS FROM t")
    ended = kanon("hierarchy", "suggest", path, "v", "--qi", "sex", "-v")
    assert ended.code == 0
    assert "zebra_7" not in ended.out + ended.err
    assert "kanon hierarchy check" in ended.out


@pytest.mark.thorough
def test_columns_that_identify_are_left_out_unless_named(clinic: Path, kanon: Callable[..., Ended]) -> None:
    before = tables_of(clinic)
    everything = kanon("hierarchy", "suggest", clinic, "--format", "json")
    assert everything.code == 0, everything.err
    assert "name" not in everything.json
    assert "left out, because their names say that they identify a person: " in everything.err
    named = kanon("hierarchy", "suggest", clinic, "--qi", "NAME,sex", "--format", "json")
    assert list(named.json) == ["name", "sex"]
    assert named.err == ""
    assert tables_of(clinic) == before


def test_sql_is_printed_and_runs(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    before = files_in(in_tmp)
    ended = kanon("hierarchy", "suggest", clinic, "--qi", "sex", "--sql")
    assert ended.code == 0
    with duckdb.connect(str(clinic), read_only=True) as connection:
        found = connection.execute(ended.out).fetchall()
    assert {row[0] for row in found} >= {"", "sex"}
    assert files_in(in_tmp) == before


@pytest.mark.usefixtures("in_tmp")
def test_mistakes(clinic: Path, kanon: Callable[..., Ended]) -> None:
    assert kanon("hierarchy", "suggest", "none.duckdb").code == 3
    assert kanon("hierarchy", "suggest", clinic, "--qi", "zipp").code == 2
    assert kanon("hierarchy", "suggest", clinic, "--sql", "--format", "json").code == 2
    with pytest.raises(UsageError, match="no column 'zipp'"):
        kanon_library.suggest_hierarchies(clinic, columns=["zipp"])


def test_adult_gets_its_own_trees(kanon: Callable[..., Ended]) -> None:
    if not ADULT.exists():
        pytest.skip("shared/data/adult is absent")
    found = kanon("hierarchy", "suggest", ADULT, "--format", "json").json
    for name in ("race", "marital-status", "education", "native-country", "workclass", "occupation"):
        assert found[name][0]["rule"] == f"ready:adult_{name}"
        assert found[name][0]["covers"]
    assert "ready:adult_age" in [suggestion["rule"] for suggestion in found["age"]]
    assert "ready:adult_sex" in [suggestion["rule"] for suggestion in found["sex"]]
