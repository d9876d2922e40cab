"""What is asked of a differentially private release: what epsilon and delta are, and which k follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

from kanon_sql.dp.numbers import Number, exact
from kanon_sql.dp.safepub import k_for, parameters_of, require_delta, require_epsilon
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.dp.safepub import SafePubParameters
    from kanon_sql.policy.policy import Policy

_SEARCH_SHARE = 10  # of epsilon, one part in so many chooses the levels where nothing else is said
_MOST_DIGITS = 18  # after the point: as budgets keep them, and their sums
_LAST_DIGIT = Decimal(1).scaleb(-_MOST_DIGITS)


@dataclass(frozen=True)
class AskedRelease:
    """What is asked of a release, as far as it can be checked without a table.

    Attributes:
        policy: names the columns that are published, and their hierarchies; nothing else of it counts.
        parameters: of sampling and suppressing.
        levels: the level of each column; None where a mechanism chooses.
        epsilon_search: what that may spend.
    """

    policy: Policy
    parameters: SafePubParameters
    levels: Mapping[str, int] | None
    epsilon_search: Decimal

    @classmethod
    def of(
        cls,
        policy: Policy,
        epsilon: Number,
        *,
        delta: Number | None,
        k: int | None,
        levels: Mapping[str, int] | None,
        epsilon_search: Number | None,
    ) -> AskedRelease:
        """Return what is asked; arguments are those of ``kanon_sql.dp.releaser.release``.

        Raises:
            UsageError: it cannot be.
        """
        whole = _number(epsilon, "epsilon")
        require_epsilon(whole)
        search = _search_part(whole, epsilon_search, chosen=levels is None)
        parameters = _parameters(whole - search, None if delta is None else _number(delta, "delta"), k)
        return cls(policy, parameters, levels, search)


def _parameters(epsilon: Decimal, delta: Decimal | None, k: int | None) -> SafePubParameters:
    """Return the parameters for what is asked: of k, or of the least k that keeps delta.

    Raises:
        UsageError: neither is given, or k does not keep delta.
    """
    if delta is None and k is None:
        raise UsageError("Say what delta may be (--delta 0.000001), from which k follows; or give k (-k) itself.")
    if delta is not None:
        require_delta(delta)
    parameters = parameters_of(epsilon, k_for(epsilon, delta or Decimal(0)) if k is None else k)
    if delta is not None and parameters.delta > delta:
        raise UsageError(
            f"With k = {parameters.k:,}, delta is {parameters.delta:g} and not at most {delta:g}: take a k of at least "
            f"{k_for(epsilon, delta):,}, or leave -k out."
        )
    return parameters


def _search_part(epsilon: Decimal, asked: Number | None, *, chosen: bool) -> Decimal:
    """Return the part of epsilon that chooses levels; nothing where they were given.

    Raises:
        UsageError: it is all, or nothing, or there is nothing to choose.
    """
    if not chosen:
        if asked is not None:
            raise UsageError("Levels were given, and choosing them costs nothing: leave --epsilon-search out.")
        return Decimal(0)
    if asked is None:
        return (epsilon / _SEARCH_SHARE).quantize(_LAST_DIGIT, ROUND_DOWN).normalize()
    part = _number(asked, "epsilon-search")
    if not 0 < part < epsilon:
        raise UsageError(f"--epsilon-search is a part of epsilon, above 0 and below {epsilon:f}, not {part:f}.")
    return part


def _number(number: Number, name: str) -> Decimal:
    """Return a number as it is written: 0.1 is a tenth.

    Raises:
        UsageError: it is none, or has more digits than anybody means.
    """
    found = exact(number, f"--{name}")
    if found.adjusted() > _MOST_DIGITS or found != found.quantize(_LAST_DIGIT):
        raise UsageError(f"--{name} is a number with at most {_MOST_DIGITS} digits after the point, not {number}.")
    return found
