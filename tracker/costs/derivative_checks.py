"""Check the functions of a cost against each other, in the interpreter, before anything is compiled or run.

Notes
-----
At a point theta, with an observation z drawn by the cost itself:

- the gradient against central differences of the value, along one direction in which no coordinate is 0; where the two
  disagree, the coordinate is looked for. At the first point each of the first coordinates is compared alone;
- the Hessian, where there is one, times such a direction against differences of the gradient;
- the expected cost against the mean of the value over drawn observations, at two points and between them: the difference of
  two costs on the same draws is free of noise that both have.

What is tolerated: a relative error of 1e-4, the rounding error of a difference, and ten times the change of the difference
when its step is doubled. At a kink (the slopes of both sides differ) any gradient between the two slopes is right.
``out`` holds nan before each call: what is not written is seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.costs.base import (
    expected,
    expected_gradient,
    gradient,
    has_hessian,
    hessian,
    observation_size,
    observe,
    period,
    stored_observations,
    value,
)
from tracker.costs.facts import additive_noise
from tracker.streams import OBSERVATIONS, entropy_words, seed_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tracker.array_types import Array

RELATIVE = 1e-4
STEP = 1e-5  # of a difference, times 1 + |theta|
MOST_COORDINATES = 30  # that are compared one by one
DRAWS = 256
SIGMAS = 7.0  # standard errors: a right cost fails with a probability below 1e-11
MOST_SHOWN = 4


class WrongCost(Exception):
    """A function of a cost that is wrong; ``function`` names it."""

    def __init__(self, function: str, text: str) -> None:
        self.function = function
        super().__init__(f"{function}: {text}")


def check_cost(cost: Any, points: list[Array], *, thorough: bool) -> None:
    """Raise ``WrongCost`` where a function of ``cost`` contradicts another at one of ``points``.

    thorough : compare coordinate by coordinate at the first point, and the expected cost with a mean
    """
    if missing := _lacks_expected(cost):
        raise WrongCost("expected", missing)
    with np.errstate(all="ignore"):  # streams count modulo 2^64; a point may lie where a cost overflows
        z = _draws(cost, DRAWS if thorough and observation_size(cost) else 1)
        for n, theta in enumerate(points):
            _check_gradient(cost, theta, z[0], each=thorough and n == 0)
            if has_hessian(cost):
                _check_hessian(cost, theta, z[0])
        if thorough and observation_size(cost):
            _check_expected(cost, points[:2], z)
        if thorough and expected_gradient.has_own(type(cost)):
            _check_expected_gradient(cost, points[0])


def _lacks_expected(cost: Any) -> str:
    """Return why C is not known: z is drawn, nobody says what its mean costs, and z = 0 need not give it."""
    kind = type(cost)
    if observation_size(cost) == 0 or expected.has_own(kind):
        return ""
    if additive_noise.has_own(kind):
        return ""  # c(theta, z) = C(theta) + z'theta: z = 0 gives C
    return (
        f"{kind.__name__} observes z, and nothing says what C(theta) = E c(theta, z) is. Register it (@expected.register({kind.__name__})), "
        f"or let stored draws of z define it: expected_draws = 4096 in the class, or tracker.run(..., expected_draws=4096)"
    )


def _draws(cost: Any, count: int) -> Array:
    """Return observations as rows; of those that repeat themselves, from places all over their period."""
    size = observation_size(cost)
    z = np.zeros((count, max(1, size)))
    stream = np.zeros(4, dtype=np.uint64)
    seed_stream(entropy_words(1), OBSERVATIONS, 0, stream)
    stored = stored_observations(cost) if size else None
    if stored is not None:
        return np.ascontiguousarray(stored[np.linspace(0, len(stored) - 1, min(count, len(stored))).astype(int)])
    length = period(cost)
    if size and length > 1:
        for i, k in enumerate(np.linspace(0, length - 1, count).astype(int)):
            observe(cost, int(k), 1, stream, z[i : i + 1])
    elif size:
        observe(cost, 0, count, stream, z)
    return z


def _direction(size: int) -> Array:
    """Return a direction without a 0 that is no axis and no diagonal."""
    v = 1.0 + 0.5 * np.cos(1.7 * np.arange(1, size + 1))
    return np.asarray(np.where(np.arange(size) % 2, -v, v) / np.sqrt(size))


def _c(cost: Any, theta: Array, z: Array) -> float:
    found = value(cost, np.ascontiguousarray(theta), z)
    if not isinstance(found, (int, float, np.integer, np.floating)):
        raise WrongCost("value", f"it returned {found!r} at theta = {_show(theta)}, not a number")
    return float(found)


def _g(cost: Any, theta: Array, z: Array) -> Array:
    return _written("gradient", gradient, cost, theta, z, (theta.size,))


def _written(
    name: str, function: Callable[..., Any], cost: Any, theta: Array, z: Array, shape: tuple[int, ...]
) -> Array:
    out = np.full(shape, np.nan)
    returned = function(cost, np.ascontiguousarray(theta), z, out)
    if np.isnan(out).any() and np.isfinite(_c(cost, theta, z)):
        place = ", ".join(str(int(n)) for n in np.argwhere(np.isnan(out))[0])
        way = (
            "it returned an array: write it into out, out[:] = ..."
            if returned is not None
            else "a name bound anew (out = ...) is lost; write out[d] = ..."
        )
        raise WrongCost(name, f"it wrote no number to out[{place}] at theta = {_show(theta)}; {way}")
    return out


def _slopes(f: Callable[[float], Any], scale: float) -> tuple[Any, Any, Any]:
    """Return the central difference of ``f`` at 0, how far it may be off, and half the jump of its slope there."""
    h = STEP * scale
    before, here, after = f(-h), f(0.0), f(h)
    central, wide = (after - before) / (2 * h), (f(2 * h) - f(-2 * h)) / (4 * h)
    rounding = 8 * np.finfo(float).eps * np.maximum(np.maximum(np.abs(before), np.abs(after)), np.abs(here)) / h
    kink = np.abs((after - here) - (here - before)) / (2 * h)
    return central, 10 * np.abs(wide - central) + 10 * rounding, kink


def _agree(given: Any, central: Any, error: Any, kink: Any) -> Any:
    return np.abs(given - central) <= RELATIVE * np.maximum(np.abs(given), np.abs(central)) + error + 2 * kink


def _check_gradient(cost: Any, theta: Array, z: Array, *, each: bool) -> None:
    scale, v = 1.0 + float(np.abs(theta).max()), _direction(theta.size)
    g = _g(cost, theta, z)
    found = _slopes(lambda h: _c(cost, theta + h * v, z), scale)
    if not np.isfinite(g).all() or not all(map(np.isfinite, found)):
        return  # outside of what the cost is defined on
    if each or not _agree(float(g @ v), *found):
        for d in range(min(theta.size, MOST_COORDINATES)):
            axis = np.eye(1, theta.size, d)[0]
            slope = _slopes(lambda h, axis=axis: _c(cost, theta + h * axis, z), scale)  # type: ignore[misc]
            if np.isfinite(slope[0]) and not _agree(g[d], *slope):
                raise WrongCost(
                    "gradient",
                    f"coordinate {d} at theta = {_show(theta)}: it gives {g[d]:.6g}, differences of value give {slope[0]:.6g}",
                )
        if not _agree(float(g @ v), *found):
            text = f"at theta = {_show(theta)}: its slope along {_show(v)} is {float(g @ v):.6g}, differences of value give {found[0]:.6g}"
            raise WrongCost("gradient", text)


def _check_hessian(cost: Any, theta: Array, z: Array) -> None:
    N = theta.size
    scale, v = 1.0 + float(np.abs(theta).max()), _direction(N)
    H = _written("hessian", hessian, cost, theta, z, (N, N))
    central, error, kink = _slopes(lambda h: _g(cost, theta + h * v, z), scale)
    if not (np.isfinite(H).all() and np.isfinite(central).all()):
        return
    wrong = ~_agree(H @ v, central, error + RELATIVE * np.abs(H).max(), kink)
    for i in np.flatnonzero(wrong)[:1]:
        for j in range(min(N, MOST_COORDINATES)):
            axis = np.eye(1, N, j)[0]
            column = _slopes(lambda h, axis=axis, i=i: _g(cost, theta + h * axis, z)[i], scale)  # type: ignore[misc]
            if not _agree(H[i, j], *column):
                raise WrongCost(
                    "hessian",
                    f"entry [{i}, {j}] at theta = {_show(theta)}: it gives {H[i, j]:.6g}, differences of gradient give {column[0]:.6g}",
                )
        raise WrongCost("hessian", f"row {i} at theta = {_show(theta)}: it does not agree with differences of gradient")
    if np.abs(H - H.T).max() > RELATIVE * np.abs(H).max():
        raise WrongCost("hessian", f"it is not symmetric at theta = {_show(theta)}")


def _check_expected(cost: Any, points: list[Array], z: Array) -> None:
    seen = [np.array([_c(cost, theta, one) for one in z]) for theta in points]
    told = [float(expected(cost, np.ascontiguousarray(theta))) for theta in points]
    for what, values, claim in _means(points, seen, told):
        mean, spread = float(values.mean()), float(values.std(ddof=1)) / np.sqrt(len(values))
        allowed = SIGMAS * spread + RELATIVE * max(abs(mean), abs(claim)) + 1e-9
        if np.isfinite(mean) and not abs(mean - claim) <= allowed:
            raise WrongCost(
                "expected",
                f"{what}: it gives {claim:.6g}, the mean of value over {len(values)} draws of z is {mean:.6g}",
            )


def _check_expected_gradient(cost: Any, theta: Array) -> None:
    g, v = np.full(theta.size, np.nan), _direction(theta.size)
    expected_gradient(cost, np.ascontiguousarray(theta), g)
    found = _slopes(
        lambda h: float(expected(cost, np.ascontiguousarray(theta + h * v))), 1.0 + float(np.abs(theta).max())
    )
    if np.isfinite(found).all() and not _agree(float(g @ v), *found):
        text = f"at theta = {_show(theta)}: its slope along {_show(v)} is {float(g @ v):.6g}, differences of expected give {found[0]:.6g}"
        raise WrongCost("expected_gradient", text)


def _means(points: list[Array], seen: list[Array], told: list[float]) -> Iterator[tuple[str, Array, float]]:
    for theta, values, claim in zip(points, seen, told, strict=True):
        yield f"at theta = {_show(theta)}", values, claim
    if len(points) > 1:
        yield f"from theta = {_show(points[0])} to {_show(points[1])}", seen[1] - seen[0], told[1] - told[0]


def _show(point: Array) -> str:
    shown = ", ".join(f"{x:.4g}" for x in point[:MOST_SHOWN])
    return f"({shown}, ...)" if point.size > MOST_SHOWN else f"({shown})"
