"""What pseudonyms tie together: by hand, and against plain Python that knows nothing of SQL."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon
from kanon_sql.engine.base import Column
from kanon_sql.errors import VerificationError
from kanon_sql.release.verify.pseudonyms import net_query, signature_query
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render

if TYPE_CHECKING:
    from pathlib import Path

    from sqlglot import exp

Rows = list[dict[str, Any]]


def publish(rows: Rows, k: int = 2, pseudonymize: tuple[str, ...] = ("who",), **asked: Any) -> dict[str, Any]:
    """Publish rows whose only quasi-identifier is g; return the summary.

    By Mondrian, which leaves nobody out because of pseudonyms, so that the check of what was made is what refuses.
    """
    models = asked.pop("models", [kanon.KAnonymity(k)])
    people = any(getattr(model, "entity", None) for model in models)
    count: Any = "people" if people or "entity" in asked else "rows"
    with (
        kanon.anonymize(
            pd.DataFrame(rows), quasi_identifiers=["g"], pseudonymize=pseudonymize, rest="keep", models=models,
            count=count, hierarchies={"g": "flat"}, max_suppressed=0.0, algorithm="mondrian", **asked,
        ) as release
    ):  # fmt: skip
        published = release.verify()
        assert [tied.column for tied in published.pseudonyms] == [name for name in rows[0] if name in pseudonymize]
        return release.summary() | {"tied": published.pseudonyms}


def table(text: str, *columns: str) -> Rows:
    """Return rows written as words, with - for NULL."""
    words = [None if word == "-" else word for word in text.split()]
    lines = [words[start : start + len(columns)] for start in range(0, len(words), len(columns))]
    return [dict(zip(columns, line, strict=True)) for line in lines]


# Ann and Bob were in both houses, Cy and Di in the first one only, Ed and Flo twice in the second one.
ALIKE = "Ann x Ann y Bob y Bob x Cy x Di x Ed y Ed y Flo y Flo y"


def test_what_people_share_by_hand() -> None:
    (tied,) = publish(table(ALIKE, "who", "g"))["tied"]
    assert (tied.pseudonyms, tied.several, tied.signatures, tied.fewest, tied.failing) == (6, 4, 3, 2, 0)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("rows", "failing"),
    [
        (ALIKE + " Gus x", 0),  # like Cy and Di
        (ALIKE + " - x - y", 0),  # nobody's rows are tied to nothing
        (ALIKE.replace("Bob x", "Bob y"), 1),  # Bob is like Ed and Flo now, Ann is alone
        (ALIKE.replace("Flo y Flo y", "Flo y"), 2),  # Ed was there twice, Flo once
        (ALIKE.replace("Di x", "- x"), 1),  # Cy is the only one who was in the first house and has a name
    ],
)
def test_a_combination_of_classes_that_few_have_is_refused(rows: str, failing: int) -> None:
    if not failing:
        publish(table(rows, "who", "g"))
        return
    with pytest.raises(VerificationError, match=f"{failing} of . pseudonyms of column 'who'") as caught:
        publish(table(rows, "who", "g"))
    assert "fewer than 2 pseudonyms have (the rarest: 1)" in str(caught.value)
    assert not any(name in str(caught.value) for name in ("Ann", "Bob", "Cy", "Di", "Ed", "Flo"))


@pytest.mark.thorough
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "db.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", pd.DataFrame(table("Ann x Ann y Bob x Cy y", "who", "g")))
        connection.execute("CREATE TABLE t AS FROM frame")
    with kanon.anonymize(
        path,
        quasi_identifiers=["g"],
        pseudonymize=["who"],
        models=[kanon.KAnonymity(2)],
        algorithm="mondrian",
        count="rows",
    ) as release:
        for publishing in (
            lambda: release.to_table("r"),
            lambda: release.to_file(tmp_path / "r.csv"),
            release.to_pandas,
        ):
            with pytest.raises(VerificationError):
                publishing()
        made = release.prepared.source.engine.connection.execute("SELECT view_name FROM duckdb_views()").fetchall()
        assert not [name for (name,) in made if name.startswith("kanon_pseud")]
    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
    assert [file.name for file in tmp_path.iterdir()] == ["db.duckdb"]


PATIENTS_AND_VISITS = "Ann 1 x Ann 2 y Bob 3 x Bob 4 y"


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (PATIENTS_AND_VISITS, None),  # one column ties, the other one does not
        ("Ann 1 x Ann 1 y Bob 2 x Bob 2 y", None),  # both tie the same rows
        ("Ann 1 x Ann 1 y Bob 2 x Bob 3 y", "'who'"),  # Ann's rows are tied twice, and Bob's are not
        ("Ann - x Ann - y Bob - x Bob - y", None),
        ("Ann 1 x Ann - y Bob 2 x Bob - y", None),
        ("Ann 1 x Ann - y Bob - x Bob 2 y", "'who'"),  # which row has the second pseudonym is seen
        ("Ann 1 x Ann 2 y Bob 2 x Bob 1 y", "4 rows are tied to some rows"),  # a net of patients and doctors
        ("Ann Bob x Bob Ann x", "2 pseudonyms stand in both"),
        ("Ann Ann x Bob Bob x", "2 pseudonyms stand in both"),
    ],
)
def test_two_pseudonyms_in_a_row(rows: str, error: str | None) -> None:
    asked: dict[str, Any] = {"pseudonymize": ("who", "also")}
    if error is None:
        publish(table(rows, "who", "also", "g"), **asked)
        return
    with pytest.raises(VerificationError, match=error):
        publish(table(rows, "who", "also", "g"), **asked)


CASES = "a p x b p x c q x d q x"


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ("a p x b q x", None),
        ("n p x n q x m r x m s x", None),  # two people have the same name, which does no harm
        (CASES, "2 people have several, and 0"),  # four cases of two people
        ("a p x b q x c - x", "0 people have several, and 1"),
        ("a p x b q x - - x - p x", None),
    ],
)
def test_pseudonyms_count_people_where_a_column_names_them(rows: str, error: str | None) -> None:
    asked: dict[str, Any] = {"models": [kanon.KAnonymity(2, entity="person")]}
    if error is None:
        publish(table(rows, "who", "person", "g"), **asked)
        return
    with pytest.raises(VerificationError, match=error):
        publish(table(rows, "who", "person", "g"), **asked)


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ("Ann x flu Bob x cough Cy y flu Di y cough", None),
        ("Ann x flu Bob x cough - y flu - y cough", None),
        ("Ann x flu Ann x cough Bob x flu Bob x cough", "2 pseudonyms of column 'who' stand on several rows"),
        ("Ann x flu Bob x flu - x cough - x cough", "1 classes once the rows without a pseudonym"),
    ],
)
@pytest.mark.parametrize("choice", ["all-or-none", "greedy"])
def test_models_beyond_k(rows: str, error: str | None, choice: str) -> None:
    asked: dict[str, Any] = {
        "sensitive": ["disease"],
        "choice": choice,
        "models": [kanon.KAnonymity(2), kanon.DistinctLDiversity(2, sensitive="disease")],
    }
    if error is None:
        publish(table(rows, "who", "g", "disease"), **asked)
        return
    with pytest.raises(VerificationError, match=error):
        publish(table(rows, "who", "g", "disease"), **asked)


def passes(rows: Rows, names: tuple[str, ...], k: int) -> bool:
    """Tell whether the statements of the check let a table through, whose classes are what g and h say."""
    quasi_identifiers = [Column("g", "VARCHAR"), Column("h", "INTEGER")]
    relation = sql.relation("released")
    with duckdb.connect() as connection:
        texts = ", ".join(f"{name} VARCHAR" for name in names)
        connection.execute(f"CREATE TABLE released ({texts}, g VARCHAR, h INTEGER)")
        places = ", ".join(f"${name}" for name in (*names, "g", "h"))
        connection.executemany(f"INSERT INTO released VALUES ({places})", rows)  # noqa: S608 - names of our own

        def numbers(query: exp.Select) -> tuple[Any, ...]:
            (row,) = connection.execute(render(query, "duckdb")).fetchall()
            return row

        found = [numbers(signature_query(relation, quasi_identifiers, names, name, k)) for name in names]
        nets = [numbers(net_query(one, other, relation)) for one, other in combinations(names, 2)]
    for name, (pseudonyms, several, _, _, _) in zip(names, found, strict=True):
        counted = Counter(row[name] for row in rows if row[name] is not None)
        assert (pseudonyms, several) == (len(counted), sum(number > 1 for number in counted.values()))
    return not any(failing for *_, failing in found) and not any(map(any, nets))


VALUES = {"g": st.sampled_from(["x", "y", None]), "h": st.sampled_from([1, 2])}


@examples(40)
@given(
    rows=st.lists(
        st.fixed_dictionaries({"who": st.sampled_from(["a", "b", "c", "d", "e", None]), **VALUES}),
        min_size=1,
        max_size=14,
    ),
    k=st.integers(1, 3),
)
def test_one_column_against_plain_python(rows: Rows, k: int) -> None:
    classes: dict[Any, Counter[Any]] = defaultdict(Counter)
    for row in rows:
        if row["who"] is not None:
            classes[row["who"]][row["g"], row["h"]] += 1
    shared = Counter(frozenset(signature.items()) for signature in classes.values())
    assert passes(rows, ("who",), k) == all(number >= k for number in shared.values())


def shape(rows: Rows, names: tuple[str, ...], marked: tuple[str, Any]) -> Any:
    """Return what can be seen of some rows and one pseudonym among them: least of all orders, pseudonyms by number."""

    def seen(order: tuple[dict[str, Any], ...]) -> list[Any]:
        numbers: dict[Any, int] = {}
        lines = []
        for row in order:
            own = [-1 if row[name] is None else numbers.setdefault((name, row[name]), len(numbers)) for name in names]
            lines.append((repr((row["g"], row["h"])), *own, row[marked[0]] == marked[1]))
        return lines

    return min(seen(order) for order in permutations(rows))


def groups(rows: Rows, names: tuple[str, ...]) -> list[Rows]:
    """Return the rows that are tied to one another by any column, at any distance."""
    left, found = list(rows), []
    while left:
        group, grown = [left.pop()], True
        while grown:
            tied = [
                row
                for row in left
                if any(row[name] is not None and row[name] == other[name] for name in names for other in group)
            ]
            left = [row for row in left if not any(row is other for other in tied)]
            group += tied
            grown = bool(tied)
        found.append(group)
    return found


BLOCK = st.lists(
    st.fixed_dictionaries(
        {"who": st.sampled_from(["a", "b", None]), "also": st.sampled_from(["p", "q", "r", None]), **VALUES}
    ),
    min_size=1,
    max_size=4,
)


@examples(50)
@given(blocks=st.lists(st.tuples(BLOCK, st.integers(1, 3)), min_size=1, max_size=2), k=st.integers(2, 3))
def test_two_columns_whatever_is_published_has_k_of_the_same_shape(blocks: list[tuple[Rows, int]], k: int) -> None:
    """Nets may be refused that say nothing; but of what is published, every pseudonym looks like k - 1 others."""
    names, rows = ("who", "also"), []
    for number, (block, times) in enumerate(blocks):
        for copy in range(times):
            rows += [row | {name: row[name] and f"{row[name]}{number}{copy}" for name in names} for row in block]
    if not passes(rows, names, k):
        return
    seen: dict[str, list[Any]] = defaultdict(list)
    for group in groups(rows, names):
        for name in names:
            for value in {row[name] for row in group} - {None}:
                seen[name].append(shape(group, names, (name, value)))
    for shapes in seen.values():
        assert all(shapes.count(one) >= k for one in shapes)


def test_such_tables_are_published_now_and_then() -> None:
    """Else the property above would hold of nothing."""
    rows = table("a p x 1 a q y 1 b r x 1 b s y 1 - - x 1 - - y 2", "who", "also", "g", "h")
    assert passes(rows, ("who", "also"), 2)
