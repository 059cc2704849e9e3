"""Simulate paths of one sampler at two step sizes that share their randomness (docs/mathematics, "Coupling").

The Brownian increment of a coarse step is the sum of those of the fine steps in it; so is, with its own scale, the gradient
noise. The limit is run on fine cells, with the drift weighted by the time that the continuous chain spends in each mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.chain import dwell, embedded_law, next_mode
from tracker.compiled import kernel
from tracker.costs.base import hessian, observation_size
from tracker.skew import pairs

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.limits.drift_field import Field


FOREVER = 2**40  # steps of a visit that outlasts every horizon; sums of them stay whole numbers


@kernel
def cost_hessians(cost: Any, points: Array, out: Array) -> None:
    """Write Hess c(., 0) at the rows of ``points`` (n, N) to ``out`` (n, N, N)."""
    z = np.zeros(max(1, observation_size(cost)))
    for k in range(points.shape[0]):
        hessian(cost, points[k], z, out[k])


@dataclass(frozen=True)
class Adaptation:
    """How S moves in Algorithm 1: kappa = skew_step / epsilon, and the bounds of S(i, j), i > j."""

    kappa: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Visits:
    """modes, exponentials : ndarrays, shape (trials, visits)."""

    modes: Integers
    exponentials: Array


def stops(field: Field, visits: Visits, alpha: float) -> Integers:
    """The step before which each visit ends, shape (trials, visits)."""
    a = np.minimum(alpha * np.abs(np.diag(field.Q)), 1.0)
    steps = np.minimum(dwell(visits.exponentials, a[visits.modes]), FOREVER)
    return np.cumsum(steps, axis=1)


def end_times(field: Field, visits: Visits) -> Array:
    """The time at which the continuous chain ends each visit, shape (trials, visits)."""
    rates = np.abs(np.diag(field.generator))  # not minus: 1 / -0.0 would end a visit for ever before it began
    with np.errstate(divide="ignore"):
        return np.cumsum(visits.exponentials / rates[visits.modes], axis=1)


def draw_visits(field: Field, trials: int, horizon: float, coarsest: float, rng: np.random.Generator) -> Visits:
    """Draw as many visits as the horizon needs, at every step size alpha between 0 and ``coarsest``.

    In time a visit lasts at least E / -log1p(-a) steps at alpha = ``coarsest``, before rounding up: -log1p(-a) / a grows
    with a, so every finer step, and the continuous chain, stays longer.
    """
    cumulative = np.cumsum(embedded_law(field.Q), axis=1)
    x = next_mode(rng.random(trials), np.broadcast_to(np.cumsum(field.initial), (trials, len(field.initial))))
    modes, exponentials = [x], [rng.standard_exponential(trials)]
    step = coarsest / (field.alpha / field.epsilon)  # of time
    a = np.minimum(coarsest * np.abs(np.diag(field.Q)), 1.0 - 1e-12)
    with np.errstate(divide="ignore"):
        longest = step / -np.log1p(-a)
    while True:
        visits = Visits(np.column_stack(modes), np.column_stack(exponentials))
        if np.all((visits.exponentials * longest[visits.modes]).sum(axis=1) > horizon + step):
            return visits
        for _ in range(max(1, len(modes) // 2)):
            following = next_mode(rng.random(trials), cumulative[modes[-1]])
            modes.append(np.where(following < 0, modes[-1], following))
            exponentials.append(rng.standard_exponential(trials))


class Paths:
    """All trials of one sampler at n steps per unit of time."""

    def __init__(self, field: Field, adaptation: Adaptation | None, n: float, visits: Visits, theta: Array) -> None:
        N = theta.shape[1]
        self.field, self.adaptation, self.epsilon = field, adaptation, 1.0 / n
        self.theta = theta.copy()
        self.visit = np.zeros(len(theta), dtype=np.int64)
        self.rows = np.arange(len(theta))
        self.modes = visits.modes
        self.S = np.broadcast_to(field.M - np.eye(N), (len(theta), N, N)).copy()
        self.pairs = pairs(N)
        self.D = np.zeros((len(theta), len(self.pairs), N))

    @property
    def mode(self) -> Integers:
        """The mode of each trial now."""
        return self.modes[self.rows, self.visit]

    def add_gradient(self, mode: int, rows: Integers, weight: Array, g: Array, h: Array | None) -> None:
        """Add the weighted gradient (and Hessian) of a mode to the rows of ``g`` (trials, N) and ``h``."""
        at = self.theta[rows]
        g[rows] += weight[:, None] * self.field.gradients(mode, at)
        if h is not None:
            out = np.empty((len(rows), at.shape[1], at.shape[1]))
            cost_hessians(self.field.costs[mode], np.ascontiguousarray(at), out)
            h[rows] += weight[:, None, None] * out

    def move(self, g: Array, h: Array | None, brownian: Array) -> None:
        """theta, D and S one step on; brownian : increments of sqrt(2 / beta) W, shape (trials, N)."""
        drift = g + np.einsum("kab,kb->ka", self.S, g)
        if h is not None and self.adaptation is not None:
            gD = np.einsum("ka,kpa->kp", g, self.D)
            hD = np.einsum("kab,kpb->kpa", h, self.D)
            self.D -= self.epsilon * (hD + np.einsum("kab,kpb->kpa", self.S, hD))
            for p, (i, j) in enumerate(self.pairs):
                self.D[:, p, i] -= self.epsilon * g[:, j]
                self.D[:, p, j] += self.epsilon * g[:, i]
                s = self.S[:, i, j] - self.adaptation.kappa * self.epsilon * gD[:, p]
                self.S[:, i, j] = np.clip(s, self.adaptation.low, self.adaptation.high)
                self.S[:, j, i] = -self.S[:, i, j]
        self.theta += brownian - self.epsilon * drift

    def blank(self) -> tuple[Array, Array | None]:
        """Zeros for a gradient, and for a Hessian where one is needed."""
        N = self.theta.shape[1]
        h = np.zeros((len(self.theta), N, N)) if self.adaptation is not None else None
        return np.zeros_like(self.theta), h


class SamplerPaths(Paths):
    """The sampler itself: x_{k+1} after theta_{k+1}."""

    def __init__(self, field: Field, adaptation: Adaptation | None, n: float, visits: Visits, theta: Array) -> None:
        super().__init__(field, adaptation, n, visits, theta)
        self.stops = stops(field, visits, field.alpha / field.epsilon / n)
        self.k = 0

    def step(self, brownian: Array, z: Array | None, factors: list[Array]) -> None:
        """One step; z : standard normals for the gradient noise, shape (trials, N), or None."""
        x = self.mode
        g, h = self.blank()
        for i in range(len(self.field.costs)):
            rows = np.flatnonzero(x == i)
            if len(rows):
                self.add_gradient(i, rows, np.ones(len(rows)), g, h)
                if z is not None and factors[i].shape[1]:
                    g[rows] += z[rows, : factors[i].shape[1]] @ factors[i].T
        self.move(g, h, brownian)
        self.k += 1
        self.visit += self.stops[self.rows, self.visit] <= self.k


class LimitPaths(Paths):
    """The switched diffusion on fine cells, without gradient noise."""

    def __init__(self, field: Field, adaptation: Adaptation | None, n: float, visits: Visits, theta: Array) -> None:
        super().__init__(field, adaptation, n, visits, theta)
        self.ends = end_times(field, visits)
        self.k = 0

    def step(self, brownian: Array, z: Array | None, factors: list[Array]) -> None:  # noqa: ARG002
        """One cell; z and factors are not used."""
        now, stop = self.k * self.epsilon, (self.k + 1) * self.epsilon
        g, h = self.blank()
        rows = self.rows
        start = np.full(len(rows), now)
        while len(rows):
            until = np.minimum(self.ends[rows, self.visit[rows]], stop)
            weight = (until - start) / self.epsilon
            x = self.modes[rows, self.visit[rows]]
            for i in range(len(self.field.costs)):
                chosen = np.flatnonzero(x == i)
                if len(chosen):
                    self.add_gradient(i, rows[chosen], weight[chosen], g, h)
            left = until < stop
            rows, start = rows[left], until[left]
            self.visit[rows] += 1
        self.move(g, h, brownian)
        self.k += 1
