"""The world that switches, as a SimPy simulation of events.

An event is a switch, a forced switch or the edge of an outage, never a step: between
two events nothing has to be simulated here, and the compiled loop runs over whole
segments. One clock, counted in steps, carries

- one process per hidden chain (one chain per trial), which waits for its dwell and
  jumps;
- one process for the schedule, if there is one in place of the chain;
- one process per intervention.

Conventions. x_0 is in effect for step 0; an event at time k changes the mode in effect
for step k. At equal times the chain jumps first, then the schedule, then the
interventions in the order of the file: a forced switch wins. It interrupts the chain,
which goes on from the new mode with a fresh dwell. An outage hides the gradients and
leaves the chain alone.

Counting. The transition into a step with a forced switch to another mode was not the
chain's: the visit before it is censored, even if the chain jumped at that very step.
(Counting the jumps but not the stays of such steps would bias the estimate of Q.)

The path of a trial is a pure function of (plan, seed, trial): each visit takes one pair
(u, v) of the trial's own stream, u to choose the mode and -log(1 - v) its dwell.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import simpy
from numpy.typing import NDArray

from tracker import chain

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Process = Generator[simpy.Event, None, None]
Visit = list[int]  # length 2 X: where the jump leads from each mode, then how long the stay is in each

CHAIN_ROLE = 0  # of the stream, as published in DESIGN 2
FIRST_DRAW, LARGEST_DRAW = 4, 64  # pairs: few for short trials, and bounded, for many trials at once


class Switch(NamedTuple):
    """From step `at` on the mode is `to`; the chain goes on from there."""

    at: int
    to: int


class Outage(NamedTuple):
    """No gradient arrives in the steps at, ..., at + steps - 1."""

    at: int
    steps: int


@dataclass(frozen=True, eq=False)
class Plan:
    """What can happen in a world of `modes` modes.

    Attributes
    ----------
    initial : ndarray, shape (X,)
        Law of x_0; a certainty where there is no chain.
    Q, alpha : ndarray, shape (X, X), and float, or None
        The hidden chain.
    switches : tuple of (step, mode)
        The schedule, in place of the chain, by increasing step.
    interventions : tuple of Switch and Outage
    """

    modes: int
    initial: Floats
    Q: Floats | None = None
    alpha: float | None = None
    switches: tuple[tuple[int, int], ...] = ()
    interventions: tuple[Switch | Outage, ...] = ()

    def __post_init__(self) -> None:
        self._check_chain()
        self._check_events()

    def _check_chain(self) -> None:
        if (self.Q is None) != (self.alpha is None):
            raise ValueError("Q and alpha: give both or neither")
        if self.Q is not None:
            chain.validate(self.Q, self.alpha)
            if self.switches:
                raise ValueError("switches: a schedule stands in place of the chain")
            if len(self.Q) != self.modes:
                raise ValueError(f"Q has {len(self.Q)} rows for {self.modes} modes")
        elif np.max(self.initial) < 1.0:
            raise ValueError(f"initial: {self.initial} needs a chain to be drawn")

    def _check_events(self) -> None:
        steps = [step for step, _ in self.switches]
        if steps != sorted(set(steps)):
            raise ValueError(f"switches: steps {steps} must increase")
        for step, mode in (*self.switches, *(e for e in self.interventions if isinstance(e, Switch))):
            if step < 0 or not 0 <= mode < self.modes:
                raise ValueError(f"switch to mode {mode} at step {step}: step >= 0 and 0 <= mode < {self.modes} needed")
        for event in self.interventions:
            if isinstance(event, Outage) and (event.at < 0 or event.steps < 1):
                raise ValueError(f"{event}: at >= 0 and steps >= 1 needed")


class Timeline(NamedTuple):
    """Hidden modes of T trials over the steps start, ..., stop - 1, run-length encoded.

    Attributes
    ----------
    offsets : ndarray of int64, shape (T + 1,)
        Segments of trial t are offsets[t]:offsets[t + 1]; they cover the block.
    mode : ndarray of int64, shape (S,)
    end : ndarray of int64, shape (S,)
        First step after the segment, counted from step 0 of the trial.
    since : ndarray of int64, shape (S,)
        Step of the switch that brought the mode; -1 before the trial's first switch.
    live : ndarray of bool, shape (S,)
        False inside an outage.
    """

    start: int
    stop: int
    offsets: Ints
    mode: Ints
    end: Ints
    since: Ints
    live: NDArray[np.bool_]


class _Chance:
    """All that the chain leaves to chance, drawn ahead: what a path reads does not depend on the size of the draws."""

    def __init__(self, Q: Floats, alpha: float, initial: Floats, steps: int) -> None:
        self._initial = np.cumsum(initial)
        self._leave = np.cumsum(chain.embedded_law(Q), axis=1)
        self._exit = chain.exit_probability(Q, alpha)
        visits = steps * float(self._exit.max())
        self._first = int(min(FIRST_DRAW + visits + 2 * np.sqrt(visits), LARGEST_DRAW))

    def begin(self, seed: int, trials: Sequence[int]) -> tuple[list[int], list[Iterator[Visit]]]:
        """Modes at step 0, and the visits of each trial; the first pairs of all trials are looked up at once."""
        sequences = (np.random.SeedSequence(seed, spawn_key=(CHAIN_ROLE, trial)) for trial in trials)
        streams = [np.random.Generator(np.random.SFC64(sequence)) for sequence in sequences]
        pairs = np.array([stream.random((self._first, 2)) for stream in streams]).reshape(-1, 2)
        first = self._look_up(pairs)
        mode = chain.next_mode(pairs[:: self._first, 0], self._initial).tolist()
        visits = [
            self._visits(first[self._first * n : self._first * (n + 1)], stream) for n, stream in enumerate(streams)
        ]
        return mode, visits

    def _visits(self, drawn: list[Visit], stream: np.random.Generator) -> Iterator[Visit]:
        while True:
            yield from drawn
            drawn = self._look_up(stream.random((min(2 * len(drawn), LARGEST_DRAW), 2)))

    def _look_up(self, pairs: Floats) -> list[Visit]:
        """A visit for each row (u, v): what it would be from and in each of the modes."""
        targets = chain.next_mode(pairs[:, :1], self._leave)
        dwells = chain.dwell(-np.log1p(-pairs[:, 1:]), self._exit)
        visits: list[Visit] = np.hstack([targets, dwells]).tolist()
        return visits


class _World:
    """The SimPy side: paths enter modes, and the log says where, when and why.

    Parameters
    ----------
    mode : list of int, one per path
        Modes at step 0; afterwards the present ones.
    visits : list of iterator, one per path, or empty where there is no chain
        What chance has in store for the path.
    """

    def __init__(self, plan: Plan, mode: list[int], visits: list[Iterator[Visit]]) -> None:
        self._clock = clock = simpy.Environment()
        self._mode = mode
        self._log: list[int] = []
        self._outages_going_on = 0
        self.outage_edges: list[int] = []  # steps where gradients stop and come back
        self._chains = [
            clock.process(self._hidden_chain(path, plan.modes, visits[path])) for path in range(len(visits))
        ]
        if plan.switches:
            clock.process(self._schedule(plan.switches))
        for event in plan.interventions:
            clock.process(self._force(*event) if isinstance(event, Switch) else self._outage(*event))

    def run_through(self, step: int) -> Ints:
        """Let everything up to step `step` happen; rows (path, step, mode, by chain) of the entries, shape (n, 4)."""
        self._clock.run(until=step + 1)  # SimPy stops before the events of `until`
        log, self._log = self._log, []
        return np.array(log, dtype=np.int64).reshape(-1, 4)

    def _enter(self, path: int, mode: int, *, by_chain: bool) -> None:
        self._mode[path] = mode
        self._log += (path, int(self._clock.now), mode, by_chain)

    def _hidden_chain(self, path: int, modes: int, visits: Iterator[Visit]) -> Process:
        timeout, present = self._clock.timeout, self._mode
        visit = next(visits)
        while True:
            try:
                yield timeout(visit[modes + present[path]])
            except simpy.Interrupt:  # a forced switch has entered a mode: stay there for a fresh dwell
                visit = next(visits)
            else:
                visit = next(visits)
                self._enter(path, visit[present[path]], by_chain=True)

    def _schedule(self, switches: tuple[tuple[int, int], ...]) -> Process:
        for step, mode in switches:
            yield self._clock.timeout(step - self._clock.now)
            self._switch_all(mode)

    def _force(self, at: int, to: int) -> Process:
        yield self._clock.timeout(at)
        yield self._clock.timeout(0)  # to the back of the queue: behind the chains and the schedule
        for path in self._switch_all(to):
            if self._chains:
                self._chains[path].interrupt()

    def _switch_all(self, to: int) -> list[int]:
        moved = [path for path, mode in enumerate(self._mode) if mode != to]
        for path in moved:
            self._enter(path, to, by_chain=False)
        return moved

    def _outage(self, at: int, steps: int) -> Process:
        for delay, change in ((at, 1), (steps, -1)):
            yield self._clock.timeout(delay)
            was_dark = self._outages_going_on > 0
            self._outages_going_on += change
            # All beginnings were queued at step 0, so one comes before any end at the same step: no edge there.
            if was_dark != (self._outages_going_on > 0):
                self.outage_edges.append(int(self._clock.now))


class Environment:
    """The hidden modes of some trials, block by block.

    Parameters
    ----------
    plan : Plan
    seed : int
    trials : sequence of int
        Indices of T trials; the path of one does not depend on the others.
    steps : int
        How far it will probably go: only says how much is drawn at once to begin with.
    """

    def __init__(self, plan: Plan, seed: int, trials: Sequence[int], steps: int = 0) -> None:
        self._plan = plan
        self._trials = len(trials)
        # Without chance nothing is drawn, and all trials share one path.
        mode, visits, self._by_chance = [int(np.argmax(plan.initial))], list[Iterator[Visit]](), False
        a = np.zeros(plan.modes)
        if plan.Q is not None and plan.alpha is not None:
            a = chain.exit_probability(plan.Q, plan.alpha)
            if plan.modes > 1:
                mode, visits = _Chance(plan.Q, plan.alpha, plan.initial, steps).begin(seed, trials)
                self._by_chance = True
        paths = len(mode)
        self._stop, self._closed = 0, False
        self._mode = np.array(mode, dtype=np.int64)  # of the visits that go on ...
        self._entered = np.zeros(paths, dtype=np.int64)  # ... and when they began
        self._since = np.full(paths, -1, dtype=np.int64)
        self._changes = np.zeros(paths, dtype=np.int64)
        self._edges = chain.age_edges(a)
        nothing = np.zeros(0, dtype=np.int64)
        self._counts = self._count(nothing, nothing, nothing, nothing > 0, nothing)
        self._world: _World | None = None
        if self._by_chance or plan.switches or plan.interventions:
            self._world = _World(plan, mode, visits)
        self._take_in(self._log_through(0))

    @property
    def present(self) -> Ints:
        """Mode in effect at the step where the last block stopped, shape (T,)."""
        return self._for_trials(self._mode)

    @property
    def switches(self) -> Ints:
        """Changes of mode at steps 1, ..., stop - 1, shape (T,)."""
        return self._for_trials(self._changes - (self._since == self._stop))

    @property
    def counts(self) -> chain.DwellCounts:
        """Visits of the chain, with a leading axis of T trials; those that go on are in after `close`."""
        c = self._counts
        return chain.DwellCounts(c.edges, *map(self._for_trials, (c.jumps, c.censored, c.exits, c.at_risk)))

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop` and give the modes since the last one."""
        start = self._stop
        if self._closed or stop <= start:
            raise ValueError(f"stop: {stop} must be > {start}, and the environment not closed")
        self._stop = stop
        opening = np.stack([np.arange(len(self._mode)), np.full_like(self._mode, start), self._mode, self._since])
        path, step, to = self._take_in(self._log_through(stop))
        switched = np.stack([path, step, to, step])[:, step < stop]  # a switch at `stop` opens the next block
        segments = np.concatenate([opening, switched], axis=1)
        return self._timeline(start, segments[:, np.argsort(segments[0], kind="stable")])

    def close(self) -> None:
        """Count the visits that go on: x_stop is known, so they were seen for stop - entered + 1 steps."""
        if not self._closed:
            path = np.arange(len(self._mode))
            length = self._stop - self._entered + 1
            self._counts += self._count(path, self._mode, length, path < 0, self._mode)
        self._closed = True

    def _log_through(self, step: int) -> Ints:
        if self._world is None:  # a world of one mode: nothing ever happens
            return np.zeros((0, 4), dtype=np.int64)
        return self._world.run_through(step)

    def _take_in(self, log: Ints) -> tuple[Ints, Ints, Ints]:
        """Count the visits that ended in the log, and give (path, step, mode) of the changes of mode."""
        paths = np.arange(len(self._mode))
        going_on = np.stack([paths, self._entered, self._mode, np.zeros_like(paths)], axis=1)
        rows = np.concatenate([going_on, log])
        path, step, mode, by_chain = rows[np.argsort(rows[:, 0], kind="stable")].T
        ended = np.flatnonzero(_followed(path))
        completed = (by_chain[ended + 1] > 0) & ~self._overruled(step[ended + 1], mode[ended])
        length = step[ended + 1] - step[ended]
        self._counts += self._count(path[ended], mode[ended], length, completed, mode[ended + 1])
        self._entered, self._mode = step[~_followed(path)], mode[~_followed(path)]

        settled = ~(_followed(path) & (np.roll(step, -1) == step))  # what the step ends with
        path, step, mode = path[settled], step[settled], mode[settled]
        changed = np.flatnonzero(_followed(path) & (np.roll(mode, -1) != mode)) + 1
        np.maximum.at(self._since, path[changed], step[changed])
        self._changes += np.bincount(path[changed], minlength=len(paths))
        return path[changed], step[changed], mode[changed]

    def _overruled(self, step: Ints, before: Ints) -> NDArray[np.bool_]:
        """Whether a forced switch leads elsewhere at `step` than to the mode before it."""
        overruled = np.zeros(len(step), dtype=bool)
        for event in self._plan.interventions:
            if isinstance(event, Switch):
                overruled |= (step == event.at) & (before != event.to)
        return overruled

    def _count(
        self, path: Ints, mode: Ints, length: Ints, completed: NDArray[np.bool_], target: Ints
    ) -> chain.DwellCounts:
        told = slice(None) if self._plan.Q is not None else slice(0)  # a schedule tells nothing about a chain
        visits = mode[told], length[told], completed[told], target[told]
        return chain.count_dwells(*visits, self._edges, self._plan.modes, path[told], len(self._changes))

    def _for_trials(self, by_path: Ints) -> Ints:
        return by_path.copy() if self._by_chance else np.repeat(by_path, self._trials, axis=0)

    def _timeline(self, start: int, segments: Ints) -> Timeline:
        """Cut segments (path, begin, mode, since) at the edges of outages; repeat a path that all trials share."""
        path, begin, mode, since = segments
        end = np.where(_followed(path), np.roll(begin, -1), self._stop)
        edges = np.array([] if self._world is None else self._world.outage_edges, dtype=np.int64)
        passed = np.searchsorted(edges, begin, side="right")
        pieces = np.searchsorted(edges, end, side="left") - passed + 1
        segment = np.repeat(np.arange(len(path)), pieces)
        # Edges passed at the start of each piece; the next one ends it, unless the segment does.
        passed = passed[segment] + np.arange(len(segment)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        ends = np.minimum(end[segment], np.append(edges, chain.NEVER)[passed])
        columns = [mode[segment], ends, since[segment], passed % 2 == 0]
        offsets = np.searchsorted(path[segment], np.arange(len(self._mode) + 1))
        if not self._by_chance:
            columns = [np.tile(column, self._trials) for column in columns]
            offsets = np.arange(self._trials + 1) * len(segment)
        return Timeline(start, self._stop, offsets, *columns)


def _followed(path: Ints) -> NDArray[np.bool_]:
    """Whether the next row belongs to the same path."""
    return np.append(path[1:] == path[:-1], False)
