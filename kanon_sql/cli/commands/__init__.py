"""All commands of ``kanon``: module, summary and examples.

Nothing is imported here: the help needs only names and summaries, and a command is imported on first use. A summary is
the first paragraph of the docstring of its command; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping

GROUPS: Mapping[str, str] = {
    "hierarchy": "Generalization hierarchies: list, show, check, suggest, load, build and export them.",
    "dp": "Differential privacy: noisy answers and releases that are about as likely without any one person.",
}
COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": (
        "demo:demo_command",
        "Make a sample database of hospital admissions, anonymize it, and show what happened.",
    ),
    "profile": (
        "profile:profile_command",
        "Profile the columns of a table: figures, a role for each and why, and which columns single people out.",
    ),
    "init": (
        "profile:init_command",
        "Write a kanon.toml for a table, with a proposed role for each column and the reason beside it, ready to edit.",
    ),
    "anonymize": (
        "anonymize:anonymize_command",
        "Find the release of a table that loses least, publish it, and verify the output.",
    ),
    "settings": (
        "settings:settings_command",
        "List the settings of a policy: what --set KEY=VALUE, kanon.toml and the library take.",
    ),
    "apply": (
        "apply:apply_command",
        "Publish new rows as the rows of a release were, and append them; rows of classes that are too small wait.",
    ),
    "check": (
        "check:check_command",
        "Check whether a table satisfies a policy and the rules of standards; exit code 1 if not.",
    ),
    "measure": (
        "measure:measure_command",
        "Measure who could be found in a table, and how much of its original it keeps.",
    ),
    "known": (
        "known:known_command",
        "Count who shares each combination of values of a few columns; exit code 1 if fewer than k do.",
    ),
    "attack": (
        "attack:attack_command",
        "Attack a release as someone would who knows people in its original; code 1 if one succeeds or may succeed.",
    ),
    "report": (
        "report:report_command",
        "Write the evidence for a release as one file without a raw value: the request, the measurements, the attacks.",
    ),
    "ledger": (
        "ledger:ledger_command",
        "List the releases that a database remembers; a new release is checked against those of its table.",
    ),
    "clean": (
        "clean:clean_command",
        "Rewrite a database file so that its bytes keep nothing that was deleted or changed.",
    ),
    "lattice": (
        "compare:lattice_command",
        "List the minimal nodes of the lattice that satisfy a policy, by Incognito: no node below satisfies it.",
    ),
    "compare": (
        "compare:compare_command",
        "Compare algorithms, k and limits of suppression on one table; every release is made, verified and dropped.",
    ),
    "explore": (
        "explore:explore_command",
        "See risk and utility move, in a browser, on this machine: columns, trade-off, levels, risk, and publish.",
    ),
    "hierarchy list": ("hierarchy:list_command", "List the hierarchies in a database, in a directory, or ready-made."),
    "hierarchy show": ("hierarchy:show_command", "Show a hierarchy: its shape, and the labels of its first values."),
    "hierarchy check": (
        "hierarchy:fit_command",
        "Check whether hierarchies fit the columns of a table; exit code 1 if one does not.",
    ),
    "hierarchy suggest": (
        "hierarchy:suggest_command",
        "Suggest hierarchies for columns by their names, values and types, and list missing values.",
    ),
    "hierarchy load": (
        "hierarchy_store:load_command",
        "Read hierarchy files into the database (schema kanon), where anonymize finds them by column name.",
    ),
    "hierarchy build": (
        "hierarchy_store:build_command",
        "Build hierarchies from the values of columns by rules, into the database (schema kanon) or a file.",
    ),
    "hierarchy export": (
        "hierarchy_store:export_command",
        "Write a hierarchy as a CSV file of ARX: no header, ; between labels, the value first, the root last.",
    ),
    "dp budget": (
        "dp:budget_command",
        "Show the budget spent on a table, or set the budget; spent budget stays spent.",
    ),
    "dp count": ("dp:count_command", "Say how many rows, or people, there are."),
    "dp sum": ("dp:sum_command", "Say the sum of a column."),
    "dp mean": ("dp:mean_command", "Say the mean of a column."),
    "dp quantile": ("dp:quantile_command", "Say the value below which a share of the values lies."),
    "dp histogram": (
        "dp:histogram_command",
        "Say how many rows each key has: given keys, bins, labels of a hierarchy, or (with a delta) frequent keys.",
    ),
    "dp most-frequent": ("dp:most_frequent_command", "Say which of the given keys most rows have."),
    "dp release": (
        "dp_release:release_command",
        "Publish a differentially private release: sampled, generalized, without small classes (SafePub).",
    ),
}
"""By command, its function (``module:name``, in this package) and its summary, in the order of the help."""

_DEMO = "kanon_demo.duckdb admissions"
_RELEASED = "kanon_demo.duckdb admissions_k5"
_BY_ID = f"{_DEMO} --entity patient_id"
_QI = "--qi birth_date,sex,zip,admission_date"
_SAVED = "--set run.save_policy=kanon.toml"
_JUDGED = f"{_QI} --keep department"

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("kanon demo", "kanon demo --rows 1000 --out small.duckdb --format json"),
    "profile": (f"kanon profile {_DEMO}",),
    "init": (
        f"kanon init {_DEMO} --out first.toml",
        f"kanon init {_DEMO} --out safe.toml --standard hipaa-safe-harbor",
    ),
    "anonymize": (
        f"kanon anonymize {_BY_ID} --id name --qi birth_date,sex --rest drop --into released {_SAVED}",
        f"kanon anonymize {_DEMO} --policy kanon.toml --replace --set release.lock=kanon.lock",
        f"kanon anonymize {_DEMO} --policy kanon.toml --sql",
        f"kanon anonymize {_BY_ID} --qi birth_date,sex --rest drop -k 20 --algorithm local --sql --dialect postgres",
    ),
    "settings": ("kanon settings", "kanon settings --format json"),
    "apply": ("kanon apply kanon.lock admissions --append released --again --dry-run",),
    "check": (
        f"kanon check {_RELEASED} {_JUDGED} -k 5",
        f"kanon check {_RELEASED} {_JUDGED} --original admissions --entity patient_id --standard wp216",
        "kanon check kanon_demo.duckdb released --policy kanon.toml --original admissions --format json",
    ),
    "measure": (
        f"kanon measure {_RELEASED} {_JUDGED} --original admissions --entity patient_id",
        f"kanon measure {_DEMO} --qi birth_date,sex,zip --entity patient_id",
    ),
    "known": (
        f"kanon known {_RELEASED} {_JUDGED} --max-columns 2 -k 5",
        f"kanon known {_DEMO} --qi birth_date,sex,zip --entity patient_id --max-columns 2",
    ),
    "attack": (f"kanon attack {_RELEASED} {_JUDGED} --original admissions --sensitive diagnosis --entity patient_id",),
    "report": (
        f"kanon report {_DEMO} --policy kanon.toml --out report.html",
        f"kanon report {_DEMO} --entity patient_id --qi birth_date,sex --rest drop -k 10 --format json",
    ),
    "compare": (f"kanon compare {_DEMO} --entity patient_id --qi birth_date,sex -k 5,20 --algorithm optimal,datafly",),
    "lattice": (f"kanon lattice {_DEMO} --entity patient_id --qi birth_date,sex -k 5 --max-suppressed 0",),
    "explore": (f"kanon explore {_DEMO}",),
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
"""By command, examples to type after ``kanon demo``; they may depend on those of earlier commands."""
