"""The one loop over steps: every sampler, every cost, all that is measured on the way.

Step k uses theta_k, x_k and z_k and gives theta_{k+1}; what is measured at k pairs theta_k with x_k. A trial's working
state lives in a buffer of its own while a block runs (neighbouring rows of one array would share cache lines between
threads) and is written back once per block. The cost is chosen once per dwell, not once per step.

Trials that share one timeline are taken side by side, ``Layout.lanes`` at a time: a step is a chain of operations that wait
for each other, and the processor fills the waiting with the steps of the other lanes.

Sums do not depend on how [0, K) is cut into blocks, as long as blocks end at multiples of ``Layout.cell``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.bins import AGE_BITS, WAIT_BITS, bin_of, lower_edge
from tracker.compiled import borrow, copy, helper, inlined, kernel, literal_unroll, view
from tracker.costs.base import expected, measure, observe
from tracker.samplers.base import (
    begin,
    idle,
    moves,
    place,
    resets_of,
    skew_of,
    step,
    unpack,
)
from tracker.streams import INNER, NOISE, OBSERVATIONS, PERTURBATIONS, draw_normals, seed_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Words = NDArray[np.uint64]

PAD = 16  # floats between a trial's scratch and whatever the allocator puts next to it
ROLES = (OBSERVATIONS, NOISE, PERTURBATIONS, INNER)  # rows of a trial's streams, as samplers.base names them
STEPS, ERROR, SQUARE, INSIDE = range(4)  # columns of Ledger.sums
WAITING, DIVERGED, RESETS = range(3)  # entries of Ledger.marks


class Layout(NamedTuple):
    """What a run measures: the same for all samplers and trials."""

    steps: int
    burn_in: int
    record_every: int
    cell: int  # draws are made, and blocks end, at multiples of it
    lanes: int  # trials taken side by side; 1 where each has its own timeline
    modes: int
    observation_size: int
    measure_size: int
    runaway: float  # beyond this squared distance from the minimisers a trial has diverged


class Block(NamedTuple):
    """A range of steps for a batch of trials, run-length encoded (see ``environment.Timeline``)."""

    start: int
    stop: int
    offsets: Integers
    mode: Integers
    end: Integers
    since: Integers
    live: NDArray[np.bool_]
    present: Integers  # (T,): the mode at ``stop``


class Ledger(NamedTuple):
    """All that a sampler's trials carry and have measured; the first axis is the trial, and absent for one trial.

    Saving these arrays saves the run. They are few because each costs compile time at every call it passes through.
    """

    state: Array  # (T, state_size): what the sampler carries
    streams: Words  # (T, 4, 4)
    marks: (
        Integers  # (T, 3): step of the switch whose re-acquisition is awaited, step of divergence (both or -1), resets
    )
    sums: Array  # (T, X + ages, 4): steps, error, squared error, steps inside the target, by mode and by age
    waits: Integers  # (T, waits, 2): re-acquisitions and censored waits by duration
    moments: Array  # (T, N + 1, N): sum of theta - origin; lower triangle of the sum of its outer products
    trace: Array  # (T, records, 3 + N + pairs): mode, error, excess cost, theta, S


class Work(NamedTuple):
    """Scratch of a team of trials; the first axis of Z, W and tally is the lane."""

    Z: Array  # (lanes, cell, observation_size)
    W: Array  # (lanes, cell * N)
    tally: Array  # (lanes, 4): error, squared error, steps inside the target, first of them (or -1) of a stretch
    point: Array
    origin: Array


class Dwell(NamedTuple):
    """A stay in one mode, or the part of it that a block or an outage cuts out."""

    mode: int
    end: int
    since: int
    live: bool


@inlined
def square_error(cost: Any, targets: Array, theta: Array, point: Array) -> float:
    """Return the squared distance to the nearest minimiser, in the coordinates that the cost measures in."""
    measure(cost, theta, point)
    best = np.inf
    for t in range(targets.shape[0]):
        distance = 0.0
        for d in range(targets.shape[1]):
            difference = point[d] - targets[t, d]
            distance += difference * difference
        best = min(best, distance)
    return best


@inlined
def near(theta: Array, origin: Array, runaway: float) -> bool:
    """Tell whether theta is finite and has not run away in any coordinate."""
    largest = 0.0
    for d in range(theta.size):
        largest += (theta[d] - origin[d]) ** 2  # a sum, not a maximum: nan must come through
    return largest < runaway * theta.size


@helper
def record(sampler: Any, state: Any, mode: Any, x: int, row: Array, point: Array) -> None:
    """Write the mode, the error, the excess cost, theta and S to a row of the trace."""
    state, mode, row, point = borrow(state), borrow(mode), borrow(row), borrow(point)
    theta = state.theta
    N = theta.size
    row[0] = x
    row[1] = np.sqrt(square_error(mode.cost, mode.targets, theta, point))
    row[2] = expected(mode.cost, theta) - mode.floor
    copy(theta, row[3 : 3 + N])
    if row.size > 3 + N:
        skew_of(sampler, state, row[3 + N :])


@inlined
def state_of(sampler: Any, ledger: Ledger, lane: int, N: int) -> Any:
    """Name what the trial in a lane carries."""
    size = ledger.state.shape[1]
    return unpack(sampler, N, view(ledger.state, lane * size, size))


@inlined
def stretch(
    sampler: Any,
    mode: Any,
    N: int,
    columns: int,
    k: int,
    stop: int,
    live: bool,
    averaged: bool,
    drawn: int,
    layout: Layout,
    ledger: Ledger,
    work: Work,
) -> None:
    """Measure and take the steps k, ..., stop - 1 in all lanes; Z begins with the draw of step ``drawn``.

    What was measured is left in ``work.tally``, the step at which a lane diverged in the marks.
    """
    mode, ledger, work = borrow(mode), borrow(ledger), borrow(work)
    cost, radius2, marks, moments = mode.cost, mode.radius2, ledger.marks, ledger.moments
    targets = view(mode.targets, 0, (len(mode.targets), columns))
    tally, point, origin = work.tally, work.point, work.origin
    cell = k - k % layout.cell
    for lane in range(len(marks)):
        tally[lane, 0], tally[lane, 1], tally[lane, 2], tally[lane, 3] = 0.0, 0.0, 0.0, -1.0
    while k < stop:
        for lane in range(len(marks)):
            if marks[lane, DIVERGED] >= 0:
                continue
            state = state_of(sampler, ledger, lane, N)
            theta = state.theta
            best = square_error(cost, targets, theta, point)
            if not best < layout.runaway:
                marks[lane, DIVERGED] = k
                continue
            tally[lane, 0] += np.sqrt(best)
            tally[lane, 1] += best
            if best <= radius2:
                tally[lane, 2] += 1.0
                if tally[lane, 3] < 0.0:
                    tally[lane, 3] = k
            if averaged:
                for d in range(N):
                    c = theta[d] - origin[d]
                    moments[lane, 0, d] += c
                    for e in range(d + 1):
                        moments[lane, d + 1, e] += c * (theta[e] - origin[e])
            if live:
                w = view(work.W, (lane * layout.cell + k - cell) * N, N)
                step(sampler, state, cost, k, work.Z[lane, k - drawn], w, ledger.streams[lane])
            else:
                idle(sampler, state, cost, k, ledger.streams[lane])
        k += 1


@inlined
def book(row: Array, steps: int, tally: Array) -> None:
    """Add a stretch to a row of ``Ledger.sums``."""
    row[STEPS] += steps
    row[ERROR] += tally[0]
    row[SQUARE] += tally[1]
    row[INSIDE] += tally[2]


@helper
def enter(sampler: Any, mode: Any, k: int, dwell: Dwell, layout: Layout, ledger: Ledger, work: Work) -> None:
    """Begin a dwell: a switch starts a wait for re-acquisition; an empty dwell, at the end, looks at the last point."""
    mode, ledger, work = borrow(mode), borrow(ledger), borrow(work)
    for lane in range(len(ledger.marks)):
        marks = ledger.marks[lane]
        state = state_of(sampler, ledger, lane, work.origin.size)
        place(sampler, state, mode.minimisers)
        if marks[DIVERGED] < 0 and k == dwell.end:
            best = square_error(mode.cost, mode.targets, state.theta, work.point)
            if not (best < layout.runaway and near(state.theta, work.origin, layout.runaway)):
                marks[DIVERGED] = k
            elif k % layout.record_every == 0:
                record(sampler, state, mode, dwell.mode, ledger.trace[lane, k // layout.record_every], work.point)
        elif marks[DIVERGED] < 0 and k == dwell.since:
            if marks[WAITING] >= 0:
                ledger.waits[lane, bin_of(k - marks[WAITING], WAIT_BITS), 1] += 1
            marks[WAITING] = k


@helper
def settle(k: int, stop: int, averaged: bool, x: int, age: int, layout: Layout, ledger: Ledger, work: Work) -> bool:
    """Book a stretch from k to ``stop``; tell whether any lane goes on."""
    ledger, work = borrow(ledger), borrow(work)
    some = False
    for lane in range(len(ledger.marks)):
        marks, sums, tally = ledger.marks[lane], ledger.sums[lane], work.tally[lane]
        reached = marks[DIVERGED] if marks[DIVERGED] >= 0 else stop
        if reached < k:
            continue
        if averaged:
            book(sums[x], reached - k, tally)
            if age >= 0:
                book(sums[layout.modes + age], reached - k, tally)
        if tally[3] >= 0.0 and marks[WAITING] >= 0:
            ledger.waits[lane, bin_of(int(tally[3]) - marks[WAITING], WAIT_BITS), 0] += 1
            marks[WAITING] = -1
        # a cost may measure distances in fewer coordinates than theta has: the others are looked at here
        theta = ledger.state[lane, : work.origin.size]
        if marks[DIVERGED] < 0 and not near(theta, work.origin, layout.runaway):
            marks[DIVERGED] = stop
        some |= marks[DIVERGED] < 0
    return some


@helper
def walk(sampler: Any, mode: Any, k: int, dwell: Dwell, layout: Layout, ledger: Ledger, work: Work) -> bool:
    """Take a team of trials from k to the end of a dwell; tell whether any of them goes on."""
    mode, ledger, work = borrow(mode), borrow(ledger), borrow(work)
    lanes, N = len(ledger.marks), work.origin.size
    enter(sampler, mode, k, dwell, layout, ledger, work)
    age = bin_of(k - dwell.since, AGE_BITS) if dwell.since >= 0 else -1
    some = True  # one way out: every return would count the references of all arrays again
    while some and k < dwell.end:
        # draws: noise once per cell, observations for what the dwell has of the cell
        cell, drawn = k - k % layout.cell, k
        drawn_to = min(dwell.end, cell + layout.cell)
        if moves(sampler):
            for lane in range(lanes):
                observe(mode.cost, k, drawn_to - k, ledger.streams[lane, 0], work.Z[lane])
                if k == cell:
                    draw_normals(ledger.streams[lane, 1], work.W[lane, : min(layout.cell, layout.steps - k) * N])
        while some and k < drawn_to:
            if k % layout.record_every == 0:
                for lane in range(lanes):
                    if ledger.marks[lane, DIVERGED] < 0:
                        row = ledger.trace[lane, k // layout.record_every]
                        record(sampler, state_of(sampler, ledger, lane, N), mode, dwell.mode, row, work.point)
            # no record, no burn-in boundary and no new age bin inside a stretch
            stop = min(drawn_to, k - k % layout.record_every + layout.record_every)
            averaged = k >= layout.burn_in
            if not averaged:
                stop = min(stop, layout.burn_in)
            if age >= 0:
                stop = min(stop, dwell.since + lower_edge(age + 1, AGE_BITS))
            if N == 2:
                stretch(sampler, mode, 2, 2, k, stop, dwell.live, averaged, drawn, layout, ledger, work)
            else:
                stretch(
                    sampler, mode, N, layout.measure_size, k, stop, dwell.live, averaged, drawn, layout, ledger, work
                )
            some = settle(k, stop, averaged, dwell.mode, age, layout, ledger, work)
            k = stop
            if age >= 0 and k == dwell.since + lower_edge(age + 1, AGE_BITS):
                age += 1
    return some


@helper
def visit(sampler: Any, modes: Any, k: int, dwell: Dwell, layout: Layout, ledger: Ledger, work: Work) -> bool:
    """Walk in the mode of the dwell; the types of modes may differ."""
    some, here = False, 0
    for mode in literal_unroll(modes):
        if here == dwell.mode:
            some = walk(sampler, mode, k, dwell, layout, ledger, work)
        here += 1  # noqa: SIM113  (numba unrolls the plain loop only)
    return some


@inlined
def furnish(layout: Layout, room: Array, origin: Array) -> Work:
    """Divide ``room`` into the scratch of the loop."""
    z = layout.lanes * layout.cell * layout.observation_size
    w = z + layout.lanes * layout.cell * origin.size
    p = w + layout.lanes * 4
    return Work(
        view(room, 0, (layout.lanes, layout.cell, layout.observation_size)),
        view(room, z, (layout.lanes, layout.cell * origin.size)),
        view(room, w, (layout.lanes, 4)),
        view(room, p, layout.measure_size),
        origin,
    )


@inlined
def room_size(layout: Layout, N: int) -> int:
    """Return the floats of ``furnish``, and room between them and what the allocator puts next to them."""
    return layout.lanes * (layout.cell * (layout.observation_size + N) + 4) + layout.measure_size + PAD


@kernel
def advance(
    sampler: Any,
    modes: Any,
    entropy: Words,
    trials: Integers,
    start: Array,
    skew: Array,
    origin: Array,
    layout: Layout,
    block: Block,
    ledger: Ledger,
) -> None:
    """Take ``trials`` through a block of steps; at step 0 they begin at ``start`` (T, N) with ``skew`` (T, N, N)."""
    modes, block, ledger = borrow(modes), borrow(block), borrow(ledger)
    N, size = origin.size, ledger.state.shape[1]
    room = np.zeros(room_size(layout, N) + layout.lanes * (size + (N + 1) * N) + PAD)
    words = np.zeros(layout.lanes * 16 + PAD, dtype=np.uint64)
    work = furnish(layout, room, borrow(origin))
    at = room_size(layout, N)
    for first in range(0, trials.size, layout.lanes):
        lanes = min(layout.lanes, trials.size - first)
        team = Ledger(
            view(room, at, (lanes, size)),
            view(words, 0, (lanes, 4, 4)),
            borrow(ledger.marks[first : first + lanes]),
            borrow(ledger.sums[first : first + lanes]),
            borrow(ledger.waits[first : first + lanes]),
            view(room, at + lanes * size, (lanes, N + 1, N)),
            borrow(ledger.trace[first : first + lanes]),
        )
        some = False
        for lane in range(lanes):
            t = first + lane
            if block.start == 0:
                begin(sampler, state_of(sampler, team, lane, N), start[t], skew[t])
                for s in range(4):
                    seed_stream(entropy, ROLES[s], trials[t], team.streams[lane, s])
            else:
                copy(ledger.state[t], team.state[lane])
                copy(ledger.streams[t], team.streams[lane])
            copy(ledger.moments[t], team.moments[lane])
            some |= ledger.marks[t, DIVERGED] < 0
        k = block.start
        last = block.offsets[first + 1]
        for segment in range(block.offsets[first], last + int(block.stop == layout.steps)):
            if not some:
                break
            if segment < last:
                dwell = Dwell(block.mode[segment], block.end[segment], block.since[segment], block.live[segment])
            else:
                dwell = Dwell(block.present[first], k, -1, False)  # only the record of the last point
            some = visit(sampler, modes, k, dwell, layout, team, work)
            k = dwell.end
        for lane in range(lanes):
            t = first + lane
            marks = ledger.marks[t]
            if block.stop == layout.steps and marks[DIVERGED] < 0 and marks[WAITING] >= 0:
                ledger.waits[t, bin_of(layout.steps - marks[WAITING], WAIT_BITS), 1] += 1
                marks[WAITING] = -1
            marks[RESETS] = int(resets_of(sampler, state_of(sampler, team, lane, N)))
            copy(team.state[lane], ledger.state[t])
            copy(team.streams[lane], ledger.streams[t])
            copy(team.moments[lane], ledger.moments[t])
    room[0] = 0.0  # the owners of the borrowed scratch live to here
    words[0] = 0
