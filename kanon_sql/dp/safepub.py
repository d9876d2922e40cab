"""SafePub: the relation of k, epsilon and delta (Bild, Kuhn & Prasser 2018, after Li, Qardaji & Su 2012).

Rows are sampled with rate ``beta = 1 - e^-epsilon``, recoded by a scheme that does not depend on the data, and classes
of fewer than k sampled rows are left out. The result is (epsilon, delta)-differentially private, where neighbours are
tables that differ in one row:

    gamma  = (e^epsilon - 1 + beta) / e^epsilon              which is 1 - e^(-2 epsilon)
    n_m    = ceil(k / gamma - 1)
    delta  = max over n >= n_m of P(Binomial(n, beta) > gamma * n)

Why: one row changes one class, which has n rows with it and n - 1 without. The event that j >= k of them are sampled is
more than e^epsilon times as probable with the row exactly if j > gamma * n, and never in the other direction.

The maximum over infinitely many n is found exactly. All n with the same ``t = floor(gamma * n) + 1`` need at least t of
n rows. The probability of that grows with n, so only the largest of them counts: ``n_t = ceil(t / gamma) - 1``, and
``n_k = n_m``. Larger t stay below the Chernoff bound ``exp(-n KL(gamma || beta))``, which falls with n: once it is
below the maximum so far, that is the maximum.

No rounding makes delta smaller: beta is rounded up a little, gamma down a little, and sums up.

``RequestedRelease`` checks epsilon and delta, and computes k from them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import comb, factorial
from typing import TYPE_CHECKING

from kanon_sql.dp.account import Number, exact_decimal
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.policy.policy import Policy

LEAST_EPSILON, LARGEST_EPSILON = Decimal("0.000001"), Decimal(20)
LARGEST_K = 10_000_000
"""Largest allowed k."""
SAMPLED_BITS = 64
"""Bits of the random number that decides about each row."""

_EXACT = Context(prec=70, Emin=-999_999_999, Emax=999_999_999)
_MARGIN = Fraction(1, 10**50)  # far above the error of numbers of 70 digits, far below visible digits
_ROUNDED_UP = Decimal("1.000000000000000000000000000001")  # far above the rounding errors of the sums
_ROUNDED_DOWN = Decimal("0.99999999999999999999")
_NEGLIGIBLE = Decimal("1e-35")  # relative to the sum: smaller terms are replaced by a bound of all of them
_SHOWN_DIGITS = 6
_KEPT_PLACES = 20  # decimal places of a delta in the budget of a table
_LEAST_DELTA = Decimal(1).scaleb(-_KEPT_PLACES)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628621")
_COUNTED_OUT = 2_000  # rows up to which binomial coefficients and factorials are whole numbers
_BERNOULLI = (
    *(Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66)),
    *(Fraction(-691, 2730), Fraction(7, 6), Fraction(-3617, 510)),
)


@dataclass(frozen=True)
class SafePubParameters:
    """The guarantee of a release, and its parameters.

    Attributes:
        epsilon, delta: spent by sampling and suppressing; delta was computed for k and rounded up.
        k: the smallest class that is published.
        beta: the sampling rate.
        gamma: the share of sampled rows of a class above which its size reveals too much.
    """

    epsilon: Decimal
    k: int
    delta: Decimal
    beta: Decimal
    gamma: Decimal

    @property
    def threshold(self) -> int:
        """A row is sampled if its 64-bit number is below this: the rate is this over 2^64, never above beta.

        A smaller rate is no worse: sampling with rate r * beta equals sampling with rate r first, and then with beta.
        The first sample contains the row in question or not. If it does, the rest satisfies (epsilon, delta); if not,
        both tables are the same. So any mixture of both satisfies (epsilon, delta) too.
        """
        return int((_beta(self.epsilon) - _MARGIN) * 2**SAMPLED_BITS)


def parameters_of(epsilon: Decimal, k: int) -> SafePubParameters:
    require_epsilon(epsilon)
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= LARGEST_K:
        raise UsageError(f"k must be a whole number from 1 to {LARGEST_K:,}, not {k!r}.")
    beta, gamma = _beta(epsilon), _gamma(epsilon)
    return SafePubParameters(epsilon, k, least_delta(k, epsilon), _shown(beta), _shown(gamma))


def least_delta(k: int, epsilon: Decimal) -> Decimal:
    """Return the least delta that the theorem proves for classes of at least k rows, rounded up to 6 digits."""
    delta = most_above(k, _beta(epsilon) + _MARGIN, _gamma(epsilon) - _MARGIN)
    shown = Context(prec=_SHOWN_DIGITS, rounding=ROUND_CEILING).plus(min(delta, Decimal(1)))
    return shown if shown.adjusted() - _SHOWN_DIGITS > -_KEPT_PLACES else shown.quantize(_LEAST_DELTA, ROUND_CEILING)


def k_for(epsilon: Decimal, delta: Decimal) -> int:
    """Return the least k whose delta is at most the given one: delta only falls as k rises."""
    require_epsilon(epsilon)
    require_delta(delta)
    high = 1
    while least_delta(high, epsilon) > delta:
        if high == LARGEST_K:
            raise UsageError(
                f"For epsilon {epsilon:f} and delta {delta:f}, classes would need more than {LARGEST_K:,} rows: ask "
                "for a smaller epsilon, which samples fewer rows, or a larger delta."
            )
        high = min(2 * high, LARGEST_K)
    return bisect_left(range(high), x=True, lo=high // 2 + 1, key=lambda k: least_delta(k, epsilon) <= delta)


def most_above(k: int, beta: Fraction, gamma: Fraction) -> Decimal:
    """Return the maximum over n >= ceil(k / gamma - 1) of P(Binomial(n, beta) > gamma * n), rounded up.

    k is at least 1, beta above 0, gamma above beta and below 1. Both count as exact, even if gamma * n is a whole
    number.
    """
    with localcontext(_EXACT):
        falls = _divergence(gamma, beta)
        most, least_sampled = Decimal(0), k
        while True:
            most = max(most, tail(_ceiling(least_sampled / gamma) - 1, least_sampled, beta))
            least_sampled += 1
            fewest = _decimal(least_sampled / gamma - 1)  # number of rows from which that many must be sampled
            if (-falls * fewest).exp() * _ROUNDED_UP <= most:
                return most


def tail(rows: int, least: int, rate: Fraction) -> Decimal:
    """Return P(Binomial(rows, rate) >= least), rounded up by less than one part in 10^29; least is above the mean."""
    if least > rows:
        return Decimal(0)
    with localcontext(_EXACT):
        odds = _decimal(rate / (1 - rate))
        others = rows - least
        log_first = _log_choices(rows, least) + least * _decimal(rate).ln() + others * _decimal(1 - rate).ln()
        # Relative to the first term, each is the one before times a ratio that falls.
        term = total = Decimal(1)
        for sampled in range(least, rows):
            ratio = Decimal(rows - sampled) / (sampled + 1) * odds
            if ratio < 1 and term * ratio <= total * (1 - ratio) * _NEGLIGIBLE:
                total += term * ratio / (1 - ratio)  # a geometric series, larger than all remaining terms
                break
            term *= ratio
            total += term
        return log_first.exp() * total * _ROUNDED_UP


def require_epsilon(epsilon: Decimal) -> None:
    if not epsilon.is_finite() or not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise UsageError(
            f"The epsilon of a release is a number from {LEAST_EPSILON:f} to {LARGEST_EPSILON:f}, not {epsilon}."
        )


def require_delta(delta: Decimal) -> None:
    if not delta.is_finite() or not 0 < delta < 1:
        raise UsageError(f"Delta is a probability above 0 and below 1, such as 0.000001, not {delta}.")


def _beta(epsilon: Decimal) -> Fraction:
    return 1 - Fraction(_EXACT.exp(-epsilon))


def _gamma(epsilon: Decimal) -> Fraction:
    return 1 - Fraction(_EXACT.exp(-2 * epsilon))


def _divergence(gamma: Fraction, beta: Fraction) -> Decimal:
    """Return KL(gamma || beta), rounded down; call it in the context of exact numbers."""
    pairs = ((gamma, beta), (1 - gamma, 1 - beta))
    return sum((_decimal(one) * _decimal(one / other).ln() for one, other in pairs), Decimal(0)) * _ROUNDED_DOWN


def _log_choices(rows: int, taken: int) -> Decimal:
    if rows <= _COUNTED_OUT:
        return Decimal(comb(rows, taken)).ln()
    return _log_factorial(rows) - _log_factorial(taken) - _log_factorial(rows - taken)


@cache
def _log_factorial(number: int) -> Decimal:
    """Return ln(number!), by Stirling's series if its error, the first omitted term, is below 10^-50."""
    with localcontext(_EXACT):
        if number <= _COUNTED_OUT:
            return Decimal(factorial(number)).ln()
        n, half = Decimal(number), Decimal("0.5")
        total = (n + half) * n.ln() - n + half * (2 * _PI).ln()
        for place, bernoulli in enumerate(_BERNOULLI, start=1):
            total += _decimal(bernoulli / (2 * place * (2 * place - 1) * number ** (2 * place - 1)))
        return total


def _decimal(number: Fraction) -> Decimal:
    return _EXACT.divide(number.numerator, number.denominator)


def _shown(number: Fraction) -> Decimal:
    return Context(prec=12).divide(number.numerator, number.denominator)


def _ceiling(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)


_SEARCH_SHARE = 10  # by default, one part in this many of epsilon chooses the levels
_MOST_DIGITS = 18  # decimal places, as for budgets and their sums
_LAST_DIGIT = Decimal(1).scaleb(-_MOST_DIGITS)


@dataclass(frozen=True)
class RequestedRelease:
    """The requested release, checked as far as possible without a table."""

    policy: Policy  # names the published columns and their hierarchies; nothing else of it is used
    parameters: SafePubParameters
    levels: Mapping[str, int] | None  # the level of each column; None if a mechanism chooses
    epsilon_search: Decimal  # the part of epsilon for that mechanism

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
    ) -> RequestedRelease:
        """Check the arguments of ``kanon_sql.dp.releaser.release`` and return the request."""
        whole = _decimal_of(epsilon, "epsilon")
        require_epsilon(whole)
        search = _search_part(whole, epsilon_search, chosen=levels is None)
        parameters = _parameters(whole - search, None if delta is None else _decimal_of(delta, "delta"), k)
        return cls(policy, parameters, levels, search)


def _parameters(epsilon: Decimal, delta: Decimal | None, k: int | None) -> SafePubParameters:
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


def _search_part(epsilon: Decimal, requested: Number | None, *, chosen: bool) -> Decimal:
    """Return the part of epsilon that chooses levels; 0 if they were given."""
    if not chosen:
        if requested is not None:
            raise UsageError("Levels were given, and choosing them costs nothing: leave --epsilon-search out.")
        return Decimal(0)
    if requested is None:
        return (epsilon / _SEARCH_SHARE).quantize(_LAST_DIGIT, ROUND_DOWN).normalize()
    part = _decimal_of(requested, "epsilon-search")
    if not 0 < part < epsilon:
        raise UsageError(f"--epsilon-search is a part of epsilon, above 0 and below {epsilon:f}, not {part:f}.")
    return part


def _decimal_of(number: Number, name: str) -> Decimal:
    """Return the exact decimal of a number: 0.1 is a tenth."""
    found = exact_decimal(number, f"--{name}")
    if found.adjusted() > _MOST_DIGITS or found != found.quantize(_LAST_DIGIT):
        raise UsageError(f"--{name} is a number with at most {_MOST_DIGITS} digits after the point, not {number}.")
    return found
