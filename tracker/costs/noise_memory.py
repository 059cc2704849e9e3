"""Additive gradient noise that remembers: z_k = F u_k, u a standard AR(1), for every family with fields ``noise`` and ``memory``.

u_0 ~ N(0, I), u_{k+1} = memory u_k + sqrt(1 - memory^2) n_k. There is one u in a world, for all modes, and it runs on in an
outage; each mode has its own F. With memory = 0 the noise is white (docs/mathematics, "Noise with memory").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from tracker.compiled import any_of, helper, room_for
from tracker.costs.base import memory_size, noise_covariance, observe_on
from tracker.costs.facts import RememberedNoise, additive_noise, remembered_noise
from tracker.costs.gaussian_noise import noise_factor, observe_noise
from tracker.costs.matrix_keys import whole_matrix
from tracker.keys import Number
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

T = TypeVar("T")

Memory = Annotated[Number, Field(gt=-1.0, lt=1.0)]
NoiseMemory = Annotated[
    Memory,
    Field(
        description="the correlation of the gradient noise of one step with that of the next (an AR(1)), the same in all modes; 0: "
        "white noise"
    ),
]


@helper
def remember(rho: float, k: int, n: Array, memory: Array) -> None:
    """Take u to step k, n standard normal."""
    fresh = np.sqrt(1.0 - rho * rho)
    for c in range(n.size):
        memory[c] = n[c] if k == 0 else rho * memory[c] + fresh * n[c]


@helper
def observe_remembered(factor: Array, rho: float, k: int, count: int, stream: Words, memory: Array, out: Array) -> None:
    """Write z = factor u of steps k, ..., k + count - 1 to the rows of ``out``."""
    size, rank = factor.shape
    n = room_for(stream, rank)
    for i in range(count):
        draw_normals(stream, n)
        remember(rho, k + i, n, memory)
        for d in range(size):
            z = 0.0
            for c in range(rank):
                z += factor[d, c] * memory[c]
            out[i, d] = z


def remembering(kind: type[T]) -> type[T]:
    """Let a family of costs with the fields ``noise`` (N, rank) and ``memory`` say and draw what this module is about."""

    @memory_size.register(kind)
    def _memory_size(cost: Any) -> int:
        return cost.noise.shape[1] if cost.memory != 0.0 else 0

    @observe_on.register(kind)
    def _observe_on(cost: Any, k: int, count: int, stream: Words, memory: Array, out: Array) -> None:
        if any_of(cost.memory != 0.0):
            observe_remembered(cost.noise, cost.memory, k, count, stream, memory, out)
        else:
            observe_noise(cost.noise, count, stream, out)

    @additive_noise.register(kind)
    def _additive_noise(cost: Any, dimension: int) -> Array | None:
        return whole_matrix(cost.noise, dimension) if cost.memory == 0.0 else None

    @remembered_noise.register(kind)
    def _remembered_noise(cost: Any) -> RememberedNoise | None:
        return RememberedNoise(np.asarray(cost.noise), cost.memory) if cost.memory != 0.0 else None

    return kind


def remembered_by(memory: float, noise: Any, dimension: int) -> tuple[str, float, int]:
    """Return what ``CostKeys.remembered`` says of a family with ``gradient_noise`` and ``noise_memory``."""
    rank = noise_factor(noise_covariance(noise, dimension)).shape[1] if memory != 0.0 else 0
    return "noise_memory", memory, rank
