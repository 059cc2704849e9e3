"""Skew matrices and the pairs i > j that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Integers


SYMMETRY = 1e-10  # relative asymmetry of H that is still put down to rounding


def pairs(N: int) -> Integers:
    """Index pairs (i, j), i > j, in the order of every per-pair array; shape (P, 2).

    >>> from tracker import skew
    >>> skew.pairs(3).tolist()
    [[1, 0], [2, 0], [2, 1]]
    """
    return np.column_stack(np.tril_indices(N, -1)).astype(np.int64)


def basis(i: int, j: int, N: int) -> Array:
    """E_ij = e_i e_j' - e_j e_i', shape (N, N): the derivative of S in S(i, j).

    >>> from tracker import skew
    >>> skew.basis(1, 0, 2).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    if i == j or not (0 <= i < N and 0 <= j < N):
        raise ValueError(f"pair: ({i}, {j}) must be two different indices from 0 to {N - 1}")
    E = np.zeros((N, N))
    E[i, j], E[j, i] = 1.0, -1.0
    return E


def from_pairs(values: ArrayLike, N: int) -> Array:
    """S = sum of values_p E_p over the pairs p; values : shape (P,), S : shape (N, N).

    >>> from tracker import skew
    >>> skew.from_pairs([2.0], 2).tolist()
    [[0.0, -2.0], [2.0, 0.0]]
    """
    v = np.asarray(values, dtype=np.float64)
    if v.shape != (N * (N - 1) // 2,):
        raise ValueError(f"values: shape {v.shape} is not ({N * (N - 1) // 2},) for N = {N}")
    S = np.zeros((N, N))
    S[np.tril_indices(N, -1)] = v
    return skew_of_lower(S)


def to_pairs(S: ArrayLike) -> Array:
    """Entries below the diagonal, shape (P,): the inverse of `from_pairs`.

    >>> from tracker import skew
    >>> skew.to_pairs([[0.0, -2.0], [2.0, 0.0]])
    array([2.])
    """
    matrix = square(S, "S")
    return matrix[np.tril_indices(len(matrix), -1)]


def tridiagonal(values: ArrayLike) -> Array:
    """S with S(i+1, i) = values_i and zero elsewhere; values : shape (..., N-1).

    >>> from tracker import skew
    >>> skew.to_pairs(skew.tridiagonal([1.0, 2.0]))
    array([1., 0., 2.])
    """
    v = np.asarray(values, dtype=np.float64)
    if v.ndim < 1:
        raise ValueError(f"values: shape {v.shape} is not (..., N-1)")
    i = np.arange(v.shape[-1])
    lower = np.zeros((*v.shape[:-1], i.size + 1, i.size + 1))
    lower[..., i + 1, i] = v
    return skew_of_lower(lower)


def is_skew(S: ArrayLike) -> bool:
    """Whether S = -S' holds exactly (not up to rounding; nan is not skew).

    >>> from tracker import skew
    >>> skew.is_skew([[0.0, -2.0], [2.0, 0.0]])
    True
    """
    matrix = square(S, "S")
    return bool(np.array_equal(matrix, -matrix.T))


def clip(S: ArrayLike, lo: float, hi: float) -> Array:
    """Entries below the diagonal clipped to [lo, hi], then skew_of_lower: exactly skew.

    >>> from tracker import skew
    >>> skew.clip([[0.0, -2.0], [2.0, 0.0]], -1.0, 1.0).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    if not lo <= hi:
        raise ValueError(f"skew_bounds: [{lo}, {hi}] is empty")
    return skew_of_lower(np.tril(np.clip(square(S, "S"), lo, hi), -1))


def skew_of_lower(lower: Array) -> Array:
    """Return lower - lower': exactly skew, for a strictly lower triangular matrix (no -0.0)."""
    return np.asarray(lower - lower.swapaxes(-1, -2))


def square(matrix: Any, name: str) -> Array:
    """The array as float64, or a ValueError that names it."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name}: shape {array.shape} is not (N, N)")
    return array


def positive(H: ArrayLike) -> Array:
    """H made exactly symmetric, or a ValueError if it is not positive definite."""
    matrix = square(H, "H")
    if not np.isfinite(matrix).all() or not np.allclose(
        matrix, matrix.T, rtol=0.0, atol=SYMMETRY * np.abs(matrix).max()
    ):
        raise ValueError("H: must be finite and symmetric")
    symmetric = (matrix + matrix.T) / 2.0
    smallest = float(np.linalg.eigvalsh(symmetric)[0])
    if smallest <= 0.0:
        raise ValueError(f"H: must be positive definite; its smallest eigenvalue is {smallest:.6g}")
    return np.asarray(symmetric, dtype=np.float64)


def symmetric_eigenvalues(H: Array) -> Array:
    """Return the eigenvalues of a symmetric matrix, ascending, shape (N,): of a diagonal one without work of order N^3.

    >>> import numpy as np
    >>> from tracker import skew
    >>> skew.symmetric_eigenvalues(np.diag([2.0, 1.0])).tolist()
    [1.0, 2.0]
    """
    diagonal = np.diag(H)
    if np.count_nonzero(H) == np.count_nonzero(diagonal):
        return np.sort(diagonal)
    return np.asarray(np.linalg.eigvalsh(H))
