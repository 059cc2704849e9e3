"""The derivative of the algorithm's moments with respect to epsilon, at epsilon = 0 and a fixed ratio.

docs/mathematics, "Leading error". Where curvatures or rates differ by 1e6, R has entries of 1e12 that all but cancel in the
slow directions: sixteen digits leave four. So small systems are solved with the digits of numpy's longdouble (nineteen on
most machines; where it is no longer than a double, the loss stays), by scaling, Taylor series and doubling of the pair
exp(A) - I and w. The chain alone, whose part is exact, is computed apart:

    dp/d epsilon = -(T/2) (ratio Q' exp(T ratio Q'/2))^2 p0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import expm
from scipy.sparse.linalg import LinearOperator, expm_multiply

from tracker.limits import moment_system
from tracker.limits.noise_growth import NoiseGrowth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.array_types import Array
    from tracker.limits.switched_quadratic import SwitchedQuadratic


LONG = 130  # unknowns up to which the longer numbers take a second or so
TERMS = 24  # of the Taylor series at a norm of 1/2: the next is 1e-31


def derivatives(problem: SwitchedQuadratic, times: Array) -> Array:
    """Return dv/d epsilon at each of ``times``, shape (times, n)."""
    n = moment_system.size(problem)
    one = _small if n <= min(LONG, moment_system.DENSE) else _dense if n <= moment_system.DENSE else _large
    found = np.array([one(problem, float(T)) for T in times], dtype=np.float64)
    found[:, : problem.X] = [_of_the_chain(problem, float(T)) for T in times]
    return found


def _of_the_chain(problem: SwitchedQuadratic, T: float) -> Array:
    G = problem.ratio * problem.Q.T
    half = G @ expm(T / 2.0 * G)
    return np.asarray(-T / 2.0 * (half @ (half @ problem.p0)))


def _small(problem: SwitchedQuadratic, T: float) -> NDArray[np.longdouble]:
    """w, with the digits of a longdouble."""
    names = ("H", "m", "Sigma", "S", "Q", "p0", "mean0", "second0")
    changes: dict[str, Any] = {name: getattr(problem, name).astype(np.longdouble) for name in names}
    changes |= {name: np.longdouble(getattr(problem, name)) for name in ("alpha", "epsilon", "beta")}
    if problem.growth is not None:
        parts: Any = [part.astype(np.longdouble) for part in problem.growth]
        changes["growth"] = NoiseGrowth(*parts)
    long = replace(problem, **changes)
    L, R = _generators(long)
    n, norm = len(L), float(np.abs(T * L).sum(axis=0).max())
    doublings = max(0, int(np.ceil(np.log2(max(norm, 1e-300)))) + 1)
    A, B = T * L / 2**doublings, T * R / 2**doublings
    power, change = np.eye(n, dtype=np.longdouble), np.zeros((n, n), dtype=np.longdouble)
    E, W = np.zeros_like(change), np.zeros_like(change)  # exp(A) - I and its derivative along B
    for k in range(1, TERMS):
        power, change = A @ power / k, (A @ change + B @ power) / k
        E, W = E + power, W + change
    for _ in range(doublings):
        E, W = 2 * E + E @ E, 2 * W + E @ W + W @ E
    return np.asarray(W @ moment_system.start(long))


def _generators(problem: SwitchedQuadratic) -> tuple[Any, Any]:
    """L and R."""
    L = moment_system.generator(problem)
    return L, _second_order(problem) - L @ L / 2


def _second_order(problem: SwitchedQuadratic) -> Any:
    """The part of epsilon^2 in a step I + E: of the chain after the move, of its square, and of matrices that depend on epsilon."""
    limit = problem.limit
    found = problem.ratio * (moment_system.mixing(problem) @ moment_system.drift(limit)) + moment_system.square(limit)
    return found if problem.steady_form else found + moment_system.drift_matrix(problem, *problem.first_order())


def _dense(problem: SwitchedQuadratic, T: float) -> Array:
    """w, the upper right block of exp(T [[L, R], [0, L]]) v0."""
    L, R = _generators(problem)
    block = np.block([[L, R], [np.zeros_like(L), L]])
    return np.asarray(expm(T * block)[: len(L), len(L) :] @ moment_system.start(problem))


def _large(problem: SwitchedQuadratic, T: float) -> Array:
    """W of a large system: the action of the exponential, not the exponential."""
    L, K2 = moment_system.generator(problem), _second_order(problem)
    v0 = moment_system.start(problem)
    n = len(v0)

    def forward(x: Array) -> Array:
        w, u = x.ravel()[:n], x.ravel()[n:]
        Lu = L @ u
        return T * np.concatenate([L @ (w - Lu / 2.0) + K2 @ u, Lu])

    def adjoint(x: Array) -> Array:
        w, u = x.ravel()[:n], x.ravel()[n:]
        Lw = L.T @ w
        return T * np.concatenate([Lw, L.T @ (u - Lw / 2.0) + K2.T @ w])

    operator = LinearOperator((2 * n, 2 * n), matvec=forward, rmatvec=adjoint, dtype=np.float64)
    pair = np.concatenate([np.zeros(n), v0])
    return np.asarray(expm_multiply(operator, pair, traceA=2.0 * T * float(L.trace())))[:n]
