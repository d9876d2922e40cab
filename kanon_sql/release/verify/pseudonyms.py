"""The check of pseudonyms: what rows say together that a pseudonym ties to one another.

Where one pseudonym stands on several rows, they are known to be of one person, and she may be singled out by the
combination of their classes although every class is large. So what must be shared by k is not the class of a row but
the **signature** of a pseudonym: in which classes its rows are, and how many of them in each. Who knows all rows of a
person, or some of them, finds k pseudonyms at least, or none: those that share a signature look alike in all that is
published of quasi-identifiers, so that who knows less than the whole signature cannot tell them apart either. A row
whose pseudonym is NULL is tied to nothing and needs no others of its signature.

*Several pseudonymized columns.* Rows are tied by either, and ties of two columns make a net (patients and doctors) in
which a person can be recognized by her neighbours; signatures column by column do not see that. No net is let
through: two columns may tie a row to the same other rows, or only one of them may tie it to any; and a pseudonym may
not stand in two columns, where it would tie the rows of the one to those of the other. Then rows fall into groups, each
tied by one pseudonym, in which every other column has one value, or none twice. Which of the two, and where it is NULL,
is seen and therefore part of the signature. Two groups of one signature are the same in all that ties tell.

*People.* Where a column names the person (the entity), k different pseudonyms are k different people only if no person
has two of them and every pseudonym is of a person. Both are counted in the source; that several people share one does
no harm.

*Models beyond k* are conditions on the rows of a class. Tied rows tell more of a sensitive column than each class does:
if all people of a signature has A in one row and B in another, who is found has both, however mixed each class is. No
threshold of a model of rows bounds that. With such a model a pseudonym may therefore stand on one published row only.
Then signatures are classes without the rows whose pseudonym is NULL, and in these the models of sensitive columns must
hold too: a person may be known to have a name.
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
    from kanon_sql.release.pseudonyms import Pseudonyms
    from kanon_sql.release.publication import Publication


_TITLES = {
    "foreign": "verify that pseudonyms are what is published",
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
    """Return how many pseudonyms must share a signature: the k of k-anonymity, 1 where it is not required."""
    return max((model.k for model in models if isinstance(model, KAnonymity)), default=1)


def tie_checks_of(publication: Publication, output: exp.Expr) -> tuple[TieCheck, ...]:
    """Return the statements that check the pseudonyms of a release, in the order in which they are run."""
    pseudonyms = publication.pseudonyms
    if pseudonyms is None:
        return ()
    names, entity, k = pseudonyms.names, publication.roles.entity, k_of_rows(publication.models)
    columns = publication.published_quasi_identifiers
    queries: dict[tuple[str, ...], exp.Select] = {}
    queries |= {("foreign", name): _foreign_query(pseudonyms, name, output) for name in names}
    if entity is not None:
        own = [name for name in names if name != entity.name]
        queries |= {("people", name): _people_query(publication, name, entity.name) for name in own}
    queries |= {("net", *two): net_query(*two, output) for two in combinations(names, 2)}
    queries |= {("signatures", name): signature_query(output, columns, names, name, k) for name in names}
    if _models_of_named(publication):
        queries |= {("named", name): _named_query(publication, name, output) for name in names}
    return tuple(TieCheck(kind, tuple(of), query) for (kind, *of), query in queries.items())


def signature_query(
    output: exp.Expr, quasi_identifiers: Sequence[Column], names: Sequence[str], column: str, k: int
) -> exp.Select:
    """Return the query of how many pseudonyms of a column share their signature.

    Five numbers: pseudonyms, those on several rows, signatures, the pseudonyms of the rarest, and the pseudonyms that
    are among fewer than k.
    """
    steps, flags, shared = _signatures(output, quasi_identifiers, names, column)
    # 4. How many share each.
    several = sql.where(sql.count_rows(), exp.GT(this=sql.column("tied_rows"), expression=sql.literal(1)))
    alike = exp.select(sql.named(sql.count_rows(), "pseudonyms"), sql.named(several, "several")).from_(steps[-1][0])
    alike = alike.group_by(sql.column("signature"), *map(sql.column, flags))
    counted = sql.column("pseudonyms")
    too_few = exp.LT(this=counted.copy(), expression=sql.literal(k))
    query = exp.select(
        sql.named(_or_zero(exp.Sum(this=counted)), "pseudonyms"),
        sql.named(_or_zero(exp.Sum(this=sql.column("several"))), "on_several_rows"),
        sql.named(sql.count_rows(), "signatures"),
        sql.named(exp.Min(this=counted.copy()), "fewest_alike"),
        sql.named(_or_zero(sql.where(exp.Sum(this=counted.copy()), too_few)), "among_too_few"),
    ).from_(shared)
    for name, step in [*steps, (shared, alike)]:
        query = query.with_(name, as_=step)
    return query


def rare_query(
    output: exp.Expr, quasi_identifiers: Sequence[Column], names: Sequence[str], column: str, k: int
) -> exp.Select:
    """Return the query of the pseudonyms of a column whose signature fewer than k share; arguments as above."""
    steps, flags, counted = _signatures(output, quasi_identifiers, names, column)
    same = [sql.column(name) for name in ("signature", *flags)]
    alike = sql.named(exp.Window(this=sql.count_rows(), partition_by=same), "alike")
    query = exp.select("pseudonym").from_(counted)
    query = query.where(exp.LT(this=sql.column("alike"), expression=sql.literal(k)))
    for name, step in [*steps, (counted, exp.select("pseudonym", alike).from_(steps[-1][0]))]:
        query = query.with_(name, as_=step)
    return query


def leaving_out(publication: Publication, lookups: Mapping[str, exp.Table]) -> tuple[exp.Expr, ...]:
    """Return the statements of a round: make the release, and leave out the pseudonyms that it ties too closely.

    The last of them puts these aside; then the source (``Pseudonyms.view``) has no rows of them any more. What is left
    may tie others too closely, or leave a class with too few: the next round looks at it.
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


def _signatures(
    output: exp.Expr, quasi_identifiers: Sequence[Column], names: Sequence[str], column: str
) -> tuple[list[tuple[str, exp.Query]], list[str], str]:
    """Return the steps up to the signature of each pseudonym, what else is part of it, and a name for one step more."""
    others = [name for name in names if name != column]
    tables = [table.name for table in output.find_all(exp.Table)]
    tied, numbered, signatures, shared = (
        unused_name(name, tables) for name in ("tied", "numbered", "signatures", "shared")
    )
    pseudonym, n, number = sql.column("pseudonym"), sql.column("n"), sql.column("class")
    # 1. In which classes a pseudonym stands, and on how many rows of each; the other pseudonyms there.
    labels = [written(sql.column(label.name), label) for label in quasi_identifiers]
    labels += [sql.column(name).is_(exp.null()) for name in others]
    label_names = [f"label_{place}" for place in range(1, len(labels) + 1)]
    ends = [(f"first_{place}", f"last_{place}", name) for place, name in enumerate(others, start=1)]
    in_classes = exp.select(
        sql.named(sql.column(column), "pseudonym"),
        *(sql.named(label, name) for label, name in zip(labels, label_names, strict=True)),
        sql.named(sql.count_rows(), "n"),
        *(sql.named(exp.Min(this=sql.column(name)), first) for first, _, name in ends),
        *(sql.named(exp.Max(this=sql.column(name)), last) for _, last, name in ends),
    )
    in_classes = in_classes.from_(output.copy()).where(sql.column(column).is_(exp.null()).not_())
    in_classes = in_classes.group_by(sql.column(column), *(label.copy() for label in labels))
    # 2. The classes by number.
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(name)) for name in label_names])
    rank = exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=order)
    classes = exp.select("*", sql.named(rank, "class")).from_(tied)
    # 3. The signature of each pseudonym.
    part = sql.concatenated(sql.cast(number, "VARCHAR"), sql.cast(n, "VARCHAR"), by=":")
    listed = exp.GroupConcat(
        this=exp.Order(this=part, expressions=[exp.Ordered(this=number.copy())]), separator=sql.literal(",")
    )
    one_value = [
        exp.EQ(this=exp.Min(this=sql.column(first)), expression=exp.Max(this=sql.column(last)))
        for first, last, _ in ends
    ]
    flags = [f"one_{place}" for place in range(1, len(ends) + 1)]
    of_pseudonyms = exp.select(
        pseudonym,
        sql.named(listed, "signature"),
        *(sql.named(same, flag) for same, flag in zip(one_value, flags, strict=True)),
        sql.named(exp.Sum(this=n.copy()), "tied_rows"),
    )
    of_pseudonyms = of_pseudonyms.from_(numbered).group_by(pseudonym.copy())
    return [(tied, in_classes), (numbered, classes), (signatures, of_pseudonyms)], flags, shared


def net_query(one: str, other: str, output: exp.Expr) -> exp.Select:
    """Return the query of the rows that two columns tie to different rows, and of the pseudonyms that stand in both."""
    columns = [one, other]

    def rows_with(*names: str) -> exp.Expr:
        return exp.Window(this=sql.count_rows(), partition_by=[sql.column(name) for name in names])

    there = [sql.column(name).is_(exp.null()).not_() for name in columns]
    counted = exp.select(
        sql.named(rows_with(one), "rows_of_one"),
        sql.named(rows_with(other), "rows_of_other"),
        sql.named(rows_with(one, other), "rows_of_both"),
        sql.named(exp.and_(*there), "both_there"),
    ).from_(output.copy())
    alone, beside, both = (sql.column(f"rows_of_{which}") for which in ("one", "other", "both"))
    ties = [exp.GT(this=number.copy(), expression=sql.literal(1)) for number in (alone, beside)]
    differ = exp.or_(exp.NEQ(this=both, expression=alone), exp.NEQ(this=both.copy(), expression=beside))
    torn = sql.where(sql.count_rows(), exp.and_(sql.column("both_there"), *ties, differ))
    of_each = [
        exp.select(sql.named(sql.column(name), "pseudonym")).from_(output.copy()).where(condition.copy())
        for name, condition in zip(columns, there, strict=True)
    ]
    in_both = exp.select(sql.count_rows()).from_(exp.intersect(*of_each, distinct=True).subquery("in_both"))
    return exp.select(sql.named(torn, "rows_tied_twice"), sql.named(in_both.subquery(), "pseudonyms_in_both")).from_(
        counted.subquery("counted")
    )


def _foreign_query(pseudonyms: Pseudonyms, column: str, output: exp.Expr) -> exp.Select:
    """Return the query of how many values of a column of a release are no pseudonyms."""
    found = exp.select(sql.named(sql.column(column), "pseudonym")).distinct().from_(output.copy())
    value = sql.column("pseudonym", "published")
    known = exp.select("1").from_(pseudonyms.known().subquery("known"))
    known = known.where(exp.EQ(this=sql.column("pseudonym", "known"), expression=value))
    foreign = exp.and_(value.copy().is_(exp.null()).not_(), exp.Exists(this=known).not_())
    return exp.select(sql.named(sql.where(sql.count_rows(), foreign), "foreign_values")).from_(
        found.subquery("published")
    )


def _people_query(publication: Publication, column: str, entity: str) -> exp.Select:
    """Return the query of the people that have several pseudonyms, and of the pseudonyms on rows of no person."""
    pseudonym, person = sql.column(column), sql.column(entity)
    pairs = exp.select(sql.named(pseudonym, "pseudonym"), sql.named(person, "person")).distinct()
    pairs = pairs.from_(publication.source.copy()).where(pseudonym.copy().is_(exp.null()).not_())
    counted = exp.select(sql.column("person"), sql.named(sql.count_rows(), "n"))
    counted = counted.from_(pairs.subquery("pairs")).group_by(sql.column("person"))
    nobody = sql.column("person").is_(exp.null())
    more = exp.and_(exp.not_(nobody.copy()), exp.GT(this=sql.column("n"), expression=sql.literal(1)))
    return exp.select(
        sql.named(sql.where(sql.count_rows(), more), "people_with_several"),
        sql.named(_or_zero(sql.where(exp.Sum(this=sql.column("n")), nobody)), "pseudonyms_of_nobody"),
    ).from_(counted.subquery("counted"))


def _models_of_named(publication: Publication) -> tuple[PrivacyModel, ...]:
    return tuple(model for model in publication.models if isinstance(model, SensitiveModel))


def _named_query(publication: Publication, column: str, output: exp.Expr) -> exp.Select:
    """Return the check of the models of sensitive columns in the rows that have a pseudonym."""
    named = exp.select("*").from_(output.copy()).where(sql.column(column).is_(exp.null()).not_())
    columns, models = publication.published_quasi_identifiers, _models_of_named(publication)
    rows = named.subquery("with_pseudonym")
    return ClassCheck(rows, columns, models, whole=publication.source, trees=publication.trees).query()


def _or_zero(number: exp.Expr) -> exp.Expr:
    return sql.cast(exp.Coalesce(this=number, expressions=[sql.literal(0)]), "BIGINT")


def check_ties(
    engine: Engine, publication: Publication, checks: Sequence[TieCheck]
) -> tuple[tuple[Tied, ...], str | None]:
    """Return what was found of the pseudonyms of a release, and what is wrong with them; None if nothing is."""
    rows = [(check, engine.row(check.query, _TITLES[check.kind].format(*check.names))) for check in checks]
    problems: dict[str, list[str]] = {kind: [] for kind in _TITLES}
    for check, row in rows:
        problems[check.kind] += _problems(publication, check, row)
    found = tuple(Tied(check.names[0], *row) for check, row in rows if check.kind == "signatures")
    beyond = [model for model in publication.models if not isinstance(model, KAnonymity)]
    problems["signatures"] += [
        f"{tied.several:,} pseudonyms of column {tied.column!r} stand on several rows, of which {beyond[0].name} says "
        "nothing together; make one row of each person, ask for k-anonymity alone, or publish no pseudonyms"
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
    """Return what was found of the pseudonyms of some columns, by their ``signature_query``."""
    return tuple(
        Tied(name, *engine.row(query, _TITLES["signatures"].format(name)))
        for name, query in zip(names, signatures, strict=True)
    )


def too_rare(tied: Tied, k: int) -> str:
    """Return what is wrong with a column that ties some pseudonyms to what fewer than k have, and what to do."""
    return (
        f"{tied.failing:,} of {tied.pseudonyms:,} pseudonyms of column {tied.column!r} tie rows to a combination of "
        f"classes that fewer than {k} pseudonyms have (the rarest: {tied.fewest:,}); make one row of each person, "
        "generalize what differs between the rows of a person, leave the pseudonyms out, or use --algorithm optimal or "
        "local with k-anonymity alone: these leave such people out, within --max-suppressed"
    )
