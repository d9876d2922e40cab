"""Examples that ``--help`` shows at the end of each command.

They are about the sample database that ``kanon demo`` makes, so that they can be typed as they stand, one after the
other; a test does so.
"""

from __future__ import annotations

from collections.abc import Mapping

_DEMO = "kanon_demo.duckdb admissions"
_RELEASED = "kanon_demo.duckdb admissions_k5"
_BY_ID = f"{_DEMO} --entity patient_id"
_QI = "--qi birth_date,sex,zip,admission_date"

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("kanon demo", "kanon demo --rows 1000 --out small.duckdb --format json"),
    "profile": (f"kanon profile {_DEMO}",),
    "init": (f"kanon init {_DEMO} --out first.toml",),
    "anonymize": (
        f"kanon anonymize {_BY_ID} --id name --qi birth_date,sex --rest keep --into released --save-policy kanon.toml",
        f"kanon anonymize {_DEMO} --policy kanon.toml --sql",
        f"kanon anonymize {_BY_ID} --qi birth_date,sex --rest drop -k 20 --algorithm local --sql --dialect postgres",
    ),
    "check": (
        f"kanon check {_RELEASED} {_QI} -k 5",
        "kanon check kanon_demo.duckdb released --policy kanon.toml --original admissions --format json",
    ),
    "measure": (
        f"kanon measure {_RELEASED} {_QI} --original admissions --entity patient_id",
        f"kanon measure {_DEMO} --qi birth_date,sex,zip --entity patient_id",
    ),
    "attack": (f"kanon attack {_RELEASED} {_QI} --original admissions --sensitive diagnosis --entity patient_id",),
    "report": (
        f"kanon report {_DEMO} --policy kanon.toml --out report.html",
        f"kanon report {_DEMO} --entity patient_id --qi birth_date,sex --rest drop -k 10 --format json",
    ),
    "compare": (f"kanon compare {_DEMO} --entity patient_id --qi birth_date,sex -k 5,20 --algorithm optimal,datafly",),
    "lattice": (f"kanon lattice {_DEMO} --entity patient_id --qi birth_date,sex -k 5 --max-suppressed 0",),
    "ledger": ("kanon ledger kanon_demo.duckdb",),
    "clean": ("kanon clean kanon_demo.duckdb --drop released",),
    "dp budget": (f"kanon dp budget {_DEMO} --epsilon 10 --delta 1e-5 --entity patient_id", f"kanon dp budget {_DEMO}"),
    "dp count": (
        f"kanon dp count {_DEMO} --epsilon 0.5 --where \"sex = 'F'\"",
        f"kanon dp count {_DEMO} --epsilon 0.5 --group sex=F --sql",
    ),
    "dp sum": (f"kanon dp sum {_DEMO} --column cost --bounds 0,20000 --epsilon 0.5",),
    "dp mean": (f"kanon dp mean {_DEMO} --column cost --bounds 0,20000 --epsilon 0.5 --noise gaussian --delta 1e-6",),
    "dp quantile": (f"kanon dp quantile {_DEMO} --column cost --bounds 0,20000 --quantile 0.9 --epsilon 0.5",),
    "dp histogram": (
        f"kanon dp histogram {_DEMO} --column sex --keys F,M --epsilon 0.5",
        f"kanon dp histogram {_DEMO} --column department --epsilon 0.5 --delta 1e-6",
    ),
    "dp most-frequent": (
        f"kanon dp most-frequent {_DEMO} --column department --keys Cardiology,Oncology,Emergency --epsilon 0.5",
    ),
    "hierarchy list": ("kanon hierarchy list", "kanon hierarchy list kanon_demo.duckdb"),
    "hierarchy show": ("kanon hierarchy show ready:us_state --limit 5",),
    "hierarchy check": (
        f"kanon hierarchy check {_DEMO} --hierarchy department=ready:hospital_department",
        f"kanon hierarchy check {_DEMO} --hierarchy department=ready:hospital_department --sql",
    ),
    "hierarchy suggest": (f"kanon hierarchy suggest {_DEMO}",),
    "hierarchy build": (
        f"kanon hierarchy build {_DEMO} cost=intervals:500,1000,5000:top=10000 zip=mask:right:1,2,4",
        f"kanon hierarchy build {_DEMO} department=flat --out department.csv",
    ),
    "hierarchy export": (
        f"kanon hierarchy export {_DEMO} zip --out zip.csv",
        "kanon hierarchy export ready:us_state --out us_state.csv",
    ),
    "hierarchy load": (f"kanon hierarchy load {_DEMO} department=department.csv",),
    "dp release": (
        f"kanon dp release {_DEMO} --qi sex --hierarchy sex=flat --epsilon 1 --delta 0.000001 --levels sex=0 --sql",
    ),
}
"""By command, what can be typed after ``kanon demo``; those of a command may rest on those of the ones before it."""


def epilog(command: str) -> str:
    """Return what stands at the end of a command's help."""
    shown = "\n\n".join(f"  {line}" for line in EXAMPLES[command])
    return f"Examples, after kanon demo:\n\n{shown}"
