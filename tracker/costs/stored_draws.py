"""A cost whose expectation nobody wrote down: the mean over stored draws of its observations stands for it.

Notes
-----
With z_1, ..., z_n drawn once by the cost's own ``observe``, from a stream of their own,

    C(theta) = (1/n) sum_j c(theta, z_j),

and a step sees one of the z_j, each as likely as the others. So the gradients are unbiased for this C, exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import pick
from tracker.costs.base import (
    classes,
    correct,
    cost_every,
    expected,
    expected_gradient,
    gradient,
    has_hessian,
    hessian,
    measure,
    measure_size,
    observation_size,
    observe,
    one_at_a_time,
    search_region,
    stored_observations,
    twins,
    value,
)
from tracker.costs.foretold import forecast_loss, predicts
from tracker.streams import OBSERVATIONS, draw_index, entropy_words, seed_stream

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


class StoredDraws(NamedTuple):
    """The cost, and its observations as rows (n, observation_size)."""

    inner: Any
    draws: Array


def with_stored_draws(cost: Any, count: int) -> Any:
    """Return ``cost`` with ``count`` stored draws; as it is where it observes nothing."""
    size = observation_size(cost)
    if size == 0:
        return cost
    draws, stream = np.zeros((count, size)), np.zeros(4, dtype=np.uint64)
    with np.errstate(over="ignore"):  # streams count modulo 2^64
        seed_stream(entropy_words(0), OBSERVATIONS, 0, stream)
        observe(cost, 0, count, stream, draws)
    draws.flags.writeable = False
    return StoredDraws(cost, draws)


@value.register(StoredDraws)
def _value(cost: StoredDraws, theta: Array, z: Array) -> float:
    return value(cost.inner, theta, z)


@gradient.register(StoredDraws)
def _gradient(cost: StoredDraws, theta: Array, z: Array, out: Array) -> None:
    gradient(cost.inner, theta, z, out)


@hessian.register(StoredDraws)
def _hessian(cost: StoredDraws, theta: Array, z: Array, out: Array) -> None:
    hessian(cost.inner, theta, z, out)


@expected.register(StoredDraws)
def _expected(cost: StoredDraws, theta: Array) -> float:
    total = 0.0
    for j in range(cost.draws.shape[0]):
        total += value(cost.inner, theta, cost.draws[j])
    return total / cost.draws.shape[0]


@expected_gradient.register(StoredDraws)
def _expected_gradient(cost: StoredDraws, theta: Array, out: Array) -> None:
    g = np.empty(theta.size)
    for d in range(theta.size):
        out[d] = 0.0
    for j in range(cost.draws.shape[0]):
        gradient(cost.inner, theta, cost.draws[j], g)
        for d in range(theta.size):
            out[d] += g[d] / cost.draws.shape[0]


@observation_size.register(StoredDraws)
def _observation_size(cost: StoredDraws) -> int:
    return cost.draws.shape[1]


@observe.register(StoredDraws)
def _observe(cost: StoredDraws, k: int, count: int, stream: Words, out: Array) -> None:
    flat, size = cost.draws.reshape(-1), cost.draws.shape[1]
    for i in range(count):
        begin = draw_index(stream, cost.draws.shape[0]) * size
        for d in range(size):
            out[i, d] = pick(flat, begin + d)


@stored_observations.register(StoredDraws)
def _stored(cost: StoredDraws) -> Array:
    return cost.draws


@correct.register(StoredDraws)
def _correct(cost: StoredDraws, theta: Array) -> float:
    return correct(cost.inner, theta)


@classes.register(StoredDraws)
def _classes(cost: StoredDraws) -> int:
    return classes(cost.inner)


@cost_every.register(StoredDraws)
def _cost_every(cost: StoredDraws) -> int:
    return cost_every(cost.inner)


@one_at_a_time.register(StoredDraws)
def _one_at_a_time(cost: StoredDraws) -> bool:
    return one_at_a_time(cost.inner)


@measure_size.register(StoredDraws)
def _measure_size(cost: StoredDraws, dimension: int) -> int:
    return measure_size(cost.inner, dimension)


@measure.register(StoredDraws)
def _measure(cost: StoredDraws, theta: Array, out: Array) -> None:
    measure(cost.inner, theta, out)


@twins.register(StoredDraws)
def _twins(cost: StoredDraws, point: Array) -> Array:
    return twins(cost.inner, point)


@predicts.register(StoredDraws)
def _predicts(cost: StoredDraws) -> bool:
    return predicts(cost.inner)


@forecast_loss.register(StoredDraws)
def _forecast_loss(cost: StoredDraws, theta: Array, z: Array) -> float:
    return forecast_loss(cost.inner, theta, z)


@has_hessian.register(StoredDraws)
def _has_hessian(cost: StoredDraws) -> bool:
    return has_hessian(cost.inner)


@search_region.register(StoredDraws)
def _search_region(cost: StoredDraws, start: Array) -> tuple[Array, Array]:
    return search_region(cost.inner, start)
