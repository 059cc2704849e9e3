"""The SimPy side of the world: the clock, and the processes that switch modes."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import simpy

from tracker.array_types import Integers
from tracker.environment.hidden_chains import HiddenChains
from tracker.environment.plan import Plan, Switch

Process = Generator[simpy.Event, None, None]


class World:
    """Paths enter modes, and the log says where, when and why.

    Parameters
    ----------
    mode : ndarray of int64, shape (paths,)
        Modes at step 0; afterwards the present ones.
    chains : HiddenChains, or None where there is no chain
        They move in ``mode``.
    """

    def __init__(self, plan: Plan, mode: Integers, chains: HiddenChains | None) -> None:
        self._clock = clock = simpy.Environment()
        self._mode = mode
        self._chains = chains
        self._forced = sorted({event.at for event in plan.interventions if isinstance(event, Switch)})
        self._log: list[Integers] = []
        self._outages_going_on = 0
        self.outage_edges: list[int] = []  # steps where gradients stop and come back
        if plan.switches:
            clock.process(self._schedule(plan.switches))
        for event in plan.interventions:
            clock.process(self._force(*event) if isinstance(event, Switch) else self._outage(*event))

    def run_through(self, step: int) -> Integers:
        """Let everything up to step `step` happen; rows (path, step, mode, by chain) of the entries, shape (n, 4)."""
        if self._chains is not None:
            self._clock.process(self._hidden_chains(self._chains, step))
        self._clock.run(until=step + 1)  # SimPy stops before the events of `until`
        log, self._log = self._log, []
        return np.concatenate([np.zeros((0, 4), dtype=np.int64), *log])

    def _hidden_chains(self, chains: HiddenChains, stop: int) -> Process:
        """All chains in one process: it wakes where somebody looks at the modes, and makes up for what has passed."""
        looks = [at for at in self._forced if self._clock.now <= at < stop]
        for at in (*looks, stop):
            yield self._clock.timeout(at - self._clock.now)
            self._log += chains.walk(at)

    def _schedule(self, switches: tuple[tuple[int, int], ...]) -> Process:
        for step, mode in switches:
            yield self._clock.timeout(step - self._clock.now)
            self._switch_all(mode)

    def _force(self, at: int, to: int) -> Process:
        yield self._clock.timeout(at)
        yield self._clock.timeout(0)  # to the back of the queue: behind the chains and the schedule
        moved = self._switch_all(to)
        if self._chains is not None:
            self._chains.stay(moved, at)

    def _switch_all(self, to: int) -> Integers:
        moved = np.flatnonzero(self._mode != to)
        self._mode[moved] = to
        now, mode, by_chain = (np.full_like(moved, what) for what in (int(self._clock.now), to, 0))
        self._log.append(np.stack([moved, now, mode, by_chain], axis=1))
        return moved

    def _outage(self, at: int, steps: int) -> Process:
        for delay, change in ((at, 1), (steps, -1)):
            yield self._clock.timeout(delay)
            was_dark = self._outages_going_on > 0
            self._outages_going_on += change
            # All beginnings were queued at step 0, so one comes before any end at the same step: no edge there.
            if was_dark != (self._outages_going_on > 0):
                self.outage_edges.append(int(self._clock.now))
