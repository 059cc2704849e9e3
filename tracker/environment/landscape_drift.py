"""The motion d_k of all landscapes together: a random walk of each trial's own, a sinusoid or a ramp; d_0 = 0.

A random walk takes, at each step k, as many normals n of the trial's stream ``DRIFT`` as its factor F has columns:
d_{k+1} = d_k + F n (docs/architecture, "Random streams").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.compiled import kernel
from tracker.streams import DRIFT, draw_normals, entropy_words, seed_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Integers, Words

RECORDING_FLOATS = 2**20  # of a block while records are made


class DriftLaw(NamedTuple):
    """d_k = a random walk with steps F n, plus amplitude (sin(frequency k + phase) - sin(phase)), plus k velocity.

    factor (N, rank), amplitude (N,), velocity (N,)
    """

    factor: Array
    amplitude: Array
    frequency: float
    phase: float
    velocity: Array


@kernel
def begin_walks(entropy: Words, trials: Integers, streams: Words) -> None:
    """Seed ``streams`` (T, 4)."""
    for t in range(trials.size):
        seed_stream(entropy, DRIFT, trials[t], streams[t])


@kernel
def go_on(factor: Array, streams: Words, walked: Array, out: Array) -> None:
    """Write the walk of n steps from ``walked`` (T, N) on to ``out`` (T, n + 1, N); ``walked`` is then where it ends."""
    N, rank = factor.shape
    n = np.empty(rank)
    for t in range(walked.shape[0]):
        for d in range(N):
            out[t, 0, d] = walked[t, d]
        for k in range(1, out.shape[1]):
            draw_normals(streams[t], n)
            for d in range(N):
                step = 0.0
                for c in range(rank):
                    step += factor[d, c] * n[c]
                out[t, k, d] = out[t, k - 1, d] + step
        for d in range(N):
            walked[t, d] = out[t, out.shape[1] - 1, d]


class LandscapeDrift:
    """The drift of some trials, block by block."""

    def __init__(self, law: DriftLaw, seed: int, trials: Sequence[int]) -> None:
        self._law, self._at = law, 0
        self._walked = np.zeros((len(trials), len(law.velocity)))
        self._streams = np.zeros((len(trials), 4), dtype=np.uint64)
        begin_walks(entropy_words(seed), np.array(trials, dtype=np.int64), self._streams)

    def advance(self, stop: int) -> Array:
        """Go on to step ``stop`` and give d at the steps since the last one, both ends included, shape (T, n + 1, N)."""
        law = self._law
        out = np.zeros((len(self._walked), stop - self._at + 1, len(law.velocity)))
        if law.factor.shape[1]:
            go_on(law.factor, self._streams, self._walked, out)
        k = np.arange(self._at, stop + 1)[:, np.newaxis]
        if law.velocity.any():
            out += k * law.velocity
        if law.amplitude.any():
            out += law.amplitude * (np.sin(law.frequency * k + law.phase) - np.sin(law.phase))
        self._at = stop
        return out


def recorded_shifts(law: DriftLaw, seed: int, trials: Sequence[int], steps: int, every: int) -> Array:
    """Return d at steps 0, ``every``, 2 ``every``, ..., up to ``steps``, shape (T, records, N)."""
    drift, N, at = LandscapeDrift(law, seed, trials), len(law.velocity), 0
    out = np.zeros((len(trials), steps // every + 1, N))
    length = max(1, RECORDING_FLOATS // (max(1, len(trials)) * N))
    while at < steps:
        stop = min(at + length, steps)
        found = drift.advance(stop)
        first = -(-at // every)
        out[:, first : stop // every + 1] = found[:, first * every - at :: every]
        at = stop
    return out
