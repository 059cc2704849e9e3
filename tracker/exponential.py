"""exp, log and log(1 + x) that the compiler can vectorise: for one trial, for several side by side, and interpreted alike.

The C library's are calls, and a loop with a call in it, or a step of several trials side by side, is done one number at a time.
These are polynomials and shifts, which take all numbers at once, and give the same bits on every machine, compiled or not.

Notes
-----
exp x = 2^n exp r with n = round(x / log 2), so |r| <= log(2)/2, where Taylor's polynomial of degree 13 leaves 4e-18.
Adding 3 * 2^51 rounds to an integer and leaves it in the last bits; a shift takes them to the exponent's place.

log u = k log 2 + log(1 + f) with u = 2^k (1 + f) and 1 + f between the roots of 1/2 and 2. With s = f/(2 + f) and h = f^2/2

    log(1 + f) = 2 artanh s = f - (h - s (h + R)),   R = 2 (s^2/3 + s^4/5 + ... + s^22/23),

where |s| < 0.172 leaves 1e-18. For log(1 + x), u is 1 + x rounded and c, with x = (u - 1) + c, is what was rounded away:
c/u is added.
"""

from __future__ import annotations

import numpy as np

from tracker.compiled import bits_of, double_of, helper, inlined, where

LOWEST = -708.0  # from there on exp is a normal number
_ROUNDER = 6755399441055744.0  # 3 * 2^51
_PER_LOG2 = 1.4426950408889634
_LOG2_HIGH, _LOG2_LOW = (
    0.6931471803691238,
    1.9082149292705877e-10,
)  # the first has zeros at its end: n times it is exact
_EXPONENT = np.int64(52)
_F2, _F3, _F4, _F5, _F6, _F7 = 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
_F8, _F9, _F10, _F11, _F12, _F13 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600, 1 / 6227020800

_ZERO, _INFINITE = -746.0, 710.0  # below and above, exp is 0 and infinite
_TWICE_BIAS = np.int64(2046) - np.float64(_ROUNDER).view(np.int64)  # so that bits of t are n + 2046, above 0
_ONE, _BIAS = np.int64(1), np.int64(1023)

_LEAST_NORMAL, _2_54 = 2.0**-1022, 2.0**54
_ROOT_OF_HALF = np.float64(np.sqrt(0.5)).view(np.int64) - (_BIAS << _EXPONENT)  # bits, less an exponent of 1023
_WHOLE, _WHOLE_BITS = 2.0**52, np.float64(2.0**52).view(np.int64)  # 2^52 + k has the bits of 2^52 plus k
_R1, _R2, _R3, _R4, _R5, _R6 = 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13
_R7, _R8, _R9, _R10, _R11 = 2 / 15, 2 / 17, 2 / 19, 2 / 21, 2 / 23


@inlined
def _between(x: float) -> tuple[float, float]:
    """Return exp r, and n in the last bits of a number."""
    t = x * _PER_LOG2 + _ROUNDER
    n = t - _ROUNDER
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = r + r2 * (_F2 + r * _F3)
    middle = (_F4 + r * _F5) + r2 * (_F6 + r * _F7)
    high = ((_F8 + r * _F9) + r2 * (_F10 + r * _F11)) + r4 * (_F12 + r * _F13)
    return 1.0 + (low + r4 * (middle + r4 * high)), t


@inlined
def decay(size: float) -> float:
    """Return exp(-size) to within 1.5 units in the last place for size >= 0; at least exp(LOWEST), which is nothing beside 1."""
    p, t = _between(max(-size, LOWEST))
    return double_of(bits_of(p) + (bits_of(t) << _EXPONENT))  # type: ignore[no-any-return]


@helper
def exponential(x: float) -> float:
    """Return exp x to within 1.5 units in the last place, also where it is 0, subnormal or infinite."""
    p, t = _between(min(max(x, _ZERO), _INFINITE))
    n = bits_of(t) + _TWICE_BIAS  # 2^n in two factors, each of which is a normal number
    half = n >> _ONE
    return (p * double_of(half << _EXPONENT)) * double_of((n - half) << _EXPONENT)  # type: ignore[no-any-return]


@inlined
def _log_of_sum(u: float, c: float, shift: float) -> float:
    """Return log((u + c) / 2^shift), u a positive normal number, c at most half a unit in its last place."""
    k = (bits_of(u) - _ROOT_OF_HALF) >> _EXPONENT  # and 1023 more
    f = double_of(bits_of(u) - ((k - _BIAS) << _EXPONENT)) - 1.0
    whole = double_of(k + _WHOLE_BITS) - (_WHOLE + 1023.0) - shift
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    low = (_R1 + z * _R2) + z2 * (_R3 + z * _R4)
    middle = (_R5 + z * _R6) + z2 * (_R7 + z * _R8)
    high = (_R9 + z * _R10) + z2 * _R11
    R = z * (low + z4 * (middle + z4 * high))
    h = 0.5 * f * f
    return whole * _LOG2_HIGH + (f - (h - (s * (h + R) + (whole * _LOG2_LOW + c / u))))


@inlined
def _elsewhere(u: float) -> float:
    """Return log u where u is no positive number: at 0, at infinity, below 0 and nan."""
    return where(u == 0.0, -np.inf, where(u > 0.0, u, np.nan))  # type: ignore[no-any-return]


@helper
def logarithm(x: float) -> float:
    """Return log x to within 1.5 units in the last place: -inf at 0, nan below."""
    fits = (x > 0.0) & (x < np.inf)
    small = x < _LEAST_NORMAL
    u = where(fits, x, 1.0) * where(small, _2_54, 1.0)
    return where(fits, _log_of_sum(u, 0.0, where(small, 54.0, 0.0)), _elsewhere(x))  # type: ignore[no-any-return]


@helper
def logarithm_of_1_plus(x: float) -> float:
    """Return log(1 + x) to within 1.5 units in the last place: -inf at -1, nan below."""
    sum_ = 1.0 + x
    fits = (sum_ > 0.0) & (sum_ < np.inf)
    u = where(fits, sum_, 1.0)
    rounded = u - 1.0
    c = (1.0 - (u - rounded)) + (x - rounded)  # what rounding took away, exactly
    return where(fits, _log_of_sum(u, c, 0.0), _elsewhere(sum_))  # type: ignore[no-any-return]
