"""Decide whether a polynomial is bounded below. A cost that is not has no minimiser to track."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.costs.polynomial.expanded import Polynomial, monomials
from tracker.costs.polynomial.parser import FormulaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array

CERTAINLY_POSITIVE = 1e-7  # a leading form above this on the sphere is positive definite
CERTAINLY_NEGATIVE = 1e3  # times the rounding error: negative beyond doubt
GROWTH, LEVELS = 4.0, 10  # the boxes whose minima are compared
MOST_NUMBERS = 70_000  # (terms + variables) x variables of what is searched: about a second
SEARCH, CALL = 3000, 500  # a search, and evaluating a polynomial without any terms, in units of multiplying out
MOST_PAIRS_OF_AXES = 2000  # of axes, whose diagonals are tried
DROPS_THAT_SPEED_UP = 1.05  # each drop against the one before: t^q grows by 4^q

_work: ContextVar[int] = ContextVar("work", default=0)  # of the searches so far


def unbounded_below(poly: Polynomial) -> str | None:
    """Reason why the polynomial has no lower bound, or None if it appears to have one.

    Notes
    -----
    1. Along an axis, and for N = 1, the leading term decides exactly; so does an
       odd total degree.
    2. Let theta_i scale like t^(1/k_i), with theta_i^k_i its highest pure power
       (and, apart from that, all like t).  The leading form decides if it is
       positive definite (bounded) or negative somewhere (unbounded).
    3. Otherwise the form vanishes in some direction, as in (a - b)^2 - a, and the
       minima over boxes of radius R, 4R, 16R, ... are compared: a polynomial not
       bounded below falls like a power of the radius, by more at each box; one
       that is bounded, by less.  (Directions that the highest degrees do not
       feel at all come first: there the next degree decides.)
    Steps 1 and 2 prove what they say up to rounding and to the search for the
    form's minimum; step 3 is numerical evidence.
    """
    N = poly.exponents.shape[1]
    axes = [_leading_power(poly, i) for i in range(N)]
    for i, (k, c) in enumerate(axes):
        if k and (k % 2 or c < 0.0):
            return f"it falls like {-abs(c):.6g}*t^{k} along {_axis(i, N, k, c)}"
    if N < 2 or poly.degree == 0:
        return None
    if poly.degree % 2:
        return f"its total degree {poly.degree} is odd"
    scaled, unit = _balanced(poly, axes)
    for weights in _weightings(scaled, [k for k, _ in axes]):
        sign, direction = _form_sign(_leading_form(scaled, weights))
        if sign > 0:
            return None
        if sign < 0:
            return f"its leading form is negative along {_curve(direction * unit, weights)}"
    _refuse_if_large(scaled)
    return _flat(scaled, unit) or _falling(scaled, unit)


def judged_below(poly: Polynomial) -> tuple[str | None, int]:
    """Return what ``unbounded_below`` says, and how much work it was to find out, in units of multiplying out."""
    token = _work.set(0)
    try:
        return unbounded_below(poly), _work.get()
    finally:
        _work.reset(token)


def _add_work(more: int) -> None:
    _work.set(_work.get() + more)


def _refuse_if_large(poly: Polynomial) -> None:
    terms, N = poly.exponents.shape
    if (terms + N) * N > MOST_NUMBERS:
        raise FormulaError(
            f"formula: {terms} terms in {N} variables are too many to search for whether it is bounded below"
        )


def _leading_power(poly: Polynomial, i: int) -> tuple[int, float]:
    """Highest power of theta_i alone, and its coefficient; (0, 0) without one."""
    others = np.delete(poly.exponents, i, axis=1)
    pure = np.flatnonzero(~others.any(axis=1) & (poly.exponents[:, i] > 0))
    if not len(pure):
        return 0, 0.0
    top = pure[np.argmax(poly.exponents[pure, i])]
    return int(poly.exponents[top, i]), float(poly.coefficients[top])


def _axis(i: int, N: int, k: int, c: float) -> str:
    sign = "-t" if k % 2 and c > 0.0 else "t"
    return "(" + ", ".join(sign if n == i else "0" for n in range(N)) + ")"


def _curve(v: Array, weights: Array) -> str:
    powers = weights / weights.min()
    parts = (f"{x:.4g}*t" + (f"^{w:.3g}" if w > 1.0 else "") for x, w in zip(v, powers, strict=True))
    return "(" + ", ".join(parts) + ")"


def _balanced(poly: Polynomial, axes: list[tuple[int, float]]) -> tuple[Polynomial, Array]:
    """The polynomial in y, theta = unit * y, leading pure powers equal, largest term 1."""
    log_unit = np.array([-np.log(c) / k if k else 0.0 for k, c in axes])
    size = np.log(np.abs(poly.coefficients)) + poly.exponents @ log_unit
    change = poly.exponents.any(axis=1)  # the constant term says nothing about bounds
    size = np.exp(np.maximum(size[change] - size[change].max(), -600.0))  # never 0
    scaled = np.sign(poly.coefficients[change]) * size
    return Polynomial(poly.exponents[change], scaled), np.exp(log_unit)


def _weightings(poly: Polynomial, tops: list[int]) -> list[Array]:
    """Scalings theta_i ~ t^w_i to try: by pure powers if these dominate, and all alike."""
    alike = np.ones(len(tops))
    if 0 in tops or len(set(tops)) == 1:
        return [alike]
    weights = 1.0 / np.array(tops, np.float64)
    dominate = bool((poly.exponents @ weights).max() < 1.0 + 1e-9)
    return [weights, alike] if dominate else [alike]


def _leading_form(poly: Polynomial, weights: Array) -> Polynomial:
    order = poly.exponents @ weights
    top = order > order.max() - 1e-9
    size = np.abs(poly.coefficients[top]).max()
    return Polynomial(poly.exponents[top], poly.coefficients[top] / size)


def _form_sign(form: Polynomial) -> tuple[int, Array]:
    """Sign of the form's minimum on the unit sphere, 0 if too close to call; minimiser."""
    N = form.exponents.shape[1]
    if _is_sum_of_even_powers(form):
        return 1, np.zeros(N)  # no search, no scipy
    _refuse_if_large(form)
    starts = _thinned(_directions(N), form)
    best = starts[np.argsort(form.value(starts), kind="stable")[: _tries(form)]]

    beyond = float(np.abs(form.coefficients).sum())  # no value on the sphere is larger

    def on_sphere(x: Array) -> tuple[float, Array]:
        r = float(np.linalg.norm(x))
        if r == 0.0 or not np.isfinite(r):  # no direction: never a minimum
            return beyond, np.zeros(N)
        v = x / r
        f, g = _value_and_gradient(form, v)
        return f, (g - (g @ v) * v) / r

    # the box holds x: f does not depend on |x|, and a descent without bounds may carry it to 1e299
    found = [_minimise(on_sphere, x, form, 10.0) for x in best]
    found = [(f, x) for f, x in found if x.any()] or [(beyond, best[0])]
    _, x = min(found, key=lambda pair: pair[0])
    v = x / np.linalg.norm(x)
    value = float(form.value(v[None])[0])
    return (-1 if value < -CERTAINLY_NEGATIVE * _rounding(form, v) else int(value > CERTAINLY_POSITIVE)), v


def _is_sum_of_even_powers(poly: Polynomial) -> bool:
    """Tell whether only even powers stand in it, with positive factors, and one of every variable alone."""
    even = bool((poly.exponents % 2 == 0).all() and (poly.coefficients > 0.0).all())
    return even and int((poly.exponents.astype(bool).sum(axis=1) == 1).sum()) >= poly.exponents.shape[1]


def _flat(poly: Polynomial, unit: Array) -> str | None:
    """A direction along which the higher degrees stand still and the next one falls."""
    order, N = poly.exponents.sum(axis=1), len(unit)
    points = np.random.default_rng(1).standard_normal((3 * N, N))
    for k in range(poly.degree, 1, -1):
        high = Polynomial(poly.exponents[order >= k], poly.coefficients[order >= k])
        slopes = np.array([_value_and_gradient(high, x)[1] for x in points])
        _, singular, basis = np.linalg.svd(slopes / np.abs(slopes).max())
        still = basis[singular < 1e-10 * singular[0]]  # orthogonal to every gradient
        low = Polynomial(poly.exponents[order == k - 1], poly.coefficients[order == k - 1])
        if len(still) and len(low.coefficients):
            v = _thinned(_directions(len(still)), low) @ still
            values = low.value(v)
            if values.min() < -1e-9 * np.abs(low.coefficients).max():
                curve = _curve(v[values.argmin()] * unit, np.ones(N))
                return f"it falls like -t^{k - 1} along {curve}"
    return None


def _falling(poly: Polynomial, unit: Array) -> str | None:
    """Compare minima over growing boxes; a sentence if they fall ever faster."""
    R = _reach(poly)
    ends, older = _box_minima(poly, _outward(poly, R), R), np.zeros((0, len(unit)))
    values, drops = [ends[0][0]], [0.0]
    for level in range(1, LEVELS):
        R *= GROWTH
        best = np.array([x for _, x in ends])
        older = older if older.shape == best.shape else best
        # A valley x_i ~ t^q_i goes on at x * (x / older), whatever the powers q_i.
        bent = best * np.divide(best, older, out=np.ones_like(best), where=older != 0.0)
        fresh = _outward(poly, R) if level < 2 else best
        ends, older = _box_minima(poly, np.vstack([fresh, GROWTH * best, bent]), R), best
        value, x = ends[0]
        drop = values[-1] - value
        if drop <= _rounding(poly, x):
            break
        values.append(value)
        drops.append(drop)
        if level >= 4 and drop < DROPS_THAT_SPEED_UP * drops[-2]:
            return None
    # Rounding may end the ladder early; three drops are the least that show a trend.
    if len(drops) < 4 or not drops[-1] > DROPS_THAT_SPEED_UP * drops[-2] > DROPS_THAT_SPEED_UP**2 * drops[-3]:
        return None
    where = ", ".join(f"{v:.4g}" for v in ends[0][1] * unit)
    return f"it keeps falling, ever faster, away from the origin, as at ({where})"


def _reach(poly: Polynomial) -> float:
    """Radius beyond which no lower term outweighs the top form, where that is not small."""
    order = poly.exponents.sum(axis=1)
    lower = order < order.max()
    top = np.abs(poly.coefficients[~lower]).max()
    ratio = np.abs(poly.coefficients[lower]) / top
    reach = (ratio ** (1.0 / (order.max() - order[lower]))).max(initial=1.0)
    return float(min(reach, 1e3))


def _outward(poly: Polynomial, R: float) -> Array:
    """Starting points at four distances up to R; fewer for a polynomial of many terms."""
    rays = _directions(poly.exponents.shape[1])
    return _thinned(np.vstack([R * GROWTH**-n * rays for n in range(4)]), poly)


def _thinned(points: Array, poly: Polynomial) -> Array:
    """Fewer points for a polynomial of many terms, which is evaluated at them."""
    chosen = points[:: 1 + points.shape[0] * poly.exponents.size // 5_000_000]
    _add_work(len(chosen) * poly.exponents.size // 24)
    return chosen


def _box_minima(poly: Polynomial, starts: Array, R: float) -> list[tuple[float, Array]]:
    """Up to three local minima in the box of radius R, lowest first."""
    inside = np.clip(starts, -R, R)
    first = np.argsort(poly.value(inside), kind="stable")[: _tries(poly)]
    ends = [_minimise(lambda x: _value_and_gradient(poly, x), inside[n], poly, R) for n in first]
    return sorted(ends, key=lambda pair: pair[0])[:3]


def _rounding(poly: Polynomial, x: Array) -> float:
    """Bound on the rounding error of the value at x."""
    size = np.abs(poly.coefficients) @ np.abs(monomials(poly.exponents, x[None])[:, 0])
    return float((poly.degree + 10) * np.finfo(np.float64).eps * size)


def _tries(poly: Polynomial) -> int:
    return int(np.clip(20_000 // poly.exponents.size, 1, 4))


def _directions(N: int) -> Array:
    """Unit vectors, shape (D, N): axes, diagonals of two axes, then 200 fixed random ones."""
    eye = np.eye(N)
    i, j = (pairs[:: 1 + N * (N - 1) // (2 * MOST_PAIRS_OF_AXES)] for pairs in np.triu_indices(N, 1))
    half = np.vstack([eye, eye[i] + eye[j], eye[i] - eye[j], np.ones((1, N))])
    every = np.vstack([half, -half, np.random.default_rng(0).standard_normal((200, N))])
    return np.asarray(every / np.linalg.norm(every, axis=1, keepdims=True), np.float64)


def _value_and_gradient(poly: Polynomial, x: Array) -> tuple[float, Array]:
    """Value and gradient, shape (N,), at one point; products without division, so 0 is safe."""
    e, N = poly.exponents, len(x)
    powers = x[None, :] ** np.arange(int(e.max(initial=0)) + 1)[:, None]
    factors = powers[e, np.arange(N)]
    slopes = e * powers[np.maximum(e - 1, 0), np.arange(N)]
    ones = np.ones((len(e), 1))
    before = np.cumprod(np.hstack([ones, factors]), axis=1)
    after = np.cumprod(np.hstack([ones, factors[:, ::-1]]), axis=1)[:, ::-1]
    gradient = poly.coefficients @ (before[:, :-1] * slopes * after[:, 1:])
    return float(poly.coefficients @ before[:, -1]), gradient


def _minimise(f: Callable[[Array], tuple[float, Array]], x: Array, poly: Polynomial, R: float) -> tuple[float, Array]:
    """Local minimum of f from x, in the box of radius R; x itself, and infinity, where the search leaves the numbers."""
    from scipy.optimize import minimize

    effort = int(np.clip(45_000 // poly.exponents.size, 15, 120))
    options: Any = {"maxfun": effort, "ftol": 1e-15, "gtol": 1e-12, "xtol": 0.0}
    # Both or neither: with a scale alone, scipy leaves the offset to whatever the memory held before.
    options["scale"], options["offset"] = np.ones(len(x)), np.zeros(len(x))
    bounds = [(-R, R)] * len(x)
    # TNC, not L-BFGS-B, whose tiny LAPACK calls wake BLAS threads: ten times slower when busy.
    found = minimize(f, x, jac=True, method="TNC", bounds=bounds, options=options)
    _add_work(SEARCH + int(found.nfev) * (CALL + poly.exponents.size))
    end = np.asarray(found.x, np.float64)
    if not (np.isfinite(found.fun) and np.isfinite(end).all()):
        return np.inf, x
    return float(found.fun), end
