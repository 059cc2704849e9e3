"""What happens to one lane while the others go on: a trial comes and goes, its mode switches, its sums are booked.

All of it is done as ``loop.walk`` does it for a trial of its own, at the same steps, so that sums are taken in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import borrow, copy, helper, inlined
from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_of, lower_edge
from tracker.engine.ledger import AWAITED, DIVERGED, RESETS, RETURN, WAITING, Layout, Ledger
from tracker.engine.loop import ROLES, book, looks
from tracker.samplers.base import begin, place, resets_of, switched
from tracker.streams import seed_stream

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers, Words
    from tracker.compiled import LaneTable


NEVER = np.iinfo(np.int64).max
E, SQ, IN, EXC, RIGHT, MET, LOST, WAITS, ALIVE, SUMS = range(10)  # rows of LaneWork.sums


class Lane(NamedTuple):
    """Where each lane is, integers (L,): its segment, mode, the end and the beginning of its dwell, its age bin.

    edge : the step of its next event; begun : since when its sums were not booked
    """

    segment: Integers
    mode: Integers
    end: Integers
    since: Integers
    age: Integers
    edge: Integers
    begun: Integers


class Rooms(NamedTuple):
    """The numbers of a group, (..., L); and room for one trial."""

    state: Array
    words: Words
    numbers: Array  # of the modes that lanes are in
    sums: Array
    moments: Array
    one: Array


@inlined
def take_out(rooms: Rooms, lane: int) -> None:
    """Copy the state of a lane to the room for one trial."""
    for i in range(rooms.state.shape[0]):
        rooms.one[i] = rooms.state[i, lane]


@inlined
def put_back(rooms: Rooms, lane: int) -> None:
    """Copy the room for one trial to a lane."""
    for i in range(rooms.state.shape[0]):
        rooms.state[i, lane] = rooms.one[i]


@inlined
def next_edge(lane: Lane, place: int, k: int, marks: Integers) -> None:
    """Note the step of the next event of a lane: the end of its dwell, a new age bin, a second look."""
    edge = lane.end[place]
    if lane.age[place] >= 0:
        edge = min(edge, lane.since[place] + lower_edge(lane.age[place] + 1, AGE_BITS))
    if marks[RETURN] > k:
        edge = min(edge, marks[RETURN])
    lane.edge[place] = edge


@helper
def enter(
    sampler: Any, state: Any, mode: Any, x: int, k: int, lane: Lane, l: int, rooms: Rooms, table: LaneTable,
    ledger: Ledger, told: bool,
) -> None:  # fmt: skip
    """Let a lane begin a dwell, or a part of one, as ``walk`` does."""
    state, mode, rooms, ledger = borrow(state), borrow(mode), borrow(rooms), borrow(ledger)
    marks = ledger.marks
    for p in range(table.rows.shape[1]):
        rooms.numbers[p, l] = table.rows[x, p]
    switches = k == lane.since[l]
    if switches:
        if marks[WAITING] >= 0:
            ledger.waits[marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1
        marks[WAITING], marks[AWAITED], marks[RETURN] = k, x, -1
    if told:
        take_out(rooms, l)
        place(sampler, state, mode.minimisers)
        if switches:
            switched(sampler, state, k)
        put_back(rooms, l)
    rooms.sums[WAITS, l] = 1.0 if marks[WAITING] >= 0 else 0.0
    lane.age[l] = bin_of(k - lane.since[l], AGE_BITS) if lane.since[l] >= 0 else -1
    next_edge(lane, l, k, marks)


@helper
def close(
    k: int, lane: Lane, l: int, t: int, rooms: Rooms, layout: Layout, ledger: Ledger, relaxation: float, origin: Array
) -> bool:
    """Book what a lane has summed since it was last booked, as ``walk`` does at the end of a stretch; tell whether it lives."""
    rooms, ledger = borrow(rooms), borrow(ledger)
    marks, sums, begun = ledger.marks[t], rooms.sums, lane.begun[l]
    if k > begun >= layout.burn_in:
        measured = looks(k, layout) - looks(begun, layout)
        for which in range(2 if lane.age[l] >= 0 else 1):
            row = ledger.sums[t, lane.mode[l] if which == 0 else layout.modes + lane.age[l]]
            book(row, k - begun, sums[E, l], sums[SQ, l], sums[IN, l], measured, sums[EXC, l], sums[RIGHT, l])
    if sums[MET, l] > 0.0:
        arrival = k - 1
        ledger.waits[t, marks[AWAITED], bin_of(arrival - marks[WAITING], WAIT_BITS), 0] += 1
        if arrival > marks[WAITING] and relaxation < layout.epsilon * layout.steps:
            marks[RETURN] = arrival + max(1, int(np.ceil(relaxation / layout.epsilon)))
        marks[WAITING] = -1
        sums[WAITS, l] = 0.0
    alive = sums[LOST, l] == 0.0
    for row in range(LOST + 1):
        sums[row, l] = 0.0
    lane.begun[l] = k
    largest = 0.0
    for d in range(origin.size):
        largest += (rooms.state[d, l] - origin[d]) ** 2  # as in ``near``
    alive = alive and largest < layout.runaway * origin.size
    if not alive:
        marks[DIVERGED] = k
    elif lane.age[l] >= 0 and k == lane.since[l] + lower_edge(lane.age[l] + 1, AGE_BITS):
        lane.age[l] += 1
    return alive


@helper
def only_ages(
    k: int, lane: Lane, count: int, group: int, rooms: Rooms, layout: Layout, ledger: Ledger, origin: Array
) -> bool:
    """Book the lanes whose age bin ends at step k; tell whether that was all that happens there."""
    rooms, ledger = borrow(rooms), borrow(ledger)
    for l in range(count):
        if rooms.sums[MET, l] + rooms.sums[LOST, l] > 0.0:
            return False
        if lane.edge[l] == k and (lane.end[l] == k or ledger.marks[group + l, RETURN] == k):
            return False
    for l in range(count):
        if lane.edge[l] == k:
            if not close(k, lane, l, group + l, rooms, layout, ledger, np.inf, origin):
                return False
            next_edge(lane, l, k, ledger.marks[group + l])
    return True


@inlined
def empty_lane(moments: Array, l: int, total: Array) -> None:
    """Add a lane's sums of a cell to ``total``, and set them to 0."""
    row = 0
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] += moments[row, l]
            moments[row, l] = 0.0
            row += 1


@helper
def leave(
    sampler: Any, state: Any, k: int, lane: Lane, l: int, rooms: Rooms, layout: Layout, ledger: Ledger, trial: int
) -> None:
    """Write a trial back from its lane."""
    state, rooms = borrow(state), borrow(rooms)
    marks = ledger.marks[trial]
    take_out(rooms, l)
    if k == layout.steps and marks[WAITING] >= 0:
        ledger.waits[trial, marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1
        marks[WAITING] = -1
    marks[RESETS] = int(resets_of(sampler, state))
    for i in range(rooms.state.shape[0]):
        ledger.state[trial, i] = rooms.one[i]
    for s in range(4):
        for i in range(4):
            ledger.streams[trial, s, i] = rooms.words[s, i, l]
    empty_lane(rooms.moments, l, ledger.moments[trial])
    rooms.sums[ALIVE, l], lane.edge[l], lane.end[l] = 0.0, NEVER, NEVER


@inlined
def trial_of(ledger: Ledger, t: int) -> Ledger:
    """Return what is kept of one trial."""
    return Ledger(
        ledger.state[t], ledger.streams[t], ledger.marks[t], ledger.sums[t], ledger.waits[t], ledger.stays[t],
        ledger.moments[t], ledger.trace[t],
    )  # fmt: skip


@helper
def load(
    sampler: Any, state: Any, first: bool, t: int, l: int, trial: int, entropy: Words, start: Array, skew: Array,
    rooms: Rooms, ledger: Ledger, stream: Words,
) -> None:  # fmt: skip
    """Put a trial into a lane: at its beginning, or as it was left."""
    state, rooms, ledger, stream = borrow(state), borrow(rooms), borrow(ledger), borrow(stream)
    if first:
        rooms.one.fill(0.0)
        begin(sampler, state, start[t], skew[t])
    else:
        copy(ledger.state[t], rooms.one[: rooms.state.shape[0]])
    put_back(rooms, l)
    for s in range(4):
        if first:
            seed_stream(entropy, ROLES[s], trial, stream)
        else:
            copy(ledger.streams[t, s], stream)
        for i in range(4):
            rooms.words[s, i, l] = stream[i]
