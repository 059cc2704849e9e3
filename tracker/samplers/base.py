"""The contract of a sampler: parameters, the state it carries, one step.

A sampler is a ``NamedTuple`` of parameters. What a trial carries from step to step lives in one flat buffer of floats;
``unpack`` gives it names (a ``NamedTuple`` of views), and the first N entries are always the output theta. So a trial
can be saved and restored by copying one row of numbers.

``step`` uses theta_k, the cost of mode x_k and the observation z_k, and leaves theta_{k+1}. All randomness is handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import generic, inlined
from tracker.costs.base import gradient
from tracker.keys import Bounds, InverseTemperature, Keys, Name, Number, Positive, Skew
from tracker.streams import draw_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Words = NDArray[np.uint64]

_ONE = np.uint64(1)


# Rows of a trial's streams (4, 4) that belong to the sampler; rows 0 and 1 are the observations and the injected noise.
PERTURBED, AHEAD = 2, 3


@generic
def state_size(sampler: Any, dimension: int) -> int:  # type: ignore[empty-body]
    """Return how many floats a trial carries."""


@generic
def unpack(sampler: Any, dimension: int, buffer: Array) -> Any:
    """Return named views into ``buffer`` (state_size,) that do not overlap; the first N entries are the output theta."""


@generic
def begin(sampler: Any, state: Any, start: Array, skew: Array) -> None:
    """Set the state at k = 0: theta = ``start`` (N,), S = ``skew`` (N, N) clipped into the bounds."""


@generic
def step(sampler: Any, state: Any, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    """Go from k to k + 1 under ``cost`` with observation ``z`` and standard normal noise ``w`` (N,)."""


@generic
def idle(sampler: Any, state: Any, cost: Any, k: int, streams: Words) -> None:
    """Consume the random numbers of a step during which no gradient arrives; nothing moves."""


@generic
def place(sampler: Any, state: Any, minimisers: Array) -> None:
    """Hand over the global minimisers (rows) of the current mode. Samplers ignore them; the oracle moves to one."""


@generic
def moves(sampler: Any) -> bool:  # type: ignore[empty-body]
    """Tell whether steps use gradients and noise at all."""


@generic
def skew_of(sampler: Any, state: Any, out: Array) -> None:
    """Write what moves beside theta to ``out``: S(i, j), i > j, in the order of ``skew.pairs``; sigma of ``tempered``."""


@generic
def resets_of(sampler: Any, state: Any) -> float:  # type: ignore[empty-body]
    """Return how often a guard has reset the state."""


@idle.register(object)
def _consume_nothing(sampler: Any, state: Any, cost: Any, k: int, streams: Words) -> None:
    return


@place.register(object)
def _does_not_listen(sampler: Any, state: Any, minimisers: Array) -> None:
    return


@moves.register(object)
def _moves(sampler: Any) -> bool:
    return True


@skew_of.register(object)
def _no_skew(sampler: Any, state: Any, out: Array) -> None:
    out.fill(0.0)


@resets_of.register(object)
def _no_resets(sampler: Any, state: Any) -> float:
    return 0.0


# --- shared algebra; S is stored whole, and every write goes to both triangles, so it is exactly skew


@inlined
def set_skew(S: Array, i: int, j: int, s: float, low: float, high: float) -> None:
    """Set S(i, j) = -S(j, i) = s, i > j, projected onto [low, high]."""
    s = min(max(s, low), high)
    S[i, j] = s
    S[j, i] = -s


@inlined
def start_skew(S: Array, skew: Array, low: float, high: float) -> None:
    """Set S to ``skew`` projected onto the bounds."""
    for i in range(S.shape[0]):
        S[i, i] = 0.0
        for j in range(i):
            set_skew(S, i, j, skew[i, j], low, high)


@inlined
def write_pairs(S: Array, out: Array) -> None:
    """Write the lower triangle of S to ``out`` (pairs,), row by row."""
    p = 0
    for i in range(S.shape[0]):
        for j in range(i):
            out[p] = S[i, j]
            p += 1


@inlined
def langevin_move(theta: Array, S: Array, g: Array, w: Array, epsilon: float, noise: float) -> None:
    """Set theta to theta - epsilon (I + S) g + noise w."""
    for d in range(theta.size):
        drift = g[d]
        for e in range(theta.size):
            drift += S[d, e] * g[e]
        theta[d] = theta[d] + noise * w[d] - epsilon * drift


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
            sign = 1.0 if bits & _ONE else -1.0
            bits >>= _ONE
            left -= 1
            Delta[i, j] = sign
            Delta[j, i] = -sign


# --- what a scenario file says of a sampler


class Evaluations(NamedTuple):
    """How often a step asks the cost for each."""

    gradient: int
    cost: int = 0
    hessian: int = 0


class SamplerKeys(Keys):
    """The keys that every [[samplers]] table has."""

    name: Name
    kind: str
    epsilon: Positive
    beta: InverseTemperature = 1.0

    @property
    def noise(self) -> float:
        """The standard deviation sqrt(2 epsilon / beta) of the injected noise."""
        return float(np.sqrt(2.0 * self.epsilon / self.beta))

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=1)

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        raise TypeError("a kind of sampler builds its parameters")


class SkewKeys(SamplerKeys):
    """Samplers with a skew matrix: ``skew`` is a matrix, a number (N = 2), ``"random"`` or ``"optimal"``."""

    skew: Skew


class MovingSkewKeys(SkewKeys):
    """Samplers whose S moves: ``skew_step``, and the bounds ``skew_bounds = [lo, hi]`` of each S(i, j), i > j."""

    skew_step: Number
    skew_bounds: Bounds


def moving_skew(keys: MovingSkewKeys) -> dict[str, float]:
    """Return the parameters that all samplers with a moving S share."""
    low, high = keys.skew_bounds
    return {"epsilon": keys.epsilon, "noise": keys.noise, "skew_step": keys.skew_step, "low": low, "high": high}
