"""Simulate trials: prepare what the loop needs, run it block by block, and collect what it measured.

A shard of trials is a pure function of the scenario and the indices of its trials: streams are addressed by
(role, trial), so nothing depends on workers, on the size of shards or blocks, or on the order in which things finish.
"""

from __future__ import annotations

import pickle
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from tracker.compiled import from_outside, pack, source_fingerprint
from tracker.costs.moved import movable
from tracker.engine.arrays import collect
from tracker.engine.beginnings import empty_ledger, start_points, start_skews
from tracker.engine.blocks import first_block, most_trials, next_block, whole_cells
from tracker.engine.compiling import compile_side_by_side, processes_worth, serve_parent
from tracker.engine.ledger import Block, Ledger
from tracker.engine.loop import Call, advance, call_of, drive
from tracker.engine.problem import Contestant, Problem, prepare
from tracker.engine.side_by_side import kinds_of, lanes_of, refused
from tracker.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tracker.environment import Timeline

    Arrays = dict[str, NDArray[Any]]

    from tracker.array_types import Array, Integers
    from tracker.compiled import LaneTable, Packed

__all__ = [
    "Contestant", "Keeper", "Problem", "Snapshot", "compile_kernels", "empty_ledger", "most_trials",
    "prepare", "simulate", "source_fingerprint",
]  # fmt: skip


class Snapshot(NamedTuple):
    """A shard in the middle of its trials, as arrays: enough to go on from there to the same bits.

    The environment is not part of it (SimPy cannot be saved): its events are replayed, without the samplers.
    """

    reached: Integers  # (contestants,): steps taken; unequal in the middle of a block
    seconds: Array  # (contestants,)
    ledgers: tuple[Ledger, ...]


class Keeper(Protocol):
    """Where snapshots of a shard are kept."""

    def load(self, empty: Snapshot) -> Snapshot | None:
        """Return the last snapshot, with arrays shaped as in ``empty``, or None."""

    def due(self) -> bool:
        """Tell whether enough was computed since the last one."""

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the last one."""


def simulate(
    problem: Problem,
    trials: Sequence[int],
    progress: Callable[[float], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    keeper: Keeper | None = None,
) -> tuple[Arrays, Array]:
    """Run ``trials`` and return what was measured, by name with a leading trial axis, and the seconds per contestant.

    ``progress`` is told how many steps (over trials and contestants) were taken; when ``cancelled`` says so, the run
    stops with ``InterruptedError``. With a ``keeper`` it goes on from the last snapshot, and takes new ones.
    """
    index = np.array(trials, dtype=np.int64)
    starts = start_points(problem, index)
    skews = [start_skews(problem, contestant, index) for contestant in problem.contestants]
    ledgers = tuple(empty_ledger(problem, contestant, index.size) for contestant in problem.contestants)
    packed = packed_modes(problem)
    tables = [lanes_of(problem, contestant)[0] for contestant in problem.contestants]
    now = Snapshot(np.zeros(len(ledgers), dtype=np.int64), np.zeros(len(ledgers)), ledgers)
    if keeper is not None:
        now = keeper.load(now) or now
    environment = Environment(problem.plan, problem.scenario.seed, trials)
    position, stop = int(now.reached.min()), int(now.reached.max())
    progress(float(index.size) * float(now.reached.sum()))
    replay(problem, environment, index.size, position, cancelled)
    length = first_block(problem, index.size)
    while position < problem.layout.steps:
        # a snapshot from the middle of a block: the others catch up first
        stop = stop if stop > position else min(position + length, problem.layout.steps)
        block = _block(environment.advance(stop), environment)
        slowest = 0.0
        for n, contestant in enumerate(problem.contestants):
            if now.reached[n] >= stop:
                continue
            if cancelled():
                if keeper is not None:
                    keeper.save(now)
                raise InterruptedError
            begun = time.thread_time()
            _advance(problem, packed, contestant, index, starts, skews[n], block, now.ledgers[n], tables[n])
            spent = time.thread_time() - begun
            now.seconds[n] += spent
            now.reached[n] = stop
            slowest = max(slowest, spent)
            progress(float(index.size) * (stop - position))
        length = next_block(problem, index.size, stop - position, slowest)
        position = stop
        if keeper is not None and position < problem.layout.steps and keeper.due():
            keeper.save(now)
    environment.close()
    return collect(problem, index, now.ledgers, environment), now.seconds


def replay(
    problem: Problem, environment: Environment, trials: int, stop: int, cancelled: Callable[[], bool] = lambda: False
) -> None:
    """Take a new environment to step ``stop``: the same events from the same seed."""
    position, length = 0, whole_cells(problem, problem.layout.steps, trials)
    while position < stop:
        if cancelled():
            raise InterruptedError
        position = min(position + length, stop)
        environment.advance(position)


def compile_kernels(problem: Problem, note: Callable[[str], None] = lambda _: None, processes: int = 1) -> None:
    """Compile or load the loop for each contestant, so that no trial waits for it; much that is missing, in ``processes``."""
    kinds = (problem.modes, tuple(contestant.parameters for contestant in problem.contestants))
    if processes > 1 and not from_outside(kinds):  # another process does not know the classes of a script
        parts = parts_of(problem)
        missing = {place: part.name for place, part in enumerate(parts) if not part.is_kept()}
        if (count := processes_worth(len(missing), processes)) > 1:
            compile_side_by_side(problem, missing, count, lambda place: _compile_part(parts[place]), note)
    for n, contestant in enumerate(problem.contestants):
        note(f"compiling or loading {contestant.name} ({n + 1} of {len(problem.contestants)})")
        _compile(problem, n)


class Missing(NamedTuple):
    """Code that is compiled on its own: who needs it first, and how long it takes, in seconds of a fast core."""

    name: str
    seconds: float
    is_kept: Callable[[], bool]
    compile: Callable[[], Any]


def parts_of(problem: Problem) -> list[Missing]:
    """Return all that must be compiled for a problem, what takes longest first."""
    parts: dict[Any, Missing] = {}
    for n, contestant in enumerate(problem.contestants):
        call = _no_trials(problem, n)
        given = (np.zeros((1, 1), dtype=np.int64), *call.given)
        parts.setdefault(
            "loop", Missing("the loop", 4.0, partial(drive.is_kept, *given), partial(drive.compile_for, *given))
        )
        for unit, kinds in {id(kinds): (unit, kinds) for row in call.units for unit, kinds in row}.values():
            made = Missing(
                contestant.name, SECONDS[unit.__name__], partial(unit.is_kept, kinds), partial(unit.at, kinds)
            )
            parts.setdefault((unit.__name__, unit.signature_of(kinds)), made)
    return sorted(parts.values(), key=lambda part: -part.seconds)


SECONDS = {"stretch": 1.5, "attend": 0.8, "observe": 0.7, "inject": 0.4}


def _compile_part(part: Missing) -> None:
    with suppress(Exception):  # what cannot be compiled is found again by the contestant that needs it
        part.compile()


def _compile(problem: Problem, n: int) -> None:
    """Compile or load the loop for a contestant; for one trial at a time where it cannot be compiled for several."""
    contestant = problem.contestants[n]
    try:
        _no_trials(problem, n).carry_out()
    except (
        Exception
    ):  # numba cannot type it, or has changed; what is wrong with the code itself is told by the loop for one trial
        if lanes_of(problem, contestant)[0] is None:
            raise
        refused[kinds_of(problem, contestant)] = "its code, or that of the costs, is worded for one trial"
        _compile(problem, n)


def compile_for_parent() -> None:
    """Compile for contestants that the parent process names."""

    def prepared(content: bytes) -> Callable[[int], None]:
        problem: Problem = pickle.loads(content)  # noqa: S301  (the parent's)
        parts = parts_of(problem)
        return lambda place: _compile_part(parts[place])

    serve_parent(prepared)


def _no_trials(problem: Problem, n: int) -> Call:
    """Return the call of the loop for a contestant and no trials at all."""
    none, N, contestant = np.zeros(0, dtype=np.int64), problem.origin.size, problem.contestants[n]
    shift = np.zeros((1, 0, 0)) if problem.plan.drift is None else np.zeros((0, 1, N))
    block = Block(0, 0, np.zeros(1, dtype=np.int64), none, none, none, none > 0, none, shift)
    ledger = empty_ledger(problem, contestant, 0)
    table, _ = lanes_of(problem, contestant)
    given = (none, np.zeros((0, N)), np.zeros((0, N, N)), block, ledger, table)
    return call_of(*_given(problem, packed_modes(problem), contestant, *given))


def packed_modes(problem: Problem) -> Packed:
    """Return the modes for the loop; where landscapes drift, a table of one's own, because the loop moves them in it."""
    if problem.plan.drift is None:
        return problem.packed_modes
    shift, room = np.zeros(problem.origin.size), np.zeros(problem.origin.size)
    return pack([
        mode._replace(cost=movable(mode.cost, mode.minimisers, shift, room), minimisers=mode.minimisers.copy())
        for mode in problem.modes
    ])  # fmt: skip


def _advance(
    problem: Problem,
    packed: Packed,
    contestant: Contestant,
    trials: Integers,
    starts: Array,
    skews: Array,
    block: Block,
    ledger: Ledger,
    table: LaneTable | None = None,
) -> None:
    advance(*_given(problem, packed, contestant, trials, starts, skews, block, ledger, table))


def _given(
    problem: Problem,
    packed: Packed,
    contestant: Contestant,
    trials: Integers,
    starts: Array,
    skews: Array,
    block: Block,
    ledger: Ledger,
    table: LaneTable | None,
) -> tuple[Any, ...]:
    """Return what ``advance`` is given."""
    layout = problem.layout._replace(epsilon=contestant.epsilon)
    return (
        contestant.parameters, packed, problem.entropy, trials, starts, skews, problem.origin, layout, block, ledger, table
    )  # fmt: skip


def _block(timeline: Timeline, environment: Environment) -> Block:
    return Block(
        timeline.start,
        timeline.stop,
        np.ascontiguousarray(timeline.offsets),
        np.ascontiguousarray(timeline.mode),
        np.ascontiguousarray(timeline.end),
        np.ascontiguousarray(timeline.since),
        np.ascontiguousarray(timeline.live),
        environment.present,
        timeline.shift,
    )
