"""The observations of a mixture: a fresh one at each step, or stored ones, in their order or at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.compiled import pick, room_for, where
from tracker.costs.base import observation_size, observe, period, stored_observations
from tracker.costs.facts import log_likelihood
from tracker.costs.mixture.likelihood import SHUFFLE, STREAM, SWEEP, FullMixture, Mixture, surprise
from tracker.streams import draw_bits, draw_index, draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

_ONE = np.uint64(1)


@observation_size.register(Mixture)
def _one_number(cost: Mixture) -> int:
    return 1


@observe.register(Mixture)
def _observe(cost: Mixture, k: int, count: int, stream: Words, out: Array) -> None:
    # one observation after the other, so that the numbers do not depend on how the steps are cut into chunks
    if cost.source == SWEEP:
        t = k % cost.data.size
        for i in range(count):
            out[i, 0] = cost.data[t]
            t = t + 1 if t + 1 < cost.data.size else 0
    elif cost.source == SHUFFLE:
        for i in range(count):
            out[i, 0] = pick(cost.data, draw_index(stream, cost.data.size))
    else:
        n = room_for(stream, 1)
        for i in range(count):
            centre = where((draw_bits(stream) & _ONE) == _ONE, cost.centres[1], cost.centres[0])
            draw_normals(stream, n)
            out[i, 0] = centre + cost.deviation * n[0]


@period.register(Mixture)
def _period(cost: Mixture) -> int:
    return cost.data.size if cost.source == SWEEP else 1


@stored_observations.register(Mixture)
def _stored(cost: Mixture) -> Array | None:
    return cost.data[:, np.newaxis] if cost.data.size > 0 else None


@observation_size.register(FullMixture)
def _nothing(cost: FullMixture) -> int:
    return 0


@observe.register(FullMixture)
def _observe_nothing(cost: FullMixture, k: int, count: int, stream: Words, out: Array) -> None:
    return


@period.register(FullMixture)
def _all_at_once(cost: FullMixture) -> int:
    return 1


@log_likelihood.register(Mixture)
def _log_likelihood(cost: Mixture, z: Array) -> float:
    """Return log(N(y; p, v)/2 + N(y; q, v)/2) at the true p and q; stored observations have no density."""
    if cost.source != STREAM:
        return np.nan
    v = 0.5 / cost.half_precision
    p, q = cost.centres[0], cost.centres[1]
    return -surprise(p, q, z[0], cost.half_precision) - np.log(2.0) - 0.5 * np.log(2.0 * np.pi * v)  # type: ignore[no-any-return]
