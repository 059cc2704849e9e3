"""Exact numbers of which the package knows nothing: LMS with correlated regressors, sign-error LMS, a step that falls.

Each is worked out here from the recursion, in one dimension and for modes that take turns by I + alpha Q.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from studies.literature.decreasing_step import DecreasingStep
    from tracker.array_types import Array


def transitions(alpha: float, Q: list[list[float]]) -> tuple[Array, Array]:
    """Return I + alpha Q and its stationary law."""
    P = np.eye(len(Q)) + alpha * np.array(Q)
    values, vectors = np.linalg.eig(P.T)
    law = np.real(vectors[:, np.argmax(values.real)])
    return P, law / law.sum()


def correlated_error(epsilon: float, alpha: float, Q: list[list[float]], minima: tuple[float, ...], noise: float, memory: float, degrees: int = 120) -> float:  # fmt: skip
    """Return the stationary mean square error of LMS whose scalar regressors are an AR(1) of variance 1.

    With e = theta - m_x and independent noise n, theta <- theta - epsilon (phi^2 e - phi n). The functions M1_i(phi) =
    E[theta; x = i | phi] and M2_i(phi) are expanded in normalised Hermite polynomials: there a step of the AR(1) is the
    diagonal memory^degree, and multiplication by phi^2 has five bands.
    """
    P, law = transitions(alpha, Q)
    X, m = len(Q), np.array(minima)
    root = np.sqrt(np.arange(1.0, degrees + 3))
    phi = np.diag(root, 1) + np.diag(root, -1)
    square = (phi @ phi)[:degrees, :degrees]
    keep = np.eye(degrees) - epsilon * square
    fade = memory ** np.arange(degrees)
    one = np.eye(degrees)[0]
    # M -> sum_i P_ij fade (...): all modes side by side
    means = np.kron(P.T, fade[:, np.newaxis] * keep)
    push = np.concatenate([fade * (epsilon * square @ one)] * X).reshape(X, degrees)
    pushed = np.einsum("ij,i,id->jd", P, law * m, push).ravel()
    M1 = np.linalg.solve(np.eye(X * degrees) - means, pushed).reshape(X, degrees)
    seconds = np.kron(P.T, fade[:, np.newaxis] * (keep @ keep))
    own = []
    for i in range(X):
        crossed = 2.0 * epsilon * m[i] * (keep @ square) @ M1[i]
        settled = law[i] * (epsilon**2 * m[i] ** 2 * square @ square + epsilon**2 * noise * square) @ one
        own.append(fade * (crossed + settled))
    M2 = np.linalg.solve(np.eye(X * degrees) - seconds, (P.T @ np.array(own)).ravel()).reshape(X, degrees)
    return float(M2[:, 0].sum() - 2.0 * m @ M1[:, 0] + law @ m**2)


def sign_error_law(epsilon: float, alpha: float, Q: list[list[float]], minima: tuple[float, ...], noise: float, cells: int = 600) -> tuple[Array, Array]:  # fmt: skip
    """Return a grid of theta and the stationary density of (theta, x), (cells, X), of LMS that sees the sign of its error only.

    A step adds epsilon y, y = phi sign(phi (m - theta) + n); with phi standard normal y has the skew normal density
    2 f(y) F(y (m - theta)/sqrt(noise)), f and F those of the normal law.
    """
    from scipy.special import ndtr

    P, _ = transitions(alpha, Q)
    reach = 6.0 * np.sqrt(epsilon) + 6.0 * epsilon
    grid, h = np.linspace(min(minima) - reach, max(minima) + reach, cells, retstep=True)
    y = (grid[:, np.newaxis] - grid) / epsilon  # from column to row
    bell = np.exp(-0.5 * y * y) / (np.sqrt(2.0 * np.pi) * epsilon) * h
    X = len(minima)
    T = np.zeros((X * cells, X * cells))
    for i, m in enumerate(minima):
        kernel = 2.0 * bell * ndtr(y * (m - grid) / np.sqrt(noise))
        for j in range(X):
            T[j * cells : (j + 1) * cells, i * cells : (i + 1) * cells] = P[i, j] * kernel
    system = np.eye(X * cells) - T
    system[0] = 1.0
    found = np.linalg.solve(system, np.eye(X * cells)[0]).reshape(X, cells).T
    return grid, found


def sign_error(epsilon: float, alpha: float, Q: list[list[float]], minima: tuple[float, ...], noise: float, cells: int = 600) -> float:  # fmt: skip
    """Return the stationary mean square error of sign-error LMS."""
    grid, law = sign_error_law(epsilon, alpha, Q, minima, noise, cells)
    away = (grid[:, np.newaxis] - np.array(minima)) ** 2
    return float((law * away).sum())


def decreasing_errors(step: DecreasingStep, alpha: float, steps: int) -> Array:
    """Return E(theta_k - m_x)^2 for k < steps: minima -1 and 1, curvature, gradient noise and rate 1, start 0.

    By symmetry only V = E theta^2 and c = E theta m_x are needed.
    """
    V, c, lam = 0.0, 0.0, 1.0 - 2.0 * alpha
    found = np.empty(steps)
    for k in range(steps):
        found[k] = V - 2.0 * c + 1.0
        e = step.epsilon * (step.offset / (step.offset + k)) ** step.power
        V = (1.0 - e) ** 2 * V + 2.0 * (1.0 - e) * e * c + e * e * 2.0  # (e m)^2 and the noise (e z)^2
        c = lam * ((1.0 - e) * c + e)
    return found
