"""What happens to one trial of a group while the others go on: it comes and goes, its mode switches, its sums are booked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.compiled import borrow, copy, helper, inlined
from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_of, lower_edge
from tracker.engine.group import ALIVE, EXC, GONE, IN, MET, RIGHT, SQ, WAITS, E, Group, Lane
from tracker.engine.ledger import (
    AWAITED,
    CORRECT,
    DIVERGED,
    ERROR,
    EXCESS,
    INSIDE,
    MEASURED,
    RETURN,
    SQUARE,
    STEPS,
    WAITING,
    Layout,
)
from tracker.streams import INNER, NOISE, OBSERVATIONS, PERTURBATIONS, seed_stream

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers, Words


ROLES = (OBSERVATIONS, NOISE, PERTURBATIONS, INNER)  # rows of a trial's streams, as samplers.base names them
NEVER = np.iinfo(np.int64).max
MOST_BOUNDS = 64  # of age bins in a stretch


@inlined
def take_out(group: Group, l: int) -> None:
    """Copy the state of a trial to the room for one; a group of one trial has its state there."""
    if group.rooms.state.shape[1] > 1:
        for i in range(group.rooms.state.shape[0]):
            group.one[i] = group.rooms.state[i, l]


@inlined
def put_back(group: Group, l: int) -> None:
    """Copy the room for one trial to its place in the group."""
    if group.rooms.state.shape[1] > 1:
        for i in range(group.rooms.state.shape[0]):
            group.rooms.state[i, l] = group.one[i]


@inlined
def looks(before: int, layout: Layout) -> int:
    """Return at how many of the steps k < ``before`` the cost is measured."""
    return max(0, before - layout.first_look + layout.cost_every - 1) // layout.cost_every


@inlined
def next_edge(lane: Lane, l: int, k: int, marks: Integers) -> None:
    """Note the step at which something happens to a trial that is not booking alone."""
    lane.edge[l] = min(lane.end[l], marks[RETURN]) if marks[RETURN] > k else lane.end[l]


@inlined
def next_bound(lane: Lane, l: int) -> None:
    """Note the step at which the age bin of a trial ends."""
    lane.bound[l] = lane.since[l] + lower_edge(lane.age[l] + 1, AGE_BITS) if lane.age[l] >= 0 else NEVER


@helper
def load(group: Group, l: int, t: int, trial: int, entropy: Words, stream: Words) -> None:
    """Put a trial into its place: without content at its beginning, or as it was left."""
    stream = borrow(stream)
    rooms, ledger, lane, block = group.rooms, group.ledger, group.lane, group.block
    first = block.start == 0
    for i in range(rooms.state.shape[0]):
        rooms.state[i, l] = 0.0 if first else ledger.state[t, i]
    take_out(group, l)
    for s in range(4):
        if first:
            seed_stream(entropy, ROLES[s], trial, stream)
        else:
            copy(ledger.streams[t, s], stream)
        for i in range(4):
            rooms.words[s, i, l] = stream[i]
    for p in range(group.rows.shape[1]):
        rooms.numbers[p, l] = group.rows[0, p]
    lane.segment[l], lane.begun[l], lane.mode[l] = block.offsets[t] - 1, block.start, 0
    lane.edge[l], lane.end[l], lane.bound[l], lane.age[l] = NEVER, NEVER, NEVER, -1


@helper
def enter(group: Group, k: int, l: int, t: int) -> bool:
    """Let a trial begin its next dwell, or a part of one; tell whether its mode has switched.

    ``marks`` holds the step of the switch whose re-acquisition is awaited, the step of divergence, the resets, the mode that is
    awaited, and the step at which a re-acquisition is looked at again, a relaxation time after it; -1 where there is none.
    """
    rooms, lane, block, marks = group.rooms, group.lane, group.block, group.ledger.marks[t]
    lane.segment[l] += 1
    s = lane.segment[l]
    x = block.mode[s]
    lane.mode[l], lane.end[l], lane.since[l] = x, block.end[s], block.since[s]
    for p in range(group.rows.shape[1]):
        rooms.numbers[p, l] = group.rows[x, p]
    switches = k == lane.since[l]
    if switches:
        if marks[WAITING] >= 0:  # the last look in the old mode was at k - 1
            group.ledger.waits[t, marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1
        marks[WAITING], marks[AWAITED], marks[RETURN] = k, x, -1
    rooms.sums[WAITS, l] = 1.0 if marks[WAITING] >= 0 else 0.0
    lane.age[l] = bin_of(k - lane.since[l], AGE_BITS) if lane.since[l] >= 0 else -1
    next_edge(lane, l, k, marks)
    next_bound(lane, l)
    return switches


@helper
def set_bounds(group: Group, stop: int) -> int:
    """Write down where age bins end before ``stop``; return ``stop``, or an earlier step where there is no more room."""
    lane, bounds, L, n, first = group.lane, group.bounds, group.lane.age.size, 0, stop
    for l in range(L):
        lane.ahead[l] = lane.age[l]
        first = min(first, lane.bound[l])
    while first < stop and n < MOST_BOUNDS:
        bounds.steps[n], later = first, stop
        for l in range(L):
            ends = lane.bound[l] == first
            bounds.whose[n, l] = 1.0 if ends else 0.0
            if ends:
                lane.ahead[l] += 1
                lane.bound[l] = lane.since[l] + lower_edge(lane.ahead[l] + 1, AGE_BITS)
            later = min(later, lane.bound[l])
        first, n = later, n + 1
    bounds.steps[n] = NEVER
    return first


@inlined
def book(group: Group, k: int, l: int, t: int, sums: Array) -> None:
    """Add what a trial has summed up to step k, ``sums`` (>= 5, L), to the rows of its mode and of its age."""
    layout, lane, begun = group.layout, group.lane, group.lane.begun[l]
    if k > begun >= layout.burn_in:
        measured = looks(k, layout) - looks(begun, layout)
        for which in range(2 if lane.age[l] >= 0 else 1):
            row = group.ledger.sums[t, lane.mode[l] if which == 0 else layout.modes + lane.age[l]]
            row[STEPS] += k - begun
            row[ERROR] += sums[E, l]
            row[SQUARE] += sums[SQ, l]
            row[INSIDE] += sums[IN, l]
            row[MEASURED] += measured
            row[EXCESS] += sums[EXC, l]
            row[CORRECT] += sums[RIGHT, l]
    lane.begun[l] = k


@helper
def book_bounds(group: Group, first: int, count: int) -> None:
    """Book the trials whose age bins have ended within a stretch."""
    lane, bounds = group.lane, group.bounds
    for n in range(bounds.passed[0]):
        for l in range(count):
            if bounds.whose[n, l] > 0.0:
                book(group, bounds.steps[n], l, first + l, bounds.sums[n])
                lane.age[l] += 1
    for l in range(count):
        next_bound(lane, l)


@helper
def close(group: Group, k: int, l: int, t: int, wait: int) -> bool:
    """Book what a trial has summed since it was last booked; tell whether it lives.

    ``wait``: after how many steps a re-acquisition is looked at again; 0 for never.
    """
    marks, sums, layout, lane = group.ledger.marks[t], group.rooms.sums, group.layout, group.lane
    book(group, k, l, t, sums)
    if sums[MET, l] > 0.0:
        arrival = k - 1
        group.ledger.waits[t, marks[AWAITED], bin_of(arrival - marks[WAITING], WAIT_BITS), 0] += 1
        if arrival > marks[WAITING] and wait > 0:
            marks[RETURN] = arrival + wait
        marks[WAITING] = -1
        sums[WAITS, l] = 0.0
    alive = sums[GONE, l] == 0.0
    for row in range(GONE + 1):
        sums[row, l] = 0.0
    # a cost may measure distances in fewer coordinates than theta has: the others are looked at here, as in ``near``
    largest = 0.0
    for d in range(group.origin.size):
        largest += (group.rooms.state[d, l] - group.origin[d]) ** 2
    alive = alive and largest < layout.runaway * group.origin.size
    if not alive:
        marks[DIVERGED] = k
    elif lane.bound[l] == k:
        lane.age[l] += 1
        next_bound(lane, l)
    next_edge(lane, l, k, marks)
    if k % layout.cell == 0 or k == lane.end[l]:
        empty_moments(group, l, t)
    return alive


@inlined
def empty_moments(group: Group, l: int, t: int) -> None:
    """Add a trial's sums of a cell to those of the run, and set them to 0."""
    moments, total = group.rooms.moments, group.ledger.moments
    for i in range(moments.shape[0]):
        for j in range(moments.shape[1]):
            total[t, i, j] += moments[i, j, l]
            moments[i, j, l] = 0.0


@helper
def leave(group: Group, k: int, l: int, t: int) -> None:
    """Write a trial back from its place."""
    rooms, ledger, lane, marks = group.rooms, group.ledger, group.lane, group.ledger.marks[t]
    if k == group.layout.steps and marks[WAITING] >= 0:
        ledger.waits[t, marks[AWAITED], bin_of(k - 1 - marks[WAITING], WAIT_BITS), 1] += 1
        marks[WAITING] = -1
    for i in range(rooms.state.shape[0]):
        ledger.state[t, i] = rooms.state[i, l]
    for s in range(4):
        for i in range(4):
            ledger.streams[t, s, i] = rooms.words[s, i, l]
    empty_moments(group, l, t)
    rooms.sums[ALIVE, l] = 0.0
    lane.edge[l], lane.end[l], lane.bound[l], lane.age[l] = NEVER, NEVER, NEVER, -1
