"""The oracle of released databases, on examples that were worked out by hand."""

from __future__ import annotations

from tables import Described, Row, broken_references, found_persons, raw_keys, violations

PEOPLE = Described("people", "person", quasi_identifiers=("sex",))
VISITS = Described("events", "person", key="visit", quasi_identifiers=("day",))
TESTS = Described("events", ("visit", "visits"), quasi_identifiers=("test",))


def people(*sexes: str) -> list[Row]:
    return [{"person": f"p{number}", "sex": sex} for number, sex in enumerate(sexes)]


def visits(*days: tuple[int, str]) -> list[Row]:
    return [{"visit": f"v{number}", "person": f"p{of}", "day": day} for number, (of, day) in enumerate(days)]


def test_classes_of_persons_without_events() -> None:
    """Two are f, one is m: for k = 2 the one m is found, by her person-level values alone (no event is known)."""
    released = {"people": people("f", "f", "m")}
    assert violations(released, {"people": PEOPLE}, 2, 1) == [("found", ("m",), frozenset(), 1)]
    assert violations(released, {"people": PEOPLE}, 1, 1) == []


def test_one_event_is_known() -> None:
    """Both f were there on Monday, one of them on Tuesday as well: Tuesday finds her. Mondays are not counted."""
    described = {"people": PEOPLE, "visits": VISITS}
    released = {"people": people("f", "f"), "visits": visits((0, "Mo"), (0, "Mo"), (1, "Mo"), (0, "Tu"))}
    tuesday = frozenset({(("visits", ("Tu",)),)})
    assert violations(released, described, 2, 1) == [("found", ("f",), tuesday, 1)]
    released["visits"].pop()
    assert violations(released, described, 2, 1) == [], "twice on Monday, or once: the number is not known"


def test_the_same_event_in_another_class_hides_nobody() -> None:
    described = {"people": PEOPLE, "visits": VISITS}
    released = {"people": people("f", "f", "m", "m"), "visits": visits((0, "Mo"), (2, "Mo"), (3, "Mo"))}
    assert found_persons(released, described, 2, 1) == [("found", ("f",), frozenset({(("visits", ("Mo",)),)}), 1)]


def test_two_events_are_known() -> None:
    """Each of three days is shared by two persons, and each pair of days is of one person alone."""
    described = {"visits": VISITS}  # without a table of people all are one class
    days = [(0, "Mo"), (0, "Tu"), (1, "Tu"), (1, "We"), (2, "We"), (2, "Mo")]
    assert violations({"visits": visits(*days)}, described, 2, 1) == []
    found = violations({"visits": visits(*days)}, described, 2, 2)
    assert {(known, persons) for _, _, known, persons in found} == {
        (frozenset({(("visits", (one,)),), (("visits", (other,)),)}), 1)
        for one, other in (("Mo", "Tu"), ("Tu", "We"), ("We", "Mo"))
    }
    assert len(violations({"visits": visits(*days)}, described, 3, 2)) == 6, "three days by two, three pairs by one"


def test_an_event_tells_the_events_that_it_goes_through() -> None:
    """Both had a blood test, on different days that are known with the test."""
    described = {"visits": VISITS, "tests": TESTS}
    released = {
        "visits": visits((0, "Mo"), (1, "Tu")),
        "tests": [{"visit": "v0", "test": "blood"}, {"visit": "v1", "test": "blood"}],
    }
    blood = {frozenset({(("tests", ("blood",)), ("visits", (day,)))}) for day in ("Mo", "Tu")}
    assert blood <= {known for _, _, known, _ in found_persons(released, described, 2, 1)}
    no_day = described | {"visits": Described("events", "person", key="visit")}
    assert found_persons(released, no_day, 2, 1) == [], "visits without quasi-identifiers are no items"
    no_test = described | {"tests": Described("events", ("visit", "visits"))}
    assert len(found_persons(released, no_test, 2, 1)) == 2, "tests neither, and the two days are still known"


def test_no_rows_and_one_person() -> None:
    described = {"people": PEOPLE, "visits": VISITS}
    assert violations({"people": [], "visits": []}, described, 5, 2) == []
    assert violations({}, described, 5, 2) == []
    assert violations({"people": people("f"), "visits": []}, described, 2, 2) == [("found", ("f",), frozenset(), 1)]
    assert len(violations({"visits": visits((0, "Mo"))}, {"visits": VISITS}, 2, 2)) == 2, "she, and she by her day"


def test_references_that_lead_nowhere() -> None:
    described = {"people": PEOPLE, "visits": VISITS, "tests": TESTS}
    released = {
        "people": people("f"),
        "visits": [*visits((0, "Mo"), (7, "Mo")), {"visit": "v2", "person": None, "day": "Tu"}],
        "tests": [{"visit": name, "test": "x"} for name in ("v0", "v9", None)],
    }
    assert broken_references(released, described) == [
        *[("orphan", "visits", "person")] * 2,
        *[("orphan", "tests", "visit")] * 2,
    ]
    alone = {"visits": VISITS, "tests": TESTS}
    assert broken_references(released, alone) == [("orphan", "visits", "person"), *[("orphan", "tests", "visit")] * 2]


def test_keys_that_are_null_or_there_twice() -> None:
    released = {"people": [*people("f"), *people("m")], "visits": [{"visit": None, "person": "p0", "day": "Mo"}]}
    assert broken_references(released, {"people": PEOPLE, "visits": VISITS}) == [
        ("key", "people", "person"),
        ("key", "visits", "visit"),
    ]


def test_keys_of_the_original() -> None:
    described = {"visits": VISITS, "tests": TESTS, "wards": Described("kept")}
    raw = {("visits", "person"): {1, 2}, ("visits", "visit"): {10, None}, ("tests", "visit"): {10}}
    released = {
        "visits": [{"visit": "10", "person": "a", "day": 1}, {"visit": "c", "person": 2, "day": 1}],
        "tests": [{"visit": "c", "test": "x"}],
        "wards": [{"id": 10}],
    }
    assert raw_keys(released, described, raw) == [("raw", "visits", "person"), ("raw", "visits", "visit")]
