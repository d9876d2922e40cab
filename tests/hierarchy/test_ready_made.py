"""The hierarchies that come with kanon-sql: complete, right, and as the catalogue and the README say."""

from __future__ import annotations

import csv
import re
import shutil
import tomllib
from typing import TYPE_CHECKING

import pytest
from conftest import REPOSITORY
from each import each

import kanon_sql as kanon_library
from kanon_sql.hierarchy.formats import read_hierarchy
from kanon_sql.hierarchy.ready import catalogue, ready_made
from kanon_sql.hierarchy.spec import FileRule, PrefixRule, parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

DIRECTORY = REPOSITORY / "hierarchies"
FILES = sorted(path.stem for path in DIRECTORY.glob("*.csv"))
ADULT = REPOSITORY.parent / "shared/data/adult/adult.csv"


def lines_of(name: str) -> list[list[str]]:
    with (DIRECTORY / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=";"))


def tree_of(name: str) -> dict[str, list[str]]:
    return {value: labels for value, *labels in lines_of(name)[1:]}


def test_every_file_is_in_the_catalogue_and_every_entry_has_one_file_or_rule() -> None:
    entries = tomllib.loads((DIRECTORY / "catalogue.toml").read_text(encoding="utf-8"))
    assert list(catalogue()) == sorted(entries)
    assert sorted(name for name, entry in entries.items() if "file" in entry) == FILES
    for name, entry in entries.items():
        assert ("file" in entry) != ("rule" in entry), name
        assert entry.get("file", f"{name}.csv") == f"{name}.csv"
        assert ("rule" in entry) == ("examples" in entry), name
        assert all(entry[word] for word in ("title", "levels", "source", "licence")), name


def test_the_readme_says_what_the_catalogue_says() -> None:
    text = (DIRECTORY / "README.md").read_text(encoding="utf-8")
    table = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")
    ]
    expected = []
    for name, entry in catalogue().items():
        rule = f" (`{entry.rule}`)" if entry.rule else ""
        as_of = "" if entry.as_of is None else entry.as_of.isoformat()
        expected.append([f"`{name}`", entry.title, entry.levels + rule, entry.source, entry.licence, as_of])
    assert [row + [""] * (6 - len(row)) for row in table] == expected


@each("name", FILES, quick=12)
def test_a_file_is_a_sorted_tree_with_one_root(name: str) -> None:
    header, *lines = lines_of(name)
    values = [line[0] for line in lines]
    assert values == sorted(set(values)), "sorted, and each value once"
    assert header[-1] == "root"
    assert {len(line) for line in lines} == {len(header)}
    assert {line[-1] for line in lines} == {"*"}
    assert all(field == field.strip() and field for line in lines for field in line)
    assert all("*" not in line[:-1] for line in lines)
    for level in range(1, len(header) - 1):
        parents = {(line[level], line[level + 1]) for line in lines}
        assert len(parents) == len({label for label, _ in parents}), header[level]
    read = read_hierarchy(DIRECTORY / f"{name}.csv", "column")
    assert read.header
    assert read.values == values
    assert read.levels == [[line[level] for line in lines] for level in range(1, len(header))]
    rule = parse_rule(f"ready:{name}")
    assert isinstance(rule, FileRule | PrefixRule)
    assert str(rule) == f"ready:{name}"
    # What the catalogue says of the levels is what there is, prefixes that are shown as levels included.
    said = re.split(r"[,;] ", re.sub(r"\([^)]*\)", "", ready_made(name).levels))
    shown = len(rule.lengths) if isinstance(rule, PrefixRule) and not rule.hide else 0
    if name != "hipaa_zip":
        assert len(said) == shown + len(header) - 1


def test_classifications_are_complete() -> None:
    country, alpha3 = tree_of("country"), tree_of("country_alpha3")
    assert (len(country), len(alpha3)) == (249, 249)
    assert alpha3["DEU"] == country["DE"] == ["Western Europe", "Europe", "*"]
    assert sorted(map(tuple, alpha3.values())) == sorted(map(tuple, country.values()))
    names = tree_of("country_name")
    assert {tuple(labels) for labels in names.values()} == {tuple(labels) for labels in country.values()}
    for spellings, code in [
        (("Germany", "Deutschland", "Allemagne", "Alemania", "德国"), "DE"),
        (("United States", "USA", "Vereinigte Staaten", "États-Unis", "Estados Unidos", "美国"), "US"),
        (("Côte d\N{RIGHT SINGLE QUOTATION MARK}Ivoire", "Côte d'Ivoire", "Ivory Coast", "科特迪瓦"), "CI"),
        (("South Korea", "Südkorea", "Corée du Sud", "Corea del Sur", "韩国", "Korea, Republic of"), "KR"),
        (("China", "Chine", "中国"), "CN"),
    ]:
        assert {tuple(names[spelling]) for spelling in spellings} == {tuple(country[code])}
    states, state_names = tree_of("us_state"), tree_of("us_state_name")
    assert len(states) == len(state_names) == 51
    assert state_names["District of Columbia"] == states["DC"] == ["South Atlantic", "South", "*"]


def test_icd10_has_the_categories_blocks_and_chapters_of_the_who() -> None:
    tree = tree_of("icd10")
    chapters = {labels[1] for labels in tree.values()}
    roman = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI XXII"
    assert {chapter.split()[0] for chapter in chapters} == set(roman.split())
    for category, (block, _, _) in tree.items():
        first, _, last = block.split()[0].partition("-")
        assert first <= category <= (last or first), "a category lies in the range of its block"
    # Hand-picked from the tabular list.
    for category, block, chapter in [
        ("A09", "A00-A09", "I "),
        ("B20", "B20-B24", "I "),
        ("C50", "C50 ", "II "),
        ("D48", "D37-D48", "II "),
        ("D50", "D50-D53", "III "),
        ("E11", "E10-E14 Diabetes mellitus", "IV "),
        ("F32", "F30-F39", "V "),
        ("H59", "H55-H59", "VII "),
        ("H60", "H60-H62", "VIII "),
        ("I21", "I20-I25 Ischaemic heart diseases", "IX "),
        ("M54", "M50-M54", "XIII "),
        ("O80", "O80-O84", "XV "),
        ("T14", "T08-T14", "XIX "),
        ("V01", "V01-V09", "XX "),
        ("Y98", "Y90-Y98", "XX "),
        ("Z99", "Z80-Z99", "XXI "),
        ("U07", "U00-U49", "XXII "),
    ]:
        assert tree[category][0].startswith(block)
        assert tree[category][1].startswith(chapter)
    assert not {"A10", "C42", "E08", "E95", "Z79"} & set(tree), "not assigned by the WHO"


def test_occupations_have_the_groups_of_isco_08() -> None:
    tree = tree_of("occupation")
    sub_major, major = ({labels[level] for labels in tree.values()} for level in (0, 1))
    assert (len(tree), len(sub_major), len(major)) == (130, 43, 10)
    for minor, (sub, group, _) in tree.items():
        assert (sub.split()[0], group.split()[0]) == (minor[:2], minor[:1])
    assert tree["221"] == ["22 Health professionals", "2 Professionals", "*"]
    assert tree["011"] == ["01 Commissioned armed forces officers", "0 Armed forces occupations", "*"]


def test_restricted_zip_areas_are_those_of_the_guidance() -> None:
    tree = tree_of("hipaa_zip")
    assert list(tree) == [f"{area:03}" for area in range(1000)]
    (known,) = re.findall(
        r"guidance.*?names: ([0-9\s]+)\.", (DIRECTORY / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    restricted = known.split()
    assert len(restricted) == 17
    assert sorted(area for area, labels in tree.items() if labels[0] == "000" != area) == restricted
    assert all(labels[0] == area for area, labels in tree.items() if area not in restricted)


def test_provinces_and_departments_are_complete() -> None:
    french, spanish = tree_of("postcode_fr"), tree_of("postcode_es")
    assert list(spanish) == [f"{province:02}" for province in range(1, 53)]
    assert list(french) == [*(f"{department:02}" for department in range(1, 96)), "97", "98"]
    assert (french["75"][0], french["69"][0], french["2A"[:1] + "0"][0]) == (
        "Île-de-France",
        "Auvergne-Rhône-Alpes",
        "Corse",
    )
    assert (spanish["28"][0], spanish["08"][0], spanish["41"][0]) == ("Madrid", "Cataluña", "Andalucía")


def test_provinces_of_china_are_complete() -> None:
    """34 of them; the first digit of a code is its great region, and 46 (Hainan) and 50 (Chongqing) came later."""
    tree = tree_of("division_cn")
    counts = {1: 5, 2: 3, 3: 7, 4: 6, 5: 5, 6: 5, 7: 1, 8: 2}
    assert {digit: sum(code.startswith(str(digit)) for code in tree) for digit in counts} == counts
    assert len(tree) == 34
    regions = {code[0]: labels[0] for code, labels in tree.items()}
    assert all(regions[code[0]] == labels[0] for code, labels in tree.items())
    assert (regions["1"], regions["3"], regions["7"], regions["8"]) == ("华北", "华东", "港澳台", "港澳台")


def test_prefectures_of_china_are_complete() -> None:
    """As the Ministry of Civil Affairs counts them: 293 cities, 30 autonomous prefectures, 7 areas, 3 leagues."""
    tree = tree_of("division_cn_name")
    provinces = {labels[1] for labels in tree.values()}
    assert len(provinces) == 34
    assert {labels[2] for labels in tree.values()} == {labels[0] for labels in tree_of("division_cn").values()}
    units = {labels[0]: labels[1] for labels in tree.values() if labels[0] not in provinces and labels[1] != "台湾省"}
    directly_below = {"河南省": ["济源市"], "湖北省": ["仙桃市", "潜江市", "天门市"]}
    directly_below |= {"海南省": ["五指山市", "琼海市", "文昌市", "万宁市", "东方市"]}
    county_cities = {unit for found in directly_below.values() for unit in found} | {
        unit
        for unit, province in units.items()
        if province == "新疆维吾尔自治区" and unit.endswith("市") and unit[:2] not in {"乌鲁", "克拉", "吐鲁", "哈密"}
    }
    assert county_cities <= units.keys()
    kinds = {
        ending: sum(unit.endswith(ending) for unit in units.keys() - county_cities)
        for ending in ("市", "自治州", "地区", "盟")
    }
    assert kinds == {"市": 293, "自治州": 30, "地区": 7, "盟": 3}
    for value in ("杭州市", "杭州", "浙江省杭州市"):
        assert tree[value] == ["杭州市", "浙江省", "华东", "*"]
    assert tree["浙江"] == ["浙江省", "浙江省", "华东", "*"]
    assert tree["北京"] == ["北京市", "北京市", "华北", "*"]
    assert tree["海南藏族自治州"] == ["海南藏族自治州", "青海省", "西北", "*"]


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_every_ready_made_hierarchy_is_listed_and_shown(kanon: Callable[..., Ended]) -> None:
    listed = kanon("hierarchy", "list", "--format", "json").json
    assert [found["name"] for found in listed] == [f"ready:{name}" for name in catalogue()]
    assert kanon("hierarchy", "list").out.count("ready:") >= len(listed)
    for found in listed:
        shown = kanon("hierarchy", "show", found["name"], "--format", "json")
        assert shown.code == 0, shown.err
        assert {len(row) for row in shown.json["rows"]} == {(found["levels"] or 5) + 1}
        assert all(row[-1] == "*" for row in shown.json["rows"])
        assert shown.json["licence"]


def shown_rows(kanon: Callable[..., Ended], name: str) -> list[list[str]]:
    rows: list[list[str]] = kanon("hierarchy", "show", f"ready:{name}", "--format", "json").json["rows"]
    return rows


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_rules_show_what_they_do_to_examples(kanon: Callable[..., Ended]) -> None:
    assert shown_rows(kanon, "age")[-1] == ["95", ">=90", ">=90", ">=90", "*"]
    assert shown_rows(kanon, "hipaa_age") == [
        ["34", "34", "*"],
        ["89", "89", "*"],
        ["90", ">=90", "*"],
        ["95", ">=90", "*"],
    ]
    assert shown_rows(kanon, "hipaa_date")[0] == ["1961-05-17", "1961", "*"]
    assert shown_rows(kanon, "postcode_de")[0] == ["01067", "010**", "01***", "0****", "*"]
    assert "The values are examples." in kanon("hierarchy", "show", "ready:age").out


@pytest.mark.usefixtures("in_tmp")
def test_adult_trees_cover_the_table(kanon: Callable[..., Ended]) -> None:
    if not ADULT.exists():
        pytest.skip("shared/data/adult is absent")
    names = [name.removeprefix("adult_") for name in catalogue() if name.startswith("adult_")]
    options = [option for name in names for option in ("--hierarchy", f"{name}=ready:adult_{name}")]
    ended = kanon("hierarchy", "check", ADULT, *options, "--format", "json")
    assert ended.code == 0, ended.err
    assert len(ended.json) == len(names) == 8
    assert all(found["values_missing"] == 0 for found in ended.json)


@pytest.mark.thorough
def test_adult_trees_lose_less_than_those_of_the_data() -> None:
    if not ADULT.exists():
        pytest.skip("shared/data/adult is absent")
    names = [name.removeprefix("adult_") for name in catalogue() if name.startswith("adult_")]
    found = []
    for rule in ("ready:adult_{}", str(ADULT.parent / "adult_hierarchy_{}.csv")):
        release = kanon_library.anonymize(
            ADULT,
            quasi_identifiers=names,
            rest="drop",
            models=[kanon_library.KAnonymity(5)],
            hierarchies={name: rule.format(name) for name in names},
        )
        with release:
            assert release.optimal
            found.append(release.loss)
    ours, theirs = found
    assert ours < 0.7 * theirs


def test_licences_are_there() -> None:
    assert "UNICODE LICENSE V3" in (DIRECTORY / "LICENSE.unicode").read_text(encoding="utf-8")
    assert "Copyright (c) Youzan" in (DIRECTORY / "LICENSE.vant").read_text(encoding="utf-8")


@pytest.mark.usefixtures("in_tmp")
def test_a_list_of_zip_areas_can_be_replaced(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    shutil.copy(DIRECTORY / "hipaa_zip.csv", in_tmp / "mine.csv")
    text = (in_tmp / "mine.csv").read_text(encoding="utf-8").replace("\n021;021;*\n", "\n021;000;*\n")
    (in_tmp / "mine.csv").write_text(text, encoding="utf-8")
    (in_tmp / "z.csv").write_text("zip,a\n02139-1234,1\n03601,2\n", encoding="utf-8")
    arguments = ("z.csv", "--qi", "zip", "--rest", "drop", "-k", "2", "--out", "o.csv", "--format", "json")
    ended = kanon("anonymize", *arguments, "--hierarchy", "zip=prefix:3:hide:mine.csv")
    assert ended.code == 0, ended.err
    assert ended.json["levels"] == {"zip": 1}
    assert (in_tmp / "o.csv").read_text(encoding="utf-8").split() == ["zip", "000", "000"]
