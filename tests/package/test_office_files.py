"""Files as well-known ones are go from file to report by one command that states roles."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import office_files
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

BENEFITS = 'Does your employer provide "mental health" benefits, as part of healthcare coverage?'
ROLES = {
    "compas": ["--id", "id,name,dob", "--qi", "sex,age,race", "--rest", "drop"],
    "osmi": ["--qi", "Age,Country", "--keep", f'"{BENEFITS}"'.replace('"mental health"', '""mental health""')],
    "hr": ["--id", "EmployeeNumber", "--qi", "Age,Gender,Department"],
    "synthea": ["--id", "Id,SSN,FIRST,LAST", "--qi", "BIRTHDATE,GENDER,ZIP"],
    "titanic": ["--id", "PassengerId,Name,Ticket,Cabin", "--qi", "Sex,Age,Pclass", "--keep", "Survived"],
    "northwind": ["Employees", "--id", "EmployeeID,LastName", "--qi", "BirthDate,Title"],
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ROLES)
def test_from_a_file_to_its_report_by_roles_alone(name: str, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    path = getattr(office_files, name)(in_tmp, Random(7))  # noqa: S311 - rows, not secrets
    rest = [] if "--rest" in ROLES[name] else ["--rest", "drop"]
    ended = kanon(
        "anonymize", path, *ROLES[name], *rest, "-k", 5, "--count", "rows", "--out", "o.csv", "--report", "r.html"
    )
    assert ended.code == 0, ended.err
    assert "k = 5 holds" in ended.out
    assert "300 in" in ended.out
    assert (in_tmp / "r.html").stat().st_size > 10_000
    assert kanon("profile", path, *ROLES[name][:1] if name == "northwind" else ()).code == 0
