"""The SimPy side of the world: draws for the chain, and the processes that switch modes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

import numpy as np
import simpy

from tracker import chain
from tracker.array_types import Array, Integers
from tracker.environment.plan import Plan, Switch

Process = Generator[simpy.Event, None, None]
Visit = list[int]  # length 2 X: where the jump leads from each mode, then how long the stay is in each

CHAIN_ROLE = 0  # of the stream: docs/architecture, "Random streams"
FIRST_DRAW, LARGEST_DRAW = 4, 64  # pairs: few for short trials, and bounded, for many trials at once


class Chance:
    """All that the chain leaves to chance, drawn ahead: what a path reads does not depend on the size of the draws."""

    def __init__(self, Q: Array, alpha: float, initial: Array, steps: int) -> None:
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

    def _look_up(self, pairs: Array) -> list[Visit]:
        """A visit for each row (u, v): what it would be from and in each of the modes."""
        targets = chain.next_mode(pairs[:, :1], self._leave)
        dwells = chain.dwell(-np.log1p(-pairs[:, 1:]), self._exit)
        visits: list[Visit] = np.hstack([targets, dwells]).tolist()
        return visits


class World:
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

    def run_through(self, step: int) -> Integers:
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
