"""Run a coarse and a fine path of each trial side by side, in compiled code (docs/mathematics, "Coupling").

Both are told their visits as (mode, end), with ends in steps of their own: whole numbers for the sampler, any for the
limit, whose drift in a cell is weighted by the time that the continuous chain spends there in each mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import borrow, generic, helper, kernel, literal_unroll
from tracker.costs.base import expected_gradient, hessian, observation_size

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers


class Path(NamedTuple):
    """All trials at one step size.

    theta (trials, N); S (trials, N, N); D (trials, pairs, N), without pairs where S stands still
    modes, ends : (trials, visits), and ``visit`` (trials,), which of them is now
    factors : (X, N, rank), of the gradient noise; rank 0 without
    """

    theta: Array
    S: Array
    D: Array
    visit: Integers
    modes: Integers
    ends: Array
    factors: Array
    epsilon: float


class Slope(NamedTuple):
    """Sums over the visits of a step, and what one mode adds: gradients (N,) and Hessians (N, N)."""

    g: Array
    h: Array
    one: Array
    bend: Array


class FixedSkew(NamedTuple):
    """S stands still; nothing is multiplied where it is 0."""

    is_zero: bool


class Adaptation(NamedTuple):
    """How S moves in Algorithm 1: kappa = skew_step / epsilon, and the bounds of S(i, j), i > j."""

    kappa: float
    low: float
    high: float


@generic
def add_slope(rule: Any, costs: Any, mode: int, weight: float, theta: Array, slope: Slope) -> None:
    """Add the weighted gradient of a mode, and its Hessian where ``rule`` needs it."""


@generic
def turn(rule: Any, path: Path, t: int, slope: Slope) -> None:
    """Write (I + S) g to ``slope.one``, and move D and S one step on."""


@helper
def _add_gradient(costs: Any, mode: int, weight: float, theta: Array, slope: Slope) -> None:
    costs, theta, slope, i = borrow(costs), borrow(theta), borrow(slope), 0
    for cost in literal_unroll(costs):
        if i == mode:
            expected_gradient(borrow(cost), theta, slope.one)
        i += 1  # noqa: SIM113  (no enumerate over costs of different types)
    for d in range(theta.size):
        slope.g[d] += weight * slope.one[d]


@helper
def _add_hessian(costs: Any, mode: int, weight: float, theta: Array, slope: Slope) -> None:
    costs, theta, slope, i = borrow(costs), borrow(theta), borrow(slope), 0
    for cost in literal_unroll(costs):
        if i == mode:
            hessian(borrow(cost), theta, np.zeros(max(1, observation_size(cost))), slope.bend)
        i += 1  # noqa: SIM113  (no enumerate over costs of different types)
    for d in range(theta.size):
        for e in range(slope.h.shape[1]):
            slope.h[d, e] += weight * slope.bend[d, e]


@helper
def _turn_gradient(S: Array, slope: Slope) -> None:
    for d in range(slope.g.size):
        drift = slope.g[d]
        for e in range(slope.g.size):
            drift += S[d, e] * slope.g[e]
        slope.one[d] = drift


@add_slope.register(FixedSkew)
def _add_slope_fixed(rule: Any, costs: Any, mode: int, weight: float, theta: Array, slope: Slope) -> None:
    _add_gradient(costs, mode, weight, theta, slope)


@turn.register(FixedSkew)
def _turn_fixed(rule: Any, path: Path, t: int, slope: Slope) -> None:
    if rule.is_zero:
        for d in range(slope.g.size):
            slope.one[d] = slope.g[d]
    else:
        _turn_gradient(path.S[t], slope)


@add_slope.register(Adaptation)
def _add_slope_moving(rule: Any, costs: Any, mode: int, weight: float, theta: Array, slope: Slope) -> None:
    _add_gradient(costs, mode, weight, theta, slope)
    _add_hessian(costs, mode, weight, theta, slope)


@turn.register(Adaptation)
def _turn_moving(rule: Any, path: Path, t: int, slope: Slope) -> None:
    """D' = D - epsilon ((I + S) H D + E g), S(i, j)' = S(i, j) - kappa epsilon g'D, clipped."""
    S, g, h, N = path.S[t], slope.g, slope.h, slope.g.size
    _turn_gradient(S, slope)
    pair = 0
    gD = slope.bend[0]  # what a mode has added is no longer needed
    moved = np.empty((N * (N - 1) // 2, N))
    for i in range(N):
        for _ in range(i):
            D = path.D[t, pair]
            for d in range(N):
                gD[d] = 0.0
                for e in range(N):
                    gD[d] += h[d, e] * D[e]
            for d in range(N):
                bent = gD[d]
                for e in range(N):
                    bent += S[d, e] * gD[e]
                moved[pair, d] = D[d] - path.epsilon * bent
            pair += 1
    pair = 0
    for i in range(N):
        for j in range(i):
            D = path.D[t, pair]
            along = 0.0
            for d in range(N):
                along += g[d] * D[d]
                D[d] = moved[pair, d]
            D[i] -= path.epsilon * g[j]
            D[j] += path.epsilon * g[i]
            s = min(max(S[i, j] - rule.kappa * path.epsilon * along, rule.low), rule.high)
            S[i, j], S[j, i] = s, -s
            pair += 1


@helper
def step(rule: Any, costs: Any, path: Path, t: int, k: int, brownian: Array, z: Array, slope: Slope) -> None:
    """Go from step k to k + 1 of trial t; brownian (N,) : increment of sqrt(2 / beta) W; z (>= rank,) : standard normals."""
    costs, path, slope, brownian, z = borrow(costs), borrow(path), borrow(slope), borrow(brownian), borrow(z)
    theta, modes, ends = borrow(path.theta[t]), borrow(path.modes[t]), borrow(path.ends[t])
    for d in range(theta.size):
        slope.g[d] = 0.0
        for e in range(slope.h.shape[1]):
            slope.h[d, e] = 0.0
    visit = path.visit[t]
    start, stop = float(k), k + 1.0
    while True:
        until = min(ends[visit], stop)
        if until > start:
            add_slope(rule, costs, modes[visit], until - start, theta, slope)
            start = until
        if until >= stop:
            break
        visit += 1
    for d in range(theta.size):
        for c in range(path.factors.shape[2]):
            slope.g[d] += path.factors[modes[visit], d, c] * z[c]
    turn(rule, path, t, slope)
    for d in range(theta.size):
        theta[d] += brownian[d] - path.epsilon * slope.one[d]
    while ends[visit] <= stop:
        visit += 1
    path.visit[t] = visit


@kernel
def run_pair(
    rule: Any, costs: Any, coarse: Path, fine: Path, first: int, w: Array, z: Array, scale: float, farthest: Array
) -> None:
    """Take the coarse steps ``first``, ``first`` + 1, ... of all trials, and the fine steps in them.

    w (trials, steps, m, N) : standard normals, ``scale`` times which are the fine increments, and their sums the coarse ones
    z (trials, steps, parts, N) : likewise of the gradient noise; parts is m, or 1 where only the coarse path has noise
    farthest (trials,) : the largest distance of the two paths so far
    """
    N, m, parts = w.shape[3], w.shape[2], z.shape[2]
    room = np.empty((4, N))
    h, bend = np.zeros((N, N if coarse.D.shape[1] else 0)), np.empty((N, N))
    slope = Slope(borrow(room[0]), borrow(h), borrow(room[1]), borrow(bend))
    brownian, noise = borrow(room[2]), borrow(room[3])
    costs, coarse, fine, w, z = borrow(costs), borrow(coarse), borrow(fine), borrow(w), borrow(z)
    root = np.sqrt(max(1, parts))
    for t in range(w.shape[0]):
        for j in range(w.shape[1]):
            for d in range(N):
                brownian[d] = 0.0
                for p in range(m):
                    w[t, j, p, d] *= scale
                    brownian[d] += w[t, j, p, d]
                noise[d] = 0.0
                for p in range(parts):
                    noise[d] += z[t, j, p, d]
                noise[d] /= root
            step(rule, costs, coarse, t, first + j, brownian, noise, slope)
            for p in range(m):
                own = z[t, j, p] if parts == m else noise  # not looked at by a path without noise
                step(rule, costs, fine, t, (first + j) * m + p, w[t, j, p], own, slope)
            square = 0.0
            for d in range(N):
                square += (coarse.theta[t, d] - fine.theta[t, d]) ** 2
            distance = np.sqrt(square)
            if not distance <= farthest[t]:  # also of what is not a number
                farthest[t] = distance
    room[0, 0], bend[0, 0] = h.size, 0.0  # the owners of what is borrowed live to here
