"""A cost whose landscape has moved by d: c(theta - d, z). Any cost can be moved; d is set before every step.

The arrays ``shift``, ``room`` and ``minimisers`` are written to, so they belong to one thread; modes of one world share the
first two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import generic_with_default, inlined
from tracker.costs.base import (
    correct,
    expected,
    expected_gradient,
    gradient,
    hessian,
    measure,
    measure_size,
    memory_size,
    observation_size,
    observe,
    observe_on,
    value,
)
from tracker.costs.foretold import forecast_loss, predicts

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


class Moved(NamedTuple):
    """Parameters: the cost at d = 0 and its minimisers (m, N), the shift d (N,), and room for theta - d (N,)."""

    cost: Any
    minimisers: Array
    shift: Array
    room: Array


@generic_with_default
def drifts(cost: Any) -> bool:
    """Tell whether the landscape moves."""
    return False


@generic_with_default
def move_to(cost: Any, d: Array, minimisers: Array) -> None:
    """Let the landscape stand at d; ``minimisers`` (m, N) are then those of the moved cost."""
    return


@drifts.register(Moved)
def _drifts(cost: Moved) -> bool:
    return True


@move_to.register(Moved)
def _move_to(cost: Moved, d: Array, minimisers: Array) -> None:
    for e in range(d.size):
        cost.shift[e] = d[e]
        for m in range(minimisers.shape[0]):
            minimisers[m, e] = cost.minimisers[m, e] + d[e]


@inlined
def _seen(cost: Any, theta: Array) -> Array:
    """Return theta - d."""
    for e in range(theta.size):
        cost.room[e] = theta[e] - cost.shift[e]
    return cost.room


@value.register(Moved)
def _value(cost: Moved, theta: Array, z: Array) -> float:
    return value(cost.cost, _seen(cost, theta), z)


@gradient.register(Moved)
def _gradient(cost: Moved, theta: Array, z: Array, out: Array) -> None:
    gradient(cost.cost, _seen(cost, theta), z, out)


@hessian.register(Moved)
def _hessian(cost: Moved, theta: Array, z: Array, out: Array) -> None:
    hessian(cost.cost, _seen(cost, theta), z, out)


@expected.register(Moved)
def _expected(cost: Moved, theta: Array) -> float:
    return expected(cost.cost, _seen(cost, theta))


@expected_gradient.register(Moved)
def _expected_gradient(cost: Moved, theta: Array, out: Array) -> None:
    expected_gradient(cost.cost, _seen(cost, theta), out)


@correct.register(Moved)
def _correct(cost: Moved, theta: Array) -> float:
    return correct(cost.cost, _seen(cost, theta))


@predicts.register(Moved)
def _predicts(cost: Moved) -> bool:
    return predicts(cost.cost)


@forecast_loss.register(Moved)
def _forecast_loss(cost: Moved, theta: Array, z: Array) -> float:
    return forecast_loss(cost.cost, _seen(cost, theta), z)


@measure.register(Moved)
def _measure(cost: Moved, theta: Array, out: Array) -> None:
    measure(cost.cost, _seen(cost, theta), out)


@measure_size.register(Moved)
def _measure_size(cost: Moved, dimension: int) -> int:
    return measure_size(cost.cost, dimension)


@observation_size.register(Moved)
def _observation_size(cost: Moved) -> int:
    return observation_size(cost.cost)


@observe.register(Moved)
def _observe(cost: Moved, k: int, count: int, stream: Words, out: Array) -> None:
    observe(cost.cost, k, count, stream, out)


@memory_size.register(Moved)
def _memory_size(cost: Moved) -> int:
    return memory_size(cost.cost)


@observe_on.register(Moved)
def _observe_on(cost: Moved, k: int, count: int, stream: Words, memory: Array, out: Array) -> None:
    observe_on(cost.cost, k, count, stream, memory, out)


def movable(cost: Any, minimisers: Array, shift: Array, room: Array) -> Moved:
    """Return a cost that can be moved; it stands where it stood."""
    return Moved(cost, np.ascontiguousarray(minimisers), shift, room)
