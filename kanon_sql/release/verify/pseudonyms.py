"""The check of pseudonyms: what rows reveal together if a pseudonym links them.

If one pseudonym is on several rows, they belong to one person. The combination of their classes may single the person
out although every class is large. So k pseudonyms must share not the class of a row but the **signature** of a
pseudonym: in which classes its rows are, and how many of them in each. An attacker who knows all or some rows of a
person finds at least k pseudonyms, or none. Pseudonyms that share a signature have the same published
quasi-identifiers, so an attacker who knows less than the whole signature cannot distinguish them either. A row whose
pseudonym is NULL is not linked to other rows, and nothing needs to share its signature.

*Several pseudonymized columns.* Rows are linked by either. Links of two columns form a net (patients and doctors) in
which a person can be recognized by their neighbours, and signatures of single columns do not show that. No net is
allowed: two columns may link a row to the same other rows, or only one of them may link it to any; and no pseudonym may
be in two columns, where it would link the rows of one column to those of the other. Then rows form groups, each linked
by one pseudonym, in which every other column has one value, or no value twice. Which of the two it is, and where it is
NULL, is visible and therefore part of the signature. Two groups with the same signature reveal the same by their links.

*People.* If a column names the person (the entity), k different pseudonyms are k different people only if no person
has two of them and every pseudonym belongs to a person. Both are counted in the source. Several people with the same
pseudonym do no harm.

*Models beyond k* are conditions on the rows of a class. Linked rows reveal more about a sensitive column than each
class does: if all people of a signature have A in one row and B in another, a person who is found has both, however
mixed each class is. No threshold of a model of rows limits that. So with such a model, a pseudonym may be on one
published row only. Then signatures are classes without the rows whose pseudonym is NULL, and the models of sensitive
columns must hold in these too, because an attacker may know that a person has a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import release_query
from kanon_sql.release.verify.classes import ClassCheck, Tied, read_verification
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.release.publication import Publication


_TITLES = {
    "foreign": "verify that only pseudonyms are published",
    "people": "verify that pseudonyms count people",
    "net": "verify that pseudonyms make no net",
    "signatures": "verify how many share what the pseudonyms of {} tie together",
    "named": "verify the rows that have a pseudonym",
}


@dataclass(frozen=True)
class TieCheck:
    """A statement that checks the pseudonyms of a column, or of two, by a kind of check (see ``_problems``)."""

    kind: str
    names: tuple[str, ...]
    query: exp.Select


def k_of_rows(models: Sequence[PrivacyModel]) -> int:
    """Return how many pseudonyms must share a signature: the k of k-anonymity, or 1 if it is not required."""
    return max((model.k for model in models if isinstance(model, KAnonymity)), default=1)


def tie_checks_of(publication: Publication, output: exp.Expr) -> tuple[TieCheck, ...]:
    """Return the statements that check the pseudonyms of a release, in the order in which they run."""
    pseudonyms = publication.pseudonyms
    if pseudonyms is None:
        return ()
    names, entity, k = pseudonyms.names, publication.roles.entity, k_of_rows(publication.models)
    columns = publication.published_quasi_identifiers
    queries: dict[tuple[str, ...], exp.Select] = {}
    for name in names:
        relations = {"release": output, "pseudonyms": sql.aliased(pseudonyms.table, "known")}
        values = {"column": sql.column(name)}
        queries["foreign", name] = sql.select("verify/foreign_pseudonyms", values=values, relations=relations)
    if entity is not None:
        for name in (name for name in names if name != entity.name):
            values = {"pseudonym": sql.column(name), "person": sql.column(entity.name)}
            relations = {"source": publication.source}
            queries["people", name] = sql.select("verify/people_of_pseudonyms", values=values, relations=relations)
    queries |= {("net", *two): net_query(*two, output) for two in combinations(names, 2)}
    queries |= {("signatures", name): signature_query(output, columns, names, name, k) for name in names}
    if _models_of_named(publication):
        queries |= {("named", name): _named_query(publication, name, output) for name in names}
    return tuple(TieCheck(kind, tuple(of), query) for (kind, *of), query in queries.items())


def signature_query(
    output: exp.Expr, quasi_identifiers: Sequence[Column], names: Sequence[str], column: str, k: int
) -> exp.Select:
    """Return the query of how many pseudonyms of a column share their signature.

    Five numbers: pseudonyms, those on several rows, signatures, the pseudonyms of the rarest signature, and the
    pseudonyms whose signature fewer than k share.
    """
    others = [name for name in names if name != column]
    tables = [table.name for table in output.find_all(exp.Table)]
    labels = [written(sql.column(label.name), label) for label in quasi_identifiers]
    labels += [sql.column(name).is_(exp.null()) for name in others]
    places = [f"label_{place}" for place in range(1, len(labels) + 1)]
    ends, one_value = [], []
    for place, name in enumerate(others, start=1):
        first, last = exp.Min(this=sql.column(f"first_{place}")), exp.Max(this=sql.column(f"last_{place}"))
        one_value.append(sql.named(exp.EQ(this=first, expression=last), f"one_{place}"))
        ends += [
            sql.named(exp.Min(this=sql.column(name)), f"first_{place}"),
            sql.named(exp.Max(this=sql.column(name)), f"last_{place}"),
        ]
    return sql.select(
        "verify/signatures",
        values={
            "pseudonym": sql.column(column),
            "labels": [sql.named(label, place) for label, place in zip(labels, places, strict=True)],
            "ends": ends,
            "places": [*map(sql.column, places)],
            "one_value": one_value,
            "flags": _flags(names),
            "k": k,
        },
        relations={"release": output},
        names={step: unused_name(step, tables) for step in ("tied", "numbered", "signatures", "shared")},
    )


def _flags(names: Sequence[str]) -> list[exp.Expr]:
    """Return the other parts of a signature: for each other column, whether it has one value."""
    return [sql.column(f"one_{place}") for place in range(1, len(names))]


def rare_query(
    output: exp.Expr, quasi_identifiers: Sequence[Column], names: Sequence[str], column: str, k: int
) -> exp.Select:
    """Return the query of the pseudonyms of a column whose signature fewer than k share; arguments as above."""
    *steps, shared = signature_query(output, quasi_identifiers, names, column, k).ctes
    return sql.select(
        "verify/rare_pseudonyms",
        values={"flags": _flags(names), "k": k},
        steps={"signatures": [(step.alias, step.this) for step in steps]},
        names={"signatures": steps[-1].alias, "counted": shared.alias},
    )


def leaving_out(publication: Publication, lookups: Mapping[str, exp.Table]) -> tuple[exp.Expr, ...]:
    """Return the statements of a round: make the release, and leave out pseudonyms with a rare signature.

    The last statement sets these aside; then the source (``Pseudonyms.view``) no longer has their rows. This may make
    other signatures too rare, or a class too small: the next round checks that.
    """
    pseudonyms = publication.pseudonyms
    if pseudonyms is None:
        return ()
    output = release_query(publication, lookups).subquery("released")
    k = k_of_rows(publication.models)
    rare = [
        rare_query(output, publication.published_quasi_identifiers, pseudonyms.names, name, k)
        for name in pseudonyms.names
    ]
    found = [exp.select("pseudonym").from_(query.subquery("rare")) for query in rare]
    recoding = statements_for(publication).recoding_statements(lookups)
    forget = (sql.drop(publication.combinations),) if recoding else ()
    return (*recoding, exp.insert(sql.union_all(found), pseudonyms.left_out.copy()), *forget)


def leave_out(engine: Engine, publication: Publication, lookups: Mapping[str, exp.Table]) -> int:
    """Run a round of ``leaving_out``; return how many pseudonyms it left out."""
    left_out = 0
    for statement in leaving_out(publication, lookups):
        found = engine.rows(statement, "leave out pseudonyms whose combination of classes too few have")
        left_out += int(found[0][0]) if isinstance(statement, exp.Insert) else 0
    return left_out


def net_query(one: str, other: str, output: exp.Expr) -> exp.Select:
    """Return the query of the rows that two columns link to different rows, and of the pseudonyms in both columns."""
    values = {"one": sql.column(one), "other": sql.column(other)}
    return sql.select("verify/net", values=values, relations={"release": output})


def _models_of_named(publication: Publication) -> tuple[PrivacyModel, ...]:
    return tuple(model for model in publication.models if isinstance(model, SensitiveModel))


def _named_query(publication: Publication, column: str, output: exp.Expr) -> exp.Select:
    """Return the check of the models of sensitive columns in the rows that have a pseudonym."""
    named = exp.select("*").from_(output.copy()).where(sql.column(column).is_(exp.null()).not_())
    columns, models = publication.published_quasi_identifiers, _models_of_named(publication)
    rows = named.subquery("with_pseudonym")
    return ClassCheck(rows, columns, models, whole=publication.source, trees=publication.trees).query()


def check_ties(
    engine: Engine, publication: Publication, checks: Sequence[TieCheck]
) -> tuple[tuple[Tied, ...], str | None]:
    """Check the pseudonyms of a release; return the findings, and the first problem or None."""
    rows = [(check, engine.row(check.query, _TITLES[check.kind].format(*check.names))) for check in checks]
    problems: dict[str, list[str]] = {kind: [] for kind in _TITLES}
    for check, row in rows:
        problems[check.kind] += _problems(publication, check, row)
    found = tuple(Tied(check.names[0], *row) for check, row in rows if check.kind == "signatures")
    beyond = [model for model in publication.models if not isinstance(model, KAnonymity)]
    problems["signatures"] += [
        f"{tied.several:,} pseudonyms of column {tied.column!r} stand on several rows, and {beyond[0].name} "
        "says nothing about several rows together; make one row of each person, ask for k-anonymity alone, or publish "
        "no pseudonyms"
        for tied in found
        if beyond and tied.several
    ]
    return found, next((problem for kind in problems.values() for problem in kind), None)


def _problems(publication: Publication, check: TieCheck, row: Sequence[Any]) -> Iterator[str]:
    name = check.names[0]
    if check.kind == "foreign" and row[0]:
        yield f"{row[0]:,} values of column {name!r} are no pseudonyms; did the table change meanwhile?"
    elif check.kind == "people" and any(row):
        yield (
            f"pseudonyms of column {name!r} do not count people: {row[0]:,} people have several, and {row[1]:,} stand "
            "on rows that name no person; pseudonymize the column that names the person instead"
        )
    elif check.kind == "net" and any(row):
        yield (
            f"{row[0]:,} rows are tied to some rows by column {name!r} and to others by column {check.names[1]!r}, and "
            f"{row[1]:,} pseudonyms stand in both: what such a net tells has no bound; pseudonymize one of them only"
        )
    elif check.kind == "signatures" and (tied := Tied(name, *row)).failing:
        yield too_rare(tied, k_of_rows(publication.models))
    elif check.kind == "named":
        for result in read_verification([*row], _models_of_named(publication)).models:
            if not result.holds:
                yield (
                    f"{result.model} does not hold in {result.classes_failing:,} classes once the rows without a "
                    f"pseudonym in column {name!r} are left aside; fill the column, or leave the pseudonyms out"
                )


def tied_of(engine: Engine, names: Sequence[str], signatures: Sequence[exp.Select]) -> tuple[Tied, ...]:
    """Return the findings about the pseudonyms of some columns, by their ``signature_query``."""
    return tuple(
        Tied(name, *engine.row(query, _TITLES["signatures"].format(name)))
        for name, query in zip(names, signatures, strict=True)
    )


def too_rare(tied: Tied, k: int) -> str:
    """Return the message about a column whose pseudonyms have rare signatures, with the fix."""
    return (
        f"{tied.failing:,} of {tied.pseudonyms:,} pseudonyms of column {tied.column!r} tie rows to a combination of "
        f"classes that fewer than {k} pseudonyms have (the rarest: {tied.fewest:,}); make one row of each person, "
        "generalize what differs between the rows of a person, leave the pseudonyms out, or use --algorithm optimal or "
        "local with k-anonymity alone: these leave such people out, within --max-suppressed"
    )
