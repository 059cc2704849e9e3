"""The axes of a sweep: which are the samplers' to choose, where their values stand, and how they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import plain

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.runs.sweep_points import Axis
    from tracker.scenario import Scenario

SPEED, RATIO = "chain.alpha", "α/ε"


def is_choice(axis: Axis) -> bool:
    """Tell whether an axis is the samplers' to choose; the others are the world's."""
    return axis.address.partition(".")[0] == "samplers"


def is_geometric(values: Array) -> bool:
    """Tell whether a logarithmic axis spaces the values more evenly than a plain one."""
    ordered = np.sort(values)
    if ordered.size < 2 or ordered[0] <= 0:
        return False
    if ordered.size == 2:
        return bool(ordered[1] >= 10 * ordered[0])
    even, logarithmic = np.diff(ordered), np.diff(np.log(ordered))
    return bool(logarithmic.std() / logarithmic.mean() < even.std() / even.mean())


def positions(axis: Axis) -> Array:
    """Return where the values stand on the axis: numbers in their place, words one after another."""
    return axis.numbers if axis.numbers is not None else np.arange(len(axis.values), dtype=float)


def over_step(axis: Axis, scenario: Scenario) -> Axis:
    """Return the axis to draw: alpha over epsilon, which decides, where alpha is swept and all samplers have one step."""
    steps = {keys.epsilon for keys in scenario.samplers}
    if axis.address != SPEED or len(steps) > 1 or axis.numbers is None:
        return axis
    return axis._replace(address=RATIO, values=tuple(float(f"{alpha / min(steps):.6g}") for alpha in axis.numbers))


def ticks(axis: Axis) -> tuple[str, ...]:
    """Return the values as short as they can be, all in one form."""
    if axis.numbers is None:
        return axis.labels
    if is_geometric(axis.numbers) and axis.numbers.min() < 1e-2:
        parts = [f"{value:.3e}".split("e") for value in axis.numbers]
        return tuple(f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}" for mantissa, exponent in parts)
    return tuple(f"{value:g}" for value in axis.numbers)


def written(axis: Axis) -> tuple[str, ...]:
    """Return the values as sentences and tables write numbers."""
    return axis.labels if axis.numbers is None else tuple(plain(float(value)) for value in axis.numbers)
