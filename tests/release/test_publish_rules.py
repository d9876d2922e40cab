"""Rules for columns that are kept: each is what its definition says, by plain Python on columns of all kinds."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import math
import random
import re
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from each import each
from rows import released_records, released_rows

import kanon_sql as kanon
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.policy.publish_rules import parse_publish_rules
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.release.microaggregation import group_starts, lost_share

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEY = b"a key that nobody knows, 32 byte"
ONE = [kanon.KAnonymity(1)]


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "pseudonyms.key"
    path.write_bytes(KEY)
    return path


def released(values: Sequence[Any], data_type: str, rule: str | list[str], **settings: Any) -> list[Any]:
    """Return what is published of values, in their order: of a table with one class."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (place INTEGER, who VARCHAR, v {data_type}, g INTEGER)")
        rows = [[place, f"p{place}", value, 1] for place, value in enumerate(values)]
        if rows:
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        roles: dict[str, Any] = {"quasi_identifiers": ["g"], "insensitive": ["place", "v"], "identifying": ["who"]}
        with kanon.anonymize(connection, "t", **roles, models=ONE, publish={"v": rule}, **settings) as release:
            frame = released_records(release)
        left = connection.execute("SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() "
                                  "WHERE NOT internal").fetchall()  # fmt: skip
        assert left == [("t",)]
    return [row["v"] for row in sorted(frame, key=lambda row: row["place"])]


def columns(kind: str) -> list[list[Any]]:
    """Return columns of numbers: random ones, with NULLs and ties, one value, none."""
    drawn = random.Random(kind)  # noqa: S311 - no secret

    def number() -> Any:
        whole = drawn.choice([drawn.randint(-300, 300), drawn.randint(-3, 3) * 50, 0, 90, 18, -25, 25])
        if kind == "INTEGER":
            return whole
        return Decimal(whole) + Decimal(drawn.randint(-99, 99)) / 100 if kind.startswith("DEC") else whole / 8

    ties = [number() for _ in range(4)]
    return [
        [drawn.choice([None, number(), drawn.choice(ties)]) for _ in range(80)],
        [number()] * 7,
        [None] * 5,
        [],
    ]


NUMBERS = ["INTEGER", "DECIMAL(9,2)", "DOUBLE"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("base", ["50", "7", "1"])
def test_round_is_the_nearest_multiple_with_halves_away_from_zero(kind: str, base: str) -> None:
    for values in columns(kind):
        found = released(values, kind, f"round:{base}")
        for value, rounded in zip(values, found, strict=True):
            if value is None:
                assert rounded is None
                continue
            times = (Decimal(value) / Decimal(base)).quantize(Decimal(1), ROUND_HALF_UP)
            assert Decimal(rounded) == times * Decimal(base)
            assert isinstance(rounded, type(value))


@pytest.mark.thorough
def test_round_of_fractions_and_of_what_is_no_number() -> None:
    assert released([0.26, -0.25, 0.1, math.inf], "DOUBLE", "round:0.1") == [0.3, -0.3, 0.1, math.inf]
    assert math.isnan(released([math.nan], "DOUBLE", "round:10")[0])
    assert released([Decimal("0.15"), Decimal("-0.15")], "DECIMAL(4,2)", "round:0.1") == [
        Decimal("0.2"),
        Decimal("-0.2"),
    ]
    assert released([2**62 + 1, -(2**62)], "BIGINT", "round:10") == [4611686018427387910, -4611686018427387900]
    assert released([7, 4], "UTINYINT", "round:10") == [10, 0]


@pytest.mark.thorough
@each(
    ("value", "data_type", "base"), [(127, "TINYINT", 10), (Decimal("99.99"), "DECIMAL(4,2)", 1), (255, "UTINYINT", 2)]
)
def test_what_is_rounded_to_a_number_that_the_type_does_not_have_is_refused(
    value: Any, data_type: str, base: int
) -> None:
    with pytest.raises(UsageError, match="rounds 1 values of column 'v' to numbers that its type"):
        released([value, None, 1], data_type, f"round:{base}")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(
    ("top", "bottom"), [("90", None), (None, "18"), ("90", "18"), ("90.5", "-25.25"), ("0", "-300")]
)
def test_top_and_bottom_codes(kind: str, top: str | None, bottom: str | None) -> None:
    rules = [f"top:{top}"] * (top is not None) + [f"bottom:{bottom}"] * (bottom is not None)
    for values in columns(kind):
        for value, coded in zip(values, released(values, kind, rules), strict=True):
            if value is None:
                assert coded is None
            elif top is not None and Decimal(value) >= Decimal(top):
                assert coded == f"{top}+"
            elif bottom is not None and Decimal(value) <= Decimal(bottom):
                assert coded == f"<={bottom}"
            elif kind == "DECIMAL(9,2)":
                assert coded == f"{value:.2f}"
            else:
                assert coded == str(value).replace("-0.0", "0.0")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("bounds", ["0,18,65", "0", "-25.5,0.25,90"])
def test_bins_are_half_open(kind: str, bounds: str) -> None:
    texts = bounds.split(",")
    for values in columns(kind):
        for value, found in zip(values, released(values, kind, f"bins:{bounds}"), strict=True):
            label = None
            if value is not None:
                below = [text for text in texts if Decimal(text) <= Decimal(value)]
                above = [text for text in texts if Decimal(text) > Decimal(value)]
                label = f"<{texts[0]}" if not below else f">={texts[-1]}" if not above else f"[{below[-1]},{above[0]})"
            assert found == label


@pytest.mark.thorough
def test_what_is_not_a_number_is_coded_with_the_largest() -> None:
    values = [math.nan, math.inf, -math.inf, 1.0]
    assert released(values, "DOUBLE", "top:90") == ["90+", "90+", "-inf", "1.0"]
    assert released(values, "DOUBLE", "bins:0,90") == [">=90", ">=90", "<0", "[0,90)"]


# Microaggregation


def error_of(groups: Sequence[Sequence[tuple[float, int]]]) -> float:
    total = 0.0
    for group in groups:
        n = sum(weight for _, weight in group)
        mean = sum(value * weight for value, weight in group) / n
        total += sum(weight * (value - mean) ** 2 for value, weight in group)
    return total


def cut(values: Sequence[tuple[float, int]], starts: Sequence[int]) -> list[Sequence[tuple[float, int]]]:
    return [values[one:other] for one, other in pairwise([*starts, len(values)])]


def best_error(values: Sequence[tuple[float, int]], size: int) -> float:
    """Return the least error of all partitions into intervals of enough rows, by trying them all."""
    errors = []
    for cuts in product([False, True], repeat=len(values) - 1):
        groups = cut(values, [0, *(place for place, is_cut in enumerate(cuts, start=1) if is_cut)])
        if all(sum(weight for _, weight in group) >= size for group in groups):
            errors.append(error_of(groups))
    return min(errors)


@pytest.mark.thorough
@each("weights", [(1,), (1, 1, 2, 3), (1, 9)])
@each("size", [2, 3, 5])
def test_microaggregation_has_the_least_error(weights: tuple[int, ...], size: int) -> None:
    drawn = random.Random(f"{weights} {size}")  # noqa: S311 - no secret
    for _ in range(40):
        numbers = sorted(drawn.sample(range(60), drawn.randint(1, 11)))
        values = [(number / 4 + 1e6, drawn.choice(weights)) for number in numbers]
        if sum(weight for _, weight in values) < size:
            continue
        groups = cut(values, group_starts(values, size))
        assert all(sum(weight for _, weight in group) >= size for group in groups)
        assert math.isclose(error_of(groups), best_error(values, size), rel_tol=1e-6, abs_tol=1e-6)
        if set(weights) == {1} and len(values) >= 2 * size:  # as Hansen and Mukherjee have it
            assert max(map(len, groups)) <= 2 * size - 1


def test_microaggregation_keeps_small_errors_far_from_zero() -> None:
    values = [(1e15 + place + (100 if place >= 4 else 0), 1) for place in range(8)]
    assert group_starts(values, 3) == [0, 4]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", NUMBERS)
def test_microaggregated_values_are_the_means_of_their_groups(kind: str) -> None:
    for values in columns(kind):
        found = released(values, kind, "microaggregate:5")
        known = sorted((value for value in values if value is not None), key=Decimal)
        counted = [(value, known.count(value)) for value in dict.fromkeys(known)]
        means: dict[Any, float] = {None: math.nan}
        for group in cut(counted, group_starts(counted, 5)) if counted else []:
            total = sum(Decimal(value) * weight for value, weight in group)
            mean = float(total / sum(weight for _, weight in group))
            means |= {value: mean for value, _ in group}
        for value, mean in zip(values, found, strict=True):
            assert (mean is None) if value is None else math.isclose(mean, means[value], rel_tol=1e-12, abs_tol=1e-12)


def test_lost_shares_of_an_example_by_hand() -> None:
    # 0, 2 | 6, 8: mean 4, SST 16 + 4 + 4 + 16, SSE 1 + 1 + 1 + 1. With 2 twice: mean 3.6, SST 12.96 + 2 * 2.56 + 5.76 +
    # 19.36, SSE of 0, 2, 2 is 8 / 3.
    assert lost_share([(0, 1), (2, 1), (6, 1), (8, 1)], [0, 2]) == pytest.approx(4 / 40)
    assert lost_share([(0, 1), (2, 2), (6, 1), (8, 1)], [0, 2]) == pytest.approx((8 / 3 + 2) / 43.2)
    assert lost_share([(7, 3)], [0]) == 0


@pytest.mark.thorough
def test_what_cannot_be_microaggregated_is_refused() -> None:
    with pytest.raises(UsageError, match="has values in 3 rows, and microaggregate:4 makes groups of 4 rows"):
        released([1, 2, 3, None, None], "INTEGER", "microaggregate:4")
    with pytest.raises(UsageError, match="has NaN or infinity in 2 rows"):
        released([math.nan, 1.0, math.inf, 2.0], "DOUBLE", "microaggregate:2")


def test_a_group_that_lost_rows_since_gets_no_mean() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS v, 1 AS g FROM range(10) r(i)")
        settings: dict[str, Any] = {"quasi_identifiers": ["g"], "insensitive": ["v"], "models": ONE}
        with kanon.anonymize(connection, "t", **settings, publish={"v": "microaggregate:5"}) as release:
            script = release.sql().split("\n\n")
            connection.execute("DELETE FROM t WHERE v = 3")
            with pytest.raises(VerificationError):
                released_rows(release)
        connection.execute(next(part for part in script if "kanon_microaggregated AS" in part))
        means = connection.execute("SELECT value, mean FROM kanon_microaggregated ORDER BY value").fetchall()
        # The first five values are the first group now, and the second one has too few rows.
        assert means == [*((value, 2.4) for value in (0, 1, 2, 4, 5)), *((value, None) for value in (6, 7, 8, 9))]


# Dates


def days_of(person: str, most: int) -> int:
    digest = hmac.new(KEY, b"\0shift-dates" + person.encode(), hashlib.sha256).hexdigest()
    number = int(digest[:15], 16) % (2 * most)
    return number - most if number < most else number - most + 1


@each("data_type", ["DATE", "TIMESTAMP", "TIMESTAMP_S"])
def test_dates_are_moved_by_the_days_of_the_person(key_file: Path, data_type: str) -> None:
    moment = dt.date(2020, 2, 28) if data_type == "DATE" else dt.datetime(2020, 2, 28, 23, 59, 58)
    values = [moment + dt.timedelta(days=place * 3) if place % 4 else None for place in range(60)]
    found = released(values, data_type, "shift-dates:30", entity="who", key_file=key_file)
    for place, (value, moved) in enumerate(zip(values, found, strict=True)):
        days = days_of(f"p{place}", 30)
        assert 1 <= abs(days) <= 30
        assert moved == (None if value is None else value + dt.timedelta(days=days))


def test_dates_beside_shifted_ones_are_named() -> None:
    frame = pd.DataFrame({"who": ["a", "b"], "g": [1, 1], "came": pd.to_datetime(["2024-01-02", "2024-03-04"])})
    frame["went"] = frame["came"] + pd.Timedelta(days=3)
    roles: dict[str, Any] = {"quasi_identifiers": ["g"], "entity": "who", "rest": "keep"}
    for rule, said in ({"came": "shift-dates:9"}, True), (dict.fromkeys(("came", "went"), "shift-dates:9"), False):
        with kanon.anonymize(frame, **roles, models=ONE, publish=rule) as release:
            purposes = [one["purpose"] for one in release.summary()["publish"]]
        assert ["may tell by how many days: went" in purpose for purpose in purposes] == [said] * len(rule)


@pytest.mark.thorough
@each(
    ("data_type", "rule", "value", "made"),
    [
        ("DECIMAL(20,0)", "round:100", Decimal(10**18 + 1), False),
        ("DECIMAL(20,0)", "round:100", Decimal(10**18 + 100), True),
        ("BIGINT", "round:100.0", 10**18 + 1, False),
        ("DECIMAL(30,4)", "round:0.5", Decimal("123456789012345678.5"), True),
        ("DECIMAL(30,4)", "round:0.5", Decimal("123456789012345678.5001"), False),
        ("DOUBLE", "round:0.5", 2.25, False),
    ],
)
def test_a_check_reads_long_numbers_to_the_last_digit(data_type: str, rule: str, value: object, made: bool) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT 1 AS g, CAST('{value}' AS {data_type}) AS v")
        policy = kanon.Policy(columns=NamedColumns(quasi_identifiers=("g",)), models=tuple(ONE), publish={"v": [rule]})
        found = kanon.check(connection, "t", policy=policy)
    assert found.not_by_rule == ({} if made else {"v": 1})


def test_days_are_spread_over_all_but_none() -> None:
    found = {days_of(f"p{number}", 3) for number in range(500)}
    assert found == {-3, -2, -1, 1, 2, 3}


@pytest.mark.thorough
def test_hashes_and_days_agree_across_columns_and_tables_under_one_key(key_file: Path) -> None:
    start = dt.date(2021, 5, 5)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE one AS SELECT 'p' || (i % 9) AS who, DATE '2021-05-05' AS a, "
                           "TIMESTAMP '2021-05-07 01:00:00' AS b, 'c' || (i % 3) AS code, 1 AS g "
                           "FROM range(40) r(i)")  # fmt: skip
        connection.execute("CREATE TABLE two AS SELECT who AS person, a, code AS c, code AS d, g FROM one")
        connection.execute("INSERT INTO two VALUES (NULL, DATE '2021-05-05', NULL, 'c1', 1)")

        def rows(table: str, entity: str, publish: dict[str, str], **more: Any) -> list[dict[str, Any]]:
            with kanon.anonymize(
                connection, table, quasi_identifiers=["g"], rest="keep", entity=entity, k=2, publish=publish, **more
            ) as release:
                return released_records(release)

        with_key = {"key_file": key_file}
        ones = rows("one", "who", {"a": "shift-dates:365", "b": "shift-dates:365", "code": "hash"}, **with_key)
        twos = rows("two", "person", {"a": "shift-dates:365", "c": "hash", "d": "hash"}, **with_key)
        assert {row["b"] - dt.datetime.combine(row["a"], dt.time()) for row in ones} == {dt.timedelta(days=2, hours=1)}
        own = {start + dt.timedelta(days=days_of(f"p{number}", 365)) for number in range(9)}
        assert {row["a"] for row in ones} == own
        assert {row["a"] for row in twos} == own | {None}  # the date of nobody
        hashes = {hmac.new(KEY, f"c{n}".encode(), hashlib.sha256).hexdigest()[:32] for n in range(3)}
        assert (
            {row["code"] for row in ones} == hashes == {row["d"] for row in twos} == {row["c"] for row in twos} - {None}
        )
        drawn = rows("one", "who", {"a": "shift-dates:365", "code": "hash"})
        assert not {row["code"] for row in drawn} & hashes


@pytest.mark.thorough
def test_the_days_are_not_in_the_pseudonym_of_the_person(key_file: Path) -> None:
    """A pseudonym is published, and made with the same key: the days are made of another message."""
    start = dt.date(2020, 1, 1)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 'p' || i AS who, DATE '2020-01-01' AS v, 1 AS g FROM range(30) r(i)"
        )
        with kanon.anonymize(
            connection, "t", quasi_identifiers=["g"], insensitive=["v"], entity="who", pseudonymize=["who"],
            publish={"v": "shift-dates:365"}, key_file=key_file,
        ) as release:  # fmt: skip
            found = {(row["who"], (row["v"] - start).days) for row in released_records(release)}
    people = {hmac.new(KEY, f"p{n}".encode(), hashlib.sha256).hexdigest(): days_of(f"p{n}", 365) for n in range(30)}
    assert found == {(digest[:32], days) for digest, days in people.items()}
    assert not any(int(digest[:15], 16) % 730 - 365 in {days, days - 1} for digest, days in people.items())


# Texts


def test_redact_replaces_what_patterns_find_and_leaves_the_rest() -> None:
    texts = {
        "ann@example.org,bob@example.org": "[e-mail],[e-mail]",
        "call 030 1234567 0171 1234567 now": "call [phone] now",
        "from 192.168.0.1 and 00:1a:2b:3c:4d:5e": "from [network address] and [hardware address]",
        "see https://example.org/a?b=1 today": "see [web address] today",
        "DE89 3704 0044 0532 0130 00": "[bank account]",
        "4111 1111 1111 1111": "[payment card]",
        "ssn 123-45-6789.": "ssn [national number].",
        "id 6a2f41a3-c54c-fce8-32d2-0324e1c32e22": "id [UUID]",
        "scan_6a2f41a3-c54c-fce8-32d2-0324e1c32e22_1.pdf": "scan_[UUID]_1.pdf",  # _ is no part of a word here
        "123-45-6789_00:1a:2b:3c:4d:5e_a": "[national number]_[hardware address]_a",
        "_a_ +49\u00a030\u202f1234567, 123\u201145\u20116789": "_a_ [phone], [national number]",
        "иван@пример.рф, 张三@公司.中国; x@mail.xn--p1ai": "[e-mail], [e-mail]; [e-mail]",
        "Ann Smith, 120/80, on 2020-01-02": "Ann Smith, 120/80, on 2020-01-02",  # names stay, as the docs say
        "": "",
    }
    assert released([*texts, None], "VARCHAR", "redact") == [*texts.values(), None]


@pytest.mark.thorough
def test_hash_of_values_of_other_types(key_file: Path) -> None:
    def pseudonym(text: str) -> str:
        return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()[:32]

    assert released([5, None, -7], "INTEGER", "hash", key_file=key_file) == [pseudonym("5"), None, pseudonym("-7")]
    assert released([0.0, -0.0], "DOUBLE", "hash", key_file=key_file) == [pseudonym("0.0")] * 2
    with pytest.raises(UsageError, match="Cast it to VARCHAR"):
        released([None], "INTERVAL", "hash")


def test_numbers_whose_squares_are_infinite_are_microaggregated() -> None:
    """They were a crash: no group was better than infinitely bad."""
    assert group_starts([(-1e154, 3), (1.0, 1), (2.0, 2), (1e154, 3)], 3) == [0, 1, 3]
    assert group_starts([(-1.7e308, 1), (-1.6e308, 2), (1.6e308, 2), (1.7e308, 1)], 3) == [0, 2]


# What is refused


@each(
    "rule",
    [
        *("round", "round:", "round:0", "round:-5", "round:1e3", "round:nan", "round:1,2", "round:inf", "round:1_000"),
        *("top", "top:", "top:x", "top:1,2", "bins", "bins:5,5", "bins:9,1", "bins:1,,2", "bins:"),
        *("microaggregate:1", "microaggregate:2.5", "microaggregate:-3", "microaggregate", "microaggregate:5.0"),
        *("shift-dates", "shift-dates:0", "shift-dates:-3", "shift-dates:36501", "shift-dates:1.5"),
        *("redact:x", "hash:1", "hash:", "mask", "", "swap:3"),
    ],
)
def test_a_rule_that_is_not_written_so_is_refused(rule: str) -> None:
    with pytest.raises(UsageError, match="column 'v'"):
        parse_publish_rules("v", [rule])


@each(
    "rules", [[], ["top:9", "top:8"], ["round:5", "top:9"], ["top:9", "bottom:9"], ["hash", "hash"], ["bottom:1"] * 2]
)
def test_rules_that_do_not_go_together_are_refused(rules: list[str]) -> None:
    with pytest.raises(UsageError, match=r"[cC]olumn 'v'"):
        parse_publish_rules("v", rules)


@pytest.mark.thorough
@each(
    ("column", "rule", "said"),
    [
        ("age", "round:5", "is a quasi-identifier.*Give it a hierarchy"),
        ("disease", "hash", "is sensitive, and privacy models count its values"),
        ("name", "hash", "is identifying, and never published"),
        ("ward", "hash", "is dropped"),
        ("incme", "round:5", "has no column 'incme'.*Did you mean 'income'"),
        ("note", "round:5", "is of type VARCHAR, and round is for numbers"),
        ("visit", "round:5", "is of type DATE, and round is for numbers"),
        ("income", "shift-dates:5", "is of type INTEGER, and shift-dates is for dates"),
        ("income", "redact", "is of type INTEGER, and redact is for texts"),
        ("income", "round:0.5", "cannot hold the multiples of 0.5"),
        ("visit", "shift-dates:5", "say which column names the person"),
        ("zoned", "shift-dates:5", "cast it to TIMESTAMP in a view"),
        ("precise", "shift-dates:5", "cast it to TIMESTAMP in a view"),
    ],
)
def test_what_is_refused_for_a_column(column: str, rule: str, said: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t (name TEXT, age INTEGER, income INTEGER, disease TEXT, note TEXT, ward TEXT, visit DATE, "
            "zoned TIMESTAMPTZ, precise TIMESTAMP_NS)"
        )
        with pytest.raises(UsageError) as error:
            kanon.anonymize(
                connection,
                "t",
                identifying=["name"],
                quasi_identifiers=["age"],
                sensitive=["disease"],
                insensitive=["income", "note", "visit", "zoned", "precise"],
                rest="drop",
                publish={column: rule},
            )
        assert re.search(said, str(error.value)), str(error.value)


def test_a_person_has_one_number_of_days() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (who TEXT, g INTEGER, a DATE, b DATE)")
        with pytest.raises(UsageError, match="different numbers of days for 'a' and 'b'"):
            kanon.anonymize(
                connection, "t", quasi_identifiers=["g"], rest="keep", entity="who",
                publish={"a": "shift-dates:5", "b": "shift-dates:6"},
            )  # fmt: skip


def test_a_connection_that_profiles_may_not_see_the_key() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS g, 'x' AS v FROM range(9)")
        connection.execute("PRAGMA enable_profiling = 'no_output'")
        settings: dict[str, Any] = {"quasi_identifiers": ["g"], "insensitive": ["v"], "models": ONE}
        with (
            kanon.anonymize(connection, "t", **settings, publish={"v": "hash"}) as release,
            pytest.raises(UsageError, match="profiles its statements"),
        ):
            released_rows(release)
