"""The one loop over steps, for every sampler and every cost, with everything that it measures.

Step k uses theta_k, x_k and z_k and gives theta_{k+1}; what is measured at k pairs theta_k with x_k. A trial's working
state lives in a buffer of its own while a block runs (neighbouring rows of one array would share cache lines between
threads) and is written back once per block. The mode is looked up in a table once per dwell, not once per step: compiled code
knows the families of costs, never the number of modes.

Sums do not depend on how [0, K) is cut into blocks, as long as blocks end at multiples of ``Layout.cell``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import borrow, copy, disjoint, helper, inlined, kernel, literal_unroll, rebuild
from tracker.costs.base import observe_on
from tracker.costs.foretold import predicts
from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_of, lower_edge
from tracker.engine.ledger import (
    AWAITED,
    CORRECT,
    DIVERGED,
    ERROR,
    EXCESS,
    INSIDE,
    MEASURED,
    RESETS,
    RETURN,
    SQUARE,
    STEPS,
    WAITING,
    Block,
    Layout,
    Ledger,
    Span,
    Stay,
    Work,
)
from tracker.engine.measuring import LOST, add_moments, appraise, follow_drift, foretell, near, record, square_error
from tracker.samplers.base import begin, idle, moves, place, resets_of, state_size, step, switched, unpack
from tracker.streams import INNER, NOISE, OBSERVATIONS, PERTURBATIONS, draw_normals, seed_stream

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers, Words
    from tracker.compiled import Packed


PAD = 16  # floats between a trial's scratch and whatever the allocator puts next to it
ROLES = (OBSERVATIONS, NOISE, PERTURBATIONS, INNER)  # rows of a trial's streams, as samplers.base names them


@inlined
def take(
    sampler: Any, state: Any, mode: Any, span: Span, runaway: float, work: Work, streams: Words
) -> tuple[int, float, float, int, int, float, float]:
    """Measure and take the steps of a span: the body of ``stretch``, which says what is returned."""
    cost, targets, radius2, theta = mode.cost, mode.targets, mode.radius2, state.theta
    Z, W, point, moments, origin = work.Z, work.W, work.point, work.moments, work.origin
    error, square, inside, arrival, excess, right = 0.0, 0.0, 0, -1, 0.0, 0.0
    k, stop, look = span.start, span.stop, span.look
    while k < stop:
        follow_drift(sampler, state, mode, work, k)
        best = square_error(cost, targets, theta, point)
        if not best < runaway:
            break
        error += np.sqrt(best)
        square += best
        if best <= radius2:
            inside += 1
            if arrival < 0:
                arrival = k
                if span.waiting:
                    stop = k + 1
        if k == look:
            above, share = appraise(mode, theta)
            excess += above
            right += share
            look += span.look_every
        if span.averaged:
            add_moments(theta, origin, moments)
        if span.live:
            foretell(cost, theta, Z[k - span.drawn], work.lost, span.averaged)
            step(sampler, state, cost, k, Z[k - span.drawn], W[k - span.cell], streams)
        else:
            idle(sampler, state, cost, k, streams)
        k += 1
    return k, error, square, inside, arrival, excess, right


@disjoint
def stretch(
    sampler: Any, state: Any, mode: Any, span: Span, runaway: float, work: Work, streams: Words
) -> tuple[int, float, float, int, int, float, float]:
    """Measure and take the steps of a span.

    Adds to ``work.moments``. Returns the step reached (less than ``span.stop`` where the trial diverged, or where it had been
    waiting and was inside the target), the sums of the error and of its square, the steps inside the target set and the first
    of them (or -1), and the sums of excess cost and accuracy over the measured steps.
    """
    state, mode, work, streams = borrow(state), borrow(mode), borrow(work), borrow(streams)
    if state.theta.size == 2:  # a constant for the compiler, which then unrolls the loops over coordinates
        return take(sampler, state, mode, span, runaway, work, streams)
    return take(sampler, state, mode, span, runaway, work, streams)


@inlined
def looks(before: int, layout: Layout) -> int:
    """Return at how many of the steps k < ``before`` the cost is measured."""
    return max(0, before - layout.first_look + layout.cost_every - 1) // layout.cost_every


@inlined
def book(
    row: Array, steps: int, error: float, square: float, inside: int, measured: int, excess: float, right: float
) -> None:
    """Add a stretch to a row of ``Ledger.sums``."""
    row[STEPS] += steps
    row[ERROR] += error
    row[SQUARE] += square
    row[INSIDE] += inside
    row[MEASURED] += measured
    row[EXCESS] += excess
    row[CORRECT] += right


@inlined
def empty_into(part: Array, total: Array) -> None:
    """Add ``part`` to ``total``, and set it to 0."""
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            total[i, j] += part[i, j]
            part[i, j] = 0.0


@helper
def walk(sampler: Any, state: Any, mode: Any, k: int, dwell: Stay, layout: Layout, ledger: Ledger, work: Work) -> int:
    """Take one trial from k to the end of a dwell; return the step reached, an earlier one where the trial diverged.

    An empty dwell, at the end of a run, only looks at the last point. ``marks`` holds the step of the switch whose
    re-acquisition is awaited, the step of divergence, the resets, the mode that is awaited, and the step at which a
    re-acquisition is looked at again, a relaxation time after it; -1 where there is none.
    """
    state, mode, ledger, work = borrow(state), borrow(mode), borrow(ledger), borrow(work)
    marks, sums, waits, streams, N = ledger.marks, ledger.sums, ledger.waits, ledger.streams, work.W.shape[1]
    follow_drift(sampler, state, mode, work, k)
    place(sampler, state, mode.minimisers)
    if k == dwell.end:
        best = square_error(mode.cost, mode.targets, state.theta, work.point)
        if not (best < layout.runaway and near(state.theta, work.origin, layout.runaway)):
            marks[DIVERGED] = k
        elif k % layout.record_every == 0:
            record(sampler, state, mode, dwell.mode, ledger.trace[k // layout.record_every], work)
    elif k == dwell.since:
        if marks[WAITING] >= 0:  # the last look in the old mode was at k - 1
            waits[marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1
        marks[WAITING], marks[AWAITED], marks[RETURN] = k, dwell.mode, -1
        switched(sampler, state, k)
    age = bin_of(k - dwell.since, AGE_BITS) if dwell.since >= 0 else -1
    alive = True  # one way out: every return would count the references of all arrays again
    while alive and k < dwell.end:
        # draws: noise once per cell, observations for what the dwell has of the cell
        cell, drawn = k - k % layout.cell, k
        drawn_to = min(dwell.end, cell + layout.cell)
        if moves(sampler) or predicts(mode.cost):
            observe_on(mode.cost, k, drawn_to - k, streams[0], work.memory, work.Z)
        if moves(sampler) and k == cell:
            draw_normals(streams[1], work.W.reshape(-1)[: min(layout.cell, layout.steps - k) * N])
        while alive and k < drawn_to:
            follow_drift(sampler, state, mode, work, k)
            if k % layout.record_every == 0:
                record(sampler, state, mode, dwell.mode, ledger.trace[k // layout.record_every], work)
            if k == marks[RETURN]:
                ledger.stays[dwell.mode, 0] += 1
                ledger.stays[dwell.mode, 1] += int(
                    square_error(mode.cost, mode.targets, state.theta, work.point) <= mode.radius2
                )
            # no record, no burn-in boundary, no new age bin and no second look inside a stretch
            stop = min(drawn_to, k - k % layout.record_every + layout.record_every)
            averaged, waiting = k >= layout.burn_in, marks[WAITING] >= 0
            if not averaged:
                stop = min(stop, layout.burn_in)
            if age >= 0:
                stop = min(stop, dwell.since + lower_edge(age + 1, AGE_BITS))
            if marks[RETURN] > k:
                stop = min(stop, marks[RETURN])
            seen = looks(k, layout)
            look = layout.first_look + seen * layout.cost_every
            span = Span(k, stop, dwell.live, averaged, waiting, drawn, cell, look, layout.cost_every)
            found = stretch(sampler, state, mode, span, layout.runaway, work, streams)
            reached, error, square, inside, arrival, excess, right = found
            if averaged:
                measured = looks(reached, layout) - seen
                book(sums[dwell.mode], reached - k, error, square, inside, measured, excess, right)
                if age >= 0:
                    book(sums[layout.modes + age], reached - k, error, square, inside, measured, excess, right)
            if arrival >= 0 and waiting:
                waits[marks[AWAITED], bin_of(arrival - marks[WAITING], WAIT_BITS), 0] += 1
                if arrival > marks[WAITING] and mode.relaxation < layout.epsilon * layout.steps:
                    marks[RETURN] = arrival + max(1, int(np.ceil(mode.relaxation / layout.epsilon)))
                marks[WAITING] = -1
                stop = arrival + 1
            k = reached
            # a cost may measure distances in fewer coordinates than theta has: the others are looked at here
            alive = k == stop and near(state.theta, work.origin, layout.runaway)
            if not alive:
                marks[DIVERGED] = k
            if age >= 0 and k == dwell.since + lower_edge(age + 1, AGE_BITS):
                age += 1
        empty_into(work.moments, ledger.moments)
    return k


@inlined
def furnish(
    layout: Layout, N: int, room: Array, origin: Array, lost: Array, memory: Array, shift: Array, begin: int
) -> Work:
    """Divide ``room`` into the scratch of the loop; the rest is the trial's, ``shift`` from step ``begin`` on."""
    w = layout.cell * layout.observation_size
    p = w + layout.cell * N
    m = p + layout.measure_size
    return Work(
        room[:w].reshape((layout.cell, layout.observation_size)),
        room[w:p].reshape((layout.cell, N)),
        room[p:m],
        room[m : m + layout.moments * N].reshape((layout.moments, N)),
        origin,
        lost,
        memory,
        shift,
        begin,
    )


@kernel
def advance(
    sampler: Any,
    modes: Packed,
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
    room = np.zeros(layout.cell * (layout.observation_size + N) + layout.measure_size + layout.moments * N + PAD)
    buffer = np.zeros(size + PAD)
    words = np.zeros((4, 4), dtype=np.uint64)
    state = unpack(sampler, N, borrow(buffer))
    lost = buffer[state_size(sampler, N) :][:LOST]  # of the state where rows are foretold, else never written
    for t in range(trials.size):
        marks = ledger.marks[t]
        if marks[DIVERGED] >= 0:
            continue
        if block.start == 0:
            buffer.fill(0.0)
            begin(sampler, state, start[t], skew[t])
            for s in range(4):
                seed_stream(entropy, ROLES[s], trials[t], words[s])
        else:
            copy(ledger.state[t], buffer[:size])
            copy(ledger.streams[t], words)
        trial = Ledger(
            borrow(buffer), borrow(words), marks, ledger.sums[t], ledger.waits[t], ledger.stays[t], ledger.moments[t],
            ledger.trace[t],
        )  # fmt: skip
        shift = borrow(block.shift[min(t, block.shift.shape[0] - 1)])
        memory = borrow(buffer)[size - layout.memory_size : size]
        work = furnish(layout, N, borrow(room), borrow(origin), borrow(lost), memory, shift, block.start)
        k = block.start
        last = block.offsets[t + 1]
        for segment in range(block.offsets[t], last + int(block.stop == layout.steps)):
            if segment < last:
                dwell = Stay(block.mode[segment], block.end[segment], block.since[segment], block.live[segment])
            else:
                dwell = Stay(block.present[t], k, -1, False)  # only the record of the last point
            here = 0
            for template in literal_unroll(modes.templates):
                if here == modes.families[dwell.mode]:
                    mode = rebuild(template, modes.store, modes.places[dwell.mode])
                    k = walk(sampler, state, mode, k, dwell, layout, trial, work)
                here += 1  # noqa: SIM113  (numba unrolls the plain loop only)
            if marks[DIVERGED] >= 0:
                break
        if k == layout.steps and marks[WAITING] >= 0:
            ledger.waits[t, marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1
            marks[WAITING] = -1
        marks[RESETS] = int(resets_of(sampler, state))
        copy(buffer[:size], ledger.state[t])
        copy(words, ledger.streams[t])
    room[0] = 0.0  # a use of ``room`` after the last borrowed one, so that it is not freed before
