"""The leading eigenvalues of a generator: how fast a mode, or the switched world, forgets where it began.

Notes
-----
docs/mathematics, "Relaxation". Quadratic costs: on polynomials of degree d the generator is a matrix, and lower degrees do not
enter its eigenvalues; of one mode they are the sums of d eigenvalues of -(I + S) H. Other costs, N = 1 and 2: of the
finite-volume matrix at two resolutions, extrapolated (its order is 2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import LinearOperator, eigs, splu

from tracker.costs.facts import as_quadratic
from tracker.costs.minimise.search import global_minimisers
from tracker.limits.density_solvers import density_field
from tracker.limits.drift_field import Field
from tracker.limits.finite_volume import rate_matrix
from tracker.limits.grid_box import automatic_box
from tracker.limits.scope import OutOfScope
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic
from tracker.scenario.dwell_stages import stages_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

    Values = NDArray[np.complex128]

CELLS, MOST_CELLS = {1: 960, 2: 128}, {1: 3840, 2: 256}  # a side; half of them beside, to extrapolate
LARGEST_BLOCK = 600  # unknowns of a polynomial of one degree
HIGHEST_DEGREE = 12
SHIFT = 1e-2  # of the slowest scale: where the eigenvalues nearest to 0 are looked for
COARSE = 0.1  # two resolutions that differ by more: not resolved


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenvalues of a generator.

    eigenvalues : ndarray, shape (count,), complex, the largest real part first, which is 0
    gap : the slowest rate at which anything is forgotten: minus the second largest real part
    error : an estimate of the error of each eigenvalue; 0 for quadratic costs
    """

    eigenvalues: Values
    gap: float
    error: Array


def spectrum(scenario: Scenario, sampler: str, count: int = 6, mode: str | None = None) -> Spectrum:
    """Return the leading eigenvalues of the limit's generator: of one mode that lasts, or (None) of the switched world.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> round(tracker.limits.spectrum(scenario, "skewed", mode="one").gap, 6)
    1.5
    """
    if count < 2:
        raise ValueError(f"count: {count} must be at least 2: the first eigenvalue is 0")
    names = [each.name for each in scenario.modes]
    if mode is not None and mode not in names:
        raise ValueError(f"mode: {mode!r} is none of the scenario's: {', '.join(names)}")
    which = None if mode is None else names.index(mode) * stages_of(scenario)
    if all(as_quadratic(each.build()) is not None for each in scenario.modes):
        values = _quadratic(read_quadratic(scenario, sampler, of="limit").limit, which, count)
        return _spectrum(values, np.zeros(len(values)))
    field = density_field(scenario, sampler, "spectrum")
    if not np.isfinite(field.beta):
        raise OutOfScope('spectrum: beta = "inf" leaves no diffusion', "give a finite beta", sampler)
    return _spectrum(*_on_cells(field, which, count))


def relative(scenario: Scenario, sampler: str) -> float:
    """Return the largest alpha |q_ii| / (epsilon gap_i) over modes: how often a mode is left while theta settles in it.

    Small: theta settles long before the mode is left. Large: the mode is left before theta has settled.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> round(tracker.limits.relative(scenario, "skewed"), 4)
    1.0
    """
    if scenario.chain is None:
        raise OutOfScope("relative: without a chain no mode is ever left")
    keys = next((keys for keys in scenario.samplers if keys.name == sampler), None)
    rates = np.abs(np.diag(np.array(scenario.chain.Q, dtype=np.float64))) * scenario.chain.alpha
    gaps = [spectrum(scenario, sampler, 2, mode.name).gap for mode in scenario.modes]
    assert keys is not None  # spectrum refuses others
    return float(np.max(rates / (keys.epsilon * np.array(gaps))))


def _spectrum(values: Values, error: Array) -> Spectrum:
    return Spectrum(eigenvalues=values, gap=-float(values[1].real), error=error)


def _leading(values: Values, count: int) -> Values:
    """The largest real parts first, then from below in the imaginary part; rounding does not decide."""
    scale = float(np.abs(values).max(initial=1e-300))
    order = np.lexsort((values.imag, -np.round(values.real / scale, 10)))
    return np.asarray(values[order][:count])


# --- quadratic costs


def _quadratic(problem: SwitchedQuadratic, which: int | None, count: int) -> Values:
    if which is not None:
        problem = replace(
            problem,
            H=problem.H[[which]],
            m=problem.m[[which]],
            Sigma=problem.Sigma[[which]],
            Q=np.zeros((1, 1)),
            growth=None,
        )
    A, G = problem.A, (0.0 if which is not None else problem.ratio) * problem.Q
    found = np.linalg.eigvals(G).astype(np.complex128)
    for degree in range(1, HIGHEST_DEGREE + 1):
        if problem.X * comb(problem.n + degree - 1, degree) > LARGEST_BLOCK:
            break
        block = np.linalg.eigvals(_on_degree(A, G, degree))
        if degree <= 2 and not block.real.max() < 0.0:
            raise OutOfScope(
                f"spectrum: moments of degree {degree} grow, so nothing settles: the limit is unstable",
                "ask limits.stability for the largest stable step and S",
            )
        known = np.sort(found.real)[::-1]
        if len(known) >= count and block.real.max() < known[count - 1]:
            break  # a higher degree dies out faster yet
        if not block.real.max() < 0.0:
            break  # the stationary law has no such moments
        found = np.concatenate([found, block])
    return _leading(found, count)


def _on_degree(A: Array, G: Array, degree: int) -> Array:
    """Return the generator on homogeneous polynomials of one degree, (X monomials)^2, less what leads to lower degrees."""
    X, n = len(A), A.shape[1]
    monomials = list(combinations_with_replacement(range(n), degree))
    place = {each: k for k, each in enumerate(monomials)}
    size = len(monomials)
    L: Array = np.kron(G, np.eye(size)).astype(np.float64)
    for i in range(X):
        for column, each in enumerate(monomials):
            for position, a in enumerate(each):  # -(A x)_a d/dx_a, one factor after the other
                rest = each[:position] + each[position + 1 :]
                for b in range(n):
                    row = place[tuple(sorted((*rest, b)))]
                    L[i * size + row, i * size + column] -= A[i, a, b]
    return L


# --- any cost, on cells


def _on_cells(field: Field, which: int | None, count: int) -> tuple[Values, Array]:
    if which is not None:
        field = replace(
            field, costs=(field.costs[which],), names=field.names[:1], stages=1, Q=np.zeros((1, 1)), initial=np.ones(1)
        )
    wells = np.vstack([global_minimisers(cost, field.mean).wells for cost in field.costs])
    # the start has no part in it: a wide one would only coarsen the cells
    box = automatic_box(replace(field, mean=wells[0], covariance=np.zeros_like(field.covariance)), wells)
    n = CELLS[len(box)]
    coarse, fine = (_near_zero(field, box, cells, count) for cells in (n // 2, n))
    while not _agree(coarse, fine) and 2 * n <= MOST_CELLS[len(box)]:
        n *= 2
        coarse, fine = fine, _near_zero(field, box, n, count)
    nearest = _nearest(coarse, fine)
    error = np.abs(fine - nearest) / 3.0
    if not _agree(coarse, fine):
        raise OutOfScope(
            f"spectrum: {n} cells a side do not resolve the eigenvalues: {3.0 * error.max():.2g} from those of half as many",
            "ask for fewer of them (count=), or use limits.escape",
        )
    values = (4.0 * fine - nearest) / 3.0
    values[0] = 0.0
    return _leading(values, count), error


def _nearest(coarse: Values, fine: Values) -> Values:
    return np.array([coarse[np.abs(coarse - value).argmin()] for value in fine])


def _agree(coarse: Values, fine: Values) -> bool:
    far = np.abs(fine - _nearest(coarse, fine))
    return bool(np.all(far <= COARSE * np.maximum(np.abs(fine), np.abs(fine[1]))))


def _near_zero(field: Field, box: Array, cells: int, count: int) -> Values:
    """The eigenvalues nearest to 0 of the finite-volume matrix, by inverse iteration."""
    L = csc_array(rate_matrix(field, box, cells).T)
    side = float((box[:, 1] - box[:, 0]).max())
    shift = SHIFT / (field.beta * side * side)  # the slowest diffusion across the box, and less
    factored = splu(csc_array(shift * eye_array(L.shape[0]) - L))
    inverse = LinearOperator(L.shape, matvec=factored.solve, dtype=np.float64)
    start = np.random.Generator(np.random.SFC64(0)).standard_normal(L.shape[0])
    found = eigs(inverse, k=min(count + 2, L.shape[0] - 2), which="LM", v0=start, return_eigenvectors=False)
    return _leading(np.asarray(shift - 1.0 / found), count)
