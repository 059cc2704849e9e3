"""Solve for the stationary moments of large systems without a dense matrix.

Notes
-----
K (see ``stationary_moments``) is applied mode by mode. Its second-moment block is inverted by elimination where half of the
second moments, each pair of coordinates once, make a dense matrix of bearable size; else by GMRES, preconditioned with the Lyapunov
equation of each mode alone: what other modes bring is small where the chain is slow.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve
from scipy.linalg.lapack import dgecon
from scipy.sparse import csc_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs, gmres, splu

from tracker.limits import moment_system
from tracker.skew import switched_moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.limits.exact_moments import LawOf
    from tracker.limits.switched_quadratic import SwitchedQuadratic


ILL_CONDITIONED = 1e-14  # the inverse condition below which less than two digits are right
ROUNDING, BACKWARD = 1e-15, 1e-11  # of the solution: the residual that cannot be helped, and the one that is accepted


def operator_of(problem: SwitchedQuadratic, of: LawOf) -> Callable[[Array], Array]:
    """K as a function, for large systems."""
    if of == "limit":
        derivative = moment_system.slope(problem)
        return lambda v: moment_system.join(*derivative(*moment_system.split(problem, v)))
    step = moment_system.stepper(problem)
    return lambda v: moment_system.join(*step(*moment_system.split(problem, v))) - v


def solver(problem: SwitchedQuadratic, of: LawOf) -> Callable[[Array], Array]:
    """Return the solution (mu, Pi) of K (0, mu, Pi) = (., rest): mu by sparse elimination, then Pi."""
    X, size = problem.X, problem.n
    first, n = X + X * size, X * size * size
    apply, solve_second = operator_of(problem, of), _second_solver(problem, of)
    means = moment_system.generator(problem, 1) if of == "limit" else moment_system.increment(problem, 1)
    first_moments = splu(csc_array(means[X:, X:]))

    def solve(rest: Array) -> Array:
        mu = first_moments.solve(rest[: X * size])
        brought = apply(np.concatenate([np.zeros(X), mu, np.zeros(n)]))[first:]
        return np.concatenate([mu, solve_second(rest[X * size :] - brought)])

    return solve


def _second_block(problem: SwitchedQuadratic, of: LawOf) -> LinearOperator:
    """K restricted to the second moments."""
    nothing, apply = np.zeros(problem.X * (1 + problem.n)), operator_of(problem, of)
    n = problem.X * problem.n**2
    return LinearOperator((n, n), matvec=lambda x: apply(np.concatenate([nothing, x.ravel()]))[-n:], dtype=np.float64)


def eliminate(K: Array) -> Callable[[Array], Array]:
    """Return what solves K x = rest, K dense; LinAlgError where little of x would be right."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)  # singular: said below
        factors = lu_factor(K)
    if not dgecon(factors[0], np.abs(K).sum(axis=0).max())[0] > ILL_CONDITIONED:
        raise np.linalg.LinAlgError("the equations of the stationary law are singular, but for rounding")
    return lambda rest: lu_solve(factors, rest)


def _second_solver(problem: SwitchedQuadratic, of: LawOf) -> Callable[[Array], Array]:
    """Return the inverse of the second-moment block."""
    small = switched_moments.unknowns(problem.X, problem.n) <= switched_moments.MOST_UNKNOWNS
    return _eliminated_halves(problem, of) if small else _second_by_gmres(problem, of)


def _eliminated_halves(problem: SwitchedQuadratic, of: LawOf) -> Callable[[Array], Array]:
    """Return the inverse of the second-moment block on symmetric matrices, each pair of coordinates once."""
    X, n = problem.X, problem.n
    if of == "limit":
        half = switched_moments.generator(problem.limit.A, problem.Q, problem.ratio)
    else:
        half = problem.second_moment_steps()(problem.epsilon)
    inverse = eliminate(half)
    a, b = np.tril_indices(n)

    def solve(right: Array) -> Array:
        found, given = np.empty((X, n, n)), right.reshape(X, n, n)
        found[:, a, b] = found[:, b, a] = inverse(given[:, a, b].ravel()).reshape(X, -1)
        return found.ravel()

    return solve


def _second_by_gmres(problem: SwitchedQuadratic, of: LawOf) -> Callable[[Array], Array]:
    """Return the inverse of the second-moment block, by GMRES."""
    block = _second_block(problem, of)
    near = LinearOperator(block.shape, matvec=_each_mode_alone(problem, of), dtype=np.float64)

    def solve(right: Array) -> Array:
        Pi = np.zeros(len(right))
        for _ in range(2):  # the second time refines
            rest = right - block @ Pi
            # close to the limit of stability Pi is large, and rounding leaves more than a small part of the right side
            lost = ROUNDING * float(np.linalg.norm(Pi))
            more, failed = gmres(block, rest, M=near, rtol=1e-12, atol=lost, restart=100, maxiter=5)
            Pi = Pi + more
            if failed and not np.linalg.norm(right - block @ Pi) <= BACKWARD * np.linalg.norm(Pi):
                raise ArithmeticError("the second moments did not converge: GMRES gave up after 500 iterations")
        return Pi

    return solve


def _each_mode_alone(problem: SwitchedQuadratic, of: LawOf) -> Callable[[Array], Array]:
    """Return the inverse of the second-moment block without what comes from other modes, by eigenvectors of A_i."""
    X, n = problem.X, problem.n
    values, vectors = np.linalg.eig(problem.limit.A if of == "limit" else problem.A)
    inverse = np.linalg.inv(vectors)
    stay = np.diag(problem.Q)[:, None, None]
    if of == "limit":
        scale = problem.ratio * stay - values[:, :, None] - values[:, None, :]
    else:
        B = 1.0 - problem.epsilon * values
        scale = (1.0 + problem.alpha * stay) * B[:, :, None] * B[:, None, :] - 1.0

    def solve(x: Array) -> Array:
        inner = inverse @ x.reshape(X, n, n) @ inverse.transpose(0, 2, 1) / scale
        return np.asarray((vectors @ inner @ vectors.transpose(0, 2, 1)).real.ravel())

    return solve


def log_radius(problem: SwitchedQuadratic, of: LawOf) -> float:
    """Return the logarithm of the radius of the second-moment block.

    The block keeps the cone of covariances, so it is stable if and only if K X = -I has a solution in that cone; then its
    eigenvalue nearest to 0 is the leading one, and is real.
    """
    block, inside = _second_block(problem, of), np.tile(np.eye(problem.n).ravel(), problem.X)
    size = min(30, len(inside))
    try:
        solve = _second_by_gmres(problem, of)
        X = -solve(inside).reshape(problem.X, problem.n, problem.n)
        stable = bool(np.linalg.eigvalsh((X + X.transpose(0, 2, 1)) / 2.0).min() > 0.0)
    except ArithmeticError:  # nothing to be solved where it is far from stable
        stable = False
    if stable:
        inverse = LinearOperator(block.shape, matvec=lambda x: solve(x.ravel()), dtype=np.float64)
        with suppress(ArithmeticError, ArpackError):  # else without the inverse, which takes longer
            found = eigs(block, 1, sigma=0.0, OPinv=inverse, v0=inside, ncv=size, tol=1e-10, return_eigenvectors=False)
            return float(found[0].real if of == "limit" else np.log1p(found[0].real))
    try:
        if of == "limit":
            return float(eigs(block, 1, which="LR", v0=inside, ncv=size, tol=1e-10, return_eigenvectors=False)[0].real)
        step = LinearOperator(block.shape, matvec=lambda x: block @ x + x, dtype=np.float64)
        found = eigs(step, 1, which="LM", v0=inside, ncv=size, tol=1e-10, return_eigenvectors=False)
        return float(np.log(np.abs(found[0])))
    except ArpackError as error:
        raise ArithmeticError(f"the radius of the second moments was not found: {error}") from error
