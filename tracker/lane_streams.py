"""Normals from the streams of several trials side by side, bit for bit those of ``streams.draw_normals``.

The quick region of the ziggurat is met by all lanes at once; the one draw in a hundred that falls outside is finished lane by
lane, as for one trial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.compiled import any_of, bits_of
from tracker.compiled.lane_functions import (
    as_floats,
    as_numbers,
    bits_where,
    floats_in,
    lane_of,
    look_up,
    words_in,
)
from tracker.sfc64 import BELOW_SIGN, LAYER, MANTISSA, SIGN, settle_normal
from tracker.ziggurat import NORMAL_QUICK, NORMAL_WIDTH

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

_U = np.uint64
_1, _3, _9, _11, _24, _40 = _U(1), _U(3), _U(9), _U(11), _U(24), _U(40)


def draw_normals_in_lanes(stream: Words, out: Array) -> None:
    """Fill ``out`` (n,), lanes, with standard normals from ``stream`` (4,), lanes of words."""
    a, b, c, d = stream[0], stream[1], stream[2], stream[3]
    states, normals = as_numbers(stream), as_numbers(out)
    for i in range(out.size):
        bits = a + b + d
        d = d + _1
        a = b ^ (b >> _11)
        b = c + (c << _3)
        c = ((c << _24) | (c >> _40)) + bits
        layer = bits & LAYER
        size = (bits >> _9) & MANTISSA
        x = as_floats(size) * look_up(NORMAL_WIDTH, layer)
        out[i] = floats_in(words_in(x) ^ ((bits & SIGN) << BELOW_SIGN))
        slow = size >= look_up(NORMAL_QUICK, layer)
        if any_of(slow):
            stream[0], stream[1], stream[2], stream[3] = a, b, c, d
            waiting, lane, begun = bits_where(slow), 0, floats_in(bits)
            while waiting != 0:
                if waiting & _1:
                    normals[i, lane] = settle_normal(states[:, lane], _U(bits_of(lane_of(begun, lane))))
                waiting >>= _1
                lane += 1
            a, b, c, d = stream[0], stream[1], stream[2], stream[3]
    stream[0], stream[1], stream[2], stream[3] = a, b, c, d
