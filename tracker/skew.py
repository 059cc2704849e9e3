"""Algebra of skew matrices: the S in the drift -(I + S) grad C.

For a quadratic cost with Hessian H the drift matrix is (I + S) H, similar to
H + A with A = H^{1/2} S H^{1/2} skew.  In an orthonormal basis psi and for
positive distinct weights l_k the choice

    A_jk = H_jk (l_j + l_k) / (l_j - l_k)

makes X = diag(l) solve (H + A) X + X (H + A)' = 2 m X as soon as every
psi_k' H psi_k equals m = tr(H) / N; then H + A is m I plus a matrix similar to
a skew one, and every eigenvalue has real part m, the largest gap any S can
give (Lelievre, Nier, Pavliotis 2013).  `optimal` and `best_for_step` differ
only in the weights.

Sums over S run over the pairs i > j in the order (2,1), (3,1), (3,2), (4,1)...
of the paper, counted from 0 here.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    Matrix = NDArray[np.float64]

SYMMETRY = 1e-10  # relative asymmetry of H that is still put down to rounding
WEIGHT_RATIO = 2.0  # l_k = 2^k: see `optimal`
POWERS, CONVERGED = 1000, 1e-8  # of the power iteration for a radius: at most so many steps, to this accuracy
SCANNED, SCANS = 32, 5  # steps looked at at once, and how often between two of them again: to 1e-6
ROUNDING = 1e-15  # of the largest eigenvalue: of a smaller one not even the sign is known
STABLE = 1.0 - 1e-12  # beyond this radius a Lyapunov solve is noise


def pairs(N: int) -> NDArray[np.int64]:
    """Index pairs (i, j), i > j, in the order of every per-pair array; shape (P, 2)."""
    return np.column_stack(np.tril_indices(N, -1)).astype(np.int64)


def basis(i: int, j: int, N: int) -> Matrix:
    """E_ij = e_i e_j' - e_j e_i', shape (N, N): the derivative of S in S(i, j)."""
    if i == j or not (0 <= i < N and 0 <= j < N):
        raise ValueError(f"pair: ({i}, {j}) must be two different indices from 0 to {N - 1}")
    E = np.zeros((N, N))
    E[i, j], E[j, i] = 1.0, -1.0
    return E


def from_pairs(values: ArrayLike, N: int) -> Matrix:
    """S = sum of values_p E_p over the pairs p; values : shape (P,), S : shape (N, N)."""
    v = np.asarray(values, dtype=np.float64)
    if v.shape != (N * (N - 1) // 2,):
        raise ValueError(f"values: shape {v.shape} is not ({N * (N - 1) // 2},) for N = {N}")
    S = np.zeros((N, N))
    S[np.tril_indices(N, -1)] = v
    return _mirrored(S)


def to_pairs(S: ArrayLike) -> NDArray[np.float64]:
    """Entries below the diagonal, shape (P,): the inverse of `from_pairs`."""
    matrix = _square(S, "S")
    return matrix[np.tril_indices(len(matrix), -1)]


def tridiagonal(values: ArrayLike) -> Matrix:
    """S with S(i+1, i) = values_i and zero elsewhere; values : shape (N-1,)."""
    v = np.asarray(values, dtype=np.float64)
    if v.ndim != 1:
        raise ValueError(f"values: shape {v.shape} is not (N-1,)")
    return _mirrored(np.diag(v, -1))


def is_skew(S: ArrayLike) -> bool:
    """Whether S = -S' holds exactly (not up to rounding; nan is not skew)."""
    matrix = _square(S, "S")
    return bool(np.array_equal(matrix, -matrix.T))


def clip(S: ArrayLike, lo: float, hi: float) -> Matrix:
    """Entries below the diagonal clipped to [lo, hi], then mirrored: exactly skew."""
    if not lo <= hi:
        raise ValueError(f"skew_bounds: [{lo}, {hi}] is empty")
    return _mirrored(np.tril(np.clip(_square(S, "S"), lo, hi), -1))


def optimal(H: ArrayLike) -> Matrix:
    """S for which every eigenvalue of (I + S) H has real part tr(H) / N.

    Notes
    -----
    Any distinct weights will do.  Powers of two keep S smaller, hence the
    stability limit larger, than the weights 1, ..., N.
    """
    return _balancing(_positive(H), np.log(WEIGHT_RATIO))


def spectral_gap(H: ArrayLike, S: ArrayLike) -> float:
    """Smallest real part of the eigenvalues of (I + S) H."""
    return float(_eigenvalues(H, S).real.min())


def contraction(H: ArrayLike, S: ArrayLike, epsilon: float) -> float:
    """Spectral radius of I - epsilon (I + S) H."""
    return float(np.abs(1.0 - epsilon * _eigenvalues(H, S)).max())


def stability_limit(H: ArrayLike, S: ArrayLike) -> float:
    """Supremum of the steps epsilon with contraction below 1; 0 if there is none, nan where rounding hides it.

    Notes
    -----
    |1 - epsilon l| < 1 for every eigenvalue l of (I + S) H, that is
    epsilon < 2 Re l / |l|^2.  With additive noise the covariance obeys
    X <- B X B' + const, whose radius is contraction^2: stability in mean square
    is the same condition.  Where each step has a Hessian of its own, see
    `independent_limit` and `cyclic_limit`.
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
    """
    from scipy.linalg import solve_continuous_lyapunov

    B = _drifts(hessians, S)
    A = B.mean(axis=0)
    least = _least(np.linalg.eigvals(A).astype(np.complex128))
    if not least > 0.0:
        return least if np.isnan(least) else 0.0
    X, radius = np.eye(len(A)), 0.0
    for _ in range(POWERS):
        last = radius
        X = solve_continuous_lyapunov(A, np.tensordot(B @ X, B, axes=([0, 2], [0, 2])) / len(B))
        radius = float(np.linalg.norm(X))
        X = X / radius
        if abs(radius - last) <= CONVERGED * radius:
            break
    return 1.0 / radius


def cyclic_limit(hessians: ArrayLike, S: ArrayLike) -> float:
    """First step where the product of I - epsilon (I + S) h over all Hessians h, in their order, stops contracting.

    Parameters
    ----------
    hessians : array_like, shape (n, N, N)
        They come one after the other, again and again. With additive noise mean-square stability is the same condition.
    """
    B = _drifts(hessians, S)
    low = stability_limit(B.mean(axis=0), np.zeros(B.shape[1:])) / SCANNED
    high = SCANNED**2 * low
    if not low > 0.0:
        return low
    for _ in range(SCANS):
        steps = np.geomspace(low, high, SCANNED)
        product = np.broadcast_to(np.eye(B.shape[1]), (SCANNED, *B.shape[1:]))
        with np.errstate(over="ignore", invalid="ignore"):
            for one in B:
                product = product - steps[:, np.newaxis, np.newaxis] * (one @ product)
        finite = np.isfinite(product).all(axis=(1, 2))
        radius = np.full(SCANNED, np.inf)
        radius[finite] = np.abs(np.linalg.eigvals(product[finite])).max(axis=1)
        first = int(np.argmax(radius >= 1.0))
        if not radius[first] >= 1.0:
            return float("inf")
        if first == 0:
            return float(low)
        low, high = steps[first - 1], steps[first]
    return float(low)


def _drifts(hessians: ArrayLike, S: ArrayLike) -> Matrix:
    """(I + S) h for each h, shape (n, N, N)."""
    matrix = _square(S, "S")
    return np.asarray((np.eye(len(matrix)) + matrix) @ np.asarray(hessians, dtype=np.float64))


def best_for_step(H: ArrayLike, epsilon: float) -> Matrix:
    """S with the smallest `contraction` at this step size.

    Notes
    -----
    No S contracts by less than |1 - epsilon tr(H) / N|, the mean eigenvalue.
    Weights l_k = exp(a k) approach that bound as a grows: at a = inf H + A is
    m I plus a nilpotent matrix.  Its multiple eigenvalue is ill-conditioned
    (rounding enters as the N-th root), so a is chosen by the radius that is
    really computed, and S = 0 and the scaled `optimal` S compete too: the
    result is never worse than either.
    """
    if not (np.isfinite(epsilon) and epsilon > 0.0):
        raise ValueError(f"epsilon: {epsilon} must be positive and finite")
    matrix = _positive(H)
    # min keeps the first of equals, so S = 0 wins where nothing is gained.
    return min(_candidates(matrix), key=lambda S: contraction(matrix, S, epsilon))


def stationary_covariance(
    H: ArrayLike, S: ArrayLike, epsilon: float, beta: float, noise: ArrayLike | None = None
) -> Matrix:
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
    eye = np.eye(len(_square(H, "H")))
    M = eye + _square(S, "S")
    injected = (2.0 * epsilon / beta) * eye
    if noise is not None:
        injected = injected + epsilon**2 * M @ _square(noise, "noise") @ M.T
    X = np.asarray(solve_discrete_lyapunov(eye - epsilon * M @ _square(H, "H"), injected))
    return np.asarray((X + X.T) / 2.0, dtype=np.float64)


def _candidates(H: Matrix) -> Iterator[Matrix]:
    """S = 0, the scaled `optimal` S, and the balanced S for growing weight ratios."""
    best = optimal(H)
    scaled = (scale * best for scale in np.linspace(0.0, 1.0, 21))
    graded = (_balancing(H, a) for a in np.append(np.geomspace(0.1, 40.0, 48), np.inf))
    return chain(scaled, graded)


def _balancing(H: Matrix, a: float) -> Matrix:
    """S of the module's formula for the weights l_k = exp(a k)."""
    values, vectors = np.linalg.eigh(H)
    psi = _equal_diagonal(values)
    k = np.arange(len(H))
    gap = (k[:, None] - k[None, :]).astype(np.float64)
    upper = np.triu_indices(len(H), 1)
    A = np.zeros_like(H)
    # (l_j + l_k) / (l_j - l_k) = coth(a (j - k) / 2): no overflow at any a.
    A[upper] = ((psi.T * values) @ psi)[upper] / np.tanh(a * gap[upper] / 2.0)
    A -= A.T
    root = vectors / np.sqrt(values)
    S = root @ psi @ A @ psi.T @ root.T
    return _mirrored(np.tril(S, -1))


def _equal_diagonal(values: NDArray[np.float64]) -> Matrix:
    """Orthogonal psi with psi_k' diag(values) psi_k = mean(values) for every k.

    N - 1 plane rotations: each takes the largest and the smallest remaining
    diagonal entry, which lie on both sides of the mean, and turns one into it.
    """
    N, mean = len(values), float(values.mean())
    K = np.diag(values - mean)
    psi = np.eye(N)
    left = list(range(N))
    while len(left) > 1:
        i = max(left, key=lambda n: K[n, n])
        j = min(left, key=lambda n: K[n, n])
        if i == j:  # every remaining entry is the mean already
            break
        turn = _zeroing_rotation(K[i, i], K[i, j], K[j, j])
        K[:, [i, j]] = K[:, [i, j]] @ turn
        K[[i, j], :] = turn.T @ K[[i, j], :]
        psi[:, [i, j]] = psi[:, [i, j]] @ turn
        left.remove(i)
    return psi


def _zeroing_rotation(a: float, b: float, d: float) -> Matrix:
    """Rotation whose first column (c, s) has a c^2 + 2 b c s + d s^2 = 0, given a d <= 0."""
    if a == 0.0:
        return np.eye(2)
    root = np.sqrt(max(b * b - a * d, 0.0))
    # s : c = -a : (b +- root), the sign without cancellation.
    column = np.array([b + np.copysign(root, b), -a])
    c, s = column / np.hypot(*column)
    return np.array([[c, -s], [s, c]])


def _eigenvalues(H: ArrayLike, S: ArrayLike) -> NDArray[np.complex128]:
    """Eigenvalues of (I + S) H, shape (N,)."""
    hessian, skew = _square(H, "H"), _square(S, "S")
    if hessian.shape != skew.shape:
        raise ValueError(f"S: shape {skew.shape} does not fit H of shape {hessian.shape}")
    return np.linalg.eigvals(hessian + skew @ hessian).astype(np.complex128)


def _mirrored(lower: Matrix) -> Matrix:
    """Return lower - lower': exactly skew, for a strictly lower triangular matrix (no -0.0)."""
    return lower - lower.T


def _square(matrix: Any, name: str) -> Matrix:
    """The array as float64, or a ValueError that names it."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name}: shape {array.shape} is not (N, N)")
    return array


def _positive(H: ArrayLike) -> Matrix:
    """H made exactly symmetric, or a ValueError if it is not positive definite."""
    matrix = _square(H, "H")
    if not np.isfinite(matrix).all() or not np.allclose(
        matrix, matrix.T, rtol=0.0, atol=SYMMETRY * np.abs(matrix).max()
    ):
        raise ValueError("H: must be finite and symmetric")
    symmetric = (matrix + matrix.T) / 2.0
    smallest = float(np.linalg.eigvalsh(symmetric)[0])
    if smallest <= 0.0:
        raise ValueError(f"H: must be positive definite; its smallest eigenvalue is {smallest:.6g}")
    return np.asarray(symmetric, dtype=np.float64)
