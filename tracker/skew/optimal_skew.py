"""Find the skew matrix S that contracts fastest.

For a quadratic cost with Hessian H the drift matrix is (I + S) H, similar to
H + A with A = H^{1/2} S H^{1/2} skew.  In an orthonormal basis psi and for
positive distinct weights l_k the choice

    A_jk = H_jk (l_j + l_k) / (l_j - l_k)

makes X = diag(l) solve (H + A) X + X (H + A)' = 2 m X as soon as every
psi_k' H psi_k equals m = tr(H) / N; then H + A is m I plus a matrix similar to
a skew one, and every eigenvalue has real part m, the largest gap any S can
give (Lelievre, Nier, Pavliotis 2013).  `optimal` and `best_for_step` differ
only in the weights.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tracker.skew.contraction_rates import contraction
from tracker.skew.matrices import positive, skew_of_lower

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from tracker.array_types import Array


WEIGHT_RATIO = 2.0  # l_k = 2^k: see `optimal`


def optimal(H: ArrayLike) -> Array:
    """S for which every eigenvalue of (I + S) H has real part tr(H) / N.

    Notes
    -----
    Any distinct weights will do.  Powers of two keep S smaller, hence the
    stability limit larger, than the weights 1, ..., N.

    Examples
    --------
    >>> from tracker import skew
    >>> H = [[4.0, 0.0], [0.0, 1.0]]
    >>> round(skew.spectral_gap(H, skew.optimal(H)), 12)
    2.5
    """
    return _balancing(positive(H), np.log(WEIGHT_RATIO))


def best_for_step(H: ArrayLike, epsilon: float) -> Array:
    """S with the smallest `contraction` at this step size.

    Notes
    -----
    No S contracts by less than ``|1 - epsilon tr(H) / N|``, the mean eigenvalue.
    Weights l_k = exp(a k) approach that bound as a grows: at a = inf H + A is
    m I plus a nilpotent matrix.  Its multiple eigenvalue is ill-conditioned
    (rounding enters as the N-th root), so a is chosen by the radius that is
    really computed, and S = 0 and the scaled `optimal` S compete too: the
    result is never worse than either.

    Examples
    --------
    >>> from tracker import skew
    >>> H = [[4.0, 0.0], [0.0, 1.0]]
    >>> round(skew.contraction(H, skew.best_for_step(H, 0.1), 0.1), 6)
    0.75
    """
    if not (np.isfinite(epsilon) and epsilon > 0.0):
        raise ValueError(f"epsilon: {epsilon} must be positive and finite")
    matrix = positive(H)
    # min keeps the first of equals, so S = 0 wins where nothing is gained.
    return min(_candidates(matrix), key=lambda S: contraction(matrix, S, epsilon))


def _candidates(H: Array) -> Iterator[Array]:
    """S = 0, the scaled `optimal` S, and the balanced S for growing weight ratios."""
    best = optimal(H)
    scaled = (scale * best for scale in np.linspace(0.0, 1.0, 21))
    graded = (_balancing(H, a) for a in np.append(np.geomspace(0.1, 40.0, 48), np.inf))
    return chain(scaled, graded)


def _balancing(H: Array, a: float) -> Array:
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
    return skew_of_lower(np.tril(S, -1))


def _equal_diagonal(values: Array) -> Array:
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


def _zeroing_rotation(a: float, b: float, d: float) -> Array:
    """Rotation whose first column (c, s) has a c^2 + 2 b c s + d s^2 = 0, given a d <= 0."""
    if a == 0.0:
        return np.eye(2)
    root = np.sqrt(max(b * b - a * d, 0.0))
    # s : c = -a : (b +- root), the sign without cancellation.
    column = np.array([b + np.copysign(root, b), -a])
    c, s = column / np.hypot(*column)
    return np.array([[c, -s], [s, c]])
