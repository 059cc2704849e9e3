"""A group of trials that go through the steps together: what the loop keeps of it, and hands to units and events by one address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.engine.ledger import Block, Layout, Ledger, Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.array_types import Array, Integers, Words

E, SQ, IN, EXC, RIGHT, MET, GONE, WAITS, ALIVE, SUMS = range(10)  # rows of Rooms.sums


class Known(NamedTuple):
    """A sampler and the modes as rows of tables (``Packed``), and where lanes find what modes have of their own (``LaneTable``)."""

    sampler: NDArray[np.uint8]
    sampler_places: Integers
    modes: NDArray[np.uint8]
    mode_places: Integers
    table_places: Integers


class Rooms(NamedTuple):
    """The numbers of a group of L trials, (..., L).

    sums : (SUMS, L): error, its square, inside, excess, accuracy; who met what is awaited and who is gone; who waits and lives
    """

    state: Array
    words: Words
    numbers: Array  # of the modes that the trials are in
    sums: Array
    moments: Array  # of a cell: sums of sums lose fewer digits than one long sum
    Z: Array
    W: Array
    point: Array


class Lane(NamedTuple):
    """Where each trial of a group is, integers (L,): its segment, mode, the end and the beginning of its dwell, its age bin.

    edge : the step at which its dwell ends, or it is looked at again; bound : at which its age bin ends
    begun : since when its sums were not booked; ahead : room for ages to come
    """

    segment: Integers
    mode: Integers
    end: Integers
    since: Integers
    age: Integers
    edge: Integers
    bound: Integers
    begun: Integers
    ahead: Integers


class Bounds(NamedTuple):
    """Bounds of age bins within a stretch: sums are set aside and begin anew there.

    steps : (n + 1,), ascending, then NEVER; whose : (n, L), 1 for the trials whose bin ends; sums : (n, 5, L), as in Rooms
    passed : (1,), how many of them the stretch has come to
    """

    steps: Integers
    whose: Array
    sums: Array
    passed: Integers


class Group(NamedTuple):
    """All that a group of trials has to do with, pinned: what units and events are given."""

    layout: Layout
    known: Known
    families: Integers
    rows: Array  # (X, P): numbers that modes have of their own
    rooms: Rooms
    lane: Lane
    bounds: Bounds
    block: Block
    ledger: Ledger
    origin: Array
    shift: Array  # where the landscapes are at the steps of the block; empty where they stand still
    one: Array  # the state of one trial
    point: Array


def _of(axes: int, kind: Any = np.float64) -> Any:
    return np.zeros((0,) * axes, dtype=kind)


_integers, _words = np.int64, np.uint64
SPAN = Span(0, 0, False, False, 0, 0, 0, 0)
GROUP = Group(
    Layout(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0),
    Known(_of(1, np.uint8), _of(1, _integers), _of(1, np.uint8), _of(2, _integers), _of(1, _integers)),
    _of(1, _integers),
    _of(2),
    Rooms(_of(2), _of(3, _words), _of(2), _of(2), _of(3), _of(3), _of(3), _of(2)),
    Lane(*[_of(1, _integers)] * 9),
    Bounds(_of(1, _integers), _of(2), _of(3), _of(1, _integers)),
    Block(
        0,
        0,
        _of(1, _integers),
        _of(1, _integers),
        _of(1, _integers),
        _of(1, _integers),
        _of(1, np.bool_),
        _of(1, _integers),
        _of(3),
    ),
    Ledger(_of(2), _of(3, _words), _of(2, _integers), _of(3), _of(4, _integers), _of(3, _integers), _of(3), _of(3)),
    _of(1),
    _of(2),
    _of(1),
    _of(1),
)
