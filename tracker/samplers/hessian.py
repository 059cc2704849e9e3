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
from pydantic import Field

from tracker.compiled import any_of, helper, in_lanes, inlined, where
from tracker.costs.base import gradient, hessian
from tracker.keys import Positive
from tracker.samplers.base import Evaluations, MovingSkewKeys, langevin_move, reset_where, sampler
from tracker.samplers.state import SKEW, carried, scratch, set_skew

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

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
    """The triple (theta, S, D), how often D was reset, and what a step needs in between."""

    theta: Array = carried("N")
    S: Array = carried("N", "N", start="skew", recorded=SKEW)
    D: Array = carried("N", "pairs")
    resets: Array = carried(1)
    g: Array = scratch("N")
    h: Array = scratch("N", "N")
    A: Array = scratch("N + 1", "N")
    AD: Array = scratch("N + 1", "pairs")


@helper
def multiply_plainly(A: Array, D: Array, out: Array) -> None:
    """Set ``out`` to A D, one sum after the other."""
    for r in range(A.shape[0]):
        for p in range(D.shape[1]):
            total = 0.0
            for c in range(A.shape[1]):
                total += A[r, c] * D[c, p]
            out[r, p] = total


def multiply(A: Array, D: Array, out: Array) -> None:
    """Set ``out`` to A D."""
    if A.size * D.shape[1] > SMALL_PRODUCT:
        np.dot(A, D, out)
    else:
        multiply_plainly(A, D, out)


in_lanes(multiply, lambda *_: multiply_plainly, inlined=False)  # so few numbers side by side: see ``side_by_side``


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


@sampler(Hessian, State)
def _step(sampler: Hessian, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, S, D, g, AD = state.theta, state.S, state.D, state.g, state.AD
    epsilon = sampler.epsilon
    N = theta.size
    gradient(cost, theta, z, g)
    hessian(cost, theta, z, state.h)
    stack(S, state.h, g, state.A)
    multiply(state.A, D, AD)
    langevin_move(theta, S, g, w, epsilon, sampler.noise)
    wild = 0.0  # how many entries of D are beyond the limit
    p = 0
    for i in range(N):
        for j in range(i):
            set_skew(S, i, j, S[i, j] - sampler.skew_step * AD[N, p], sampler.low, sampler.high)
            for d in range(N):
                D[d, p] -= epsilon * AD[d, p]
            D[i, p] -= epsilon * g[j]
            D[j, p] += epsilon * g[i]
            for d in range(N):
                wild += where(abs(D[d, p]) <= sampler.tangent_limit, 0.0, 1.0)  # 1 for nan
            p += 1
    if any_of(wild > 0.0):
        reset_where(wild > 0.0, D, state.resets)


class HessianKeys(MovingSkewKeys):
    """Algorithm 1: S follows the derivative process, which needs Hessians; a negative ``skew_step`` is the ascent control."""

    kind: Literal["hessian"]
    also_called = ("algorithm-1",)
    parameters = Hessian
    tangent = True
    tangent_limit: Positive = Field(default=1e6, description="beyond max|D| > tangent_limit D is reset to 0")

    def side_by_side(self, N: int) -> bool:
        """Where products go by plain loops, which round alike for one trial and for several."""
        return (N + 1) * N * (N * (N - 1) // 2) <= SMALL_PRODUCT

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=1, hessian=1)
