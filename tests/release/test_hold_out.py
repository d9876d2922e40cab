"""``anonymize --hold-out``: who is kept apart, that they are not in the release, and where it is refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon_of
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.release.hold_out import held_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ROWS = (
    *("--count", "rows", "--qi", "zip", "-k", 2, "--hierarchy", "zip=mask:right:1", "--rest", "keep"),
    *("--keep", "ward", "--keep", "person"),
)


def stays(people: int = 20, each: int = 3) -> pd.DataFrame:
    """Return stays of people who have ``each`` of them; a ward tells no one apart."""
    rows = [(f"p{person}", f"{person % 4}{stay}", f"w{stay}") for person in range(people) for stay in range(each)]
    return pd.DataFrame(rows, columns=["person", "zip", "ward"])


def rows_of(relation: duckdb.DuckDBPyRelation) -> Counter[Any]:
    return Counter(relation.fetchall())


@given(
    values=st.lists(
        st.tuples(st.sampled_from(["a", "b", None, 'it\'s "x"']), st.sampled_from(["u", None])), min_size=2, max_size=30
    ),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 5),
)
@examples(25)
def test_rows_are_either_held_out_or_released_and_their_number_is_the_share(
    values: list[tuple[str | None, str | None]], share: float, seed: int
) -> None:
    frame = pd.DataFrame(values, columns=["select", "日本"], dtype="string")  # typed where all are NULL, too
    number = int(share * len(values) + 0.5)
    asked: dict[str, Any] = {
        "quasi_identifiers": ["select"], "insensitive": ["日本"], "count": "rows", "k": 1,
        "hierarchies": {"select": "flat"}, "hold_out": share, "seed": seed,
    }  # fmt: skip
    if not 0 < number < len(values):
        with pytest.raises(kanon_of.UsageError, match="leaves none for one side"):
            kanon_of.anonymize(frame, **asked)
        return
    with kanon_of.anonymize(frame, **asked) as release:
        source = release.prepared.source
        assert source.held_out is not None
        kept = Counter(source.engine.connection.table(source.held_out.relation.name).fetchall())
        rest = Counter(source.engine.connection.table(source.relation.name).fetchall())
        assert (release.rows_in, source.held_out.rows) == (len(values) - number, number)
    assert kept.total() == number
    assert kept + rest == Counter((one, other) for one, other in values)


@pytest.mark.thorough
def test_all_rows_of_a_person_are_held_out_whatever_the_order_of_the_table() -> None:
    found = []
    for frame in (stays(), stays()[::-1]):
        with kanon_of.anonymize(
            frame, quasi_identifiers=["zip"], entity="person", insensitive=["ward"], k=2, hold_out=0.25,
            max_suppressed=1, hierarchies={"zip": "mask:right:1"},
        ) as release:  # fmt: skip
            held = release.prepared.source.held_out
            assert held is not None
            assert (held.people, held.rows, release.rows_in) == (5, 15, 45)
            rows = release.prepared.source.engine.connection.table(held.relation.name).fetchall()
            found.append({person for person, *_ in rows})
    assert len(found[0]) == 5
    assert found[0] == found[1]


def test_equal_rows_are_drawn_one_by_one() -> None:
    """Of 100 equal rows a half is held out, not all or none."""
    frame = pd.DataFrame({"zip": ["a"] * 100})
    with kanon_of.anonymize(frame, quasi_identifiers=["zip"], count="rows", k=2, hold_out=0.5) as release:
        assert release.rows_in == 50


@pytest.mark.thorough
def test_the_draw_is_even_over_seeds() -> None:
    """Each of 10 people is held out in half of 200 draws: 70 to 130 of them, at 4 standard deviations."""
    often: Counter[str] = Counter()
    with duckdb.connect() as connection:
        connection.from_df(pd.DataFrame({"zip": list("abcdefghij")})).create("t")
        source = open_source(connection, "t")
        for seed in range(200):  # by what anonymize calls: 200 releases take 20 seconds
            held = held_out(source, kanon_of.Policy(seed=seed), 0.5).held_out
            assert held is not None
            often.update(value for (value,) in connection.table(held.relation.name).fetchall())
    assert all(70 <= often[value] <= 130 for value in "abcdefghij"), often


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "ward.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.from_df(stays()).create("stays")
    return file


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_writes_who_is_not_in_the_release(
    kanon: Callable[..., Ended], database: Path, tmp_path: Path, suffix: str
) -> None:
    kept = tmp_path / f"kept.{suffix}"
    ended = kanon(
        "anonymize", database, "stays", *ROWS, "--into", "released", "--hold-out", "10%", "--control", kept,
        "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.json["held_out"] == {"rows": 6, "people": None, "file": str(kept)}
    assert ended.json["rows_in"] == 54
    reader = duckdb.read_csv if suffix == "csv" else duckdb.read_parquet
    held = Counter((person, ward) for person, _, ward in reader(str(kept)).fetchall())
    with duckdb.connect(str(database)) as connection:
        released = rows_of(connection.table("released").project("person, ward"))
        everybody = rows_of(connection.table("stays").project("person, ward"))
    assert held.total() == 6
    assert released + held <= everybody
    attacked = kanon(
        "attack", database, "released", "--original", "stays", "--control", kept, "--count", "rows", "--qi", "zip",
        "--hierarchy", "zip=mask:right:1", "--format", "json",
    )  # fmt: skip
    assert attacked.json["rows_in"] == 54
    assert attacked.json["control"] == f"kept.{suffix}"


@pytest.mark.thorough
def test_it_is_said_that_held_out_people_are_not_in_the_release(
    kanon: Callable[..., Ended], database: Path, tmp_path: Path
) -> None:
    ended = kanon(
        "anonymize", database, "stays", "--entity", "person", *ROWS[2:-2], "--max-suppressed", 1, "--out",
        tmp_path / "released.csv", "--hold-out", 0.25, "--control", tmp_path / "kept.csv",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "15 rows of 5 people: they are not in the release" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--hold-out", 0.1), "give both, or neither"),
        (("--control", "kept.csv"), "give both, or neither"),
        (("--hold-out", 1.5, "--control", "kept.csv"), ""),
        (("--hold-out", 0, "--control", "kept.csv"), "above 0 and below 1"),
        (("--hold-out", 0.001, "--control", "kept.csv"), "leaves none for one side"),
        (("--hold-out", 0.1, "--control", "kept.txt"), "a file .parquet or .csv"),
        (("--hold-out", 0.1, "--control", "released.csv"), "would be written twice"),
        (("--hold-out", 0.1, "--control", "ward.duckdb"), "a file .parquet or .csv"),
        (("--hold-out", 0.1, "--control", "there.csv"), "exists already"),
        (("--hold-out", 0.1, "--control", "none/kept.csv"), "does not exist"),
        (("--hold-out", 0.1, "--control", "kept.csv", "--prepare", "zip=trim"), "are prepared"),
        (("--hold-out", 0.1, "--control", "kept.csv", "--report", "report.html"), "--report"),
        (("--hold-out", 0.1, "--control", "kept.csv", "--save-policy", "kanon.toml"), "--save-policy"),
    ],
)
def test_what_cannot_be_held_out_is_refused_and_nothing_is_written(
    kanon: Callable[..., Ended],
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[Any, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").touch()
    before = sorted(tmp_path.iterdir())
    ended = kanon("anonymize", database.name, "stays", *ROWS, "--out", "released.csv", *options)
    assert ended.code in {2, 3}
    assert message in " ".join(ended.err.split())
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("destination", [("--in-place", "--no-backup"), ("--into", "v", "--as", "view"), ("--sql",)])
def test_destinations_that_would_show_or_lose_them_are_refused(
    kanon: Callable[..., Ended], database: Path, tmp_path: Path, destination: tuple[str, ...]
) -> None:
    kept = tmp_path / "kept.csv"
    ended = kanon("anonymize", database, "stays", *ROWS, *destination, "--hold-out", 0.1, "--control", kept)
    assert ended.code == 2
    assert not kept.exists()
    with duckdb.connect(str(database)) as connection:
        assert connection.table("stays").fetchall() == duckdb.from_df(stays()).fetchall()


def test_where_no_release_can_be_made_nobody_is_written(
    kanon: Callable[..., Ended], database: Path, tmp_path: Path
) -> None:
    ended = kanon(
        "anonymize", database, "stays", "--count", "rows", "--qi", "zip", "-k", 60, "--max-suppressed", 0, "--rest",
        "drop", "--out", tmp_path / "released.csv", "--hold-out", 0.5, "--control", tmp_path / "kept.csv",
    )  # fmt: skip
    assert ended.code == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ward.duckdb"]


def publish(file: Path, into: str, share: float | None, **asked: Any) -> None:
    """Publish a release of the stays, of which a share is held out, to a table."""
    ignore = asked.pop("ignore_ledger", False)
    asked = {
        "quasi_identifiers": ["zip"], "insensitive": ["ward"], "rest": "drop", "count": "rows", "k": 2,
        "hierarchies": {"zip": "mask:right:1"}, "max_suppressed": 0,
    } | asked  # fmt: skip
    with kanon_of.anonymize(file, "stays", hold_out=share, **asked) as release:
        release.to_table(into, ignore_ledger=ignore)


@pytest.mark.quick("0.1-None-None", "None-0.1-None")
@pytest.mark.parametrize(
    ("first", "second", "change"),
    [
        (0.1, None, None),
        (None, 0.1, None),
        (0.1, 0.2, None),
        (0.1, 0.1, "INSERT INTO stays VALUES ('p20', '01', 'w1')"),
        (0.1, 0.1, "UPDATE stays SET ward = 'w9' WHERE ward = 'w1'"),  # neither quasi-identifier nor sensitive
    ],
)
def test_the_ledger_refuses_releases_if_rows_held_out_of_one_may_be_in_the_other(
    database: Path, first: float | None, second: float | None, change: str | None
) -> None:
    """Their difference would show people who were held out. Fails before issue 52 if the second one holds out none."""
    publish(database, "one", first)
    if change is not None:
        with duckdb.connect(str(database)) as connection:
            connection.execute(change)
    with pytest.raises(
        kanon_of.JointReleaseError, match=r"held out of one of the two.* same seed.*\(ignore_ledger=True\)"
    ):
        publish(database, "two", second)
    publish(database, "two", second, ignore_ledger=True)
    remembered = [each.entry.hold_out for each in kanon_of.ledger(database)]
    assert [apart is not None for apart in remembered] == [first is not None, second is not None]


@pytest.mark.thorough
def test_the_ledger_refuses_another_seed_if_rows_differ_in_a_published_column_only(database: Path) -> None:
    """Fails before issue 52: only quasi-identifiers and sensitive columns were compared, which are the same in both."""
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE OR REPLACE TABLE stays AS SELECT '00' AS zip, i AS ward FROM range(60) n(i)")
    publish(database, "one", 0.02, seed=1)
    with pytest.raises(kanon_of.JointReleaseError, match="held out of one of the two"):
        publish(database, "two", 0.02, seed=2)


@pytest.mark.thorough
def test_the_ledger_compares_releases_of_which_the_same_rows_are_held_out(database: Path) -> None:
    """They are two releases of one table: nested ones go together, and classes that cut each other do not."""
    publish(database, "one", 0.1, levels={"zip": 1}, k=10)
    publish(database, "above", 0.1, levels={"zip": 2}, k=10)
    with pytest.raises(
        kanon_of.JointReleaseError, match=r"leaves 54 rows of stays among fewer than 10 \(the fewest are"
    ):
        publish(database, "cut", 0.1, quasi_identifiers=["ward"], insensitive=[], hierarchies={}, k=10)
    assert [each.entry.name for each in kanon_of.ledger(database)] == ["one", "above"]


@pytest.mark.thorough
def test_the_ledger_warns_if_a_release_with_other_rows_held_out_is_replaced(
    kanon: Callable[..., Ended], database: Path, tmp_path: Path
) -> None:
    """As of every replaced release that cannot be compared; and it says how many rows of a table were held out."""
    asked = ("anonymize", database, "stays", *ROWS, "--into", "one", "--replace")
    assert kanon(*asked, "--hold-out", 0.1, "--control", tmp_path / "kept.csv").code == 0
    ended = kanon(*asked, "--format", "json")
    assert ended.code == 0, ended.err
    (warning,) = ended.json["ledger"]["warnings"]
    assert "which was replaced, cannot be checked: rows were held out of one of the two (--hold-out)" in warning
    assert "stays not compared: 6 rows held out" in " ".join(kanon("ledger", database).out.split())


@pytest.mark.thorough
def test_the_library_writes_them(tmp_path: Path) -> None:
    with kanon_of.anonymize(
        stays(), quasi_identifiers=["zip"], rest="drop", count="rows", k=2, hold_out=0.5
    ) as release:
        assert release.held_out_to_file(tmp_path / "kept.parquet") == 30
        with pytest.raises(kanon_of.UsageError, match="exists already"):
            release.held_out_to_file(tmp_path / "kept.parquet")
        with pytest.raises(kanon_of.UsageError, match="held out"):
            release.sql()
        with pytest.raises(kanon_of.UsageError, match="held out"):
            kanon_of.report(release)
    assert len(duckdb.read_parquet(str(tmp_path / "kept.parquet")).fetchall()) == 30
    with (
        kanon_of.anonymize(stays(), quasi_identifiers=["zip"], rest="drop", count="rows", k=2) as release,
        pytest.raises(kanon_of.UsageError, match="hold_out"),
    ):
        release.held_out_to_file(tmp_path / "none.csv")


def test_null_and_an_empty_text_are_two_rows() -> None:
    """Fails before: a NULL and an empty text of a table with one column had one place in the drawn order."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT unnest(['', NULL, '', NULL, '', NULL, 'x', 'x', 'x', 'x']) AS q")
    release = kanon_of.anonymize(connection, "t", quasi_identifiers=["q"], k=1, hold_out=0.4)
    held = release.prepared.source.held_out
    assert held is not None
    assert (held.rows, release.rows_in) == (4, 6)
