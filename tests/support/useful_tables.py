"""Tables of the shapes of public ones, with the roles that an expert gave their columns before `kanon init` saw them.

`python tests/support/useful_tables.py [NAME ...]` runs `kanon init` and `kanon anonymize` on each without an edit, and
prints what an analyst would get: the loss, quasi-identifiers that are published as they are, the smallest class over
the published ones, and hierarchies that are not for their column.

Nobody in these tables exists. Columns depend on one another as in the tables that they stand for: a job has its
department, a code its text, an age its date of birth.

Q is a quasi-identifier, I an identifier, S sensitive, N neither. With two letters, both can be defended. A column that
is Q alone must not be published as it is.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """A table: roles of its columns, the ready-made hierarchies that fit some, and how a row is made."""

    rows: int
    roles: dict[str, str]
    make: Callable[[random.Random, int], Row]
    fitting: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write the table as a CSV file, the same each time."""
        draw = random.Random(path.stem)  # noqa: S311 - fake data, the same each time
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.roles)
            writer.writeheader()
            writer.writerows(self.make(draw, row) for row in range(self.rows))
        return path

    @property
    def quasi_identifiers(self) -> list[str]:
        """Columns that an expert generalizes in any case."""
        return [name for name, role in self.roles.items() if role == "Q"]


def one_of(draw: random.Random, weighted: str) -> str:
    """Draw a word of ``a:3|b:1`` by its weight.

    >>> one_of(random.Random(1), "a:1|b:0")
    'a'
    """
    words = [part.rpartition(":") for part in weighted.split("|")]
    return draw.choices([word for word, _, _ in words], [float(weight) for _, _, weight in words])[0]


def bell(draw: random.Random, mean: float, spread: float, low: float, high: float) -> float:
    return min(high, max(low, draw.gauss(mean, spread)))


def day(draw: random.Random, first: str, days: int) -> dt.date:
    return dt.date.fromisoformat(first) + dt.timedelta(days=draw.randrange(days))


def born(draw: random.Random, age: int, today: str = "2024-06-30") -> dt.date:
    return dt.date.fromisoformat(today) - dt.timedelta(days=int((age + draw.random()) * 365.25))


FIRST = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hugo", "Ines", "Jon", "Kira", "Leo", "Mia", "Noah", "Olga")
LAST = ("Abel", "Berg", "Cole", "Diaz", "Ek", "Frey", "Gold", "Hart", "Ivers", "Jung", "Kern", "Lund", "Moss", "Nash")


def person(draw: random.Random) -> str:
    return f"{draw.choice(FIRST)} {draw.choice(LAST)}"


JOBS = {
    "Research Scientist": ("Research & Development", 1),
    "Laboratory Technician": ("Research & Development", 1),
    "Manufacturing Director": ("Research & Development", 3),
    "Healthcare Representative": ("Research & Development", 2),
    "Sales Executive": ("Sales", 2),
    "Sales Representative": ("Sales", 1),
    "Human Resources": ("Human Resources", 1),
    "Manager": ("Sales", 4),
}


def employee(draw: random.Random, row: int) -> Row:
    """Make a row of a table of a personnel department (as IBM's HR table: wide, most columns are scores)."""
    age = int(bell(draw, 37, 9, 18, 60))
    job = one_of(draw, "Sales Executive:22|Research Scientist:20|Laboratory Technician:18|Manufacturing Director:10|"
                       "Healthcare Representative:9|Manager:7|Sales Representative:6|Human Resources:4")  # fmt: skip
    department, level = JOBS[job]
    years = min(age - 18, int(draw.expovariate(1 / 7)))
    return {
        "Age": age,
        "Attrition": one_of(draw, "No:84|Yes:16"),
        "BusinessTravel": one_of(draw, "Travel_Rarely:71|Travel_Frequently:19|Non-Travel:10"),
        "DailyRate": draw.randrange(102, 1500),
        "Department": department,
        "DistanceFromHome": 1 + int(draw.expovariate(1 / 9)) % 29,
        "Education": one_of(draw, "1:12|2:19|3:39|4:27|5:3"),
        "EducationField": one_of(
            draw, "Life Sciences:41|Medical:32|Marketing:11|Technical Degree:9|Other:6|Human Resources:1"
        ),
        "EmployeeCount": 1,
        "EmployeeNumber": row + 1,
        "EnvironmentSatisfaction": draw.randrange(1, 5),
        "Gender": one_of(draw, "Male:60|Female:40"),
        "HourlyRate": draw.randrange(30, 101),
        "JobLevel": min(5, level + (draw.random() < 0.3)),
        "JobRole": job,
        "JobSatisfaction": draw.randrange(1, 5),
        "MaritalStatus": one_of(draw, "Married:46|Single:32|Divorced:22"),
        "MonthlyIncome": int(1000 + 2500 * level + draw.expovariate(1 / 1500)),
        "NumCompaniesWorked": int(draw.expovariate(1 / 2.5)) % 10,
        "Over18": "Y",
        "OverTime": one_of(draw, "No:72|Yes:28"),
        "PerformanceRating": one_of(draw, "3:85|4:15"),
        "StockOptionLevel": one_of(draw, "0:43|1:41|2:11|3:5"),
        "TotalWorkingYears": min(age - 18, years + int(draw.expovariate(1 / 4))),
        "TrainingTimesLastYear": draw.randrange(0, 7),
        "YearsAtCompany": years,
        "YearsInCurrentRole": int(years * draw.random()),
    }


CHARGES = {
    "Battery": ("M", "(M1)"), "Grand Theft (Motor Vehicle)": ("F", "(F3)"), "Driving W/O License": ("F", "(F3)"),
    "Possession of Cocaine": ("F", "(F3)"), "Petit Theft": ("M", "(M2)"), "Aggravated Assault w/Firearm": ("F", "(F3)"),
    "Felony Battery (Dom Strang)": ("F", "(F3)"), "Resist/Obstruct W/O Violence": ("M", "(M1)"),
    "Susp Drivers Lic 1st Offense": ("M", "(M2)"), "arrest case no charge": ("F", "(F7)"),
}  # fmt: skip


def defendant(draw: random.Random, row: int) -> Row:
    """Make a row of a table of scores of defendants (as COMPAS)."""
    age = int(18 + draw.expovariate(1 / 16)) % 80 + 18 if draw.random() < 0.05 else int(bell(draw, 33, 11, 18, 83))
    birth, first, last = born(draw, age, "2016-04-01"), draw.choice(FIRST), draw.choice(LAST)
    charge = draw.choice(list(CHARGES))
    jail = dt.datetime.combine(day(draw, "2013-01-01", 700), dt.time(draw.randrange(24), draw.randrange(60)))
    out, score = jail + dt.timedelta(hours=int(draw.expovariate(1 / 60)) + 5), draw.randrange(1, 11)
    return {
        "id": row + 1,
        "name": f"{first.lower()} {last.lower()}",
        "first": first.lower(),
        "last": last.lower(),
        "compas_screening_date": (jail + dt.timedelta(days=1)).date(),
        "sex": one_of(draw, "Male:81|Female:19"),
        "dob": birth,
        "age": age,
        "age_cat": "Less than 25" if age < 25 else "25 - 45" if age <= 45 else "Greater than 45",
        "race": one_of(draw, "African-American:51|Caucasian:34|Hispanic:9|Other:5|Asian:0.5|Native American:0.3"),
        "juv_fel_count": int(draw.expovariate(8)),
        "decile_score": score,
        "priors_count": int(draw.expovariate(1 / 3)),
        "days_b_screening_arrest": one_of(draw, "-1:70|0:20|1:10"),
        "c_jail_in": jail,
        "c_jail_out": out,
        "c_case_number": f"{jail:%y}{row:06d}CF10A",
        "c_charge_degree": CHARGES[charge][0],
        "c_charge_desc": charge,
        "is_recid": int(draw.random() < 0.48),
        "r_charge_degree": CHARGES[draw.choice(list(CHARGES))][1] if draw.random() < 0.48 else "",
        "score_text": "Low" if score < 5 else "Medium" if score < 8 else "High",
        "type_of_assessment": "Risk of Recidivism",
        "two_year_recid": int(draw.random() < 0.45),
    }


def answers(draw: random.Random, row: int) -> Row:
    """Make a row of a survey about mental health at work (as OSMI's): a few facts about the person, many answers."""
    country = one_of(draw, "United States:60|United Kingdom:15|Canada:6|Germany:4|Netherlands:2|Ireland:2|Australia:2|"
                           "France:1|India:1|New Zealand:1|Poland:0.5|Italy:0.5|Brazil:0.5")  # fmt: skip
    states = "CA:14|WA:7|NY:6|TN:5|TX:5|OH:3|IL:3|OR:3|PA:3|IN:3|MI:2|MN:2|VA:2|GA:1|NC:1|FL:1|CO:1|UT:1"
    return {
        "Timestamp": dt.datetime(2014, 8, 27, 11, 0) + dt.timedelta(minutes=row * 3 + draw.randrange(3)),
        "Age": int(bell(draw, 32, 7, 18, 72)),
        "Gender": one_of(draw, "Male:50|male:16|Female:10|M:9|female:5|F:3|m:3|f:1|Make:0.3|Woman:0.3|non-binary:0.3"),
        "Country": country,
        "state": one_of(draw, states) if country == "United States" else "",
        "self_employed": one_of(draw, "No:86|Yes:11|:2"),
        "family_history": one_of(draw, "No:61|Yes:39"),
        "treatment": one_of(draw, "Yes:51|No:49"),
        "work_interfere": one_of(draw, "Sometimes:37|Never:17|Rarely:14|Often:11|:21"),
        "no_employees": one_of(draw, "6-25:23|26-100:23|More than 1000:22|100-500:14|1-5:13|500-1000:5"),
        "remote_work": one_of(draw, "No:70|Yes:30"),
        "tech_company": one_of(draw, "Yes:82|No:18"),
        "benefits": one_of(draw, "Yes:38|Don't know:32|No:30"),
        "wellness_program": one_of(draw, "No:67|Yes:18|Don't know:15"),
        "seek_help": one_of(draw, "No:51|Don't know:29|Yes:20"),
        "leave": one_of(draw, "Don't know:45|Somewhat easy:21|Very easy:16|Somewhat difficult:10|Very difficult:8"),
        "coworkers": one_of(draw, "Some of them:61|No:21|Yes:18"),
        "comments": draw.choice(("I work with people who know me well and it is a small team.", "", "", "", "", "")),
    }


def check_up(draw: random.Random, row: int) -> Row:
    """Make a row of check-ups of a works doctor."""
    age, male = int(bell(draw, 44, 11, 18, 66)), draw.random() < 0.55
    height = round(bell(draw, 178 if male else 165, 7, 145, 205))
    return {
        "employee_no": f"E{10_000 + row}",
        "date_of_birth": born(draw, age),
        "sex": "M" if male else "F",
        "postcode": f"{draw.choice((70, 71, 72, 73))}{draw.choice((173, 174, 176, 182, 190, 197, 199, 327, 329))}",
        "site": one_of(draw, "North:50|South:30|Harbour:20"),
        "shift_work": int(draw.random() < 0.3),
        "exam_date": day(draw, "2023-01-09", 340),
        "height_cm": height,
        "weight_kg": round(bell(draw, height - 95, 13, 42, 160), 1),
        "systolic": int(bell(draw, 127, 15, 90, 210)),
        "diastolic": int(bell(draw, 80, 10, 50, 120)),
        "ldl": round(bell(draw, 3.2, 0.9, 1, 8), 2),
        "smoker": float(draw.random() < 0.24),
        "diabetes": float(draw.random() < 0.08),
        "hearing_loss": one_of(draw, "none:80|mild:15|severe:5"),
        "fit_for_work": one_of(draw, "yes:90|with restrictions:8|no:2"),
    }


def household(draw: random.Random, _: int) -> Row:
    """Make a row of a census: as Adult's, with a region and weights."""
    age = int(bell(draw, 40, 15, 17, 90))
    school = one_of(draw, "HS-grad:32|Some-college:22|Bachelors:17|Masters:6|Assoc-voc:4|11th:4|Assoc-acdm:3|10th:3|"
                          "7th-8th:2|Prof-school:2|9th:2|12th:1|Doctorate:1")  # fmt: skip
    years = {"HS-grad": 9, "Some-college": 10, "Bachelors": 13, "Masters": 14, "Assoc-voc": 11, "11th": 7, "12th": 8,
             "Assoc-acdm": 12, "10th": 6, "7th-8th": 4, "Prof-school": 15, "9th": 5, "Doctorate": 16}  # fmt: skip
    married = one_of(draw, "Married-civ-spouse:46|Never-married:33|Divorced:14|Separated:3|Widowed:3")
    return {
        "age": age,
        "workclass": one_of(draw, "Private:70|Self-emp-not-inc:8|Local-gov:6|?:6|State-gov:4|Federal-gov:3"),
        "fnlwgt": int(bell(draw, 190_000, 100_000, 12_000, 1_400_000)),
        "education": school,
        "education-num": years[school],
        "marital-status": married,
        "occupation": one_of(
            draw,
            "Prof-specialty:13|Craft-repair:13|Exec-managerial:12|Adm-clerical:12|Sales:11|"
            "Other-service:10|Machine-op-inspct:6|?:6|Transport-moving:5|Handlers-cleaners:4|"
            "Farming-fishing:3|Tech-support:3|Protective-serv:2",
        ),
        "relationship": "Husband"
        if married.startswith("Married") and draw.random() < 0.9
        else one_of(draw, "Not-in-family:40|Own-child:25|Unmarried:17|Wife:8|Other-relative:5"),
        "race": one_of(draw, "White:85|Black:10|Asian-Pac-Islander:3|Amer-Indian-Eskimo:1|Other:1"),
        "sex": one_of(draw, "Male:67|Female:33"),
        "capital-gain": 0 if draw.random() < 0.92 else int(draw.expovariate(1 / 12_000)),
        "hours-per-week": int(bell(draw, 40, 10, 1, 99)),
        "native-country": one_of(
            draw,
            "United-States:90|Mexico:2|?:2|Philippines:1|Germany:0.5|Canada:0.5|India:0.4|"
            "Cuba:0.4|England:0.3|China:0.3",
        ),
        "income": one_of(draw, "<=50K:76|>50K:24"),
    }


CITIES = {
    "New York City": ("New York", "East", "10024"), "Los Angeles": ("California", "West", "90049"),
    "Philadelphia": ("Pennsylvania", "East", "19140"), "San Francisco": ("California", "West", "94122"),
    "Seattle": ("Washington", "West", "98103"), "Houston": ("Texas", "Central", "77095"),
    "Chicago": ("Illinois", "Central", "60623"), "Columbus": ("Ohio", "East", "43229"),
    "Dallas": ("Texas", "Central", "75220"), "Jacksonville": ("Florida", "South", "32216"),
}  # fmt: skip
ITEMS = {"Chairs": "Furniture", "Tables": "Furniture", "Binders": "Office Supplies", "Paper": "Office Supplies",
         "Phones": "Technology", "Copiers": "Technology", "Storage": "Office Supplies"}  # fmt: skip


def order(draw: random.Random, row: int) -> Row:
    """Make a row of orders of a shop (as Superstore's)."""
    customer = random.Random(draw.randrange(800))  # noqa: S311 - a customer is the same in each order
    name, city, segment = (
        person(customer),
        customer.choice(list(CITIES)),
        one_of(customer, "Consumer:5|Corporate:3|Home Office:2"),
    )
    number = customer.randrange(10_000, 99_999)
    item, bought = draw.choice(list(ITEMS)), day(draw, "2021-01-03", 1400)
    return {
        "Row ID": row + 1,
        "Order ID": f"CA-{bought.year}-{100_000 + row // 2}",
        "Order Date": bought,
        "Ship Date": bought + dt.timedelta(days=draw.randrange(0, 8)),
        "Ship Mode": one_of(draw, "Standard Class:60|Second Class:20|First Class:15|Same Day:5"),
        "Customer ID": f"{''.join(part[0] for part in name.split())}-{number}",
        "Customer Name": name,
        "Segment": segment,
        "Country": "United States",
        "City": city,
        "State": CITIES[city][0],
        "Postal Code": CITIES[city][2],
        "Region": CITIES[city][1],
        "Category": ITEMS[item],
        "Sub-Category": item,
        "Sales": round(draw.expovariate(1 / 230), 2),
        "Quantity": draw.randrange(1, 9),
        "Discount": draw.choice((0, 0, 0, 0.2, 0.2, 0.7)),
    }


TOWNS = {"Kassel": "34117", "Baunatal": "34225", "Vellmar": "34246", "Kaufungen": "34260", "Fuldatal": "34233",
         "Lohfelden": "34253", "Hofgeismar": "34369", "Wolfhagen": "34466"}  # fmt: skip


def resident(draw: random.Random, row: int) -> Row:
    """Make a row of a register of a German office."""
    age = int(bell(draw, 45, 21, 0, 99))
    town = one_of(draw, "Kassel:60|Baunatal:10|Vellmar:7|Kaufungen:6|Fuldatal:5|Lohfelden:5|Hofgeismar:4|Wolfhagen:3")
    return {
        "Aktenzeichen": f"33.2/{row:05d}",
        "Nachname": draw.choice(LAST),
        "Vorname": draw.choice(FIRST),
        "Geburtsdatum": f"{born(draw, age):%d.%m.%Y}",
        "Geschlecht": one_of(draw, "m:49|w:50|d:0.4"),
        "Familienstand": "ledig" if age < 20 else one_of(draw, "verheiratet:50|ledig:30|geschieden:12|verwitwet:8"),
        "Staatsangehörigkeit": one_of(draw, "deutsch:82|türkisch:5|polnisch:3|syrisch:3|ukrainisch:3|italienisch:2"),
        "PLZ": TOWNS[town],
        "Ort": town,
        "Straße": f"{draw.choice(('Hauptstr.', 'Gartenweg', 'Am Bach', 'Schulstr.'))} {draw.randrange(1, 90)}",
        "Einzugsdatum": f"{day(draw, '1995-01-01', 10_500):%d.%m.%Y}",
        "Konfession": one_of(draw, "keine:45|ev:30|rk:18|sonstige:7"),
        "Antrag": one_of(draw, "Wohngeld:40|Kindergeld:30|Ummeldung:20|Pass:10"),
        "Bearbeitungsdauer": int(draw.expovariate(1 / 9)),
        "bewilligt": one_of(draw, "ja:80|nein:20"),
    }


def pupil(draw: random.Random, _: int) -> Row:
    """Make a row of grades of two schools (as the Portuguese table of student performance)."""
    return {
        "school": one_of(draw, "GP:65|MS:35"),
        "sex": one_of(draw, "F:59|M:41"),
        "age": int(bell(draw, 16.7, 1.2, 15, 22)),
        "address": one_of(draw, "U:70|R:30"),
        "famsize": one_of(draw, "GT3:70|LE3:30"),
        "Pstatus": one_of(draw, "T:88|A:12"),
        "Medu": draw.randrange(0, 5),
        "Fedu": draw.randrange(0, 5),
        "Mjob": one_of(draw, "other:40|services:21|at_home:21|teacher:11|health:7"),
        "Fjob": one_of(draw, "other:57|services:28|at_home:6|teacher:6|health:3"),
        "traveltime": one_of(draw, "1:56|2:33|3:8|4:3"),
        "failures": one_of(draw, "0:85|1:10|2:3|3:2"),
        "paid": one_of(draw, "no:94|yes:6"),
        "romantic": one_of(draw, "no:63|yes:37"),
        "Dalc": one_of(draw, "1:70|2:19|3:7|4:2|5:2"),
        "health": draw.randrange(1, 6),
        "absences": int(draw.expovariate(1 / 4)),
        "G3": int(bell(draw, 12, 3, 0, 20)),
    }


def loan(draw: random.Random, row: int) -> Row:
    """Make a row of loans of a bank."""
    age = int(bell(draw, 41, 12, 19, 75))
    return {
        "loan_id": f"LP{row:06d}",
        "gender": one_of(draw, "Male:80|Female:18|:2"),
        "birth_year": 2024 - age,
        "married": one_of(draw, "Yes:65|No:35"),
        "dependents": one_of(draw, "0:58|1:17|2:17|3+:8"),
        "education": one_of(draw, "Graduate:78|Not Graduate:22"),
        "self_employed": one_of(draw, "No:86|Yes:14"),
        "applicant_income": int(draw.lognormvariate(8.4, 0.5)),
        "loan_amount": int(draw.lognormvariate(4.9, 0.5)),
        "loan_term": one_of(draw, "360:85|180:8|480:3|300:2|84:1|120:1"),
        "credit_history": one_of(draw, "1.0:84|0.0:16"),
        "property_area": one_of(draw, "Semiurban:38|Urban:33|Rural:29"),
        "zip": one_of(draw, "02139:20|02138:18|02141:12|02142:8|02144:14|02143:12|02140:10|02145:6"),
        "approved": one_of(draw, "Y:69|N:31"),
    }


def trip(draw: random.Random, row: int) -> Row:
    """Make a row of trips of a bicycle hire."""
    rider = random.Random(draw.randrange(900))  # noqa: S311 - a rider is the same on each trip
    birth, sex, home = 1950 + int(50 * rider.random() ** 0.6), rider.choice("mf"), rider.randrange(40)
    number = rider.randrange(10**6)
    begun = dt.datetime(2024, 5, 1) + dt.timedelta(seconds=draw.randrange(30 * 86_400))
    ends, length = draw.randrange(40), int(draw.expovariate(1 / 700)) + 60
    return {
        "ride_id": f"{number:06d}{row:05d}",
        "member_number": number,
        "member_birth_year": birth,
        "member_gender": sex,
        "started_at": begun,
        "ended_at": begun + dt.timedelta(seconds=length),
        "start_station": f"Station {home:02d}" if draw.random() < 0.6 else f"Station {draw.randrange(40):02d}",
        "end_station": f"Station {ends:02d}",
        "bike": one_of(draw, "classic:70|electric:30"),
        "duration_s": length,
    }


def claim(draw: random.Random, row: int) -> Row:
    """Make a row of claims to an insurance of cars."""
    age = int(bell(draw, 45, 14, 18, 88))
    happened = day(draw, "2023-01-01", 365)
    return {
        "policy_number": 500_000 + row,
        "insured_name": person(draw),
        "insured_age": age,
        "insured_sex": one_of(draw, "MALE:50|FEMALE:50"),
        "insured_zip": one_of(draw, "43085:3|43201:9|43202:8|43203:5|43204:7|43205:4|43206:6|43207:7|43209:4|43210:2"),
        "insured_education_level": one_of(draw, "High School:25|College:20|Associate:15|Masters:15|JD:10|PhD:7"),
        "insured_occupation": one_of(
            draw, "sales:12|tech-support:12|exec-managerial:12|craft-repair:10|clerical:10|farming:5|armed-forces:3"
        ),
        "insured_hobbies": one_of(draw, "reading:20|golf:12|camping:12|chess:8|base-jumping:5|yachting:3"),
        "auto_make": one_of(draw, "Dodge:9|Saab:8|Subaru:8|Nissan:8|Ford:8|Audi:6|BMW:6|Mercedes:5|Honda:5"),
        "auto_year": draw.randrange(2000, 2023),
        "incident_date": happened,
        "incident_type": one_of(draw, "Multi-vehicle Collision:42|Single Vehicle Collision:40|Theft:9|Parked:9"),
        "incident_severity": one_of(draw, "Minor Damage:36|Total Loss:28|Major Damage:27|Trivial Damage:9"),
        "witnesses": draw.randrange(0, 4),
        "total_claim_amount": int(bell(draw, 52_000, 26_000, 100, 115_000)),
        "fraud_reported": one_of(draw, "N:75|Y:25"),
    }


def donor(draw: random.Random, row: int) -> Row:
    """Make a row of donors of blood, in French."""
    age = int(bell(draw, 39, 13, 18, 70))
    return {
        "numero_donneur": f"D{row:07d}",
        "nom": draw.choice(LAST),
        "prenom": draw.choice(FIRST),
        "date_naissance": f"{born(draw, age):%d/%m/%Y}",
        "sexe": one_of(draw, "F:54|M:46"),
        "code_postal": one_of(draw, "35000:30|35200:20|35700:18|35400:10|35300:8|35500:7|35600:4|35800:3"),
        "groupe_sanguin": one_of(draw, "A+:38|O+:36|B+:8|A-:7|O-:6|AB+:3|B-:1|AB-:1"),
        "nb_dons": int(draw.expovariate(1 / 6)) + 1,
        "dernier_don": f"{day(draw, '2022-01-01', 880):%d/%m/%Y}",
        "hemoglobine": round(bell(draw, 14, 1.3, 10, 19), 1),
        "refus": one_of(draw, "non:88|oui:12"),
        "motif_refus": one_of(draw, ":88|fer:5|voyage:4|tatouage:3"),
    }


def tenant(draw: random.Random, row: int) -> Row:
    """Make a row of tenants of a housing company."""
    people = int(one_of(draw, "1:38|2:30|3:14|4:12|5:6"))
    return {
        "contract": f"V-{row:05d}",
        "tenant": person(draw),
        "birth_date": born(draw, int(bell(draw, 50, 17, 20, 95))),
        "people_in_household": people,
        "children": max(0, people - 2),
        "single_parent": int(people > 1 and draw.random() < 0.15),
        "nationality": one_of(draw, "AT:75|DE:6|RS:6|TR:5|BA:3|HR:3|HU:2"),
        "district": one_of(draw, "10:22|11:18|20:15|21:15|22:14|3:6|12:5|15:5"),
        "moved_in": day(draw, "1990-01-01", 12_400),
        "rooms": min(5, max(1, people + draw.randrange(-1, 2))),
        "square_metres": round(bell(draw, 30 + 17 * people, 10, 22, 140), 1),
        "rent": round(bell(draw, 250 + 130 * people, 70, 180, 1600), 2),
        "arrears": 0 if draw.random() < 0.87 else round(draw.expovariate(1 / 600), 2),
        "housing_benefit": one_of(draw, "no:78|yes:22"),
    }


def sample(draw: random.Random, row: int) -> Row:
    """Make a row of results of a laboratory: few facts about the person, a result."""
    age = int(bell(draw, 52, 22, 0, 99))
    taken = dt.datetime(2024, 1, 2, 6, 0) + dt.timedelta(minutes=draw.randrange(120 * 24 * 60))
    return {
        "sample_id": f"S{row:08d}",
        "patient_age": age,
        "patient_sex": one_of(draw, "F:52|M:48"),
        "patient_zip": one_of(draw, "8001:10|8003:14|8004:16|8005:8|8006:9|8008:10|8032:8|8037:9|8045:7|8050:9"),
        "ordering_ward": one_of(draw, "Emergency:30|Internal medicine:25|Surgery:20|Oncology:10|Paediatrics:10|ICU:5"),
        "collected_at": taken,
        "test_code": one_of(draw, "718-7:30|2345-7:25|2160-0:20|6690-2:15|4548-4:10"),
        "result": round(draw.lognormvariate(2, 0.7), 1),
        "abnormal": float(draw.random() < 0.2),
    }


def member(draw: random.Random, row: int) -> Row:
    """Make a row of members of a sports club."""
    age = int(bell(draw, 36, 14, 14, 85))
    return {
        "member_id": row + 1,
        "email": f"{draw.choice(FIRST).lower()}{row}@club.example",
        "age": age,
        "age_group": "14-17"
        if age < 18
        else "18-29"
        if age < 30
        else "30-44"
        if age < 45
        else "45-64"
        if age < 65
        else "65+",
        "gender": one_of(draw, "female:48|male:51|diverse:1"),
        "town": one_of(draw, "Graz:60|Gratwein:8|Seiersberg:8|Hart:7|Gössendorf:6|Kalsdorf:6|Lieboch:5"),
        "joined": day(draw, "2012-01-01", 4500),
        "department": one_of(draw, "football:35|gymnastics:20|tennis:15|swimming:15|judo:8|climbing:7"),
        "fee": one_of(draw, "9.50:20|14.00:50|19.00:30"),
        "visits_last_month": int(draw.expovariate(1 / 5)),
        "injury": one_of(draw, "none:85|knee:6|shoulder:5|back:4"),
        "has_locker": one_of(draw, "0.0:70|1.0:30"),
    }


# The five makers below were written by someone who had not seen the code.

PROVINCES = {
    "28": ("13", 14), "08": ("09", 12), "46": ("10", 5.5), "41": ("01", 4.1), "03": ("10", 4), "29": ("01", 3.7),
    "30": ("14", 3.2), "07": ("04", 2.6), "11": ("01", 2.6), "15": ("12", 2.4), "35": ("05", 2.4), "48": ("16", 2.4),
    "38": ("05", 2.3), "33": ("03", 2.1), "18": ("01", 2), "36": ("12", 2), "50": ("02", 2), "45": ("08", 1.5),
    "06": ("11", 1.4), "31": ("15", 1.4), "39": ("06", 1.2), "47": ("07", 1.1), "26": ("17", 0.7), "37": ("07", 0.7),
    "44": ("02", 0.3), "42": ("07", 0.2), "51": ("51", 0.2),
}  # fmt: skip


def surveyed(draw: random.Random, row: int) -> Row:
    """Make a row of a Spanish survey of the labour force: codes as in the EPA, one or two persons of a dwelling."""
    dwelling = row * 2 // 3
    number = row + (-dwelling * 3 // 2) + 1
    home = random.Random(f"vivienda {dwelling}")  # noqa: S311 - a dwelling is the same for its persons
    province = home.choices(list(PROVINCES), [weight for _, weight in PROVINCES.values()])[0]
    big = "1:45|2:22|3:15|4:12|5:6" if province in {"28", "08", "46", "41", "50"} else "1:25|2:18|3:22|4:22|5:13"
    size, abroad, head = one_of(home, big), home.random() < 0.15, int(bell(home, 53, 16, 20, 97))
    relation = "1" if number == 1 else one_of(draw, "2:68|3:24|4:8" if head > 44 else "2:86|4:14")
    age = max(16, {"1": head, "2": int(draw.gauss(head - 1, 4)), "3": head - draw.randrange(24, 36)}.get(
        relation, int(bell(draw, 50, 22, 16, 97))))  # fmt: skip
    woman = draw.random() < (0.62 if relation == "2" else 0.44)
    single = "1:85|2:15" if age < 30 else "1:35|2:30|3:12|4:23" if age < 65 else "1:14|2:26|3:48|4:12"
    civil = "2" if relation == "2" and draw.random() < 0.8 else "1" if age < 20 else one_of(draw, single)
    foreign = one_of(draw, "3:78|2:22") if abroad else "1"
    school = one_of(
        draw,
        "P1:20|P2:34|S1:24|SG:9|SP:4|SU:9|AN:2" if age > 64 else "P2:5|S1:27|SG:15|SP:11|SU:40|P1:2|AN:0.4",
    )
    school = "S1" if age < 18 else school
    work = "8:88|4:9|5:3" if age < 20 else "4:71|6:10|8:18|5:1" if age < 60 else "4:42|6:6|8:52"
    status = one_of(draw, work) if age < 66 else one_of(draw, "8:97|4:3")
    employed = status == "4"
    job = one_of(draw, "2:46|3:22|4:14|1:8|5:9|0:1" if school == "SU" else "5:29|9:19|7:16|8:12|4:11|3:8|6:4|1:3|0:0.4")
    sector = {"6": "0", "7": one_of(draw, "4:55|2:30|1:15"), "8": one_of(draw, "5:50|3:30|1:20"), "0": "8"}.get(
        job, one_of(draw, "8:34|5:28|6:13|9:9|7:4|1:4|0:3|3:5")
    )
    place = one_of(draw, "07:38|08:56|03:6" if sector == "8" else "08:78|03:15|01:5|07:1|05:1") if employed else ""
    part, paid = draw.random() < (0.24 if woman else 0.07), place in {"07", "08"}
    hours = int(bell(draw, 20, 6, 3, 34) if part else bell(draw, 40, 5, 30, 80))
    level = {"SU": 7.2, "SP": 5.6}.get(school, 4.3) - 2.5 * part
    return {
        "CICLO": 207,
        "CCAA": PROVINCES[province][0],
        "PROV": province,
        "TAMMUN": size,
        "NVIVI": f"{province}{dwelling:05d}",
        "NPERS": f"{number:02d}",
        "NMIEMB": 2 - (dwelling % 2) + int(one_of(home, "0:58|1:22|2:15|3:4|5:1")),
        "RELPP1": relation,
        "EDAD1": age,
        "EDAD5": min(65, max(16, age // 5 * 5)),
        "SEXO1": "6" if woman else "1",
        "ECIV1": civil,
        "NAC1": foreign,
        "REGNA1": one_of(home, "350:42|210:20|115:17|125:8|340:6|410:5|300:2") if abroad else "",
        "ANORE1": min(age, int(draw.expovariate(1 / 11))) if abroad else "",
        "NFORMA": school,
        "CURSR": "1" if draw.random() < (0.88 if age < 19 else 0.35 if age < 26 else 0.04) else "3",
        "AOI": status,
        "OCUP1": job if employed else "",
        "ACT1": sector if employed else "",
        "SITU": place,
        "DUCON1": one_of(draw, "1:84|6:16") if paid else "",
        "PARCO1": ("6" if part else "1") if employed else "",
        "HORASH": (f"{hours:02d}00" if draw.random() < 0.95 else "9999") if employed else "",
        "DTANT": min((age - 15) * 12, int(draw.expovariate(1 / 95))) if employed else "",
        "BUSCA": "" if age > 74 else "1" if status in {"5", "6"} else one_of(draw, "6:95|1:5"),
        "DECIL": round(bell(draw, level, 2, 1, 10)) if paid and draw.random() < 0.86 else "",
        "FACTOREL": f"{draw.lognormvariate(5.4, 0.6):.2f}".replace(".", ","),
    }


COMUNI = {
    "Bologna": ("BO", 44.494, 11.343, 30), "Imola": ("BO", 44.353, 11.715, 4), "Budrio": ("BO", 44.537, 11.535, 1),
    "Modena": ("MO", 44.647, 10.925, 14), "Carpi": ("MO", 44.783, 10.885, 4), "Zocca": ("MO", 44.346, 10.993, 0.3),
    "Reggio nell'Emilia": ("RE", 44.698, 10.631, 11), "Parma": ("PR", 44.801, 10.328, 11),
    "Piacenza": ("PC", 45.052, 9.693, 6), "Bobbio": ("PC", 44.767, 9.386, 0.3), "Ferrara": ("FE", 44.838, 11.620, 6),
    "Ravenna": ("RA", 44.416, 12.199, 8), "Faenza": ("RA", 44.286, 11.883, 3), "Rimini": ("RN", 44.060, 12.567, 10),
    "Forlì": ("FC", 44.222, 12.041, 6), "Cesena": ("FC", 44.139, 12.243, 5),
}  # fmt: skip
ROADS = ("Via Emilia", "Via Emilia", "Viale della Repubblica", "Via Roma", "Via Mazzini", "SS9", "SS16", "A14", "SP253",
         "Via Giardini", "Viale Europa", "Via Cavour", "Tangenziale", "Via dei Mille")  # fmt: skip


def casualty(draw: random.Random, row: int) -> Row:
    """Make a row of persons in road accidents, in Italian: two or three of an accident."""
    case = row * 5 // 12
    crash = random.Random(f"incidente {case}")  # noqa: S311 - an accident is the same for its persons
    number = row + (-case * 12 // 5) + 1
    town = crash.choices(list(COMUNI), [weight for *_, weight in COMUNI.values()])[0]
    when = dt.datetime(2023, 1, 1) + dt.timedelta(
        days=crash.randrange(365), hours=int(bell(crash, 14, 5, 0, 23)), minutes=5 * crash.randrange(12)
    )
    kind = one_of(crash, "Scontro frontale-laterale:35|Tamponamento:22|Investimento di pedone:12|Fuoriuscita:14|"
                         "Scontro laterale:12|Scontro frontale:5")  # fmt: skip
    weather = one_of(crash, "Sereno:76|Pioggia:12|Nebbia:3|Altro:9" if when.month < 11 else "Sereno:55|Pioggia:28|"
                            "Nebbia:12|Altro:5")  # fmt: skip
    walks = kind.startswith("Inv") and number == 2
    drives = number == 1 or (number == 2 and kind.startswith(("Sco", "Tam")) and draw.random() < 0.8)
    wheels = random.Random(f"veicolo {case} {number if drives else 1}")  # noqa: S311 - a passenger's is the driver's
    vehicle = "" if walks else one_of(wheels, "Autovettura:66|Motociclo:11|Velocipede:11|Autocarro:6|Ciclomotore:3|"
                                            "Monopattino:2|Autobus:1")  # fmt: skip
    plated, belts = vehicle not in {"", "Velocipede", "Monopattino"}, vehicle not in {"", "Autobus", "Monopattino"}
    youngest = 18 if drives and plated else 4
    age = min(94, youngest + abs(int(draw.gauss(44, 18)) - youngest))
    band = next(
        f"{low}-{high}" if high < 120 else f"{low}+"
        for low, high in ((0, 13), (14, 17), (18, 29), (30, 44), (45, 64), (65, 120))
        if low <= age <= high
    )
    frail = walks or vehicle in {"Motociclo", "Velocipede", "Ciclomotore", "Monopattino"}
    outcome = one_of(draw, "Ferito:88|Illeso:9|Morto entro 30 gg:3" if frail else "Illeso:52|Ferito:47|"
                           "Morto entro 30 gg:0.8")  # fmt: skip
    hurt, seen = outcome == "Ferito", draw.random() > 0.03
    clinic = {"BO": "Ospedale Maggiore", "MO": "Baggiovara", "PR": "Maggiore di Parma", "RN": "Infermi"}
    return {
        "id_incidente": f"2023/{case:06d}",
        "prog_persona": number,
        "data": f"{when:%d/%m/%Y}",
        "ora": f"{when:%H:%M}",
        "giorno": ("lun", "mar", "mer", "gio", "ven", "sab", "dom")[when.weekday()],
        "Comune": town,
        "Prov.": COMUNI[town][0],
        "strada": crash.choice(ROADS),
        "Latitudine": round(COMUNI[town][1] + crash.gauss(0, 0.02), 5),
        "Longitudine": round(COMUNI[town][2] + crash.gauss(0, 0.03), 5),
        "natura_incidente": kind,
        "meteo": weather,
        "tipo_veicolo": vehicle,
        "targa": f"{wheels.choice('EFG')}{wheels.choice('ABCDEFGH')}{wheels.randrange(1000):03d}{wheels.choice('KLMN')}"
        f"{wheels.choice('PRST')}" if plated else "",
        "anno_immatricolazione": 2023 - min(30, int(wheels.expovariate(1 / 9))) if plated else "",
        "ruolo": "Pedone" if walks else "Conducente" if drives else "Passeggero",
        "sesso": one_of(draw, "M:70|F:30" if drives else "F:58|M:42") if draw.random() > 0.01 else "",
        "età": age if seen else "",
        "classe_età": band if seen else "n.d.",
        "cittadinanza": one_of(draw, "ITA:84|ROU:3|MAR:3|ALB:3|MDA:1.5|UKR:1|PAK:1|CHN:1|DEU:0.5|SEN:0.5|:2"),
        "anno_patente": 2023 - max(0, age - 18 - int(draw.expovariate(1 / 3))) if drives and plated and seen else "",
        "cintura_casco": one_of(draw, "si:81|no:7|non rilevato:12") if belts else "",
        "alcol_g_l": round(draw.expovariate(1 / 0.5), 2) * (draw.random() < 0.25) if drives and hurt and seen else "",
        "esito": outcome,
        "prognosi_gg": int(draw.expovariate(1 / 16)) + 3 if hurt and draw.random() < 0.85 else "",
        "ospedale": clinic.get(COMUNI[town][0], f"Osp. civile {town}") if hurt and draw.random() < 0.8 else "",
    }  # fmt: skip


LANDS = {"FR": "France", "BE": "Belgique", "GB": "Royaume-Uni", "DE": "Allemagne", "CH": "Suisse", "ES": "Espagne",
         "IT": "Italie", "NL": "Pays-Bas", "US": "États-Unis", "PT": "Portugal", "JP": "Japon"}  # fmt: skip
ABROAD = {"BE": ("Bruxelles", "Liège", "Namur"), "GB": ("London", "Leeds"), "DE": ("Köln", "Freiburg", "Berlin"),
          "CH": ("Genève", "Lausanne"), "ES": ("Madrid", "Bilbao"), "IT": ("Torino", "Milano"), "NL": ("Utrecht",),
          "US": ("Boston", "Seattle"), "PT": ("Porto",), "JP": ("Tokyo",)}  # fmt: skip
VILLES = {
    "75011": "Paris", "75015": "PARIS", "75018": "Paris", "69003": "Lyon", "69007": "Lyon", "13008": "Marseille",
    "33000": "Bordeaux", "31000": "Toulouse", "44000": "Nantes", "59000": "Lille", "67000": "Strasbourg",
    "92100": "Boulogne-Billancourt", "38000": "Grenoble", "21000": "Dijon", "29200": "Brest", "64200": "Biarritz",
    "03200": "Vichy", "05100": "Briançon", "48000": "Mende",
}  # fmt: skip
WISHES = (
    "arrivée tardive:8|étage élevé:6|lit bébé:4|client PMR, fauteuil roulant:1|anniversaire de mariage:2|:77|"
    "chambre 12 comme d'habitude:1|M. est diabétique, frigo demandé:0.5|ne pas passer d'appels de sa femme:0.2"
)


def guest(draw: random.Random, row: int) -> Row:
    """Make a row of stays in a French hotel, as its booking software exports them; regulars come again."""
    regular = draw.random() < 0.35
    who = random.Random(f"client {draw.randrange(150) if regular else row + 1000}")  # noqa: S311 - the same on each stay
    land = one_of(who, "FR:64|BE:7|GB:7|DE:6|CH:4|ES:3|IT:3|NL:3|US:2|PT:0.6|JP:0.4")
    nation = land if who.random() < 0.93 else one_of(who, "FR:4|PT:2|IT:2|DE:1|ES:1")
    first, last, code = who.choice(FIRST), who.choice(LAST), who.choices(list(VILLES), [9] * 12 + [3] * 4 + [1] * 3)[0]
    birth, title = born(who, int(bell(who, 47, 14, 19, 88))), one_of(who, "M.:58|Mme:42")
    firm = one_of(who, "Airbus:3|EDF:4|Orange:3|Michelin:2|Vinci:3|Cabinet Morel:1|Garage Petit:1|SCI Les Tilleuls:1")
    business = draw.random() < (0.6 if regular else 0.25)
    comes = day(draw, "2023-01-02", 363)
    nights = min(21, 1 + int(draw.expovariate(1.1 if business else 0.5)))
    adults = 1 if business else int(one_of(draw, "2:74|1:17|3:6|4:3"))
    children = 0 if business or adults == 1 else int(one_of(draw, "0:72|1:14|2:12|3:2"))
    room = one_of(draw, "Suite:4|Familiale:96" if children else "Standard:64|Supérieure:28|Suite:8")
    price = {"Standard": 92, "Supérieure": 124, "Familiale": 139, "Suite": 210}[room]
    return {
        "N° résa": f"R{comes:%y}-{row:05d}",
        "Civilité": title,
        "Nom du client": f"{last.upper()} {first}",
        "E-mail": f"{first}.{last}{who.randrange(100)}@example.{land.lower()}".lower() if who.random() < 0.8 else "",
        "Né(e) le": f"{birth:%d/%m/%Y}" if who.random() < 0.9 else "",
        "Nat.": nation if who.random() < 0.96 else "",
        "Pays de résidence": LANDS[land],
        "CP": code if land == "FR" else "",
        "Ville": VILLES[code] if land == "FR" else who.choice(ABROAD[land]),
        "Société": firm if business else "",
        "Arrivée": f"{comes:%d/%m/%Y}",
        "Départ": f"{comes + dt.timedelta(days=nights):%d/%m/%Y}",
        "Nuits": nights,
        "Ch.": draw.randrange(1, 5) * 100 + draw.randrange(1, 13),
        "Type ch.": room,
        "Adultes": adults,
        "Enfants": children,
        "Motif séjour": "Affaires" if business else one_of(draw, "Loisirs:80|Famille:12|Cure:3|:5"),
        "Canal": one_of(
            draw, "Direct:50|Agence:30|Booking.com:20" if business else "Booking.com:52|Direct:33|Expedia:15"
        ),
        "Fidélité": one_of(who, "Or:3|Argent:5|Bronze:2") if regular else "",
        "Régime alim.": one_of(who, ":88|végétarien:5|sans gluten:3|halal:2|casher:1|diabétique:1"),
        "Montant TTC": f"{nights * price * draw.uniform(0.85, 1.25) + 14 * adults * nights:.2f}".replace(".", ","),
        "Règlement": one_of(draw, "CB:72|Virement:9|Espèces:6|Chèque:5|AMEX:8"),
        "N° carte": f"{who.choice((4970, 4974, 5132))} **** **** {who.randrange(10_000):04d}",
        "Remarques": one_of(draw, WISHES),
    }


MUNICIPIOS = {
    "Recife": ("PE", "50", 36), "Olinda": ("PE", "53", 9), "Jaboatão dos Guararapes": ("PE", "54", 13),
    "Caruaru": ("PE", "55", 8), "Garanhuns": ("PE", "55", 3), "Vitória de Santo Antão": ("PE", "55", 4),
    "Petrolina": ("PE", "56", 3), "João Pessoa": ("PB", "58", 5), "Campina Grande": ("PB", "58", 3),
    "Maceió": ("AL", "57", 4), "Natal": ("RN", "59", 2), "Fortaleza": ("CE", "60", 2), "São Paulo": ("SP", "04", 1.5),
    "Salvador": ("BA", "41", 1), "Manaus": ("AM", "69", 0.3), "Porto Alegre": ("RS", "90", 0.2),
}  # fmt: skip
COURSES = {
    "MEDICINA": (1101, "Bacharelado", "Integral", "Recife", 790, 18),
    "DIREITO": (1102, "Bacharelado", "", "Recife", 730, 15),
    "PEDAGOGIA": (1203, "Licenciatura", "", "Recife", 610, 10),
    "ENFERMAGEM": (1304, "Bacharelado", "Integral", "Vitória", 660, 9),
    "CIÊNCIA DA COMPUTAÇÃO": (1405, "Bacharelado", "Integral", "Recife", 740, 10),
    "ADMINISTRAÇÃO": (1506, "Bacharelado", "Noturno", "Caruaru", 640, 10),
    "PSICOLOGIA": (1607, "Bacharelado", "", "Recife", 710, 11),
    "FÍSICA": (1708, "Licenciatura", "Noturno", "Caruaru", 590, 4),
    "LETRAS - LIBRAS": (1809, "Licenciatura", "Noturno", "Recife", 560, 1),
    "ENGENHARIA CIVIL": (1910, "Bacharelado", "Integral", "Caruaru", 670, 8),
    "MUSEOLOGIA": (1911, "Bacharelado", "Noturno", "Recife", 580, 1),
}  # fmt: skip


def applicant(draw: random.Random, row: int) -> Row:
    """Make a row of applicants to a Brazilian university, with the quotas of its law."""
    age = 17 + min(40, int(draw.expovariate(1 / 3.2)))
    town = draw.choices(list(MUNICIPIOS), [weight for *_, weight in MUNICIPIOS.values()])[0]
    state, start, _ = MUNICIPIOS[town]
    race = one_of(draw, "Parda:47|Branca:35|Preta:13|Amarela:1.5|Indígena:1|Não declarada:3")
    public = draw.random() < (0.52 if race == "Branca" else 0.72)
    income = one_of(draw, "Até 1 SM:62|1 a 1,5 SM:17|1,5 a 3 SM:14|Acima de 3 SM:7" if public else
                          "Até 1 SM:18|1 a 1,5 SM:15|1,5 a 3 SM:30|Acima de 3 SM:37")  # fmt: skip
    disabled = draw.random() < 0.025
    poor = "LB" if income.startswith(("Até", "1 a")) else "LI"
    quota = "PCD" if disabled else "PPI" if race in {"Parda", "Preta", "Indígena"} else "EP"
    course = draw.choices(list(COURSES), [weight for *_, weight in COURSES.values()])[0]
    code, degree, shift, campus, mean, _ = COURSES[course]
    essay = 20 * round(bell(draw, 640 + 0.7 * (mean - 650) + (0 if public else 60), 140, 0, 1000) / 20)
    score = round(0.8 * bell(draw, mean - (40 if public else 0), 45, 350, 900) + 0.2 * essay, 2)
    rank = 1 + int(60 * math.exp((mean - score) / 50) * draw.uniform(0.8, 1.25))
    schools = "Colégio Santa Maria:8|Colégio Damas:6|GGE:9|Colégio Boa Viagem:5|Equipe:4|Motivo:7"
    if public:
        schools = (
            "EREM Ginásio Pernambucano:10|EREM Sizenando Silveira:7|ETE Cícero Dias:6|IFPE Recife:8|"
            "EE Prof. Barros Guimarães:3|EREM de Garanhuns:2"
        )
    return {
        "nu_inscricao": f"2401{row * 7 + 10_003:08d}",
        "nome": f"{person(draw)} {draw.choice(('da Silva', 'Souza', 'Santos', 'Lima'))}".upper(),
        "cpf": f"***.{draw.randrange(1000):03d}.{draw.randrange(1000):03d}-**",
        "dt_nascimento": f"{born(draw, age, '2024-02-01'):%d/%m/%Y}",
        "sexo": one_of(draw, "F:83|M:17" if course in {"PEDAGOGIA", "ENFERMAGEM"} else "F:52|M:48"),
        "cor_raca": race,
        "cep": f"{start}{draw.randrange(50):02d}0-{draw.randrange(0, 999, 5):03d}" if draw.random() < 0.97 else "",
        "municipio": town if draw.random() < 0.9 else town.upper(),
        "uf": state,
        "escola_ensino_medio": one_of(draw, schools) if draw.random() < 0.93 else "",
        "tipo_escola": "Pública" if public else "Privada",
        "ano_conclusao": 2023 - max(0, age - 18 - int(draw.random() < 0.2)),
        "escolaridade_mae": one_of(draw, "Fundamental:24|Médio completo:36|Superior:14|Não sabe:6" if public else
                                         "Médio completo:28|Superior:46|Pós-graduação:20|Fundamental:4"),
        "trabalha": "Sim" if draw.random() < min(0.8, (age - 16) * 0.09) else "Não",
        "co_curso": code,
        "curso": course,
        "grau": degree,
        "turno": shift or one_of(draw, "Matutino:55|Noturno:45"),
        "campus": campus,
        "modalidade": f"{poor}_{quota}" if public and draw.random() < 0.8 else "AC",
        "renda_per_capita": income if draw.random() < 0.9 else "",
        "deficiencia": one_of(draw, "Física:4|Visual:3|Auditiva:2|TEA:3") if disabled else "Nenhuma",
        "nota_redacao": essay,
        "nota_final": score,
        "classificacao": rank,
        "situacao": one_of(draw, "MATRICULADO:80|NÃO COMPARECEU:15|INDEFERIDO:5" if rank < 45 else "LISTA DE ESPERA:70|"
                                 "CLASSIFICADO:30"),
    }  # fmt: skip


SIGHTS = {
    "Berlin": ("DE", 52.52, 13.40, "Europe/Berlin", "de_DE", 14),
    "München": ("DE", 48.14, 11.58, "Europe/Berlin", "de_DE", 9),
    "Göttingen": ("DE", 51.53, 9.93, "Europe/Berlin", "de_DE", 1),
    "Wien": ("AT", 48.21, 16.37, "Europe/Vienna", "de_AT", 7),
    "London": ("GB", 51.51, -0.13, "Europe/London", "en_GB", 16),
    "Leeds": ("GB", 53.80, -1.55, "Europe/London", "en_GB", 4),
    "Amsterdam": ("NL", 52.37, 4.90, "Europe/Amsterdam", "nl_NL", 7),
    "Stockholm": ("SE", 59.33, 18.07, "Europe/Stockholm", "sv_SE", 6),
    "Warszawa": ("PL", 52.23, 21.01, "Europe/Warsaw", "pl_PL", 7),
    "New York": ("US", 40.71, -74.01, "America/New_York", "en_US", 10),
    "Austin": ("US", 30.27, -97.74, "America/Chicago", "en_US", 4),
    "Reykjavík": ("IS", 64.15, -21.94, "Atlantic/Reykjavik", "is_IS", 0.5),
    "Toronto": ("CA", 43.65, -79.38, "America/Toronto", "en_CA", 5),
    "Tallinn": ("EE", 59.44, 24.75, "Europe/Tallinn", "et_EE", 1),
}  # fmt: skip
PHONES = {
    "iPhone14,5": ("ios", "1170x2532", 14),
    "iPhone15,2": ("ios", "1179x2556", 11),
    "iPhone12,1": ("ios", "828x1792", 10),
    "iPhone12,8": ("ios", "750x1334", 4),
    "iPad13,1": ("ios", "1640x2360", 5),
    "SM-G991B": ("android", "1080x2400", 12),
    "SM-A536B": ("android", "1080x2400", 9),
    "Pixel 7": ("android", "1080x2400", 6),
    "Redmi Note 11": ("android", "1080x2400", 6),
    "FP4": ("android", "1080x2340", 1),
    "moto g(30)": ("android", "720x1600", 3),
    "SM-F936B": ("android", "1812x2176", 1),
}  # fmt: skip


def device(draw: random.Random, row: int) -> Row:
    """Make a row of devices of the users of a wellness app: some users have two."""
    account = row * 5 // 6
    user = random.Random(f"user {account}")  # noqa: S311 - a user is the same on each device
    city = user.choices(list(SIGHTS), [weight for *_, weight in SIGHTS.values()])[0]
    country, north, east, zone, locale, _ = SIGHTS[city]
    year = 1900 if user.random() < 0.02 else 2024 - int(bell(user, 31, 10, 13, 78))
    sex = one_of(user, "female:52|male:33|other:1.5|:13")
    joined = dt.datetime(2024, 6, 30) - dt.timedelta(seconds=int(user.expovariate(1.2) % 4 * 365.25 * 86_400))
    plan = one_of(user, "free:82|monthly:11|yearly:6|lifetime:1")
    recent = dt.datetime(2024, 6, 30, 23) - dt.timedelta(seconds=int(draw.lognormvariate(11, 1.6)))
    seen = max(joined, min(recent, joined + dt.timedelta(seconds=int(draw.expovariate(1 / 15_000_000)))))
    model = draw.choices(list(PHONES), [weight for *_, weight in PHONES.values()])[0]
    system, screen, _ = PHONES[model]
    fixed = user.random() < 0.7
    paid = {"free": 0, "monthly": 7.99 * user.randrange(1, 25), "yearly": 49.99 * user.randrange(1, 4), "lifetime": 149}
    return {
        "userId": f"{user.getrandbits(64):016x}",
        "username": f"{user.choice(FIRST).lower()}{user.choice(('_', '.', ''))}{user.randrange(10_000)}",
        "deviceId": f"{draw.getrandbits(64):016X}",
        "createdAt": f"{joined:%Y-%m-%dT%H:%M:%SZ}",
        "lastSeen": f"{seen:%Y-%m-%d %H:%M:%S}",
        "birthYear": year if user.random() < 0.8 else "",
        "gender": sex,
        "country": country,
        "geoipCity": city if user.random() < 0.94 else "",
        "lat": round(north + user.gauss(0, 0.06), 2) if fixed else "",
        "lon": round(east + user.gauss(0, 0.08), 2) if fixed else "",
        "lastIp": ".".join(str(part) for part in (draw.choice((77, 84, 91, 109)), *draw.randbytes(3))),
        "timezone": zone,
        "locale": locale if user.random() < 0.88 else one_of(user, "en_US:6|en_GB:2|tr_TR:1|ru_RU:1|es_ES:1"),
        "platform": system,
        "deviceModel": model,
        "osVersion": one_of(
            draw, "17.5.1:46|17.4:18|16.7:20|15.8:8|17.0:8" if system == "ios" else "14:38|13:32|12:18|11:9|9:3"
        ),
        "appVersion": one_of(draw, "5.12.0:55|5.11.2:20|5.10.0:12|4.9.7:8|4.2.0:5"),
        "carrier": one_of(
            user, "Telekom:3|Vodafone:4|O2:3" if country == "DE" else "Vodafone:2|EE:1|Tele2:1|T-Mobile:3|:3"
        ),
        "screen": screen,
        "pushEnabled": one_of(draw, "true:58|false:42"),
        "utmSource": one_of(user, ":48|instagram:20|google:17|tiktok:9|friend_invite:6"),
        "plan": plan,
        "ltvEur": round(paid[plan], 2),
        "friendsCount": min(180, int(user.lognormvariate(1.1, 1.1))),
        "sessions30d": int(draw.expovariate(1 / (18 if plan != "free" else 6))) if seen.year == 2024 else 0,
        "goal": one_of(user, "lose_weight:38|sleep:21|stress:18|fitness:14|quit_smoking:5|depression:4"),
        "weightKg": round(bell(user, 83 if sex == "male" else 69, 14, 41, 170), 1) if user.random() < 0.45 else "",
        "avgSleepH": round(bell(user, 6.9, 0.9, 3, 10.5), 1) if draw.random() < 0.6 else "",
        "moodAvg": round(bell(user, 3.3, 0.7, 1, 5), 2) if user.random() < 0.5 else "",
    }


SHAPES = {
    "personnel": Shape(1470, {
        "Age": "Q", "Attrition": "SN", "BusinessTravel": "QN", "DailyRate": "SN", "Department": "Q",
        "DistanceFromHome": "Q", "Education": "Q", "EducationField": "QN", "EmployeeCount": "N", "EmployeeNumber": "I",
        "EnvironmentSatisfaction": "SN", "Gender": "Q", "HourlyRate": "SN", "JobLevel": "QN", "JobRole": "Q",
        "JobSatisfaction": "SN", "MaritalStatus": "Q", "MonthlyIncome": "S", "NumCompaniesWorked": "QN", "Over18": "N",
        "OverTime": "N", "PerformanceRating": "S", "StockOptionLevel": "SN", "TotalWorkingYears": "QN",
        "TrainingTimesLastYear": "N", "YearsAtCompany": "Q", "YearsInCurrentRole": "QN"}, employee,
        {"Age": "age", "Gender": "sex", "MaritalStatus": "marital_status"}),
    "compas": Shape(3000, {
        "id": "I", "name": "I", "first": "I", "last": "I", "compas_screening_date": "Q", "sex": "Q", "dob": "Q",
        "age": "Q", "age_cat": "Q", "race": "Q", "juv_fel_count": "SN", "decile_score": "S", "priors_count": "S",
        "days_b_screening_arrest": "N", "c_jail_in": "Q", "c_jail_out": "Q", "c_case_number": "I",
        "c_charge_degree": "SN", "c_charge_desc": "SN", "is_recid": "S", "r_charge_degree": "SN", "score_text": "S",
        "type_of_assessment": "N", "two_year_recid": "S"}, defendant,
        {"compas_screening_date": "date", "sex": "sex", "dob": "date", "age": "age", "c_jail_in": "date",
         "c_jail_out": "date"}),
    "survey": Shape(1200, {
        "Timestamp": "QI", "Age": "Q", "Gender": "Q", "Country": "Q", "state": "Q", "self_employed": "QN",
        "family_history": "S", "treatment": "S", "work_interfere": "S", "no_employees": "QN", "remote_work": "QN",
        "tech_company": "QN", "benefits": "N", "wellness_program": "N", "seek_help": "SN", "leave": "SN",
        "coworkers": "SN", "comments": "I"}, answers,
        {"Age": "age", "Country": "country_name", "state": "us_state"}),
    "check-ups": Shape(2500, {
        "employee_no": "I", "date_of_birth": "Q", "sex": "Q", "postcode": "Q", "site": "QN", "shift_work": "QN",
        "exam_date": "Q", "height_cm": "QN", "weight_kg": "QSN", "systolic": "S", "diastolic": "S", "ldl": "S",
        "smoker": "S", "diabetes": "S", "hearing_loss": "S", "fit_for_work": "S"}, check_up,
        {"date_of_birth": "date", "sex": "sex", "postcode": "postcode_de", "exam_date": "date"}),
    "census": Shape(5000, {
        "age": "Q", "workclass": "Q", "fnlwgt": "IN", "education": "Q", "education-num": "Q", "marital-status": "Q",
        "occupation": "Q", "relationship": "QN", "race": "Q", "sex": "Q", "capital-gain": "SN", "hours-per-week": "QN",
        "native-country": "Q", "income": "S"}, household,
        {"age": "age", "workclass": "adult_workclass", "education": "adult_education", "sex": "sex",
         "marital-status": "adult_marital-status", "occupation": "adult_occupation", "race": "adult_race",
         "native-country": "adult_native-country"}),
    "sales": Shape(4000, {
        "Row ID": "I", "Order ID": "I", "Order Date": "Q", "Ship Date": "Q", "Ship Mode": "N", "Customer ID": "I",
        "Customer Name": "I", "Segment": "QN", "Country": "QN", "City": "Q", "State": "Q", "Postal Code": "Q",
        "Region": "QN", "Category": "N", "Sub-Category": "N", "Sales": "SN", "Quantity": "N", "Discount": "N"}, order,
        {"Order Date": "date", "Ship Date": "date", "State": "us_state_name", "Postal Code": "postcode_us",
         "Country": "country_name"}),
    "german-office": Shape(3000, {
        "Aktenzeichen": "I", "Nachname": "I", "Vorname": "I", "Geburtsdatum": "Q", "Geschlecht": "Q",
        "Familienstand": "Q", "Staatsangehörigkeit": "Q", "PLZ": "Q", "Ort": "Q", "Straße": "I", "Einzugsdatum": "Q",
        "Konfession": "S", "Antrag": "SN", "Bearbeitungsdauer": "N", "bewilligt": "SN"}, resident,
        {"Geburtsdatum": "date", "Geschlecht": "sex", "Familienstand": "marital_status", "PLZ": "postcode_de",
         "Einzugsdatum": "date"}),
    "pupils": Shape(1000, {
        "school": "Q", "sex": "Q", "age": "Q", "address": "QN", "famsize": "QN", "Pstatus": "QSN", "Medu": "QN",
        "Fedu": "QN", "Mjob": "QN", "Fjob": "QN", "traveltime": "QN", "failures": "SN", "paid": "N", "romantic": "SN",
        "Dalc": "S", "health": "S", "absences": "SN", "G3": "S"}, pupil,
        {"sex": "sex", "age": "age"}),
    "loans": Shape(1500, {
        "loan_id": "I", "gender": "Q", "birth_year": "Q", "married": "Q", "dependents": "QN", "education": "Q",
        "self_employed": "QN", "applicant_income": "S", "loan_amount": "SN", "loan_term": "N", "credit_history": "S",
        "property_area": "QN", "zip": "Q", "approved": "SN"}, loan,
        {"gender": "sex", "birth_year": "birth_year", "zip": "postcode_us", "dependents": "count"}),
    "trips": Shape(4000, {
        "ride_id": "I", "member_number": "I", "member_birth_year": "Q", "member_gender": "Q", "started_at": "Q",
        "ended_at": "Q", "start_station": "Q", "end_station": "Q", "bike": "N", "duration_s": "N"}, trip,
        {"member_birth_year": "birth_year", "member_gender": "sex", "started_at": "date", "ended_at": "date"}),
    "claims": Shape(2000, {
        "policy_number": "I", "insured_name": "I", "insured_age": "Q", "insured_sex": "Q", "insured_zip": "Q",
        "insured_education_level": "Q", "insured_occupation": "Q", "insured_hobbies": "QSN", "auto_make": "QN",
        "auto_year": "QN", "incident_date": "Q", "incident_type": "N", "incident_severity": "SN", "witnesses": "N",
        "total_claim_amount": "SN", "fraud_reported": "S"}, claim,
        {"insured_age": "age", "insured_sex": "sex", "insured_zip": "postcode_us", "incident_date": "date"}),
    "donors": Shape(3000, {
        "numero_donneur": "I", "nom": "I", "prenom": "I", "date_naissance": "Q", "sexe": "Q", "code_postal": "Q",
        "groupe_sanguin": "SN", "nb_dons": "N", "dernier_don": "Q", "hemoglobine": "S", "refus": "SN",
        "motif_refus": "S"}, donor,
        {"date_naissance": "date", "sexe": "sex", "code_postal": "postcode_fr", "dernier_don": "date"}),
    "tenants": Shape(2500, {
        "contract": "I", "tenant": "I", "birth_date": "Q", "people_in_household": "QN", "children": "QN",
        "single_parent": "QSN", "nationality": "Q", "district": "Q", "moved_in": "Q", "rooms": "N",
        "square_metres": "QN", "rent": "SN", "arrears": "S", "housing_benefit": "S"}, tenant,
        {"birth_date": "date", "people_in_household": "count", "children": "count", "nationality": "country",
         "moved_in": "date"}),
    "laboratory": Shape(5000, {
        "sample_id": "I", "patient_age": "Q", "patient_sex": "Q", "patient_zip": "Q", "ordering_ward": "QN",
        "collected_at": "Q", "test_code": "SN", "result": "S", "abnormal": "S"}, sample,
        {"patient_age": "age", "patient_sex": "sex", "collected_at": "date"}),
    "club": Shape(1500, {
        "member_id": "I", "email": "I", "age": "Q", "age_group": "Q", "gender": "Q", "town": "Q", "joined": "Q",
        "department": "QN", "fee": "N", "visits_last_month": "N", "injury": "S", "has_locker": "N"}, member,
        {"age": "age", "gender": "sex", "joined": "date"}),
    # The five below, and their roles, were written by someone who had not seen the code.
    "labour-survey": Shape(4000, {
        "CICLO": "N", "CCAA": "Q", "PROV": "Q", "TAMMUN": "Q", "NVIVI": "I", "NPERS": "N", "NMIEMB": "QN",
        "RELPP1": "QN", "EDAD1": "Q", "EDAD5": "Q", "SEXO1": "Q", "ECIV1": "Q", "NAC1": "Q", "REGNA1": "Q",
        "ANORE1": "QN", "NFORMA": "Q", "CURSR": "QN", "AOI": "QSN", "OCUP1": "Q", "ACT1": "QN", "SITU": "QN",
        "DUCON1": "SN", "PARCO1": "QN", "HORASH": "QN", "DTANT": "QN", "BUSCA": "SN", "DECIL": "S",
        "FACTOREL": "IN"}, surveyed,
        {"NMIEMB": "count", "EDAD1": "age", "EDAD5": "age", "ANORE1": "count", "DTANT": "count"}),
    "casualties": Shape(4500, {
        "id_incidente": "I", "prog_persona": "N", "data": "Q", "ora": "Q", "giorno": "QN", "Comune": "Q",
        "Prov.": "Q", "strada": "Q", "Latitudine": "QI", "Longitudine": "QI", "natura_incidente": "QN", "meteo": "N",
        "tipo_veicolo": "QN", "targa": "I", "anno_immatricolazione": "QN", "ruolo": "QN", "sesso": "Q", "età": "Q",
        "classe_età": "Q", "cittadinanza": "Q", "anno_patente": "QN", "cintura_casco": "SN", "alcol_g_l": "S",
        "esito": "S", "prognosi_gg": "S", "ospedale": "QSN"}, casualty,
        {"data": "date", "anno_immatricolazione": "birth_year", "sesso": "sex", "età": "age",
         "cittadinanza": "country_alpha3", "anno_patente": "birth_year"}),
    "hotel": Shape(2500, {
        "N° résa": "I", "Civilité": "Q", "Nom du client": "I", "E-mail": "I", "Né(e) le": "Q", "Nat.": "Q",
        "Pays de résidence": "Q", "CP": "Q", "Ville": "Q", "Société": "Q", "Arrivée": "Q", "Départ": "Q",
        "Nuits": "QN", "Ch.": "QN", "Type ch.": "N", "Adultes": "QN", "Enfants": "QN", "Motif séjour": "QN",
        "Canal": "N", "Fidélité": "N", "Régime alim.": "S", "Montant TTC": "SN", "Règlement": "N", "N° carte": "I",
        "Remarques": "IS"}, guest,
        {"Né(e) le": "date", "Nat.": "country", "Pays de résidence": "country_name", "CP": "postcode_fr",
         "Arrivée": "date", "Départ": "date", "Nuits": "count", "Adultes": "count", "Enfants": "count",
         "Montant TTC": "money"}),
    "admissions": Shape(3000, {
        "nu_inscricao": "I", "nome": "I", "cpf": "I", "dt_nascimento": "Q", "sexo": "Q", "cor_raca": "Q",
        "cep": "Q", "municipio": "Q", "uf": "Q", "escola_ensino_medio": "Q", "tipo_escola": "QN",
        "ano_conclusao": "QN", "escolaridade_mae": "QN", "trabalha": "QN", "co_curso": "Q", "curso": "Q", "grau": "QN",
        "turno": "QN", "campus": "QN", "modalidade": "QSN", "renda_per_capita": "S", "deficiencia": "QS",
        "nota_redacao": "S", "nota_final": "S", "classificacao": "QSI", "situacao": "SN"}, applicant,
        {"dt_nascimento": "date", "sexo": "sex", "cep": "postcode", "ano_conclusao": "birth_year"}),
    "app-users": Shape(3500, {
        "userId": "I", "username": "I", "deviceId": "I", "createdAt": "QI", "lastSeen": "Q", "birthYear": "Q",
        "gender": "Q", "country": "Q", "geoipCity": "Q", "lat": "Q", "lon": "Q", "lastIp": "I", "timezone": "QN",
        "locale": "QN", "platform": "QN", "deviceModel": "QN", "osVersion": "QN", "appVersion": "N", "carrier": "QN",
        "screen": "QN", "pushEnabled": "N", "utmSource": "N", "plan": "SN", "ltvEur": "SN", "friendsCount": "QN",
        "sessions30d": "SN", "goal": "S", "weightKg": "QS", "avgSleepH": "S", "moodAvg": "S"}, device,
        {"createdAt": "date", "lastSeen": "date", "birthYear": "birth_year", "gender": "sex", "country": "country",
         "friendsCount": "count", "ltvEur": "money"}),
}  # fmt: skip
"""The roles were written on 2026-11-30, before ``init`` ran on any of these tables."""


@dataclass
class Seen:
    """The outcome of both commands for one table; no loss if one of them failed."""

    failed: str = ""
    loss: float | None = None
    emptied: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    smallest: int | None = None
    wrong: list[str] = field(default_factory=list)
    remedies: int = 0
    quasi_identifiers: list[str] = field(default_factory=list)


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kanon_sql", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)  # noqa: S603 - our own


def look(name: str, shape: Shape, directory: Path) -> Seen:
    """Run ``kanon init`` and ``kanon anonymize`` on a table as they are, and judge the release by the roles."""
    shape.write(directory / f"{name}.csv")
    made = run(directory, "init", f"{name}.csv", "--out", f"{name}.toml", "--format", "json", "-q")
    if made.returncode:
        return Seen(failed=f"init: {made.stderr.strip()}")
    policy = tomllib.loads((directory / f"{name}.toml").read_text(encoding="utf-8"))
    rules = policy.get("hierarchies", {})
    seen = Seen(quasi_identifiers=policy["columns"]["quasi_identifiers"])
    for column, rule in rules.items():
        if str(rule).startswith("ready:") and rule != f"ready:{shape.fitting.get(column)}":
            seen.wrong.append(f"{column} = {rule}")
    done = run(directory, "anonymize", "--policy", f"{name}.toml", "--out", f"{name}_out.csv", "--format", "json")
    if done.returncode:
        seen.failed = f"anonymize: {done.stderr.strip()}"
        return seen
    found = json.loads(done.stdout)
    seen.loss, seen.remedies = found["measures"]["loss"], len(found.get("remedies") or [])
    with (directory / f"{name}.csv").open(encoding="utf-8") as file:
        before = list(csv.DictReader(file))
    with (directory / f"{name}_out.csv").open(encoding="utf-8") as file:
        after = list(csv.DictReader(file))
    published = list(after[0]) if after else []
    seen.emptied = [one for one in published if sum(row[one] == "*" for row in after) > len(after) / 2]
    expected = [one for one in shape.quasi_identifiers if one in published]
    seen.bare = [one for one in expected if one not in seen.quasi_identifiers]
    seen.bare += [one for one in published if shape.roles.get(one) == "I"]
    if expected:
        seen.smallest = min(Counter(tuple(row[one] for one in expected) for row in after).values(), default=None)
    assert len(before) == shape.rows
    return seen


def main(names: Sequence[str]) -> None:
    """Print a line for each table, and the median of the losses."""
    losses = []
    with tempfile.TemporaryDirectory() as directory:
        for name, shape in SHAPES.items():
            if names and name not in names:
                continue
            seen = look(name, shape, Path(directory))
            losses.append(1.0 if seen.loss is None else seen.loss)
            said = seen.failed or f"loss {seen.loss:.2f}, smallest class {seen.smallest}, {seen.remedies} remedies"
            print(f"{name:<14} {said}", flush=True)
            for title in ("quasi_identifiers", "emptied", "bare", "wrong"):
                if listed := getattr(seen, title):
                    print(f"{'':<14}   {title}: {', '.join(listed)}")
    above = sum(loss > 0.5 for loss in losses)
    print(f"{'median':<14} loss {statistics.median(losses):.2f}; failed or above 0.5: {above}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    main(parser.parse_args().names)
