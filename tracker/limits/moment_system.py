"""The one linear system that all moments obey, for the limit and for the algorithm (docs/mathematics, "Exact moments").

The unknowns v are p_i = P(x = i), mu_i = E[u 1{x = i}] and, at order 2, Pi_i = E[u u' 1{x = i}], in this order, each by
mode: X (1 + n + n^2) of them. The state u (n,) begins with theta. L0 is the drift within the modes, K0 the square of the move, Qm the mixing of
modes by Q':

    limit:      v' = L v,               L = L0 + ratio Qm
    algorithm:  v_{k+1} = (I + E) v_k,  I + E = (I + alpha Qm)(I + epsilon L0 + epsilon^2 K0)

Small systems are dense. In large ones L is sparse, and a step of the algorithm is carried out mode by mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg import expm
from scipy.sparse.linalg import expm_multiply

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array, Integers
    from tracker.limits.switched_quadratic import SwitchedQuadratic


DENSE = 500  # unknowns up to which a dense matrix is the fastest way


def size(problem: SwitchedQuadratic, order: int = 2) -> int:
    """The number of unknowns."""
    return problem.X * (1 + problem.n + (problem.n**2 if order == 2 else 0))


def split(problem: SwitchedQuadratic, v: Array) -> tuple[Array, Array, Array]:
    """Return p (..., X), mu (..., X, n) and Pi (..., X, n, n) of v; Pi is empty at order 1."""
    X, n = problem.X, problem.n
    lead = v.shape[:-1]
    rest = v[..., X + X * n :]
    return v[..., :X], v[..., X : X + X * n].reshape(*lead, X, n), rest.reshape(*lead, -1, n, n)


def join(p: Array, mu: Array, Pi: Array) -> Array:
    """Return v, shape (n,): the inverse of ``split``."""
    return np.concatenate([p.ravel(), mu.ravel(), Pi.ravel()])


def start(problem: SwitchedQuadratic) -> Array:
    """Return v at time 0."""
    p, B, r = problem.p0, np.pad(problem.step.begins, ((0, problem.kept), (0, 0))), problem.kept
    second = B @ problem.second0 @ B.T
    if r:
        second[-r:, -r:] = np.eye(r)  # what is remembered begins as it goes on
    return join(p, np.multiply.outer(p, B @ problem.mean0), np.multiply.outer(p, second))


# --- the matrices: dense up to DENSE unknowns, else sparse


class Entries:
    """Entries of a matrix of the system, collected by the moments (0: p, 1: mu, 2: Pi) whose rows and columns they stand in."""

    def __init__(self, problem: SwitchedQuadratic, order: int) -> None:
        X, n = problem.X, problem.n
        self.n, self.order = size(problem, order), order
        self.first, self.width = (0, X, X + X * n), (1, n, n * n)
        self.rows: list[Integers] = []
        self.columns: list[Integers] = []
        self.values: list[Array] = []

    def add(self, row: int, column: int, values: Array, at: tuple[Integers, Integers] | None = None) -> None:
        """Add a block to each mode: values (X, height, width), or values (X, ...) at (rows, columns) within the block."""
        if row > self.order:
            return
        inner = np.indices(values.shape[1:]) if at is None else at
        modes = np.arange(len(values)).reshape(-1, *[1] * (values.ndim - 1))
        for kept, moment, within in ((self.rows, row, inner[0]), (self.columns, column, inner[1])):
            index = self.first[moment] + modes * self.width[moment] + within
            kept.append(np.broadcast_to(index, values.shape).ravel())
        self.values.append(values.ravel())

    def matrix(self) -> Any:
        """Return the sum of all entries, an ndarray or a sparse array of shape (n, n)."""
        where = (np.concatenate(self.rows), np.concatenate(self.columns))
        entries = sparse.coo_array((np.concatenate(self.values), where), shape=(self.n, self.n))
        return entries.toarray() if self.n <= DENSE else entries.tocsr()


def drift(problem: SwitchedQuadratic, order: int = 2) -> Any:
    """L0, shape (n, n)."""
    return drift_matrix(problem, problem.A, problem.a, problem.heat, order)


def drift_matrix(problem: SwitchedQuadratic, A: Array, a: Array, heat: Array, order: int = 2) -> Any:
    """L0 of u' = a - A u with noise of covariance ``heat``: linear in A (X, n, n), a (X, n) and heat (n, n) or (X, n, n)."""
    X, n = problem.X, problem.n
    eye = np.eye(n)
    entries = Entries(problem, order)
    entries.add(1, 0, a[:, :, None])
    entries.add(1, 1, -A)
    entries.add(2, 0, np.broadcast_to(heat, (X, n, n)).reshape(X, -1, 1))
    cross = np.einsum("ia,bc->iabc", a, eye) + np.einsum("ib,ac->iabc", a, eye)  # a mu' + mu a'
    entries.add(2, 1, cross.reshape(X, n * n, n))
    c, b, d = np.indices((n, n, n))
    each = np.broadcast_to(-A[:, None], (X, n, n, n))  # entry (b, d) of A_i, for every c
    entries.add(2, 2, each, (b * n + c, d * n + c))  # A Pi
    entries.add(2, 2, each, (c * n + b, c * n + d))  # Pi A'
    return entries.matrix()


def square(problem: SwitchedQuadratic, order: int = 2) -> Any:
    """K0, shape (n, n)."""
    X, n, M = problem.X, problem.n, problem.M
    A, a = problem.A, problem.a
    entries = Entries(problem, order)
    entries.add(0, 0, np.zeros((X, 1, 1)))
    entries.add(2, 0, (a[:, :, None] * a[:, None, :] + M @ problem.white @ M.T).reshape(X, -1, 1))
    cross = np.einsum("iac,ib->iabc", A, a) + np.einsum("ia,ibc->iabc", a, A)  # A mu a' + a mu' A'
    entries.add(2, 1, -cross.reshape(X, n * n, n))
    if order == 2:
        entries.add(2, 2, np.einsum("iac,ibd->iabcd", A, A).reshape(X, n * n, n * n))  # A Pi A'
        add_growth(entries, problem)
    return entries.matrix()


def growth(problem: SwitchedQuadratic) -> Any:
    """The part of K0 that comes of the growth of the gradient noise with theta, shape (n, n)."""
    entries = Entries(problem, 2)
    entries.add(0, 0, np.zeros((problem.X, 1, 1)))
    add_growth(entries, problem)
    return entries.matrix()


def add_growth(entries: Entries, problem: SwitchedQuadratic) -> None:
    """Add what the growth of the gradient noise with theta brings: M (L E L' + G tr(W E)) M', E about the centre."""
    if problem.growth is None:
        return
    X, n, M, C = problem.X, problem.n, problem.M, problem.step.reads
    L, G, W, centre = problem.growth
    L, G = M @ L, M @ G @ M.T
    here, over = np.einsum("iab,ib->ia", L, centre), np.einsum("ib,ibc->ic", centre, (W + W.transpose(0, 2, 1)) @ C)
    L, trace = L @ C, np.einsum("ia,iab,ib->i", centre, W, centre)
    W = C.T @ W @ C
    entries.add(2, 0, (here[:, :, None] * here[:, None, :] + trace[:, None, None] * G).reshape(X, -1, 1))
    cross = np.einsum("iac,ib->iabc", L, here) + np.einsum("ia,ibc->iabc", here, L) + np.einsum("iab,ic->iabc", G, over)
    entries.add(2, 1, -cross.reshape(X, n * n, n))
    spread = np.einsum("iac,ibd->iabcd", L, L) + np.einsum("iab,idc->iabcd", G, W)
    entries.add(2, 2, spread.reshape(X, n * n, n * n))


def mixing(problem: SwitchedQuadratic, order: int = 2) -> Any:
    """Qm, shape (n, n)."""
    entries, Q = Entries(problem, order), problem.Q
    for moment in range(order + 1):
        width = entries.width[moment]
        i, j, c = np.indices((problem.X, problem.X, width))
        rates = np.broadcast_to(Q[:, :, None], i.shape)
        entries.add(moment, moment, rates.reshape(1, -1), ((j * width + c).reshape(-1), (i * width + c).reshape(-1)))
    return entries.matrix()


def generator(problem: SwitchedQuadratic, order: int = 2) -> Any:
    """L = L0 + ratio Qm, shape (n, n)."""
    limit = problem.limit
    return drift(limit, order) + problem.ratio * mixing(limit, order)


def increment(problem: SwitchedQuadratic, order: int = 2) -> Any:
    """E, shape (n, n): a step of the algorithm is v + E v, without the rounding of I + E for a small epsilon."""
    move = problem.epsilon * drift(problem, order) + problem.epsilon**2 * square(problem, order)
    mix = problem.alpha * mixing(problem, order)
    return move + mix + mix @ move


# --- the laws in time


def flow(problem: SwitchedQuadratic, times: Array, v: Array, order: int = 2) -> Array:
    """Return the limit's v at each of ``times``, shape (times, n), or (times, n, c) from c columns v (n, c)."""
    return flow_of(generator(problem, order), times, v)


def flow_of(L: Any, times: Array, v: Array) -> Array:
    """Return exp(t L) v at each of ``times``."""
    found = np.empty((len(times), *v.shape))
    if len(v) <= DENSE:
        for index, t in enumerate(times):
            found[index] = expm(t * L) @ v
        return found
    trace, now = float(L.trace()), 0.0
    for index in np.argsort(times):
        gap = float(times[index]) - now
        if gap > 0.0:
            v, now = np.asarray(expm_multiply(gap * L, v, traceA=gap * trace)), float(times[index])
        found[index] = v
    return found


def walk(problem: SwitchedQuadratic, steps: Integers, v: Array, order: int = 2) -> Array:
    """Return the algorithm's v after each number of ``steps``, shape (steps, n), or (steps, n, c) from c columns v (n, c)."""
    if v.ndim == 2 and len(v) > DENSE:
        return np.stack([walk(problem, steps, column, order) for column in v.T], axis=-1)
    if len(v) <= DENSE:
        return _powered(increment(problem, order), steps, v.reshape(len(v), -1)).reshape(len(steps), *v.shape)
    step, found = stepper(problem), np.empty((len(steps), len(v)))
    k, p, mu, Pi = 0, *split(problem, v)
    for index in np.argsort(steps):
        for _ in range(int(steps[index]) - k):
            p, mu, Pi = step(p, mu, Pi)
        k = int(steps[index])
        found[index] = join(p, mu, Pi)
    return found


def _powered(E: Array, steps: Integers, v: Array) -> Array:
    """Return (I + E)^k v for each k, by (I + E)^2 = I + (2 E + E^2): E keeps its digits however small it is."""
    found = np.repeat(v[None], len(steps), axis=0)
    left = np.array(steps)
    while left.any():
        odd = left % 2 == 1
        found[odd] += E @ found[odd]
        left //= 2
        if left.any():
            E = 2.0 * E + E @ E
    return found


def stepper(problem: SwitchedQuadratic) -> Callable[[Array, Array, Array], tuple[Array, Array, Array]]:
    """Return the map (p, mu, Pi) -> (p, mu, Pi) of one step of the algorithm; an empty Pi stays empty (order 1)."""
    X, n, epsilon, M, a = problem.X, problem.n, problem.epsilon, problem.M, problem.a
    P = (np.eye(X) + problem.alpha * problem.Q).T
    B = np.eye(n) - epsilon * problem.A
    transposed = np.ascontiguousarray(B.transpose(0, 2, 1))
    square_of_drift = epsilon**2 * a[:, :, None] * a[:, None, :]
    source = square_of_drift + epsilon * problem.heat + epsilon**2 * M @ problem.white @ M.T
    growth, reads = problem.growth, problem.step.reads

    def step(p: Array, mu: Array, Pi: Array) -> tuple[Array, Array, Array]:
        moved = (B @ mu[:, :, None])[:, :, 0]
        if Pi.size:
            cross = epsilon * moved[:, :, None] * a[:, None, :]
            brought = cross + cross.transpose(0, 2, 1) + p[:, None, None] * source
            if growth is not None:
                brought += epsilon**2 * M @ growth.covariance(growth.around(reads, p, mu, Pi)) @ M.T
            Pi = B @ Pi @ transposed + brought
            Pi = (P @ Pi.reshape(X, n * n)).reshape(X, n, n)
        return P @ p, P @ (moved + epsilon * a * p[:, None]), Pi

    return step


def slope(problem: SwitchedQuadratic) -> Callable[[Array, Array, Array], tuple[Array, Array, Array]]:
    """Return the map (p, mu, Pi) -> their derivatives in time in the limit, mode by mode."""
    problem = problem.limit
    X, n, A, a, heat = problem.X, problem.n, problem.A, problem.a, problem.heat
    G = (problem.ratio * problem.Q).T
    transposed = np.ascontiguousarray(A.transpose(0, 2, 1))

    def derivative(p: Array, mu: Array, Pi: Array) -> tuple[Array, Array, Array]:
        cross = mu[:, :, None] * a[:, None, :]
        inside = cross + cross.transpose(0, 2, 1) + p[:, None, None] * heat - A @ Pi - Pi @ transposed
        dmu = a * p[:, None] - (A @ mu[:, :, None])[:, :, 0] + G @ mu
        return G @ p, dmu, inside + (G @ Pi.reshape(X, n * n)).reshape(X, n, n)

    return derivative
