"""The check of a release on its own rows, by separate statements.

1. The classes: counted again from the published values as written. Every model must hold in the worst class.
2. The labels: a generalized column holds only labels of its level, so no raw value slipped through.
3. The people, if a model counts them: the release does not name them, so each published class is looked up in the
   source, generalized as for the release. It must have the same number of rows there, and enough people.
4. The pseudonyms, if there are any: what the rows that they link reveal together (see ``verify.pseudonyms``). Columns
   that are published by a rule only have values that the rule makes.
5. The columns: the published ones and no others. The rows and the classes: as many as the search counted.
6. The table, if the connection is the caller's: as many rows as the search counted, in classes of the same sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.errors import VerificationError
from kanon_sql.models.base import RowModel
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets, known_subsets_of
from kanon_sql.release.publication import GENERALIZED
from kanon_sql.release.statements import statements_for
from kanon_sql.release.statements.release import (
    class_columns,
    generalized_population,
    generalized_query,
    measure_of_rows,
)
from kanon_sql.release.verify.classes import (
    ClassCheck,
    Verification,
    read_verification,
    summary_values,
)
from kanon_sql.release.verify.pseudonyms import TieCheck, check_ties, tie_checks_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import unused_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.publish_rules import RuledColumn
    from kanon_sql.release.publication import Publication


@dataclass(frozen=True)
class Expected:
    """The properties of a release according to the search."""

    rows: int
    classes: int
    rows_in: int | None = None  # rows of its source table
    squares: int | None = None  # the sum of the squares of the sizes of its classes


def people_check_query(publication: Publication, lookups: Mapping[str, exp.Table], output: exp.Expr) -> exp.Select:
    """Return the check of published classes against the people in the source; also count incomplete classes."""
    names = publication.quasi_identifiers
    models = _counted_in_people(publication)
    n, measured = class_columns(names, models)
    n_in_source = unused_name("n_in_source", names)
    # A step must not have the name of a table that a later step reads.
    tables = {table.name for table in (publication.source, *output.find_all(exp.Table))}
    source_classes, output_classes = (unused_name(f"in_{place}", tables) for place in ("source", "output"))
    measures = [
        sql.named(measure_of_rows(publication, model), name) for name, model in zip(measured, models, strict=True)
    ]
    same_class = sql.all_of(
        sql.same(sql.column(name, source_classes), sql.column(name, output_classes), sql.SAME_TYPE) for name in names
    )
    return sql.select(
        "verify/people",
        values={
            "labels": [*map(sql.column, names)],
            "measures": measures,
            "measured": [sql.column(name, source_classes) for name in measured],
            "same_class": same_class,
            **summary_values(models, n, measured),
        },
        relations={"release": output},
        steps={GENERALIZED: [(GENERALIZED, generalized_query(publication, lookups))]},
        names={"n": n, "n_in_source": n_in_source, "in_source": source_classes, "in_output": output_classes},
    )


ROW_BY_ROW = "row by row"
"""In ``meta`` of an output that is a text file: reading one column costs as much as reading all."""


def label_check_query(publication: Publication, lookups: Mapping[str, exp.Table], output: exp.Expr) -> exp.Query | None:
    """Return the query that counts labels of a wrong level in each generalized column; None if there are none.

    For a text file, the combinations of labels are read first, at once for all columns.
    """
    names = {
        number: hierarchy.column.name
        for number, hierarchy in enumerate(publication.hierarchies)
        if publication.recoding.label_type(number) is not None
    }
    taken = (*lookups.values(), *publication.recoding.tables)
    step = unused_name("combinations", {table.name for table in taken})
    at_once = bool(output.meta.get(ROW_BY_ROW)) and len(names) > 1
    release = sql.relation(step) if at_once else output
    checks = []
    for number, name in names.items():
        label = sql.column("label", "published")
        known, is_known = statements_for(publication).known_labels(number, lookups[name], label)
        values: dict[str, sql.Given] = {"column": name, "label": sql.column(name), "is_known": is_known}
        checks.append(sql.query("verify/labels", values=values, relations={"release": release, "known": known}))
    if not checks:
        return None
    union = sql.union_all(checks)
    if not at_once:
        return union
    combinations = exp.select(*map(sql.column, names.values())).distinct(copy=False).from_(output.copy(), copy=False)
    return union.with_(step, as_=combinations, copy=False)


@dataclass(frozen=True)
class Checks:
    """The statements that check a release; None for checks that do not apply."""

    classes: exp.Select
    labels: exp.Query | None
    people: exp.Select | None
    ties: Sequence[TieCheck] = ()
    rules: exp.Select | None = None
    ruled: Sequence[RuledColumn] = ()

    def statements(self) -> tuple[exp.Expr, ...]:
        """Return the statements that apply, in the order in which they run."""
        checks = (self.classes, self.labels, self.people, *(tie.query for tie in self.ties), self.rules)
        return tuple(query for query in checks if query is not None)


def checks_of(publication: Publication, lookups: Mapping[str, exp.Table], output: exp.Expr) -> Checks:
    counted = _counted_in_rows(publication)
    checks = Checks(
        ClassCheck(
            output,
            publication.published_quasi_identifiers,
            counted,
            whole=publication.source,
            trees=publication.trees,
            everybody=generalized_population(publication, lookups),
        ).query(),
        label_check_query(publication, lookups, output),
        people_check_query(publication, lookups, output) if any(model.entity for model in publication.models) else None,
        tie_checks_of(publication, output),
    )
    if publication.rules is None:
        return checks
    from kanon_sql.release.published_rules import rule_check_query

    ruled, not_by_rule = rule_check_query(publication.rules, output)
    return replace(checks, rules=not_by_rule, ruled=ruled)


def verify(
    engine: Engine,
    publication: Publication,
    lookups: Mapping[str, exp.Table],
    output: exp.Expr,
    expected: Expected,
) -> Verification:
    """Verify a release that was made and does not have its name yet; return the findings."""
    _require_same_files(engine)
    checks = checks_of(publication, lookups, output)
    # 1. The classes.
    row = engine.row(checks.classes, "verify the classes of the release")
    verification = read_verification(row, _counted_in_rows(publication))
    # 2. The labels.
    for name, foreign in engine.rows(checks.labels, "verify the labels of the release") if checks.labels else ():
        if foreign:
            raise _failed(f"{foreign:,} labels of column {name!r} are not of its level in the hierarchy")
    # 3. The people.
    if checks.people is not None:
        *found, not_whole = engine.row(checks.people, "verify the people in each class of the release")
        people = read_verification(found, _counted_in_people(publication))
        verification = _together(publication, verification, people)
        if not_whole:
            raise _failed(f"{not_whole:,} classes have other rows than in the table")
    verification = _with_known(verification, engine, publication, lookups, output)
    # 4. The pseudonyms.
    tied, wrong = check_ties(engine, publication, checks.ties)
    if wrong is not None:
        raise _failed(wrong)
    verify_rules(engine, checks.ruled, checks.rules)
    # 5. The columns, and the number of rows and classes.
    if [column.name for column in engine.columns(output)] != [column.name for column in publication.columns]:
        raise _failed("its columns are not those that were to be published")
    _require_counts(verification, expected)
    # 6. The table, if others could change it after the search.
    if engine.is_shared:
        _require_unchanged(engine, publication, output, expected)
    _require_same_files(engine)  # people are looked up in the source once more
    return replace(verification, pseudonyms=tied)


def verify_rules(engine: Engine, columns: Sequence[RuledColumn], query: exp.Select | None) -> None:
    """Raise if columns that are published by a rule have values that the rule does not make."""
    counts = () if query is None else engine.row(query, "verify the columns published by rules")
    for ruled, count in zip(columns, counts, strict=True):
        if count:
            raise _failed(f"{count:,} values of column {ruled.column.name!r} are none that {ruled.text} makes")


def _require_same_files(engine: Engine) -> None:
    """Raise if a file that is read directly has changed."""
    if changed := engine.changed_files():
        raise VerificationError(f"{changed[0]} was changed while it was anonymized; nothing was kept. Run it again.")


def _require_unchanged(engine: Engine, publication: Publication, output: exp.Expr, expected: Expected) -> None:
    """Raise if the table changed since the search: the figures of the release would be wrong."""
    if expected.rows_in is not None:
        query = exp.select(sql.count_rows()).from_(publication.source.copy())
        (rows_in,) = engine.row(query, "does the table have as many rows as it had?")
        if rows_in != expected.rows_in:
            raise _failed(f"the table has {rows_in:,} rows and had {expected.rows_in:,} when it was searched")
    if expected.squares is not None:
        groups = [written(sql.column(column.name), column) for column in publication.published_quasi_identifiers]
        sizes = exp.select(sql.named(sql.count_rows(), "n")).from_(output.copy()).group_by(*groups).subquery("sizes")
        square = exp.Mul(this=sql.column("n"), expression=sql.column("n"))
        query = exp.select(exp.Coalesce(this=exp.Sum(this=square), expressions=[sql.literal(0)])).from_(sizes)
        (squares,) = engine.row(query, "are the classes as large as they were?")
        if squares != expected.squares:
            raise _failed("its classes have other sizes than were counted; did the table change meanwhile?")


def _require_counts(verification: Verification, expected: Expected) -> None:
    """Raise unless a release has the rows and classes that the search counted, and every class satisfies the models."""
    if verification.rows != expected.rows:
        raise _failed(
            f"it has {verification.rows:,} rows where {expected.rows:,} were expected; did the table change meanwhile?"
        )
    if verification.classes != expected.classes:
        raise _failed(
            f"it has {verification.classes:,} classes where {expected.classes:,} were expected; did the table change "
            "meanwhile, or are values written there in another way than in the table?"
        )
    for result in verification.models:
        if not result.holds:
            raise _failed(f"{result.model} asks for {result.required} and its worst class has {result.measured}")


def _counted_in_people(publication: Publication) -> tuple[RowModel, ...]:
    """Return the models whose members are people, which the release does not name; of all columns, k = 1 is one."""
    if (known := known_subsets_of(publication.models)) is not None and known.entity is not None:
        return (KAnonymity(1, known.entity),)
    return tuple(model for model in publication.models if isinstance(model, RowModel) and model.entity is not None)


def _together(publication: Publication, rows: Verification, people: Verification) -> Verification:
    """Combine the findings of all models in order: by rows in the release, by people in the source."""
    of_rows, of_people = iter(rows.models), iter(people.models)
    results = tuple(next(of_rows if model.entity is None else of_people) for model in publication.models)
    return replace(
        people,
        models=results,
        classes_failing=max(rows.classes_failing, people.classes_failing),
        rows_failing=max(rows.rows_failing, people.rows_failing),
    )


def _counted_in_rows(publication: Publication) -> tuple[PrivacyModel, ...]:
    """Return the models whose members are rows of one class: the release alone shows whether they hold."""
    return tuple(model for model in publication.models if model.entity is None and not isinstance(model, KnownSubsets))


def _with_known(
    verification: Verification,
    engine: Engine,
    publication: Publication,
    lookups: Mapping[str, exp.Table],
    output: exp.Expr,
) -> Verification:
    """Add the findings for classes by some of the columns, if k is required for these."""
    model = known_subsets_of(publication.models)
    if model is None:
        return verification
    from kanon_sql.release.kept_classes import measured_in, released_people

    columns, entity = publication.published_quasi_identifiers, publication.roles.entity
    if entity is None:
        rows = exp.select(*(sql.column(column.name) for column in columns)).from_(output.copy())
    else:  # the release does not name people
        rows = released_people(publication, lookups, output)
        entity = replace(entity, name=publication.entity_name)
    found = measured_in(engine, rows, columns, model, entity)
    fewest = None if entity is None else verification.models[0].measured
    return replace(verification, models=(found,), fewest_people=None if fewest is None else int(fewest))


def _failed(why: str) -> VerificationError:
    return VerificationError(
        f"The release failed the check of its own output and was taken back: {why}. Nothing was kept."
    )
