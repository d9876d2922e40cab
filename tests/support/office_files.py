"""Files with the headers and quirks of COMPAS, OSMI, HR, Synthea, Northwind and Titanic, and with invented values."""

from __future__ import annotations

import csv
import sqlite3
import uuid
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from random import Random


def _write(path: Path, header: list[str], rows: Iterable[list[object]], **how: object) -> Path:
    with path.open("w", newline="", encoding=str(how.pop("encoding", "utf-8"))) as file:
        writer = csv.writer(file, **how)  # type: ignore[arg-type]  # settings of csv
        writer.writerow(header)
        writer.writerows(rows)
    return path


def compas(directory: Path, draw: Random) -> Path:
    """Two columns stand twice, dates of prison have a time of day or are missing, and the end is -1."""
    header = [
        "id",
        "name",
        "sex",
        "dob",
        "age",
        "age_cat",
        "race",
        "decile_score",
        "priors_count",
        "c_jail_in",
        "decile_score",
        "priors_count",
        "end",
    ]
    rows: list[list[object]] = []
    for number in range(300):
        age = draw.randint(18, 70)
        jail = f"2013-0{draw.randint(1, 9)}-11 06:03:42" if draw.random() < 0.8 else ""
        score, priors = draw.randint(1, 10), draw.randint(0, 20)
        category = "Less than 25" if age < 25 else "25 - 45" if age < 46 else "Greater than 45"
        rows.append(
            [
                number + 1,
                f"person {number}",
                draw.choice(["Male", "Female"]),
                f"{2014 - age}-04-18",
                age,
                category,
                draw.choice(["Other", "Caucasian"]),
                score,
                priors,
                jail,
                score,
                priors,
                draw.choice([-1, 327]),
            ]
        )
    return _write(directory / "compas.csv", header, rows)


def osmi(directory: Path, draw: Random) -> Path:
    """Names of columns are questions with commas, quotes and line feeds; some ages are none, and NA is missing."""
    header = [
        "Timestamp",
        "Age",
        'Does your employer provide "mental health" benefits, as part of healthcare coverage?',
        "Would you bring up a physical\nhealth issue?",
        "Country",
    ]
    rows: list[list[object]] = [
        [
            f"2014-08-27 11:{number % 60:02}:31",
            draw.choice([draw.randint(18, 60), draw.randint(18, 60), -29, 329]),
            draw.choice(["Yes", "No", "Don't know", "NA"]),
            draw.choice(["Maybe", "Yes", "No, never"]),
            draw.choice(["United States", "Germany", "NA"]),
        ]
        for number in range(300)
    ]
    return _write(directory / "osmi.csv", header, rows, quoting=csv.QUOTE_ALL)


def hr(directory: Path, draw: Random) -> Path:
    """It begins with a byte order mark, has CRLF, and columns of one value."""
    header = ["Age", "Attrition", "DailyRate", "Department", "EmployeeCount", "EmployeeNumber", "Gender", "Over18"]
    rows: list[list[object]] = [
        [
            draw.randint(18, 60),
            draw.choice(["Yes", "No"]),
            draw.randint(100, 1500),
            draw.choice(["Sales", "R & D"]),
            1,
            number + 1,
            draw.choice(["Male", "Female"]),
            "Y",
        ]
        for number in range(300)
    ]
    return _write(directory / "hr.csv", header, rows, encoding="utf-8-sig")


def synthea(directory: Path, draw: Random) -> Path:
    """UUIDs, dates that are missing, ZIP codes with zeros or without any, and coordinates of many digits."""
    header = [
        "Id",
        "BIRTHDATE",
        "DEATHDATE",
        "SSN",
        "FIRST",
        "LAST",
        "MARITAL",
        "GENDER",
        "CITY",
        "ZIP",
        "LAT",
        "HEALTHCARE_EXPENSES",
    ]
    rows: list[list[object]] = []
    for number in range(300):
        identity = uuid.UUID(int=draw.getrandbits(128), version=4)
        born = f"{draw.randint(1920, 2019)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        rows.append(
            [
                identity,
                born,
                "2020-05-01" if draw.random() < 0.1 else "",
                f"999-{number % 90 + 10}-{1000 + number}",
                f"Ada{number}",
                f"King{number}",
                draw.choice(["M", "S", ""]),
                draw.choice("MF"),
                "Boston",
                draw.choice(["02108", "01002", ""]),
                42.0 + draw.random(),
                round(draw.random() * 100000, 2),
            ]
        )
    return _write(directory / "patients.csv", header, rows)


def titanic(directory: Path, draw: Random) -> Path:
    """Names have commas and quotes, ages have halves or are missing, and tickets are numbers and texts."""
    header = [
        "PassengerId",
        "Survived",
        "Pclass",
        "Name",
        "Sex",
        "Age",
        "SibSp",
        "Parch",
        "Ticket",
        "Fare",
        "Cabin",
        "Embarked",
    ]
    rows: list[list[object]] = [
        [
            number + 1,
            draw.randint(0, 1),
            draw.randint(1, 3),
            f'King, Mrs. Ada {number} (Augusta "Ada")',
            draw.choice(["male", "female"]),
            draw.choice(["", 22, 0.42, 38, 45.5]),
            0,
            1,
            draw.choice(["A/5 21171", "113803", "PC 17599"]),
            7.25,
            draw.choice(["", "C85"]),
            draw.choice(["S", "C", ""]),
        ]
        for number in range(300)
    ]
    return _write(directory / "titanic.csv", header, rows)


def northwind(directory: Path, draw: Random) -> Path:
    """An SQLite database: a name with a blank, pictures, dates as texts, and a view."""
    path = directory / "northwind.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE "Employees" (EmployeeID INTEGER PRIMARY KEY, LastName TEXT, Title TEXT, BirthDate DATE,
                City TEXT, Photo BLOB, ReportsTo INTEGER);
            CREATE TABLE "Order Details" (OrderID INTEGER, UnitPrice NUMERIC, Quantity INTEGER);
            CREATE VIEW "Alphabetical list" AS SELECT LastName FROM "Employees";
        """)
        rows = [
            (
                number,
                f"King{number}",
                draw.choice(["Sales", "Boss"]),
                f"19{draw.randint(50, 79)}-12-08",
                "London",
                b"\x15\x1c/",
                draw.choice([None, 2]),
            )
            for number in range(300)
        ]
        connection.executemany('INSERT INTO "Employees" VALUES (?, ?, ?, ?, ?, ?, ?)', rows)
        connection.commit()
    return path
