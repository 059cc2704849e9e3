"""Moments of the increments theta(t + delta) - theta(t) up to the fourth, exactly; quadratic costs with Gaussian noise.

Notes
-----
docs/mathematics, "Increments". The state u of a linear sampler and a copy x of theta that stands still since time t obey a
linear recursion in each mode, so E[u^a x^b 1{mode}] over all monomials of degree at most 4 is a closed linear system:

    limit:      m_j' f = m_j(L_j f) + r sum_i q_ij m_i(f),   L_j f = (a_j - A_j u)' grad f + heat : D^2 f / 2
    algorithm:  m_j f  <- sum_i P_ij m_i(T_i f),             T_i f(u) = E f((I - epsilon A_i) u + epsilon a_i + noise)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import expm

from tracker.limits.exact_moments import LawOf, check_law
from tracker.limits.scope import OutOfScope
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

DEGREE = 4
MOST_UNKNOWNS = 900
Powers = tuple[int, ...]
Polynomial = dict[Powers, float]


@dataclass(frozen=True)
class Increments:
    """Moments of theta(t) - theta(s) for the times s < t of a grid; 0 elsewhere.

    second, fourth : ndarray, shape (times, times), E|theta(t_j) - theta(t_i)|^2 and its fourth power, i < j
    """

    second: Array
    fourth: Array


def increments(scenario: Scenario, sampler: str, times: ArrayLike, of: LawOf = "limit") -> Increments:
    """Return the moments of all increments between ``times``, which are equally spaced from 0; of the algorithm they are steps.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.increments(scenario, "skewed", [0.0, 0.5, 1.0]).second[0, 2].round(6)
    np.float64(1.374409)
    """
    check_law(of)
    grid = np.asarray(times, dtype=np.float64)
    gap = float(grid[1] - grid[0]) if grid.size > 1 else 0.0
    if grid.size < 2 or grid[0] != 0.0 or gap <= 0.0 or not np.allclose(np.diff(grid), gap, rtol=1e-9, atol=0.0):
        raise ValueError(f"times: {grid.tolist()} must be equally spaced, begin at 0 and be at least two")
    if of == "algorithm" and gap != round(gap):
        raise ValueError(f"times: {grid.tolist()} must be whole numbers of steps")
    problem = read_quadratic(scenario, sampler)
    count = problem.X * comb(problem.n + problem.N + DEGREE, DEGREE)
    if count > MOST_UNKNOWNS:
        raise OutOfScope(
            f"increments: {count} moments of degree up to {DEGREE} are more than {MOST_UNKNOWNS}",
            "take fewer coordinates or modes, or simulate",
        )
    alone, joint = _Monomials(problem.n), _Monomials(problem.n + problem.N)
    step_alone, step_joint = (_transition(problem, basis, gap, of) for basis in (alone, joint))
    m = _start(problem, alone)
    copies = joint.copied_from(alone, problem.n, problem.N)
    second, fourth = (joint.coefficients(_distance(problem.n, problem.N, power)) for power in (1, 2))
    found = np.zeros((2, grid.size, grid.size))
    for i in range(grid.size - 1):
        both = m[:, copies]
        for j in range(i + 1, grid.size):
            both = (step_joint @ both.ravel()).reshape(both.shape)
            total = both.sum(axis=0)
            found[:, i, j] = second @ total, fourth @ total
        m = (step_alone @ m.ravel()).reshape(m.shape)
    return Increments(second=found[0], fourth=found[1])


def _distance(n: int, N: int, power: int) -> Polynomial:
    """|theta - x|^(2 power) as a polynomial in (u, x)."""
    square: Polynomial = {}
    for d in range(N):
        difference = {_unit(n + N, d): 1.0, _unit(n + N, n + d): -1.0}
        for powers, value in _product(difference, difference).items():
            square[powers] = square.get(powers, 0.0) + value
    return square if power == 1 else _product(square, square)


def _unit(variables: int, place: int) -> Powers:
    return tuple(int(place == v) for v in range(variables))


def _product(f: Polynomial, g: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for a, c in f.items():
        for b, d in g.items():
            powers = tuple(x + y for x, y in zip(a, b, strict=True))
            out[powers] = out.get(powers, 0.0) + c * d
    return out


class _Monomials:
    """All monomials of degree at most 4, by number; operators are matrices whose rows are the images of the monomials."""

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.powers: list[Powers] = []
        for degree in range(DEGREE + 1):
            for places in combinations_with_replacement(range(variables), degree):
                self.powers.append(tuple(places.count(v) for v in range(variables)))
        self.number = {powers: k for k, powers in enumerate(self.powers)}

    def coefficients(self, f: Polynomial) -> Array:
        """The coefficients of f, shape (monomials,)."""
        out = np.zeros(len(self.powers))
        for powers, value in f.items():
            out[self.number[powers]] += value
        return out

    def copied_from(self, alone: _Monomials, n: int, N: int) -> list[int]:
        """Which monomial of u alone each of (u, x) is where x = theta."""
        return [
            alone.number[tuple(p + (powers[n + v] if v < N else 0) for v, p in enumerate(powers[:n]))]
            for powers in self.powers
        ]

    def drift(self, A: Array, a: Array) -> Array:
        """(a - A u)' grad, u the first variables."""
        out = np.zeros((len(self.powers),) * 2)
        for row, powers in enumerate(self.powers):
            for d in range(len(a)):
                if powers[d] == 0:
                    continue
                less = _moved(powers, d, -1)
                out[row, self.number[less]] += powers[d] * a[d]
                for e in range(len(a)):
                    out[row, self.number[_moved(less, e, 1)]] -= powers[d] * A[d, e]
        return out

    def diffusion(self, V: Array) -> Array:
        """V : D^2 / 2 in the first variables."""
        out = np.zeros((len(self.powers),) * 2)
        for row, powers in enumerate(self.powers):
            for d in range(len(V)):
                for e in range(len(V)):
                    factor = powers[d] * (powers[e] - (d == e))
                    if factor > 0:
                        out[row, self.number[_moved(_moved(powers, d, -1), e, -1)]] += factor * V[d, e] / 2.0
        return out

    def substituted(self, F: Array, f: Array) -> Array:
        """The monomials at F u + f in place of u."""
        lines: list[Polynomial] = []
        for v in range(self.variables):
            if v >= len(f):
                lines.append({_unit(self.variables, v): 1.0})
                continue
            line = {_unit(self.variables, e): float(F[v, e]) for e in range(len(f)) if F[v, e] != 0.0}
            lines.append({**line, (0,) * self.variables: float(f[v])})
        images: list[Polynomial] = [{(0,) * self.variables: 1.0}]
        for powers in self.powers[1:]:
            v = next(place for place, p in enumerate(powers) if p)
            images.append(_product(lines[v], images[self.number[_moved(powers, v, -1)]]))
        return np.array([self.coefficients(image) for image in images])


def _moved(powers: Powers, place: int, by: int) -> Powers:
    return (*powers[:place], powers[place] + by, *powers[place + 1 :])


def _transition(problem: SwitchedQuadratic, basis: _Monomials, gap: float, of: LawOf) -> Array:
    """The matrix that takes the moments by mode (X, monomials), flattened, over a time ``gap``."""
    X, size = problem.X, len(basis.powers)
    if of == "limit":
        here = problem.limit
        within = [basis.drift(here.A[i], here.a[i]) + basis.diffusion(here.heat) for i in range(X)]
        return np.asarray(expm(gap * (_blocks(within) + np.kron(problem.ratio * problem.Q.T, np.eye(size)))))
    moves, epsilon = [], problem.epsilon
    for i in range(X):
        V = epsilon * problem.heat + epsilon**2 * problem.M @ problem.Sigma[i] @ problem.M.T
        G = basis.diffusion(V)
        # exp(G) ends after the second power: each takes the degree down by two
        smoothed = np.eye(size) + G + G @ G / 2.0
        moves.append(smoothed @ basis.substituted(np.eye(problem.n) - epsilon * problem.A[i], epsilon * problem.a[i]))
    P = np.eye(X) + problem.alpha * problem.Q
    return np.linalg.matrix_power(np.kron(P.T, np.eye(size)) @ _blocks(moves), round(gap))


def _blocks(parts: list[Array]) -> Array:
    """The parts along the diagonal."""
    size = len(parts[0])
    out = np.zeros((len(parts) * size,) * 2)
    for i, part in enumerate(parts):
        out[i * size : (i + 1) * size, i * size : (i + 1) * size] = part
    return out


def _start(problem: SwitchedQuadratic, basis: _Monomials) -> Array:
    """The moments of u_0 by mode, shape (X, monomials): a Gaussian, which does not depend on the first mode."""
    B = problem.step.begins
    mean, covariance = B @ problem.mean0, B @ (problem.second0 - np.outer(problem.mean0, problem.mean0)) @ B.T
    G = basis.diffusion(covariance)
    at = np.array([np.prod(mean ** np.array(powers)) for powers in basis.powers])
    return np.outer(problem.p0, (np.eye(len(at)) + G + G @ G / 2.0) @ at)
