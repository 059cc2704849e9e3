"""Functionals of whole paths: the first passage of a level, and the size of increments over a grid of times.

docs/mathematics, "First passage" and "Increments". Weak convergence is a statement about paths, and laws at one or two times
do not see all of it. Each functional has an exact value in the limit and for the algorithm; the engine's own paths at the
largest step are held against the algorithm's.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker import limits
from tracker.convergence.verdict import Modulus, PassageLadder
from tracker.limits.scope import OutOfScope
from tracker.scenario import build_modes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.convergence.step_ladder import Ladder

MOST_TIMES = 8  # of the grid, beside 0


class PathLaw(NamedTuple):
    """What theory says of the paths at one step size.

    level, survival : P(theta_k < level for all k), N = 1; None where it is not known
    grid : the steps between which increments are taken; empty where their law is not known
    increments : E sum |theta(t_j+1) - theta(t_j)|^2 over neighbours of the grid
    """

    level: float | None = None
    survival: float | None = None
    grid: tuple[int, ...] = ()
    increments: float = 0.0

    def sums(self, theta: Array) -> Array:
        """Return, of trials theta (R, K + 1, N), how many stay below, and the sums of the increments and of their squares."""
        below = 0.0 if self.level is None else float(np.sum(np.all(theta[:, :, 0] < self.level, axis=1)))
        sizes = np.zeros(len(theta))
        if self.grid:
            sizes = np.sum(np.diff(theta[:, list(self.grid)], axis=1) ** 2, axis=(1, 2))
        return np.array([below, sizes.sum(), np.sum(sizes**2)])


def path_law(ladder: Ladder, rung: int = 0) -> PathLaw:
    """Return what theory knows of the paths at a rung."""
    scenario, name, found = ladder.at(rung), ladder.sampler, PathLaw()
    if scenario.dimension == 1:
        level = level_of(ladder)
        try:
            passage = limits.first_passage(scenario, name, level, ladder.steps[rung], of="algorithm")
            found = found._replace(level=level, survival=float(passage.survival))
        except OutOfScope:
            pass
    if scenario.quadratic:
        grid = np.arange(parts(ladder) + 1) * (ladder.steps[rung] // parts(ladder))
        try:
            second = limits.increments(scenario, name, grid, of="algorithm").second
            found = found._replace(grid=tuple(grid.tolist()), increments=float(np.trace(second, offset=1)))
        except OutOfScope:
            pass
    return found


def level_of(ladder: Ladder) -> float:
    """The level whose passage is looked at: the largest of the modes' global minimisers."""
    return max(float(point[0]) for mode in build_modes(ladder.scenario) for point in mode.minimisers)


def parts(ladder: Ladder) -> int:
    """Into how many parts [0, T] is cut: a number of whole steps in each, at every step size."""
    common = gcd(*ladder.steps)
    return max(n for n in range(1, MOST_TIMES + 1) if common % n == 0)


def first_passage(ladder: Ladder, tell: Callable[[str], None]) -> PassageLadder | None:
    """Return the survival below the level in the limit, at the raised levels, and of the algorithm; None where not known."""
    if ladder.scenario.dimension != 1:
        return None
    tell("computing first passages")
    level, T, name, own, raised = level_of(ladder), ladder.horizon, ladder.sampler, [], []
    try:
        limit = float(limits.first_passage(ladder.at(0), name, level, T).survival)
        for rung, n in enumerate(ladder.steps):
            found = limits.first_passage(ladder.at(rung), name, level, n, of="algorithm")
            own.append(float(found.survival))
            higher = level if found.raised is None else found.raised
            raised.append(float(limits.first_passage(ladder.at(rung), name, higher, T).survival))
    except OutOfScope:
        return None
    errors = np.array(own) - limit, np.array(own) - raised
    slope, slope_raised = (_slope(ladder.epsilons, error) for error in errors)
    return PassageLadder(level, limit, tuple(own), tuple(raised), slope, slope_raised)


def _slope(epsilons: tuple[float, ...], error: Array) -> float | None:
    """The slope of log |error|; None where the error changes its sign or is nothing."""
    if np.any(np.abs(error) < 1e-12) or len(set(np.sign(error))) > 1:
        return None
    return float(np.polyfit(np.log(epsilons), np.log(np.abs(error)), 1)[0])


def modulus(ladder: Ladder, tell: Callable[[str], None]) -> Modulus | None:
    """Return the largest E|theta(t + delta) - theta(t)|^4 / (delta + epsilon)^2 over the grid; None where it is not known."""
    if not ladder.scenario.quadratic:
        return None
    tell("computing the modulus of paths")
    cut, name = parts(ladder), ladder.sampler
    times = np.arange(cut + 1) * (ladder.horizon / cut)
    gaps = times[None, :] - times[:, None]
    above = np.triu_indices(cut + 1, 1)
    try:
        of_limit = limits.increments(ladder.at(0), name, times).fourth
        own = [
            limits.increments(ladder.at(rung), name, np.arange(cut + 1) * (n // cut), of="algorithm").fourth
            for rung, n in enumerate(ladder.steps)
        ]
    except OutOfScope:
        return None
    largest = [
        float((fourth[above] / (gaps[above] + epsilon) ** 2).max())
        for fourth, epsilon in zip((of_limit, *own), (0.0, *ladder.epsilons), strict=True)
    ]
    return Modulus(cut, largest[0], tuple(largest[1:]))
