"""``kanon init`` publishes no column that a person did not decide on: 30 tables with unknown headers.

Nobody in the tables exists. Their headers are words that the vocabulary does not have; their cells are names,
addresses, coordinates, diseases, telephone numbers, salaries and comments in English, German and Chinese.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from each import each
from profile_tables import frame

import kanon_sql
from kanon_sql.errors import PolicyError, UsageError
from kanon_sql.hierarchy.vocabulary import kinds_of_name
from kanon_sql.policy.policy import parse_policy, policy_text, read_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

    Kanon = Callable[..., Ended]
    Make = Callable[[random.Random], Any]

ROWS = 80


def of(*parts: str) -> Make:
    """Return what draws one of some words for each part that has several, and a digit for each #."""
    return lambda draw: "".join(
        "".join(str(draw.randint(1, 9)) if letter == "#" else letter for letter in draw.choice(part.split("|")))
        for part in parts
    )


def number(low: float, high: float, digits: int) -> Make:
    return lambda draw: round(draw.uniform(low, high), digits) if digits else draw.randint(int(low), int(high))


CONTENTS: dict[str, dict[str, Make]] = {
    "english": {
        "person_name": of(
            "Alice|Robert|Emily|James|Laura|Daniel|Zelda|Thaddeus",
            " ",
            "Ashby|Birk|Crane|Dole|Eames|Finch|Gage",
            "|son|ton|ley",
        ),
        "street_address": of("### |## ", "Maple|Oak|High|Church|Mill", " ", "Street|St|Avenue|Rd|Lane", "|, Apt #"),
        "coordinates": of("4#.####, -7#.####"),
        "disease": of("Asthma|Gout|Eczema|Angina|Migraine|Measles"),
        "notes": of(
            "Came in with her mother|Asked to call the wife|Works nights at the mill|Was seen after a fall",
            " on day ## ",
            "and will come again|and went home",
        ),
        "phone": of("(2##) 5##-####"),
        "salary": number(21_000, 98_000, 0),
        "short comment": of("moved away|wants a call|pays late|twin brother|new job"),
        "company": of("Acorn|Borealis|Cobalt|Dynamo", " ", "Ltd|plc|Inc"),
    },
    "german": {
        "person_name": of(
            "Sabine|Jürgen|Petra|Wolfgang|Anke|Torsten|Mechthild|Ewald",
            " ",
            "Abel|Brand|Czerny|Dorn|Engel|Fuchs",
            "|mann|er|meier",
        ),
        "street_address": of("Linden|Schul|Haupt|Goethe|Berg", "straße |weg |str. |allee ", "#|##|## a|#b"),
        "coordinates": of("5#.####° N, 1#.####° O"),
        "disease": of("Gicht|Masern|Rheuma|Krätze|Angina|Keuchhusten"),
        "notes": of(
            "Kam mit seiner Schwester|Bittet um Rückruf bei der Frau|Arbeitet nachts in der Mühle",
            " am ##. Tag nach dem Sturz ",
            "und kommt wieder|und ging nach Hause",
        ),
        "phone": of("0##1 ######"),
        "salary": number(2_100, 9_800, 0),
        "short comment": of("zieht um|zahlt spät|neuer Job|Zwilling|ruft an"),
        "company": of("Ahorn|Birke|Kobalt|Dynamo", " ", "GmbH|AG|KG"),
    },
    "chinese": {
        "person_name": of("王|李|张|刘|陈|杨|赵|欧阳", "伟|芳|娜|敏|静|丽|强|磊", "|明|华|红|平"),
        "street_address": of("朝阳|海淀|浦东|天河", "区", "建国|中山|人民|解放", "路|街", "##号", "|#室|#单元##室"),
        "coordinates": of("东经11#.####，北纬3#.####"),
        "disease": of("痛风|哮喘|麻疹|湿疹|肺炎|偏头痛"),
        "notes": of("由母亲陪同来院|要求电话联系妻子|夜间在工厂上班", "，第##天", "，回家休养|，下周复诊"),
        "phone": of("13#########"),
        "salary": number(3_000, 98_000, 0),
        "short comment": of("已搬家|要回电|双胞胎|新工作|付款晚"),
        "company": of("华新|东升|金桥|远大", "公司|集团"),
    },
}
SEXES = {"english": ("F", "M"), "german": ("weiblich", "männlich"), "chinese": ("男", "女")}
HEADERS = {
    "english": ("fld_a", "zz9", "blurb", "xq", "gizmo", "colx", "widgetry", "frob", "thingy", "u7"),
    "german": ("feld_a", "zz9", "krempel", "xq", "dings", "spalte", "zeug", "kram", "wert7", "u7"),
    "chinese": ("甲", "乙栏", "丙", "丁", "戊", "己", "庚", "辛", "壬", "癸"),
}


def made(language: str, place: int) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a table of six columns, and what is in each; ``sex`` is what values alone make a quasi-identifier."""
    draw = random.Random(f"{language} {place}")  # noqa: S311 - fake data, the same each time
    contents = list(CONTENTS[language])
    chosen = [contents[(place + step) % len(contents)] for step in (0, 2, 3, 5, 8)]
    inside = dict(zip(HEADERS[language][place:] + HEADERS[language][:place], ["sex", *chosen], strict=False))
    makes = {**CONTENTS[language], "sex": lambda draw: draw.choice(SEXES[language])}
    return pd.DataFrame({header: [makes[what](draw) for _ in range(ROWS)] for header, what in inside.items()}), inside


@pytest.mark.thorough
@pytest.mark.parametrize("place", range(10))
@pytest.mark.parametrize("language", list(CONTENTS))
def test_an_unedited_policy_publishes_no_column_that_no_person_decided_on(
    language: str, place: int, in_tmp: Path
) -> None:
    """Fails on 0.1.0: each of the 30 releases has diseases, comments, companies or salaries as they are."""
    table, inside = made(language, place)
    assert {header: kinds_of_name(header) for header in inside} == dict.fromkeys(inside, ())
    table.to_csv(in_tmp / "t.csv", index=False)
    kanon_sql.init_policy(in_tmp / "t.csv", out=in_tmp / "kanon.toml")
    with kanon_sql.anonymize(in_tmp / "t.csv", policy=in_tmp / "kanon.toml") as release:
        published = release.to_pandas()
    (sex,) = (header for header, what in inside.items() if what == "sex")
    assert list(published.columns) == [sex]
    assert set(published[sex]) <= {*SEXES[language], "*"}


@each(
    ("language", "what"),
    [
        *product(CONTENTS, ["coordinates", "notes", "phone"]),
        ("english", "person_name"),  # two capitalized words
        ("german", "person_name"),
    ],
    quick=4,
)
def test_what_names_people_is_recognized_by_its_values(language: str, what: str) -> None:
    """Fails on 0.1.0: coordinates with directions are not known."""
    draw = random.Random(language)  # noqa: S311 - as above
    (column,) = kanon_sql.profile(pd.DataFrame({"x7": [CONTENTS[language][what](draw) for _ in range(200)]})).columns
    assert (column.role, column.kind) == ("identifying", what), column.reason


@pytest.mark.thorough
@each(
    ("make", "kind"),
    [
        (number(48, 54, 6), "coordinates"),
        (of("52.####"), "coordinates"),
        (of("N 5#° 1#' 2#\""), "coordinates"),
        (of("POINT(1#.##### 5#.#####)"), "coordinates"),
        (of("9F4MG", "C|H|M|Q", "2|3|7", "2|5|8", "+", "2|3|9", "5|6|7"), "coordinates"),
        (of("P.O. Box ####"), "street_address"),
    ],
    quick=4,
)
def test_ways_of_writing(make: Make, kind: str) -> None:
    """Fails on 0.1.0."""
    draw = random.Random(kind)  # noqa: S311 - as above
    (column,) = kanon_sql.profile(pd.DataFrame({"x7": [make(draw) for _ in range(300)]})).columns
    assert (column.role, column.kind) == ("identifying", kind), column.reason


@pytest.mark.thorough
@each(
    "make",
    [
        # There are no lists of names and streets: these are published if a person decides so.
        CONTENTS["chinese"]["person_name"],
        of("anna|peter|sabine|thomas|karin|laura|monika|claudia|robert|daniel|emily|james"),
        CONTENTS["german"]["street_address"],
        of("An der |Am |Unter den ", "Mühle|Linden|Wehr", " ##"),
        of("北京|上海|广州|深圳|成都|武汉|杭州|南京|石家庄|马鞍山|江门|沈阳|常州|金华|温州|黄山|高雄|宁波|苏州|无锡"),
        of(
            "高血压|糖尿病|冠心病|白内障|黄疸|肺炎|胃炎|麻疹|痛风|哮喘|湿疹|贫血|水痘|流感|骨折|肝炎|肾炎|中风|癫痫|疟疾"
        ),
        of("Berlin|Hamburg|Köln|Hannover|Bremen|Leipzig|Dresden|Nürnberg|Essen|Bonn|Ulm|Trier|Kassel|Jena|Celle|Hof"),
        of("machine operator|sales manager|office clerk|truck driver|shop assistant|dental nurse|night guard|cook"),
        of("room |block |ward ", "##"),
        number(0, 1, 6),
        number(10, 90, 2),
    ],
)
def test_what_is_left_to_a_person(make: Make) -> None:
    draw = random.Random(7)  # noqa: S311 - as above
    (column,) = kanon_sql.profile(pd.DataFrame({"x7": [make(draw) for _ in range(3000)]})).columns
    assert column.role == "undecided", column.reason


def test_free_text_under_the_name_of_something_sensitive_names_people() -> None:
    """Fails on 0.1.0: it was sensitive, and published as it is."""
    draw = random.Random(3)  # noqa: S311 - as above
    table = pd.DataFrame({"Befund": [CONTENTS["german"]["notes"](draw) for _ in range(200)]})
    (column,) = kanon_sql.profile(table).columns
    assert column.role == "identifying"


def patients(path: Path, rows: int = 200) -> Path:
    frame(
        rows, pid=lambda row: f"p{row}", age=lambda row: 20 + row % 5, sex=lambda row: "FM"[row % 2],
        diagnosis=lambda row: ["gout", "flu"][row % 2], cost=lambda row: row % 7, blurb=lambda row: f"b{row % 3}",
    ).to_csv(path, index=False)  # fmt: skip
    return path


@pytest.mark.thorough
def test_what_is_not_published_is_said_and_how_to_publish_it(in_tmp: Path, kanon: Kanon) -> None:
    """Fails on 0.1.0: diagnosis, cost and blurb were published."""
    patients(in_tmp / "t.csv")
    begun = kanon("init", "t.csv")
    assert "Not published until you decide: diagnosis, cost, blurb." in begun.out
    made = kanon("anonymize", "t.csv", "--policy", "kanon.toml", "--format", "json")
    assert made.json["columns_left_out"] == ["pid", "diagnosis", "cost", "blurb"]
    assert made.json["columns_proposed"] == ["age", "sex"]
    said = "Not published, because kanon.toml gives them no role: diagnosis, cost, blurb. To publish one, name it there"
    assert said in made.err
    assert list(pd.read_csv(in_tmp / "t_k5.csv").columns) == ["age", "sex"]


@pytest.mark.thorough
def test_what_a_person_takes_in_is_published(in_tmp: Path, kanon: Kanon) -> None:
    """A line at a time, and ``--sensitive`` of ``kanon init``; fails on 0.1.0, which has neither."""
    patients(in_tmp / "t.csv")
    assert kanon("init", "t.csv", "--sensitive", "diagnosis").code == 0
    text = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    (in_tmp / "kanon.toml").write_text(text.replace('# decide: "cost"', '"cost"'), encoding="utf-8")
    assert kanon("anonymize", "t.csv", "--policy", "kanon.toml", "-q").code == 0
    assert list(pd.read_csv(in_tmp / "t_k5.csv").columns) == ["age", "sex", "diagnosis", "cost"]
    assert kanon("init", "t.csv", "--sensitive", "age", "--qi", "age", "--replace").code == 2


def headline(report: kanon_sql.Report) -> tuple[str, bool]:
    """Return the verdict on top of a report, and whether it is green in the page."""
    badge = report.to_html().split('<p class="verdict">')[1].split("</p>")[0]
    (_, _, verdict, *_) = report.to_markdown().splitlines()
    return verdict.split("**")[1], 'class="badge good"' in badge


@pytest.mark.thorough
def test_the_headline_is_not_green_before_a_person_confirmed_the_roles(in_tmp: Path, kanon: Kanon) -> None:
    """Fails on 0.1.0: "All requirements hold", in green, over the roles of an unedited policy."""
    frame(
        60, age=lambda row: 20 + row % 5, sex=lambda row: "FM"[row % 2], blurb=lambda row: f"b{row % 3}"
    ).to_csv(in_tmp / "t.csv", index=False)  # fmt: skip
    assert kanon("init", "t.csv").code == 0
    found = kanon_sql.report(in_tmp / "t.csv", policy=in_tmp / "kanon.toml")
    assert (found.holds, found.succeeded) == (True, ())
    assert headline(found) == ("Requirements hold; no person has confirmed the roles of 2 columns", False)
    assert "Roles not confirmed**: kanon init proposed roles for age and sex" in found.to_markdown()
    assert found.summary()["proposed"] == ("age", "sex")
    one = replace(found, proposed=("age",))
    assert headline(one) == ("Requirements hold; no person has confirmed the role of 1 column", False)
    text = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    confirmed = text.replace('proposed = [\n    "age",\n    "sex",\n]', "proposed = []")
    assert confirmed != text
    (in_tmp / "kanon.toml").write_text(confirmed, encoding="utf-8")
    assert headline(kanon_sql.report(in_tmp / "t.csv", policy=in_tmp / "kanon.toml")) == ("All requirements hold", True)


@pytest.mark.thorough
def test_the_terminal_says_that_roles_are_not_confirmed(in_tmp: Path, kanon: Kanon) -> None:
    patients(in_tmp / "t.csv", 60)
    assert kanon("init", "t.csv", "--qi", "age").code == 0
    told = kanon("report", "t.csv", "--policy", "kanon.toml", "--out", "r.html")
    assert "roles        no person has confirmed those of sex (proposed in the policy)" in told.out


@pytest.mark.thorough
def test_roles_that_a_person_names_are_confirmed(in_tmp: Path, kanon: Kanon) -> None:
    patients(in_tmp / "t.csv")
    assert kanon("init", "t.csv", "--qi", "age").code == 0
    assert read_policy(in_tmp / "kanon.toml")[0].columns.proposed == ("sex",)
    asked = ("anonymize", "t.csv", "--policy", "kanon.toml", "--format", "json", "--replace")
    assert kanon(*asked).json["columns_proposed"] == ["sex"]
    assert kanon(*asked, "--qi", "SEX").json["columns_proposed"] == []


@pytest.mark.thorough
def test_a_saved_policy_keeps_what_is_only_proposed(in_tmp: Path, kanon: Kanon) -> None:
    patients(in_tmp / "t.csv")
    assert kanon("init", "t.csv").code == 0
    saved = kanon("anonymize", "t.csv", "--policy", "kanon.toml", "--qi", "sex", "--save-policy", "s.toml", "-q")
    assert saved.code == 0, saved.err
    policy, destination = read_policy(in_tmp / "s.toml")
    assert policy.columns.proposed == ("age",)
    again, _ = parse_policy(policy_text(policy, destination, in_tmp), in_tmp / "s.toml")
    assert again.columns == policy.columns


def test_a_proposed_column_must_be_there(in_tmp: Path) -> None:
    """A name that is written wrong would confirm the right one."""
    patients(in_tmp / "t.csv")
    policy = kanon_sql.Policy(
        columns=kanon_sql.NamedColumns(quasi_identifiers=("age",), rest="drop", proposed=("agee",))
    )
    with pytest.raises(UsageError, match="Did you mean 'age'"):
        kanon_sql.anonymize(in_tmp / "t.csv", policy=policy)
    with pytest.raises(PolicyError, match=r"columns\.proposed is a list"):
        parse_policy('[columns]\nproposed = "age"\n', in_tmp / "kanon.toml")
