"""What an experiment is: exact curves, measured points with their error bars, and a sentence; and how points are measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import tracker
from tracker.array_types import Array

THREE_STATES = [[-0.6, 0.4, 0.2], [0.2, -0.5, 0.3], [0.4, 0.1, -0.5]]
FLIP = [[-1.0, 1.0], [1.0, -1.0]]
FORGOTTEN = 20.0  # relaxation times until averages begin


class Effort(NamedTuple):
    """How much is measured: ``trials`` of each point, and no point at an x below ``least``; without ``curves`` only their last places are solved."""

    trials: int = 100
    least: float = 0.0
    curves: bool = True

    def along(self, x: Array) -> Array:
        """Return where a curve is solved."""
        return x if self.curves else x[-1:]


class Point(NamedTuple):
    """A measured number beside the exact one; ``x`` is where it stands in the figure."""

    line: str
    x: float
    exact: float
    measured: float
    stderr: float

    @property
    def z(self) -> float:
        """The distance in standard errors."""
        return (self.measured - self.exact) / self.stderr


class Curve(NamedTuple):
    """An exact curve."""

    line: str
    x: list[float]
    y: list[float]

    def slope(self, low: float, high: float) -> float:
        """Return the slope between two places on logarithmic axes."""
        x, y = np.log(self.x), np.log(self.y)
        ends = np.interp(np.log([low, high]), x, y)
        return float((ends[1] - ends[0]) / np.log(high / low))


class Found(NamedTuple):
    """The outcome of an experiment."""

    curves: list[Curve]
    points: list[Point]


class Experiment(NamedTuple):
    """``run`` measures; ``tell`` says in a sentence what was found; ``axes`` are the labels of x and y."""

    key: str
    question: str
    setting: str
    axes: tuple[str, str]
    run: Callable[[Effort], Found]
    tell: Callable[[Found], str]
    logarithmic: bool = True  # the axis of x


def world(
    modes: Sequence[Mapping[str, Any]],
    samplers: Sequence[Mapping[str, Any]],
    chain: Mapping[str, Any] | None = None,
    **more: Any,
) -> tracker.Scenario:
    """Return a scenario in one dimension; samplers have beta = inf, modes are quadratic where they do not say otherwise."""
    data = {
        "name": "literature",
        "seed": 1,
        "trials": 1,
        "steps": 1,
        "start": [0.0],
        "baselines": [],
        "moments": "none",
        "modes": [
            {"name": f"mode-{i}", **({} if "cost" in mode else {"cost": "quadratic", "curvature": 1.0}), **mode}
            for i, mode in enumerate(modes)
        ],
        "samplers": [{"beta": "inf", **keys} for keys in samplers],
    }
    return tracker.parse({**data, **({} if chain is None else {"chain": dict(chain)}), **more})


def bowls(minima: Sequence[float], noise: float) -> list[dict[str, Any]]:
    """Return quadratic modes of curvature 1."""
    return [{"minimum": [m], "gradient_noise": noise} for m in minima]


def long_enough(scenario: tracker.Scenario, relaxation: float, steps: float, effort: Effort) -> tracker.Scenario:
    """Return the scenario with burn-in of many relaxation times, and at least one of them to average over."""
    burn_in = round(FORGOTTEN * relaxation)
    total = burn_in + round(max(steps, FORGOTTEN * relaxation))
    return scenario.replace(trials=effort.trials, steps=total, burn_in=burn_in, record_every=total)


def mean_square_error(scenario: tracker.Scenario) -> dict[str, tuple[float, float]]:
    """Run it and return mean square error and standard error by sampler."""
    rows = tracker.run(scenario).summary["samplers"]
    return {
        row["name"]: (float(row["mean_square_error"]["mean"]), float(row["mean_square_error"]["stderr"]))
        for row in rows
    }


def average(values: Array) -> tuple[float, float]:
    """Return the mean over trials and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def curve(line: str, x: Array, y: Callable[[float], float]) -> Curve:
    """Return the curve of a function."""
    return Curve(line, [float(one) for one in x], [float(y(float(one))) for one in x])
