"""Functions that generated code calls: without overflow where the result is small, nan outside of their domain."""

from __future__ import annotations

import numpy as np

from tracker.compiled import inlined, where
from tracker.exponential import decay, exponential, logarithm, logarithm_of_1_plus

__all__ = ["at_most", "exponential", "larger", "log_slope", "logarithm", "logcosh", "sech2", "sign", "smaller"]

_LOG_2 = float(np.log(2.0))


@inlined
def logcosh(x: float) -> float:
    """Return log cosh x = |x| + log(1 + exp(-2|x|)) - log 2."""
    size = abs(x)
    return size + logarithm_of_1_plus(decay(2.0 * size)) - _LOG_2


@inlined
def sech2(x: float) -> float:
    """Return 1 / cosh^2 x, the derivative of tanh, which 1 - tanh^2 x would lose in rounding."""
    e = decay(2.0 * abs(x))
    return 4.0 * e / ((1.0 + e) * (1.0 + e))


@inlined
def log_slope(x: float) -> float:
    """Return the derivative of log: 1 / x for x > 0, nan elsewhere, so that a step out of the domain is noticed."""
    return where(x > 0.0, 1.0 / x, np.nan)


@inlined
def sign(x: float) -> float:
    """Return the derivative of |x|: -1, 0 or 1; nan stays."""
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, 0.0 * x))


@inlined
def at_most(a: float, b: float) -> float:
    """Return 1 where a <= b, else 0: which of the two min(a, b) follows."""
    return where(a <= b, 1.0, 0.0)


@inlined
def smaller(a: float, b: float) -> float:
    """Return min(a, b)."""
    return where(a <= b, a, b)


@inlined
def larger(a: float, b: float) -> float:
    """Return max(a, b)."""
    return where(a <= b, b, a)
