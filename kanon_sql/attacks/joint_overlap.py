"""Groups of people who are alike in two releases, where a person can be in several classes.

    kanon_profiles(profile, first_found, second_found, n, word, bit)   people who find the same in both releases
    kanon_reach(profile, word, bits)                                   the profiles that share a class with each

A person is left with all profiles that share a candidate class with hers in the one release and in the other. A bit
stands for each profile, 62 of them in a word, so that the profiles that share a class are the classes' words put
together, and those in both are what the words have in common. Only groups of few profiles are counted out: one of k
profiles or more has k people or more. The work is bounded by profiles times words: n squared by 62 where one class
covers everybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.attacks.candidates import CLASS, FOUND
from kanon_sql.frequency import N

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine

_PROFILE, _WORD, _BIT, _BITS, _OTHERS = "profile", "word", "bit", "bits", "others"
_BITS_IN_WORD = 62


def overlapping_groups(
    engine: Engine, both: exp.Query, first: tuple[str, exp.Table], second: tuple[str, exp.Table], k: int
) -> tuple[int, int | None, int, int]:
    """Return how many profiles there are, the fewest people that one is left with, and profiles and rows below k.

    Args:
        engine: holds everything.
        both: tuples that both releases have, what they find in each, and their rows.
        first: of the first release, the name of the column of what is found, and its classes.
        second: the same of the second release.
        k: the smallest group that is allowed.
    """
    profiles = engine.temporary_name("kanon_profiles")
    query = _profiles_query(both, [first[0], second[0]])
    engine.run(sql.create_table(profiles, query, temporary=True), "people who find the same in both releases")
    reaches = []
    for name, sets in (first, second):
        reach = engine.temporary_name("kanon_reach")
        query = _reach_query(profiles, name, sets)
        engine.run(sql.create_table(reach, query, temporary=True), "people who share a class")
        reaches.append(reach)
    common = engine.temporary_name("kanon_common")
    engine.run(sql.create_table(common, _common_query(*reaches), temporary=True), "people who share a class in both")
    # 1. The fewest people of those with the fewest profiles: nobody with more profiles than that has fewer people.
    (groups,) = engine.row(exp.select(sql.count_rows()).from_(profiles.copy()), "profiles")
    counts = exp.select(_PROFILE, sql.named(sql.sum_of(exp.BitwiseCount(this=sql.column(_BITS))), _OTHERS))
    counts = counts.from_(common.copy()).group_by(_PROFILE)
    (fewest,) = engine.row(exp.select(exp.Min(this=sql.column(_OTHERS))).from_(counts.subquery("counts")), "fewest")
    if fewest is None:
        return 0, None, 0, 0
    title = "people that somebody is left with"
    least = min(size for size, _ in engine.rows(_sizes_query(profiles, common, counts, fewest), title))
    # 2. All who may have that few, or fewer than k.
    sizes = engine.rows(_sizes_query(profiles, common, counts, max(least, k - 1)), title)
    small = [n for size, n in sizes if size < k]
    for table in (common, *reaches, profiles):
        engine.run(sql.drop(table), "drop what people have in common")
    return groups, min(size for size, _ in sizes), len(small), sum(small)


def _profiles_query(both: exp.Query, names: list[str]) -> exp.Select:
    grouped = exp.select(*names, sql.named(sql.sum_of(sql.column(N)), N)).from_(both.subquery("both")).group_by(*names)
    order = exp.Order(expressions=[exp.Ordered(this=sql.column(name)) for name in names])
    number = exp.Sub(this=exp.Window(this=exp.RowNumber(), order=order), expression=sql.literal(1))
    numbered = exp.select(sql.named(number, _PROFILE), *names, N).from_(grouped.subquery("grouped"))
    share = exp.Div(this=sql.column(_PROFILE), expression=sql.literal(float(_BITS_IN_WORD)))
    word = sql.cast(exp.Floor(this=share), "BIGINT")
    worded = exp.select("*", sql.named(word, _WORD)).from_(numbered.subquery("numbered"))
    before = exp.Mul(this=sql.column(_WORD), expression=sql.literal(_BITS_IN_WORD))
    place = exp.Paren(this=exp.Sub(this=sql.column(_PROFILE), expression=before))
    bit = exp.BitwiseLeftShift(this=sql.cast(sql.literal(1), "BIGINT"), expression=place)
    return exp.select("*", sql.named(bit, _BIT)).from_(worded.subquery("worded"))


def _reach_query(profiles: exp.Table, name: str, sets: exp.Table) -> exp.Select:
    """Return the query of the words of profiles that share a class of one release with each profile."""
    same_found = exp.EQ(this=sql.column(FOUND, "sets"), expression=sql.column(name, "profiles"))
    in_class = exp.select(
        sql.column(CLASS, "sets"),
        sql.column(_WORD, "profiles"),
        sql.named(sql.sum_of(sql.column(_BIT, "profiles")), _BITS),
    )
    in_class = in_class.from_(sql.aliased(profiles, "profiles")).join(sql.aliased(sets, "sets"), on=same_found)
    in_class = in_class.group_by(sql.column(CLASS, "sets"), sql.column(_WORD, "profiles"))
    same_class = exp.EQ(this=sql.column(CLASS, "in_class"), expression=sql.column(CLASS, "sets"))
    query = exp.select(
        sql.column(_PROFILE, "profiles"),
        sql.column(_WORD, "in_class"),
        sql.named(exp.BitwiseOrAgg(this=sql.column(_BITS, "in_class")), _BITS),
    )
    query = query.from_(sql.aliased(profiles, "profiles")).join(sql.aliased(sets, "sets"), on=same_found.copy())
    query = query.join(in_class.subquery("in_class"), on=same_class)
    return query.group_by(sql.column(_PROFILE, "profiles"), sql.column(_WORD, "in_class"))


def _common_query(first: exp.Table, second: exp.Table) -> exp.Select:
    same = sql.all_of(
        exp.EQ(this=sql.column(name, "first"), expression=sql.column(name, "second")) for name in (_PROFILE, _WORD)
    )
    bits = exp.Paren(this=exp.BitwiseAnd(this=sql.column(_BITS, "first"), expression=sql.column(_BITS, "second")))
    query = exp.select(sql.column(_PROFILE, "first"), sql.column(_WORD, "first"), sql.named(bits, _BITS))
    query = query.from_(sql.aliased(first, "first")).join(sql.aliased(second, "second"), on=same)
    return query.where(exp.NEQ(this=bits.copy(), expression=sql.literal(0)))


def _sizes_query(profiles: exp.Table, common: exp.Table, counts: exp.Select, most: int) -> exp.Select:
    """Return the query ``(size, n)`` of profiles that share their classes with no more than so many."""
    few = exp.LTE(this=sql.column(_OTHERS, "counts"), expression=sql.literal(most))
    same_profile = exp.EQ(this=sql.column(_PROFILE, "common"), expression=sql.column(_PROFILE, "counts"))
    bits = exp.Paren(this=exp.BitwiseAnd(this=sql.column(_BITS, "common"), expression=sql.column(_BIT, "others")))
    same_word = exp.EQ(this=sql.column(_WORD, "others"), expression=sql.column(_WORD, "common"))
    has_bit = exp.NEQ(this=bits, expression=sql.literal(0))
    own = exp.EQ(this=sql.column(_PROFILE, "own"), expression=sql.column(_PROFILE, "counts"))
    query = exp.select(sql.sum_of(sql.column(N, "others")), exp.Max(this=sql.column(N, "own")))
    query = query.from_(counts.subquery("counts")).join(sql.aliased(common, "common"), on=same_profile)
    query = query.join(sql.aliased(profiles, "others"), on=exp.and_(same_word, has_bit))
    query = query.join(sql.aliased(profiles, "own"), on=own).where(few)
    return query.group_by(sql.column(_PROFILE, "counts"))
