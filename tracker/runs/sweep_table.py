"""Make one table of arrays over the axes of a sweep from the summaries of its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import __version__
from tracker.metrics.table import METRICS
from tracker.runs.labelled_arrays import LabelledArray, LabelledArrays, labels_of
from tracker.runs.state_means import STATE, told_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tracker.runs.sweep_points import Axis
    from tracker.runs.sweep_result import Outcome
    from tracker.scenario import Scenario


STATES = ("complete", "diverged", "failed")  # the codes of `outcome`


# what is told of the waits of a time beside their mean: key in its row of a summary, and what it is
NUMBERS_OF_WAITS = (
    ("median", "median {title} ({unit})"),
    ("already", "share of switches at which the new target held it already"),
    ("low", "lower end of the 95 % interval of the median {title}"),
    ("high", "upper end of the 95 % interval of the median {title}"),
    ("censored", "share of the other switches that were not recovered from in time"),
)


def sweep_columns() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield each number that a sampler has at a point: its name, its place in a row of a summary, what it is."""
    for key, metric in METRICS.items():
        time = metric.kind == "time"
        if metric.told == "mean":
            yield key, metric.place, metric.label
            continue
        yield key, (*metric.place, "mean"), metric.label
        told = (f"{key}_mean",) if time else metric.place
        yield f"{key}_stderr", (*told, "stderr"), f"standard error of the {metric.label}"
        for of_waits, meaning in NUMBERS_OF_WAITS if time else ():
            yield f"{key}_{of_waits}", (key, of_waits), meaning.format(title=metric.title, unit=metric.unit)
    yield "diverged", ("diverged",), "trials that diverged; they are left out of every average"
    yield "epsilon", ("epsilon",), "step of the sampler"


def _state_columns(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield likewise what the kinds tell of their states."""
    for name in told_in(row for outcome in outcomes for row in _rows(outcome)):
        about = f"{name.replace('_', ' ')}, averaged over time and trials"
        yield name, (STATE, name, "mean"), about
        yield f"{name}_stderr", (STATE, name, "stderr"), f"standard error of the {about}"


def sweep_table(scenario: Scenario, axes: Sequence[Axis], outcomes: Sequence[Outcome]) -> LabelledArrays:
    """Return all numbers over the swept addresses and ``sampler``; nan where a point failed or has no such sampler."""
    shape = tuple(len(axis.values) for axis in axes)
    dimensions = tuple(axis.address for axis in axes)
    samplers = list(dict.fromkeys(row["name"] for outcome in outcomes for row in _rows(outcome)))
    variables: dict[str, LabelledArray] = {}

    for name, path, meaning in (*sweep_columns(), *_state_columns(outcomes)):
        values = np.full((*shape, len(samplers)), np.nan)
        for outcome in outcomes:
            for row in _rows(outcome):
                values[(*outcome.point.place, samplers.index(row["name"]))] = _number(row, path)
        variables[name] = LabelledArray((*dimensions, "sampler"), values, {"long_name": meaning})
    alpha = np.full((*shape, 1), np.nan)
    state = np.full(shape, STATES.index("failed"), dtype=np.int8)
    for outcome in outcomes:
        chain = outcome.point.scenario.chain
        alpha[outcome.point.place] = chain.alpha if chain is not None else np.nan
        state[outcome.point.place] = STATES.index(outcome.state)
    about = {"long_name": "alpha / epsilon: how fast the world is for the sampler"}
    variables["ratio"] = LabelledArray((*dimensions, "sampler"), alpha / variables["epsilon"].values, about)
    flags = {"flag_values": np.arange(len(STATES), dtype=np.int8), "flag_meanings": " ".join(STATES)}
    variables["outcome"] = LabelledArray(dimensions, state, {"long_name": "how the point ended", **flags})
    coordinates = {axis.address: _coordinate(axis) for axis in axes} | {"sampler": samplers}
    attributes = {"scenario": scenario.name, "scenario_sha256": scenario.sha256, "tracker": __version__}
    return LabelledArrays(variables, labels_of(coordinates), attributes)


def _coordinate(axis: Axis) -> Any:
    return axis.numbers if axis.numbers is not None else list(axis.labels)


def _rows(outcome: Outcome) -> list[dict[str, Any]]:
    return outcome.summary["samplers"] if outcome.summary is not None else []


def _number(row: Mapping[str, Any], path: tuple[str, ...]) -> float:
    value: Any = row
    for key in path:
        value = value.get(key) if value is not None else None
    return float(value) if value is not None else np.nan
