"""What the name of a column suggests, in several languages, and the traps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.hierarchy.vocabulary import KINDS, is_of_person, kinds_of_name, role_of_kind


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("person_name", ["name", "patient_name", "Mitarbeitername", "nombre_completo", "姓名", "员工姓名", "CustName"]),
        ("first_name", ["first_name", "FirstName", "Vorname", "prénom", "PRENOM", "voornaam"]),
        ("last_name", ["last_name", "surname", "Nachname", "apellidos", "nom", "cognome"]),
        ("email", ["email", "e_mail", "eMail", "customerEmail", "correo_electronico", "courriel", "电子邮箱"]),
        ("phone", ["phone_number", "Telefonnr", "teléfono", "numero_telephone", "联系电话", "contact_phone"]),
        ("national_id", ["ssn", "DNI", "身份证号", "numero_securite_sociale", "codice_fiscale"]),
        (
            "record_id",
            ["id", "patient_id", "patientid", "customer_number", "Kundennummer", "员工编号", "numero_client"],
        ),
        ("birth_date", ["dob", "birthDate", "BIRTHDATE", "Geburtsdatum", "Patientengeburtsdatum", "出生日期"]),
        ("birth_date", ["date_de_naissance", "dateNaissance", "fecha_nacimiento", "date_of_birth", "data di nascita"]),
        ("age", ["age", "patient_age", "age_group", "Lebensalter", "âge", "edad", "年龄", "AgeAtDeath"]),
        ("sex", ["sex", "gender", "Geschlecht", "sexe", "género", "性别", "sex_code"]),
        ("postcode", ["zip", "zip5", "PLZ", "code_postal", "codigo_postal", "邮政编码"]),
        ("nationality", ["Staatsangehörigkeit", "Staatsangehoerigkeit", "nacionalidad", "国籍"]),
        ("marital_status", ["marital-status", "Familienstand", "estado_civil", "etat_civil", "婚姻状况"]),
        ("diagnosis", ["diagnosis", "Hauptdiagnose", "diagnóstico", "诊断结果"]),
        ("icd10", ["icd10", "icd_10_code", "diagnosis_code", "codigo_diagnostico"]),
        ("medication", ["drug_name", "Medikamentenname", "nom_medicament", "药品名称"]),
        ("salary", ["salary", "Bruttogehalt", "salaire_brut", "salario", "工资"]),
        ("event_date", ["diagnosis_date", "Diagnosedatum", "date_diagnostic", "fecha_diagnostico", "test_date"]),
        ("count", ["email_count", "n_visits", "Anzahl_Besuche"]),
        ("category", ["phone_type", "device_type", "admission_type", "product_name"]),
        ("reference", ["order_id", "widget_id", "product_id"]),
        ("household_size", ["num_children", "number_of_children", "nb_enfants", "Kinderzahl"]),
        ("pregnancy", ["is_pregnant", "pregnancy_status"]),
        ("measurement", ["package_weight", "sample_weight", "usage"]),
        (
            "disability",
            ["Necesidades educativas", "NEE", "special_needs", "SEN", "SEND", "Förderbedarf", "特殊教育", "特殊需要"],
        ),
        ("disability", ["besoins_particuliers", "Besoins éducatifs particuliers", "bisogni educativi speciali"]),
        ("department", ["curso", "grade_level", "YearGroup", "school year", "Klasse", "classe", "年级", "班级"]),
        ("grade", ["grade", "final_grade"]),
        ("income", ["beca", "Stipendium", "bourse", "scholarship"]),
    ],
)
def test_names_in_several_languages(kind: str, names: list[str]) -> None:
    assert {name: kinds_of_name(name)[:1] for name in names} == dict.fromkeys(names, (kind,))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            "diagnosis",
            ["病种", "病种名称", "所属病种", "病类", "患病情况", "并发症", "确诊疾病", "Krankheitsbild", "ailment"],
        ),
        ("marital_status", ["MARRIAGE", "marriage", "婚育状况", "Ehestand"]),
        ("insurer", ["insurer", "payer", "health_insurance", "Krankenkasse", "保险公司", "aseguradora", "mutuelle"]),
        ("record_id", ["uid", "UID", "user_uid", "patient_fk", "pk_patient"]),
        ("national_id", ["cnp", "CNP", "pesel", "personnummer"]),
        ("event_date", ["taken_at", "takenAt", "sample_taken_at", "collected_on", "entnommen_am", "采样时间"]),
        (
            "visit_id",
            ["visit_id", "visitId", "VisitID", "encounter_id", "hadm_id", "Fallnummer", "就诊号", "id_visita"],
        ),
        ("reference", ["lab_id", "LabID", "lab_fk", "test_id", "drug_id", "result_id", "diagnosis_id", "诊断编号"]),
    ],
)
def test_words_that_were_not_known(kind: str, names: list[str]) -> None:
    """Fails on 0.1.0: they said nothing, or ``lab_id`` a test result and ``visit_id`` the number of a person."""
    assert {name: kinds_of_name(name)[:1] for name in names} == dict.fromkeys(names, (kind,))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("city", ["city_id", "city_fk", "城市编号"]),
        ("national_id", ["national_id"]),
        ("icd10", ["diagnosis_code", "诊断编码"]),
        ("test_result", ["lab", "lab_result", "lab_value"]),
        ("device", ["device_id"]),
        ("email", ["email_id"]),
    ],
)
def test_what_a_key_does_not_change(kind: str, names: list[str]) -> None:
    """The key of a town is as well known as the town, and a code of a disease is no key."""
    assert {name: kinds_of_name(name)[:1] for name in names} == dict.fromkeys(names, (kind,))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("bank_name", "person_name"),
        ("drug_name", "person_name"),
        ("order_state", "us_state"),
        ("status", "us_state"),
        ("page", "age"),
        ("usage", "age"),
        ("mileage", "age"),
        ("percentage", "age"),
        ("message", "age"),
        ("Behalterung", "age"),
        ("Essex", "sex"),
        ("valid", "record_id"),
        ("市场", "city"),
    ],
)
def test_traps(name: str, kind: str) -> None:
    assert kind not in kinds_of_name(name)


def test_roles_of_kinds() -> None:
    assert role_of_kind("email") == "identifying"
    assert role_of_kind("age") == "quasi-identifying"
    assert role_of_kind("diagnosis") == "sensitive"
    assert role_of_kind("count") == "insensitive"
    with pytest.raises(KeyError):
        role_of_kind("nothing")


def test_persons() -> None:
    assert is_of_person("patient_id")
    assert is_of_person("Kunden_Ort")
    assert not is_of_person("product_id")


@given(st.text(max_size=300))
def test_any_name_has_kinds_that_exist(name: str) -> None:
    kinds = kinds_of_name(name)
    assert set(kinds) <= set(KINDS)
    assert len(set(kinds)) == len(kinds)
