"""Contraction of a step, the largest stable step, and the stationary covariance, for one mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.skew.matrices import square, symmetric_eigenvalues

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from tracker.array_types import Array


POWERS, CONVERGED = 1000, 1e-8  # of the power iteration for a radius: at most so many steps, to this accuracy
SCANNED, NARROWED = 32, 2e-7  # steps looked at at once, and how far the interval between two of them is halved
ROUNDING = 1e-15  # of the largest eigenvalue: of a smaller one not even the sign is known
MANY = 64  # coordinates, beyond which it pays that H alone is symmetric
TOGETHER = 200_000  # numbers in the factors of a product that are multiplied at once
LARGE = 40  # dimensions beyond which a matrix of size N^2 takes more memory than it saves time
LARGEST_TURNING = 300  # coordinates, beyond which a matrix that is not symmetric takes seconds in one unbroken call
STABLE = 1.0 - 1e-12  # beyond this radius a Lyapunov solve is noise


def spectral_gap(H: ArrayLike, S: ArrayLike) -> float:
    """Smallest real part of the eigenvalues of (I + S) H.

    >>> from tracker import skew
    >>> skew.spectral_gap([[4.0, 0.0], [0.0, 1.0]], [[0.0, -1.0], [1.0, 0.0]])
    2.5
    """
    return float(_eigenvalues(H, S).real.min())


def contraction(H: ArrayLike, S: ArrayLike, epsilon: float) -> float:
    """Spectral radius of I - epsilon (I + S) H.

    >>> from tracker import skew
    >>> skew.contraction([[4.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], epsilon=0.25)
    0.75
    """
    return float(np.abs(1.0 - epsilon * _eigenvalues(H, S)).max())


def stability_limit(H: ArrayLike, S: ArrayLike) -> float:
    """Supremum of the steps epsilon with contraction below 1; 0 if there is none, nan where rounding hides it.

    Notes
    -----
    ``|1 - epsilon l| < 1`` for every eigenvalue l of (I + S) H, that is
    ``epsilon < 2 Re l / |l|^2``.  With additive noise the covariance obeys
    X <- B X B' + const, whose radius is contraction^2: stability in mean square
    is the same condition.  Where each step has a Hessian of its own, see
    `independent_limit` and `cyclic_limit`.

    Examples
    --------
    >>> from tracker import skew
    >>> skew.stability_limit([[4.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]])
    0.5
    """
    values = _eigenvalues(H, S)
    least = _least(values)
    if not least > 0.0:
        return least if np.isnan(least) else 0.0
    return float((2.0 * values.real / np.abs(values) ** 2).min())


def _least(values: NDArray[np.complex128]) -> float:
    """The smallest real part; nan where rounding hides its sign."""
    least = float(values.real.min())
    return least if abs(least) > ROUNDING * float(np.abs(values).max()) else float("nan")


def independent_limit(hessians: ArrayLike, S: ArrayLike) -> float:
    """Supremum of the mean-square stable steps where each step draws one of the Hessians; 0 if there is none, nan if hidden.

    Parameters
    ----------
    hessians : array_like, shape (n, N, N)
        Equally likely, drawn independently at each step.

    Notes
    -----
    The covariance obeys X <- X - epsilon (A X + X A') + epsilon^2 E[B X B'], B = (I + S) h and A = E B. The map keeps
    the cone of covariances, so its radius is an eigenvalue, and it reaches 1 where A X + X A' = epsilon E[B X B'] has a
    solution X in the cone: at epsilon = 1 / radius of L^-1 E, where L X = A X + X A' and E X = E[B X B'].

    Examples
    --------
    >>> from tracker import skew
    >>> round(skew.independent_limit([[[1.0]], [[3.0]]], [[0.0]]), 12)  # 2 E h / E h^2
    0.8
    """
    B = _drifts(hessians, S)
    return _mean_square_limit(B.mean(axis=0), _spreading(B))


def regressor_limit(H: ArrayLike, R: ArrayLike, S: ArrayLike) -> float:
    """First step that is not mean-square stable where H is the mean of phi phi', phi ~ N(0, R), and a constant H - R.

    Parameters
    ----------
    H, R, S : array_like, shape (N, N)

    Notes
    -----
    E[phi phi' X phi phi'] = 2 R X R + R tr(R X), so that a step adds R X R + R tr(R X) to what H X H adds.

    Examples
    --------
    >>> from tracker import skew
    >>> round(skew.regressor_limit([[1.0]], [[1.0]], [[0.0]]), 12)  # 2/3, a third of the limit of gradient descent
    0.666666666667
    """
    regressors, M = square(R, "R"), np.eye(len(square(S, "S"))) + square(S, "S")
    A = M @ square(H, "H")

    def spread(X: Array) -> Array:
        noise = regressors @ X @ regressors + regressors * np.trace(regressors @ X)
        return np.asarray(A @ X @ A.T + M @ noise @ M.T)

    return _mean_square_limit(A, spread)


def _mean_square_limit(A: Array, spread: Callable[[Array], Array]) -> float:
    """Return the first epsilon where X -> X - epsilon (A X + X A') + epsilon^2 spread(X) has radius 1; spread keeps covariances.

    nan where A is too large for it to be found within seconds.
    """
    least = _least(np.linalg.eigvals(A).astype(np.complex128))
    if not least > 0.0:
        return least if np.isnan(least) else 0.0
    symmetric = np.array_equal(A, A.T)
    if len(A) > LARGEST_TURNING and not symmetric:
        return np.nan
    solve = _by_eigenvalues(A) if symmetric else _by_schur(A)
    X: Array = np.eye(len(A))
    radius = 0.0
    for _ in range(POWERS):
        last = radius
        X = solve(spread(X))
        radius = float(np.linalg.norm(X))
        X = X / radius
        if abs(radius - last) <= CONVERGED * radius:
            break
    return 1.0 / radius


def _by_eigenvalues(A: Array) -> Callable[[Array], Array]:
    """Return the map C -> X with A X + X A = C, of a symmetric A."""
    rates, U = np.linalg.eigh(A)
    sums = rates[:, np.newaxis] + rates
    return lambda C: np.asarray(U @ ((U.T @ C @ U) / sums) @ U.T)


def _by_schur(A: Array) -> Callable[[Array], Array]:
    """Return the map C -> X with A X + X A' = C."""
    from scipy.linalg import solve_continuous_lyapunov

    return lambda C: np.asarray(solve_continuous_lyapunov(A, C), dtype=np.float64)


def _spreading(B: Array) -> Callable[[Array], Array]:
    """Return the map X -> E[B X B'] for equally likely B (n, N, N): one matrix of size N^2 where that is not too large."""
    n, N = B.shape[:2]
    if N > LARGE:
        return lambda X: np.asarray(np.tensordot(B @ X, B, axes=([0, 2], [0, 2])) / n)
    flat = B.reshape(n, N * N)
    second = (flat.T @ flat / n).reshape(N, N, N, N)  # E[B_ac B_bd]
    K = second.transpose(0, 2, 1, 3).reshape(N * N, N * N)
    return lambda X: (K @ X.reshape(-1)).reshape(N, N)


def cyclic_limit(hessians: ArrayLike, S: ArrayLike) -> float:
    """First step where the product of I - epsilon (I + S) h over all Hessians h, in their order, stops contracting.

    Parameters
    ----------
    hessians : array_like, shape (n, N, N)
        They come one after the other, again and again. With additive noise mean-square stability is the same condition.

    Examples
    --------
    >>> from tracker import skew
    >>> round(skew.cyclic_limit([[[1.0]], [[3.0]]], [[0.0]]), 6)  # (1 - e)(1 - 3e) = 1
    1.333333
    """
    B = _drifts(hessians, S)
    low = stability_limit(B.mean(axis=0), np.zeros(B.shape[1:])) / SCANNED
    high = SCANNED**2 * low
    if not low > 0.0:
        return low
    steps = np.geomspace(low, high, SCANNED)
    beyond = _radii(B, steps) >= 1.0
    first = int(np.argmax(beyond))
    if not beyond[first] or first == 0:
        return float(low) if beyond[first] else float("inf")
    low, high = steps[first - 1], steps[first]
    while high > (1.0 + NARROWED) * low:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if _radii(B, np.array([middle]))[0] >= 1.0 else (middle, high)
    return float(low)


def _radii(B: Array, steps: Array) -> Array:
    """Return the spectral radius of the product of I - epsilon B for each of ``steps``; inf where it overflows."""
    product, found = _products(B, steps), np.full(len(steps), np.inf)
    finite = np.isfinite(product).all(axis=(1, 2))
    found[finite] = np.abs(np.linalg.eigvals(product[finite])).max(axis=1)
    return found


def _products(B: Array, steps: Array) -> Array:
    """Return the product of I - epsilon B, the first of B (n, N, N) rightmost, for each of ``steps``: (steps, N, N)."""
    N = B.shape[1]
    together = max(1, TOGETHER // (len(steps) * N * N))
    product = np.broadcast_to(np.eye(N), (len(steps), N, N))
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(B), together):
            factors = np.eye(N) - steps[:, np.newaxis, np.newaxis] * B[first : first + together, np.newaxis]
            while len(factors) > 1:  # neighbours are multiplied all at once
                odd = factors[2 * (len(factors) // 2) :]
                factors = np.concatenate([factors[1::2] @ factors[: len(factors) - len(odd) : 2], odd])
            product = factors[0] @ product
    return product


def _drifts(hessians: ArrayLike, S: ArrayLike) -> Array:
    """(I + S) h for each h, shape (n, N, N)."""
    matrix = square(S, "S")
    return np.asarray((np.eye(len(matrix)) + matrix) @ np.asarray(hessians, dtype=np.float64))


def stationary_covariance(
    H: ArrayLike, S: ArrayLike, epsilon: float, beta: float, noise: ArrayLike | None = None
) -> Array:
    """Stationary covariance of the sampler on the cost theta' H theta / 2.

    Parameters
    ----------
    H, S : array_like, shape (N, N)
    epsilon, beta : float
        Step and inverse temperature; beta = inf injects no noise.
    noise : array_like, shape (N, N), optional
        Covariance of the gradient noise xi.

    Returns
    -------
    ndarray, shape (N, N)

    Raises
    ------
    ValueError
        If the recursion is not stable: the linear solve would return nonsense.

    Notes
    -----
    theta' = theta - epsilon (I + S)(H theta + xi) + sqrt(2 epsilon / beta) w, so
    X = B X B' + (2 epsilon / beta) I + epsilon^2 M noise M' with M = I + S and
    B = I - epsilon M H.

    Examples
    --------
    >>> from tracker import skew
    >>> skew.stationary_covariance([[2.0]], [[0.0]], epsilon=0.5, beta=1.0)
    array([[1.]])
    """
    from scipy.linalg import solve_discrete_lyapunov

    radius = contraction(H, S, epsilon)
    if not radius < STABLE:
        limit = stability_limit(H, S)
        raise ValueError(
            f"epsilon: {epsilon} is not stable: the spectral radius is {radius:.6g}, "
            f"and epsilon must be below {limit:.6g}"
        )
    if not beta > 0.0:
        raise ValueError(f"beta: {beta} must be positive")
    eye = np.eye(len(square(H, "H")))
    M = eye + square(S, "S")
    injected = (2.0 * epsilon / beta) * eye
    if noise is not None:
        injected = injected + epsilon**2 * M @ square(noise, "noise") @ M.T
    X = np.asarray(solve_discrete_lyapunov(eye - epsilon * M @ square(H, "H"), injected))
    return np.asarray((X + X.T) / 2.0, dtype=np.float64)


def _eigenvalues(H: ArrayLike, S: ArrayLike) -> NDArray[np.complex128]:
    """Eigenvalues of (I + S) H, shape (N,)."""
    hessian, skew = square(H, "H"), square(S, "S")
    if hessian.shape != skew.shape:
        raise ValueError(f"S: shape {skew.shape} does not fit H of shape {hessian.shape}")
    if len(skew) > MANY and not skew.any():
        return symmetric_eigenvalues(hessian).astype(np.complex128)
    return np.linalg.eigvals(hessian + skew @ hessian).astype(np.complex128)
