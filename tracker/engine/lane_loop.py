"""The loop over steps with several trials side by side: what ``loop`` computes for each of them, bit for bit, and sooner.

A group of trials goes through the steps together, each in a lane of its own: in the mode, and with the numbers, of its own. A
stretch of steps ends where something happens to any of them; what has been summed is booked for a lane only where ``loop`` would
end a stretch of that trial, so that sums are taken in the same order. What happens seldom (a switch, a record, the end) is
done for one lane with the functions that serve one trial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import any_of, as_lanes, borrow, disjoint, in_modes, inlined, kernel, rebuild, where
from tracker.costs.base import observe_on
from tracker.engine.lane_events import (
    ALIVE,
    EXC,
    IN,
    LOST,
    MET,
    NEVER,
    RIGHT,
    SQ,
    SUMS,
    WAITS,
    E,
    Lane,
    Rooms,
    close,
    empty_lane,
    enter,
    leave,
    load,
    next_edge,
    only_ages,
    put_back,
    take_out,
    trial_of,
)  # fmt: skip
from tracker.engine.ledger import DIVERGED, RETURN, Block, Layout, Ledger, Span
from tracker.engine.loop import PAD, furnish, looks
from tracker.engine.measuring import add_moments, appraise, near, record, square_error
from tracker.samplers.base import idle, place, step, unpack
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers, Words
    from tracker.compiled import LaneTable, Packed


class LaneWork(NamedTuple):
    """Scratch of a group, in lanes."""

    Z: Any
    W: Any
    point: Any
    moments: Any
    origin: Array
    memory: Any
    sums: Any  # (SUMS,): error, its square, inside, excess, accuracy; what was met; who waits, lives and is lost


@inlined
def take_together(
    sampler: Any, state: Any, mode: Any, span: Span, runaway: float, work: LaneWork, streams: Words
) -> int:
    """Measure and take the steps of a span in all lanes; return the step reached, where a lane is lost or has met what it waits for."""
    cost, targets, theta, sums = mode.cost, mode.targets, state.theta, work.sums
    radius2 = mode.radius2
    error, square, inside, excess, right = sums[E], sums[SQ], sums[IN], sums[EXC], sums[RIGHT]
    waits, alive = sums[WAITS] > 0.0, sums[ALIVE] > 0.0
    k, stop, look = span.start, span.stop, span.look
    while k < stop:
        best = square_error(cost, targets, theta, work.point)
        lost = alive & ~(best < runaway)  # not ">=": nan is lost too
        if any_of(lost):
            sums[LOST] = where(lost, 1.0, 0.0)
            break
        error += np.sqrt(best)
        square += best
        hit = best <= radius2
        inside += where(hit, 1.0, 0.0)
        met = (hit & waits) & alive
        if any_of(met):
            sums[MET] = where(met, 1.0, 0.0)
            stop = k + 1
        if k == look:
            above, share = appraise(mode, theta)
            excess += above
            right += share
            look += span.look_every
        if span.averaged:
            add_moments(theta, work.origin, work.moments)
        if span.live:
            step(sampler, state, cost, k, work.Z[k - span.drawn], work.W[k - span.cell], streams)
        else:
            idle(sampler, state, cost, k, streams)
        k += 1
    sums[E], sums[SQ], sums[IN], sums[EXC], sums[RIGHT] = error, square, inside, excess, right
    return k


@disjoint
def stretch_together(
    sampler: Any, state: Any, mode: Any, span: Span, runaway: float, work: LaneWork, streams: Words
) -> int:
    """Do what ``take_together`` says."""
    state, mode, work, streams = borrow(state), borrow(mode), borrow(work), borrow(streams)
    if state.theta.size == 2:  # a constant for the compiler, which then unrolls the loops over coordinates
        return take_together(sampler, state, mode, span, runaway, work, streams)
    return take_together(sampler, state, mode, span, runaway, work, streams)


@inlined
def rows_of(room: Array, begin: int, count: int, L: int) -> Array:
    """Return ``count`` rows of L numbers."""
    return room[begin * L : (begin + count) * L].reshape((count, L))


@kernel
def advance_together(
    sampler: Any,
    modes: Packed,
    table: LaneTable,
    told: bool,
    entropy: Words,
    trials: Integers,
    start: Array,
    skew: Array,
    origin: Array,
    layout: Layout,
    block: Block,
    ledger: Ledger,
) -> None:
    """Do what ``advance`` does, in groups of as many trials as ``table`` has lanes; ``told``: the sampler is told the switches."""
    modes, table, block, ledger, origin = borrow(modes), borrow(table), borrow(block), borrow(ledger), borrow(origin)
    L, N, size, cell, every = len(table.width), origin.size, ledger.state.shape[1], layout.cell, layout.record_every
    P, M = max(1, table.rows.shape[1]), layout.moments * N
    Z, W, point = cell * layout.observation_size, cell * N, layout.measure_size
    room = np.zeros((size + P + SUMS + M + Z + W + point + 1) * L)
    lost = (64 - room.ctypes.data % 64) % 64 // 8  # a row of lanes begins where a cache line does
    aligned = borrow(room)[lost : lost + room.size - L]
    words = np.zeros((4, 4, L), dtype=np.uint64)
    alone = np.zeros(cell * (layout.observation_size + N) + layout.measure_size + layout.moments * N + PAD)
    one = np.zeros(size + PAD)
    places = np.zeros((7, L), dtype=np.int64)
    stream = np.zeros(4, dtype=np.uint64)
    ends = np.cumsum(np.array([0, size, P, SUMS, M, Z, W, point]))
    rooms = Rooms(
        rows_of(aligned, ends[0], size, L), borrow(words), rows_of(aligned, ends[1], P, L),
        rows_of(aligned, ends[2], SUMS, L), rows_of(aligned, ends[3], M, L), borrow(one),
    )  # fmt: skip
    at = borrow(places)
    lane = Lane(at[0], at[1], at[2], at[3], at[4], at[5], at[6])
    state, states = unpack(sampler, N, borrow(one)), unpack(sampler, N, as_lanes(rooms.state, table.width))
    streams = as_lanes(borrow(words), table.width)
    together = LaneWork(
        as_lanes(rows_of(aligned, ends[4], Z, L), table.width).reshape((cell, layout.observation_size)),
        as_lanes(rows_of(aligned, ends[5], W, L), table.width).reshape((cell, N)),
        as_lanes(rows_of(aligned, ends[6], point, L), table.width),
        as_lanes(rooms.moments, table.width).reshape((layout.moments, N)),
        origin,
        as_lanes(rooms.state, table.width)[size - layout.memory_size :],
        as_lanes(rooms.sums, table.width),
    )
    work = furnish(
        layout, N, borrow(alone), origin, borrow(one)[:0], borrow(one)[:0], borrow(block.shift[0]), block.start
    )
    template = modes.templates[0]
    base = rebuild(template, modes.store, modes.places[0])
    for group in range(0, trials.size, L):
        k, living, count = block.start, 0, min(L, trials.size - group)
        rooms.moments.fill(0.0)
        rooms.sums.fill(0.0)
        for l in range(L):
            t = group + min(l, count - 1)
            load(sampler, state, k == 0, t, l, trials[t], entropy, start, skew, rooms, ledger, borrow(stream))
            for p in range(table.rows.shape[1]):
                rooms.numbers[p, l] = table.rows[0, p]
            lane.segment[l], lane.begun[l], lane.edge[l], lane.end[l] = block.offsets[t] - 1, k, NEVER, NEVER
            if l < count and ledger.marks[t, DIVERGED] < 0:
                living += 1
                rooms.sums[ALIVE, l], lane.end[l] = 1.0, k
        drawn, drawn_to, noise_to, seen, common = k, k, k, k - 1, False
        while living > 0:
            for l in range(count):
                t = group + l
                if rooms.sums[ALIVE, l] == 0.0:
                    continue
                if common or k == lane.edge[l] or rooms.sums[MET, l] + rooms.sums[LOST, l] > 0.0:
                    relaxation = rebuild(template, modes.store, modes.places[lane.mode[l]]).relaxation
                    alive = close(k, lane, l, t, rooms, layout, ledger, relaxation, origin)
                    if not alive:
                        leave(sampler, state, k, lane, l, rooms, layout, ledger, t)
                        living -= 1
                        continue
                    next_edge(lane, l, k, ledger.marks[t])
                    if k % cell == 0 or k == lane.end[l]:
                        empty_lane(rooms.moments, l, ledger.moments[t])
                if k == lane.end[l] and k < block.stop:
                    lane.segment[l] += 1
                    s = lane.segment[l]
                    x = block.mode[s]
                    lane.mode[l], lane.end[l], lane.since[l] = x, block.end[s], block.since[s]
                    mode = rebuild(template, modes.store, modes.places[x])
                    enter(sampler, state, mode, x, k, lane, l, rooms, table, trial_of(ledger, t), told)
            if k == block.stop or living == 0:
                break
            if k >= noise_to:
                noise_to = k + cell
                flat = as_lanes(rows_of(aligned, ends[5], W, L), table.width)
                draw_normals(streams[1], flat[: min(cell, layout.steps - k) * N])
            limit, live = min(k - k % cell + cell, block.stop), True
            dwells = limit
            for l in range(count):
                t = group + l
                if rooms.sums[ALIVE, l] == 0.0:
                    continue
                dwells, live = min(dwells, lane.end[l]), block.live[lane.segment[l]]
                looked_at = k == ledger.marks[t, RETURN]
                if k > seen and (looked_at or k % every == 0):
                    take_out(rooms, l)
                    x = lane.mode[l]
                    mode = rebuild(template, modes.store, modes.places[x])
                    if k % every == 0:
                        record(sampler, state, mode, x, ledger.trace[t, k // every], work)
                    if looked_at:
                        inside = square_error(mode.cost, mode.targets, state.theta, work.point) <= mode.radius2
                        ledger.stays[t, x, 0] += 1
                        ledger.stays[t, x, 1] += int(inside)
            seen = k  # where a lane is lost before its next step, all come here once more
            modes_of_lanes = in_modes(base, rooms.numbers, table)
            if k >= drawn_to:
                observe_on(modes_of_lanes.cost, k, dwells - k, streams[0], together.memory, together.Z)
                drawn, drawn_to = k, dwells
            first, limit = k - k % cell, min(limit, k - k % every + every)
            if k < layout.burn_in:
                limit = min(limit, layout.burn_in)
            averaged, look = k >= layout.burn_in, layout.first_look + looks(k, layout) * layout.cost_every
            while True:
                stop = min(limit, drawn_to)  # a lane that was lost may have had the nearest end
                for l in range(L):
                    stop = min(stop, lane.edge[l])
                while look < k:
                    look += layout.cost_every
                span = Span(k, stop, live, averaged, True, drawn, first, look, layout.cost_every)
                k = stretch_together(sampler, states, modes_of_lanes, span, layout.runaway, together, streams)
                common = k == limit
                if common or k == drawn_to or not only_ages(k, lane, count, group, rooms, layout, ledger, origin):
                    break
        for l in range(count):
            t = group + l
            if rooms.sums[ALIVE, l] == 0.0:
                continue
            if k == layout.steps:  # the last point
                take_out(rooms, l)
                x = block.present[t]
                mode = rebuild(template, modes.store, modes.places[x])
                place(sampler, state, mode.minimisers)
                best = square_error(mode.cost, mode.targets, state.theta, work.point)
                if not (best < layout.runaway and near(state.theta, origin, layout.runaway)):
                    ledger.marks[t, DIVERGED] = k
                elif k % every == 0:
                    record(sampler, state, mode, x, ledger.trace[t, k // every], work)
                put_back(rooms, l)
            leave(sampler, state, k, lane, l, rooms, layout, ledger, t)
    # a use of each owner after the last borrowed one, so that none is freed before
    room[0], alone[0], one[0] = 0.0, 0.0, 0.0
    words[0, 0, 0], stream[0], places[0, 0] = np.uint64(0), np.uint64(0), 0
