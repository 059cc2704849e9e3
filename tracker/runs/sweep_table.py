"""Make one xarray dataset over the axes of a sweep from the summaries of its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray
    from numpy.typing import NDArray

    from tracker.runs.sweep_points import Axis
    from tracker.runs.sweep_running import Outcome
    from tracker.scenario import Scenario

    Array = NDArray[np.float64]

STATES = ("complete", "diverged", "failed")  # the codes of `outcome`


class Metric(NamedTuple):
    """What a sweep can be judged by: where it stands in a summary, and what it is called."""

    value: tuple[str, ...]
    stderr: tuple[str, ...] | None
    title: str


METRICS = {
    "tracking_error": Metric(("tracking_error", "mean"), ("tracking_error", "stderr"), "tracking error"),
    "mean_square_error": Metric(("mean_square_error", "mean"), ("mean_square_error", "stderr"), "mean square error"),
    "excess_cost": Metric(("excess_cost", "mean"), ("excess_cost", "stderr"), "excess cost"),
    "inside_target": Metric(("inside_target", "mean"), ("inside_target", "stderr"), "share of time inside the target"),
    "recovery": Metric(("recovery", "mean"), ("recovery_mean", "stderr"), "mean recovery time (steps)"),
}
# variables that belong to a metric, and others: name, path in a sampler's row, what it is
OTHERS = (
    ("recovery_median", ("recovery", "median"), "median recovery time (steps)"),
    ("recovery_already", ("recovery", "already"), "share of switches at which the new target held it already"),
    ("recovery_low", ("recovery", "low"), "lower end of the 95 % interval of the median recovery time"),
    ("recovery_high", ("recovery", "high"), "upper end of the 95 % interval of the median recovery time"),
    ("recovery_censored", ("recovery", "censored"), "share of the other switches that were not recovered from in time"),
    ("diverged", ("diverged",), "trials that diverged; they are left out of every average"),
    ("epsilon", ("epsilon",), "step of the sampler"),
)


def tidy(scenario: Scenario, axes: Sequence[Axis], outcomes: Sequence[Outcome]) -> xarray.Dataset:
    """Return all numbers over the swept addresses and ``sampler``; nan where a point failed or has no such sampler."""
    import xarray

    shape = tuple(len(axis.values) for axis in axes)
    dimensions = tuple(axis.address for axis in axes)
    samplers = list(dict.fromkeys(row["name"] for outcome in outcomes for row in _rows(outcome)))
    variables: dict[str, Any] = {}

    def add(name: str, path: tuple[str, ...], meaning: str) -> None:
        values = np.full((*shape, len(samplers)), np.nan)
        for outcome in outcomes:
            for row in _rows(outcome):
                values[(*outcome.point.place, samplers.index(row["name"]))] = _number(row, path)
        variables[name] = ((*dimensions, "sampler"), values, {"long_name": meaning})

    for name, metric in METRICS.items():
        add(name, metric.value, metric.title)
        if metric.stderr is not None:
            add(f"{name}_stderr", metric.stderr, f"standard error of the {metric.title}")
    for name, path, meaning in OTHERS:
        add(name, path, meaning)
    alpha = np.full((*shape, 1), np.nan)
    state = np.full(shape, STATES.index("failed"), dtype=np.int8)
    for outcome in outcomes:
        chain = outcome.point.scenario.chain
        alpha[outcome.point.place] = chain.alpha if chain is not None else np.nan
        state[outcome.point.place] = STATES.index(outcome.state)
    about = {"long_name": "alpha / epsilon: how fast the world is for the sampler"}
    variables["ratio"] = ((*dimensions, "sampler"), alpha / variables["epsilon"][1], about)
    flags = {"flag_values": np.arange(len(STATES), dtype=np.int8), "flag_meanings": " ".join(STATES)}
    variables["outcome"] = (dimensions, state, {"long_name": "how the point ended", **flags})
    coordinates = {axis.address: _coordinate(axis) for axis in axes} | {"sampler": samplers}
    attributes = {"scenario": scenario.name, "scenario_sha256": scenario.sha256, "tracker": __version__}
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _coordinate(axis: Axis) -> Any:
    return axis.numbers if axis.numbers is not None else list(axis.labels)


def _rows(outcome: Outcome) -> list[dict[str, Any]]:
    return outcome.summary["samplers"] if outcome.summary is not None else []


def _number(row: Mapping[str, Any], path: tuple[str, ...]) -> float:
    value: Any = row
    for key in path:
        value = value.get(key) if value is not None else None
    return float(value) if value is not None else np.nan
