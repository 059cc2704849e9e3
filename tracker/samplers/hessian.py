"""Algorithm 1: S follows the derivative process D = d theta / d S, which needs Hessians.

Notes
-----
With g = grad c(theta_k, z_k), h = Hess c(theta_k, z_k), E_ij = e_i e_j' - e_j e_i', all right-hand sides at index k
(equation (6) of the paper, corrected: docs/mathematics, "Corrected equations"):

    theta_{k+1}   = theta_k - epsilon (I + S_k) g + sqrt(2 epsilon / beta) w_k
    D^ij_{k+1}    = D^ij_k - epsilon (I + S_k) h D^ij_k - epsilon E_ij g
    S_{k+1}(i, j) = Proj[ S_k(i, j) - skew_step g'D^ij_k ],  i > j

D can explode where theta does not (docs/findings, "Failure modes"): beyond max |D| > tangent_limit it is reset to 0 and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tracker.compiled import copy, helper, inlined
from tracker.costs.base import gradient, hessian
from tracker.keys import Positive
from tracker.samplers.base import (
    Evaluations,
    MovingSkewKeys,
    begin,
    langevin_move,
    moving_skew,
    resets_of,
    set_skew,
    skew_of,
    start_skew,
    state_size,
    step,
    unpack,
    write_pairs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Words = NDArray[np.uint64]

SMALL_PRODUCT = 500  # multiplications up to which plain loops beat a call to BLAS


class Hessian(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float
    skew_step: float
    low: float
    high: float
    tangent_limit: float


class State(NamedTuple):
    """theta (N,), S (N, N), D (N, pairs), resets (1,); g, h, A and AD are scratch."""

    theta: Array
    S: Array
    D: Array
    resets: Array
    g: Array
    h: Array
    A: Array
    AD: Array


@state_size.register(Hessian)
def _state_size(sampler: Hessian, dimension: int) -> int:
    N, pairs = dimension, dimension * (dimension - 1) // 2
    return 2 * N + 2 * N * N + (N + 1) * N + (2 * N + 1) * pairs + 1


@unpack.register(Hessian)
def _unpack(sampler: Hessian, dimension: int, buffer: Array) -> State:
    N, pairs = dimension, dimension * (dimension - 1) // 2
    s = 2 * N
    h = s + N * N
    a = h + N * N
    d = a + (N + 1) * N
    ad = d + N * pairs
    r = ad + (N + 1) * pairs
    return State(
        buffer[:N],
        buffer[s:h].reshape((N, N)),
        buffer[d:ad].reshape((N, pairs)),
        buffer[r : r + 1],
        buffer[N:s],
        buffer[h:a].reshape((N, N)),
        buffer[a:d].reshape((N + 1, N)),
        buffer[ad:r].reshape((N + 1, pairs)),
    )


@begin.register(Hessian)
def _begin(sampler: Hessian, state: State, start: Array, skew: Array) -> None:
    copy(start, state.theta)
    start_skew(state.S, skew, sampler.low, sampler.high)
    state.D.fill(0.0)
    state.resets[0] = 0.0


@helper
def multiply(A: Array, D: Array, out: Array) -> None:
    """Set ``out`` to A D."""
    if A.size * D.shape[1] > SMALL_PRODUCT:
        np.dot(A, D, out)
        return
    for r in range(A.shape[0]):
        for p in range(D.shape[1]):
            total = 0.0
            for c in range(A.shape[1]):
                total += A[r, c] * D[c, p]
            out[r, p] = total


@inlined
def stack(S: Array, h: Array, g: Array, A: Array) -> None:
    """Set A (N + 1, N) to (I + S) h above the row g', so that one product gives both (I + S) h D and g'D."""
    N = g.size
    for r in range(N):
        for c in range(N):
            total = h[r, c]
            for d in range(N):
                total += S[r, d] * h[d, c]
            A[r, c] = total
        A[N, r] = g[r]


@step.register(Hessian)
def _step(sampler: Hessian, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, S, D, g, AD = state.theta, state.S, state.D, state.g, state.AD
    epsilon = sampler.epsilon
    N = theta.size
    gradient(cost, theta, z, g)
    hessian(cost, theta, z, state.h)
    stack(S, state.h, g, state.A)
    multiply(state.A, D, AD)
    langevin_move(theta, S, g, w, epsilon, sampler.noise)
    tame = True
    p = 0
    for i in range(N):
        for j in range(i):
            set_skew(S, i, j, S[i, j] - sampler.skew_step * AD[N, p], sampler.low, sampler.high)
            for d in range(N):
                D[d, p] -= epsilon * AD[d, p]
            D[i, p] -= epsilon * g[j]
            D[j, p] += epsilon * g[i]
            for d in range(N):
                tame = tame and abs(D[d, p]) <= sampler.tangent_limit  # False for nan
            p += 1
    if not tame:
        D.fill(0.0)
        state.resets[0] += 1.0


@skew_of.register(Hessian)
def _skew_of(sampler: Hessian, state: State, out: Array) -> None:
    write_pairs(state.S, out)


@resets_of.register(Hessian)
def _resets_of(sampler: Hessian, state: State) -> float:
    return state.resets[0]


class HessianKeys(MovingSkewKeys):
    """Algorithm 1: S follows the derivative process, which needs Hessians; a negative ``skew_step`` is the ascent control."""

    kind: Literal["hessian"]
    tangent_limit: Positive = 1e6

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=1, hessian=1)

    def build(self) -> Hessian:
        """Return the parameters for the kernels."""
        return Hessian(**moving_skew(self), tangent_limit=self.tangent_limit)
