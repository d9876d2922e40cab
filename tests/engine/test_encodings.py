"""Text files that are not UTF-8: read by the encoding that is stated or guessed, and released in the same one."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.engine.sources import encodings
from kanon_sql.engine.sources.layout import DataFile
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import KanonError, PolicyError, SourceError, UsageError
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

# Column names and texts by encoding; all texts are made up.
TEXTS = {
    "latin-1": (["Straße", "alter", "Krankheit"], ["Schloßweg", "Bäckergasse"], ["Grippe", "Rückenschmerz"]),
    "cp1252": (["rue", "âge", "maladie"], ["l'Étang", "Église 1 €"], ["fièvre", "grippe"]),
    "gb18030": (["姓名", "年龄", "病种"], ["王伟", "李娜", "张秀英"], ["流感", "哮喘", "糖尿病"]),
    "shift_jis": (["名前", "年齢", "病気"], ["山田太郎", "鈴木カズ"], ["ぜんそく", "インフルエンザ"]),
    "utf-16": (["имя", "возраст", "болезнь"], ["Иванов", "Петрова"], ["грипп", "астма"]),
    "utf-8-sig": (["nom", "âge", "maladie"], ["Zoé", "Noël"], ["fièvre", "grippe"]),
}
AGES = [31, 32, 33, 41, 42, 43]


def rows_of(encoding: str, times: int = 4) -> list[list[str]]:
    _, names, diseases = TEXTS[encoding]
    return [
        [f"{names[number % len(names)]} {number}", str(age), diseases[number % len(diseases)]]
        for number, age in enumerate(AGES * times)
    ]


def text_of(encoding: str, delimiter: str = ";") -> str:
    made = io.StringIO()
    csv.writer(made, delimiter=delimiter, lineterminator="\n").writerows([TEXTS[encoding][0], *rows_of(encoding)])
    return made.getvalue()


def write(path: Path, encoding: str) -> Path:
    path.write_bytes(text_of(encoding).encode(encoding))
    return path


def read(source: object) -> tuple[list[str], list[list[str]]]:
    opened = open_source(source)
    with opened.engine as engine:
        rows = engine.rows(exp.select("*").from_(opened.relation))
        return [column.name for column in opened.columns], [[str(value) for value in row] for row in rows]


def released(path: Path, encoding: str, delimiter: str = ";") -> list[list[str]]:
    header, *rows = csv.reader(io.StringIO(path.read_bytes().decode(encoding), newline=""), delimiter=delimiter)
    return [header, *sorted(rows)]


def expected(encoding: str) -> list[list[str]]:
    """Return what is expected of ages as decades, without names: a release has its rows in no order."""
    columns, *_ = TEXTS[encoding]
    return [columns[1:], *sorted([f"{age[0]}0-{age[0]}9", disease] for _, age, disease in rows_of(encoding))]


def options_for(encoding: str) -> list[object]:
    name, age, _ = TEXTS[encoding][0]
    rule = ["--hierarchy", f"{age}=intervals:10"]
    return ["--id", name, "--qi", age, *rule, "--rest", "keep", "-k", 5, "--count", "rows", "--max-suppressed", 0]


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which private ones are made."""
    directory = tmp_path / "private"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_stated_encoding(encoding: str, in_tmp: Path, private: Path) -> None:
    path = write(in_tmp / "t.csv", encoding)
    assert read(DataFile(path, encoding=encoding)) == (TEXTS[encoding][0], rows_of(encoding))
    assert not list(private.iterdir())


def test_a_byte_order_mark_says_the_encoding(in_tmp: Path) -> None:
    rows = [[str(number), "l'élève à Besançon"] for number in range(40)]
    lines = "".join(f'{number},"{note}"\n' for number, note in rows)
    (in_tmp / "t.csv").write_bytes(f"id,note\n{lines}".encode("utf-16"))
    assert read(in_tmp / "t.csv") == (["id", "note"], rows)


def test_one_encoding_that_fits_is_not_taken(in_tmp: Path) -> None:
    """charset-normalizer knows one encoding for it, and the wrong one."""
    (in_tmp / "t.csv").write_bytes("id;ort\r\n1;München\r\n2;Köln\r\n".encode("cp850"))
    with pytest.raises(SourceError, match=r"is not UTF-8 \(line 2\)\..*DataFile encoding=NAME"):
        read(in_tmp / "t.csv")
    assert read(DataFile("t.csv", encoding="cp850"))[1][0] == ["1", "München"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_what_may_be_several_encodings_is_not_guessed(encoding: str, in_tmp: Path, private: Path) -> None:
    """What cp1252 reads as a text, cp1250 reads as another: both are text."""
    (in_tmp / "t.csv").write_bytes("nom,ville\nHélène,Genève\nZoé,Évreux\n".encode(encoding) * 30)
    with pytest.raises(SourceError, match=r"is not UTF-8 \(line 2\)\. It may be .*cp1250") as raised:
        read(in_tmp / "t.csv")
    assert "cp1252" in str(raised.value)
    assert "encoding" in str(raised.value)
    assert "Zo" not in str(raised.value)
    assert not list(private.iterdir())


def test_a_broken_byte_is_named_by_its_line(in_tmp: Path) -> None:
    lines = text_of("gb18030").encode("utf-8").split(b"\n")
    lines[6] += b"\xff"
    (in_tmp / "t.csv").write_bytes(b"\n".join(lines))
    with pytest.raises(SourceError, match=r"t\.csv is not UTF-8 \(line 7\)\."):
        read(in_tmp / "t.csv")


@pytest.mark.parametrize(("of_file", "stated"), [("gb18030", "utf-8"), ("utf-8-sig", "ascii"), ("gb18030", "cp932")])
def test_a_wrong_encoding(of_file: str, stated: str, in_tmp: Path, private: Path) -> None:
    path = write(in_tmp / "t.csv", of_file)
    with pytest.raises(SourceError, match=r"t\.csv is not (valid [a-z0-9-]+\.|UTF-8 )") as raised:
        read(DataFile(path, encoding=stated))
    assert not any(name in str(raised.value) for name in TEXTS[of_file][1])
    assert not list(private.iterdir())


@pytest.mark.parametrize("name", ["nope", "base64", "rot13", "", "a\0b"])
def test_a_name_that_is_no_encoding(name: str) -> None:
    with pytest.raises(UsageError, match="is not an encoding that Python knows"):
        DataFile("t.csv", encoding=name)
    with pytest.raises(UsageError, match="is not an encoding that Python knows"):
        kanon.Destination(out=Path("t.csv"), encoding=name)


@pytest.mark.usefixtures("in_tmp")
def test_what_has_no_encoding(kanon: Callable[..., Ended]) -> None:
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS a FROM range(9)")
        connection.execute("COPY t TO 't.parquet'")
    for path in ("t.duckdb", "t.parquet"):
        with pytest.raises(UsageError, match=r"leave (out how|--read encoding)|DataFile encoding"):
            open_source(DataFile(path, encoding="cp1252"))
        ended = kanon("profile", path, "--encoding", "cp1252")
        assert ended.code == 2, ended.err


def test_a_malformed_line_is_named_in_the_file_itself(in_tmp: Path, private: Path) -> None:
    text = text_of("gb18030").replace("王伟 0;31;流感\n", "王伟 0;31;流感;;一\n")
    (in_tmp / "t.csv").write_bytes(text.encode("gb18030"))
    with pytest.raises(SourceError, match=re.escape(f"{in_tmp / 't.csv'}, line 2 has 5 fields")):
        read(DataFile(in_tmp / "t.csv", encoding="gb18030"))
    assert not list(private.iterdir())


def test_a_broken_byte_far_behind(in_tmp: Path) -> None:
    """Behind more text than is looked at for a guess."""
    (in_tmp / "t.csv").write_bytes(b"name,stadt\n" + "Müller,Köln\n".encode() * 60_000 + b"M\xfcller,Ulm\n")
    with pytest.raises(SourceError, match=r"t\.csv is not UTF-8 \(line 60,002\)\."):
        read(in_tmp / "t.csv")


def test_a_file_that_changes_while_it_is_read(in_tmp: Path, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(in_tmp / "t.csv", "gb18030")
    decode = encodings.decode

    def slowly(file: Path, copy: Path, encoding: str) -> bool:
        found = decode(file, copy, encoding)
        file.write_bytes(file.read_bytes() + b"x;31;y\n")
        return found

    monkeypatch.setattr(encodings, "decode", slowly)
    with pytest.raises(SourceError, match="was changed while it was read"):
        read(DataFile(path, encoding="gb18030"))
    assert not list(private.iterdir())


def test_several_files_and_their_directories(in_tmp: Path) -> None:
    for year, name in ((2024, "王伟"), (2025, "李娜")):
        (in_tmp / f"data/year={year}").mkdir(parents=True)
        (in_tmp / f"data/year={year}/t.csv").write_bytes(f"姓名,年龄\n{name},31\n".encode("gb18030"))
    columns, rows = read(DataFile("data", encoding="gb18030"))
    assert columns == ["姓名", "年龄", "year"]
    opened = open_source(DataFile("data/*/t.csv", encoding="gb18030"))
    with opened.engine:
        assert "'data/*/t.csv'" in script(opened.setup, "duckdb")
    assert sorted(rows) == [["李娜", "31", "2025"], ["王伟", "31", "2024"]]


@pytest.mark.parametrize("encoding", ["gb18030", "latin-1"])
def test_columns_are_prepared(encoding: str, in_tmp: Path, private: Path, kanon: Callable[..., Ended]) -> None:
    """A rule reads the texts of the file once more."""
    write(in_tmp / "t.csv", encoding)
    age = TEXTS[encoding][0][1]
    rules = f'[prepare]\n"{age}" = ["null:31", "decimal:,", "cast:INTEGER"]\n'
    stated = f'[source]\nfrom = "t.csv"\nencoding = "{encoding}"\n{rules}'
    Path("p.toml").write_text(stated, encoding="utf-8")
    ended = kanon("anonymize", "--policy", "p.toml", *options_for(encoding), "--out", "o.csv")
    assert ended.code == 0, ended.err
    assert not list(private.iterdir())


def test_json(in_tmp: Path) -> None:
    records = [{"name": "Zoé", "age": 31}, {"name": "Noël", "age": 32}]
    (in_tmp / "t.json").write_bytes(json.dumps(records, ensure_ascii=False).encode("latin-1"))
    assert read(DataFile("t.json", encoding="latin-1")) == (["name", "age"], [["Zoé", "31"], ["Noël", "32"]])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "encoding",
    [pytest.param(name, marks=() if name == "gb18030" else pytest.mark.thorough) for name in TEXTS],
)
def test_a_release_comes_back_as_it_came(
    encoding: str, in_tmp: Path, private: Path, kanon: Callable[..., Ended]
) -> None:
    write(in_tmp / "t.csv", encoding)
    options = [*options_for(encoding), "--encoding", encoding]
    ended = kanon("anonymize", "t.csv", *options, "--out", "o.csv", "--save-policy", "kanon.toml")
    assert ended.code == 0, ended.err
    assert released(in_tmp / "o.csv", encoding) == expected(encoding)
    stated = tomllib.loads(Path("kanon.toml").read_text(encoding="utf-8"))["source"]["encoding"]
    assert "ä".encode(stated) == "ä".encode(encoding) if encoding in {"latin-1", "cp1252"} else stated
    again = kanon("anonymize", "--policy", "kanon.toml", "--out", "again.csv")
    assert again.code == 0, again.err
    assert released(in_tmp / "again.csv", encoding) == expected(encoding)
    assert_nothing_is_left(in_tmp, private)


def assert_nothing_is_left(directory: Path, private: Path) -> None:
    assert not list(private.iterdir())
    assert not [path for path in directory.iterdir() if path.name.startswith(".kanon")]


@pytest.mark.thorough
def test_what_reads_a_release_gets_its_encoding(in_tmp: Path, private: Path, kanon: Callable[..., Ended]) -> None:
    """From the policy file, or from the command line."""
    encoding = "gb18030"
    write(in_tmp / "t.csv", encoding)
    stated = ["--encoding", encoding]
    options = [*options_for(encoding), *stated, "--out", "o.csv", "--save-policy", "kanon.toml", "--report", "r.md"]
    age = TEXTS[encoding][0][1]
    both = ["--qi", age, "-k", 5, "--original", "t.csv", *stated, "--hierarchy", f"{age}=intervals:10"]
    for command in (
        ["anonymize", "t.csv", *options],
        *([each, "--policy", "kanon.toml"] for each in ("check", "measure", "attack")),
        ["check", "o.csv", "--count", "rows", "--qi", age, "-k", 5, *stated],
        ["attack", "o.csv", *both],
        ["report", "--policy", "kanon.toml", "--out", "report.json"],
    ):
        ended = kanon(*command)
        assert ended.code == 0, ended.err
    assert_nothing_is_left(in_tmp, private)


@pytest.mark.thorough
def test_another_encoding_of_a_release(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "t.csv", "gb18030")
    options = [*options_for("gb18030"), "--encoding", "gb18030"]
    for name in ("utf-8", "utf-16"):
        out = ["--out", f"{name}.csv", "--out-encoding", name, "--save-policy", f"{name}.toml"]
        ended = kanon("anonymize", "t.csv", *options, *out)
        assert ended.code == 0, ended.err
        assert released(in_tmp / f"{name}.csv", name) == expected("gb18030")
        for command in ("check", "measure", "attack"):
            assert kanon(command, "--policy", f"{name}.toml").code == 0
    # Other formats are UTF-8, whatever was read.
    assert kanon("anonymize", "t.csv", *options, "--out", "o.json").code == 0
    assert {row["病种"] for row in json.loads(Path("o.json").read_text(encoding="utf-8"))} == set(TEXTS["gb18030"][2])


@pytest.mark.usefixtures("private")
def test_characters_that_an_encoding_lacks(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "t.csv", "gb18030")
    before, out = sorted(in_tmp.iterdir()), ["--out", "o.csv", "--out-encoding", "cp1252"]
    ended = kanon("anonymize", "t.csv", *options_for("gb18030"), "--encoding", "gb18030", *out)
    assert ended.code == 2
    assert "cp1252 lacks characters that the release has" in ended.err
    assert "--out-encoding utf-8" in ended.err
    assert not any(disease in ended.err for disease in TEXTS["gb18030"][2])
    assert sorted(in_tmp.iterdir()) == before


def test_options_that_would_be_ignored(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "t.csv", "utf-8-sig")
    ended = kanon("anonymize", "t.csv", *options_for("utf-8-sig"), "--out", "o.json", "--out-encoding", "cp1252")
    assert ended.code == 2
    assert "--out-encoding is for a CSV file" in ended.err


@pytest.mark.thorough
def test_the_command_line_over_the_policy_file(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "t.csv", "gb18030")
    assert kanon("init", "t.csv", "--encoding", "gb18030").code == 0
    text = Path("kanon.toml").read_text(encoding="utf-8")
    assert 'encoding = "gb18030"' in text
    Path("kanon.toml").write_text(text.replace("gb18030", "cp1251"), encoding="utf-8")
    by_file = kanon("lattice", "--policy", "kanon.toml")
    assert by_file.code != 0
    ended = kanon("lattice", "--policy", "kanon.toml", "--encoding", "gb18030")
    assert "is not valid" not in ended.err
    assert "has no column" not in ended.err


@pytest.mark.parametrize("section", ['[source]\nfrom = "t.csv"', '[release]\nout = "t.csv"'])
@pytest.mark.parametrize("setting", ['encoding = "nope"', 'DECIMAL = ";"', "encoding = 1"])
def test_what_a_policy_file_may_not_say(section: str, setting: str, in_tmp: Path) -> None:
    setting = setting.replace("DECIMAL", "decimal_separator" if "source" in section else "decimal")
    (in_tmp / "kanon.toml").write_text(f"{section}\n{setting}\n", encoding="utf-8")
    with pytest.raises(PolicyError, match=r"nope|decimal sign|must be a text"):
        kanon.read_policy(in_tmp / "kanon.toml")


def test_commands_that_are_proposed_state_the_encoding(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "t.csv", "latin-1")
    ended = kanon("profile", "t.csv", "--encoding", "latin-1")
    assert ended.code == 0, ended.err
    assert "--read encoding=iso8859-1" in ended.out


def test_the_script_says_what_to_convert(in_tmp: Path, private: Path, kanon: Callable[..., Ended]) -> None:
    """DuckDB reads and writes UTF-8: the script is that of a file in UTF-8, and says which encodings it came from."""
    write(in_tmp / "t.csv", "gb18030")
    options = [*options_for("gb18030"), "--encoding", "gb18030", "--out", "o.csv"]
    ended = kanon("anonymize", "t.csv", *options, "--sql")
    assert ended.code == 0, ended.err
    assert str(private) not in ended.out
    assert "/* Before this, make the file plain UTF-8: encoding=gb18030 */" in ended.out
    assert "/* After the checks below, convert o.csv to gb18030 */" in ended.out
    (in_tmp / "t.csv").write_text(text_of("gb18030"), encoding="utf-8")
    duckdb.connect().execute(ended.out)
    assert released(in_tmp / "o.csv", "utf-8") == expected("gb18030")


@pytest.mark.thorough
def test_statements_name_no_private_file(in_tmp: Path, private: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "t.csv", "gb18030")
    for command in (["profile"], ["anonymize", *options_for("gb18030")]):
        sql = "--sql=all" if command[0] == "anonymize" else "--sql"
        ended = kanon(command[0], "t.csv", *command[1:], "--encoding", "gb18030", sql)
        assert ended.code == 0, ended.err
        assert str(private) not in ended.out + ended.err


def test_the_ledger_names_the_file_itself(in_tmp: Path) -> None:
    path = write(in_tmp / "t.csv", "gb18030")
    opened = open_source(DataFile(path, encoding="gb18030"))
    with opened.engine:
        assert opened.file == path


@pytest.mark.thorough
def test_an_original_that_is_no_text(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    write(in_tmp / "t.csv", "gb18030")
    assert kanon("anonymize", "t.csv", *options_for("gb18030"), "--encoding", "gb18030", "--out", "o.csv").code == 0
    opened = open_source(DataFile("t.csv", encoding="gb18030"))
    with opened.engine as engine:
        relation = f'"{opened.relation.name}"'
        engine.connection.execute(f"COPY {relation} TO 't.parquet'")
        engine.connection.execute(f"ATTACH 't.duckdb' AS d; CREATE TABLE d.t AS FROM {relation}; DETACH d")
    given = ["--qi", "年龄", "-k", 5, "--hierarchy", "年龄=intervals:10", "--encoding", "gb18030"]
    for original in ("t.parquet", "t.duckdb"):
        ended = kanon("attack", "o.csv", "--original", original, *given)
        assert ended.code == 0, ended.err


@pytest.mark.thorough
def test_a_file_beside_one_in_another_encoding(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """A release in UTF-8 beside an original in another encoding, and the other way round."""
    write(in_tmp / "t.csv", "gb18030")
    options = [*options_for("gb18030"), "--encoding", "gb18030"]
    assert kanon("anonymize", "t.csv", *options, "--out", "o.csv", "--out-encoding", "utf-8").code == 0
    ended = kanon("attack", "o.csv", "--original", "t.csv", "--qi", "年龄", "-k", 5, "--encoding", "gb18030")
    assert ended.code == 0, ended.err


def test_a_frame_has_no_encoding() -> None:
    with pytest.raises(KanonError):
        kanon.anonymize(DataFile("https://example.org/t.csv", encoding="cp1252"), quasi_identifiers=["a"])
