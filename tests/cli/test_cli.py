"""The command line: exit codes, what goes to stdout and what to stderr, names with commas and equals signs."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import files_in, tables_of
from rows import create_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

RELEASE = ("--id", "name,id", "--qi", "age,sex,zip", "--sensitive", "disease", "-k", 4, "--max-suppressed", 0.2)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_stdout_is_data_and_stderr_is_talk(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("anonymize", clinic, "patients", *RELEASE, "--out", "a.csv", "--format", "json")
    assert ended.code == 0
    assert {
        "algorithm", "levels", "rows_in", "rows_out", "rows_suppressed", "classes", "k", "models", "measures",
        "optimal", "nodes_tested", "lattice_size", "seconds",
    } <= ended.json.keys()  # fmt: skip
    assert {"loss", "precision", "gcp", "discernibility", "average_class_size"} <= ended.json["measures"].keys()
    assert "age: no hierarchy was given; intervals:5,10,20:top=90 was chosen, as kanon init would." in ended.err
    quiet = kanon("anonymize", clinic, "patients", *RELEASE, "--out", "b.csv", "-q", "--format", "json")
    assert quiet.err == ""
    loud = kanon("anonymize", clinic, "patients", *RELEASE, "--out", "c.csv", "-v", "--format", "json")
    assert "test node" in loud.err
    assert loud.json["levels"] == quiet.json["levels"] == ended.json["levels"]


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_for_people_the_same_figures_in_words(clinic: Path, kanon: Callable[..., Ended]) -> None:
    found = kanon("anonymize", clinic, "patients", *RELEASE, "--out", "released.csv", "--format", "json").json
    ended = kanon("anonymize", clinic, "patients", *RELEASE, "--into", "released")
    assert ended.out.startswith("patients -> released\n")
    suppressed = found["rows_suppressed"]
    for words in (
        f"60 in, {60 - suppressed} out, {suppressed} suppressed ({suppressed / 60:.2%})",
        f"k = 4 holds in the output: smallest class has {found['k']} rows",
        f"{found['measures']['loss']:.4f}, proven optimal",
        "left out     name, id",
    ):
        assert words in ended.out, words
    assert suppressed > 0


SEX = "anonymize clinic.duckdb --qi sex --rest drop --into x"
AGE = "anonymize clinic.duckdb --qi age --rest drop --into x"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("", 2, ""),
        ("frobnicate", 2, "No such command 'frobnicate'"),
        ("anonymize", 2, "Say which table is meant"),
        ("anonymize clinic.duckdb --qi age --rest drop", 2, "Say where the release should go"),
        ("anonymize clinic.duckdb --rest drop --into x", 2, "No quasi-identifier was named"),
        ("anonymize clinic.duckdb --qi age --into x", 2, "These columns have no role: 'id', 'name'"),
        ("anonymize clinic.duckdb --qi agee --into x", 2, "has no column 'agee'. It has: id, name, age"),
        (f"{AGE} --id age", 2, "two roles"),
        (f"{SEX} --entity sex", 2, "names the person"),
        (f"{AGE} --out y.csv", 2, "one place"),
        (f"{AGE} -k 0", 2, "at least 1"),
        (f"{AGE} -k many", 2, "-k takes a whole number"),
        (f"{AGE} --max-suppressed 2", 2, "between 0 and 1"),
        (f"{AGE} --rest burn", 2, "'keep', 'drop'"),
        (f"{AGE} --hierarchy age", 2, "is written COLUMN=FILE"),
        (f"{AGE} --hierarchy agee=flat", 2, "column 'agee', which patients does not have"),
        (f"{AGE} --hierarchy sex=flat", 2, "which is not a quasi-identifier"),
        (f"{AGE} --hierarchies nowhere", 3, "There is no directory"),
        (f"{AGE} -k 61", 4, "fewer than 61 rows (it has 60 rows)"),
        (f"{SEX} -k 61 --max-suppressed 1", 4, "61-anonymous"),
        (f"{SEX} -k 3 --entity disease", 4, "fewer than 3 different people"),
        ("check clinic.duckdb --qi age -k 2", 1, ""),
        ("check clinic.duckdb -k 2", 2, "No quasi-identifier"),
        ("check clinic.duckdb --qi sex -k 2 --id name", 1, ""),
        ("check clinic.duckdb --qi sex --keep id,name,age,zip -k 20", 0, ""),
        ("hierarchy show clinic.duckdb age", 2, "Say which hierarchy"),
        ("hierarchy show none.csv", 3, "does not exist"),
        ("hierarchy list none.duckdb", 3, "does not exist"),
        ("hierarchy load clinic.duckdb age=flat", 2, "kanon hierarchy build makes hierarchies by rules"),
        ("hierarchy build clinic.duckdb age=a.csv", 2, "kanon hierarchy load reads files"),
        ("hierarchy build clinic.duckdb patients", 2, "at least one COLUMN="),
        ("demo --rows 100000001", 2, "from 0 to 100,000,000"),
        ("demo --out clinic.duckdb", 2, "was not made by kanon demo"),
    ],
)
def test_exit_codes_and_one_line_errors_that_leave_everything_as_it_was(
    clinic: Path, in_tmp: Path, kanon: Callable[..., Ended], line: str, code: int, says: str
) -> None:
    before, files = tables_of(clinic), files_in(in_tmp)
    ended = kanon(*shlex.split(line))
    assert ended.code == code, ended.err
    assert says in ended.err
    assert "Traceback" not in ended.err
    assert len([line for line in ended.err.splitlines() if line.startswith("error:")]) == (1 if says else 0)
    assert tables_of(clinic) == before
    assert files_in(in_tmp) == files


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_an_empty_table_gives_an_empty_release(kanon: Callable[..., Ended]) -> None:
    with duckdb.connect("empty.duckdb") as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR, c DATE)")
    ended = kanon("anonymize", "empty.duckdb", "--qi", "a,b,c", "--into", "released", "--format", "json")
    assert ended.code == 0
    assert "t has no rows; the release has none either." in ended.err
    assert (ended.json["rows_out"], ended.json["k"], ended.json["optimal"]) == (0, None, True)
    assert ended.json["models"][0]["holds"] is True
    with duckdb.connect("empty.duckdb", read_only=True) as connection:
        assert connection.table("released").columns == ["a", "b", "c"]
    assert kanon("check", "empty.duckdb", "t", "--qi", "a").code == 0


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_names_with_commas_and_equals_signs(kanon: Callable[..., Ended]) -> None:
    names = ["a,b", "c=d", "e", 'f"g']
    with duckdb.connect("odd.duckdb") as connection:
        create_table(connection, "t", {name: ("BIGINT", [0, 1] * 5) for name in names})
    ended = kanon(
        "anonymize", "odd.duckdb", "--qi", '"a,b",c=d', "--qi", "E", "--qi", 'f"g', "--hierarchy", '"c=d"=flat',
        "--into", "released", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert list(ended.json["levels"]) == names
    assert ended.json["hierarchies"]["c=d"] == {"origin": "flat", "chosen": False}
    assert kanon("check", "odd.duckdb", "t", "--qi", '"a,b"').code == 0
    both = kanon("check", "odd.duckdb", "t", "--qi", "a,b")
    assert (both.code, "has no column 'a'" in both.err) == (2, True)


def test_a_table_may_be_left_out_where_there_is_one_only(clinic: Path, kanon: Callable[..., Ended]) -> None:
    assert kanon("check", clinic, "--qi", "sex", "--keep", "id,name,age,zip").code == 0
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE other AS SELECT 1 AS sex")
    ended = kanon("check", clinic, "--qi", "sex")
    assert ended.code == 2
    assert "has 2 tables and views: name the one to use. There: other, patients." in ended.err


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_hierarchies_are_loaded_listed_shown_and_used(clinic: Path, kanon: Callable[..., Ended]) -> None:
    Path("sexes.csv").write_text("F;person\nM;person\n", encoding="utf-8")
    assert kanon("hierarchy", "load", clinic, "patients", "sex=sexes.csv").code == 0
    assert kanon("hierarchy", "build", clinic, "age=intervals:10,20:top=90").code == 0
    again = kanon("hierarchy", "build", clinic, "age=flat")
    assert again.code == 2
    assert "--replace it" in again.err
    listed = kanon("hierarchy", "list", clinic, "--format", "json").json
    assert [(found["name"], found["levels"], found["origin"]) for found in listed] == [
        ("age", 3, "intervals:10,20:top=90"),
        ("sex", 1, "sexes.csv"),
    ]
    shown = kanon("hierarchy", "show", clinic, "sex", "--format", "json").json
    assert shown["rows"] == [[None, "person"], ["F", "person"], ["M", "person"]]
    with duckdb.connect(str(clinic), read_only=True) as connection:
        assert connection.table("kanon.hierarchy_sex").columns == ["value", "level_1", "code"]
        codes = connection.execute("SELECT value, code FROM kanon.hierarchy_sex ORDER BY code").fetchall()
        assert codes == [(None, 0), ("F", 1), ("M", 2)]
    ended = kanon(
        "anonymize", clinic, "patients", "--qi", "sex,age", "--rest", "drop", "--into", "r", "--format", "json"
    )
    assert ended.json["hierarchies"] == {
        "sex": {"origin": "sexes.csv", "chosen": False},
        "age": {"origin": "intervals:10,20:top=90", "chosen": False},
    }
    script = kanon("hierarchy", "build", clinic, "patients", "zip=mask", "--sql")
    with duckdb.connect(str(clinic)) as connection:
        connection.execute(script.out)
    listed = kanon("hierarchy", "list", clinic, "--format", "json").json
    assert [found["name"] for found in listed] == ["age", "sex", "zip"]


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_built_hierarchy_can_be_written_edited_and_given_back(clinic: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("UPDATE patients SET zip = NULL WHERE id = 1")
        connection.execute("UPDATE patients SET zip = '' WHERE id = 2")
    assert kanon("hierarchy", "build", clinic, "zip=mask:right:2,4", "--out", "zip.csv").code == 0
    lines = Path("zip.csv").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["value;level_1;level_2;level_3", ";*;*;*", '"";*****;*****;*']
    assert kanon("hierarchy", "build", clinic, "zip=mask", "--out", "zip.csv").code == 2
    ended = kanon(
        "anonymize",
        clinic,
        "--qi",
        "zip",
        "--rest",
        "drop",
        "--hierarchy",
        "zip=zip.csv",
        "--into",
        "r",
        "--format",
        "json",
    )
    assert ended.code == 0, ended.err
    assert ended.json["hierarchies"]["zip"]["origin"] == "zip.csv"


@pytest.mark.thorough
def test_as_a_program_of_its_own(clinic: Path) -> None:
    """The installed command, in a process: version, a pipe whose reader has seen enough, no traceback."""
    kanon = Path(sys.executable).parent / "kanon"
    version = subprocess.run([kanon, "--version"], capture_output=True, text=True, check=True)  # noqa: S603 - our own
    assert version.stdout.startswith("kanon-sql 0.")
    pipe = f"'{kanon}' anonymize '{clinic}' --qi zip --rest drop --sql=all -q | head -n 1"
    piped = subprocess.run(pipe, shell=True, capture_output=True, text=True, check=False)  # noqa: S602 - our own
    assert piped.stderr.startswith("The statements before the script can hold values of all rows as they are")
    assert piped.stderr.count("\n") == 1
    assert piped.stdout.startswith("-- ")
