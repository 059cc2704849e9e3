"""The generator SFC64: bits, uniform numbers, and the normals that the quick region of the ziggurat leaves over.

A stream is a uint64 array of shape (4,); ``streams`` says how streams are seeded and used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.compiled import helper
from tracker.ziggurat import NORMAL_HEIGHT, NORMAL_QUICK, NORMAL_TAIL, NORMAL_TAIL_INVERSE, NORMAL_WIDTH

if TYPE_CHECKING:
    from tracker.array_types import Words

_U = np.uint64
_1, _3, _8, _9, _11, _24, _40 = _U(1), _U(3), _U(8), _U(9), _U(11), _U(24), _U(40)
LAYER, SIGN, MANTISSA = _U(0xFF), _U(0x100), _U(0xFFFFFFFFFFFFF)  # parts of the bits of a normal
BELOW_SIGN = _U(55)  # SIGN, shifted by so much, is the sign of a double
_UNIT = 1.0 / 9007199254740992.0


@helper
def draw_bits(stream: Words) -> np.uint64:
    """Draw 64 random bits."""
    result = stream[0] + stream[1] + stream[3]
    stream[3] += _1
    stream[0] = stream[1] ^ (stream[1] >> _11)
    stream[1] = stream[2] + (stream[2] << _3)
    stream[2] = ((stream[2] << _24) | (stream[2] >> _40)) + result
    return result


@helper
def draw_uniform(stream: Words) -> float:
    """Draw from the uniform law on [0, 1)."""
    return (draw_bits(stream) >> _11) * _UNIT


@helper
def settle_normal(stream: Words, bits: np.uint64) -> float:
    """Finish a normal draw whose first 64 ``bits`` fell outside the ziggurat's quick region (1 in 100)."""
    while True:
        layer = bits & LAYER
        size = (bits >> _9) & MANTISSA
        x = np.int64(size) * NORMAL_WIDTH[layer]
        if bits & SIGN:
            x = -x
        if size < NORMAL_QUICK[layer]:
            return x
        if layer == 0:
            while True:
                beyond = -NORMAL_TAIL_INVERSE * np.log1p(-draw_uniform(stream))
                height = -np.log1p(-draw_uniform(stream))
                if height + height > beyond * beyond:
                    return -(NORMAL_TAIL + beyond) if (size >> _8) & _1 else NORMAL_TAIL + beyond
        low, high = NORMAL_HEIGHT[layer], NORMAL_HEIGHT[layer - _1]
        if (high - low) * draw_uniform(stream) + low < np.exp(-0.5 * x * x):
            return x
        bits = draw_bits(stream)
