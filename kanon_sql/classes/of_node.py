"""The equivalence classes of a lattice node, counted on the frequency set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import key_name, mask_name
from kanon_sql.classes.measured import Columns, Members, measured_query
from kanon_sql.models.base import N, RowModel
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kanon_sql.classes.packing import Packing
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.models.t_closeness import TCloseness

PROBED = 11
"""A probe counts one class in this many. The powers of two differ modulo this prime, which spreads bits well."""

MOST_SKETCHED = 20
"""The largest k that ``people_query`` tests. Among more people, too many have a bit in common."""

NODE = "node"
"""The number of a node, if several are tested together."""


def measure_name(number: int) -> str:
    """Return the name of the measure of a model, by its number."""
    return f"measure_{number}"


def coded_columns(
    models: Sequence[PrivacyModel], *, tuples: bool = False, bounds: bool = False, kept: bool = False
) -> Columns:
    """Return the names of the columns of classes over codes."""
    numbers = range(len(models))
    return Columns(
        N,
        [measure_name(number) for number in numbers],
        "tuples" if tuples else None,
        [_bound_name(number) for number in numbers] if bounds else None,
        kept=kept,
    )


def coded_members(
    rows: exp.Select,
    classes: Iterable[exp.Expr],
    populations: Callable[[PopulationModel], exp.Query] | None = None,
    packing: Packing | None = None,
    weight: exp.Expr | None = None,
    *,
    merged: bool = False,
) -> Members:
    """Return rows of the frequency set as the members of classes.

    ``rows``: a query that selects nothing yet; ``classes``: the keys of a class, each with a name; ``populations``:
    for a model that compares with a population, the same classes of it; ``packing``: positions of counts in the rows,
    if they are stored side by side; ``weight``: what a member adds to ``Columns.tuples``; None if that is 1.
    """

    def features(model: TCloseness) -> exp.Table:
        relation = model.coding.features
        if relation is None:
            raise TypeError(f"{model.name} has no features to compare by")
        return relation

    return Members(
        rows=rows,
        classes=tuple(classes),
        n=sql.column(N),
        measure=lambda model: model.coded_measure(merged=merged),
        value=lambda model: sql.column(model.coding.code),
        shares=lambda model: model.coding.shares,
        features=features,
        populations=populations,
        coded=True,
        packing=packing,
        weight=weight,
    )


def classes_query(
    relation: exp.Table,
    masks: Sequence[int | exp.Expr],
    models: Sequence[PrivacyModel],
    *,
    probe: bool = False,
    bounds: bool = False,
    packing: Packing | None = None,
    nodes: exp.Expr | None = None,
    merged: bool = False,
) -> exp.Select:
    """Return the classes of a node: masked keys, rows, and the measure of each privacy model.

    ``masks``: of each key; a key masked away altogether is left out of the grouping; ``probe``: whether to count only
    one class in ``PROBED``; ``bounds``: whether to return also, as ``bound_0``, ``bound_1``, ..., how many rows of a
    class could be published at most by models that are not monotone; ``packing``: positions of counts in the relation,
    if they are stored side by side; ``nodes``: for several nodes, the relation of the masks of each with its number:
    see ``nodes_query``; ``merged``: whether the relation is the frequency set of this very node (see
    ``FrequencySet.has_people_once``).
    """
    masked = _masked_keys(masks)
    numbered = [] if nodes is None else [sql.column(NODE)]
    some_classes = [_one_class_in_several([key.this for key in masked])] if probe else []
    rows = exp.select().from_(relation.copy(), copy=False).where(*some_classes, copy=False)
    if nodes is not None:
        rows.join(nodes.copy(), on=exp.true(), copy=False)

    def population(model: PopulationModel) -> exp.Query:
        if model.population is None:
            raise TypeError(f"The population of {model.name} was not counted")
        counted = exp.select(*(key.copy() for key in masked), sql.named(sql.sum_of(sql.column(N)), N))
        return counted.from_(model.population.copy()).group_by(*(key.this.copy() for key in masked))

    members = coded_members(rows, [*numbered, *masked], population, packing, merged=merged)
    return measured_query(members, models, coded_columns(models, bounds=bounds))


def is_published(models: Sequence[PrivacyModel], *, rows_alone: bool = False) -> exp.Expr:
    """Return the condition that a class of ``classes_query`` satisfies all models, or only those of ``screens``."""
    asked = screens(models) if rows_alone else models
    return sql.all_of(
        model.is_met(sql.column(measure_name(number))) for number, model in enumerate(models) if model in asked
    )


def screens(models: Sequence[PrivacyModel]) -> list[RowModel]:
    """Return the monotone models of rows alone: counting their suppression takes a fraction of the time."""
    return [model for model in models if isinstance(model, RowModel) and model.monotone]


def prunes_by_suppression(models: Sequence[PrivacyModel]) -> bool:
    """Return True if the rows that a node suppresses are suppressed at every node below it."""
    return all(model.monotone for model in models)


def _most_published(models: Sequence[PrivacyModel]) -> exp.Expr:
    """Return how many rows of a class of ``classes_query`` any node below can publish at most.

    1. All of them, if the class satisfies the models.
    2. None, if it does not satisfy a monotone one.
    3. Otherwise the rows published below are a union of classes that satisfy every model. The union also satisfies the
       models that hold for unions. So it is not all of them if one of these fails. It has no more rows than each
       failing model leaves, and at least as many as each model asks for.
    """
    n = sql.column(N)
    met = [model.is_met(sql.column(measure_name(number))) for number, model in enumerate(models)]
    hopeless = [sql.negated(one) for one, model in zip(met, models, strict=True) if model.monotone]
    not_all: exp.Expr = exp.Sub(this=n, expression=sql.literal(1))
    if not all(model.unites for model in models):
        united = sql.all_of(one.copy() for one, model in zip(met, models, strict=True) if model.unites)
        not_all = exp.Case().when(united, n.copy()).else_(not_all)
    left: list[exp.Expr] = [not_all]
    failing = [number for number, model in enumerate(models) if not model.monotone]
    for number in failing:
        if not isinstance(models[number], SensitiveModel):
            continue
        bound: exp.Expr = sql.column(_bound_name(number))
        if len(failing) > 1:  # a single model is known to fail
            bound = exp.Case().when(met[number].copy(), n.copy()).else_(bound)
        left.append(bound)
    rounding = sql.double(1e-6)
    most = sql.least(left)
    least_rows = max((model.least_rows for model in models), default=1)
    too_few = exp.LT(this=most.copy(), expression=sql.double(least_rows - 1e-6))
    case = exp.Case().when(sql.all_of(one.copy() for one in met), n.copy())
    case = case.when(exp.or_(*hopeless, too_few), sql.literal(0))
    whole = exp.Floor(this=exp.Add(this=most, expression=rounding))
    return case.else_(sql.cast(whole, "BIGINT"))


def node_query(
    relation: exp.Table,
    masks: Sequence[int | exp.Expr],
    models: Sequence[PrivacyModel],
    *,
    probe: bool = False,
    with_sizes: bool = False,
    packing: Packing | None = None,
    nodes: exp.Expr | None = None,
    merged: bool = False,
) -> exp.Select:
    """Return the test of a node: how many classes it has, and how many rows lie in classes that must be suppressed.

    If a model forbids classes of the population without a row, each counts as one row to suppress: such a model
    allows no suppression, and if there is such a class, there is one at every node below.

    If a model is not monotone, also: how many rows no node below it publishes. With sizes also: how many classes
    satisfy the models, and the sum of squared sizes of these and of the others.

    A probe counts one class in ``PROBED``. These classes are whole, so the node suppresses at least the rows
    suppressed among them. If most classes are too small, that is proof enough at a fraction of the cost.

    For several ``nodes`` (see ``nodes_query``) there is a row for each, starting with its number; none for a table
    without rows. If a model is not monotone, the last column is the rows suppressed by the models of ``screens``.
    """
    bounds = not prunes_by_suppression(models)
    more: list[exp.Expr] = []
    if bounds:
        lost = exp.Sum(this=exp.Sub(this=sql.column(N), expression=_most_published(models)))
        more.append(sql.named(exp.Coalesce(this=lost, expressions=[sql.literal(0)]), "suppressed_below"))
    if with_sizes:
        square = exp.Sum(this=exp.Mul(this=sql.column(N), expression=sql.column(N)))
        squares = [sql.where(square, is_published(models)), sql.where(square.copy(), sql.negated(is_published(models)))]
        more.append(sql.named(sql.where(sql.count_rows(), is_published(models)), "published"))
        more += [
            sql.named(exp.Coalesce(this=total, expressions=[sql.literal(0)]), name)
            for total, name in zip(squares, ("squares", "suppressed_squares"), strict=True)
        ]
    classes = classes_query(
        relation, masks, models, probe=probe, bounds=bounds, packing=packing, nodes=nodes, merged=merged
    )
    node = [] if nodes is None else [sql.column(NODE)]
    if nodes is not None and bounds:
        by_rows = sql.negated(is_published(models, rows_alone=True))
        rows = sql.where(exp.Sum(this=sql.column(N)), by_rows)
        more.append(sql.named(exp.Coalesce(this=rows, expressions=[sql.literal(0)]), "suppressed_by_rows"))
    query = sql.select(
        "classes/node_test",
        values={"node": node, "fails": sql.negated(is_published(models)), "more": more},
        steps={"classes": [("classes", classes)]},
    )
    if (absent := _absent_classes(relation, masks, models)) is not None:
        for value in query.selects:
            if value.alias in {"suppressed", "suppressed_below"}:
                value.set("this", exp.Add(this=value.this, expression=absent.copy()))
    return query


def people_query(relation: exp.Table, masks: Sequence[int | exp.Expr], k: int, *, probe: bool = False) -> exp.Select:
    """Return the test of a node that requires k people: the counts of ``node_query`` in a part of the time.

    Few classes are small enough, with rows enough, that their distinct people must be counted. It pays off from
    some 100,000 tuples on, and if k is at most ``MOST_SKETCHED``.
    """
    masked = _masked_keys(masks)
    source = "kanon_frequency"
    of_class = [exp.EQ(this=sql.qualified(key.this.copy(), source), expression=_of_class(key)) for key in masked]
    return sql.select(
        "classes/people_test",
        values={
            "masked": masked,
            "some_classes": [_one_class_in_several([key.this for key in masked])] if probe else [],
            "is_of_class": sql.all_of(of_class),
            "classes": [_of_class(key) for key in masked],
            "keys": [sql.column(key.alias) for key in masked],
            "k": k,
        },
        relations={source: sql.aliased(relation, source)},
    )


def failing_people(relation: exp.Table, masks: Sequence[int | exp.Expr], k: int) -> list[tuple[str, exp.Query]]:
    """Return the steps of ``people_query`` that lead to the classes of fewer than k people: their keys and rows."""
    steps = people_query(relation, masks, k).ctes
    return [(step.alias, step.this) for step in steps]


def _of_class(key: exp.Alias) -> exp.Column:
    return sql.column(key.alias, "counted")


def nodes_query(
    relation: exp.Table,
    keys: int,
    models: Sequence[PrivacyModel],
    *,
    with_sizes: bool = False,
    packing: Packing | None = None,
) -> exp.Select:
    """Return the test of several nodes at once, whose masks are ``listed``: tuples are joined to the masks of each."""
    lists = [NODE, *map(mask_name, range(keys))]
    each = [sql.named(exp.Explode(this=exp.Placeholder(this=name)), name) for name in lists]
    masks = [sql.column(mask_name(key)) for key in range(keys)]
    nodes = exp.select(*each).subquery("nodes")
    return node_query(relation, masks, models, with_sizes=with_sizes, packing=packing, nodes=nodes)


def listed(masks: Sequence[tuple[int, ...]]) -> dict[str, list[int]]:
    """Return the values of the placeholders of ``nodes_query``: the masks of each node, with numbers."""
    of_keys = {mask_name(key): list(own) for key, own in enumerate(zip(*masks, strict=True))}
    return {NODE: list(range(len(masks))), **of_keys}


def rows_by_size_query(relation: exp.Table, masks: Sequence[int | exp.Expr], sizes: Sequence[int]) -> exp.Select:
    """Return the test of a node for several k at once: for each, how many rows lie in classes of fewer rows."""
    classes = classes_query(relation, masks, []).subquery("classes", copy=False)
    query = exp.select().from_(classes, copy=False)
    for size in sizes:
        smaller = exp.LT(this=sql.column(N), expression=sql.literal(size))
        rows = sql.where(exp.Sum(this=sql.column(N)), smaller)
        suppressed = exp.Coalesce(this=rows, expressions=[sql.literal(0)])
        query.select(sql.named(suppressed, f"suppressed_{size}"), copy=False)
    return query


def _absent_classes(
    relation: exp.Table, masks: Sequence[int | exp.Expr], models: Sequence[PrivacyModel]
) -> exp.Subquery | None:
    """Return the number of classes of the population that have no row if a model forbids them; else None."""
    populations = [model.population for model in models if isinstance(model, PopulationModel) and model.covers]
    if not populations:
        return None
    (population, *_) = populations
    if population is None:
        raise TypeError("The population was not counted")
    named = _masked_keys(masks)
    absent = exp.except_(
        exp.select(*named).from_(population.copy()),
        exp.select(*(key.copy() for key in named)).from_(relation.copy()),
    )
    return exp.select(sql.count_rows()).from_(absent.subquery("absent")).subquery()


def _masked_keys(masks: Sequence[int | exp.Expr]) -> list[exp.Alias]:
    """Return the masked keys of a class, each with its name."""
    kept = [key for key, mask in enumerate(masks) if mask != 0] or [0]
    return [
        sql.named(
            exp.BitwiseAnd(this=sql.column(key_name(key)), expression=sql.literal(masks[key])),
            key_name(key),
        )
        for key in kept
    ]


def _bound_name(number: int) -> str:
    return f"bound_{number}"


def _one_class_in_several(masked: Sequence[exp.Expr]) -> exp.Expr:
    """Return the condition that masked keys leave no remainder: all rows of a class are chosen, or none."""
    total: exp.Expr | None = None
    for key in masked:
        remainder = exp.Mod(this=exp.Paren(this=key.copy()), expression=sql.literal(PROBED))
        total = remainder if total is None else exp.Add(this=total, expression=remainder)
    if len(masked) > 1:
        total = exp.Mod(this=exp.Paren(this=total), expression=sql.literal(PROBED))
    return exp.EQ(this=total, expression=sql.literal(0))
