"""Random streams: SFC64 seeded by (seed, role, trial), bit for bit numpy's.

``Generator(SFC64(SeedSequence(seed, spawn_key=(role, trial))))`` gives the same numbers; here they are drawn, and the
streams are seeded, inside compiled code. A stream is a uint64 array of shape (4,). A stream is addressed by index, never
by the order of spawning, so that a trial does not depend on its neighbours, workers or shards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.compiled import helper, kernel
from tracker.ziggurat import NORMAL_HEIGHT, NORMAL_QUICK, NORMAL_TAIL, NORMAL_TAIL_INVERSE, NORMAL_WIDTH

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers, Words


# The roles are published: scripts may rebuild any stream with numpy alone.
CHAIN, OBSERVATIONS, NOISE, PERTURBATIONS, SKEW, START, INNER, DRIFT = range(8)

_U = np.uint64
_LOW32 = _U(0xFFFFFFFF)
_16, _32 = _U(16), _U(32)
_1, _3, _8, _9, _11, _24, _40 = _U(1), _U(3), _U(8), _U(9), _U(11), _U(24), _U(40)
_LAYER, _SIGN, _MANTISSA = _U(0xFF), _U(0x100), _U(0xFFFFFFFFFFFFF)
_UNIT = 1.0 / 9007199254740992.0

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
def draw_index(stream: Words, n: int) -> int:
    """Draw an index below ``n``, all equally likely up to n / 2**53."""
    return min(int(draw_uniform(stream) * n), n - 1)


@helper
def _settle_normal(stream: Words, bits: np.uint64) -> float:
    """Finish a normal draw whose first 64 ``bits`` fell outside the ziggurat's quick region (1 in 100)."""
    while True:
        layer = bits & _LAYER
        size = (bits >> _9) & _MANTISSA
        x = np.int64(size) * NORMAL_WIDTH[layer]
        if bits & _SIGN:
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


@helper
def draw_normals(stream: Words, out: Array) -> None:
    """Fill ``out`` (flat) with standard normals; the state stays in registers between rare rejections."""
    a, b, c, d = stream[0], stream[1], stream[2], stream[3]
    for i in range(out.size):
        bits = a + b + d
        d += _1
        a = b ^ (b >> _11)
        b = c + (c << _3)
        c = ((c << _24) | (c >> _40)) + bits
        layer = bits & _LAYER
        size = (bits >> _9) & _MANTISSA
        x = np.int64(size) * NORMAL_WIDTH[layer]
        if bits & _SIGN:
            x = -x
        if size >= NORMAL_QUICK[layer]:
            stream[0], stream[1], stream[2], stream[3] = a, b, c, d
            x = _settle_normal(stream, bits)
            a, b, c, d = stream[0], stream[1], stream[2], stream[3]
        out[i] = x
    stream[0], stream[1], stream[2], stream[3] = a, b, c, d


@kernel
def normals_by_trial(words: Words, role: int, trials: Integers, out: Array) -> None:
    """Fill row t of ``out`` (T, n) with the first normals of the stream (role, trials[t])."""
    stream = np.empty(4, dtype=np.uint64)
    for t in range(trials.size):
        seed_stream(words, role, trials[t], stream)
        draw_normals(stream, out[t])
