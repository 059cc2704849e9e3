"""What a run will cost, before it starts, and the limits on that. A file cannot raise its own limits; flags can."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tracker.samplers.base import MovingSkewKeys

if TYPE_CHECKING:
    from tracker.samplers.base import SamplerKeys
    from tracker.scenario.model import Scenario

FALLBACK_MEMORY = 8e9  # bytes, where the system does not tell
BASELINES = 2


class PredictedCost(NamedTuple):
    """steps: of all trials and samplers; seconds: of one core, within a factor of about 3; memory and disk in bytes."""

    steps: float
    seconds: float
    memory: float
    disk: float


def _half_of_memory() -> float:
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0.5 * FALLBACK_MEMORY


@dataclass(frozen=True)
class Limits:
    """What a run may cost: steps of all trials and samplers, bytes of memory, bytes on disk."""

    max_steps: float = 1e11
    max_memory: float = field(default_factory=_half_of_memory)
    max_disk: float = 10e9


def predicted_cost(scenario: Scenario) -> PredictedCost:
    """Return what a run of ``scenario`` will cost."""
    N, X = scenario.dimension, len(scenario.modes)
    samplers = len(scenario.samplers) + BASELINES
    records = scenario.steps // scenario.record_every + 2
    pairs = N * (N - 1) / 2
    moving = sum(isinstance(sampler, MovingSkewKeys) for sampler in scenario.samplers)
    # theta, mode, distance, excess cost of all; S where it moves
    trace = 8.0 * scenario.trials * records * (samplers * (N + 3) + moving * pairs)
    tangents = 2 * N * pairs * sum(sampler.evaluations.hessian for sampler in scenario.samplers) / samplers
    moments = tangents + 4 * N * N + 8 * N + 4 * X + 4 * _bins(scenario.steps, 4) + 2 * _bins(scenario.steps, 32)
    sums = 8.0 * scenario.trials * samplers * moments
    steps = float(scenario.trials) * scenario.steps
    seconds = steps * sum(step_nanoseconds(sampler, N) for sampler in scenario.samplers) * 1e-9
    # the finished arrays and one copy while they are written; shards and the finished file
    return PredictedCost(steps * len(scenario.samplers), seconds, 2 * (trace + sums), 2 * (trace + sums))


def _bins(steps: int, per_doubling: int) -> float:
    """Return how many bins hold the numbers up to ``steps``: one each at first, then some for each doubling."""
    doublings = math.log2(max(1.0, steps / (2 * per_doubling)))
    return min(steps + 1, per_doubling * (2 + doublings))


def step_nanoseconds(sampler: SamplerKeys, N: int) -> float:
    """Return the rough time of a step on one core, fitted to the measurements in DESIGN section 2."""
    calls = sampler.evaluations
    # one derivative for each entry of S, or the one of the noise
    tangents = 0.3 * N * N * (N * (N - 1) / 2 if isinstance(sampler, MovingSkewKeys) else 1)
    return 20 + 8 * N + calls.gradient * (10 + 6 * N) + calls.cost * (10 + 6 * N) + calls.hessian * (20 + tangents)


def refusals(scenario: Scenario, limits: Limits | None = None) -> list[str]:
    """Return a line for each limit that a run would break, with the flag that raises it."""
    limits = limits or Limits()
    cost = predicted_cost(scenario)
    counts = f"{scenario.trials} trials x {scenario.steps} steps x {len(scenario.samplers)} samplers"
    found = []
    if cost.steps > limits.max_steps:
        found.append(
            f"steps: {counts} = {cost.steps:.3g} is more than {limits.max_steps:.3g}; raise it with --max-steps"
        )
    for what, bytes_, most in (("memory", cost.memory, limits.max_memory), ("disk", cost.disk, limits.max_disk)):
        if bytes_ > most:
            found.append(
                f"{what}: about {size(bytes_)} for {counts} with record_every = {scenario.record_every} "
                f"is more than {size(most)}; raise it with --max-{what}"
            )
    return found


def size(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError
