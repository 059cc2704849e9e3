"""What depends on a sampler and on a cost: a stretch of steps, what is drawn for it, and what happens between stretches.

Each is a unit (``compiled/units.py``): compiled for a kind of sampler and a family of costs, one trial at a time or several side
by side, and called by its address. ``loop.drive``, which calls them, knows neither samplers nor costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import (
    Blueprint,
    LaneTable,
    Pinned,
    any_of,
    borrow,
    disjoint,
    inlined,
    mode_of,
    numbers_of,
    rebuild,
    template_of,
    unit,
    where,
)
from tracker.costs.base import observe_on
from tracker.costs.foretold import predicts
from tracker.engine.group import ALIVE, EXC, GONE, GROUP, IN, MET, RIGHT, SPAN, SQ, WAITS, E, Group
from tracker.engine.measuring import LOST, add_moments, appraise, follow_drift, foretell, near, record, square_error
from tracker.samplers.base import begin, idle, place, resets_of, state_size, step, switched, unpack
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.engine.ledger import Span

BEGIN, PLACE, SWITCH, RECORD, LOOK, WAIT, RESETS = range(7)  # tasks of ``attend``
INSIDE, RUN_AWAY = 1, 2  # what LOOK finds


class Work(NamedTuple):
    """Scratch of a stretch, in numbers of the trials that are side by side."""

    Z: Any
    W: Any
    point: Any
    moments: Any
    sums: Any
    whose: Any
    aside: Any
    bounds: Integers
    passed: Integers
    origin: Array
    lost: Any  # (3,): sums of what forecasts lost, over all and over the averaged steps, and the number of the latter
    shift: Array
    begin: int


@inlined
def take(sampler: Any, state: Any, mode: Any, span: Span, runaway: float, work: Work, streams: Any) -> int:
    """Measure and take the steps of a span; return the step reached, where a trial is gone or has met what it waits for."""
    cost, targets, radius2, theta, sums = mode.cost, mode.targets, mode.radius2, state.theta, work.sums
    error, square, inside, excess, right = sums[E], sums[SQ], sums[IN], sums[EXC], sums[RIGHT]
    waits, alive = sums[WAITS] > 0.0, sums[ALIVE]
    k, stop, look = span.start, span.stop, span.look
    passed = 0
    until = min(stop, work.bounds[0])
    while True:
        while k < until:
            follow_drift(sampler, state, mode, work, k)
            best = square_error(cost, targets, theta, work.point)
            gone = where(best < runaway, 0.0, alive)  # not ">=": nan is gone too
            if any_of(gone > 0.0):
                sums[GONE] = gone
                stop = k
                break
            error += np.sqrt(best)
            square += best
            hit = best <= radius2
            inside += where(hit, 1.0, 0.0)
            met = (hit & waits) & (alive > 0.0)
            if any_of(met):
                sums[MET] = where(met, 1.0, 0.0)
                stop = until = k + 1
            if k == look:
                above, share = appraise(mode, theta)
                excess += above
                right += share
                look += span.look_every
            if span.averaged:
                add_moments(theta, work.origin, work.moments)
            if span.live:
                foretell(cost, theta, work.Z[k - span.drawn], work.lost, span.averaged)
                step(sampler, state, cost, k, work.Z[k - span.drawn], work.W[k - span.cell], streams)
            else:
                idle(sampler, state, cost, k, streams)
            k += 1
        # here ends an age bin of some: a loop of its own, so that the one over steps has no more to look at
        if k >= stop or any_of(ran_away(theta, work.origin, runaway, work.whose[passed]) > 0.0):
            break
        ends = work.whose[passed] > 0.0
        work.aside[passed, E], work.aside[passed, SQ], work.aside[passed, IN] = error, square, inside
        work.aside[passed, EXC], work.aside[passed, RIGHT] = excess, right
        error, square, inside = where(ends, 0.0, error), where(ends, 0.0, square), where(ends, 0.0, inside)
        excess, right = where(ends, 0.0, excess), where(ends, 0.0, right)
        passed += 1
        until = min(stop, work.bounds[passed])
    sums[E], sums[SQ], sums[IN], sums[EXC], sums[RIGHT] = error, square, inside, excess, right
    work.passed[0] = passed
    return k


@inlined
def ran_away(theta: Any, origin: Array, runaway: float, whose: Any) -> Any:
    """Return ``whose`` where theta is not ``near``, else 0."""
    largest = 0.0
    for d in range(theta.size):
        c = theta[d] - origin[d]
        largest += c * c
    return where(largest < runaway * theta.size, 0.0, whose)


@disjoint
def take_disjoint(
    sampler: Any, state: Any, mode: Any, span: Span, runaway: float, work: Work, streams: Any, plane: tuple[int, ...]
) -> int:
    """Do what ``take`` says; ``plane`` has an entry for each of two coordinates, or one."""
    state, mode, work, streams = borrow(state), borrow(mode), borrow(work), borrow(streams)
    if len(plane) == 2:
        if state.theta.size == 2:  # a constant for the compiler, which then unrolls the loops over coordinates
            return take(sampler, state, mode, span, runaway, work, streams)
        return -1
    return take(sampler, state, mode, span, runaway, work, streams)


@inlined
def known_mode(group: Group, x: int, like: Any, pattern: Any, width: Any) -> Any:
    """Return mode x of one trial; the modes that several trials are in, with what they share as in mode x."""
    mode = rebuild(like, group.known.modes, group.known.mode_places[x])
    return mode_of(mode, group.rooms.numbers, LaneTable(width, group.rooms.numbers, pattern, group.known.table_places))


@unit(0, SPAN, Pinned(GROUP))
def stretch(kinds: Blueprint, x: int, span: Span, group: Group) -> int:
    """Measure and take the steps of a span; return the step reached. Adds to the sums and the moments of the group.

    ``x`` is the mode of the first trial.
    """
    like, mode_like, pattern, width, plane = template_of(kinds)
    sampler = rebuild(like, group.known.sampler, group.known.sampler_places)
    mode = known_mode(group, x, mode_like, pattern, width)
    rooms, N = group.rooms, group.origin.size
    numbers = numbers_of(rooms.state, width)
    work = Work(
        numbers_of(rooms.Z, width),
        numbers_of(rooms.W, width),
        numbers_of(rooms.point, width),
        numbers_of(rooms.moments, width),
        numbers_of(rooms.sums, width),
        numbers_of(group.bounds.whose, width),
        numbers_of(group.bounds.sums, width),
        group.bounds.steps,
        group.bounds.passed,
        group.origin,
        numbers[state_size(sampler, N) :][:LOST],  # of the state where rows are foretold, else never written
        group.shift,
        group.block.start,
    )
    streams, runaway = numbers_of(rooms.words, width), group.layout.runaway
    return take_disjoint(sampler, unpack(sampler, N, numbers), mode, span, runaway, work, streams, plane)


@unit(0, 0, 0, False, Pinned(GROUP))
def observe(kinds: Blueprint, x: int, k: int, count: int, moved: bool, group: Group) -> int:
    """Draw the observations of steps k, ..., k + count - 1 into ``Z``, where somebody looks at them."""
    mode_like, pattern, width = template_of(kinds)
    mode = known_mode(group, x, mode_like, pattern, width)
    if moved or predicts(mode.cost):
        rooms = group.rooms
        memory = numbers_of(rooms.state, width)[rooms.state.shape[0] - group.layout.memory_size :]
        observe_on(mode.cost, k, count, numbers_of(rooms.words, width)[0], memory, numbers_of(rooms.Z, width))
    return 0


@unit(0, Pinned(GROUP))
def inject(kinds: Blueprint, count: int, group: Group) -> int:
    """Draw the first ``count`` numbers of ``W``, the noise of a cell."""
    rooms = group.rooms
    (width,) = template_of(kinds)
    draw_normals(numbers_of(rooms.words, width)[1], numbers_of(rooms.W, width).reshape(-1)[:count])
    return 0


class Scratch(NamedTuple):
    """What is needed to look at one trial: see ``Work``."""

    point: Array
    lost: Array
    shift: Array
    begin: int


@unit(0, 0, 0, Pinned(GROUP), np.zeros(0), np.zeros((0, 0)))
def attend(kinds: Blueprint, task: int, x: int, k: int, group: Group, row: Array, skew: Array) -> int:
    """Do for one trial, in mode x at step k, with the state ``one``, what happens seldom.

    BEGIN sets the state at step 0, from ``row`` and ``skew``; PLACE and SWITCH tell a sampler the minimisers, and the switch;
    RECORD writes a row of the trace; LOOK tells whether the trial is INSIDE the target, and whether it has RUN_AWAY; WAIT tells
    after how many steps a re-acquisition is looked at again, 0 for never; RESETS tells how many there were.
    """
    row, skew = borrow(row), borrow(skew)
    like, mode_like = template_of(kinds)
    layout, one, N = group.layout, group.one, group.origin.size
    sampler = rebuild(like, group.known.sampler, group.known.sampler_places)
    mode = rebuild(mode_like, group.known.modes, group.known.mode_places[x])
    state = unpack(sampler, N, one)
    if task == BEGIN:
        begin(sampler, state, row, skew)
        return 0
    if task == RESETS:
        return int(resets_of(sampler, state))
    if task == WAIT:
        if mode.relaxation < layout.epsilon * layout.steps:
            return max(1, int(np.ceil(mode.relaxation / layout.epsilon)))
        return 0
    work = Scratch(group.point, one[state_size(sampler, N) :][:LOST], group.shift, group.block.start)
    follow_drift(sampler, state, mode, work, k)
    if task == RECORD:
        record(sampler, state, mode, x, row, work)
        return 0
    if task == LOOK:
        best, found = square_error(mode.cost, mode.targets, state.theta, group.point), 0
        if best <= mode.radius2:
            found += INSIDE
        if not (best < layout.runaway and near(state.theta, group.origin, layout.runaway)):
            found += RUN_AWAY
        return found
    place(sampler, state, mode.minimisers)
    if task == SWITCH:
        switched(sampler, state, k)
    return 0
