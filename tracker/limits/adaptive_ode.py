"""The limit of Algorithm 1 without injected noise (beta = inf): an ODE for theta, D and S, with projection.

docs/mathematics, "Adaptive path", with g = grad C(theta), h = Hess C(theta), i > j:

    theta'   = -(I + S) g
    D^ij'    = -(I + S) h D^ij - E_ij g
    S(i,j)'  = Proj[-kappa g'D^ij]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.skew import from_pairs, pairs, to_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Booleans


RTOL, ATOL = 1e-12, 1e-13
LOOKS = 8  # places in a step where an arrival or a return is looked for
TOUCH = 1e-13  # an S beyond its bound by less is at the bound
BISECTIONS = 60
MOST_STEPS = 1_000_000


@dataclass(frozen=True, eq=False)
class AdaptivePath:
    """The path at given times, the leading axis.

    times : ndarray, shape (T,)
    theta : ndarray, shape (T, N)
    tangent : ndarray, shape (T, pairs, N), D^ij in the order (2,1), (3,1), (3,2), (4,1), ...
    skew : ndarray, shape (T, N, N)
    """

    times: Array
    theta: Array
    tangent: Array
    skew: Array


@dataclass(frozen=True, eq=False)
class _Flow:
    """The right-hand side; the state is theta, D row after row, S by pairs."""

    gradient: Callable[[Array], ArrayLike]
    hessian: Callable[[Array], ArrayLike]
    kappa: float
    N: int

    def parts(self, y: Array) -> tuple[Array, Array, Array]:
        N, P = self.N, self.N * (self.N - 1) // 2
        return y[:N], y[N : N + P * N].reshape(P, N), y[N + P * N :]

    def rates(self, y: Array) -> tuple[Array, Array, Array]:
        """theta', D' and the free velocity of S."""
        theta, D, s = self.parts(y)
        g = np.asarray(self.gradient(theta), dtype=np.float64).reshape(self.N)
        h = np.asarray(self.hessian(theta), dtype=np.float64).reshape(self.N, self.N)
        M = np.eye(self.N) + from_pairs(s, self.N)
        i, j = pairs(self.N).T
        turn = np.zeros_like(D)
        rows = np.arange(len(D))
        turn[rows, i] = g[j]  # E_ij g = e_i g_j - e_j g_i
        turn[rows, j] = -g[i]
        return -M @ g, -D @ (M @ h).T - turn, -self.kappa * (D @ g)

    def rate(self, held: Booleans, t: float, y: Array) -> Array:  # noqa: ARG002  (no explicit time)
        """The state's derivative while the S(i, j) in ``held`` stay where they are."""
        theta, D, s = self.rates(y)
        return np.concatenate([theta, D.ravel(), np.where(held, 0.0, s)])


def adaptive_path(
    gradient: Callable[[Array], ArrayLike],
    hessian: Callable[[Array], ArrayLike],
    theta0: ArrayLike,
    skew0: ArrayLike,
    kappa: float,
    times: ArrayLike,
    bounds: tuple[float, float] | None = None,
) -> AdaptivePath:
    """Return theta, D and S of Algorithm 1's limit at beta = inf, from D = 0.

    Parameters
    ----------
    gradient, hessian : callables
        Of theta, shape (N,), giving shapes (N,) and (N, N).
    theta0 : array_like, shape (N,)
    skew0 : array_like
        S at time 0: shape (N, N), or its entries by pairs (2,1), (3,1), (3,2), ...
    kappa : float
        skew_step / epsilon; 0 keeps S as it is, and D is then the derivative of theta in S.
    times : array_like
        Increasing, from 0 on.
    bounds : pair of floats, optional
        Low and high bound of every S(i, j), i > j; S at time 0 is clipped into them.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker import limits
    >>> H = np.diag([4.0, 1.0])
    >>> path = limits.adaptive_path(lambda x: H @ x, lambda x: H, [1.0, 1.0], [0.0], kappa=1.0, times=[0.0, 1.0])
    >>> path.theta.round(4)
    array([[1.    , 1.    ],
           [0.035 , 0.3434]])
    """
    theta = np.atleast_1d(np.asarray(theta0, dtype=np.float64))
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if not np.all(np.isfinite(at)) or np.any(np.diff(at) < 0) or at[0] < 0:
        raise ValueError(f"times: {at.tolist()} must be finite, >= 0 and increasing")
    low, high = (-np.inf, np.inf) if bounds is None else (float(bounds[0]), float(bounds[1]))
    if not low <= high:
        raise ValueError(f"bounds: low = {low:g} must not exceed high = {high:g}")
    N = len(theta)
    flow = _Flow(gradient, hessian, float(kappa), N)
    s = np.clip(_by_pairs(skew0, N), low, high)
    y = _integrate(flow, np.concatenate([theta, np.zeros(len(s) * N), s]), at, low, high)
    split = [flow.parts(row) for row in y]
    return AdaptivePath(
        times=at,
        theta=np.array([part[0] for part in split]),
        tangent=np.array([part[1] for part in split]),
        skew=np.array([from_pairs(np.clip(part[2], low, high), N) for part in split]),
    )


def _by_pairs(skew0: ArrayLike, N: int) -> Array:
    S = np.asarray(skew0, dtype=np.float64)
    if S.shape == (N, N) and N > 1:
        if not np.allclose(S, -S.T, rtol=0, atol=1e-12 * max(1.0, float(np.abs(S).max()))):
            raise ValueError("skew0: not skew: S + S' must be 0")
        return to_pairs(S)
    return np.asarray(S.reshape(-1) if N > 1 else np.zeros(0))


def _integrate(flow: _Flow, y: Array, at: Array, low: float, high: float) -> Array:
    from scipy.integrate import DOP853

    out = np.empty((len(at), len(y)))
    t, done = 0.0, int(np.sum(at <= 0.0))
    out[:done] = y
    held = _outward(flow, y, low, high, np.zeros(len(flow.parts(y)[2]), dtype=bool))
    solver: Any = None
    for _ in range(MOST_STEPS):
        if done == len(at):
            return out
        if solver is None:
            solver = DOP853(partial(flow.rate, held), t, y, at[-1], rtol=RTOL, atol=ATOL)
        problem = solver.step()
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            raise ArithmeticError(f"adaptive_path: no solution beyond t = {solver.t:.6g} ({problem or 'not finite'})")
        path = solver.dense_output()
        end = _first_change(flow, path, solver.t_old, solver.t, held, low, high)
        stop = solver.t if end is None else end
        while done < len(at) and at[done] <= stop:
            out[done] = path(at[done]) if at[done] < solver.t else solver.y
            done += 1
        if end is not None:
            t, y = end, path(end)
            held = _settle(flow, y, held, low, high)
            solver = None
    raise ArithmeticError(f"adaptive_path: more than {MOST_STEPS} steps")


def _changes(flow: _Flow, y: Array, held: Booleans, low: float, high: float) -> Booleans:
    """Which S(i, j) have passed a bound, or would turn back from the one they are held at."""
    s, velocity = flow.parts(y)[2], flow.rates(y)[2]
    inward = np.where(np.abs(s - low) <= np.abs(s - high), velocity, -velocity)
    passed = (s > high + TOUCH) | (s < low - TOUCH)
    return np.where(held, inward > TOUCH, passed)


def _first_change(
    flow: _Flow, path: Any, t0: float, t1: float, held: Booleans, low: float, high: float
) -> float | None:
    """The first time in (t0, t1] at which the set of held S(i, j) must change, or None."""
    if not (np.isfinite(low) or np.isfinite(high)):
        return None
    looks = np.linspace(t0, t1, LOOKS + 1)
    for before, after in zip(looks[:-1].tolist(), looks[1:].tolist(), strict=True):
        if _changes(flow, path(after), held, low, high).any():
            return _bisected(flow, path, before, after, held, low, high)
    return None


def _bisected(flow: _Flow, path: Any, before: float, after: float, held: Booleans, low: float, high: float) -> float:
    """The first change, known to lie between two times, from its later side."""
    for _ in range(BISECTIONS):
        middle = (before + after) / 2
        if _changes(flow, path(middle), held, low, high).any():
            after = middle
        else:
            before = middle
    return after


def _settle(flow: _Flow, y: Array, held: Booleans, low: float, high: float) -> Booleans:
    """Put the S(i, j) that have passed a bound onto it, in place; return which are held from now on."""
    changed = _changes(flow, y, held, low, high)
    s = flow.parts(y)[2]
    s[:] = np.clip(s, low, high)
    return np.where(changed, ~held, held)


def _outward(flow: _Flow, y: Array, low: float, high: float, held: Booleans) -> Booleans:
    """Which S(i, j) begin at a bound and do not leave it inwards (at D = 0 the velocity is 0: held until it is not)."""
    s, velocity = flow.parts(y)[2], flow.rates(y)[2]
    return np.asarray(held | ((s <= low) & (velocity <= 0)) | ((s >= high) & (velocity >= 0)))
