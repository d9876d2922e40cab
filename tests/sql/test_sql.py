"""The SQL itself: files that are valid, how often the source is read, snapshots that a reviewer sees change."""

from __future__ import annotations

import contextlib
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
import sqlglot
from conftest import REPOSITORY
from each import each
from needs import needs
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.classes.frequency import frequency_query
from kanon_sql.engine.sources.open_source import Source
from kanon_sql.evidence.report.proof import release_rows, require_same_rows
from kanon_sql.policy.policy import Destination
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import NATIVE, render, rendered
from kanon_sql.sql.names import needs_quotes, unused_name
from tests.support.hospital import make_hospital

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL_FILES = sorted((REPOSITORY / "sql").rglob("*.sql"))


def names_in(path: Path) -> list[str]:
    """Return the names of the statements in a file of sql/: its own, or those of the several that it has."""
    own = path.relative_to(REPOSITORY / "sql").with_suffix("").as_posix()
    several = re.findall(r"^/\* (\w+): ", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [f"{own}/{name}" for name in several] or [own]


STATEMENTS = [name for path in ALL_FILES for name in names_in(path)]
OF_POSTGRES = [name for name in STATEMENTS if name.startswith("postgres/")]  # of its own catalogs
OF_DUCKDB = [name for name in STATEMENTS if name not in OF_POSTGRES]
SNAPSHOTS = REPOSITORY / "tests" / "snapshots"


@pytest.fixture
def release(clinic: Path) -> Iterator[kanon.Release]:
    """A release that joins a hierarchy, keeps a column, gives one up, and suppresses rows; people are counted."""
    with kanon.anonymize(
        clinic,
        "patients",
        quasi_identifiers=["age", "sex", "zip"],
        identifying=["name"],
        sensitive=["disease"],
        rest="drop",
        models=[kanon.KAnonymity(4, entity="id")],
        hierarchies={"age": "intervals:10,20:top=90", "sex": "flat", "zip": "mask:right:1,3"},
        max_suppressed=0.2,
        seed=1,
    ) as made:
        yield made


def require_unchanged(expression: exp.Expr, dialect: str) -> str:
    """Return the text of a statement, which must be as it was afterwards."""
    before = repr(expression)
    text = render(expression, dialect)
    assert repr(expression) == before, text
    return text


@pytest.mark.thorough
def test_writing_a_file_for_duckdb_does_not_change_its_statement() -> None:
    for name in OF_DUCKDB:
        require_unchanged(sqlglot.parse_one(sql.text_of(name), read="duckdb"), "duckdb")


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["optimal", "local", "mondrian"])
def test_running_a_statement_does_not_change_it(clinic: Path, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kanon_sql.engine.duckdb.engine.render", require_unchanged)
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "sex", "zip"]}
    models = [kanon.KAnonymity(3)]
    with kanon.anonymize(
        clinic, "patients", **asked, sensitive=["disease"], rest="drop", models=models, algorithm=algorithm, seed=1
    ) as release:
        release.to_table("released")
    beside: dict[str, Any] = {"original": clinic, "original_table": "patients", **asked}
    assert kanon.attack(clinic, "released", **beside, sensitive=["disease"]).attacks
    assert kanon.measure(clinic, "released", **beside).measures


# What the statements of a round of Mondrian read: two parts, of which one has NULLs, and a label with three children.
TABLES = """
CREATE TABLE kanon_chosen AS
    FROM (VALUES (1, 10, 1, 1, 5, NULL, NULL), (2, 8, 2, 0, 3, 0, NULL), (3, 12, 3, 1, 9, NULL, 1))
    chosen(part, total, column_number, low, high, null_place, level);
CREATE TABLE kanon_histogram AS FROM (VALUES (1, 1, 3, 0), (1, 2, 4, 0), (1, 5, 3, 0), (2, 0, 4, 0), (2, 3, 4, 0))
    histogram(part, place, n, below);
CREATE TABLE kanon_binned AS FROM (VALUES (1, 0, 7), (1, 3, 3)) binned(part, bin, n);
CREATE TABLE kanon_children AS FROM (VALUES (3, 3, 1, 3, 6), (3, 3, 4, 6, 5), (3, 3, 7, 9, 1))
    children(part, column_number, from_place, to_place, n);
CREATE TABLE kanon_round AS FROM (VALUES (1, 1, false, 0, 2, NULL, true), (2, 2, true, 0, 0, NULL, false))
    round(part, column_number, at_null, from_place, to_place, position, allowed);
CREATE TABLE kanon_tuples AS FROM (VALUES (1, 1, 3, 0), (1, 2, 4, 3), (1, 5, 3, 7), (2, 0, 4, 10), (2, 3, 4, 14))
    tuples(part, place_1, n, start);
CREATE TABLE kanon_bins AS FROM (VALUES (1, 1, 1, 2, 0)) bins(part, column_number, from_place, to_place, below);
CREATE SCHEMA kanon;
CREATE TABLE kanon.releases (id BIGINT, made_at TIMESTAMP, source_schema TEXT, source_name TEXT, kind TEXT,
    target_schema TEXT, target_name TEXT, rows_in BIGINT, rows_out BIGINT, policy TEXT, levels TEXT, hierarchies TEXT,
    fingerprint TEXT, source_fingerprint TEXT);
CREATE TABLE kanon.appended (made_at TIMESTAMP, release_schema TEXT, release_name TEXT, lock TEXT, rows_new BIGINT,
    rows_appended BIGINT, rows_waiting BIGINT, batch TEXT, fingerprint TEXT);
CREATE TABLE batch AS FROM (VALUES (30, 'f', 'flu', 1), (40, 'm', NULL, 2)) batch(age, sex, disease, kanon_row);
CREATE TABLE kanon.dp_budgets (place TEXT, source_schema TEXT, source_name TEXT, entity TEXT,
    epsilon DECIMAL(38, 20), delta DECIMAL(38, 20), questions BIGINT);
CREATE TABLE kanon.dp_spent (id BIGINT, spent_at TIMESTAMP, place TEXT, source_schema TEXT, source_name TEXT,
    question TEXT, epsilon DECIMAL(38, 20), delta DECIMAL(38, 20), group_column TEXT, group_value TEXT);
CREATE TABLE source AS FROM (VALUES (1, 30, 'f', 'flu', false), (2, 30, 'f', NULL, false), (2, 40, 'm', 'flu', true))
    source(n, age, sex, disease, kanon_is_control);
CREATE TABLE referring AS FROM source;
CREATE TABLE referred AS FROM (VALUES (1, 'flu', 1, 1), (2, 'cold', 2, 1)) referred(n, disease, number, class);
CREATE TABLE texts AS SELECT *, '1' AS value, '1' AS back,
    TIMESTAMP '2024-02-29 00:00:00' AS made
    FROM (VALUES (true, '2024', '2', '29', '7', '5', '0')) texts(is_written, y, m, d, h, mi, s);
CREATE TABLE whole_table AS FROM source;
CREATE TABLE rows_of_people AS FROM (VALUES (1, 30, 'f'), (2, 30, 'f'), (3, 40, 'm')) rows(kanon_person, age, sex);
CREATE TABLE rows_of_events AS SELECT kanon_person, kanon_person AS number, 1 AS class, age, sex, kanon_person AS event,
    NULL AS through FROM rows_of_people;
CREATE TABLE hashed AS SELECT SHA256(CAST(kanon_person AS TEXT)) AS digits FROM rows_of_people;
CREATE TABLE own AS FROM source;
CREATE TABLE coded_rows AS FROM (VALUES (0, 4), (1, 8)) coded_rows(number, code);
CREATE TABLE rows_of_table AS FROM rows_of_people;
CREATE TABLE rows_with_values AS SELECT *, age AS value FROM rows_of_people;
CREATE TABLE sample AS FROM (VALUES ('1', '2024-01-31'), ('NA', '1,5'), (NULL, '')) sample(age, born);
CREATE TABLE kinds AS FROM (VALUES (30, 'f', 1)) kinds(age, sex, event);
CREATE TABLE events AS FROM (VALUES (1, 1, 1, NULL, 1), (1, 1, 2, 1, 1), (2, 1, 1, NULL, 2))
    events(number, class, event, through, person);
CREATE TABLE another AS SELECT *, 1 AS people FROM events;
CREATE TABLE known_events AS FROM (VALUES (1, 1), (1, 2), (2, NULL)) events(kind, person);
CREATE TABLE known_people AS FROM (VALUES (1, 1), (2, 1), (NULL, 1)) people(person, class);
CREATE TABLE rarest_known AS FROM (VALUES (1, 2), (1, 1), (2, 2)) r(person, fewest);
CREATE TABLE too_rare AS SELECT number, class, event FROM events WHERE event = 2;
CREATE TABLE needed AS FROM (VALUES (1, 1), (2, 1)) people(kanon_person, class);
CREATE TABLE everybody AS FROM source UNION ALL FROM source;
CREATE TABLE hierarchy AS FROM (VALUES ('30', '<40', 4), ('40', '>=40', 8)) hierarchy(value, level_1, code);
CREATE TABLE lookup AS FROM hierarchy;
CREATE TABLE borders AS FROM (VALUES (1)) borders(bound);
CREATE TABLE written AS FROM (VALUES ('abc', 1), ('', 2), (NULL, 1)) written("text", n);
CREATE TABLE prefixes AS FROM (VALUES ('3', '<40'), ('4', '>=40')) prefixes(prefix, level_1);
CREATE TABLE dated AS FROM (VALUES (DATE '2024-02-29'), (NULL)) dated(value);
CREATE TABLE levels AS FROM (VALUES (0, 0, true, 12, 0, '30', '*'), (0, 1, false, 8, 0, '40', '*'))
    levels(number, level, below_root, mask_0, shift_0, value, level_1);
CREATE TABLE labels AS FROM (VALUES (0, 1, 8, 4, 2, '30', 1), (1, 1, 0, 3, 1, '{20, 30}', 2))
    labels(number, level, code, leaves, n, label, released);
CREATE TABLE unread AS FROM (VALUES (1, '[20-30]', 2), (2, '{\\N, [20-20]}', 1), (3, '{20, 30}', 1))
    unread(number, label, released);
CREATE TABLE read AS FROM (VALUES (1, 1, 1), (1, 1, 2), (2, 2, 0)) read(part, number, place_1);
CREATE TABLE leaf AS FROM (VALUES (0, 4, 2, 30e0), (0, 8, 1, 40e0)) leaf(level, code, n, lower);
CREATE TABLE facts AS FROM (VALUES (0, 4, 2, 1, false, 30e0, 30e0), (1, 8, 1, 2, true, 30e0, 40e0))
    facts(level, code, n, leaves, at_root, lower, upper);
CREATE TABLE boxes AS FROM (VALUES (12, 8, 1, 1e0, 1), (12, 4, 2, 1e0, 2)) boxes(mask_0, key_0, n, volume, part);
CREATE TABLE densities AS SELECT mask_0, key_0, n / volume AS density FROM boxes;
CREATE TABLE patterns AS FROM (VALUES (12)) patterns(mask_0);
CREATE TABLE covered AS SELECT key_0, n, density FROM densities JOIN boxes USING (key_0);
CREATE TABLE kanon_frequency AS FROM (VALUES (4, 2, 1, NULL), (8, 1, 0, 1)) f(key_0, n, persons, entity);
CREATE TABLE nodes AS FROM (VALUES (0), (1)) nodes(node);
CREATE TABLE staged AS FROM (VALUES (4, 'flu', 2), (8, NULL, 1)) staged(key_0, sensitive_0, n);
CREATE TABLE shares AS FROM (VALUES ('flu', 1), (NULL, 2)) shares(original, value);
CREATE TABLE measured AS FROM (VALUES (30, 2, 1), (40, 1, 3)) measured(age, n, measure_0);
CREATE TABLE known AS FROM (VALUES ('f', 'sex', '3'), ('*', 'age', '30')) known(label, hierarchy, value);
CREATE TABLE numbers AS FROM (VALUES (7.5, 7.4, 7.5, 7.5, 5, 0.1, -0.1, '5', '9'))
    numbers(number, value, rounded, past, width, unit, minus_unit, low, high);
CREATE TABLE pseudonyms AS FROM (VALUES ('f')) pseudonyms(pseudonym);
CREATE TABLE kept AS FROM (VALUES (30, 'f')) kept(age, sex);
-- What the people of classes are counted by: two classes, the second with rows to choose from.
CREATE TABLE original AS FROM (VALUES ('ann'), ('ann'), ('bob'), (NULL)) original(column_1);
CREATE TABLE release AS FROM (VALUES ('x', 30, 'f', 'flu'), ('y', 30, 'f', 'cold'), ('y', 40, 'm', 'flu'))
    release(a, age, sex, disease);
CREATE TABLE people AS FROM (VALUES (0, 1), (1, 1), (2, 2), (3, 2)) people(position, tuple);
CREATE TABLE persons AS FROM (VALUES (1, 'ann', 2), (2, 'bob', 1), (2, NULL, 1)) persons(tuple, person, n);
CREATE TABLE tuples AS FROM (VALUES (1, 2, 'ann', 30, 2, 1, 3), (2, 2, NULL, 40, 1, 2, 4))
    tuples(tuple, n, person, age, kanon_n, part, place_1);
CREATE TABLE population AS FROM (VALUES (30), (90)) population(age);
CREATE TABLE in_population AS FROM (VALUES (1, 4), (2, 3)) in_population(tuple, members);
CREATE TABLE coded AS FROM (VALUES (1, 1, 1, 2, 1, 1), (2, NULL, 2, 1, 2, 1), (2, NULL, 3, 1, 3, 2))
    coded(value_0, person, position, n, record, label_1);
CREATE TABLE classes AS FROM (VALUES (0, 2, 0, 1), (1, 1, 0, 2)) classes(class, n, word, bit);
CREATE TABLE each_person AS FROM coded;
CREATE TABLE uniques AS FROM (VALUES (1, 1, NULL), (2, 2, 2)) uniques(number, value_0, person);
CREATE TABLE minimal AS FROM (VALUES (1, 1, 6), (2, 1, 2)) minimal(subset, number, score);
CREATE TABLE left_out AS FROM rows_of_people;
CREATE TABLE made AS FROM kept;
CREATE TABLE given AS FROM kept;
CREATE TABLE chosen AS FROM (VALUES (1, 0), (1, 1)) chosen(number, class);
CREATE TABLE pairs AS FROM (VALUES (1, 0), (1, 1), (2, 1)) pairs(tuple, class);
CREATE TABLE placed AS FROM (VALUES (0, 1), (1, 2)) placed(position, place_1);
CREATE TABLE numbered AS FROM (VALUES (1, 2), (2, 1)) numbered(label_1, n);
CREATE TABLE relation AS FROM (VALUES (0, 1), (1, 2)) relation(class, label_1);
CREATE TABLE words AS FROM (VALUES (1, 0, 3), (2, 0, 2)) words(tuple, word, bits);
CREATE TABLE mask AS FROM (VALUES (1, 0, 0, 3), (2, 0, 0, 1)) mask(place, block, word, bits);
CREATE TABLE predicates AS FROM (VALUES (1, 0), (3, 0)) predicates(record, subset);
CREATE TABLE readings AS FROM (VALUES (1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 1, 2)) r(label, level, place);
ALTER TABLE readings ADD COLUMN number INT DEFAULT 1;
ALTER TABLE readings ADD COLUMN released INT DEFAULT 1;
ALTER TABLE readings ADD COLUMN n INT DEFAULT 1;
ALTER TABLE readings ADD COLUMN code INT DEFAULT 4;
CREATE TABLE covers AS FROM (VALUES (1, 1), (2, 2)) c(label, place);
CREATE TABLE found AS FROM (VALUES (1, -1), (2, 1)) found(tuple, found);
CREATE TABLE found_spans AS FROM (VALUES (1, 1, 2), (1, 0, 1), (2, 2, 2)) f(label, low, high);
CREATE TABLE spans AS FROM (VALUES (1, 1, 2), (2, 2, 2)) s(label, low, high);
CREATE TABLE ranks AS FROM (VALUES (1, 1), (2, 2)) r(place, rank);
CREATE TABLE looked_up AS FROM (VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0)) l(tuple, place, block);
CREATE TABLE worded AS FROM (VALUES (1, 0, 1), (2, 0, 2), (1, 1, 1)) w(label, word, bit);
CREATE TABLE codes AS FROM (VALUES ('x', 1), ('y', 2)) c(value, code);
CREATE TABLE sets AS FROM (VALUES (-1, 0, 1, 1), (-1, 1, 1, 1), (1, 1, 2, 2)) sets(found, class, tuple, number);
CREATE TABLE members AS FROM (VALUES (0, 'ann', 2, 2, 1, 1), (1, NULL, 1, 1, 2, 1), (1, 'bob', 1, 2, 3, 2))
    m(class, person, n, up_to, record, number);
CREATE TABLE in_classes AS FROM (VALUES (0, 2, 2, 1, 1), (1, 1, 2, 0, 1)) i(class, n, possible, at_least, at_most);
CREATE TABLE items AS FROM (VALUES (1, 0, '=ann', 1, 1.0), (2, 0, '', 1, 2.0), (3, 1, '=bob', 1, 3.0))
    items(item, class, published_1, size, place);
CREATE TABLE possible AS SELECT *, position AS number, 1 AS released, 1 AS n, item AS leaves, size = 1 AS enough,
    position > 0 AS at_root, position AS level, 0e0 AS lower, 1e0 AS upper, 4 AS code
    FROM (VALUES (0, 1, 1, 1.0), (1, 1, 1, 1.0), (2, 3, 1, 3.0)) p(position, item, size, place);
CREATE TABLE valued AS FROM (VALUES (1, 'a', 'x'), (1, 'b', 'y'), (2, 'a', 'x')) v(class, link, value);
CREATE TABLE linked AS FROM (VALUES (1, 'a', ''), (2, 'b', '')) l(class, link, value);
CREATE TABLE who AS FROM persons;
CREATE TABLE by_original AS FROM in_classes;
CREATE TABLE by_release AS SELECT * REPLACE (n AS at_most) FROM in_classes;
CREATE TABLE released AS FROM (VALUES (1, 0, '=ann'), (2, 0, ''), (3, 1, '=bob'))
    released(position, class, published_1);
-- What two releases have in common: two groups, one of rows that the second release left out.
CREATE TABLE first_found AS FROM (VALUES (1, 2, 1), (2, 2, 2)) f(tuple, n, found);
CREATE TABLE second_found AS FROM (VALUES (1, 2, 1), (2, 2, 0)) f(tuple, n, found);
CREATE TABLE alike AS FROM (VALUES (1, 2, 1, 1), (2, 2, 2, 0)) a(tuple, n, first, second);
CREATE TABLE groups AS FROM (VALUES (1, 1, 2, 1), (2, 0, 2, 1)) g(first, second, n, size);
CREATE TABLE sure AS FROM groups;
CREATE TABLE sizes AS FROM (VALUES (1, 1, 1), (2, 0, 1)) s(first, second, size);
CREATE TABLE choices AS FROM (VALUES (1, 1), (2, 2), (0, 0)) c(found, class);
CREATE TABLE first_choices AS FROM choices;
CREATE TABLE second_choices AS FROM choices;
CREATE TABLE class_values AS FROM (VALUES (1, '=a', 2), (2, '=b', 2)) c(class, value, n);
CREATE TABLE first_values AS FROM class_values;
CREATE TABLE second_values AS FROM class_values;
CREATE TABLE first_possible AS FROM (VALUES (1, '=a', 2), (2, '=b', 2)) p(found, value, n);
CREATE TABLE second_possible AS FROM first_possible;
CREATE TABLE own_values AS FROM (VALUES (1, 1, '=a', 2), (2, 0, '=b', 2)) o(first, second, value, n);
CREATE TABLE different AS FROM (VALUES (1, 1, 1), (2, 0, 1)) d(first, second, size);
CREATE TABLE bounds AS FROM (VALUES (1, 1, 2, '=a', 0, 2), (2, 0, 2, '=b', 0, 2)) b(first, second, n, value, low, high);
-- What the utility of a release is measured by: values in their order, labels that cover some, cells and queries.
CREATE TABLE places AS FROM (VALUES (0, NULL, 0, 0, NULL, 0), (1, 20e0, 2, 2, '20', 4), (2, 30e0, 1, 3, '30', 8))
    p(place, number, n, up_to, value, code);
CREATE TABLE bins AS FROM (VALUES (1, 20e0, 2, 1), (2, 30e0, 1, 2)) bins(place, number, n, bin);
CREATE TABLE spread AS FROM (VALUES (1, 1, 1, 0.25e0), (1, 2, 2, 0.75e0)) spread(label, place, bin, share);
CREATE TABLE spread_1 AS FROM spread;
CREATE TABLE spread_2 AS FROM spread;
CREATE TABLE spread_3 AS FROM spread;
CREATE TABLE release_tuples AS FROM (VALUES (1, 2), (1, 1)) r(label_1, n);
CREATE TABLE original_tuples AS FROM (VALUES (1, 2), (2, 1)) o(bin_1, n);
CREATE TABLE cells AS SELECT *, bin_1 AS part, bin_2 AS level, bin_1 AS n, bin_1 AS leaves, false AS at_root,
    original AS lower, original AS upper FROM (VALUES (1, 1, 1, 2e0, 1.5e0), (2, 1, 1, 1e0, 0e0))
    c(bin_1, bin_2, bin_3, original, released);
CREATE TABLE queries AS FROM (VALUES (0, 1, 1, 1, 1, 1, 1), (1, 1, 2, 1, 1, 1, 1))
    q(query, low_1, high_1, low_2, high_2, low_3, high_3);
-- An original and a control group as codes.
CREATE TABLE control AS FROM (VALUES ('bob'), (NULL)) control(column_1);
CREATE TABLE sides AS FROM (VALUES (0, false, '=ann', 1), (1, false, '=ann', 2), (2, false, '=bob', 1),
    (3, true, '=cat', 1)) sides(record, is_control, person, place_1);
CREATE TABLE targets AS FROM (VALUES (false, '=ann', 1, 0), (false, '=bob', 2, 2), (true, '=cat', 1, 3))
    targets(is_control, person, rank, record);
CREATE TABLE alone AS FROM (VALUES (1, 0), (1, 1), (3, 0)) alone(record, subset);
CREATE TABLE first_picked AS FROM (VALUES (0, 1), (2, 2)) first_picked(tuple, record);
CREATE TABLE second_picked AS FROM (VALUES (0, 1), (2, 1)) second_picked(tuple, record);
CREATE TABLE kanon_values AS FROM (VALUES (1, 0, 5, 3), (1, 0, 6, 1), (1, 1, 5, 1), (1, 1, 7, 2), (2, 0, 5, 2))
    kanon_values(part, side, value, n);
CREATE TABLE kanon_fills AS FROM (VALUES (1, 0, 1, 5, 4, 4), (1, 0, 1, 7, 2, 0), (1, 0, 2, 5, 4, 2), (1, 0, 2, 7, 2, 2),
    (1, 1, 1, 5, 4, 3), (2, 0, 1, 5, 2, 2)) kanon_fills(part, side, lead, value, there, n);
CREATE TABLE kanon_judged AS FROM (VALUES (1, 0, 1, true), (1, 0, 2, false), (1, 1, 1, true), (2, 0, 1, false))
    kanon_judged(part, side, lead, fails);
CREATE TABLE kanon_sides AS SELECT *, 2 AS inside, 3 AS outside, part AS link, 3 AS rest FROM kanon_round;
"""


LISTS = {
    "append/batch": {"columns": "n"},
    "append/insert": {"columns": "age, sex, disease"},
    "append/still_waiting": {"columns": "age, sex"},
    "classes/frequency": {
        "coded": "hierarchy.code AS key_0, source.disease AS sensitive_0",
        "is_value": "source.age IS NOT DISTINCT FROM hierarchy.value",
        "keys": "key_0, sensitive_0",
        "rows": "COUNT(*)",
    },
    "classes/frequency_of_people": {
        "coded": "hierarchy.code AS key_0, source.n AS entity",
        "is_value": "source.age IS NOT DISTINCT FROM hierarchy.value",
        "keys": "key_0",
        "rows": "COUNT(*)",
    },
    "warehouse/rows": {"values": "source.age AS age"},
    "warehouse/tuples": {"values": "source.age"},
    "warehouse/people": {"others": "tuples.age"},
    "warehouse/values": {"values": "source.age, source.sex", "each": "(source.age), (source.sex)"},
    "hierarchy/coded": {
        "labels": "level_1",
        "qualified": "levels.level_1",
        "label": "level_1",
        "parent": "level_1",
        "codes": "ordinal_0 | ordinal AS code",
        "is_label": "levels.level_1 = families.level_1",
    },
    "hierarchy/coverage": {
        "value": "source.age",
        "code": "UPPER(value)",
        "hierarchies": "'sex', 'age'",
        "hierarchy": "'age'",
        "length": "1",
        "looks": "coded.code <> '1'",
        "n_labels": "COUNT(*)",
    },
    "hierarchy/levels": {
        "number": "TRY_CAST(value AS DECIMAL(18, 1))",
        "floored": "number - 1",
        "lower": "number - 5 AS lower_1",
        "upper": "lower_1 + 10 AS upper_1",
        "labels": "'*' AS level_1",
    },
    "hierarchy/paths": {
        "value": "UNNEST(members)",
        "labels": "level_1",
        "further_words": "code_2",
        "lists": "UNNEST([['f'], [NULL, 'm']]) AS members, '*' AS level_1, UNNEST([0, 2]) AS code, 1 AS code_2",
    },
    "hierarchy/missing_values": {"value": "CAST(source.age AS TEXT)"},
    "hierarchy/missing": {"value": "CAST(source.age AS TEXT)"},
    "hierarchy/prefixed": {
        "code": "UPPER(value)",
        "labels": "prefixes.level_1 AS level_1",
        "labels_of_null": "'*' AS level_1",
        "length": "1",
        "matches": "coded.code <> ''",
    },
    "hierarchy/quantiles": {"number": "age", "groups": "2"},
    "hierarchy/texts": {"kept": "1", "length": "3"},
    "hierarchy/tree": {
        "label": "level_1",
        "parent": "level_1",
        "own_label": "lookup.level_1",
        "own_parent": "lookup.level_1",
        "root": "level_1",
        "children": "COUNT(*)",
    },
    "hierarchy/typed": {
        "texts": "['1', 'x', NULL, '1e99']",
        "typed": 'TRY_CAST("text" AS INT)',
        "wider": 'TRY_CAST("text" AS DOUBLE)',
    },
    "hierarchy/with_population": {"source": "source.age", "population": "population.age"},
    "profile/alone": {"people": "COUNT(DISTINCT person) AS members", "keys": "value_0"},
    "profile/digits": {"value": "CAST(age AS TEXT)", "most": "10"},
    "profile/pairs": {"values": "age, sex"},
    "profile/values": {"value": "age", "aggregates": 'COUNT("text") AS filled, SUM(n) AS n'},
    "explore/labels": {
        "labels": "hierarchy.level_1",
        "rows": "COUNT(*)",
        "members": "COUNT(*)",
        "is_value": "source.age IS NOT DISTINCT FROM hierarchy.value",
    },
    "classes/shares": {"value": "disease", "rows": "COUNT(*)"},
    "classes/codes_of_values": {"value": "sensitive_0"},
    "attacks/candidates/placed": {
        "places": "lookup.level_1 AS place_1",
        "is_value": "CAST(source.age AS TEXT) = lookup.value",
    },
    "attacks/candidates/tuples": {"places": "place_1"},
    "attacks/candidates/people": {"same": "placed.place_1 = tuples.tuple"},
    "attacks/candidates/numbered": {"labels": "labels.code AS label_1", "is_label": "labels.level = 1"},
    "attacks/candidates/classes": {"labels": "label_1", "order": "label_1"},
    "attacks/candidates/in_blocks": {"labels": "class"},
    "attacks/candidates/looked_up": {
        "wanted": "relation.class",
        "is_place": "covers.place = tuples.tuple",
        "same": "covers.label = relation.label_1",
    },
    "attacks/candidates/narrowed": {"place": "tuples.tuple"},
    "attacks/released/released": {
        "published": 'written."text" AS published_1',
        "is_label": "labels.level = 1",
        "same": "classes.class = labels.number",
    },
    "attacks/released/class_values": {
        "labels": "sex",
        "value": "disease",
        "is_label": "labels.level = 1",
        "same": "classes.class = labels.number",
    },
    "attacks/released/with_people": {
        "written": "written.sex",
        "kept": "numbered.sex",
        "person": "members.person",
        "is_label": "labels.level = 1",
        "same": "classes.class = labels.number",
    },
    "attacks/covers/mask": {"label": "worded.label", "block": "0"},
    "attacks/covers/spread": {"place": "looked_up.place", "label": "worded.label"},
    "attacks/control/both_sides": {"columns": "column_1"},
    "attacks/control/texts": {"value": "published_1"},
    "attacks/control/sides": {
        "person": "source.disease",
        "places": "lookup.code AS place_1",
        "is_value": "CAST(source.age AS TEXT) = lookup.value",
        "is_text": "texts.value = source.sex",
    },
    "attacks/control/coded": {"labels": "classes.n AS label_1", "is_text": "texts.value = released.published_1"},
    "attacks/control/targets_known": {"places": "sides.place_1"},
    "attacks/control/grouped": {"labels": "label_1"},
    "attacks/control/predicated": {
        "labels": "coded.label_1",
        "is_drawn": "coded.record = predicates.record",
        "subset": "0",
    },
    "attacks/control/tuples": {"places": "place_1"},
    "attacks/control/alone": {"labels": "label_1", "subset": "0"},
    "attacks/control/found_in": {"same": "sides.place_1 = coded.label_1"},
    "attacks/control/inferred": {"secret": "coded.label_1", "place": "sides.place_1", "most": "1"},
    "attacks/control/members": {"same_class": "classes.class = coded.label_1"},
    "attacks/control/most": {"secret": "coded.label_1"},
    "attacks/control/other_people": {
        "columns": "original.column_1",
        "same_person": "original.column_1 = control.column_1",
    },
    "attacks/control/alike": {"keys": "column_1"},
    "attacks/control/scope": {
        "columns": "column_1",
        "keys": "column_1",
        "copied": "copies.column_1",
        "same": "copies.column_1 IS NOT DISTINCT FROM held_out.column_1",
    },
    "attacks/control/singled_out": {"same_places": "tuples.tuple = sides.place_1"},
    "attacks/guesses/known": {"shared": "published_1", "own": "original.column_1"},
    "attacks/guesses/published_most": {"shared": "published_1"},
    "prepare/held_out": {"columns": "column_1", "key": "column_1", "of_people": "TRUE", "person": "column_1"},
    "attacks/joint/links": {"link": "published_1", "value": "'v'"},
    "attacks/joint/linked": {"own_class": "second_choices.class", "other_class": "first_choices.class"},
    "attacks/people/by_number": {"value": "published_1"},
    "attacks/order/items": {"shown": "published_1"},
    "attacks/order/possible": {"same": "items.published_1 = '=' || original.column_1"},
    "attacks/order/in_place": {"same": "items.published_1 = released.published_1"},
    "attacks/candidates/fitting": {"fitting": "SUM(who.n)"},
    "classes/spellings": {"spelled": "LOWER(TRIM(original))"},
    "classes/sensitive_coded": {
        "others": "staged.key_0, staged.n",
        "codes": "shares.value AS sensitive_0",
        "is_value": "staged.sensitive_0 IS NOT DISTINCT FROM shares.original",
    },
    "classes/roll_up": {"masked": "key_0", "counts": "SUM(persons) AS persons, entity", "values": "entity"},
    "classes/node_test": {
        "node": "node",
        "fails": "measure_0 < 2",
        "more": "MAX(n) AS largest",
        "masked": "key_0",
        "measures": "SUM(n) AS measure_0, COUNT(*) AS measure_1",
        "some_classes": "key_0 > 0",
    },
    "classes/frequency_of_coded": {
        "keys": "code AS key_0",
        "people": "CAST(0 AS BIGINT) AS persons, number AS entity",
        "grouped": "code, number",
        "sorted": "key_0",
    },
    "classes/people_test": {
        "masked": "key_0",
        "some_classes": "key_0 > 0",
        "is_of_class": "kanon_frequency.key_0 = counted.key_0",
        "classes": "counted.key_0",
        "keys": "key_0",
        "k": "2",
    },
    "measures/cells": {
        "charged": "SUM(cells.n * labels.leaves) AS lost",
        "codes": "(classes.key_0 >> levels.shift_0) & levels.mask_0 AS code",
        "counted": "classes.n < 2",
        "same_codes": "labels.code = cells.code",
    },
    "measures/divergence/densities": {"masks": "mask_0", "keys": "key_0"},
    "measures/divergence/patterns": {"masks": "mask_0"},
    "measures/divergence/covered": {
        "keys": "key_0",
        "masks": "mask_0",
        "masked_keys": "key_0 & mask_0 AS masked_key_0",
        "keys_of_pairs": "pairs.key_0",
        "is_in_box": "pairs.mask_0 = densities.mask_0 AND pairs.masked_key_0 = densities.key_0",
    },
    "measures/divergence/of_tuples": {"keys": "key_0", "rows": "3"},
    "measures/divergence/of_parts": {"places": "place_1", "rows": "3"},
    "measures/places/made": {
        "levels": "lookup.level_1",
        "codes": "leaf.code",
        "same_codes": "lookup.code = leaf.code",
        "under": "SUM(n) OVER (PARTITION BY code & 8) AS rows_1",
        "place": "ROW_NUMBER() OVER (ORDER BY value)",
        "above": "MIN(place) OVER (PARTITION BY code & 8) AS node_1",
    },
    "measures/places/facts": {"number": "0"},
    "measures/sets_and_ranges/spans": {"is_in_span": "place_1 > 0", "has_null": "MIN(place_1) = 0"},
    "measures/sets_and_ranges/sets": {
        "member": "CAST(places.value AS TEXT)",
        "text": "CAST(places.value AS TEXT)",
    },
    "measures/sets_and_ranges/means": {"middle": "mean"},
    "measures/sets_and_ranges/cells": {
        "label": "CAST(spans.low AS TEXT)",
        "level": "CASE WHEN spans.low = spans.high THEN 0 ELSE 1 END",
        "rows": "ends.n",
        "leaves": "spans.high - spans.low + 1",
        "at_root": "FALSE",
        "lower": "ends.number",
        "upper": "ends.number",
        "bounds": "ends.number AS low_value",
        "is_end": "ends.place = spans.low",
    },
    "measures/sets_and_ranges/ranges": {
        "may_have_null": "TRUE",
        "null_place": "0",
        "separator": "'-'",
        "is_low": "ends.low = CAST(low_end.value AS TEXT)",
        "is_high": "ends.high = CAST(high_end.value AS TEXT)",
    },
    "measures/sets_and_ranges/members": {"member": "CAST(places.value AS TEXT)"},
    "measures/released/readings": {"as_original": "label", "is_value": "TRUE", "codes": "written.code"},
    "measures/released/possible": {"codes": "facts.code", "same_codes": "facts.code = readings.code"},
    "measures/released/meanings": {"codes": "ranked.code", "is_value": "enough AND level = 0", "is_on_level": "TRUE"},
    "measures/released/values": {
        "prefixes": "places.code & levels.mask_0 AS code",
        "same_codes": "prefixes.code = readings.code",
    },
    "measures/released/range_spans": {"is_in_span": "place_1 > 0", "null_place": "0"},
    "measures/levels": {"costs": "leaves AS loss", "charged": "SUM(n * loss), MAX(loss)"},
    "measures/labels": {
        "number": "0",
        "codes": "code",
        "root_level": "CASE WHEN level_1 = '*' THEN 1 ELSE 2 END",
        "as_number": "CAST(value AS DOUBLE)",
        "codes_in_keys": "key_0 & 12 AS code",
        "grouped": "key_0 & 12",
        "codes_of_leaves": "lookups.code",
        "is_value": "lookups.number = marginals.number AND lookups.code = marginals.code",
        "prefixes": "leaves.code",
    },
    "profile/reference": {
        "key": "referred.disease",
        "same": "referring.disease = referred.disease AND referring.n = referred.n",
        "has_value": "NOT referring.disease IS NULL",
    },
    "release/full_domain": {
        "generalized": "hierarchy.level_1 AS age, source.sex",
        "is_value": "source.age IS NOT DISTINCT FROM hierarchy.value",
        "labels": "age, sex",
        "fails": "COUNT(*) < 2",
        "published": "generalized.age, generalized.sex",
        "same_class": "too_small.age = generalized.age AND too_small.sex = generalized.sex",
        "order": "HASH(generalized.age, generalized.sex)",
    },
    "release/known_subsets": {
        "generalized": "source.age, source.sex",
        "labels": "age, sex",
        "same_class": "kept.age = generalized.age AND kept.sex = generalized.sex",
    },
    "release/numbered_classes": {
        "generalized": "source.age, source.sex",
        "labels": "age, sex",
        "numbers": "DENSE_RANK() OVER (ORDER BY age NULLS FIRST) AS number_0",
    },
    "release/microaggregated": {"value": "source.age", "groups": "'1,2'", "size": "1"},
    "release/date_shifts": {"person": "source.n", "hash": "SHA256(CAST(value AS TEXT))", "days": "30"},
    "release/alike": {"columns": "class, published_1", "order": "HASH(class, published_1)"},
    "risks/codes": {"value": "tuples.tuple", "codes": "own_values.code AS value_0"}
    | {"is_value": "own_values.original IS NOT DISTINCT FROM tuples.tuple"},
    "report/rows_alone": {"alike": "released.class"},
    "report/by_label": {"label": "released.class"},
    "report/left_out_by_label": {
        "label": "left_out.sex",
        "person": "left_out.kanon_person",
        "same": "released.published_1 = left_out.sex",
    },
    "report/tied": {"row": "CAST(class AS TEXT)", "pseudonym": "published_1"},
    "risks/subsets": {"values": "value_0", "subset": "0"},
    "risks/subsets_of_people": {"values": "value_0", "subset": "0"},
    "risks/people_by_codes": {"values": "value_0"},
    "risks/uniques": {"values": "value_0", "person": "MAX(person)", "is_alone": "SUM(n) = 1"},
    "risks/minimal_uniques": {"values": "value_0", "is_alone": "SUM(n) = 1", "subset": "1"}
    | {"score": "6", "inside": "0"},
    "risks/unfit_weights": {"person": "source.n", "written": "CAST(source.age AS TEXT)", "weight": "source.age"},
    "risks/weights": {"written": "source.sex", "weight": "source.age"},
    "risks/weights_of_people": {"values": "tuples.tuple", "person": "source.disease", "weight": "source.age"},
    "risks/tuples": {"written": "source.age"},
    "risks/sizes": {"values": "tuple", "members": "CAST(SUM(n) AS BIGINT)"},
    "risks/people": {"values": "tuple"},
    "risks/population": {"written": "source.age", "members": "COUNT(*)"},
    "risks/in_population": {"values": "tuple", "members": "CAST(SUM(n) AS BIGINT)"}
    | {"same_class": "in_table.tuple = in_population.tuple"},
    "risks/people_in_population": {"values": "tuple", "same_class": "in_table.tuple = in_population.tuple"},
    "release/suppression": {"labels": "classes.age", "fails": "classes.measure_0 < 2"},
    "verify/classes": {"measures": "COUNT(*) AS measure_0", "labels": "age, sex", "fails": "measure_0 < 2"}
    | {"models": "MIN(measure_0) AS worst_0, COUNT(*) FILTER (WHERE measure_0 < 2) AS failing_0"},
    "verify/known": {"labels": "age, sex"},
    "verify/not_in_population": {"labels": "age, sex"},
    "verify/signatures": {"pseudonym": "sex", "labels": "age", "places": "age", "flags": "one_1"}
    | {"ends": "MIN(age) AS first_1, MAX(age) AS last_1", "one_value": "MIN(first_1) = MAX(last_1) AS one_1"},
    "verify/rare_pseudonyms": {"flags": "pseudonym"},
    "verify/net": {"one": "sex", "other": "age"},
    "verify/foreign_pseudonyms": {"column": "sex"},
    "verify/people_of_pseudonyms": {"pseudonym": "sex", "person": "n"},
    "verify/people": {
        "generalized": "source.age, source.sex, source.n AS person",
        "labels": "age, sex",
        "measures": "COUNT(DISTINCT person) AS measure_0",
        "measured": "in_source.measure_0",
        "same_class": "in_source.age = in_output.age AND in_source.sex = in_output.sex",
        "fails": "measure_0 < 2",
        "models": "MIN(measure_0) AS worst_0",
    },
    "standards/cells": {"small": "COUNT(*) FILTER (WHERE source.n > 0 AND source.n < 2) AS small"},
    "standards/combinations": {"others": "source.age, source.sex"},
    "standards/values": {
        "counts": "COUNT(*) FILTER (WHERE CONTAINS(marked, '*')) AS found",
        "marked": "REPLACE(text, 'f', '*')",
        "value": "source.disease",
    },
    "verify/labels": {"column": "'sex'", "label": "sex", "is_known": "known.label = published.label"},
}
"""What stands for the placeholders of files with lists."""
LISTS |= {
    "tables/coded": {
        "columns": "referred.number, hierarchy.code",
        "refers": "source.n = referred.n",
        "is_value": "CAST(source.age AS TEXT) = hierarchy.value",
    },
    "tables/coded_rows": {"codes": "code"},
    "tables/alike": {"labels": "age AS text_1, sex AS text_2", "texts": "age, sex"},
    "tables/known": {"columns": "own.n AS key, referred.n AS person", "refers": "own.n = referred.n"},
    "tables/leave_out_alone": {"is_kind": "too_rare.event = rows_of_events.event"},
    "tables/too_rare_alone": {
        "k": "2",
        "kind": "age, sex",
        "own_kind": "rows_of_events.age, rows_of_events.sex",
        "is_kind": "few.age = rows_of_events.age",
    },
    "tables/published_values": {
        "is_person": "rows_with_values.kanon_person = rows_of_table.kanon_person",
        "is_needed": "needed.kanon_person = rows_of_table.kanon_person",
        "is_kind": "rows_with_values.age = rows_of_table.age",
        "has_value": "CAST(rows_with_values.value AS TEXT) = lookup.value",
    },
    "tables/rows_of_events": {
        "through": "NULL",
        "columns": "source.age, source.sex",
        "refers": "source.n = referred.n",
    },
    "tables/rows_with_kinds": {
        "columns": "rows_of_events.age, kinds.event",
        "is_kind": "kinds.age = rows_of_events.age",
    },
    "tables/kinds": {"labels": "age, sex", "first": "0"},
    "tables/people": {
        "pseudonym": "SHA256(CAST(rows_of_people.kanon_person AS TEXT))",
        "labels": "age, sex",
        "k": "2",
        "is_class": "classes.age = rows_of_people.age",
        "columns": "rows_of_people.sex",
    },
    "tables/promise": {
        "k": "2",
        "is_another": "another.person = events.person AND another.event > events.event",
        "classes": "events.class",
        "events": "events.event, another.event",
    },
    "tables/promise_of_events": {"k": "2", "rows": "(SELECT SUM(n) FROM combinations WHERE place = 0)"},
    "tables/rarest_known": {
        "events": "events.event, another.event",
        "is_another": "another.person = events.person AND another.event > events.event",
    },
    "tables/released": {
        "published": "rows_of_table.age, needed.class",
        "is_needed": "needed.kanon_person = rows_of_table.kanon_person",
        "order": "age",
    },
    "tables/rows": {
        "person": "source.n",
        "columns": "source.age, referred.disease",
        "refers": "source.n = referred.n",
    },
    "tables/too_rare": {
        "k": "2",
        "rarest": "counted.event",
        "events": "counted.event, another.event",
        "is_another": "another.number = counted.number AND another.event > counted.event",
    },
}
LISTS |= {
    "utility/answers": {"counted": "cells.original"},
    "utility/bins": {"most": "100"},
    "utility/cells": {**{f"label_{n}": "label_1" for n in "123"}, **{f"bin_{n}": "bin_1" for n in "123"}},
    "utility/difference": {"rows_of_original": "3e0", "rows_of_release": "2e0"},
    "utility/spread": {"weight": "bins.n"},
    "utility/tuples": {"columns": "tuple", "most": "2"},
    "utility/values": {"value": "disease", "number": "n"},
}
LISTS |= {
    f"mondrian/{name}": {"place": "tuples.place_1", "places": "place_1", "columns": "place_1, n"}
    for name in ("histogram", "binned", "binned_histogram", "halves", "cut", "halved", "parted")
}
OF_A_POPULATION = {"models/k_map", "models/delta_presence"}
LISTS |= {
    name: {
        "labels": "age, sex",
        "class": "classes_of_rows.age, classes_of_rows.sex"
        if name in {"models/k_map", "models/delta_presence"}
        else "age, sex",
        **{f"class_{step}": f"{step}.age, {step}.sex" for step in ("counted", "weighed", "in_population")},
        "same_class": "classes_of_rows.age = population.age AND classes_of_rows.sex = population.sex",
        "sensitive": "disease",
        "label": "lookup.level_1",
        **dict.fromkeys(["level", "height", "k", "l", "c", "beta", "delta"], "1"),
        **dict.fromkeys(["alpha", "t", "delta_min", "delta_max"], "0.5e0"),
        "twice_height": "2",
    }
    for name in STATEMENTS
    if name.startswith("models/")
}


def filled(name: str) -> str:
    """Return the text of a statement with text in the place of its lists."""
    header, end, text = sql.text_of(name).partition("*/")
    lists = LISTS.get(name, {})
    return header + end + re.sub(r"\$(\w+)", lambda found: lists.get(found[1], found[0]), text)


def expressions(text: str) -> list[exp.Expr]:
    return sqlglot.parse_one(f"SELECT {text}", read="duckdb").expressions


def values_for(name: str, tmp_path: Path) -> dict[str, Any]:
    """A value for every placeholder of the files in sql/, a data file of the right kind among them."""
    kind = name.rpartition("_")[2]
    file = tmp_path / f"data.{kind}"
    if kind in {"csv", "json", "parquet"}:
        duckdb.sql("SELECT 1 AS a, 'x' AS b").write_parquet(str(file)) if kind == "parquet" else file.write_text(
            "a,b\n1,x\n" if kind == "csv" else '[{"a": 1, "b": "x"}]', encoding="utf-8"
        )
    return {
        "rows": 200,
        "name": "threads" if name == "catalog/setting" else "t",
        "schema": None,
        "catalog": None,
        "mark": "x",
        "prefix": "t.",
        "k": 2,
        "zone": "UTC",
        "table": "t",
        "dateformat": "%d.%m.%Y",
        "timestampformat": "%d.%m.%Y %H:%M",
        "seed": "7",
        "at_most": 2,
        **dict.fromkeys(["alone", "told", "column", "others", "counted"], 1),
        **dict.fromkeys(["settled", "one_row_each", "apart", "exact"], True),
        **dict.fromkeys(["spare", "least", "numerator", "denominator"], 1),
        **dict.fromkeys(["person", "published", "shared", "value"], "x"),
        "next": 4,
        "id": 1,
        "made_at": "2026-11-21 10:00:00",
        **dict.fromkeys(["source_schema", "source_name", "kind", "target_schema", "target_name", "policy"], "t"),
        **dict.fromkeys(["levels", "hierarchies", "fingerprint", "source_fingerprint"], "{}"),
        **dict.fromkeys(["rows_in", "rows_out", "rows_new", "rows_appended", "rows_waiting"], 5),
        **dict.fromkeys(["release_schema", "release_name", "lock", "batch"], "t"),
        "bins": 4,
        "wanted": 2,
        "many": 2,
        **dict.fromkeys(["place", "entity", "question", "group_column", "group_value"], "t"),
        **dict.fromkeys(["epsilon", "delta"], "0.25"),
        "spent_at": "2026-11-21 10:00:00",
        **dict.fromkeys(["around", "digits", "number"], "[0-9]"),
        "others": "[^0-9]",
        "argument": ".",
        "written": "SELECT prepared.a + random()",
    } | {
        "path": str(file),
        "address": __file__,
        "delimiter": ",",
        "skip": 0,
        "sample": 20_480,
        "limit": 5,
    }


@each("name", OF_POSTGRES)
def test_a_file_about_postgresql_is_one_statement_that_it_runs(name: str, postgres: str) -> None:
    import psycopg

    text = sql.text_of(name)
    assert re.match(r"/\*\s*\S", text), "it begins by saying what it is for"
    names = {"schema": "pg_catalog", "name": "pg_class"}
    as_bound = re.sub(r"\$(\w+)", r"%(\1)s", text.replace("%", "%%"))
    statement = sql.statement(name, values={key: value for key, value in names.items() if f"${key}" in text})
    statement.meta[NATIVE] = "postgres"
    with psycopg.connect(postgres) as connection:
        expected = connection.execute(as_bound, names).fetchall()
        (rendered_text,) = rendered(statement, "postgres")
        assert connection.execute(rendered_text).fetchall() == expected
    needs("pglast").parse_sql(rendered_text)


@pytest.fixture(scope="module")
def tables() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the tables that files read. What one does is undone: a file asks for the number of its commit."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (c INTEGER)")
        connection.execute(TABLES)
        yield connection


@each("name", OF_DUCKDB)
def test_a_file_is_one_statement_of_valid_duckdb_sql_with_a_header(
    name: str, tmp_path: Path, tables: duckdb.DuckDBPyConnection
) -> None:
    text, values = filled(name), values_for(name, tmp_path)
    assert re.match(r"/\*\s*\S", text), "it begins by saying what it is for"
    (statement,) = tables.extract_statements(text)
    with undone(tables):
        tables.execute(statement, {key: values[key] for key in statement.named_parameters} or None)


@each("name", OF_DUCKDB)
def test_sqlglot_means_by_a_file_what_duckdb_does(name: str, tmp_path: Path, tables: duckdb.DuckDBPyConnection) -> None:
    """What the package runs is the file after sqlglot read and rendered it: both must give the same rows."""
    values = values_for(name, tmp_path)
    (statement,) = tables.extract_statements(filled(name))
    asked = {key: values[key] for key in statement.named_parameters}
    lists = {key: expressions(of) for key, of in LISTS.get(name, {}).items()}
    bound = sql.statement(name, values=asked | lists)
    made = "admissions" if name == "demo/admissions" else None
    with undone(tables):
        rows = tables.execute(render(bound, "duckdb")).fetchall()
        ours = rows if made is None else tables.table(made).fetchall()
        if isinstance(bound, exp.Create | exp.Delete):  # what one makes or deletes is there for the other
            tables.rollback()
            tables.begin()
        rows = tables.execute(statement, asked).fetchall()
        assert sorted(ours, key=str) == sorted(rows if made is None else tables.table(made).fetchall(), key=str)


@contextlib.contextmanager
def undone(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Undo what is done within."""
    connection.begin()
    try:
        yield
    finally:
        connection.rollback()


def test_every_file_is_listed_with_what_it_computes_and_each_module_that_runs_it() -> None:
    package = REPOSITORY / "kanon_sql"
    code = {path.relative_to(package).as_posix(): path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    readme = (REPOSITORY / "sql" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\S+)\]\(\1\) \| (\S.*) \| (\S.*) \|$", readme, re.MULTILINE)
    assert sorted(file for file, _, _ in listed) == [
        path.relative_to(REPOSITORY / "sql").as_posix() for path in ALL_FILES
    ]
    for file, _, modules in listed:
        names = names_in(REPOSITORY / "sql" / file)
        assert [name for name in names if not any(f'"{name}"' in text for text in code.values())] == []
        by = {module for module, text in code.items() if any(f'"{name}"' in text for name in names)}
        assert set(re.findall(r"`(\S+)`", modules)) == by, file


def scans_of(connection: duckdb.DuckDBPyConnection, query: exp.Expr, table: str) -> int:
    """Return how often a query reads a table, by the plan that DuckDB makes of it."""
    plan = "\n".join(row[1] for row in connection.execute(f"EXPLAIN {render(query, 'duckdb')}").fetchall())
    return len(re.findall(rf"Table: \S*\b{table}\b", plan))


def test_the_source_is_read_once_for_the_frequency_set(release: kanon.Release) -> None:
    prepared = release.prepared
    connection = prepared.source.engine.connection
    for entity in (None, prepared.roles.entity):
        query = frequency_query(prepared.source.relation, prepared.hierarchies, prepared.frequency.placements, entity)
        assert scans_of(connection, query, "patients") == 1


@pytest.mark.thorough
def test_publishing_reads_the_source_twice_and_the_first_time_only_what_makes_classes(release: kanon.Release) -> None:
    """Once for the classes (narrow), once for the rows; docs/sql.md tells what a single scan would cost."""
    (query,) = release.plan().statements("release")
    connection = release.prepared.source.engine.connection
    assert scans_of(connection, query, "patients") == 2
    plan = "\n".join(row[1] for row in connection.execute(f"EXPLAIN {render(query, 'duckdb')}").fetchall())
    scans = [part for part in plan.split("Seq Scan") if re.search(r"Table: \S*\bpatients\b", part)]
    assert len(scans) == 2, plan
    assert sum("disease" in part for part in scans) == 1, plan


def test_the_search_never_reads_the_source(release: kanon.Release) -> None:
    statements = [logged for logged in release.prepared.source.engine.statements if "node" in logged.title]
    assert statements
    for logged in statements:
        assert "patients" not in {table.name for table in logged.statement.find_all(exp.Table)}


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_approved_script(release: kanon.Release, dialect: str, request: pytest.FixtureRequest) -> None:
    """To approve a change: pytest --approve, and read the diff."""
    script = release.sql(dialect, Destination(into="released"))
    require_approved(script, f"release.{dialect}.sql", request)


def kinds_of_statements(release: kanon.Release) -> dict[str, str]:
    """Return one statement of each kind that was run, by what it was for."""
    seen: dict[str, str] = {}
    for part in release.statements_run().split("\n\n-- "):
        title = re.sub(r"\(.*\)|\b(age|sex|zip)\b", "...", part.lstrip("- ").splitlines()[0])
        seen.setdefault(title, part.lstrip("- ").partition("\n")[2].strip())
    return seen


def require_approved(text: str, name: str, request: pytest.FixtureRequest) -> None:
    path = SNAPSHOTS / name
    if request.config.getoption("--approve"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_approved_search_statements(release: kanon.Release, request: pytest.FixtureRequest) -> None:
    """One statement of each kind that a search runs."""
    seen = kinds_of_statements(release)
    text = "\n\n".join(f"-- {title}\n{statement}" for title, statement in seen.items()) + "\n"
    require_approved(text, "search.duckdb.sql", request)


@pytest.mark.thorough
def test_approved_statements_of_a_report(release: kanon.Release, request: pytest.FixtureRequest) -> None:
    """Those that only a report runs: rows by label, and whether what was published is what the policy makes."""
    with release_rows(release) as found:
        require_same_rows(release, found.rows, Source(release.prepared.source.engine, found.rows, "itself"))
    kanon.report(release)
    only = ("the rows that were left out", "rows by label of ...", "rows left out by label of ...")
    seen = kinds_of_statements(release)
    titles = [*only, "is the published table the one that the policy makes?"]
    text = "\n\n".join(f"-- {title}\n{seen[title]}" for title in titles) + "\n"
    require_approved(text, "report.duckdb.sql", request)


def test_approved_round_of_mondrian(clinic: Path, request: pytest.FixtureRequest) -> None:
    """The statements of one round, each with what it is for."""
    with cut_clinic(clinic, "mondrian") as release:
        seen = kinds_of_statements(release)
    titles = list(seen)
    made = titles[titles.index("nothing was tried") + 1 : titles.index("numbers in use") + 1]
    text = "\n".join(f"-- {title}\n{seen[title]}\n" for title in made if not title.startswith("drop "))
    require_approved(text, "mondrian.round.duckdb.sql", request)


def test_approved_script_of_mondrian(clinic: Path, request: pytest.FixtureRequest) -> None:
    with cut_clinic(clinic, "mondrian") as release:
        require_approved(release.sql("duckdb", Destination(into="released")), "mondrian.duckdb.sql", request)


def cut_clinic(clinic: Path, algorithm: str) -> kanon.Release:
    return kanon.anonymize(
        clinic,
        "patients",
        quasi_identifiers=["age", "sex", "zip"],
        identifying=["name", "id"],
        sensitive=["disease"],
        rest="drop",
        models=[kanon.KAnonymity(10)],
        hierarchies={"age": "intervals:10,20:top=90", "sex": "flat", "zip": "mask:right:1,3"},
        algorithm=algorithm,
        seed=1,
    )


def test_words_that_duckdb_reserves_are_quoted() -> None:
    reserved = duckdb.execute(
        "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
    ).fetchall()
    assert sorted(word for (word,) in reserved if not needs_quotes(word)) == []
    for name in ("Age", "age-band", "1st", "", "é"):
        assert needs_quotes(name)
    assert not needs_quotes("birth_date")


@pytest.mark.thorough
def test_words_that_postgresql_reserves_are_quoted() -> None:
    keywords = needs("pglast.keywords")
    words = keywords.RESERVED_KEYWORDS | keywords.TYPE_FUNC_NAME_KEYWORDS | keywords.COL_NAME_KEYWORDS
    assert sorted(word for word in words if not needs_quotes(word)) == []


def test_an_unused_name_differs_as_sql_compares_names() -> None:
    assert unused_name("n", []) == "n"
    assert unused_name("n", ["N", "n_2"]) == "n_3"


@each("name", ['a"b', "a`b", "a'b", "a\\b", "a;b--", "a\nb", "日本 語", "select", "A"])
@each("dialect", ["duckdb", "postgres", "spark"])
def test_a_name_stays_one_identifier_in_every_dialect(name: str, dialect: str) -> None:
    text = render(exp.select(sql.column(name, "t")).from_("t"), dialect)
    parsed = sqlglot.parse_one(text, read=dialect)
    (column,) = parsed.find_all(exp.Column)
    assert column.name == name


def test_no_name_can_end_the_comment_above_a_statement() -> None:
    frame = pd.DataFrame({"x\n; DROP TABLE kanon_source; --": [1, 1, 2, 2]})
    with kanon.anonymize(frame, quasi_identifiers=list(frame.columns), models=[kanon.KAnonymity(2)]) as made:
        script = made.statements_run()
    assert any("x ; DROP TABLE kanon_source; --" in line for line in script.splitlines() if line.startswith("--"))
    with duckdb.connect() as connection:
        statements = [statement.query.strip() for statement in connection.extract_statements(script)]
    assert not any(statement.startswith("DROP TABLE kanon_source") for statement in statements)


def test_approved_script_of_several_tables(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """One statement of each kind that releases a small clinic, two events known; its tables weigh as many rows."""
    file = make_hospital(tmp_path / "clinic.duckdb", 40)
    policy = kanon.TablesPolicy(
        (
            kanon.TablePolicy(
                "patients", "people", "patient_id", columns=NamedColumns((), ("sex",), rest="drop"), weight=Fraction(40)
            ),
            kanon.TablePolicy(
                "visits",
                person="patient_id",
                key="visit_id",
                columns=NamedColumns((), ("ward",), rest="drop"),
                weight=Fraction(100),
            ),
            kanon.TablePolicy(
                "results",
                person=kanon.Through("visit_id", "visits"),
                columns=NamedColumns((), ("test",), rest="drop"),
                weight=Fraction(180),
            ),
            *(kanon.TablePolicy(name, "dropped") for name in ("prescriptions", "drugs")),
        ),
        k=3,
        km=2,
        max_suppressed=1.0,
        seed=1,
    )
    with kanon.anonymize_tables(file, policy) as made:
        parts = made.sql().rstrip("\n").split("\n\n-- ")
    kinds: dict[str, str] = {}
    for part in parts:
        kinds.setdefault(re.sub(r"\b(patients|visits|results)\b", "...", part.splitlines()[0]), part)
    text = "\n\n-- ".join(kinds.values())
    require_approved(f"{text}\n", "several-tables.duckdb.sql", request)
