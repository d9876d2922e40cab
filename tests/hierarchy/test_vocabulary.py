"""What the name of a column suggests, in several languages, and the traps."""

from __future__ import annotations

import json
from importlib import resources

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.hierarchy.vocabulary import KINDS, LANGUAGES, is_of_person, kinds_of_name, role_of_kind


@each(
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
        ("birth_date", ["Geburtstag", "Tag der Geburt", "geburts_tag"]),
        ("event_date", ["Behandlungstag", "Entlassungstag", "Tagesdatum", "behandlung_tag"]),
        ("department", ["business_unit", "unité", "unidad"]),
        ("event_date", ["diagnosis_date", "Diagnosedatum", "date_diagnostic", "fecha_diagnostico", "test_date"]),
        ("count", ["email_count", "n_visits", "Anzahl_Besuche"]),
        ("category", ["phone_type", "device_type", "admission_type", "product_name"]),
        ("category", ["kind", "patient_class", "passenger_class", "subject_area"]),
        ("occupation", ["worker_class"]),
        ("person_name", ["Kindname", "usuario"]),
        ("reference", ["order_id", "widget_id", "product_id", "index"]),
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


@each(
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


@each(
    ("kind", "names"),
    [
        ("person_name", "户主 患者姓名 监护人姓名"),
        ("phone", "手机号 联系电话 座机号码 紧急联系电话"),
        ("street_address", "现住址 户籍地址 常住地址 户籍详细地址 小区名称"),
        (
            "national_id",
            "身份证号 居民身份证号 公民身份号码 身份证件号码 医保卡号 医保编号 社会保障卡号 军官证号 残疾证号",
        ),
        ("record_id", "病历号 住院号 门诊号 就诊卡号 登记号 患者主索引 户号"),
        ("vehicle", "车牌号 发动机号 车辆识别代号"),
        ("birth_date", "出生年月 出生日期"),
        ("age", "年龄 月龄 虚岁 就诊年龄"),
        ("postcode", "邮编 户口邮编"),
        ("region", "籍贯 户籍 户口性质 户口类型 参保地"),
        ("ethnicity", "民族 民族代码"),
        ("marital_status", "婚姻状况 婚史"),
        ("education", "学历 文化程度 文化水平"),
        ("occupation", "职业 行业 就业状况 从业状态 在职状态"),
        ("employer", "工作单位 现工作单位 定点医疗机构"),
        ("department", "科室 科别 入院科别 转科科别 病房"),
        ("admission_date", "入院日期 出院日期 死亡时间 转科日期"),
        ("event_date", "就诊日期 结算时间 报告时间 随访日期"),
        ("hire_date", "参保日期 退休日期 毕业日期"),
        ("household_size", "与户主关系 家庭户人数 房屋类型 居住状况"),
        ("diagnosis", "病种 主要诊断 现病史 家族史 死亡原因 损伤中毒原因 药物过敏史"),
        ("icd10", "诊断编码 主要诊断编码 ICD-10"),
        ("medication", "药品名称 医嘱内容 给药途径 用法用量"),
        ("procedure", "手术名称 麻醉方式 化疗 透析 诊疗项目"),
        ("test_result", "体温 脉搏 血红蛋白 检查所见 检验项目 体质指数"),
        ("health", "是否死亡 离院方式 转归 预后 高血压 糖尿病 烟酒史 护理级别 是否吸毒"),
        ("income", "退休金 贫困户 低保户"),
        ("balance", "住院费用 医疗总费用 自付金额 医保支付"),
        ("politics", "政治面貌 是否党员"),
        ("criminal", "刑期 服刑 前科"),
        ("pregnancy", "孕次 产次 末次月经 避孕方式 流产次数"),
        ("category", "医保类型 费别 入院途径"),
        ("time", "创建日期 更新日期 录入日期"),
    ],
)
def test_chinese_names_of_hospitals_and_censuses(kind: str, names: str) -> None:
    """Words that English had already: most said nothing, or that a column is insensitive."""
    assert {name: kinds_of_name(name)[:1] for name in names.split()} == dict.fromkeys(names.split(), (kind,))


@each(
    ("kind", "names"),
    [
        ("person_name", ["Personne à prévenir", "Médecin traitant"]),
        ("national_id", ["Numéro de sécurité sociale", "N° sécu", "Identifiant national", "Numéro AVS"]),
        ("record_id", ["N° patient", "N° de dossier", "n°dossier"]),
        ("passport", ["N° de passeport"]),
        ("visit_id", ["N° de séjour", "Numéro d'hospitalisation", "N° consultation"]),
        ("birth_date", ["Date de naissance"]),
        ("city", ["Commune", "Commune de résidence", "Code INSEE"]),
        ("marital_status", ["Situation matrimoniale", "Situation de famille", "Statut conjugal"]),
        ("occupation", ["Profession", "Statut professionnel", "Statut d'emploi"]),
        ("household_size", ["Type de ménage", "Nombre de personnes au foyer"]),
        ("insurer", ["Caisse d'affiliation", "Organisme payeur"]),
        ("diagnosis", ["Comorbidités", "Motif de recours"]),
        ("medication", ["Principe actif", "Molécule"]),
        ("procedure", ["Anesthésie", "Dialyse"]),
        ("test_result", ["Fréquence cardiaque", "Charge virale", "Pression artérielle", "VIH"]),
        ("health", ["Statut vital", "Mode de sortie", "Décès", "Arrêt de travail"]),
        ("income", ["RSA", "Prestations sociales"]),
        ("balance", ["Reste à charge", "Montant remboursé"]),
        ("disability", ["Taux d'incapacité", "AAH"]),
        ("pregnancy", ["Nombre de grossesses", "IVG"]),
        ("reference", ["N° de commande"]),
    ],
)
def test_french_names_of_hospitals_and_censuses(kind: str, names: list[str]) -> None:
    """``N°`` was the English ``n`` of a count, so that the number of a patient was insensitive."""
    assert {name: kinds_of_name(name)[:1] for name in names} == dict.fromkeys(names, (kind,))


@each("name", ["是否首诊", "是否有车", "满意度", "身份", "病案首页", "出院小结", "Évolution", "Terme"])
def test_what_is_unclear_stays_undecided(name: str) -> None:
    """``是否`` (whether) alone made a column insensitive."""
    assert kinds_of_name(name) == ()


@each(
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


@each(
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
        ("tag", "event_date"),
        ("tag_name", "event_date"),
        ("price_tag", "event_date"),
        ("unit", "department"),
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


@each("language", LANGUAGES)
def test_the_words_of_a_language_are_for_kinds_that_there_are(language: str) -> None:
    words = json.loads(
        (resources.files("kanon_sql.hierarchy.vocabulary") / "words" / f"{language}.json").read_text("utf-8")
    )
    named = {kind for section, kinds in words.items() if section != "about" for kind in kinds}
    assert named <= set(KINDS)


def test_persons() -> None:
    assert is_of_person("patient_id")
    assert is_of_person("Kunden_Ort")
    assert not is_of_person("product_id")


@given(st.text(max_size=300))
def test_any_name_has_kinds_that_exist(name: str) -> None:
    kinds = kinds_of_name(name)
    assert set(kinds) <= set(KINDS)
    assert len(set(kinds)) == len(kinds)
