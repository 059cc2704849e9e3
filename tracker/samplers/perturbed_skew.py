"""What Algorithms 2 and 3 share: a pair of points under S + mu Delta and S - mu Delta, and the descent of S from their costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import inlined, where
from tracker.costs.base import gradient
from tracker.samplers.base import langevin_move
from tracker.samplers.state import set_skew
from tracker.streams import draw_bits

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

_ONE = np.uint64(1)


@inlined
def langevin_pair(plus: Array, minus: Array, state: Any, cost: Any, z: Array, w: Array, sampler: Any) -> None:
    """Move theta+ and theta- with the same z and w under S + mu Delta and S - mu Delta."""
    S, Delta, M, g = state.S, state.Delta, state.M, state.g
    mu = sampler.perturbation
    for d in range(plus.size):
        for e in range(plus.size):
            M[d, e] = S[d, e] + mu * Delta[d, e]
    gradient(cost, plus, z, g)
    langevin_move(plus, M, g, w, sampler.epsilon, sampler.noise)
    for d in range(plus.size):
        for e in range(plus.size):
            M[d, e] = S[d, e] - mu * Delta[d, e]
    gradient(cost, minus, z, g)
    langevin_move(minus, M, g, w, sampler.epsilon, sampler.noise)


@inlined
def descend_skew(S: Array, Delta: Array, difference: float, sampler: Any) -> None:
    """Set S(i, j) to S(i, j) - skew_step difference / (2 mu Delta(i, j)), i > j, projected."""
    quotient = sampler.skew_step * difference / (2.0 * sampler.perturbation)
    for i in range(S.shape[0]):
        for j in range(i):
            # Delta is +1 or -1: dividing by it is multiplying by it
            set_skew(S, i, j, S[i, j] - quotient * Delta[i, j], sampler.low, sampler.high)


@inlined
def draw_perturbation(stream: Words, Delta: Array) -> None:
    """Fill Delta (N, N), skew, with independent signs below the diagonal, row by row, 64 from each draw of bits."""
    bits, left = _ONE, 0
    for i in range(Delta.shape[0]):
        for j in range(i):
            if left == 0:
                bits, left = draw_bits(stream), 64
            sign = where((bits & _ONE) == _ONE, 1.0, -1.0)
            bits >>= _ONE
            left -= 1
            Delta[i, j] = sign
            Delta[j, i] = -sign
