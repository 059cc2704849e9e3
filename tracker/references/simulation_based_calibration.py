"""Simulation-based calibration: test over many data sets whether a sampler draws from the posterior.

docs/mathematics, "Calibration". Three exact tests for each quantity, on x = Phi^-1(u): location, spread and shape (the two
one-sided Kolmogorov-Smirnov distances of u, Birnbaum and Tingey's law).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr, ndtri, smirnov

from tracker.references.exact_posterior import reduce
from tracker.references.metropolis_hastings import draws_of
from tracker.scenario.builders import distance_coordinates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


TESTS = ("location", "spread", "shape")
RANKED = 99  # draws that a parameter is ranked among


class DataSet(NamedTuple):
    """A parameter (N,) drawn from the prior, and the cost of data drawn from it."""

    truth: Array
    cost: Any


class Calibration(NamedTuple):
    """p_values (quantities, tests) in the order of ``TESTS``; p_value: of all together, by Bonferroni."""

    p_values: Array
    p_value: float


def draw_problems(scenario: Scenario, count: int, seed: int = 0) -> list[DataSet]:
    """Draw ``count`` parameters from the prior of a scenario's first mode, and its number of observations from each.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_1.toml")
    >>> [problem.truth.shape for problem in tracker.references.draw_problems(scenario, 2)]
    [(2,), (2,)]
    """
    keys, rng = scenario.modes[0], np.random.default_rng(seed)
    found = []
    for _ in range(count):
        drawn = keys.draw_from_prior(rng)
        if drawn is None:
            raise ValueError(
                f'modes[0] "{keys.name}": calibration needs a prior and stored data that can be drawn from it, and this {keys.cost} has none'
            )
        truth, mode = drawn
        found.append(DataSet(truth, mode.build()))
    return found


def quantities(cost: Any, theta: Array) -> Array:
    """Return what is ranked, shape (..., N + 2): the coordinates of ``theta`` (..., N), then what exchanged labels do not change.

    These are the sum and the range of the coordinates in which distances are taken: p + q and |p - q| for a mixture.
    """
    flat = theta.reshape(-1, theta.shape[-1])
    places = np.array([distance_coordinates(cost, point) for point in flat]).reshape(*theta.shape[:-1], -1)
    free = np.stack([places.sum(axis=-1), np.ptp(places, axis=-1)], axis=-1)
    return np.concatenate([theta, free], axis=-1)


def sampled_ranks(problems: Sequence[DataSet], seed: int = 0, plant: Callable[[Any], Any] | None = None) -> Array:
    """Return u of each data set and quantity, shape (count, N + 2), ranked among Metropolis-Hastings draws.

    ``plant`` may put a mistake into the cost that the sampler is given.

    >>> import tracker
    >>> from tracker import references
    >>> problems = references.draw_problems(tracker.load("scenarios/example_1.toml", ["modes.*.horizon=2"]), 1)
    >>> references.sampled_ranks(problems).shape
    (1, 4)
    """
    rng = np.random.default_rng(seed)
    found = []
    for number, (truth, cost) in enumerate(problems):
        given = plant(cost) if plant is not None else cost
        drawn = draws_of(given, 1.0, truth, draws=RANKED, thin=0, chains=1, seed=seed + 1 + number)
        below = (quantities(cost, drawn.theta[0]) < quantities(cost, truth)).sum(axis=0)
        found.append((below + rng.random(below.size)) / (RANKED + 1))
    return np.array(found)


def exact_ranks(problems: Sequence[DataSet], plant: Callable[[Any], Any] | None = None) -> Array:
    """Return u of each data set and coordinate, shape (count, N): the exact distribution function at the truth.

    >>> import tracker
    >>> from tracker import references
    >>> problems = references.draw_problems(tracker.load("scenarios/example_1.toml", ["modes.*.horizon=2"]), 1)
    >>> references.exact_ranks(problems).shape
    (1, 2)
    """
    found = []
    for truth, cost in problems:
        law = reduce(plant(cost) if plant is not None else cost, 1.0, truth)
        found.append([float(law.cdf(d, truth[d : d + 1])[0]) for d in range(truth.size)])
    return np.array(found)


def calibration(u: Array) -> Calibration:
    """Test whether each column of ``u`` (count, quantities) is uniform.

    >>> import numpy as np
    >>> from tracker import references
    >>> evenly = (np.arange(200)[:, None] + 0.5) / 200
    >>> bool(references.calibration(evenly).p_value > 0.05)
    True
    """
    n = len(u)
    x = ndtri(np.clip(u, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg))
    location = 2.0 * ndtr(-np.abs(x.sum(axis=0)) / np.sqrt(n))
    total = 0.5 * (x**2).sum(axis=0)
    spread = 2.0 * np.minimum(gammainc(0.5 * n, total), gammaincc(0.5 * n, total))
    ordered = np.sort(u, axis=0)
    steps = np.arange(n)[:, np.newaxis]
    distance = np.maximum(((steps + 1) / n - ordered).max(axis=0), (ordered - steps / n).max(axis=0))
    shape = np.minimum(2.0 * smirnov(n, distance), 1.0)
    p_values = np.stack([location, spread, shape], axis=1)
    return Calibration(p_values, float(min(1.0, p_values.size * p_values.min())))
