"""The paper's corrected equations (docs/mathematics, "Samplers"), transcribed slowly and once more.

One trial at a time, matrices written out, numpy's own generators. Nothing here is imported from ``tracker``: the
compiled loop is tested against this file. A trial is given its modes x_0, ..., x_K and the steps without gradients.
"""

# ruff: noqa: ARG002, ARG005, N802 - all samplers and costs take the same arguments; E and Delta are the paper's

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OBSERVATIONS, NOISE, PERTURBATIONS, SKEW, START, INNER = 1, 2, 3, 4, 5, 6
RUNAWAY = 1e20  # a default that no test but those about running away comes near


def stream(seed: int, role: int, trial: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(role, trial))))


# --- costs: c(theta, z), its derivatives, its observations, and the distance to a minimiser


@dataclass
class Smooth:
    """C given by three functions of theta, and z'theta with z = factor n, n standard normal."""

    C: Callable[[np.ndarray], float]
    slope: Callable[[np.ndarray], np.ndarray]
    curvature: Callable[[np.ndarray], np.ndarray]
    factor: np.ndarray
    minimisers: np.ndarray
    radius: float

    def observe(self, rng: np.random.Generator, k: int) -> np.ndarray:
        return self.factor @ rng.standard_normal(self.factor.shape[1])

    def value(self, theta: np.ndarray, z: np.ndarray) -> float:
        return self.C(theta) + z @ theta

    def gradient(self, theta: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.slope(theta) + z

    def hessian(self, theta: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.curvature(theta)

    def expected(self, theta: np.ndarray) -> float:
        return self.C(theta)

    def distance(self, theta: np.ndarray, minimiser: np.ndarray) -> float:
        return float(np.linalg.norm(theta - minimiser))


def quadratic(H: Any, m: Any, covariance: Any, radius: float) -> Smooth:
    H, m = np.array(H, dtype=float), np.array(m, dtype=float)
    return Smooth(
        C=lambda theta: (theta - m) @ H @ (theta - m) / 2,
        slope=lambda theta: H @ (theta - m),
        curvature=lambda theta: H,
        factor=np.linalg.cholesky(np.array(covariance, dtype=float)),
        minimisers=m[np.newaxis],
        radius=radius,
    )


def in_basis(cost: Smooth, B: np.ndarray) -> Smooth:
    """The same formula in u = B theta; the noise and the minimisers stay those of theta."""
    return Smooth(
        C=lambda theta: cost.C(B @ theta),
        slope=lambda theta: B.T @ cost.slope(B @ theta),
        curvature=lambda theta: B.T @ cost.curvature(B @ theta) @ B,
        factor=cost.factor,
        minimisers=cost.minimisers,
        radius=cost.radius,
    )


@dataclass
class Mixture:
    """c(theta, y) = -log prior(theta) - T log p(y | theta), from the two densities themselves."""

    means: np.ndarray
    variance: float
    prior_mean: np.ndarray
    prior_variance: np.ndarray
    horizon: int
    data: str
    truth: np.ndarray
    y: np.ndarray  # the stored observations, if any
    minimisers: np.ndarray
    radius: float

    def observe(self, rng: np.random.Generator, k: int) -> float:
        if self.data == "stream":
            component = int(rng.bit_generator.random_raw()) & 1
            return float(self.means[component] @ self.truth + np.sqrt(self.variance) * rng.standard_normal())
        if self.data == "shuffle":
            return float(self.y[int(rng.random() * len(self.y))])
        return float(self.y[k % len(self.y)]) if self.data == "sweep" else np.nan

    def densities(self, theta: np.ndarray, y: Any) -> np.ndarray:
        """The two terms of p(y | theta), last axis; y is a number or a column."""
        return np.exp(-((y - self.means @ theta) ** 2) / (2 * self.variance)) / np.sqrt(8 * np.pi * self.variance)

    def _score(self, theta: np.ndarray, y: float) -> np.ndarray:
        p = self.densities(theta, y)
        return self.means.T @ (p * (y - self.means @ theta)) / (self.variance * p.sum())

    def _log_curvature(self, theta: np.ndarray, y: float) -> np.ndarray:
        p, v = self.densities(theta, y), self.variance
        shares = p / p.sum()
        inner = sum(
            r * ((y - m @ theta) ** 2 / v**2 - 1 / v) * np.outer(m, m) for r, m in zip(shares, self.means, strict=True)
        )
        return inner - np.outer(self._score(theta, y), self._score(theta, y))

    def _seen(self, z: float) -> list[tuple[float, float]]:
        """Observations with their weights, of total weight T."""
        return [(y, 1.0) for y in self.y] if self.data == "full" else [(z, float(self.horizon))]

    def _prior(self, theta: np.ndarray) -> float:
        u = (theta - self.prior_mean) ** 2 / self.prior_variance
        return float(np.sum(u / 2 + np.log(2 * np.pi * self.prior_variance) / 2))

    def value(self, theta: np.ndarray, z: float) -> float:
        return self._prior(theta) - sum(t * np.log(self.densities(theta, y).sum()) for y, t in self._seen(z))

    def gradient(self, theta: np.ndarray, z: float) -> np.ndarray:
        pull = sum(t * self._score(theta, y) for y, t in self._seen(z))
        return (theta - self.prior_mean) / self.prior_variance - pull

    def hessian(self, theta: np.ndarray, z: float) -> np.ndarray:
        return np.diag(1 / self.prior_variance) - sum(t * self._log_curvature(theta, y) for y, t in self._seen(z))

    def expected(self, theta: np.ndarray) -> float:
        if self.data != "stream":
            return self._prior(theta) - sum(np.log(self.densities(theta, y).sum()) for y in self.y)
        y = np.linspace(-15.0, 15.0, 3001)[:, np.newaxis]  # the integrand is below 1e-12 outside, for the truths tested
        true, log_p = self.densities(self.truth, y).sum(axis=1), np.log(self.densities(theta, y).sum(axis=1))
        return self._prior(theta) - self.horizon * float((true * log_p).sum() * (y[1, 0] - y[0, 0]))

    def distance(self, theta: np.ndarray, minimiser: np.ndarray) -> float:
        here, there = self.means @ theta, self.means @ minimiser
        return float(min(np.linalg.norm(here - there), np.linalg.norm(here - there[::-1])))


@dataclass
class Logistic:
    """c(theta, i) = |theta|^2/(2 v) + T log(1 + exp(-l_i x_i'theta)), a random row i a step, from the probabilities."""

    x: np.ndarray  # rows
    labels: np.ndarray
    prior_variance: float
    horizon: int
    minimisers: np.ndarray
    radius: float

    def observe(self, rng: np.random.Generator, k: int) -> int:
        return int(rng.random() * len(self.x))

    def right(self, theta: np.ndarray, i: int) -> float:
        """The probability of the label of row i."""
        return float(1 / (1 + np.exp(-self.labels[i] * self.x[i] @ theta)))

    def value(self, theta: np.ndarray, i: int) -> float:
        return theta @ theta / (2 * self.prior_variance) - self.horizon * np.log(self.right(theta, i))

    def gradient(self, theta: np.ndarray, i: int) -> np.ndarray:
        pull = self.horizon * (1 - self.right(theta, i)) * self.labels[i]
        return theta / self.prior_variance - pull * self.x[i]

    def hessian(self, theta: np.ndarray, i: int) -> np.ndarray:
        p = self.right(theta, i)
        return np.eye(len(theta)) / self.prior_variance + self.horizon * p * (1 - p) * np.outer(self.x[i], self.x[i])

    def expected(self, theta: np.ndarray) -> float:
        return float(np.mean([self.value(theta, i) for i in range(len(self.x))]))

    def correct(self, theta: np.ndarray) -> float:
        """The share of rows with the right label; one half where there is no telling."""
        return float(
            np.mean([{1.0: 1.0, 0.0: 0.5, -1.0: 0.0}[float(s)] for s in np.sign(self.labels * (self.x @ theta))])
        )

    def distance(self, theta: np.ndarray, minimiser: np.ndarray) -> float:
        return float(np.linalg.norm(theta - minimiser))


Cost = Smooth | Mixture | Logistic


# --- samplers; ``step`` goes from k to k + 1, ``idle`` consumes the random numbers of a step without a gradient


def pairs(N: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(N) for j in range(i)]


def E(i: int, j: int, N: int) -> np.ndarray:
    e = np.eye(N)
    return np.outer(e[i], e[j]) - np.outer(e[j], e[i])


def skew_from(entries: Sequence[float], N: int) -> np.ndarray:
    return sum((s * E(i, j, N) for s, (i, j) in zip(entries, pairs(N), strict=True)), np.zeros((N, N)))


@dataclass
class Sampler(ABC):
    """The state that all share; ``keys`` are those of the scenario file."""

    keys: dict[str, Any]
    theta: np.ndarray
    S: np.ndarray
    seed: int
    trial: int
    D: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    resets: int = 0
    sigma: float = 1.0  # of the injected noise

    def __post_init__(self) -> None:
        self.N = len(self.theta)
        self.eps = self.keys["epsilon"]
        beta = self.keys.get("beta", 1.0)
        self.noise = 0.0 if beta == "inf" else np.sqrt(2 * self.eps / beta)
        self.mu = self.keys.get("perturbation", 0.1)
        if "skew_bounds" in self.keys:
            self.S = self.projected(self.S)
        self.signs = stream(self.seed, PERTURBATIONS, self.trial)
        self.inner = stream(self.seed, INNER, self.trial)
        self.begin()

    def begin(self) -> None:
        return

    def projected(self, S: np.ndarray) -> np.ndarray:
        low, high = self.keys["skew_bounds"]
        return skew_from([min(max(S[i, j], low), high) for i, j in pairs(self.N)], self.N)

    def moved(self, theta: np.ndarray, S: np.ndarray, cost: Cost, z: Any, w: np.ndarray) -> np.ndarray:
        return theta - self.eps * (np.eye(self.N) + S) @ cost.gradient(theta, z) + self.noise * w

    def draw_Delta(self) -> np.ndarray:
        wanted = len(pairs(self.N))
        bits: list[int] = []
        while len(bits) < wanted:
            word = int(self.signs.bit_generator.random_raw())
            bits += [word >> n & 1 for n in range(64)]
        return skew_from([1.0 if bit else -1.0 for bit in bits[:wanted]], self.N)

    def descend(self, difference: float, Delta: np.ndarray) -> None:
        """S(i, j) - skew_step difference / (2 mu Delta(i, j)), projected."""
        change = [self.keys["skew_step"] * difference / (2 * self.mu * Delta[i, j]) for i, j in pairs(self.N)]
        self.S = self.projected(self.S - skew_from(change, self.N))

    @abstractmethod
    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        """Go from k to k + 1."""

    def idle(self, cost: Cost, k: int) -> None:
        return

    def told_of_switch(self) -> None:
        return


class Langevin(Sampler):
    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        self.theta = self.moved(self.theta, np.zeros((self.N, self.N)), cost, z, w)


class Accelerated(Sampler):
    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        self.theta = self.moved(self.theta, self.S, cost, z, w)


class Hessian(Sampler):
    sign = 1.0  # of E_ij in the recursion of D; -1 is a control

    def begin(self) -> None:
        self.D = {pair: np.zeros(self.N) for pair in pairs(self.N)}

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        g, h, M, N = cost.gradient(self.theta, z), cost.hessian(self.theta, z), np.eye(self.N) + self.S, self.N
        D, eps = self.D, self.eps
        S = self.S - skew_from([self.keys["skew_step"] * g @ D[pair] for pair in pairs(N)], N)
        self.theta = self.moved(self.theta, self.S, cost, z, w)
        self.D = {(i, j): D[i, j] - eps * M @ h @ D[i, j] - self.sign * eps * E(i, j, N) @ g for i, j in pairs(N)}
        self.S = self.projected(S)
        if max(np.abs(d).max() for d in self.D.values()) > self.keys.get("tangent_limit", 1e6):
            self.begin()
            self.resets += 1


class Spsa(Sampler):
    def begin(self) -> None:
        self.minus, self.pending, self.waiting = self.theta, False, None
        self.hold = self.keys.get("hold", 1)
        self.same = self.keys.get("cost_observation", "next") == "same"

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        if self.pending:
            self.descend(cost.value(self.theta, z) - cost.value(self.minus, z), self.Delta)
        if k % self.hold == 0:
            self.waiting = self.draw_Delta()
        if self.waiting is not None:
            self.Delta, self.waiting = self.waiting, None
            if self.hold > 1:
                self.minus = self.theta
        self.theta = self.moved(self.theta, self.S + self.mu * self.Delta, cost, z, w)
        self.minus = self.moved(self.minus, self.S - self.mu * self.Delta, cost, z, w)
        self.pending = not self.same
        if self.same:
            self.descend(cost.value(self.theta, z) - cost.value(self.minus, z), self.Delta)

    def idle(self, cost: Cost, k: int) -> None:
        if k % self.hold == 0:
            self.waiting = self.draw_Delta()


class TwoTimescaleSpsa(Sampler):
    def look_ahead(self, cost: Cost, k: int) -> tuple[float, np.ndarray]:
        n_in = self.keys["inner_steps"]
        z = [cost.observe(self.inner, k + n) for n in range(n_in + 1)]
        w = [self.inner.standard_normal(self.N) for _ in range(n_in)]
        Delta = self.draw_Delta()
        plus = minus = self.theta
        total = 0.0
        for n in range(n_in):
            plus = self.moved(plus, self.S + self.mu * Delta, cost, z[n], w[n])
            minus = self.moved(minus, self.S - self.mu * Delta, cost, z[n], w[n])
            seen = z[n] if self.keys.get("cost_observation", "next") == "same" else z[n + 1]
            total += cost.value(plus, seen) - cost.value(minus, seen)
        return total, Delta

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        total, Delta = self.look_ahead(cost, k)
        self.theta = self.moved(self.theta, self.S, cost, z, w)
        self.descend(total, Delta)

    def idle(self, cost: Cost, k: int) -> None:
        self.look_ahead(cost, k)


class Wandering(Sampler):
    def reflected(self, s: float) -> float:
        low, high = self.keys["skew_bounds"]
        while not low <= s <= high:
            s = 2 * low - s if s < low else 2 * high - s
        return s

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        self.theta = self.moved(self.theta, self.S, cost, z, w)
        n = self.signs.standard_normal(len(pairs(self.N)))
        steps = [self.S[i, j] + self.keys["skew_step"] * n[p] for p, (i, j) in enumerate(pairs(self.N))]
        self.S = skew_from([self.reflected(s) for s in steps], self.N)

    def idle(self, cost: Cost, k: int) -> None:
        self.signs.standard_normal(len(pairs(self.N)))


class Tempered(Sampler):
    """Generalised Langevin: sigma follows d theta / d sigma."""

    def begin(self) -> None:
        low, high = self.keys["noise_bounds"]
        self.zeta, self.sigma = np.zeros(self.N), min(max(self.keys.get("noise_start", 1.0), low), high)

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        g, h, zeta, sigma = cost.gradient(self.theta, z), cost.hessian(self.theta, z), self.zeta, self.sigma
        low, high = self.keys["noise_bounds"]
        self.theta = self.theta - self.eps * g + sigma * self.noise * w
        self.zeta = zeta - self.eps * h @ zeta + self.noise * w
        self.sigma = min(max(sigma - self.keys["noise_step"] * g @ zeta, low), high)
        if np.abs(self.zeta).max() > self.keys.get("tangent_limit", 1e6):
            self.zeta = np.zeros(self.N)
            self.resets += 1


class AdaptiveStep(Sampler):
    """Langevin whose step follows V = d theta / d epsilon."""

    derivative_of_noise = True  # False is a control

    def begin(self) -> None:
        self.V, self.temperature = np.zeros(self.N), 0.0 if self.keys.get("beta") == "inf" else 1 / self.keys["beta"]

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        g, h, V, eps, T = cost.gradient(self.theta, z), cost.hessian(self.theta, z), self.V, self.eps, self.temperature
        low, high = self.keys["epsilon_bounds"]
        self.theta = self.theta - eps * g + np.sqrt(2 * eps * T) * w
        self.V = (np.eye(self.N) - eps * h) @ V - g
        if self.derivative_of_noise:
            self.V = self.V + np.sqrt(T) * w / np.sqrt(2 * eps)
        self.eps = min(max(eps - self.keys["epsilon_step"] * g @ V, low), high)
        if np.abs(self.V).max() > self.keys.get("tangent_limit", 1e6):
            self.V = np.zeros(self.N)
            self.resets += 1


class Kinetic(Sampler):
    def begin(self) -> None:
        beta, self.v = self.keys.get("beta", 1.0), np.zeros(self.N)
        self.noise = 0.0 if beta == "inf" else np.sqrt(2 * self.keys["friction"] * self.eps / beta)

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        kept = 1 - self.keys["friction"] * self.eps
        self.v = kept * self.v - self.eps * cost.gradient(self.theta, z) + self.noise * w
        self.theta = self.theta + self.eps * self.v


class Psgld(Sampler):
    def begin(self) -> None:
        self.V = np.zeros(self.N)

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        g, rho = cost.gradient(self.theta, z), self.keys.get("second_decay", 0.99)
        self.V = rho * self.V + (1 - rho) * g**2
        G = np.diag(1 / (self.keys.get("floor", 1e-5) + np.sqrt(self.V)))
        self.theta = self.theta - self.eps * G @ g + self.noise * np.sqrt(G) @ w


class Around(Sampler):
    """A sampler around another, which is made of the keys in ``sampler``."""

    def begin(self) -> None:
        keys = {"epsilon": self.eps, "beta": self.keys.get("beta", 1.0), **self.keys["sampler"]}
        self.within = SAMPLERS[keys["kind"]](keys, self.theta, self.S, self.seed, self.trial)

    def idle(self, cost: Cost, k: int) -> None:
        self.within.idle(cost, k)


class Averaged(Around):
    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        self.within.step(cost, k, z, w)
        self.theta = (1 - self.keys["rate"]) * self.theta + self.keys["rate"] * self.within.theta
        self.S = self.within.S


class Restart(Around):
    def begin(self) -> None:
        super().begin()
        self.n, self.hot, self.is_due, self.alarms = None, 0, False, []
        self.plain = self.within.eps, self.within.noise
        self.clear()

    def clear(self) -> None:
        """All sums are 0; ``seen``: theta_j - r_j / curvature since each of them last was."""
        self.U = {(sign, d): 0.0 for sign in (1, -1) for d in range(self.N)}
        self.seen: dict[tuple[int, int], list[float]] = {place: [] for place in self.U}

    def told_of_switch(self) -> None:
        self.is_due = self.keys.get("detector") == "true-times"

    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        keys, g, theta = self.keys, cost.gradient(self.within.theta, z), self.within.theta.copy()
        above = []
        if keys.get("detector", "cusum") == "cusum":
            for (sign, d), u in self.U.items():
                self.U[sign, d] = max(
                    0.0, u + keys["shift"] * (sign * g[d] - keys["shift"] / 2) / keys["noise_variance"]
                )
                place = theta[d] - g[d] / keys.get("curvature", 1.0)
                self.seen[sign, d] = [*self.seen[sign, d], place] if self.U[sign, d] > 0 else []
            above = [place for place, u in self.U.items() if u > keys["threshold"]]
        alarm, self.is_due = bool(above) or self.is_due, False
        mean = keys.get("action", "mean") == "mean"
        if alarm:
            self.alarms.append(k)
            if mean:
                for sign, d in above:
                    theta[d] = sum(self.seen[sign, d]) / len(self.seen[sign, d])
                self.n = min((len(self.seen[place]) for place in above), default=0)
            self.hot = keys.get("hot_steps", 0)
            self.clear()
            self.within.theta = theta
            self.within.begin()
        self.within.eps, self.within.noise = self.plain
        if alarm and mean:
            self.within.idle(cost, k)
        else:
            if not mean and self.hot > 0:
                self.hot -= 1
                self.within.noise = self.plain[1] * np.sqrt(keys["beta"] / keys["hot_beta"])
            elif mean and self.n is not None:
                self.n += 1
                self.within.eps = max(keys.get("floor", 0.0), 1 / (self.n * keys["curvature"]))
                self.within.noise = self.plain[1] * np.sqrt(self.within.eps / self.plain[0])
            self.within.step(cost, k, z, w)
        self.theta, self.S = self.within.theta, self.within.S


class Frozen(Sampler):
    def step(self, cost: Cost, k: int, z: Any, w: np.ndarray) -> None:
        return


class Oracle(Frozen):
    """``run`` places it."""


SAMPLERS: dict[str, type[Sampler]] = {
    "langevin": Langevin,
    "accelerated": Accelerated,
    "hessian": Hessian,
    "spsa": Spsa,
    "two-timescale-spsa": TwoTimescaleSpsa,
    "wandering": Wandering,
    "tempered": Tempered,
    "adaptive-step": AdaptiveStep,
    "kinetic": Kinetic,
    "psgld": Psgld,
    "restart": Restart,
    "averaged": Averaged,
    "frozen": Frozen,
    "oracle": Oracle,
}


# --- a trial, and what is measured of it


@dataclass
class Trial:
    """theta (K + 1, N), S (K + 1, N, N), D: one dict {(i, j): (N,)} per step; error, sigma (K + 1,); diverged: step or -1."""

    theta: np.ndarray
    S: np.ndarray
    D: list[dict[tuple[int, int], np.ndarray]]
    error: np.ndarray
    resets: int
    diverged: int
    sigma: np.ndarray


def run(
    sampler: Sampler, costs: Sequence[Cost], modes: Sequence[int], dark: Sequence[bool], runaway: float = RUNAWAY
) -> Trial:
    """Run a sampler along the modes x_0, ..., x_K; no gradient arrives where ``dark``."""
    observations = stream(sampler.seed, OBSERVATIONS, sampler.trial)
    noise = stream(sampler.seed, NOISE, sampler.trial)
    thetas, skews, tangents, errors, sigmas = [], [], [], [], []
    diverged = -1
    for k, x in enumerate(modes):
        cost = costs[x]
        if isinstance(sampler, Oracle):
            nearest = np.argmin([np.linalg.norm(sampler.theta - m) for m in cost.minimisers])
            sampler.theta = cost.minimisers[nearest]
        if k and x != modes[k - 1]:
            sampler.told_of_switch()
        thetas.append(sampler.theta)
        skews.append(sampler.S)
        tangents.append(sampler.D)
        sigmas.append(sampler.sigma)
        errors.append(min(cost.distance(sampler.theta, m) for m in cost.minimisers))
        if k == len(modes) - 1:
            break
        if not errors[-1] ** 2 < runaway:
            diverged = k
            break
        z, w = cost.observe(observations, k), noise.standard_normal(sampler.N)
        if dark[k]:
            sampler.idle(cost, k)
        else:
            sampler.step(cost, k, z, w)
    resets = sampler.resets
    return Trial(np.array(thetas), np.array(skews), tangents, np.array(errors), resets, diverged, np.array(sigmas))


def softest(cost: Cost) -> float:
    """The smallest curvature of the expected cost at a minimiser, by second differences of its values."""
    found, d = [], 1e-3
    for m in cost.minimisers:
        e = d * np.eye(len(m))
        H = [
            [
                cost.expected(m + a + b)
                - cost.expected(m + a - b)
                - cost.expected(m - a + b)
                + cost.expected(m - a - b)
                for b in e
            ]
            for a in e
        ]
        found.append(np.linalg.eigvalsh(np.array(H) / (4 * d * d))[0])
    return float(min(found))


@dataclass
class Metrics:
    """Sums by mode and by steps since the last switch; waits; stays; moments.

    The sums are of steps, error, squared error, steps inside, and in the middle of every c steps from burn_in on of 1, excess cost, accuracy.
    """

    by_mode: dict[int, np.ndarray]
    by_age: dict[int, np.ndarray]
    waits: list[tuple[int, int, bool]]  # (new mode; duration, or age at the last look; censored)
    stays: list[tuple[int, bool]]  # (mode; still inside a relaxation time after re-acquisition)
    mean: np.ndarray
    second: np.ndarray


def measure(
    trial: Trial, costs: Sequence[Cost], modes: Sequence[int], burn_in: int, every: int, relaxation: Sequence[float]
) -> Metrics:
    """Measure a trial that did not diverge, from the definitions; ``relaxation``: 1/(epsilon h) by mode."""
    K = len(modes) - 1
    floors = [min(cost.expected(m) for m in cost.minimisers) for cost in costs]
    inside = [trial.error[k] <= costs[modes[k]].radius for k in range(K)]
    switches = [k for k in range(1, K) if modes[k] != modes[k - 1]]
    by_mode: dict[int, np.ndarray] = {}
    by_age: dict[int, np.ndarray] = {}
    for k in range(burn_in, K):
        cost, theta = costs[modes[k]], trial.theta[k]
        looked = np.zeros(3)
        if (k - burn_in) % every == every // 2:
            right = cost.correct(theta) if isinstance(cost, Logistic) else 0.0
            looked = np.array([1.0, cost.expected(theta) - floors[modes[k]], right])
        row = np.array([1.0, trial.error[k], trial.error[k] ** 2, inside[k], *looked])
        by_mode[modes[k]] = by_mode.get(modes[k], 0.0) + row
        since = [s for s in switches if s <= k]
        if since:
            by_age[k - since[-1]] = by_age.get(k - since[-1], 0.0) + row
    waits, stays = [], []
    for s, following in zip(switches, [*switches[1:], K], strict=True):
        arrivals, x = [k for k in range(s, following) if inside[k]], modes[s]
        waits.append((x, arrivals[0] - s, False) if arrivals else (x, following - 1 - s, True))
        if arrivals and arrivals[0] > s and (later := arrivals[0] + math.ceil(relaxation[x])) < following:
            stays.append((x, inside[later]))
    averaged = trial.theta[burn_in:K]
    second = sum(np.outer(theta, theta) for theta in averaged) / len(averaged)
    return Metrics(by_mode, by_age, waits, stays, sum(averaged) / len(averaged), second)


def edges(largest: int, per_doubling: int) -> list[int]:
    """Lower edges of bins: single numbers below 2 per_doubling, then per_doubling bins to each doubling."""
    found = list(range(2 * per_doubling))
    start, width = 2 * per_doubling, 2
    while start <= largest:
        found += range(start, 2 * start, width)
        start, width = 2 * start, 2 * width
    return found
