"""Numbers and names in reports, and descriptions of the treatment of a column without SQL or rules."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kanon_sql.engine.base import Column
from kanon_sql.errors import counted
from kanon_sql.measures.shares import threshold_text
from kanon_sql.models.known_subsets import columns_named
from kanon_sql.policy.publish_rules import rules_that_help

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kanon_sql.evidence.report.figures import Attribute, DescribedColumn, Search
    from kanon_sql.measures.utility.utility import Utility
    from kanon_sql.risks.attacks.verdicts import Verdict

NOTHING = "\N{EN DASH}"
"""Replaces a missing figure."""
_LEAST_SHARE, _LARGE = 0.0001, 1000
_KINDS = {
    "text": "text",
    "integer": "whole number",
    "decimal": "number",
    "float": "number",
    "date": "date",
    "timestamp": "date and time",
    "boolean": "yes or no",
}
_PUBLISHED = {
    "as pseudonyms": "replaced by pseudonyms",
    "not published": "removed",
    "as it is": "published as it is",
    "by a rule": "published by",
}


def printable(text: str) -> str:
    r"""Spell out characters of a text that are invisible or change the writing direction, as in ``\x1b``."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def verb(number: int, one: str, many: str | None = None) -> str:
    """Return a verb that fits a number: 1 succeeds, 2 succeed."""
    return one if number == 1 else many or one.removesuffix("s")


def members(number: int, *, people: bool) -> str:
    return counted(number, "person", "people") if people else counted(number, "row")


def measured_text(value: float | None, model: str, *, people: bool) -> str:
    """Return the measure of a privacy model, with its unit if it has one."""
    if value is None:
        return "no rows"
    if model == "k-anonymity" or columns_named(model):
        return members(int(value), people=people)
    if model == "distinct l-diversity":
        return counted(int(value), "value")
    if model == "k-map" and not math.isinf(value):
        return f"{counted(int(value), 'row')} of the population"
    return four_digits(value)


def comparison_sentence(compared: Sequence[Verdict], control: str | None) -> str:
    """Return the result of the comparison with a control group as one sentence that can be quoted."""
    tested = [attack for attack in compared if attack.outcome != "not tested"]
    found = [attack for attack in tested if attack.succeeded]
    others = f"the same guesses about people who are not in the release ({control})"
    if not tested:
        return f"No guess could be compared with guesses about people who are not in the release ({control})."
    if not found:
        return (
            f"By none of {counted(len(tested), 'attack')} guesses about people of the original were found to be more "
            f"often right than {others}."
        )
    named = []
    for attack in found:
        risk, of = attack.figures["risk"], "" if attack.about is None else f" of {attack.about}"
        least = "at least " if attack.figures["risk_is_lower_bound"] else ""
        value, low, high = (percentage(risk[name]) for name in ("value", "low", "high"))
        named.append(f"{attack.name}{of} (risk {least}{value}, 95 %: {low} to {high})")
    return (
        f"By {len(found)} of {counted(len(tested), 'attack')} guesses about people of the original are more often "
        f"right than {others}: {', '.join(named)}."
    )


def utility_sentence(utility: Utility) -> str:
    """Return the utility of a release as one sentence that can be quoted."""
    if utility.marginals is None:
        return f"What the output is still good for was not measured: {utility.missing}."
    score, each = utility.marginals.score, counted(utility.marginals.columns_each, "column")
    said = [f"By counts of {each} at a time, the output scores {score:.0f}, where the original itself scores 1000"]
    if (errors := utility.queries) is not None:
        queries = counted(errors.queries, "counting query", "counting queries")
        said.append(f"half of {queries} have a relative error of at most {percentage(errors.median)}")
    if (prediction := utility.prediction) is not None:
        shares = [prediction.from_release, prediction.from_original, prediction.most_frequent]
        learned, of_original, frequent = map(percentage, shares)
        said.append(
            f"{prediction.target} is predicted rightly of {learned} of the tested rows if that is learned from the "
            f"output, of {of_original} if from the original, and of {frequent} by its most frequent value"
        )
    return f"{'; '.join(said)}."


def percentage(share: float) -> str:
    """Return a share as a percentage; a share above 0 is never written as 0."""
    if 0 < share < _LEAST_SHARE:
        return "< 0.01 %"
    return f"{share:.2%}".replace("%", " %")


def suppression_limit(asked: Search) -> str:
    limit = asked.max_suppressed
    return limit if isinstance(limit, str) else percentage(limit)


def four_digits(value: float | None) -> str:
    """Return a threshold or a measure; a dash for none."""
    return NOTHING if value is None else threshold_text(value)


def decimals(value: float | None) -> str:
    """Return a figure between 0 and 1 with four decimals, a larger one with one; a dash for none."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= _LARGE else f"{value:.4f}"


def kind_of_values(attribute: DescribedColumn) -> str:
    """Return the type of a column in words; a rare type by its name."""
    family = Column(attribute.name, attribute.type).family
    return _KINDS.get(family) or attribute.type.partition("(")[0].lower()


def technique(attribute: Attribute) -> str:
    if attribute.published != "generalized":
        by = "" if attribute.rule is None else f" {attribute.rule}"
        return f"{_PUBLISHED[attribute.published]}{by}"
    if attribute.level == 0:
        return "not generalized: every value as it was"
    if attribute.level is not None and attribute.level == attribute.height:
        return "hidden: every value is the same label"
    return _in_words(attribute.hierarchy or "", attribute.level)


def described_rule(attribute: DescribedColumn) -> str | None:
    """Return the rule that generalizes a quasi-identifier, as a policy writes it; None for other columns."""
    if attribute.published != "generalized" or attribute.hierarchy is None:
        return None
    return f"rule {attribute.hierarchy}" + (", chosen because none was given" if attribute.chosen else "")


def help_for(attribute: Attribute) -> str | None:
    """Return the rules that could publish a kept column with nearly unique values."""
    return rules_that_help(Column(attribute.name, attribute.type))


def _in_words(origin: str, level: int | None) -> str:
    text = origin.partition(" (")[0]  # the part in brackets came from the data
    kind, _, settings = text.partition(":")
    if kind in _BY_LEVEL:
        words = _at(settings, level, *_BY_LEVEL[kind])
    elif kind in _RULES:
        words = _RULES[kind](settings, level)
    elif kind == "ready":
        return f"put into groups of the ready-made list {settings}"
    else:
        return "put into groups that a file lists" if kind != "flat" else "hidden where it had to be"
    return words if level is not None else f"{words}, as far as each group needs"


_BY_LEVEL = {
    "intervals": ("put into ranges of {}", "put into ranges"),
    "date": ("generalized to the {}", "generalized to longer spans of time"),
    "quantiles": ("put into {} groups of similar size", "put into groups by size"),
    "prefixes": ("only the first {} characters kept", "only the first characters kept"),
    "steps": ("put into ranges, wider for larger numbers",) * 2,
    "prefix": ("put into groups by the first characters",) * 2,
}
"""By kind of rule, the description of a level that its settings list, and of any other."""


def _at(settings: str, level: int | None, words: str, otherwise: str) -> str:
    part = _setting(settings, level)
    return words.format(part) if part else otherwise


def _setting(settings: str, level: int | None) -> str:
    """Return the setting of a level in a list such as ``5,10:top=90``; an empty text if it has none."""
    parts = settings.partition(":")[0].split(",")
    return parts[level - 1] if level is not None and 0 < level <= len(parts) and parts[0] else ""


def _mask(settings: str, level: int | None) -> str:
    side, _, counts = settings.partition(":")
    where = "first" if side == "left" else "last"
    if level is None:
        return f"the {where} characters hidden"
    hidden = _setting(counts, level) or str(level)
    return f"the {where} character hidden" if hidden == "1" else f"the {where} {hidden} characters hidden"


def _cut(settings: str, level: int | None) -> str:
    match _setting(settings, level):
        case "":
            return "the last characters left out"
        case "letters":
            return "only the first letters kept"
        case "1":
            return "the last character left out"
        case part:
            return f"the last {part} characters left out"


def _rounded(settings: str, level: int | None, verb: str = "rounded") -> str:
    if not (digits := _setting(settings, level)):
        return verb
    places = int(digits)
    return f"{verb} to {10**places:,}" if places >= 0 else f"{verb} to {-places} decimal places"


_RULES: dict[str, Callable[[str, int | None], str]] = {
    "mask": _mask,
    "cut": _cut,
    "round": _rounded,
    "truncate": lambda settings, level: _rounded(settings, level, "truncated"),
}
