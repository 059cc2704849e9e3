"""The one loop over steps, for every sampler and every cost, with everything that it measures.

Step k uses theta_k, x_k and z_k and gives theta_{k+1}; what is measured at k pairs theta_k with x_k. A group of trials goes
through the steps together, one or several side by side, each in the mode, and with the numbers, of its own. A stretch of steps
ends where something happens to any of them; what has been summed is booked for a trial only where its own stretches end, so
that sums are taken in the same order however many go together. Sums do not depend on how [0, K) is cut into blocks, as long as
blocks end at multiples of ``Layout.cell``.

``drive`` knows no sampler and no cost and is compiled once; what depends on them are units (``turns``), which it calls by address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import Blueprint, Unit, borrow, inlined, kernel, pack, pin
from tracker.engine.events import (
    MOST_BOUNDS,
    NEVER,
    book_bounds,
    close,
    enter,
    leave,
    load,
    looks,
    put_back,
    set_bounds,
    take_out,
)
from tracker.engine.group import ALIVE, GONE, MET, SUMS, Bounds, Group, Known, Lane, Rooms
from tracker.engine.ledger import DIVERGED, RESETS, RETURN, Block, Layout, Ledger, Span
from tracker.engine.turns import (
    BEGIN,
    INSIDE,
    LOOK,
    PLACE,
    RECORD,
    RUN_AWAY,
    SWITCH,
    WAIT,
    attend,
    inject,
    observe,
    stretch,
)
from tracker.engine.turns import RESETS as COUNT_RESETS
from tracker.samplers.base import moves, place, switched

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers, Words
    from tracker.compiled import LaneTable, Packed

PAD = 16  # floats between the scratch of a group and whatever the allocator puts next to it
ATTEND, STRETCH, OBSERVE, INJECT = range(4)  # columns of ``calls``


class Company(NamedTuple):
    """How trials go: how many together, whether the sampler moves, and whether it is told of switches or minimisers."""

    lanes: int
    moves: bool
    told: bool


@inlined
def floats_of(layout: Layout, N: int, size: int, own: int, L: int) -> int:
    """Return how many floats ``furnish`` divides."""
    cells = layout.cell * (layout.observation_size + N)
    return (size + own + SUMS + layout.moments * N + cells + layout.measure_size + 6 * MOST_BOUNDS) * L


@inlined
def furnish(
    layout: Layout, N: int, size: int, own: int, L: int, room: Array, words: Words, steps: Integers
) -> tuple[Rooms, Bounds]:
    """Divide ``room`` among a group of L trials, whose states have ``size`` numbers, and their modes ``own``."""
    p = size * L
    s = p + own * L
    m = s + SUMS * L
    z = m + layout.moments * N * L
    w = z + layout.cell * layout.observation_size * L
    d = w + layout.cell * N * L
    b = d + layout.measure_size * L
    a = b + MOST_BOUNDS * L
    rooms = Rooms(
        room[:p].reshape((size, L)),
        words,
        room[p:s].reshape((own, L)),
        room[s:m].reshape((SUMS, L)),
        room[m:z].reshape((layout.moments, N, L)),
        room[z:w].reshape((layout.cell, layout.observation_size, L)),
        room[w:d].reshape((layout.cell, N, L)),
        room[d:b].reshape((layout.measure_size, L)),
    )
    whose, aside = room[b:a].reshape((MOST_BOUNDS, L)), room[a : a + MOST_BOUNDS * 5 * L].reshape((MOST_BOUNDS, 5, L))
    return rooms, Bounds(steps[1:], whose, aside, steps[:1])


@kernel
def drive(
    calls: Integers,
    company: Company,
    known: Known,
    families: Integers,
    rows: Array,
    entropy: Words,
    trials: Integers,
    start: Array,
    skew: Array,
    origin: Array,
    layout: Layout,
    block: Block,
    ledger: Ledger,
) -> None:
    """Take ``trials`` through a block of steps; at step 0 they begin at ``start`` (T, N) with ``skew`` (T, N, N).

    calls : addresses of units, by family and column; families : of the modes; rows : (X, P), numbers that modes have of their own
    """
    known, block, ledger, origin, rows = borrow(known), borrow(block), borrow(ledger), borrow(origin), borrow(rows)
    L, N, size, cell, every = company.lanes, origin.size, ledger.state.shape[1], layout.cell, layout.record_every
    floats = np.zeros(floats_of(layout, N, size, rows.shape[1], L) + 2 * PAD)
    ahead = (64 - floats.ctypes.data % 64) % 64 // 8  # a row of lanes begins where a cache line does
    room = borrow(floats)[ahead:]
    words, stream = np.zeros((4, 4, L), dtype=np.uint64), np.zeros(4, dtype=np.uint64)
    scratch, places = np.zeros(size + layout.measure_size + PAD), np.zeros((9, L), dtype=np.int64)
    steps, at = np.zeros(MOST_BOUNDS + 2, dtype=np.int64), borrow(places)
    rooms, bounds = furnish(layout, N, size, rows.shape[1], L, room, borrow(words), borrow(steps))
    lane = Lane(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8])
    point = borrow(scratch)[: layout.measure_size]
    one = room[:size] if L == 1 else borrow(scratch)[layout.measure_size :][:size]
    for first in range(0, trials.size, L):
        k, living, count = block.start, 0, min(L, trials.size - first)
        rooms.moments.fill(0.0)
        rooms.sums.fill(0.0)
        shift = block.shift[min(first, block.shift.shape[0] - 1)]
        group = Group(layout, known, families, rows, rooms, lane, bounds, block, ledger, origin, shift, one, point)
        pinned = pin(group)
        for l in range(L):
            t = first + min(l, count - 1)
            load(pinned, l, t, trials[t], entropy, borrow(stream))
            if k == 0:
                attend(calls[0, ATTEND], BEGIN, 0, k, pinned, start[t], skew[t])
                put_back(group, l)
            if l < count and ledger.marks[t, DIVERGED] < 0:
                living += 1
                rooms.sums[ALIVE, l], lane.end[l] = 1.0, k
        drawn, drawn_to, noise_to, seen, common = k, k, k, k - 1, False
        while living > 0:
            for l in range(count):
                t = first + l
                if rooms.sums[ALIVE, l] == 0.0:
                    continue
                met = rooms.sums[MET, l] > 0.0
                if common or met or k == lane.edge[l] or k == lane.bound[l] or rooms.sums[GONE, l] > 0.0:
                    call = calls[families[lane.mode[l]], ATTEND]
                    wait = attend(call, WAIT, lane.mode[l], k, pinned, point, skew[t]) if met else 0
                    if not close(pinned, k, l, t, wait):
                        take_out(group, l)
                        ledger.marks[t, RESETS] = attend(call, COUNT_RESETS, 0, k, pinned, point, skew[t])
                        leave(pinned, k, l, t)
                        living -= 1
                        continue
                if k == lane.end[l] and k < block.stop:
                    switches = enter(pinned, k, l, t)
                    if company.told:
                        take_out(group, l)
                        x, task = lane.mode[l], SWITCH if switches else PLACE
                        attend(calls[families[x], ATTEND], task, x, k, pinned, point, skew[t])
                        put_back(group, l)
            if k == block.stop or living == 0:
                break
            if company.moves and k >= noise_to:
                noise_to = k + cell
                inject(calls[0, INJECT], min(cell, layout.steps - k) * N, pinned)
            limit, live = min(k - k % cell + cell, block.stop), True
            dwells, edge = limit, NEVER
            for l in range(count):
                t = first + l
                if rooms.sums[ALIVE, l] == 0.0:
                    continue
                x, dwells, edge = lane.mode[l], min(dwells, lane.end[l]), min(edge, lane.edge[l])
                live = block.live[lane.segment[l]]
                looked_at = k == ledger.marks[t, RETURN]
                if k > seen and (looked_at or k % every == 0):
                    take_out(group, l)
                    if k % every == 0:
                        attend(calls[families[x], ATTEND], RECORD, x, k, pinned, ledger.trace[t, k // every], skew[t])
                    if looked_at:
                        found = attend(calls[families[x], ATTEND], LOOK, x, k, pinned, point, skew[t])
                        ledger.stays[t, x, 0] += 1
                        ledger.stays[t, x, 1] += found & INSIDE
            seen = k  # where a trial is gone before its next step, all come here once more
            x = lane.mode[0]
            if k >= drawn_to:
                observe(calls[families[x], OBSERVE], x, k, dwells - k, company.moves, pinned)
                drawn, drawn_to = k, dwells
            limit = min(limit, k - k % every + every)
            averaged, look = k >= layout.burn_in, layout.first_look + looks(k, layout) * layout.cost_every
            if not averaged:
                limit = min(limit, layout.burn_in)
            # a trial that is gone may have had the nearest end
            stop = set_bounds(pinned, min(limit, drawn_to, edge))
            span = Span(k, stop, live, averaged, drawn, k - k % cell, look, layout.cost_every)
            k = stretch(calls[families[x], STRETCH], x, span, pinned)
            book_bounds(pinned, first, count)
            common = k == limit
        for l in range(count):
            t = first + l
            if rooms.sums[ALIVE, l] == 0.0:
                continue
            take_out(group, l)
            x = block.present[t]
            call = calls[families[x], ATTEND]
            if k == layout.steps:  # the last point
                attend(call, PLACE, x, k, pinned, point, skew[t])
                if attend(call, LOOK, x, k, pinned, point, skew[t]) & RUN_AWAY:
                    ledger.marks[t, DIVERGED] = k
                elif k % every == 0:
                    attend(call, RECORD, x, k, pinned, ledger.trace[t, k // every], skew[t])
                put_back(group, l)
            ledger.marks[t, RESETS] = attend(call, COUNT_RESETS, x, k, pinned, point, skew[t])
            leave(pinned, k, l, t)
    # a use of each owner after the last borrowed one, so that none is freed before
    floats[0], scratch[0], words[0, 0, 0], stream[0] = 0.0, 0.0, np.uint64(0), np.uint64(0)
    places[0, 0], steps[0] = 0, 0


def units_of(like: Any, modes: Packed, N: int, table: LaneTable | None) -> list[list[tuple[Unit, Blueprint]]]:
    """Return what ``drive`` calls for samplers like this one: a row for each family of modes."""
    width, pattern = (table.width, table.pattern) if table is not None else ((0,), ())
    plane = (0, 0) if N == 2 else (0,)
    return [
        [
            (attend, Blueprint((like, template))),
            (stretch, Blueprint((like, template, pattern, width, plane))),
            (observe, Blueprint((template, pattern, width))),
            (inject, Blueprint((width,))),
        ]
        for template in modes.templates
    ]


class Call(NamedTuple):
    """A call of ``drive``, and the units that it needs: a row for each family of modes."""

    units: list[list[tuple[Unit, Blueprint]]]
    given: tuple[Any, ...]

    def carry_out(self) -> None:
        """Do it; compile or load what is not in this process yet."""
        found = [[unit.at(kinds) for unit, kinds in row] for row in self.units]
        drive(np.array(found, dtype=object if callable(found[0][0]) else np.int64), *self.given)


def call_of(
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
    table: LaneTable | None = None,
) -> Call:
    """Return the call that ``advance`` makes."""
    packed, kind = pack([sampler]), type(sampler)
    told = switched.has_own(kind) or place.has_own(kind)
    company = Company(1 if table is None else len(table.width), moves(sampler), told)
    places = np.zeros(1, dtype=np.int64) if table is None else table.places
    known = Known(packed.store, packed.places[0], modes.store, modes.places, places)
    rows = np.zeros((len(modes.families), 0)) if table is None else table.rows
    given = (company, known, modes.families, rows, entropy, trials, start, skew, origin, layout, block, ledger)
    return Call(units_of(packed.templates[0], modes, origin.size, table), given)


def advance(*given: Any) -> None:
    """Take trials through a block of steps, side by side where there is a table for it; see ``call_of``."""
    call_of(*given).carry_out()
