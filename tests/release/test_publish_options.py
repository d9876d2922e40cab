"""``--publish``, ``[publish]`` and ``publish=``: one thing said in three places, and raw values nowhere."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from conftest import files_in
from rows import released_records, released_rows

import kanon_sql as kanon
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.policy.policy import parse_policy
from kanon_sql.release import published_rules
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

KEY = b"a key that nobody knows, 32 byte"
RULES = {
    "income": "round:1000",
    "age_at_visit": ["top:90", "bottom:18"],
    "score": "bins:0,50,100",
    "weight": "microaggregate:5",
    "visit": "shift-dates:365",
    "note": "redact",
    "ward": "hash",
}
OPTIONS = [
    part
    for column, rules in RULES.items()
    for rule in ([rules] if isinstance(rules, str) else rules)
    for part in ("--publish", f"{column}={rule}")
]
KEPT = ["age_at_visit", "weight", "ward"]
ROLES = (
    *("--qi", "age", "--sensitive", "disease", "--keep", ",".join(KEPT), "--rest", "keep"),
    *("--entity", "person", "--seed", 7),
)
ROW = (
    "i, 20 + i % 3, CASE WHEN i % 5 = 0 THEN 'flu' ELSE 'cough' END, 7310459 + 13 * i, 770001 + i, 880001 + i, "
    "53217.0625 + i * i, "
    "DATE '1271-03-05' + CAST(800 * i AS INTEGER), 'mail ann' || (i + 100) || '@raw.example', "
    "'raw ward ' || i % 4"
)
"""Each value is in no other column, and none of them could be anywhere by chance."""
RAW = [
    *(str(7310459 + 13 * i) for i in range(60)),
    *(str(770001 + i) for i in range(60)),
    *(str(880001 + i) for i in range(60)),
    *(str(53217.0625 + i * i) for i in range(60)),
    *(str(dt.date(1271, 3, 5) + dt.timedelta(days=800 * i)) for i in range(60)),
    *(f"ann{i + 100}@raw.example" for i in range(60)),
    "raw ward",
]


@pytest.fixture
def visits(in_tmp: Path) -> Path:
    path = in_tmp / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE visits (person INTEGER, age INTEGER, disease TEXT, income INTEGER, age_at_visit INTEGER, "
            "score INTEGER, weight DOUBLE, visit DATE, note TEXT, ward TEXT)"
        )
        connection.execute(f"INSERT INTO visits SELECT {ROW} FROM range(60) r(i)")  # noqa: S608 - the text above
    (in_tmp / "pseudonyms.key").write_bytes(KEY)
    return path


def rows_of(database: Path, table: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.table(table).fetchall()


@pytest.mark.thorough
def test_options_the_file_and_the_library_make_the_same_and_a_release_repeats(
    visits: Path, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    ended = kanon(
        "anonymize", visits, "visits", *ROLES, *OPTIONS, "--key-file", "pseudonyms.key", "--into", "one",
        "--save-policy", "kanon.toml", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    published = {one["column"]: one["rule"] for one in ended.json["publish"]}
    assert published == {**RULES, "age_at_visit": "top:90 and bottom:18"}
    assert {one["column"] for one in ended.json["publish"] if one["key"] == "key file"} == {"visit", "ward"}
    first = rows_of(visits, "one")
    policy, destination = parse_policy((in_tmp / "kanon.toml").read_text(encoding="utf-8"), in_tmp / "kanon.toml")
    assert policy.publish == {name: (rule,) if isinstance(rule, str) else tuple(rule) for name, rule in RULES.items()}
    assert destination.into == "one"
    ended = kanon("anonymize", "--policy", "kanon.toml", "--replace")
    assert ended.code == 0, ended.err
    assert "published by rule  income: round:1000: hides exact values. k does not rest on it" in ended.out
    assert rows_of(visits, "one") == first
    ended = kanon("report", "--policy", "kanon.toml", "--out", "report.md")  # made again, and the same
    assert ended.code == 0, ended.err


@pytest.mark.thorough
def test_the_library_makes_what_the_options_make(visits: Path, in_tmp: Path) -> None:
    settings: dict[str, Any] = {
        "quasi_identifiers": ["age"], "sensitive": ["disease"], "rest": "keep", "entity": "person", "seed": 7,
        "key_file": in_tmp / "pseudonyms.key",
    }  # fmt: skip
    with kanon.anonymize(visits, "visits", publish=RULES, **settings) as release:
        rows = released_records(release)
        assert [one["column"] for one in release.summary()["publish"]] == list(RULES)
    with kanon.anonymize(visits, "visits", policy=kanon.Policy(
        columns=kanon.NamedColumns(quasi_identifiers=("age",), sensitive=("disease",), rest="keep", entity="person"),
        publish=RULES,  # type: ignore[arg-type]  # texts are taken, too
        seed=7, key_file=in_tmp / "pseudonyms.key",
    )) as release:  # fmt: skip
        assert released_records(release) == rows
    assert {len(row["ward"]) for row in rows} == {32}
    assert {row["age_at_visit"] for row in rows} == {"90+"}


@pytest.mark.thorough
def test_raw_values_key_and_days_are_nowhere(visits: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    said = []
    for form in ("csv", "parquet", "json"):
        ended = kanon(
            "anonymize", visits, "visits", *ROLES, *OPTIONS, "--key-file", "pseudonyms.key", "--out", f"out.{form}",
            "--verbose", *(("--report", "report.html") if form == "csv" else ()),
        )  # fmt: skip
        assert ended.code == 0, ended.err
        said += [ended.out, ended.err]
    for which in ("--sql", "--sql=all"):
        ended = kanon(
            "anonymize", visits, "visits", *ROLES, *OPTIONS, "--key-file", "pseudonyms.key", "--into", "r", which
        )
        assert ended.code == 0, ended.err
        said += [ended.out, ended.err]
        assert "kanon_ruled" in ended.out
        assert "$kanon_inner_key" in ended.out
    ended = kanon("anonymize", visits, "visits", *ROLES, *OPTIONS, "--key-file", "pseudonyms.key", "--into", "r")
    assert ended.code == 0, ended.err
    with duckdb.connect(str(visits), read_only=True) as connection:
        for table in ("kanon.releases", "r"):
            said.append(str(connection.table(table).fetchall()))
    said += [
        (in_tmp / name).read_bytes().decode("latin-1")
        for name in files_in(in_tmp)
        if name.endswith((".csv", ".parquet", ".json", ".html"))
    ]
    assert len(said) > 15
    for text in said:
        assert [raw for raw in RAW if raw in text] == []
        assert KEY.decode() not in text
        assert KEY.hex() not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--publish", "income=round:1000", "--as", "view"), "A view makes its rows when it is read"),
        (("--publish", "income=round:1000", "--sql", "--dialect", "postgres"), "leave --dialect out, or --publish"),
        (("--publish", "income"), "--publish is written COLUMN=RULE"),
        (("--publish", "income=swap:3"), "There is no rule 'swap'"),
        (("--publish", "income=mdav:5"), "There is no rule 'mdav' to publish column 'income' by. There is: round:100"),
        (("--publish", "incme=round:5"), "Did you mean 'income'"),
        (("--publish", "income=round:5", "--publish", "INCOME=round:7"), "only top and bottom go together"),
        (("--publish", "income=round:5", "--key-file", "pseudonyms.key"), "A key file is for pseudonyms"),
        (("--publish", "age=round:5"), "is a quasi-identifier"),
        (("--publish", "person=hash"), "is identifying, and never published"),
        (("--publish", "ward=hash", "--pseudonymize", "ward"), "published as pseudonyms. Leave one of the two out"),
    ],
)
def test_what_is_refused(visits: Path, kanon: Callable[..., Ended], arguments: tuple[str, ...], said: str) -> None:
    roles = [str(part).replace(",ward", "") if "--pseudonymize" in arguments else part for part in ROLES]
    ended = kanon("anonymize", visits, "visits", *roles, "--into", "r", *arguments)
    assert (ended.code, said in ended.err.replace("\n", " ")) == (2, True), ended.err


@pytest.mark.parametrize("text", ["income = 5", 'income = ["round:5", 3]', "income = []", 'income = "swap"'])
def test_what_a_file_may_not_say(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="income"):
        parse_policy(f"[publish]\n{text}\n", tmp_path / "kanon.toml")


@pytest.mark.thorough
@pytest.mark.usefixtures("visits")
def test_the_command_line_goes_before_the_file(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "kanon.toml").write_text(
        '[source]\nfrom = "visits.duckdb"\ntable = "visits"\n[columns]\nquasi_identifiers = ["age"]\nrest = "keep"\n'
        'insensitive = ["age_at_visit", "weight"]\nentity = "person"\n'
        '[publish]\nincome = "round:1000"\nscore = "round:1000"\nward = "hash"\n'
        '[release]\ninto = "r"\nkey_file = "pseudonyms.key"\nreplace = true\n',
        encoding="utf-8",
    )
    ended = kanon(
        "anonymize", "--policy", "kanon.toml", "--publish", "Income=round:10", "--qi", "score", "--format", "json"
    )
    assert ended.code == 0, ended.err
    assert {one["column"]: one["rule"] for one in ended.json["publish"]} == {"income": "round:10", "ward": "hash"}
    ended = kanon("anonymize", "--policy", "kanon.toml", "--sensitive", "ward", "--format", "json")  # no key any more
    assert ended.code == 0, ended.err
    for command in (("check",), ("measure",), ("attack",), ("lattice",)):
        ended = kanon(*command, "--policy", "kanon.toml")
        assert ended.code in {0, 1}, (command, ended.err)


@pytest.mark.thorough
def test_check_finds_values_that_no_rule_made(visits: Path, kanon: Callable[..., Ended]) -> None:
    """A table with raw values in large classes does not satisfy a policy that has rules for them."""
    ended = kanon("anonymize", visits, "visits", *ROLES, *OPTIONS, "--into", "r", "--save-policy", "k.toml")
    assert ended.code == 0, ended.err
    checked = kanon("check", visits, "r", "--policy", "k.toml", "--original", "visits", "--format", "json")
    assert (checked.code, checked.json["not_by_rule"]) == (0, {}), checked.err
    assert checked.json["rules_not_checked"] == ["weight", "visit", "note"]
    raw = kanon("check", visits, "visits", "--policy", "k.toml", "--format", "json")
    assert raw.code == 1
    assert set(raw.json["not_by_rule"]) == {"income", "age_at_visit", "score", "ward"}
    assert set(raw.json["not_by_rule"].values()) <= {59, 60}  # an income may be round by itself
    said = kanon("check", visits, "visits", "--policy", "k.toml")
    assert "ward: 60 values that its rule does not make" in said.out
    with duckdb.connect(str(visits)) as connection:
        connection.execute("UPDATE r SET age_at_visit = '89.5', score = '50' WHERE ward IS NOT NULL")
    changed = kanon("check", visits, "r", "--policy", "k.toml", "--original", "visits", "--format", "json")
    assert (changed.code, changed.json["not_by_rule"]) == (1, {"score": 60})


@pytest.mark.thorough
def test_a_table_in_place_has_no_raw_values(visits: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("anonymize", visits, "visits", *ROLES, *OPTIONS, "--in-place", "--no-backup")
    assert ended.code == 0, ended.err
    contents = visits.read_bytes().decode("latin-1")
    assert [raw for raw in RAW if raw in contents] == []
    assert {row[2] for row in rows_of(visits, "visits")} <= {7310000, 7311000}


@pytest.mark.thorough
def test_a_release_with_a_drawn_key_is_reported_on_at_once_and_not_later(
    visits: Path, kanon: Callable[..., Ended]
) -> None:
    ended = kanon(
        "anonymize", visits, "visits", *ROLES, *OPTIONS, "--into", "r", "--report", "one.md", "--save-policy", "k.toml"
    )
    assert ended.code == 0, ended.err
    report = (visits.parent / "one.md").read_text(encoding="utf-8")
    assert "No requirement above rests on these rules" in report
    as_they_are, _, by_rule = report.partition("Published by a rule, and not as they are: ")
    by_rule = by_rule.partition(".")[0]
    assert [name for name in RULES if name.replace("_", chr(92) + "_") not in by_rule] == [], by_rule
    assert "Published as they are: disease" in as_they_are
    assert "by a key that was drawn for this release and is kept nowhere" in report
    ended = kanon("report", "--policy", "k.toml", "--out", "two.md")
    assert ended.code != 0
    assert "'visit', 'ward' are published by a key that was drawn" in ended.err.replace("\n", " ")


@pytest.mark.thorough
def test_a_release_that_holds_other_values_fails_the_check(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that slip through are found in the release itself."""

    def as_it_is(ruled: Any, _: str) -> Any:
        kind = {"round": "INTEGER", "microaggregate": "DOUBLE"}.get(ruled.kind, "VARCHAR")
        return sql.cast(sql.column(ruled.column.name, "source"), kind)

    monkeypatch.setattr(published_rules, "_expression", as_it_is)
    for column in ("income", "age_at_visit", "score", "weight", "ward"):
        with (
            kanon.anonymize(
                visits,
                "visits",
                quasi_identifiers=["age"],
                insensitive=KEPT,
                rest="keep",
                entity="person",
                publish={column: RULES[column]},
            ) as release,  # fmt: skip
            pytest.raises(VerificationError, match=f"values of column '{column}' are none that"),
        ):
            released_rows(release)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        # income is a quasi-identifier of the one, and rounded in the other
        (("--qi", "age,income"), ("--qi", "age", "--publish", "income=round:1000"), "by a rule (--"),
        (("--qi", "age", "--publish", "income=round:1000"), ("--qi", "age,income"), "by a rule (--"),
        (
            ("--qi", "age", "--hierarchy", "age=flat", "--sensitive", "income"),
            ("--qi", "age", "--publish", "income=round:1000"),
            "by a rule (--",
        ),
    ],
)
def test_releases_that_cannot_be_compared_are_not_taken_for_safe(
    visits: Path, kanon: Callable[..., Ended], first: tuple[str, ...], second: tuple[str, ...], said: str
) -> None:
    common = (
        "--rest",
        "keep",
        "--entity",
        "person",
        "--id",
        "note,weight,visit,age_at_visit,score,ward,disease",
        "-k",
        3,
    )
    ended = kanon("anonymize", visits, "visits", *first, *common, "--into", "a", "--max-suppressed", 0.5)
    assert ended.code == 0, ended.err
    ended = kanon("anonymize", visits, "visits", *second, *common, "--into", "b", "--max-suppressed", 0.5)
    assert ended.code != 0
    assert said in ended.err.replace("\n", " ")


@pytest.mark.thorough
def test_rows_are_joined_by_values_of_one_rule_and_those_of_others_are_not_compared(
    in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    """Two releases of visits, of which one has the diagnoses: a rounded cost tells the rows of one from the others."""
    with duckdb.connect(str(in_tmp / "v.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT 35 + 10 * (i // 10) AS age, CASE WHEN i // 5 % 2 = 0 THEN 'F' ELSE 'M' END "
            "AS sex, 1000 + 37 * i AS cost, CASE WHEN i < 5 THEN 'HIV' ELSE ['flu', 'cold', 'cough'][i % 5 % 3 + 1] "
            "END AS diagnosis FROM range(20) r(i)"
        )
    (in_tmp / "key").write_bytes(KEY)

    def release(name: str, rule: str, *more: object) -> Ended:
        text = f'[columns]\ninsensitive = ["cost"]\nrest = "drop"\n[publish]\ncost = "{rule}"\n'
        (in_tmp / "kanon.toml").write_text(text, encoding="utf-8")
        return kanon(
            "anonymize", "v.duckdb", "visits", "--policy", "kanon.toml", "--count", "rows", "--qi", "age,sex",
            "--hierarchy", "age=intervals:10", "--hierarchy", "sex=flat", "-k", 5, "--max-suppressed", 0,
            "--into", name, *more,
        )  # fmt: skip

    coarse = ("--sensitive", "diagnosis", "--l", "diagnosis=3", "--choice", "greedy")
    key = ("--key-file", "key")
    cannot = "by rules (--set publish.COLUMN=RULE) whose values cannot be compared here"
    assert release("fine", "round:10").code == 0
    for rule, said in [
        ("round:10", "makes the value of diagnosis certain for 5 rows"),
        ("round: 10", "makes the value of diagnosis certain for 5 rows"),
        ("round:20", cannot),
        ("hash", cannot),
    ]:
        ended = release("coarse", rule, *coarse, *(key if rule == "hash" else ()))
        assert ended.code != 0
        assert said in " ".join(ended.err.split()), (rule, ended.err)
