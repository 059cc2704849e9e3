"""Random streams: SFC64 seeded by (seed, role, trial), bit for bit numpy's.

``Generator(SFC64(SeedSequence(seed, spawn_key=(role, trial))))`` gives the same numbers; here they are drawn, and the
streams are seeded, inside compiled code. A stream is a uint64 array of shape (4,). A stream is addressed by index, never
by the order of spawning, so that a trial does not depend on its neighbours, workers or shards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import helper, in_lanes, kernel, truncated
from tracker.sfc64 import LAYER, MANTISSA, SIGN, draw_bits, draw_uniform, settle_normal
from tracker.ziggurat import NORMAL_QUICK, NORMAL_WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array, Integers, Words


__all__ = [
    "draw_bits",
    "draw_index",
    "draw_normals",
    "draw_uniform",
    "entropy_words",
    "normals_by_trial",
    "seed_stream",
]

# The roles are published: scripts may rebuild any stream with numpy alone.
CHAIN, OBSERVATIONS, NOISE, PERTURBATIONS, SKEW, START, INNER, DRIFT = range(8)

_U = np.uint64
_LOW32 = _U(0xFFFFFFFF)
_16, _32 = _U(16), _U(32)
_1, _3, _9, _11, _24, _40 = _U(1), _U(3), _U(9), _U(11), _U(24), _U(40)

# Constants of numpy's SeedSequence (M. E. O'Neill's seed_seq design).
_INIT_A, _MULT_A = _U(0x43B0D7E5), _U(0x931E8875)
_INIT_B, _MULT_B = _U(0x8B51F9DD), _U(0x58F38DED)
_MIX_L, _MIX_R = _U(0xCA01F9DD), _U(0x4973F715)
_POOL = 4


def entropy_words(seed: int) -> Words:
    """Return the 32-bit words of ``seed``, padded as SeedSequence pads them before a spawn key."""
    words = [seed >> shift & 0xFFFFFFFF for shift in range(0, max(seed.bit_length(), 1), 32)]
    return np.array(words + [0] * (_POOL - len(words)), dtype=np.uint64)


@helper
def _scramble(value: np.uint64, constant: np.uint64) -> np.uint64:
    """One round of SeedSequence's hash; ``constant`` is already advanced by the caller."""
    value = (value * constant) & _LOW32
    return value ^ (value >> _16)


@helper
def seed_stream(words: Words, role: int, trial: int, stream: Words) -> None:
    """Seed ``stream`` as ``SFC64(SeedSequence(seed, spawn_key=(role, trial)))``, trial < 2**32."""
    pool = np.empty(_POOL, dtype=np.uint64)
    constant = _INIT_A
    for source in range(_POOL):
        mixed = words[source] ^ constant
        constant = (constant * _MULT_A) & _LOW32
        pool[source] = _scramble(mixed, constant)
    for source in range(words.size + 2):
        for target in range(_POOL):
            if source == target:
                continue
            if source < _POOL:
                word = pool[source]
            elif source < words.size:
                word = words[source]
            elif source == words.size:
                word = _U(role)
            else:
                word = _U(trial)
            mixed = word ^ constant
            constant = (constant * _MULT_A) & _LOW32
            mixed = (_MIX_L * pool[target] - _MIX_R * _scramble(mixed, constant)) & _LOW32
            pool[target] = mixed ^ (mixed >> _16)
    constant = _INIT_B
    for word in range(6):
        mixed = pool[word % _POOL] ^ constant
        constant = (constant * _MULT_B) & _LOW32
        half = _scramble(mixed, constant)
        if word % 2 == 0:
            stream[word // 2] = half
        else:
            stream[word // 2] |= half << _32
    stream[3] = _1
    for _ in range(12):
        draw_bits(stream)


@helper
def draw_index(stream: Words, n: int) -> int:
    """Draw an index below ``n``, all equally likely up to n / 2**53."""
    return min(truncated(draw_uniform(stream) * n), n - 1)


def draw_normals(stream: Words, out: Array) -> None:
    """Fill ``out`` (flat) with standard normals; the state stays in registers between rare rejections."""
    a, b, c, d = stream[0], stream[1], stream[2], stream[3]
    for i in range(out.size):
        bits = a + b + d
        d += _1
        a = b ^ (b >> _11)
        b = c + (c << _3)
        c = ((c << _24) | (c >> _40)) + bits
        layer = bits & LAYER
        size = (bits >> _9) & MANTISSA
        x = np.int64(size) * NORMAL_WIDTH[layer]
        if bits & SIGN:
            x = -x
        if size >= NORMAL_QUICK[layer]:
            stream[0], stream[1], stream[2], stream[3] = a, b, c, d
            x = settle_normal(stream, bits)
            a, b, c, d = stream[0], stream[1], stream[2], stream[3]
        out[i] = x
    stream[0], stream[1], stream[2], stream[3] = a, b, c, d


def _for_lanes(*_: Any) -> Callable[..., None]:
    from tracker.lane_streams import draw_normals_in_lanes

    return draw_normals_in_lanes


in_lanes(draw_normals, _for_lanes, inlined=False)


@kernel
def normals_by_trial(words: Words, role: int, trials: Integers, out: Array) -> None:
    """Fill row t of ``out`` (T, n) with the first normals of the stream (role, trials[t])."""
    stream = np.empty(4, dtype=np.uint64)
    for t in range(trials.size):
        seed_stream(words, role, trials[t], stream)
        draw_normals(stream, out[t])
