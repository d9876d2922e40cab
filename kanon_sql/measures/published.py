"""All measures of a table that was published, from its labels as they are written there, against its original.

Nothing is known of how it was made. What a label stands for is looked up in the hierarchy of its column, on the level
that all labels of the column have in common: the lowest one, where there are several. Where there is none (a local
recoding), each label is looked up by itself; one that is written alike on several levels is taken for the one that
stands for most. A label cannot stand for what fewer rows of the original have than the release has with it.

Labels that are not in the hierarchy may be sets and ranges of values (see ``published_labels``). A column that has some
has no labels of the hierarchy as a rule, so that beside them whatever can be a value is one.

1. The classes: different rows of labels, and how many rows have them.
2. What each label can stand for; one that can stand for nothing ends the measuring.
3. The level of each column, and what each label stands for on it.
4. The measures: of cells label by label, of classes by their sizes, of boxes by what their labels cover. Rows that the
   original has more are suppressed rows. Sets and ranges have no codes by which the tuples that they cover could be
   looked up: of a table with such labels there is no KL divergence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.measures.boxes import ambiguity_alone, box_measures
from kanon_sql.measures.costs import costs_of_columns
from kanon_sql.measures.labels import LABEL, labels_alias, written_labels_query
from kanon_sql.measures.part_labels import text_of
from kanon_sql.measures.published_labels import RELEASED, read_labels
from kanon_sql.measures.recoding import ClassCounts, all_measures, count_classes, distortion
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels


@dataclass(frozen=True)
class PublishedMeasures:
    """What was measured in a published table.

    Attributes:
        values: every measure, by name.
        counts: sizes of its classes.
        levels: the level of each column; None for a column whose labels are on several levels, or that has none.
        by_column: measures of cells, by name: of each column alone.
    """

    values: dict[str, float | None]
    counts: ClassCounts
    levels: tuple[int | None, ...]
    by_column: dict[str, tuple[float, ...]]


def measure_published(
    frequency: FrequencySet,
    release: exp.Table,
    columns: Sequence[Column],
    hierarchies: Sequence[Hierarchy],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> PublishedMeasures:
    """Return every measure of a published table; all but ``release`` and its ``columns`` is of the original.

    ``k`` is the class size in whose units the average is given.
    """
    engine = frequency.engine
    # 1. The classes.
    classes = engine.temporary_name("kanon_published")
    engine.run(
        sql.create_table(classes, _published_classes_query(release, columns), temporary=True), "classes of the release"
    )
    counts = count_classes(frequency, classes, [])
    if counts.suppressed < 0:
        raise UsageError(
            f"The release has {counts.rows:,} rows and its original {frequency.rows:,}: is it a release of that table?"
        )
    # 2. and 3. What its labels stand for.
    meanings: list[exp.Table] = []
    levels: list[int | None] = []
    has_sets_or_ranges = False
    for column, hierarchy in zip(labels, hierarchies, strict=True):
        meaning, level, has_others = _meaning(frequency, classes, column, hierarchy)
        meanings.append(meaning)
        levels.append(level)
        has_sets_or_ranges = has_sets_or_ranges or has_others
    # 4. The measures.
    labelled = _labelled(classes, meanings, labels)
    charged = costs_of_columns(engine, labelled, labels, costs, counts.suppressed)
    values = {cost.measure.name: cost.value(sum(columns)) for cost, columns in zip(costs, charged, strict=True)}
    by_column = {
        cost.measure.name: cost.values_of_columns(columns) for cost, columns in zip(costs, charged, strict=True)
    }
    if has_sets_or_ranges:
        found = ambiguity_alone(frequency, labelled, labels, counts.suppressed)
    else:
        found = box_measures(frequency, labelled, labels, counts.suppressed, patiently=True)
    known = [level for level in levels if level is not None]
    shift = distortion(known, labels) if len(known) == len(levels) else None
    engine.run(sql.drop(classes), "drop the classes of the release")
    everything = all_measures(values, counts, found, shift, frequency.rows, k)
    return PublishedMeasures(everything, counts, tuple(levels), by_column)


def _published_classes_query(release: exp.Table, columns: Sequence[Column]) -> exp.Select:
    """Return the query of the classes of a published table: labels as text, one column for each, and their rows."""
    written = [text_of(sql.column(column.name), column) for column in columns]
    named = [sql.named(label, label_name(number)) for number, label in enumerate(written)]
    query = exp.select(*named, sql.named(sql.count_rows(), N)).from_(release.copy())
    return query.group_by(*(label.copy() for label in written))


def released_query(classes: exp.Table, column: Labels) -> exp.Select:
    """Return the query of the labels of a column of the release, and how many rows have each."""
    own = sql.column(label_name(column.number))
    query = exp.select(sql.named(own, LABEL), sql.named(exp.Sum(this=sql.column(N)), RELEASED))
    return query.from_(classes.copy()).group_by(own.copy())


def _meanings_query(classes: exp.Table, column: Labels, hierarchy: Hierarchy) -> exp.Select:
    """Return the query of what the labels of a column can stand for: their text, and rows of its labels relation."""
    codes = [code_name(placement.number) for placement in column.placements]
    # 1. How each label of each level is written.
    written = written_labels_query(column, hierarchy, range(column.height + 1))
    # 2. Those that the release has, and their rows; also as the original would write them, if they are values of it.
    released = released_query(classes, column)
    spellings = spellings_query(hierarchy.column)
    same_code = [sql.column(name, "written").eq(sql.column(name, "labels")) for name in ("level", *codes)]
    value_or_label = exp.or_(
        exp.Not(this=sql.column("as_value", "spellings")),
        sql.column("level", "written").eq(0),
    )
    # 3. Whether the original has so many rows under it; what reads like the root stands for all.
    enough = exp.or_(
        sql.column("at_root", "labels"),
        sql.column(N, "labels") >= sql.column(RELEASED, "spellings"),
    )
    same_spelling = sql.same(sql.column(LABEL, "written"), sql.column("spelled", "spellings"))
    every_column = exp.Column(this=exp.Star(), table=sql.identifier("labels"))
    facts = [sql.column(RELEASED, "spellings"), sql.named(enough, "enough"), every_column]
    return (
        exp.select(sql.column(LABEL, "spellings"), *facts)
        .from_("spellings")
        .join("written", on=sql.all_of([same_spelling, value_or_label]))
        .join(sql.aliased(column.relation, "labels"), on=sql.all_of(same_code))
        .with_(RELEASED, as_=released)
        .with_("spellings", as_=spellings)
        .with_("written", as_=written)
    )


def spellings_query(column: Column) -> exp.Query:
    """Return the query of how the labels in ``released`` may be written in a hierarchy.

    As they are; and, where they can be values of the original, as it would write them (``as_value``).
    """
    spelled = exp.select(sql.column(LABEL), RELEASED, sql.named(sql.column(LABEL), "spelled"))
    spelled = spelled.select(sql.named(exp.false(), "as_value")).from_(RELEASED)
    if column.type == "VARCHAR":
        return spelled
    value, is_value = read_as(sql.column(LABEL), column)
    as_value = exp.select(sql.column(LABEL), RELEASED, sql.named(text_of(value, column), "spelled"))
    as_value = as_value.select(sql.named(exp.true(), "as_value")).from_(RELEASED).where(is_value)
    return sql.union_all([spelled, as_value])


def read_as(text: exp.Expr, column: Column) -> tuple[exp.Expr, exp.Expr]:
    """Return a text as a value of a column, and the condition that it is one."""
    value = exp.TryCast(this=text, to=exp.DataType.build(column.lookup_type, dialect="duckdb"))
    is_value: exp.Expr = value.copy().is_(exp.null()).not_()
    if column.family == "integer":  # of the mean 33.5 a cast would make 34
        exactly = exp.TryCast(this=text.copy(), to=exp.DataType.build("DOUBLE", dialect="duckdb"))
        is_value = exp.and_(is_value, exactly.eq(exp.Round(this=exactly.copy())))
    return value, is_value


def _meaning(
    frequency: FrequencySet, classes: exp.Table, column: Labels, hierarchy: Hierarchy
) -> tuple[exp.Table, int | None, bool]:
    """Return what each label of a column stands for, the level of the column, and whether some are sets or ranges."""
    engine, name = frequency.engine, hierarchy.column.name
    query = _meanings_query(classes, column, hierarchy)
    possible = make_table(engine, f"kanon_possible_{name}", query, f"what labels of {name} can stand for")
    # 2. Labels that stand for nothing.
    total = _count_labels(sql.column(label_name(column.number)), classes)
    in_original = exp.Sum(this=sql.column(N)) >= exp.Max(this=sql.column(RELEASED))
    at_root = sql.where(sql.count_rows(), sql.column("at_root")) > 0
    standing = exp.select(LABEL).from_(possible.copy()).group_by(LABEL).having(exp.or_(in_original, at_root))
    known = exp.select(sql.count_rows()).from_(standing.subquery("standing"))
    (there,) = engine.row(total, f"labels of {name}")
    (found,) = engine.row(known, f"labels of {name} that are known")
    if has_others := found < there:
        read_labels(frequency, released_query(classes, column), possible, column, hierarchy)
        (found,) = engine.row(known, f"labels of {name} that are known")
    if found < there:
        means = ""
        if column.numeric:
            means = " The means and medians of several values cannot be measured: they do not say which these were."
        raise UsageError(
            f"Column {name!r} of the release has {there:,} different labels, and {there - found:,} of them are neither "
            "values of the original nor labels of its hierarchy nor sets or ranges of its values, or have more rows "
            "than the original has under them. Is it a release of that table? Then name the hierarchy that it was made "
            f"with: --hierarchy{', or its time zone: --time-zone' if hierarchy.column.is_zoned else ''}.{means}"
        )
    # 3. The lowest level that has them all; the root, where there is nothing else.
    lower = exp.select(
        "level",
        sql.count_distinct(never_null(sql.column(LABEL))),
        sql.where(sql.count_rows(), sql.negated(sql.column("at_root"))),
    )
    lower = lower.from_(possible.copy()).where(sql.column("enough")).group_by("level")
    by_level = engine.rows(lower.order_by("level"), f"levels of {name}")
    common = [level if below else column.height for level, labels, below in by_level if labels == there]
    level = min(common, default=None) if there and not has_others else None
    chosen = _chosen_query(possible, level, values_first=has_others)
    meaning = make_table(engine, f"kanon_meaning_{name}", chosen, f"what labels of {name} stand for")
    engine.run(sql.drop(possible), f"drop what labels of {name} can stand for")
    return meaning, level, has_others


def _chosen_query(possible: exp.Table, level: int | None, *, values_first: bool) -> exp.Select:
    """Return one meaning for each label: on the level that all are on, else the one that stands for most leaves.

    With ``values_first`` a label that the original has as a value, in enough rows, is that value.
    """
    is_value = exp.and_(sql.column("enough"), sql.column("level").eq(0))
    best = [sql.column("enough"), *([is_value] if values_first else []), sql.column("at_root"), sql.column("leaves")]
    order = [*(exp.Ordered(this=term, desc=True) for term in best), sql.column("level")]
    rank = sql.over(exp.RowNumber(), by=[LABEL], order=order)
    ranked = exp.select("*", sql.named(rank, "rank")).from_(possible.copy())
    if level is not None:
        ranked = ranked.where(sql.column("level").eq(level))
    first = sql.column("rank").eq(1)
    return exp.select("*").from_(ranked.subquery("ranked")).where(first)


def _labelled(classes: exp.Table, meanings: Sequence[exp.Table], labels: Sequence[Labels]) -> exp.Select:
    """Return the classes of the release, each with what its labels stand for. Nothing is selected yet."""
    query = exp.select().from_(sql.aliased(classes, "classes"))
    for column, meaning in zip(labels, meanings, strict=True):
        alias = labels_alias(column)
        same_label = sql.same(sql.column(LABEL, alias), sql.column(label_name(column.number), "classes"))
        query = query.join(sql.aliased(meaning, alias), on=same_label)
    return query


def _count_labels(label: exp.Expr, relation: exp.Table) -> exp.Select:
    return exp.select(sql.count_distinct(never_null(label))).from_(relation.copy())


def never_null(text: exp.Expr) -> exp.Expr:
    """Return a text that is different for every text and for NULL, so that NULL is counted."""
    marked = sql.concatenated("=", text)
    return exp.Coalesce(this=marked, expressions=[sql.literal("")])


def as_original(released: Column, original: Column) -> exp.Expr:
    """Return a value of a release as the original would write it, where it can; never NULL."""
    text = text_of(sql.column(released.name), released)
    if original.type != "VARCHAR" and original.family != "other":
        value, is_value = read_as(text.copy(), original)
        text = exp.Case().when(is_value, text_of(value, original)).else_(text)
    return never_null(text)


def label_name(number: int) -> str:
    return f"label_{number + 1}"
