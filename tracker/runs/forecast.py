"""Predict what a run will cost, and refuse it over the limits. Flags raise the limits; a file cannot."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tracker.engine.arrays import array_rows, baselines_that_move
from tracker.runs.array_shapes import shapes_of

if TYPE_CHECKING:
    from tracker.engine.arrays import RecordedArray
    from tracker.scenario import Scenario

FALLBACK_MEMORY = 8e9  # bytes, where the system does not tell

# Of the search for minimisers: descents at least, gradients in each, terms that one takes anyway.
DESCENTS, CALLS_PER_DESCENT, TERMS_PER_CALL = 64, 60, 10_000
MOST_SEARCH_TERMS = 1e10  # a few minutes
STEPS_PER_TERM = 10  # a term takes as long as so many steps
# Fitted to what benchmarks/memory.py measures, in bytes; the arrays themselves are counted, not fitted.
PROGRAM = 280e6  # the interpreter with all that a run loads, kernels compiled before
PAGE_MEMORY, PAGE_DISK, PAGE_PER_SAMPLER = 60e6, 0.27e6, 0.063e6  # drawing report.html, and the file
COPIES = 2.7  # of the arrays: shards, the joined arrays, and what is being written
TABLES = 157e3  # manifest, summary, coordinates and the frame of result.nc
SHARD_FRAME = 5.5e3  # names and headers of a shard's arrays
SECONDS_TO_COMPILE = 4.0  # the loop of one kind of sampler, once on a machine
MOST_SHARDS, LARGEST_SHARD = 64, 1000  # shards, so that workers stay busy to the end, and trials of one
# How small compression makes the traces of samplers, which look random, and sums over ages, of which some are empty.
# Counts, and baselines that stand still or at a minimiser, hardly count.
TRACE_RATE, SUMS_RATE, EMPTY_RATE = 0.95, 0.4, 0.02
BASELINE_RATE = 0.5  # of a baseline that moves, beside a sampler: it often knows the mode, and then stands still


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
class ResourceLimits:
    """What a run may cost: steps of all trials and samplers, bytes of memory, bytes on disk."""

    max_steps: float = 1e11
    max_memory: float = field(default_factory=_half_of_memory)
    max_disk: float = 10e9


class ArrayBytes(NamedTuple):
    """Bytes of the arrays that a run leaves: as they are held, and compressed on disk."""

    held: float
    packed: float


def array_bytes(scenario: Scenario) -> ArrayBytes:
    """Return the size of what the table of recorded arrays, and the samplers beside it, say that a run leaves."""
    shapes, samplers = shapes_of(scenario, scenario.trials), len(scenario.samplers)
    moving = samplers + BASELINE_RATE * baselines_that_move(scenario)
    held = packed = 0.0
    for row in array_rows(scenario):
        count = shapes[row.name].bytes
        held += count
        packed += count * _packing(row, moving / (samplers + len(scenario.baselines)))
    return ArrayBytes(held, packed)


def _packing(row: RecordedArray, moving: float) -> float:
    """Return how small compression makes an array; what moves has the share ``moving`` of the axis of samplers."""
    if "i" in row.dtype:  # counts and steps of rare events
        return EMPTY_RATE
    rate = SUMS_RATE if "age" in row.axes else TRACE_RATE
    return moving * rate + (1.0 - moving) * EMPTY_RATE if "sampler" in row.axes else rate


def predicted_cost(scenario: Scenario, *, page: bool = True) -> PredictedCost:
    """Return what a run of ``scenario`` will cost, with or without its report.html."""
    steps = float(scenario.trials) * scenario.steps
    seconds = steps * sum(sampler.step_nanoseconds(scenario.dimension) for sampler in scenario.samplers) * 1e-9
    held, packed = array_bytes(scenario)
    shards = max(min(scenario.trials, MOST_SHARDS), scenario.trials / LARGEST_SHARD)
    disk = TABLES + packed + page * (PAGE_DISK + PAGE_PER_SAMPLER * len(scenario.samplers))
    return PredictedCost(
        steps=steps * len(scenario.samplers),
        seconds=seconds,
        memory=PROGRAM + page * PAGE_MEMORY + COPIES * held,
        disk=disk,
        # shards and result side by side; the page comes when the shards have gone
        disk_running=max(disk, TABLES + packed + held + SHARD_FRAME * shards),
    )


def seconds_to_compile(scenario: Scenario) -> float:
    """Return how long it takes, of one core, to compile what a run needs, where nothing was compiled before."""
    return SECONDS_TO_COMPILE * (len({sampler.kind for sampler in scenario.samplers}) + len(scenario.baselines))


def refusals(scenario: Scenario, limits: ResourceLimits | None = None) -> list[str]:
    """Return a line for each limit that a run would break, with the flag that raises it."""
    counts = f"{scenario.trials} trials x {scenario.steps} steps x {len(scenario.samplers)} samplers"
    limits = limits or ResourceLimits()
    return [
        *search_refusals(scenario, limits),
        *broken_limits(predicted_cost(scenario), limits, counts, f" with record_every = {scenario.record_every}"),
    ]


def what_is_searched(scenario: Scenario) -> str:
    """Return in a few words what is looked for before anything else can be said."""
    modes = f"{len(scenario.modes)} mode{'s'[: len(scenario.modes) > 1]}"
    return f"{scenario.name}: looking for the minimisers of {modes} in {scenario.dimension} dimension{'s'[: scenario.dimension > 1]}"


def search_refusals(scenario: Scenario, limits: ResourceLimits) -> list[str]:
    """Return a line if looking for the minimisers of all modes, at all points of a sweep, takes too long."""
    swept = [
        len(values) for address, values in scenario.sweep.items() if address.partition(".")[0] in ("modes", "start")
    ]
    terms = sum(TERMS_PER_CALL + count for count in (mode.search_size() for mode in scenario.modes) if count)
    work = float(math.prod(swept) * DESCENTS * CALLS_PER_DESCENT * terms)
    most = max(MOST_SEARCH_TERMS, limits.max_steps / STEPS_PER_TERM)
    if work <= most:
        return []
    where = f"{len(scenario.modes)} modes" + (f" at {math.prod(swept)} points" if swept else "")
    return [
        f"minimisers: about {work:.3g} terms to look at in {where} are more than {most:.3g}; raise it with --max-steps"
    ]


def broken_limits(cost: PredictedCost, limits: ResourceLimits, what: str, records: str = "") -> list[str]:
    """Return a line for each limit that ``cost`` breaks; ``what`` and ``records`` tell what costs so much."""
    found = []
    if cost.steps > limits.max_steps:
        found.append(f"steps: {what} = {cost.steps:.3g} is more than {limits.max_steps:.3g}; raise it with --max-steps")
    for key, bytes_, most in (("memory", cost.memory, limits.max_memory), ("disk", cost.disk_running, limits.max_disk)):
        if bytes_ > most:
            line = f"{key}: about {show_bytes(bytes_)} for {what}{records} is more than {show_bytes(most)}"
            found.append(f"{line}; raise it with --max-{key}")
    return found


def show_bytes(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError
