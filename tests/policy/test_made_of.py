"""Columns of views that the gate traces to columns of tables, and those that it cannot trace and refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

import kanon_sql as kanon_of
from kanon_sql.errors import KanonError

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """
CREATE TABLE b AS
SELECT 20 + i % 40 AS age, i % 2 AS sex, 'd' || i % 3 AS dx, i % 7 AS w, {'f': i % 5} AS s FROM range(240) r(i);
CREATE TABLE o AS SELECT i AS sex, 'x' AS label FROM range(2) r(i);
CREATE MACRO m(x) AS TABLE SELECT age, sex, dx, age * 3 AS z FROM b
"""
MADE, UNKNOWN = "is made of age, which is not published", "the text of its view does not show of which columns"


def published(text: str) -> str:
    """Anonymize a view by age and sex with ``rest="keep"``; return why it is refused, or nothing."""
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        connection.execute(f"CREATE VIEW v AS {text}")
        asked = {"quasi_identifiers": ["age", "sex"], "sensitive": ["dx"], "k": 15, "max_suppressed": 1.0}
        try:
            kanon_of.anonymize(
                connection, "v", rest="keep", hierarchies={"age": "flat", "sex": "flat"}, **asked
            ).close()
        except KanonError as error:
            return str(error)
        return ""


@pytest.mark.parametrize(
    "text",
    [
        "SELECT age, sex, dx, w AS z FROM b",
        "SELECT age, sex, dx, w + 1 AS z, row_number() OVER () AS n FROM b",
        "SELECT b.*, label FROM b JOIN o USING (sex)",
        "SELECT age, sex, dx, s.f AS z FROM b",
        "SELECT age, sex, dx, l FROM b JOIN (VALUES (0, 'm'), (1, 'f')) v(c, l) ON c = sex",
        "WITH q(a, c) AS (SELECT age, w FROM b) SELECT age, sex, dx, q.c AS z FROM b JOIN q ON a = age",
        "SELECT age, sex, dx, w FROM b UNION ALL SELECT age, sex, dx, w FROM b",
        "SELECT * FROM b UNION ALL SELECT * FROM b",
        "SELECT age, sex, dx, u FROM b, unnest([1]) t(u)",
        "SELECT age, sex, dx, (SELECT max(w) FROM b) AS z FROM b",
    ],
)
def test_columns_that_are_made_of_published_ones_pass(text: str) -> None:
    assert published(text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT * REPLACE (age * 3 AS w) FROM b", MADE),
        ("SELECT b.age, sex, dx, q.z FROM b, LATERAL (SELECT b.age * 3) q(z)", MADE),
        ("WITH q(age, sex, dx, z) AS (SELECT age, sex, dx, age * 3 FROM b) SELECT * FROM q", MADE),
        ("SELECT age, sex, dx, w FROM b UNION ALL SELECT age, sex, dx, age FROM b", MADE),
        ("SELECT age, sex, dx, z FROM b, (SELECT age AS a2, age * 3 AS z FROM b) q WHERE a2 = age", MADE),
        ("SELECT age, sex, dx, q.s.z AS z FROM (SELECT age, sex, dx, {'z': age * 3} AS s FROM b) q", MADE),
        ("SELECT * FROM m(1)", UNKNOWN),
        ("SELECT age, sex, dx, list_transform([1], lambda x: x + age) AS z FROM b", UNKNOWN),
        ("SELECT *, unnest(struct_pack(z := age * 3)) FROM b", UNKNOWN),
        ("SELECT age, sex, dx, n1, v1 FROM b, (UNPIVOT b ON w INTO NAME n1 VALUE v1) u(a, s2, d, t, n1, v1)", UNKNOWN),
        ("SELECT age, sex, dx, least(w, 99) FROM b", UNKNOWN),
    ],
)
def test_columns_that_are_made_of_hidden_ones_or_cannot_be_traced_are_refused(text: str, why: str) -> None:
    assert why in published(text)


def test_a_file_that_a_view_reads_has_columns(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code,c\na,0\nb,1\n")
    path = str(tmp_path / "codes.csv").replace("'", "''")
    for relation in (f"'{path}'", f"read_csv('{path}', header = true)"):
        assert published("SELECT age, sex, dx, code FROM b JOIN $ ON c = sex".replace("$", relation)) == ""
