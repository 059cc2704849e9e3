"""Predict what a run will cost, and refuse it over the limits. Flags raise the limits; a file cannot."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tracker.baseline_names import BASELINES

if TYPE_CHECKING:
    from tracker.samplers.base import SamplerKeys
    from tracker.scenario.model import Scenario

FALLBACK_MEMORY = 8e9  # bytes, where the system does not tell

DESCENTS, CALLS, CALL = (
    64,
    60,
    10_000,
)  # of the search for minimisers: at least; gradients in each; what one takes anyway
MOST_SEARCH = 1e10  # terms: a few minutes
STEPS_OF_A_TERM = 10  # it takes as long as these
# Fitted to what benchmarks/memory.py measures, in bytes; the arrays themselves are counted, not fitted.
PROGRAM = 280e6  # the interpreter with all that a run loads, kernels compiled before
PAGE_MEMORY, PAGE_DISK, PAGE_PER_SAMPLER = 60e6, 0.27e6, 0.063e6  # drawing report.html, and the file
COPIES = 2.7  # of the arrays: shards, the joined arrays, and what is being written
TABLES = 103e3  # manifest, summary, coordinates and the frame of result.nc
SHARD_FRAME = 5.5e3  # names and headers of a shard's arrays
MOST_SHARDS, LARGEST_SHARD = 64, 1000  # shards, so that workers stay busy to the end, and trials of one
# How small compression makes the traces of samplers, which look random, and sums over ages, of which some are empty.
# Waiting times and all of the baselines hardly count.
TRACE_RATE, SUMS_RATE, EMPTY_RATE = 0.95, 0.4, 0.02
SUMS = 7  # numbers that are summed over the steps in a mode, or of an age


class PredictedCost(NamedTuple):
    """What a run will cost.

    steps : of all trials and samplers
    seconds : of one core, within a factor of about 3
    memory, disk, disk_running : bytes; the largest resident size, the finished run directory, and the most while it runs
    """

    steps: float
    seconds: float
    memory: float
    disk: float
    disk_running: float


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


class Arrays(NamedTuple):
    """Bytes of the results: traces, sums over ages, other sums of the samplers, and what compresses to almost nothing."""

    traces: float
    ages: float
    sums: float
    empty: float

    @property
    def total(self) -> float:
        """All of them."""
        return sum(self)


def arrays_of(scenario: Scenario) -> Arrays:
    """Return the size of the arrays that a run leaves (`tracker.engine.simulate.collect` names them)."""
    N, X, samplers = scenario.dimension, len(scenario.modes), len(scenario.samplers)
    records = scenario.steps // scenario.record_every + 1
    pairs = N * (N - 1) / 2
    moving = sum((sampler.skew_is == "moving") for sampler in scenario.samplers)
    trace = records * (N + 2)  # theta, distance, excess cost
    ages, waits = SUMS * _bins(scenario.steps, 4), 2 * X * _bins(scenario.steps, 32)
    sums = (N + 1) * N + N + pairs + SUMS * X + 2 + 2 * X  # moments, last theta and S, sums by mode, marks, stays
    chain = records / 4 + X * X + X * 2 * _bins(scenario.steps, 1) + 3  # modes, jumps, dwells by age
    per_trial = Arrays(
        traces=samplers * trace + moving * records * pairs,
        ages=samplers * ages,
        sums=samplers * sums,
        empty=len(BASELINES) * (trace + ages + sums) + (samplers + len(BASELINES)) * waits + chain,
    )
    return Arrays(*(8.0 * scenario.trials * count for count in per_trial))


def predicted_cost(scenario: Scenario, *, page: bool = True) -> PredictedCost:
    """Return what a run of ``scenario`` will cost, with or without its report.html."""
    steps = float(scenario.trials) * scenario.steps
    seconds = steps * sum(step_nanoseconds(sampler, scenario.dimension) for sampler in scenario.samplers) * 1e-9
    arrays = arrays_of(scenario)
    packed = TRACE_RATE * (arrays.traces + arrays.sums) + SUMS_RATE * arrays.ages + EMPTY_RATE * arrays.empty
    shards = max(min(scenario.trials, MOST_SHARDS), scenario.trials / LARGEST_SHARD)
    disk = TABLES + packed + page * (PAGE_DISK + PAGE_PER_SAMPLER * len(scenario.samplers))
    return PredictedCost(
        steps=steps * len(scenario.samplers),
        seconds=seconds,
        memory=PROGRAM + page * PAGE_MEMORY + COPIES * arrays.total,
        disk=disk,
        # shards and result side by side; the page comes when the shards have gone
        disk_running=max(disk, TABLES + packed + arrays.total + SHARD_FRAME * shards),
    )


def _bins(steps: int, per_doubling: int) -> float:
    """Return how many bins hold the numbers up to ``steps``: one each at first, then some for each doubling."""
    doublings = math.log2(max(1.0, steps / (2 * per_doubling)))
    return min(steps + 1, per_doubling * (2 + doublings))


def step_nanoseconds(sampler: SamplerKeys, N: int) -> float:
    """Return the rough time of a step on one core, fitted to docs/architecture, "Speed of a step"."""
    calls = sampler.evaluations
    # one derivative for each entry of S, or the one of the noise
    tangents = 0.3 * N * N * (N * (N - 1) / 2 if (sampler.skew_is == "moving") else 1)
    return 20 + 8 * N + calls.gradient * (10 + 6 * N) + calls.cost * (10 + 6 * N) + calls.hessian * (20 + tangents)


def refusals(scenario: Scenario, limits: Limits | None = None) -> list[str]:
    """Return a line for each limit that a run would break, with the flag that raises it."""
    counts = f"{scenario.trials} trials x {scenario.steps} steps x {len(scenario.samplers)} samplers"
    limits = limits or Limits()
    return [
        *search_refusals(scenario, limits),
        *broken_limits(predicted_cost(scenario), limits, counts, f" with record_every = {scenario.record_every}"),
    ]


def what_is_searched(scenario: Scenario) -> str:
    """Return in a few words what is looked for before anything else can be said."""
    modes = f"{len(scenario.modes)} mode{'s'[: len(scenario.modes) > 1]}"
    return f"{scenario.name}: looking for the minimisers of {modes} in {scenario.dimension} dimension{'s'[: scenario.dimension > 1]}"


def search_refusals(scenario: Scenario, limits: Limits) -> list[str]:
    """Return a line if looking for the minimisers of all modes, at all points of a sweep, takes too long."""
    swept = [
        len(values) for address, values in scenario.sweep.items() if address.partition(".")[0] in ("modes", "start")
    ]
    terms = sum(CALL + count for count in (mode.search_size() for mode in scenario.modes) if count)
    work, most = (
        float(math.prod(swept) * DESCENTS * CALLS * terms),
        max(MOST_SEARCH, limits.max_steps / STEPS_OF_A_TERM),
    )
    if work <= most:
        return []
    where = f"{len(scenario.modes)} modes" + (f" at {math.prod(swept)} points" if swept else "")
    return [
        f"minimisers: about {work:.3g} terms to look at in {where} are more than {most:.3g}; raise it with --max-steps"
    ]


def broken_limits(cost: PredictedCost, limits: Limits, what: str, records: str = "") -> list[str]:
    """Return a line for each limit that ``cost`` breaks; ``what`` and ``records`` tell what costs so much."""
    found = []
    if cost.steps > limits.max_steps:
        found.append(f"steps: {what} = {cost.steps:.3g} is more than {limits.max_steps:.3g}; raise it with --max-steps")
    for key, bytes_, most in (("memory", cost.memory, limits.max_memory), ("disk", cost.disk_running, limits.max_disk)):
        if bytes_ > most:
            line = f"{key}: about {size(bytes_)} for {what}{records} is more than {size(most)}"
            found.append(f"{line}; raise it with --max-{key}")
    return found


def size(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError
