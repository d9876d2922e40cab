"""``kanon profile`` and ``kanon init``: figures against plain Python, roles against an expert, files that work."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from each import each
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from needs import IN_OTHER_FRAMES, needs
from profile_tables import HELD_OUT, TEN, Table, frame

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

RIGHT = 0.9
STATES = ("AL", "AK", "AZ", "CA", "CO", "CT", "FL", "GA", "NY", "TX", "WA", "OR", "OH", "MI", "UT", "VT")


def roles(found: kanon.Profile) -> dict[str, str]:
    return {column.name: column.role for column in found.columns}


def right(found: kanon.Profile, expected: dict[str, set[str]]) -> list[str]:
    assert list(expected) == [column.name for column in found.columns]
    return [name for name, role in roles(found).items() if role in expected[name]]


# Roles


@pytest.mark.thorough
@pytest.mark.parametrize("tables", [TEN, HELD_OUT], ids=["ten tables", "held out"])
def test_roles_are_those_of_an_expert(tables: tuple[Table, ...], tmp_path: Path) -> None:
    scores = {}
    for table in tables:
        found = kanon.profile(table.write(tmp_path / f"{table.name}.csv"))
        scores[table.name] = len(right(found, table.expected())), len(table.columns)
        print(f"{table.name}: {scores[table.name][0]} of {scores[table.name][1]} right")  # noqa: T201 - the score
    of_all = sum(good for good, _ in scores.values()) / sum(columns for _, columns in scores.values())
    print(f"all: {of_all:.1%}")  # noqa: T201 - the score
    assert of_all >= RIGHT, scores


@pytest.mark.thorough
def test_roles_of_the_demo_table(kanon: Callable[..., Ended], in_tmp: Path) -> None:
    assert in_tmp.is_dir()
    kanon("demo", "-q", "--rows", 5000)
    found = kanon("profile", "kanon_demo.duckdb", "admissions", "--format", "json").json
    said = {column["name"]: column["role"] for column in found["columns"]}
    assert found["entity"] == "patient_id"
    expected = {
        "patient_id": {"identifying"},
        "name": {"identifying"},
        "birth_date": {"quasi-identifying"},
        "sex": {"quasi-identifying"},
        "zip": {"quasi-identifying"},
        "admission_date": {"quasi-identifying"},
        "department": {"quasi-identifying", "insensitive"},
        "diagnosis": {"sensitive"},
        "cost": {"insensitive", "sensitive"},
    }
    assert {name for name, role in said.items() if role in expected[name]} == set(expected)


@pytest.mark.thorough
@each(
    ("make", "role", "kind"),
    [
        (lambda row: f"someone{row % 7}@host{row % 3}.example", "identifying", "email"),
        (lambda row: f"+49 30 1234{row % 9}{row % 10}", "identifying", "phone"),
        (lambda row: f"https://x.example/{row % 9}", "identifying", "url"),
        (lambda row: f"10.0.{row % 4}.{row % 200}", "identifying", "ip_address"),
        (lambda row: f"00:1b:44:11:3a:{row % 60:02d}", "identifying", "mac_address"),
        (lambda row: f"{100 + row % 9}-{10 + row % 9}-{1000 + row % 9}", "identifying", "national_id"),
        (lambda row: f"31010119{50 + row % 40}0312{100 + row % 9}X", "identifying", "national_id"),
        (lambda row: ["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32"][row % 2], "identifying", "iban"),
        (lambda row: ["4111 1111 1111 1111", "5500005555555559"][row % 2], "identifying", "credit_card"),
        (lambda row: f"{'IJK'[row % 3]}{10 + row % 30}.{row % 5}", "sensitive", "icd10"),
        (lambda row: ["female", "male", None][row % 3], "quasi-identifying", "sex"),
        (lambda row: STATES[row % 16], "quasi-identifying", "us_state"),
        (lambda row: f"SW{row % 9}A {row % 3}AA", "quasi-identifying", "postcode"),
        (lambda row: pd.Timestamp(1930 + row % 80, 5, 1).date(), "quasi-identifying", "birth_date"),
        (lambda row: pd.Timestamp(1930 + row % 80, 5, 1), "quasi-identifying", "birth_date"),
        (lambda row: f"{1 + row % 28:02d}.05.{1930 + row % 80}", "quasi-identifying", "birth_date"),
        (lambda row: f"{chr(65 + row % 13)}a {chr(75 + row % 10)}b", "identifying", "person_name"),
        # ... and what only looks like it
        (lambda row: ["DE89370400440532013001", "GB82 WEST 1234 5698 7654 33"][row % 2], "undecided", None),
        (lambda row: ["4111 1111 1111 1112", "5500005555555558"][row % 2], "undecided", None),
        (lambda row: f"{'IJK'[row % 3]}{10 + row % 30}", "undecided", None),
        (lambda row: f"EF{row % 90 + 10}{row % 10}{'KMO'[row % 3]}P", "undecided", None),  # licence plates
        (lambda row: pd.Timestamp(2023, 1 + row % 12, 1).date(), "undecided", None),
        (lambda row: ["yes", "no"][row % 2], "undecided", None),
        (lambda row: row % 90, "undecided", None),
        (lambda row: row * 1.5, "undecided", None),
        (lambda row: 10_000 + row % 50, "undecided", None),
        # ... and what points to one row each
        (lambda row: f"q{row:x}", "identifying", None),
        (lambda row: 7 * row, "identifying", None),
        (lambda row: f"went to see the doctor on day {row % 30} of spring, came home", "identifying", "notes"),
    ], quick=9)  # fmt: skip
def test_what_values_look_like_without_a_name_that_says_it(make: Any, role: str, kind: str | None) -> None:
    (column,) = kanon.profile(frame(x7=make)).columns
    assert (column.role, column.kind) == (role, kind), column.reason


@pytest.mark.thorough
@each(
    ("name", "make", "role"),
    [
        ("email_sent", lambda row: row % 2 == 0, "insensitive"),
        ("phone", lambda row: ["yes", "none"][row % 2], "insensitive"),
        ("account", lambda row: ["basic", "gold"][row % 2], "insensitive"),
        ("order_id", lambda row: f"O{row}", "identifying"),
        ("product_id", lambda row: f"P{row % 12}", "insensitive"),
        ("comment", lambda row: ["good", "bad"][row % 2], "insensitive"),
        ("drug_name", lambda row: f"drug {row % 50}", "sensitive"),
        ("age", lambda row: row % 90, "quasi-identifying"),
        ("page", lambda row: row % 90, "undecided"),
        ("age", lambda _: 5, "insensitive"),
        ("email", lambda _: "a@b.example", "identifying"),
        ("country", lambda _: None, "insensitive"),
    ],
)
def test_a_name_is_held_against_type_and_values(name: str, make: Any, role: str) -> None:
    (column,) = kanon.profile(frame(**{name: make})).columns
    assert column.role == role, column.reason


@pytest.mark.thorough
@each("name", ["id", "ID", "identifier", "uuid"])
def test_a_number_of_nothing_in_particular_is_not_said_to_be_of_a_person(name: str) -> None:
    """Fails on 0.1.0: the key of a table of prescriptions was the number of a person, "as the name says"."""
    bare, of_person = kanon.profile(frame(**{name: lambda row: row, "patient_id": lambda row: row})).columns
    assert (bare.role, of_person.role) == ("identifying", "identifying")
    assert bare.reason.startswith("the name says a number or a key, and not of what")
    assert of_person.reason.startswith("the name says the number of a person")


def test_a_key_is_no_person_and_no_result() -> None:
    """Fails on 0.1.0: the visits were counted as people, and the laboratory was a test result.

    Ten visits with 20 rows each: ``visit_id`` repeats in every visit, as a number of persons would.
    """
    found = kanon.profile(
        frame(
            visit_id=lambda row: row // 20, lab_id=lambda row: row % 4, drug_id=lambda row: row % 5,
            age=lambda row: row % 9,
        )
    )  # fmt: skip
    assert found.entity is None
    said = {column.name: (column.role, column.kind) for column in found.columns}
    assert said == {
        "visit_id": ("identifying", "visit_id"),
        "lab_id": ("insensitive", "reference"),
        "drug_id": ("sensitive", "medication"),
        "age": ("quasi-identifying", "age"),
    }


@pytest.mark.thorough
def test_never_everything_is_a_quasi_identifier() -> None:
    found = kanon.profile(frame(**{f"v{place}": lambda row, place=place: (row * place) % 50 for place in range(30)}))
    assert roles(found).pop("v0") == "insensitive", "the same in every row"
    assert {role for name, role in roles(found).items() if name != "v0"} == {"undecided"}
    assert found.subsets is None
    assert any("No quasi-identifier was found" in note for note in found.notes)


@pytest.mark.thorough
def test_triples_that_were_not_looked_at_are_said() -> None:
    found = kanon.profile(frame(**{f"age_{place}": lambda row, place=place: row % place for place in range(2, 20)}))
    assert found.subsets is not None
    assert found.subsets.largest == 2
    assert any("combinations of up to 2" in note for note in found.notes)


# Figures

CELLS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 4))] * 3), min_size=0, max_size=25)


@pytest.mark.thorough
@given(CELLS)
@examples(20)
def test_figures_are_those_of_plain_python(rows: list[tuple[int | None, ...]]) -> None:
    names = ["age", "city", "zip"]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (age INTEGER, city INTEGER, zip INTEGER)")
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        found = kanon.profile(connection, "t", quasi_identifiers=names)
    assert (found.rows, found.rows_looked_at, found.sampled) == (len(rows), len(rows), False)
    for place, column in enumerate(found.columns):
        cells = [row[place] for row in rows]
        values = [cell for cell in cells if cell is not None]
        assert (column.distinct, column.nulls) == (len(set(values)), cells.count(None))
        assert column.uniques == sum(n == 1 for n in Counter(cells).values())
        assert column.distinctness == pytest.approx(len(set(values)) / len(values) if values else 0)
        pairs = [one != other for one, other in itertools.combinations(cells, 2)]
        assert column.separation == (pytest.approx(sum(pairs) / len(pairs)) if pairs else None)
    assert found.subsets is not None
    for subset in found.subsets.found:
        places = [names.index(name) for name in subset.columns]
        classes = Counter(tuple(row[place] for place in places) for row in rows)
        assert subset.uniques == sum(n == 1 for n in classes.values())
    assert len(found.subsets.found) == 7


@pytest.mark.thorough
def test_people_are_counted_where_rows_of_a_person_repeat() -> None:
    """20 patients with 10 stays each: who is alone in her city is 10 rows, and one person."""
    table = frame(patient_id=lambda row: f"p{row % 20}", city=lambda row: f"c{row % 20}", cost=lambda row: row / 7)
    found = kanon.profile(table)
    assert (found.entity, found.entity_proposed, found.counted, found.members) == ("patient_id", True, "people", 20)
    assert [(subset.columns, subset.uniques) for subset in found.worst(1)] == [(("city",), 20)]
    assert 'entity = "patient_id"' in found.to_toml()
    spaced = kanon.profile(table.rename(columns={"patient_id": "Patient ID"}))
    assert any("(--entity 'Patient ID')" in note for note in spaced.notes), "as a shell takes it"
    named = kanon.profile(table.rename(columns={"patient_id": "x"}), entity="x")
    assert (named.entity, named.entity_proposed, named.members, roles(named)["x"]) == ("x", False, 20, "identifying")


def test_there_are_never_more_people_alone_than_people() -> None:
    """Three people in six rows, by hand: ann is alone in Rome and in Oslo, bob in Bonn; cleo meets ann in Kiel."""
    stays = {"ann": "Rome Oslo Kiel", "bob": "Bonn", "cleo": "Kiel Kiel"}
    rows = [(person, city, 2) for person, cities in stays.items() for city in cities.split()]
    found = kanon.profile(
        pd.DataFrame(rows, columns=["who", "city", "age"]), entity="who", quasi_identifiers=["city", "age"]
    )
    said = {subset.columns: (subset.uniques, subset.share_unique, subset.smallest_class) for subset in found.worst(1)}
    assert said == {("city",): (2, 2 / 3, 1), ("age",): (0, 0, 3)}
    assert [(subset.uniques, subset.classes) for subset in found.worst(2)] == [(2, 4)]
    assert next(column.reason for column in found.columns if column.name == "city").endswith(
        "67% are unique by it alone"
    )


@pytest.mark.thorough
@given(st.lists(st.tuples(st.none() | st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), max_size=20))
@examples(15)
def test_people_alone_are_those_of_plain_python(rows: list[tuple[int | None, int, int]]) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (who INTEGER, city INTEGER, age INTEGER)")
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        found = kanon.profile(connection, "t", entity="who", quasi_identifiers=["city", "age"])
    assert found.subsets is not None
    for subset in found.subsets.found:
        places = [["who", "city", "age"].index(name) for name in subset.columns]
        classes: dict[Any, set[int | None]] = {}
        for row in rows:
            classes.setdefault(tuple(row[place] for place in places), set()).add(row[0])
        named = [people - {None} for people in classes.values()]
        alone = set().union(*(people for people in named if len(people) == 1))
        assert subset.uniques == len(alone)
        assert found.members >= subset.uniques


def hints(table: pd.DataFrame, **known: Any) -> tuple[str, ...]:
    (column,) = kanon.profile(table, **known).columns
    return column.hints


@pytest.mark.thorough
def test_values_that_are_there_once_and_would_be_published_are_said() -> None:
    table = frame(amount=lambda row: 10 + row / 100)
    (said,) = hints(table)
    assert said.startswith("nearly every value is there once")
    found = kanon.profile(table)
    assert any(note.startswith("amount: nearly every value is there once") for note in found.notes)
    assert "# ! nearly every value is there once" in found.to_toml()
    assert not hints(table, quasi_identifiers=["amount"]), "it is generalized then"
    assert not hints(frame(amount=lambda row: row // 2)), "each twice"
    assert not hints(frame(amount=lambda row: max(0, row - 150))), "three in four are nothing"
    assert not hints(frame(15, amount=lambda row: row / 7)), "too few rows"


def test_spellings_of_the_same_are_counted() -> None:
    """Rome, rome and ROME are three spellings, the space of a fourth is trimmed; Oslo and Kiel have one each."""
    written = ["Rome", "rome", "ROME", "Rome ", "Oslo", "Kiel"]
    (said,) = hints(frame(city=lambda row: written[row % 6]))
    assert said.startswith("5 spellings of 3 values")
    assert "ome" not in said
    assert not hints(frame(city=lambda row: written[3 + row % 3]))
    assert not hints(frame(city=lambda _: None))


@pytest.mark.thorough
@each(
    ("make", "said"),
    [
        (lambda row: f"19{row % 50 + 20}-03-17", "dates"),
        (lambda row: f"{row % 28 + 1}.2.1990", "dates"),
        (lambda row: f"{row % 28 + 1:02d}/12/1990", "dates"),
        (lambda row: f"12/{row % 28 + 1}/1990", "dates"),
        (lambda row: f"199{row % 10}年{row % 12 + 1}月3日", "dates"),
        (lambda row: f"{row % 50},5", "numbers"),
        (lambda row: f"{row % 50 + 1}.000,50", "numbers"),
        (lambda row: f"-{row % 50}", "numbers"),
        (lambda row: f"0{row % 50 + 1}", None),
        (lambda row: f"{row % 50}.13.1990", None),
        (lambda row: f"19{row % 50 + 20}-13-17", None),
    ],
    quick=4,
)
def test_a_bad_cell_in_a_column_of_dates_or_numbers_is_said(make: Any, said: str | None) -> None:
    """One cell of 200 is neither: of N different values N - 1 are right."""
    table = frame(x7=lambda row: "to be asked" if row == 17 else make(row))
    found = hints(table, quasi_identifiers=["x7"])
    if said is None:
        assert found == ()
        return
    (one,) = found
    right = table["x7"].nunique() - 1
    assert one.startswith(f"{right / (right + 1):.0%} of its values look like {said}, 1 does not: correct or empty it.")
    assert "asked" not in one
    assert not hints(frame(5, x7=lambda row: "to be asked" if row == 0 else make(row)), quasi_identifiers=["x7"]), (
        "too few"
    )


def test_dates_in_several_ways_are_said() -> None:
    table = frame(day=lambda row: f"2015年2月{row % 28 + 1}日" if row % 2 else f"2013/7/{row % 28 + 1}")
    (one,) = hints(table, quasi_identifiers=["day"])
    assert "are text" in one
    assert "in 2 ways" in one


@pytest.mark.thorough
def test_columns_that_tell_each_other() -> None:
    table = frame(
        400,
        diagnosis_code=lambda row: f"A{row % 9}",
        diagnosis_text=lambda row: f"illness {row % 9}",
        city=lambda row: f"c{row % 40}",
        tour=lambda row: row % 8,
        other=lambda row: (row * 7 + row // 9) % 11,
    )
    found = kanon.profile(table)
    told = {(each.column, each.told): each.both_ways for each in found.dependencies}
    assert told == {("diagnosis_code", "diagnosis_text"): True, ("city", "tour"): False}
    assert any("diagnosis_code and diagnosis_text tell each other" in note for note in found.notes)


def test_quasi_identifiers_are_looked_at_first() -> None:
    """Fails before: of a table with many columns, the first 60 pairs were looked at, and two names of a town not."""
    others = {f"x{number}": lambda row, by=number + 7: row % by for number in range(35)}
    table = frame(400, **others, city=lambda row: f"c{row % 9}", municipality=lambda row: f"m{row % 9}")
    assert kanon.profile(table).quasi_identifiers == ("city",)


@pytest.mark.thorough
def test_a_column_that_gives_a_quasi_identifier_away_is_said() -> None:
    found = kanon.profile(frame(400, city=lambda row: f"c{row % 5}", tour=lambda row: row % 40))
    assert roles(found) == {"city": "quasi-identifying", "tour": "undecided"}
    assert any(
        "tour tells city" in note and "if tour is published as it is, it gives city away" in note
        for note in found.notes
    )


# Samples


def people(rows: int) -> pd.DataFrame:
    return frame(rows, patient_id=lambda row: row // 4, city=lambda row: f"c{row % 97}", age=lambda row: row % 80)


@pytest.mark.thorough
def test_a_sample_is_the_same_each_time_and_is_said() -> None:
    first, second = (kanon.profile(people(4000), sample=1000) for _ in range(2))
    assert first == second
    assert first.sampled
    assert first.rows == 4000
    assert 600 < first.rows_looked_at < 1400
    assert any("sample" in note and "upper bounds" in note for note in first.notes)
    exact = kanon.profile(people(4000), sample=0)
    assert not exact.sampled
    assert [column.distinct for column in first.columns] == [column.distinct for column in exact.columns]


def test_a_sample_of_people_has_all_rows_of_each() -> None:
    found = kanon.profile(people(4000), entity="patient_id", sample=1000)
    assert found.rows_looked_at == 4 * found.members


# What tables can be


@pytest.mark.thorough
@each("rows", [0, 1, 2])
def test_tables_with_hardly_a_row(rows: int) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (name VARCHAR, birth_date DATE, diagnosis VARCHAR, x DOUBLE)")
        if rows:
            connection.execute("INSERT INTO t SELECT 'A B', '1950-01-01', 'x', 1 FROM range(?)", [rows])
        found = kanon.profile(connection, "t")
    assert roles(found)["name"] == "identifying"
    if rows < 2:
        wanted = {
            "name": "identifying",
            "birth_date": "quasi-identifying",
            "diagnosis": "sensitive",
            "x": "undecided",
        }
        assert roles(found) == wanted
    assert any("no rows" in note for note in found.notes) == (rows == 0)


@pytest.mark.thorough
def test_types_of_every_sort() -> None:
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE VIEW v AS SELECT i AS n, {'street': 'x' || i} AS s, [i, i + 1] AS l, MAP {i: 'a'} AS m,
              CAST('x' || i AS BLOB) AS b, i % 2 = 0 AS yes, TIMESTAMP '2020-01-01' + INTERVAL (i) HOUR AS stamp,
              CAST(i % 3 AS DECIMAL(9, 2)) AS d, CASE WHEN i % 2 = 0 THEN CAST('nan' AS DOUBLE) ELSE 'inf' END AS f,
              NULL AS nothing, uuid() AS u, TIME '10:00:00' AS clock, INTERVAL (i) DAY AS span,
              CAST(CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS ENUM ('F', 'M')) AS e, '' AS empty,
              CAST('{"a": ' || i || '}' AS JSON) AS j, CAST('101' AS BIT) AS bits,
              CAST('170141183460469231731687303715884105727' AS HUGEINT) - i AS huge
            FROM range(150) AS r(i)
        """)
        found = kanon.profile(connection, "v")
    said = roles(found)
    assert {said[name] for name in ("s", "l", "m", "b", "j")} == {"identifying"}
    assert {said[name] for name in ("yes", "stamp", "d", "f")} == {"undecided"}
    assert {said[name] for name in ("nothing", "clock", "empty", "bits")} == {"insensitive"}, "one value, or none"
    assert said["e"] == "quasi-identifying"
    assert {said["n"], said["u"], said["huge"]} == {"identifying"}


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "duckdb", "connection", *IN_OTHER_FRAMES])
def test_sources_of_every_sort(kind: str, tmp_path: Path) -> None:
    table = frame(60, email=lambda row: f"a{row}@b.example", age=lambda row: row % 9, note=lambda row: row % 4)
    path = tmp_path / f"t.{kind}"
    source: Any = path
    with duckdb.connect(str(path) if kind == "duckdb" else ":memory:") as connection:
        connection.register("frame", table)
        connection.execute("CREATE TABLE t AS FROM frame")
        match kind:
            case "csv" | "parquet" | "json":
                connection.execute(f"COPY t TO '{path}'")
            case "polars" | "arrow":
                needs({"arrow": "pyarrow"}.get(kind, kind))
                source = connection.table("t").pl() if kind == "polars" else connection.table("t").to_arrow_table()
        if kind == "connection":
            assert roles(kanon.profile(connection, "t"))["email"] == "identifying"
            return
    assert roles(kanon.profile(source)) == {"email": "identifying", "age": "quasi-identifying", "note": "insensitive"}


# The command line


@pytest.mark.thorough
def test_no_value_of_the_table_is_shown(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    frame(
        name=lambda row: f"Secretname{row % 90} Person", city=lambda row: f"Secretcity{row % 9}",
        diagnosis=lambda row: f"Secretill{row % 4}", dob=lambda row: f"19{20 + row % 70}-03-17", x=lambda _: "Secret",
    ).to_csv(in_tmp / "t.csv", index=False)  # fmt: skip
    for arguments in (["profile", "-v"], ["profile", "--format", "json"], ["profile", "--sql"], ["init", "-v"]):
        ended = kanon(arguments[0], "t.csv", *arguments[1:])
        assert ended.code == 0
        assert "Secret" not in ended.out + ended.err
        assert "03-17" not in ended.out + ended.err
    assert "Secret" not in (in_tmp / "kanon.toml").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_json_has_every_figure(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    TEN[2].write(in_tmp / "t.csv")
    found = kanon("profile", "t.csv", "--format", "json").json
    assert found["rows"] == TEN[2].rows
    assert {
        "name",
        "type",
        "distinct",
        "nulls",
        "null_share",
        "distinctness",
        "separation",
        "kind",
        "role",
        "reason",
    } <= set(found["columns"][0])
    assert found["subsets"]["largest"] == 3


@pytest.mark.thorough
def test_the_sql_is_shown_and_nothing_is_written(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(in_tmp / "d.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 30 AS age, 'GB82WEST12345698765432' AS iban FROM range(9) r(i)"
        )
    before = (in_tmp / "d.duckdb").read_bytes()
    for verb in ("profile", "init"):
        ended = kanon(verb, "d.duckdb", "t", "--sql")
        assert ended.code == 0
        assert "COUNT(DISTINCT source.age)" in ended.out
        with duckdb.connect(str(in_tmp / "d.duckdb")) as connection:
            connection.execute(ended.out)  # what is shown runs
    assert (in_tmp / "d.duckdb").read_bytes() == before
    assert [path.name for path in in_tmp.iterdir()] == ["d.duckdb"]
    for dialect in ("postgres", "spark"):
        assert kanon("profile", "d.duckdb", "t", "--sql", "--dialect", dialect).code == 0


@each(
    ("arguments", "code"),
    [
        (["profile", "t.csv", "--qi", "nobody"], 2),
        (["profile", "t.csv", "--entity", "nobody"], 2),
        (["profile", "t.csv", "--entity", "age", "--qi", "age"], 2),
        (["profile", "t.csv", "--sample", "-3"], 2),
        (["profile", "t.csv", "-q", "-v"], 2),
        (["profile", "t.csv", "--sql", "--format", "json"], 2),
        (["profile", "gone.csv"], 3),
        (["init", "t.csv", "-k", "0"], 2),
    ],
)
def test_wrong_arguments(arguments: list[str], code: int, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    frame(age=lambda row: row % 5).to_csv(in_tmp / "t.csv", index=False)
    ended = kanon(*arguments)
    assert ended.code == code
    assert ended.err.startswith("error: ")
    assert [path.name for path in in_tmp.iterdir()] == ["t.csv"]


def test_a_column_that_somebody_knows_better(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    frame(tour=lambda row: row % 5).to_csv(in_tmp / "t.csv", index=False)
    found = kanon("profile", "t.csv", "--qi", "tour", "--format", "json").json
    assert [(column["role"], column["named"]) for column in found["columns"]] == [("quasi-identifying", True)]
